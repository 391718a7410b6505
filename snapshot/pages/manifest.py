"""The manifest: what `manifest.json` says of a folder of pages, with the type and bounds of every value.

A manifest may be somebody else's. What it says is checked here, once: types, lengths, the range of each
figure, and that files are called as this package calls them, so that no path ever comes out of it.

The form on disk is `snapshot/pages/manifest.schema.json`. Keys that are not known are passed over; those that
older versions did not write have defaults.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import msgspec
from msgspec import Meta, Struct

from snapshot._files import read_regular
from snapshot.errors import PageError
from snapshot.source.marks import DRAWING

__all__ = [
    "MANIFEST",
    "MOST_PIXELS",
    "SCHEMA",
    "Compression",
    "ElisionEntry",
    "LayoutEntry",
    "Manifest",
    "PageEntry",
    "SourceEntry",
    "Totals",
    "load_manifest",
]

MANIFEST = "manifest.json"
SCHEMA = "snapshot-pages/manifest/1"
MOST_PIXELS = 1 << 25
"""Pixels of a page: several times those of the largest that any reader takes."""

_MOST_BYTES = 1 << 29  # of the file; a page takes 300 of them

Count: TypeAlias = Annotated[int, Meta(ge=0, le=(1 << 53) - 1)]
Some: TypeAlias = Annotated[int, Meta(ge=1, le=(1 << 53) - 1)]
Pixels: TypeAlias = Annotated[int, Meta(ge=1, le=1 << 14)]
Profile: TypeAlias = Annotated[str, Meta(pattern=r"\A(default|fast|small)\Z")]
Sha256: TypeAlias = Annotated[str, Meta(pattern=r"\A[0-9a-f]{64}\Z")]
Name: TypeAlias = Annotated[str, Meta(max_length=1000)]
Words: TypeAlias = Annotated[str, Meta(max_length=100_000)]
PageFile: TypeAlias = Annotated[str, Meta(pattern=r"\Apage-[0-9]{4,9}-[0-9a-f]{12}\.png\Z")]
SourceFile: TypeAlias = Annotated[str, Meta(pattern=r"\Asource-[0-9a-f]{12}\.txt\Z")]
Run: TypeAlias = Annotated[str, Meta(min_length=65, max_length=1 << 24)]
Surrogate: TypeAlias = Annotated[int, Meta(ge=0xD800, le=0xDFFF)]


class Compression(Struct, frozen=True):
    """How the files were compressed.

    Attributes:
        profile: "default", "fast" or "small".
        library: what compressed, and its level.
    """

    profile: Profile = "default"
    library: Name = ""


class LayoutEntry(Struct, frozen=True):
    """The layout and the glyphs that the pages were set with.

    Attributes:
        name: of the layout.
        width, height: a full page in pixels.
        columns, rows: its cells.
        text_columns: columns that keep lines; 0 is flowing text.
        flow_columns: columns that flowing text stands in.
        cell: width and height of a cell in pixels.
        levels: grey levels.
        face: name of the face file.
        face_sha256: digest of the font files and how they were set.
        helpers: names of the fallback faces that the text needed.
        glyphs: what the fallback faces drew, parted by blanks.
        font: the user's font file, if one was named: to be shown, never to be opened.
        detail: image detail that requests must ask for.
        marks: how marks are drawn, see `snapshot.source.marks.DRAWING`; 1 where nothing is said of it.
    """

    name: Name
    width: Pixels
    height: Pixels
    columns: Pixels
    rows: Pixels
    text_columns: Annotated[int, Meta(ge=0, le=1 << 14)]
    cell: tuple[Pixels, Pixels]
    levels: Annotated[int, Meta(ge=2, le=16)]
    face: Name
    face_sha256: Sha256
    helpers: Annotated[tuple[Name, ...], Meta(max_length=1000)]
    glyphs: Annotated[str, Meta(max_length=1 << 22)]
    font: Words | None = None
    detail: Name | None = None
    marks: Annotated[int, Meta(ge=1, le=DRAWING)] = 1
    flow_columns: Annotated[int, Meta(ge=1, le=1 << 14)] = 1


class ElisionEntry(Struct, frozen=True):
    """What the source text only names: its offset there, its media type, its size in bytes."""

    offset: Count
    type: Words
    bytes: Count


class SourceEntry(Struct, frozen=True):
    """The retained source text.

    Attributes:
        file: its name in the folder.
        sha256: digest of the text, lone surrogates as three bytes each.
        chars: its length.
        marks: offsets of marks that are not content.
        surrogates: offset and code of each lone surrogate, which the file has as U+FFFD.
        elisions: payloads, images and files.
        folded: source characters that no page shows, by kind of fold.
        code_points: characters printed as code points, by script or kind.
        repeats: references to lines that were shown before: the half-open span of each, and that of the text
            without references that it stands for. Marks of runs are among them.
        runs: runs of random characters, each once: the mark with number N stands for the Nth.
    """

    file: SourceFile
    sha256: Sha256
    chars: Count
    marks: tuple[Count, ...]
    surrogates: tuple[tuple[Count, Surrogate], ...]
    elisions: tuple[ElisionEntry, ...]
    folded: dict[Name, Some] = {}
    code_points: dict[Name, Some] = {}
    repeats: tuple[tuple[Count, Count, Count, Count], ...] = ()
    runs: tuple[Run, ...] = ()

    @property
    def original_chars(self) -> int:
        """Characters of the text without references."""
        return self.chars + sum(last - first - (stop - start) for start, stop, first, last in self.repeats)


class Totals(Struct, frozen=True):
    """Number of pages, the tokens they are billed, and the estimated tokens of the source as text."""

    pages: Count
    tokens: Count
    text_tokens: Count


class PageEntry(Struct, frozen=True):
    """A page: its number from 1, its file, size in pixels, span of source text, price, and digest."""

    number: Annotated[int, Meta(ge=1, le=999_999_999)]
    file: PageFile
    width: Pixels
    height: Pixels
    start: Count
    stop: Count
    chars: Count
    tokens: Count
    sha256: Sha256


class Manifest(Struct, frozen=True):
    """What stands in a folder of pages.

    Attributes:
        schema: `SCHEMA`.
        version: of the package that rendered.
        model: id of the model as the caller wrote it.
        compression, layout, source, totals: see there.
        guide: how to read the pages, for the model.
        pages: in order.
    """

    schema: Name
    version: Name
    model: Words | None
    compression: Compression
    layout: LayoutEntry
    source: SourceEntry
    totals: Totals
    guide: Words
    pages: tuple[PageEntry, ...]

    @classmethod
    def from_json(cls, data: bytes, *, where: str = MANIFEST) -> Manifest:
        """The manifest in a file's bytes; `where` is the file's name for messages.

        Raises:
            PageError: it is damaged, of a newer form, or a value is out of its bounds; the message names it.
        """
        # The standard parser, since it takes the lone surrogates that stand for a path's odd bytes.
        try:
            value: Any = json.loads(data)
        except (ValueError, RecursionError) as error:
            raise PageError(f"{where}: cannot be read ({error}); render the pages again") from error
        found: Any = value.get("schema") if isinstance(value, dict) else None
        if found != SCHEMA:
            raise PageError(f"{where}: schema is {found!r:.80}, this version reads {SCHEMA!r}")
        try:
            manifest = msgspec.convert(value, cls)
        except (msgspec.ValidationError, ValueError, OverflowError, RecursionError) as error:
            raise PageError(f"{where}: {_told(str(error))}; render the pages again") from error
        if problem := next(manifest.contradictions(), ""):
            raise PageError(f"{where}: {problem}; render the pages again")
        return manifest

    def to_json(self) -> bytes:
        """The file's bytes."""
        return json.dumps(self.as_dict(), indent=1).encode("ascii") + b"\n"

    def as_dict(self) -> dict[str, Any]:
        """The file's value, in plain dictionaries and lists."""
        return msgspec.to_builtins(self)

    def contradictions(self) -> Iterator[str]:
        """What in it cannot go together."""
        layout = self.layout
        if layout.width * layout.height > MOST_PIXELS:
            yield f"layout: a page of {layout.width}×{layout.height} pixels is larger than any"
        if (layout.columns, layout.rows) != (layout.width // layout.cell[0], layout.height // layout.cell[1]):
            yield "layout: columns, rows and cells are not those of the page's size"
        if layout.levels not in (2, 4, 16):
            yield f"layout: there are no pages of {layout.levels} grey levels"
        if max(layout.text_columns, layout.flow_columns) > layout.columns:
            yield "layout: more columns of text than cells in a row"
        for page in self.pages:
            if page.width != layout.width or page.height > layout.height:
                yield f"page {page.number}: {page.width}×{page.height} pixels is no size of its layout"
            if not page.start <= page.stop <= self.source.chars:
                yield f"page {page.number}: its span {page.start} to {page.stop} is not one of the source's"
        if any(one >= other for one, other in pairwise(self.source.surrogates)):
            yield "source: its surrogates are not in order"
        at = before = 0
        for start, stop, first, last in self.source.repeats:
            if not (
                at <= start < stop <= self.source.chars and first - before == start - at and first < last
            ):
                yield "source: its references do not follow each other"
                return
            at, before = stop, last


def load_manifest(folder: Path) -> Manifest:
    """The manifest of `folder`.

    Raises:
        PageError: there is none, or it is damaged or of a newer form.
    """
    path = folder / MANIFEST
    try:
        data = read_regular(path, most=_MOST_BYTES)
    except FileNotFoundError:
        raise PageError(
            f"{folder}: no {MANIFEST} there; name a folder that `snapshot render` wrote"
        ) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise PageError(f"{path}: cannot be read ({reason}); render the pages again") from error
    return Manifest.from_json(data, where=str(path))


def _told(message: str) -> str:
    """A message of the checking library, with the place first: "pages[0].number: expected `int`"."""
    what, _, place = message.partition(" - at ")
    place = place.strip("`").removeprefix("$.")
    return f"{place}: {what[:1].lower()}{what[1:]}" if place else f"{what[:1].lower()}{what[1:]}"
