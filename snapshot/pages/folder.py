"""A folder of pages: the PNG files, the source text, and `manifest.json`, which says what is what.

Files are named by their content, and the manifest is replaced last, in one step. So a folder always shows
one whole run: until the new manifest stands, the old one and its pages do, whatever happens in between. Pages
that did not change are not written again. A run that fails, as on a full disk, takes away what it wrote; what
a killed one left is used, or taken away, by the next.

The manifest's form is in `snapshot.pages.manifest`. While a folder is written to, it is locked: another
run is refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Set
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Literal

import snapshot
from snapshot._files import LOCK, exclusive, new_folder, read_regular, write_atomic
from snapshot.errors import FontError, OutputError, PageError
from snapshot.models.tokens import text_tokens
from snapshot.pages.layout import Layout, layout_for
from snapshot.pages.manifest import (
    MANIFEST,
    SCHEMA,
    Compression,
    ElisionEntry,
    LayoutEntry,
    Manifest,
    PageEntry,
    SourceEntry,
    Totals,
    load_manifest,
)
from snapshot.pages.readback import MOST_CHARS, PageCells, PageReader, ReadPage, read_page
from snapshot.pages.render import Page, Typesetter
from snapshot.parts.characters import LONE_SURROGATE
from snapshot.raster.atlas import Atlas, atlas_for
from snapshot.raster.face import cell_of, extra_of, shipped_faces
from snapshot.source.marks import first_marks, reading_guide
from snapshot.source.repeats import expand_repeats
from snapshot.source.source import Elision, Source, strict_text
from snapshot.source.text import Repeat
from snapshot.typeset.prepared import PreparedText
from snapshot.typeset.shaped import ShapedCluster

__all__ = [
    "MANIFEST",
    "SCHEMA",
    "Mismatch",
    "OpenFolder",
    "check",
    "foreign_pages",
    "load_manifest",
    "open_folder",
    "open_pages",
    "read_source",
    "write",
]

# Nothing but this package writes such names; "part" files are what a killed run leaves.
_OURS = re.compile(r"(page-\d{4,}-[0-9a-f]{12}\.png|source-[0-9a-f]{12}\.txt|manifest\.json|\.[\w-]+\.part)")
_DIGESTED_AT_ONCE = 1 << 20  # characters
_MOST_IN_SOURCE = 1 << 32  # bytes
_MOST_IN_PAGE = 1 << 26  # bytes of a PNG, which is larger than its pixels where nothing compresses it


@dataclass(frozen=True, slots=True)
class Mismatch:
    """Where a page does not say what its source says; `broken` is which promise that breaks."""

    page: int
    file: str
    problem: str
    broken: Literal["untampered", "complete", "read back"]


def write(
    folder: Path,
    source: Source,
    setting: Typesetter,
    *,
    model: str | None = None,
    threads: int | None = None,
    compress: str = "default",
    progress: Callable[[int, int], None] | None = None,
) -> Manifest:
    """Render `source` into `folder`, replacing a former run whole; the manifest.

    Args:
        folder: made if it is not there. Must hold nothing but a former run.
        source: what to render.
        setting: layout and face.
        model: id of the model, as the caller wrote it.
        threads, compress: see `Setting.pages`.
        progress: called after each page with the source characters done and their total.

    Raises:
        OutputError: the folder holds other files, cannot be written to, or another process is writing to it;
            what stood there still stands, and nothing else.
    """
    _refuse_foreign(folder)
    try:
        with new_folder(folder), exclusive(folder):
            with _nothing_else(folder):
                entries: list[PageEntry] = []
                for page in setting.pages(source, threads=threads, compress=compress):
                    entries.append(_store_page(folder, page))
                    if progress is not None:
                        progress(page.stop, len(source.text))
                manifest = _manifest(source, setting, model, compress, entries)
                write_atomic(folder, manifest.source.file, strict_text(source.text)[0].encode("utf-8"))
                write_atomic(folder, MANIFEST, manifest.to_json(), replace=True)
            _remove_former(folder, manifest)
            return manifest
    except BlockingIOError as error:
        raise OutputError(f"{folder}: another run is writing to it; wait, or name another folder") from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise OutputError(f"{folder}: cannot be written to ({reason})") from error


@contextmanager
def _nothing_else(folder: Path) -> Iterator[None]:
    """Where the block fails, take away what it wrote, so that no page is left of which no manifest tells."""
    before = {path.name for path in folder.iterdir()}
    try:
        yield
    except BaseException:
        _remove(folder, before)
        raise


def _remove_former(folder: Path, manifest: Manifest) -> None:
    """Remove what former runs left, whole or killed."""
    _remove(folder, {MANIFEST, manifest.source.file, *(entry.file for entry in manifest.pages)})


def _remove(folder: Path, kept: Set[str]) -> None:
    """Remove our files but those of these names, and the lock; what cannot be removed does no harm."""
    with suppress(OSError):
        for path in list(folder.iterdir()):
            if path.name not in kept and path.name != LOCK and _OURS.fullmatch(path.name):
                with suppress(OSError):
                    path.unlink(missing_ok=True)


def read_source(folder: Path, manifest: Manifest) -> Source:
    """The retained source, from which pages are rendered again.

    Raises:
        PageError: the file is missing or not the one that the manifest describes.
    """
    entry = manifest.source
    path = folder / entry.file
    try:
        data = read_regular(path, most=_MOST_IN_SOURCE)
        text = data.decode("utf-8")
        if entry.surrogates:
            characters = list(text)
            for offset, code in entry.surrogates:
                characters[offset] = chr(code)
            text = "".join(characters)
        elisions = tuple(Elision(item.offset, item.type, item.bytes) for item in entry.elisions)
        if _digest(text) != entry.sha256:
            raise PageError(f"{path}: changed since the pages were rendered; render them again")
        repeats = tuple(Repeat(*item) for item in entry.repeats)
        return Source(text, entry.marks, elisions=elisions, repeats=repeats, runs=entry.runs)
    except OSError as error:
        raise PageError(f"{path}: the source text cannot be read ({error.strerror})") from error
    except (ValueError, IndexError) as error:
        raise PageError(f"{path}: the source text cannot be read ({error})") from error


@dataclass(frozen=True, slots=True, eq=False)
class OpenFolder:
    """A folder whose pages can be read.

    Attributes:
        folder: where it is.
        layout: what the pages were laid out by.
        atlas: the glyphs they were set with.
        reader: reads them.
        most: characters that a page may unpack to.
    """

    folder: Path
    layout: Layout
    atlas: Atlas
    reader: PageReader
    most: int = MOST_CHARS

    def read(self, entry: PageEntry) -> ReadPage:
        """What the page of an entry of `manifest.pages` says.

        Raises:
            PageError: the page is missing or does not read.
        """
        return self.said(entry, self.cells(entry))

    def said(self, entry: PageEntry, cells: PageCells) -> ReadPage:
        """What the cells of the page of an entry say.

        Raises:
            PageError: they say what no text has.
        """
        with self._naming(entry):
            return read_page(cells, most=self.most)

    def cells(self, entry: PageEntry) -> PageCells:
        """What stands in the cells of the page of an entry of `manifest.pages`.

        Raises:
            PageError: the page is missing or does not read.
        """
        with self._naming(entry):
            return self.reader.cells(read_regular(self.folder / entry.file, most=_MOST_IN_PAGE))

    @contextmanager
    def _naming(self, entry: PageEntry) -> Iterator[None]:
        """Put the name of a page into errors."""
        try:
            yield
        except OSError as error:
            raise PageError(f"{entry.file}: {error.strerror}; render the pages again") from error
        except PageError as error:
            raise PageError(f"{entry.file}: {error}") from error


def open_folder(folder: Path, manifest: Manifest, *, font: str | Path | None = None) -> OpenFolder:
    """The folder with its layout and face opened.

    Args:
        folder: where it is.
        manifest: what stands in it. No font is opened because a manifest says so: faces are those of the
            package and of the layout that is called so here.
        font: the user's font file that the pages were set with.

    Raises:
        PageError: the face here is not the one that the pages were set in, or a font of the user's is needed.
        FontError: the face is not here at all.
        LayoutError: there is no layout of this name.
    """
    table = manifest.layout
    named = layout_for(name=table.name)
    where = folder / MANIFEST
    if table.face not in (named.face, *shipped_faces()):
        raise PageError(
            f"{where}: no face {table.face!r:.80} belongs to this version; render the pages again"
        )
    if table.cell != cell_of(table.face):
        raise PageError(f"{where}: layout.cell is not that of the face {table.face}; render the pages again")
    if table.font is not None and font is None:
        raise PageError(f"{folder}: set with the font {Path(table.font).name!r}; give it as `font=`")
    if table.font is None and font is not None:
        raise PageError(f"{folder}: set without a font file: leave out `font=`")
    layout = replace(
        named,
        width=table.width,
        height=table.height,
        face=table.face,
        cell=table.cell,
        text_columns=table.text_columns,
        flow_columns=table.flow_columns,
    )
    atlas = _atlas(folder, Typesetter(layout, font=font), table)
    try:
        size = (folder / manifest.source.file).stat().st_size
    except OSError:
        size = 0
    # A page cannot say more than the source text that lies beside it has.
    return OpenFolder(folder, layout, atlas, PageReader(layout, atlas), max(MOST_CHARS, size))


def open_pages(
    folder: Path, manifest: Manifest, *, font: str | Path | None = None
) -> Callable[[PageEntry], ReadPage]:
    """A function that reads the page of an entry of `manifest.pages` from its pixels.

    It raises PageError for a page that is missing or does not read.

    Raises:
        PageError, FontError, LayoutError: as `open_folder` does.
    """
    return open_folder(folder, manifest, font=font).read


def _atlas(folder: Path, setting: Typesetter, table: LayoutEntry) -> Atlas:
    """The glyphs that the pages of a manifest were set with."""
    face = setting.face
    used = tuple(helper for helper in face.fallback if helper.name in table.helpers)
    lacking = [name for name in table.helpers if name not in {helper.name for helper in used}]
    if lacking:
        raise PageError(
            f"{folder}: set with the face {lacking[0]}, which is not here{_how_to_get(lacking[0])}"
        )
    face = replace(face, fallback=used, marks=table.marks)
    if face.digest != table.face_sha256:
        raise PageError(
            f"{folder}: set in another face than the {face.name} that is here (another version of its font); "
            "render the pages again"
        )
    try:
        return atlas_for(face, tuple(map(ShapedCluster.parse, table.glyphs.split())))
    except (ValueError, KeyError, FontError) as error:
        raise PageError(
            f"{folder / MANIFEST}: layout.glyphs are not drawn by its faces ({error}); render the pages again"
        ) from error


def _how_to_get(helper: str) -> str:
    """How to install a face that helps out, where one of the extras brings it."""
    family = helper.partition("/")[0]
    extra = extra_of(family) if family in shipped_faces() else ""
    return f": pip install 'snapshot-pages[{extra}]'" if extra else ""


def check(
    folder: Path,
    manifest: Manifest,
    *,
    font: str | Path | None = None,
    seen: Callable[[int, PageCells], None] | None = None,
) -> list[Mismatch]:
    """Every page that does not say exactly what its span of the retained source says.

    Args:
        folder: where the pages are.
        manifest: what stands in it.
        font: the user's font file that the pages were set with.
        seen: called with each page that has its glyphs, counted from 0, and its cells: for who wants more of
            them than this check, so that pages are opened once.

    Raises:
        PageError, FontError, LayoutError: the folder cannot be opened or its source is not there.
    """

    source = read_source(folder, manifest)
    text = PreparedText(source)
    opened = open_folder(folder, manifest, font=font)
    found: list[Mismatch] = []
    marks: list[int] = []
    length = position = 0
    for at_page, entry in enumerate(manifest.pages):
        number, file, start, stop = entry.number, entry.file, entry.start, entry.stop
        if start != position:
            problem = f"starts at character {start}, the page before it stops at {position}"
            found.append(Mismatch(number, file, problem, "complete"))
        position = stop
        try:
            cells = opened.cells(entry)
            if seen is not None:
                seen(at_page, cells)
            page = opened.said(entry, cells)
            digest = sha256(read_regular(folder / file, most=_MOST_IN_PAGE)).hexdigest()
        except (PageError, OSError) as error:
            missing = not (folder / file).exists()
            found.append(Mismatch(number, file, str(error), "complete" if missing else "read back"))
            continue
        if digest != entry.sha256:
            found.append(Mismatch(number, file, "the file is not the one that was rendered", "untampered"))
        want = text.folded(start, stop)
        if page.text != want:
            at = start + _first_difference(page.text, want)
            found.append(Mismatch(number, file, f"differs from its source at character {at}", "read back"))
        marks += [length + mark for mark in page.marks]
        length += len(page.text)
    if position != len(source.text):
        problem = f"pages hold {position} of {len(source.text)} characters"
        found.append(Mismatch(0, MANIFEST, problem, "complete"))
    if not found and marks != text.folded_marks():
        problem = "the marks on the pages are not those of the source"
        found.append(Mismatch(0, MANIFEST, problem, "read back"))
    if not found and not _refers_as_told(source, manifest):
        problem = "the references on the pages do not stand for what the manifest says"
        found.append(Mismatch(0, MANIFEST, problem, "complete"))
    return found


def _refers_as_told(source: Source, manifest: Manifest) -> bool:
    """Whether the references of a source stand for as many characters as its manifest says."""
    chars = manifest.source.original_chars
    try:
        return len(expand_repeats(source.text, source.marks, most=chars, runs=source.runs)) == chars
    except ValueError:
        return False


def foreign_pages(folder: Path, manifest: Manifest) -> list[str]:
    """Names of files that look like pages and are not in the manifest."""
    known = {entry.file for entry in manifest.pages}
    return sorted(path.name for path in folder.glob("page-*") if path.name not in known)


def _first_difference(one: str, other: str) -> int:
    return next(
        (i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )


def _refuse_foreign(folder: Path) -> None:
    try:
        if not folder.exists():
            return
        if not folder.is_dir():
            raise OutputError(f"{folder}: is a file; name a folder for the pages")
        foreign = sorted(path.name for path in folder.iterdir() if not _OURS.fullmatch(path.name))
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise OutputError(f"{folder}: cannot be written to ({reason})") from error
    if foreign:
        others = f" and {len(foreign) - 1} more" if len(foreign) > 1 else ""
        raise OutputError(f"{folder}: holds {foreign[0]}{others}, which is not ours; name another folder")


def _store_page(folder: Path, page: Page) -> PageEntry:
    name = f"page-{page.number:04d}-{page.sha256[:12]}.png"
    write_atomic(folder, name, page.png)
    return PageEntry(
        number=page.number,
        file=name,
        width=page.width,
        height=page.height,
        start=page.start,
        stop=page.stop,
        chars=page.chars,
        tokens=page.tokens,
        sha256=page.sha256,
    )


def _manifest(
    source: Source, setting: Typesetter, model: str | None, compress: str, entries: list[PageEntry]
) -> Manifest:
    layout, face, atlas = setting.layout, setting.face, setting.atlas(source)
    digest = _digest(source.text)
    return Manifest(
        schema=SCHEMA,
        version=snapshot.__version__,
        model=model,
        compression=Compression(profile=compress, library=setting.compressor(compress).library),
        layout=LayoutEntry(
            name=layout.name,
            width=layout.width,
            height=layout.height,
            columns=layout.columns,
            rows=layout.rows,
            text_columns=layout.text_columns,
            flow_columns=layout.flow_columns,
            cell=layout.cell,
            levels=face.levels,
            face=layout.face,
            face_sha256=atlas.face.digest,
            helpers=tuple(helper.name for helper in atlas.face.fallback),
            glyphs=" ".join(map(str, atlas.extra)),
            font=None if setting.font is None else str(setting.font),
            detail=layout.reader.detail or None,
            marks=atlas.face.marks,
        ),
        source=SourceEntry(
            file=f"source-{digest[:12]}.txt",
            sha256=digest,
            chars=len(source.text),
            marks=tuple(source.marks),
            surrogates=tuple(
                (match.start(), ord(match[0])) for match in LONE_SURROGATE.finditer(source.text)
            ),
            elisions=tuple(
                ElisionEntry(offset=item.offset, type=item.media_type, bytes=item.size)
                for item in source.elisions
            ),
            folded=setting.folds(source),
            code_points=setting.code_points(source),
            repeats=tuple(
                (item.start, item.stop, item.original_start, item.original_stop) for item in source.repeats
            ),
            runs=source.runs,
        ),
        totals=Totals(
            pages=len(entries),
            tokens=sum(entry.tokens for entry in entries),
            text_tokens=text_tokens(
                expand_repeats(source.text, source.marks, runs=source.runs), layout.reader
            ),
        ),
        guide=reading_guide(
            way=layout.way,
            repeats=bool(source.references),
            marks=first_marks(source.text, runs=bool(source.runs)),
        ),
        pages=tuple(entries),
    )


def _digest(text: str) -> str:
    """SHA-256 of the text in UTF-8, lone surrogates as three bytes each."""
    digest = sha256()
    for at in range(0, len(text), _DIGESTED_AT_ONCE):
        digest.update(text[at : at + _DIGESTED_AT_ONCE].encode("utf-8", "surrogatepass"))
    return digest.hexdigest()
