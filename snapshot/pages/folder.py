"""A folder of pages: the PNG files, the source text, and `manifest.json`, which says what is what.

Files are named by their content, and the manifest is replaced last, in one step. So a folder always shows
one whole run: until the new manifest stands, the old one and its pages do, whatever happens in between. Pages
that did not change are not written again.

The manifest's form is `snapshot/pages/manifest.schema.json`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

import snapshot
from snapshot._files import write_atomic
from snapshot.errors import OutputError, PageError
from snapshot.models.tokens import text_tokens
from snapshot.pages.layout import Layout, layout_for
from snapshot.pages.readback import PageCells, PageReader, ReadPage, read_page
from snapshot.pages.render import Page, Typesetter
from snapshot.raster.atlas import Atlas, atlas_for
from snapshot.raster.compress import compressor_for
from snapshot.raster.face import extra_of
from snapshot.source.marks import reading_guide
from snapshot.source.source import Elision, Source, strict_text
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

MANIFEST = "manifest.json"
SCHEMA = "snapshot-pages/manifest/1"

# Nothing but this package writes such names; "part" files are what a killed run leaves.
_OURS = re.compile(r"(page-\d{4,}-[0-9a-f]{12}\.png|source-[0-9a-f]{12}\.txt|manifest\.json|\.[\w-]+\.part)")
_DIGESTED_AT_ONCE = 1 << 20  # characters
_SURROGATE = re.compile("[\ud800-\udfff]")


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
) -> dict[str, Any]:
    """Render `source` into `folder`, replacing a former run whole; the manifest.

    Args:
        folder: made if it is not there. Must hold nothing but a former run.
        source: what to render.
        setting: layout and face.
        model: id of the model, as the caller wrote it.
        threads, compress: see `Setting.pages`.
        progress: called after each page with the source characters done and their total.

    Raises:
        OutputError: the folder holds other files, or cannot be written to; the former run still stands.
    """
    _refuse_foreign(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        entries = []
        for page in setting.pages(source, threads=threads, compress=compress):
            entries.append(_store_page(folder, page))
            if progress is not None:
                progress(page.stop, len(source.text))
        manifest = _manifest(source, setting, model, compress, entries)
        write_atomic(folder, manifest["source"]["file"], strict_text(source.text)[0].encode("utf-8"))
        write_atomic(folder, MANIFEST, json.dumps(manifest, indent=1).encode() + b"\n", replace=True)
        kept = {MANIFEST, manifest["source"]["file"], *(entry["file"] for entry in entries)}
        for path in folder.iterdir():
            if path.name not in kept and _OURS.fullmatch(path.name):
                path.unlink(missing_ok=True)
    except OSError as error:
        raise OutputError(f"{folder}: cannot be written to ({error.strerror or error})") from error
    return manifest


def load_manifest(folder: Path) -> dict[str, Any]:
    """The manifest of `folder`.

    Raises:
        PageError: there is none, or it is damaged or of a newer form.
    """
    path = folder / MANIFEST
    try:
        manifest = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise PageError(
            f"{folder}: no {MANIFEST} there; name a folder that `snapshot render` wrote"
        ) from None
    except (OSError, ValueError, RecursionError) as error:
        raise PageError(f"{path}: cannot be read ({error}); render the pages again") from error
    found = manifest.get("schema") if isinstance(manifest, dict) else None
    if found != SCHEMA:
        raise PageError(f"{path}: schema is {found!r}, this version reads {SCHEMA!r}")
    pages = manifest.get("pages")
    if not isinstance(pages, list) or not all(map(_is_entry, pages)):
        raise PageError(f"{path}: its list of pages is damaged; render the pages again")
    return manifest


def read_source(folder: Path, manifest: dict[str, Any]) -> Source:
    """The retained source, from which pages are rendered again.

    Raises:
        PageError: the file is missing or not the one that the manifest describes.
    """
    entry = _table(manifest, "source")
    try:
        data = (folder / Path(entry["file"]).name).read_bytes()
        text = data.decode("utf-8")
        if entry["surrogates"]:
            characters = list(text)
            for offset, code in entry["surrogates"]:
                characters[offset] = chr(code)
            text = "".join(characters)
        elisions = tuple(Elision(item["offset"], item["type"], item["bytes"]) for item in entry["elisions"])
        source = Source(text, tuple(entry["marks"]), elisions=elisions)
    except (OSError, ValueError, KeyError, TypeError, IndexError) as error:
        raise PageError(f"{folder}: the source text cannot be read ({error})") from error
    if _digest(text) != entry.get("sha256"):
        raise PageError(f"{folder / entry['file']}: changed since the pages were rendered; render them again")
    return source


@dataclass(frozen=True, slots=True, eq=False)
class OpenFolder:
    """A folder whose pages can be read.

    Attributes:
        folder: where it is.
        layout: what the pages were laid out by.
        atlas: the glyphs they were set with.
        reader: reads them.
    """

    folder: Path
    layout: Layout
    atlas: Atlas
    reader: PageReader

    def cells(self, entry: dict[str, Any]) -> PageCells:
        """What stands in the cells of the page of an entry of `manifest["pages"]`.

        Raises:
            PageError: the page is missing or does not read.
        """
        path = self.folder / Path(entry["file"]).name
        try:
            return self.reader.cells(path.read_bytes())
        except OSError as error:
            raise PageError(f"{path.name}: {error.strerror}; render the pages again") from error
        except PageError as error:
            raise PageError(f"{path.name}: {error}") from error


def open_folder(folder: Path, manifest: dict[str, Any]) -> OpenFolder:
    """The folder with its layout and face opened.

    Raises:
        PageError: the face here is not the one that the pages were set in.
        FontError: the face is not here at all.
    """
    table = _table(manifest, "layout")
    try:
        layout = replace(
            layout_for(name=table["name"]),
            width=table["width"],
            height=table["height"],
            cell=tuple(table["cell"]),
            face=table["face"],
            text_columns=table["text_columns"],
        )
        atlas = _atlas(folder, Typesetter(layout, font=table["font"]), table)
    except KeyError as error:
        raise PageError(f"{folder / MANIFEST}: layout has no {error}; render the pages again") from error
    return OpenFolder(folder, layout, atlas, PageReader(layout, atlas))


def open_pages(folder: Path, manifest: dict[str, Any]) -> Callable[[dict[str, Any]], ReadPage]:
    """A function that reads the page of an entry of `manifest["pages"]` from its pixels.

    It raises PageError for a page that is missing or does not read.

    Raises:
        PageError, FontError: as `open_folder` does.
    """
    opened = open_folder(folder, manifest)
    return lambda entry: read_page(opened.cells(entry))


def _atlas(folder: Path, setting: Typesetter, table: dict[str, Any]) -> Atlas:
    """The glyphs that the pages of a manifest were set with."""
    face, helpers, glyphs = setting.face, table["helpers"], table["glyphs"]
    if not (isinstance(helpers, list) and isinstance(glyphs, str)):
        raise PageError(f"{folder / MANIFEST}: helpers or glyphs are damaged; render the pages again")
    used = tuple(helper for helper in face.fallback if helper.name in helpers)
    lacking = [name for name in helpers if name not in {helper.name for helper in used}]
    if lacking:
        raise PageError(
            f"{folder}: set with the face {lacking[0]}, which is not here{_how_to_get(lacking[0])}"
        )
    atlas = atlas_for(replace(face, fallback=used), tuple(map(ShapedCluster.parse, glyphs.split())))
    if atlas.face.digest != table["face_sha256"]:
        raise PageError(
            f"{folder}: set in another face than the {face.name} that is here (another version of its font); "
            "render the pages again"
        )
    return atlas


def _how_to_get(helper: Any) -> str:
    """How to install a face that helps out, where one of the extras brings it."""
    extra = extra_of(str(helper))
    return f": pip install 'snapshot-pages[{extra}]'" if extra else ""


def check(folder: Path, manifest: dict[str, Any]) -> list[Mismatch]:
    """Every page that does not say exactly what its span of the retained source says."""
    source = read_source(folder, manifest)
    text = PreparedText(source)
    read = open_pages(folder, manifest)
    found: list[Mismatch] = []
    marks: list[int] = []
    length = position = 0
    for entry in manifest["pages"]:
        number, file, start, stop = entry["number"], entry["file"], entry["start"], entry["stop"]
        if start != position:
            problem = f"starts at character {start}, the page before it stops at {position}"
            found.append(Mismatch(number, file, problem, "complete"))
        position = stop
        try:
            page = read(entry)
        except PageError as error:
            missing = not (folder / Path(file).name).exists()
            found.append(Mismatch(number, file, str(error), "complete" if missing else "read back"))
            continue
        if sha256((folder / file).read_bytes()).hexdigest() != entry["sha256"]:
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
    return found


def foreign_pages(folder: Path, manifest: dict[str, Any]) -> list[str]:
    """Names of files that look like pages and are not in the manifest."""
    known = {entry["file"] for entry in manifest["pages"]}
    return sorted(path.name for path in folder.glob("page-*") if path.name not in known)


def _first_difference(one: str, other: str) -> int:
    return next(
        (i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )


def _is_entry(entry: object) -> bool:
    counts, texts = ("number", "width", "height", "start", "stop"), ("file", "sha256")
    return (
        isinstance(entry, dict)
        and all(type(entry.get(key)) is int for key in counts)
        and all(type(entry.get(key)) is str for key in texts)
    )


def _table(manifest: dict[str, Any], key: str) -> dict[str, Any]:
    value = manifest.get(key)
    if not isinstance(value, dict):
        raise PageError(f"{MANIFEST}: {key} is missing; render the pages again")
    return value


def _refuse_foreign(folder: Path) -> None:
    if not folder.exists():
        return
    if not folder.is_dir():
        raise OutputError(f"{folder}: is a file; name a folder for the pages")
    foreign = sorted(path.name for path in folder.iterdir() if not _OURS.fullmatch(path.name))
    if foreign:
        others = f" and {len(foreign) - 1} more" if len(foreign) > 1 else ""
        raise OutputError(f"{folder}: holds {foreign[0]}{others}, which is not ours; name another folder")


def _store_page(folder: Path, page: Page) -> dict[str, Any]:
    name = f"page-{page.number:04d}-{page.sha256[:12]}.png"
    write_atomic(folder, name, page.png)
    return {
        "number": page.number,
        "file": name,
        "width": page.width,
        "height": page.height,
        "start": page.start,
        "stop": page.stop,
        "chars": page.chars,
        "tokens": page.tokens,
        "sha256": page.sha256,
    }


def _manifest(
    source: Source, setting: Typesetter, model: str | None, compress: str, entries: list[dict[str, Any]]
) -> dict[str, Any]:
    layout, face, atlas = setting.layout, setting.face, setting.atlas(source)
    tokens = sum(entry["tokens"] for entry in entries)
    digest = _digest(source.text)
    return {
        "schema": SCHEMA,
        "version": snapshot.__version__,
        "model": model,
        "compression": {"profile": compress, "library": compressor_for(compress).library},
        "layout": {
            "name": layout.name,
            "width": layout.width,
            "height": layout.height,
            "columns": layout.columns,
            "rows": layout.rows,
            "text_columns": layout.text_columns,
            "cell": list(layout.cell),
            "levels": face.levels,
            "face": layout.face,
            "face_sha256": atlas.face.digest,
            "helpers": [helper.name for helper in atlas.face.fallback],
            "glyphs": " ".join(map(str, atlas.extra)),
            "font": None if setting.font is None else str(setting.font),
            "detail": layout.reader.detail or None,
        },
        "source": {
            "file": f"source-{digest[:12]}.txt",
            "sha256": digest,
            "chars": len(source.text),
            "marks": list(source.marks),
            "surrogates": [[match.start(), ord(match[0])] for match in _SURROGATE.finditer(source.text)],
            "elisions": [
                {"offset": item.offset, "type": item.media_type, "bytes": item.size}
                for item in source.elisions
            ],
            "folded": setting.folds(source),
            "code_points": setting.code_points(source),
        },
        "totals": {
            "pages": len(entries),
            "tokens": tokens,
            "text_tokens": text_tokens(source.text, layout.reader),
        },
        "guide": reading_guide(lines=bool(layout.text_columns), repeats=bool(source.repeats)),
        "pages": entries,
    }


def _digest(text: str) -> str:
    """SHA-256 of the text in UTF-8, lone surrogates as three bytes each."""
    digest = sha256()
    for at in range(0, len(text), _DIGESTED_AT_ONCE):
        digest.update(text[at : at + _DIGESTED_AT_ONCE].encode("utf-8", "surrogatepass"))
    return digest.hexdigest()
