"""Model id → reader → layout: what is known of a model as a reader of pages, from `layouts/*.toml`.

A layout file holds one provider. Its keys:

* `provider`, `as_of` (date of the figures), `sources`
* `[[readers]]`: one for each kind of model that is billed and sees alike
    * `name`, `title`; `models`: ids as `model_key` writes them, `*` at the end stands for anything
    * `vision` (true if absent); `detail`: the image detail that requests must ask for, if any
    * `window`: context window in tokens; `max_output`: the longest answer in tokens; absent where not known
    * `billing`: a rule of `snapshot.billing` with its parameters
    * `chars_per_token`: `value` and `basis`, for ASCII text
    * `limits`: what the provider refuses; `evidence`: what is known of legible cells
    * `layouts`: by name, `default` first: `face` (a file of `fonts/`), `width`, `height` of a full page
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any

from snapshot.billing import BillingRule, rule_from
from snapshot.errors import LayoutError
from snapshot.resources import locate

__all__ = ["Layout", "PageShape", "Reader", "layout_for", "model_key", "reader_for", "readers"]

_READER_KEYS = {
    "name", "title", "models", "vision", "detail", "billing", "chars_per_token", "window", "max_output",
    "limits", "evidence", "layouts",
}  # fmt: skip
_FEWEST_COLUMNS = 20


@dataclass(frozen=True, slots=True)
class PageShape:
    """A face and the size of a full page in pixels."""

    face: str
    width: int
    height: int


@dataclass(frozen=True, slots=True)
class Reader:
    """A kind of model as a reader of pages; the fields are those of the layout file.

    `chars_per_token` is for ASCII text, `basis` says where it comes from. `billing` is None for a
    reader without vision. `window` is the context window in tokens, `max_output` the most that one answer
    may have; 0 where it is not known.
    """

    name: str
    title: str
    provider: str
    models: tuple[str, ...]
    vision: bool
    billing: BillingRule | None
    chars_per_token: float
    basis: str
    as_of: date
    detail: str = ""
    window: int = 0
    max_output: int = 0
    limits: Mapping[str, int] = field(default_factory=dict)
    layouts: Mapping[str, PageShape] = field(default_factory=dict)
    evidence: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Layout:
    """A page size, a cell and a face chosen for one reader.

    Attributes:
        name: name by which it can be chosen, "reader" or "reader/layout".
        reader: whom it is for.
        face: name of the face file.
        width, height: a full page in pixels.
        cell: width and height of a cell in pixels.
    """

    name: str
    reader: Reader
    face: str
    width: int
    height: int
    cell: tuple[int, int]

    @property
    def columns(self) -> int:
        """Cells in a row."""
        return self.width // self.cell[0]

    @property
    def rows(self) -> int:
        """Rows of a full page."""
        return self.height // self.cell[1]

    @property
    def billing(self) -> BillingRule:
        """The reader's billing rule."""
        assert self.reader.billing is not None
        return self.reader.billing

    @property
    def capacity(self) -> int:
        """Cells of a full page: its characters, if each takes one."""
        return self.columns * self.rows

    @property
    def tokens(self) -> int:
        """Billed tokens of a full page."""
        return self.billing.tokens(self.width, self.height)

    def page_height(self, rows: int) -> int:
        """Height in pixels of a page of which only `rows` rows are used.

        No higher than the rows need, but for two reasons: where every image costs the same, a full page
        is the one size that the provider does not resize; and some hosts refuse narrow strips.
        """
        if rows >= self.rows or self.billing.flat:
            return self.height
        aspect = self.reader.limits.get("max_aspect")
        least = -(-self.width // aspect) if aspect else 1
        return min(self.height, max(rows * self.cell[1], least))

    def __str__(self) -> str:
        sees = self.billing.preprocess(self.width, self.height)
        lines = [
            f"{self.name}: {self.reader.title}",
            f"  page        {self.width} × {self.height} px, {self.columns} columns × {self.rows} rows",
            f"  cell        {self.cell[0]} × {self.cell[1]} px, face {self.face}",
            f"  characters  {self.capacity:,} a page, {self.capacity / self.tokens:.2f} per token",
            f"  tokens      {self.tokens:,} a page"
            + (", the same for any size" if self.billing.flat else ""),
            f"  resized     {'no' if sees == (self.width, self.height) else f'to {sees[0]} × {sees[1]} px'}",
            f"  as text     {self.reader.chars_per_token} characters per token ({self.reader.basis})",
        ]
        if self.reader.detail:
            lines.append(f"  detail      send images with detail {self.reader.detail}")
        lines += [
            f"  limit       {key.replace('_', ' ')}: {value:,}" for key, value in self.reader.limits.items()
        ]
        lines += [f"  evidence    {item}" for item in self.reader.evidence]
        lines += [f"  source      {item}" for item in self.reader.sources]
        return "\n".join([*lines, f"  as of       {self.reader.as_of}"])


@cache
def readers() -> tuple[Reader, ...]:
    """All readers of `layouts/*.toml`, in order of file names.

    Raises:
        LayoutError: a file breaks the schema; the message names file and key.
    """
    return tuple(reader for path in sorted(locate("layouts").glob("*.toml")) for reader in _read(path))


def layout_for(model: str | None = None, *, name: str | None = None) -> Layout:
    """The layout for a model id, however it is written, or the layout called `name`.

    Args:
        model: a model id of any route: `claude-opus-4-8`, `anthropic/claude-opus-4.8`,
            `us.anthropic.claude-opus-4-8`, …
        name: `READER` or `READER/LAYOUT` as `snapshot layouts` lists them; overrides the model's own.

    Raises:
        LayoutError: the model is not known or has no vision and no layout was named, or no such layout.
    """
    if name is not None:
        return _named(name)
    if model is None:
        raise LayoutError("which reader? name a model or a layout; `snapshot layouts` lists them")
    reader = reader_for(model)
    if not reader.vision:
        raise LayoutError(
            f"{model} ({reader.title}) cannot see images; name a layout with --layout to render all the same"
        )
    return _named(reader.name)


def model_key(model: str) -> str:
    """A model id without what routes add to it: `us.anthropic.claude-opus-4-8-v1:0` → `claude-opus-4-8`.

    Lower case, `-` for `.`, and without: provider prefixes (`vendor/`, `vendor.`, regions, `databricks-`),
    versions and dates behind `@` or `:`, `[1m]`, `-v1`, `-latest` and the date of a snapshot.
    """
    key = model.strip().lower().rsplit("/", 1)[-1]
    key = re.split(r"[@:\[]", key, maxsplit=1)[0]
    key = re.sub(r"^(?:[a-z][a-z-]*\.)+", "", key)
    key = re.sub(r"^(?:databricks|global)-", "", key).replace(".", "-")
    return re.sub(r"(?:-v\d+|-latest|-default|-\d{8}|-\d{4}-\d{2}-\d{2})+$", "", key)


def reader_for(model: str) -> Reader:
    """What is known of a model, with vision or without.

    Raises:
        LayoutError: nothing is.
    """
    key = model_key(model)
    best: tuple[int, Reader] | None = None
    for reader in readers():
        for pattern in reader.models:
            fits = key.startswith(pattern[:-1]) if pattern.endswith("*") else key == pattern
            if fits and (best is None or len(pattern) > best[0]):
                best = len(pattern), reader
    if best is not None:
        return best[1]
    known = sorted({pattern.rstrip("*-") for reader in readers() for pattern in reader.models})
    near = get_close_matches(key, known, n=1)
    raise LayoutError(
        f"no layout is known for model {model!r}"
        + (f" (did you mean {near[0]}?)" if near else "")
        + f"; known: {', '.join(known)}; or choose one with --layout: {', '.join(_layout_names())}"
    )


def _layout_names() -> Iterator[str]:
    for reader in readers():
        for layout in reader.layouts:
            yield reader.name if layout == "default" else f"{reader.name}/{layout}"


def _named(name: str) -> Layout:
    reader_name, _, layout_name = name.partition("/")
    layout_name = layout_name or "default"
    reader = next((reader for reader in readers() if reader.name == reader_name), None)
    if reader is None or layout_name not in reader.layouts:
        near = get_close_matches(name, list(_layout_names()), n=1)
        raise LayoutError(
            f"no layout {name!r}"
            + (f" (did you mean {near[0]}?)" if near else "")
            + f"; there are {', '.join(_layout_names())}"
        )
    shape = reader.layouts[layout_name]
    from snapshot.raster.face import cell_of

    cell = cell_of(shape.face)
    full_name = reader.name if layout_name == "default" else f"{reader.name}/{layout_name}"
    layout = Layout(full_name, reader, shape.face, shape.width, shape.height, cell)
    if layout.columns < _FEWEST_COLUMNS or layout.rows < 1:
        raise LayoutError(f"layout {name}: a page of {shape.width}x{shape.height} px holds too few cells")
    return layout


def _read(path: Path) -> Iterator[Reader]:
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise LayoutError(f"{path.name}: {error}") from error
    for number, entry in enumerate(table.get("readers", ()), 1):
        where = f"{path.name}, reader {entry.get('name', number)}"
        if unknown := entry.keys() - _READER_KEYS:
            raise LayoutError(
                f"{where}: unknown key {min(unknown)}; known are {', '.join(sorted(_READER_KEYS))}"
            )
        try:
            yield _reader(table, entry, where)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise LayoutError(f"{where}: {error!r} is missing or of the wrong type") from error


def _reader(table: Mapping[str, Any], entry: Mapping[str, Any], where: str) -> Reader:
    vision = entry.get("vision", True)
    return Reader(
        name=entry["name"],
        title=entry["title"],
        provider=table["provider"],
        models=tuple(entry["models"]),
        vision=vision,
        billing=rule_from(entry["billing"], f"{where}, billing") if vision else None,
        chars_per_token=float(entry["chars_per_token"]["value"]),
        basis=entry["chars_per_token"]["basis"],
        as_of=table["as_of"],
        detail=entry.get("detail", ""),
        window=int(entry.get("window", 0)),
        max_output=int(entry.get("max_output", 0)),
        limits=dict(entry.get("limits", {})),
        layouts={
            name: PageShape(shape["face"], shape["width"], shape["height"])
            for name, shape in entry.get("layouts", {}).items()
        },
        evidence=tuple(entry.get("evidence", ())),
        sources=tuple(table["sources"]),
    )
