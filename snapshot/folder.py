"""A folder of pages: the PNG files, the source text, and `manifest.json`, which says what is what.

Files are named by their content, and the manifest is replaced last, in one step. So a folder always shows
one whole run: until the new manifest stands, the old one and its pages do, whatever happens in between. Pages
that did not change are not written again.

The manifest's form is `snapshot/manifest.schema.json`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import snapshot
from snapshot.errors import OutputError, PageError
from snapshot.files import store
from snapshot.layout import layout_for
from snapshot.legibility.readback import PageReader, ReadPage
from snapshot.pages import Page, Setting
from snapshot.raster.atlas import atlas_for
from snapshot.raster.compress import compressor_for
from snapshot.source import Elision, Source, strict_text
from snapshot.tokens import text_tokens
from snapshot.typeset.fold import fold
from snapshot.typeset.marks import GUIDE, LINES_GUIDE
from snapshot.typeset.uncovered import uncovered

__all__ = [
    "MANIFEST",
    "SCHEMA",
    "Mismatch",
    "check",
    "load_manifest",
    "open_pages",
    "read_source",
    "store",
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
    """Where a page does not say what its source says."""

    page: int
    file: str
    problem: str


def write(
    folder: Path,
    source: Source,
    setting: Setting,
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
        store(folder, manifest["source"]["file"], strict_text(source.text)[0].encode("utf-8"))
        store(folder, MANIFEST, json.dumps(manifest, indent=1).encode() + b"\n", replace=True)
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


def open_pages(folder: Path, manifest: dict[str, Any]) -> Callable[[dict[str, Any]], ReadPage]:
    """A function that reads the page of an entry of `manifest["pages"]` from its pixels.

    It raises PageError for a page that is missing or does not read.

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
        setting = Setting(layout, font=table["font"])
    except KeyError as error:
        raise PageError(f"{folder / MANIFEST}: layout has no {error}; render the pages again") from error
    if setting.face.digest != table.get("face_sha256"):
        raise PageError(
            f"{folder}: set in another face than the {setting.face.name} that is here (another version of "
            "its font, or other extras installed); render the pages again"
        )
    reader = PageReader(layout, atlas_for(setting.face, table.get("helpers")))

    def read(entry: dict[str, Any]) -> ReadPage:
        path = folder / Path(entry["file"]).name
        try:
            return reader.read(path.read_bytes())
        except OSError as error:
            raise PageError(f"{path.name}: {error.strerror}; render the pages again") from error
        except PageError as error:
            raise PageError(f"{path.name}: {error}") from error

    return read


def check(folder: Path, manifest: dict[str, Any]) -> list[Mismatch]:
    """Every page that does not say exactly what its span of the retained source says."""
    import numpy as np

    source = read_source(folder, manifest)
    read = open_pages(folder, manifest)
    found: list[Mismatch] = []
    marks: list[int] = []
    length = position = 0
    for entry in manifest["pages"]:
        start, stop = entry["start"], entry["stop"]
        problems = []
        if start != position:
            problems.append(f"starts at character {start}, the page before it stops at {position}")
        position = stop
        try:
            page = read(entry)
        except PageError as error:
            problems.append(str(error))
        else:
            if sha256((folder / entry["file"]).read_bytes()).hexdigest() != entry["sha256"]:
                problems.append("the file is not the one that was rendered")
            want = fold(source.text[start:stop]).text
            if page.text != want:
                problems.append(
                    f"differs from its source at character {start + _first_difference(page.text, want)}"
                )
            marks += [length + mark for mark in page.marks]
            length += len(page.text)
        found += [Mismatch(entry["number"], entry["file"], problem) for problem in problems]
    if position != len(source.text):
        found.append(Mismatch(0, MANIFEST, f"pages hold {position} of {len(source.text)} characters"))
    wanted = fold(source.text).folded_offsets(np.array(source.marks, np.int64)).tolist()
    if not found and marks != wanted:
        found.append(Mismatch(0, MANIFEST, "the marks on the pages are not those of the source"))
    return found


def _first_difference(one: str, other: str) -> int:
    return next(
        (i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
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
    store(folder, name, page.png)
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
    source: Source, setting: Setting, model: str | None, compress: str, entries: list[dict[str, Any]]
) -> dict[str, Any]:
    layout, face, atlas = setting.layout, setting.face, setting.atlas(source)
    folded = fold(source.text)
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
            "face_sha256": face.digest,
            "helpers": len(atlas.face.fallback),
            "font": str(face.path) if face.name != layout.face else None,
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
            "folded": dict(folded.counts),
            "code_points": uncovered(folded.text, atlas),
        },
        "totals": {
            "pages": len(entries),
            "tokens": tokens,
            "text_tokens": text_tokens(source.text, layout.reader),
        },
        "guide": LINES_GUIDE if layout.text_columns else GUIDE,
        "pages": entries,
    }


def _digest(text: str) -> str:
    """SHA-256 of the text in UTF-8, lone surrogates as three bytes each."""
    digest = sha256()
    for at in range(0, len(text), _DIGESTED_AT_ONCE):
        digest.update(text[at : at + _DIGESTED_AT_ONCE].encode("utf-8", "surrogatepass"))
    return digest.hexdigest()
