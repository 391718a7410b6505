"""Model id → reader → layout: the page that is made for a model, however its id is written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches

from snapshot.errors import LayoutError
from snapshot.models.billing import BillingRule
from snapshot.models.billing.heights import fitted_height
from snapshot.models.catalog import profiles
from snapshot.models.gateways import gateway_named, gateway_of, via_gateway
from snapshot.models.ids import profile_for
from snapshot.models.profile import ModelProfile
from snapshot.models.trials import widest_read
from snapshot.source.marks import DRAWING
from snapshot.typeset.columns import column_width

__all__ = [
    "Layout",
    "layout_for",
    "layout_names",
    "layout_shape",
    "layout_ways",
]

_FEWEST_COLUMNS = 20


@dataclass(frozen=True, slots=True)
class Layout:
    """A page size, a cell and a face chosen for one reader.

    Attributes:
        name: name by which it can be chosen, "reader" or "reader/layout".
        reader: whom it is for.
        face: name of the face file.
        width, height: a full page in pixels.
        cell: width and height of a cell in pixels.
        text_columns: columns of text that keeps its lines; 0 is flowing text.
        flow_columns: columns that flowing text stands in.
    """

    name: str
    reader: ModelProfile
    face: str
    width: int
    height: int
    cell: tuple[int, int]
    text_columns: int = 0
    flow_columns: int = 1

    @property
    def columns(self) -> int:
        """Cells across a page."""
        return self.width // self.cell[0]

    @property
    def columns_of_text(self) -> int:
        """Columns of text, flowing or in lines."""
        return self.text_columns or self.flow_columns

    @property
    def row_width(self) -> int:
        """Cells of a row as it is read: of the page, or of one of its columns."""
        return column_width(self.columns, self.columns_of_text)

    @property
    def rows(self) -> int:
        """Rows of a full page."""
        return self.height // self.cell[1]

    @property
    def way(self) -> str:
        """The way that its pages are read, by the names of `snapshot.source.marks.reading_guide`."""
        return "lines" if self.text_columns else "columns" if self.flow_columns > 1 else "rows"

    @property
    def billing(self) -> BillingRule:
        """The reader's billing rule."""
        assert self.reader.billing is not None
        return self.reader.billing

    @property
    def capacity(self) -> int:
        """Cells of a full page: its characters, if each takes one (and lines fill their columns)."""
        return self.row_width * self.columns_of_text * self.rows

    @property
    def tokens(self) -> int:
        """Billed tokens of a full page."""
        return self.billing.tokens(self.width, self.height)

    def page_height(self, rows: int) -> int:
        """Height in pixels of a page of which only `rows` rows are used: the cheapest that is not resized.

        Some hosts refuse narrow strips, so it is no lower than the reader's greatest aspect allows.
        """
        if rows >= self.rows:
            return self.height
        aspect = self.reader.limits.get("max_aspect")
        least = -(-self.width // aspect) if aspect else 1
        return fitted_height(self.billing, self.width, max(rows * self.cell[1], least), self.height)

    def __str__(self) -> str:
        sees = self.billing.preprocess(self.width, self.height)
        lines = [
            f"{self.name}: {self.reader.title}",
            f"  page        {self.width} × {self.height} px, {self.columns} columns × {self.rows} rows",
            *([f"  lines       kept, in {self.text_columns} columns"] if self.text_columns else []),
            *([f"  text        flows in {self.flow_columns} columns"] if self.flow_columns > 1 else []),
            f"  rows        of {self.row_width} cells{_rows_read(self.reader)}",
            f"  cell        {self.cell[0]} × {self.cell[1]} px, face {self.face}",
            f"  characters  {self.capacity:,} a page, {self.capacity / self.tokens:.2f} per token",
            f"  tokens      {self.tokens:,} a page"
            + (", the same for any size" if self.billing.flat else ""),
            f"  resized     {'no' if sees == (self.width, self.height) else f'to {sees[0]} × {sees[1]} px'}",
            f"  as text     {self.reader.chars_per_token} characters per token ({self.reader.basis})",
        ]
        if self.reader.detail:
            lines.append(f"  detail      send images with detail {self.reader.detail}")
        lines += _facts(self.reader)
        lines += [
            f"  limit       {key.replace('_', ' ')}: {value:,}" for key, value in self.reader.limits.items()
        ]
        lines += [f"  evidence    {item}" for item in (*self.reader.trials, *self.reader.evidence)]
        lines += [f"  source      {item}" for item in self.reader.sources]
        return "\n".join([*lines, f"  as of       {self.reader.as_of}"])


def _rows_read(reader: ModelProfile) -> str:
    """How long the rows were that each model of a reader read, by its trials."""
    if not reader.trials:
        return ""
    models = dict.fromkeys(trial.model for trial in reader.trials)
    found = (widest_read([trial for trial in reader.trials if trial.model == model]) for model in models)
    said = [f"{trial.columns} ({trial.model.rstrip('*-')})" for trial in found if trial]
    return f"; the longest read: {', '.join(said)}" if said else "; no trial says how long those were"


def _facts(reader: ModelProfile) -> Iterator[str]:
    """What is known of a reader beside its pages, a line each."""
    if reader.window:
        longest = f", answers of at most {reader.max_output:,}" if reader.max_output else ""
        yield f"  window      {reader.window:,} tokens{longest}"
    if reader.price is not None:
        for above, price in ((0, reader.price), *reader.price.steps):
            named = {"cache write": price.cache_write, "cache read": price.cache_read, "output": price.output}
            parts = [
                f"${price.input} in",
                *(f"{key} ${value}" for key, value in named.items() if value is not None),
            ]
            after = f", for prompts above {above:,} tokens" if above else ""
            yield f"  price       {', '.join(parts)} a million tokens{after}"
    if reader.route != "direct":
        yield f"  gateway     {reader.route}"
    if reader.uncertain:
        yield f"  uncertain   {reader.uncertain}"
    if reader.conflict:
        yield f"  conflict    {reader.conflict}"


def layout_for(
    model: str | None = None,
    *,
    name: str | None = None,
    gateway: str | None = None,
    like: str | None = None,
) -> Layout:
    """The layout for a model id, however it is written, or the layout called `name`.

    Args:
        model: a model id of any route: `claude-opus-4-8`, `anthropic/claude-opus-4.8`,
            `us.anthropic.claude-opus-4-8`, …
        name: `READER` or `READER/LAYOUT` as `snapshot layouts` lists them; overrides the model's own.
        gateway: who carries the model, where its id does not say so: a name or prefix of a gateway.
        like: the id of the model that stands behind a name that says nothing, as deployments at Azure have.

    Raises:
        LayoutError: the model is not known or has no vision and no layout was named, or no such layout or
            gateway.
    """
    if name is not None:
        layout = _named(name)
        return (
            layout if model is None else replace(layout, reader=_as_read(layout.reader, model, gateway, like))
        )
    if model is None:
        raise LayoutError("which reader? name a model or a layout; `snapshot layouts` lists them")
    reader = profile_for(model, gateway=gateway, like=like)
    if not reader.vision:
        raise LayoutError(
            f"{model} ({reader.title}) cannot see images; name a layout with --layout to render all the same"
        )
    return _for_route(replace(_named(reader.name), reader=reader))


def _for_route(layout: Layout) -> Layout:
    """The layout, or that with fewer and fuller images where a request may have too few: those that it may
    have hold less than half of the window.
    """
    reader = layout.reader
    most = reader.limits.get("images_per_request")
    if most is None or "columns" not in reader.layouts or 2 * most * layout.tokens >= reader.window:
        return layout
    return replace(_named(f"{reader.name}/columns"), reader=reader)


def _as_read(reader: ModelProfile, model: str, gateway: str | None, like: str | None) -> ModelProfile:
    """The reader of a layout that was named for `model`: the model's own figures where it is of that reader.

    Where the model is not known, or of another reader, the shape and its bill are as named; the gateway's
    limits hold, and there is no price.
    """
    try:
        own = profile_for(model, gateway=gateway, like=like)
    except LayoutError:
        own = None
    if own is not None and own.name == reader.name:
        return replace(own, vision=True)
    by_id, rest = gateway_of(model)
    chosen = by_id if gateway is None else gateway_named(gateway)
    return reader if chosen.name == "direct" else via_gateway(reader, chosen, "", rest)


def layout_shape(name: str) -> str:
    """What a named layout sets pages by: face, size, columns of text, marks; "" where there is none now."""
    try:
        layout = layout_for(name=name)
    except LayoutError:
        return ""
    flow = f" {layout.flow_columns}" if layout.flow_columns > 1 else ""
    drawn = "" if layout.text_columns else f" marks {DRAWING}"
    return f"{layout.face} {layout.width}x{layout.height} {layout.text_columns}{flow}{drawn}"


def layout_ways(names: Sequence[str]) -> tuple[str, ...]:
    """How pages of the named layouts are read, one after the other; () where all are read row by row."""
    known = {name: layout_for(name=name).way for name in set(names)}
    return tuple(known[name] for name in names) if set(known.values()) - {"rows"} else ()


def layout_names() -> Iterator[str]:
    """The names of all layouts."""
    for reader in profiles():
        for layout in reader.layouts:
            yield reader.name if layout == "default" else f"{reader.name}/{layout}"


def _named(name: str) -> Layout:
    reader_name, _, layout_name = name.partition("/")
    layout_name = layout_name or "default"
    reader = next((reader for reader in profiles() if reader.name == reader_name), None)
    if reader is None or layout_name not in reader.layouts:
        near = get_close_matches(name, list(layout_names()), n=1)
        raise LayoutError(
            f"no layout {name!r}"
            + (f" (did you mean {near[0]}?)" if near else "")
            + f"; there are {', '.join(layout_names())}"
        )
    shape = reader.layouts[layout_name]
    from snapshot.raster.face import cell_of

    cell = cell_of(shape.face)
    full_name = reader.name if layout_name == "default" else f"{reader.name}/{layout_name}"
    layout = Layout(
        full_name, reader, shape.face, shape.width, shape.height, cell, shape.text_columns, shape.flow_columns
    )
    if layout.row_width < _FEWEST_COLUMNS or layout.rows < 1:
        raise LayoutError(f"layout {name}: a page of {shape.width}x{shape.height} px holds too few cells")
    return layout
