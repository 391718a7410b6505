"""The tables of layout files, declared once: their keys, the type and bounds of each, and errors that say so.

A layout file holds one provider (`File`) or gateways (`GatewayFile`, see `snapshot.models.gateways`). A key
that is not declared here does not exist, a figure outside its bounds is refused. An error is one line: file,
table, key, what it is and what it may be, and for an unknown key the nearest one that there is.
"""

from __future__ import annotations

import re
from datetime import date
from difflib import get_close_matches
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeAlias, TypeVar, Union, cast, get_args, get_origin

import msgspec
from msgspec import Meta, Struct

from snapshot.errors import LayoutError
from snapshot.models.billing import RULES, AnyRule
from snapshot.models.billing._rule import whole

__all__ = [
    "Bounds",
    "Cache",
    "Documents",
    "File",
    "GatewayFile",
    "GatewayTable",
    "Limits",
    "LineTable",
    "PageShape",
    "PeerTable",
    "PriceTable",
    "ReaderTable",
    "StepTable",
    "TrialTable",
    "convert",
    "shown",
]

T = TypeVar("T")

# What would act on a terminal that it is printed to: control characters, line breaks, marks of direction.
_HARMLESS = r"^[^\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]*$"

Text = Annotated[
    str,
    Meta(min_length=1, max_length=4000, pattern=_HARMLESS, description="text without control characters"),
]
Texts = Annotated[tuple[Text, ...], Meta(max_length=10_000, description="a list of texts")]
Flag = Annotated[bool, Meta(description="true or false")]
Day = Annotated[date, Meta(description="a date, as in 2026-11-30")]
Count = Annotated[int, whole(0, 10**12)]
Tokens = Annotated[int, whole(0, 10**9)]
Seconds = Annotated[int, whole(1, 10**8)]
Pixels = Annotated[int, whole(1, 10_000)]
"""A side of a page: no known provider takes a longer one, and a page of these still fits in memory."""
Size = Annotated[tuple[Pixels, Pixels], Meta(description="two whole numbers from 1 to 10,000")]
Ratio = Annotated[float, Meta(ge=0.1, le=1000, description="a number above 0, from 0.1 to 1,000")]
Money = Annotated[
    str,
    Meta(
        pattern=r"^[0-9]{1,7}(\.[0-9]{1,12})?$",
        description='US dollars as text, as in "0.25", below 10 million',
    ),
]
Pattern = Annotated[str, Meta(min_length=1, max_length=4000, description="a regular expression")]
Tokenizer: TypeAlias = Literal["o200k_base", "qwen3", "llama3", "claude-new", "claude-old"]


class Table(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A table of a layout file; an unknown key is refused."""


class Limits(Table, frozen=True):
    """What the provider refuses, and above which figure."""

    images_per_request: Count | None = None
    images_per_message: Count | None = None
    image_bytes: Count | None = None  # of one image, as base64 where that is what is sent
    documents_per_request: Count | None = None
    pdf_pages: Count | None = None  # in all documents of a request
    document_bytes: Count | None = None  # of one document
    request_bytes: Count | None = None
    max_side: Count | None = None  # pixels of a side
    many_images: Count | None = None  # with more images or documents than this in the request, ...
    max_side_many: Count | None = None  # ... no side may be longer than this
    max_aspect: Count | None = None  # long side over short side
    max_patches: Count | None = None  # of an image, after resizing
    max_pixels: Count | None = None  # of an image

    def given(self) -> dict[str, int]:
        """The limits that there are, by name."""
        return {name: value for name, value in msgspec.structs.asdict(self).items() if value is not None}


class StepTable(Table, frozen=True):
    """USD per million tokens, for the whole of a prompt of more than `above` tokens."""

    above: Tokens
    input: Money
    cache_write: Money | None = None
    cache_read: Money | None = None
    output: Money | None = None


class PriceTable(Table, frozen=True):
    """USD per million tokens; `steps` are prices of longer prompts, rising."""

    input: Money
    cache_write: Money | None = None
    cache_read: Money | None = None
    output: Money | None = None
    steps: tuple[StepTable, ...] = ()


class Documents(Table, frozen=True):
    """How a PDF is billed.

    Attributes:
        page_tokens: text tokens of a typical page.
        page_image: each page is billed as an image besides.
    """

    page_tokens: Tokens
    page_image: Flag


class Cache(Table, frozen=True):
    """What the provider's prompt cache does.

    Attributes:
        lifetime: seconds that an entry stays after its last use; 0 where it is not published.
        minimum: tokens of the shortest prefix that is cached.
        breakpoints: places in a request that may be marked; 0 where prefixes are cached without marks.
    """

    lifetime: Annotated[int, whole(0, 10**8)] = 0
    minimum: Tokens = 0
    breakpoints: Annotated[int, whole(0, 1000)] = 0


class LineTable(Table, frozen=True):
    """Models that differ in what follows from the rest of their reader, or at a gateway from the maker's."""

    models: Texts
    window: Tokens = 0
    max_output: Tokens = 0
    price: PriceTable | None = None
    limits: Limits = Limits()
    billing_at: dict[Text, AnyRule] = {}
    prefill: Flag | None = None
    midway_system: Flag | None = None
    cache: Cache | None = None


class RatioTable(Table, frozen=True):
    """Characters per token of text, and where the figure comes from.

    `rates` names the vocabulary that the reader's is taken to be like, where its own has no name here: by how
    much hexadecimal text, digits or code cost more than the ratio.
    """

    value: Ratio
    basis: Text
    rates: Tokenizer | None = None


class PageShape(Table, frozen=True):
    """A face, the size of a full page in pixels, and columns: those that keep lines (0 is flowing text), or
    those that flowing text stands in."""

    face: Text
    width: Pixels
    height: Pixels
    text_columns: Annotated[int, whole(0, 100)] = 0
    flow_columns: Annotated[int, whole(1, 100)] = 1

    def __post_init__(self) -> None:
        if self.text_columns and self.flow_columns > 1:
            raise ValueError("columns either keep lines (text_columns) or do not (flow_columns)")


class Bounds(Table, frozen=True):
    """The longest side that a page may take, in pixels, and why."""

    max_side: Pixels
    why: Text


class PeerTable(Table, frozen=True):
    """A page that another tool sends, in pixels; glyphs and their cell where known, and the box of a letter
    where it is smaller than the cell."""

    size: Size
    who: Text
    glyphs: Annotated[str, Meta(pattern=_HARMLESS, max_length=4000, description="text")] = ""
    cell: Size | None = None
    box: Size | None = None


class TrialTable(Table, frozen=True):
    """A published trial of how well a model reads; see `snapshot.models.trials`."""

    model: Text
    cell: Size
    glyphs: Text
    what: Literal["exact", "questions", "gist", "hashes"]
    as_of: Text
    source: Text
    right: Count | None = None
    of: Count | None = None
    score: Annotated[float, Meta(ge=0, le=1, description="a number from 0 to 1")] | None = None
    wrong: Count | None = None
    columns: Count | None = None
    page: Size | None = None

    def __post_init__(self) -> None:
        if (self.score is None) == (self.right is None) or (self.right is None) != (self.of is None):
            raise ValueError("give right and of, or score")
        if self.right is not None and not 0 < (self.of or 0) >= self.right:
            raise ValueError("a score is at most 1, and right at most of")
        if self.wrong is not None and (self.of is None or self.wrong > self.of - (self.right or 0)):
            raise ValueError("wrong counts those of `of` that were neither right nor left out")


class ReaderTable(Table, frozen=True):
    """A kind of model that is billed and sees alike; see `snapshot.models.catalog`."""

    name: Text
    title: Text
    models: Texts
    chars_per_token: RatioTable
    example: Text | None = None
    extends: Text | None = None
    vision: Flag = True
    detail: Text | None = None
    billing: AnyRule | None = None
    billing_at: dict[Text, AnyRule] = {}
    window: Tokens = 0
    max_output: Tokens = 0
    price: PriceTable | None = None
    limits: Limits = Limits()
    documents: Documents | None = None
    prefill: Flag = True
    midway_system: Flag = False
    cache: Cache | None = None
    tokenizer: Tokenizer | None = None
    uncertain: Text | None = None
    conflict: Text | None = None
    evidence: Texts = ()
    trials: tuple[TrialTable, ...] = ()
    bounds: Bounds | None = None
    peers: tuple[PeerTable, ...] = ()
    layouts: dict[Text, PageShape] = {}
    lines: tuple[LineTable, ...] = ()


class File(Table, frozen=True):
    """A layout file: one provider. Its readers are converted one by one, since they may extend each other."""

    provider: Text
    as_of: Day
    sources: Texts
    readers: tuple[dict[str, Any], ...]
    rules: dict[Text, AnyRule] = {}


class SurchargeTable(Table, frozen=True):
    """A factor on prices where the id behind the gateway's prefix matches, for some models or all."""

    ids: Pattern
    factor: Money
    models: Texts = ()

    def __post_init__(self) -> None:
        _compile(self.ids)


class GatewayTable(Table, frozen=True):
    """Who carries a model; see `snapshot.models.gateways`."""

    name: Text
    title: Text
    prefixes: Texts
    ids: Pattern | None = None
    prices: Literal["list", "none"] = "none"
    follow: Flag = False
    limits: Limits = Limits()
    details: Texts = ()
    text_only: Texts = ()
    lines: tuple[LineTable, ...] = ()
    surcharges: tuple[SurchargeTable, ...] = ()
    uncertain: Text | None = None

    def __post_init__(self) -> None:
        if self.ids is not None:
            _compile(self.ids)


class GatewayFile(Table, frozen=True):
    """A file of gateways."""

    as_of: Day
    sources: Texts
    gateways: tuple[dict[str, Any], ...]


def _compile(pattern: str) -> None:
    try:
        re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"ids is no regular expression: {error}") from error


def convert(raw: object, kind: type[T], where: str) -> T:
    """`raw`, as TOML gives it, as a table of that kind.

    Raises:
        LayoutError: a key is missing or unknown, or a value of the wrong type or outside its bounds; the
            message begins with `where`.
    """
    try:
        return msgspec.convert(raw, kind)
    except msgspec.ValidationError as error:
        problem = _problem(raw, kind, where) or f"{where}: {str(error).partition(' - at ')[0]}"
        raise LayoutError(problem) from None


def shown(value: object) -> str:
    """A value as an error shows it: on one line, not too long."""
    try:
        text = repr(value)
    except ValueError:  # an integer of too many digits
        text = "a number too long to be shown"
    return text if len(text) <= 60 else f"{text[:57]}..."


def _problem(raw: object, kind: Any, where: str) -> str | None:
    """The first thing that is wrong with a table, a list or a dictionary of tables; None for other kinds."""
    options = _options(kind)
    if len(options) > 1 and isinstance(raw, dict):  # only rules are tables of several kinds
        table = cast("dict[str, object]", raw)
        rule = table.get("rule")
        if not isinstance(rule, str) or rule not in RULES:
            return f"{where}: rule is {shown(rule)}, known rules are {', '.join(RULES)}"
        return _table_problem({k: v for k, v in table.items() if k != "rule"}, RULES[rule], where)
    only = options[0]
    if _is_struct(only):
        return _table_problem(raw, only, where)
    items: list[tuple[object, object]] = []
    inner: Any = None
    if get_origin(only) is tuple and isinstance(raw, list):
        inner, items = get_args(only)[0], list(enumerate(cast("list[object]", raw), 1))
    elif get_origin(only) is dict and isinstance(raw, dict):
        inner, items = get_args(only)[1], list(cast("dict[object, object]", raw).items())
    for name, item in items if any(map(_is_struct, _options(inner))) else ():
        if not _converts(item, inner):
            said = name if isinstance(name, int) else shown(name)[1:-1]
            return _problem(item, inner, f"{where.removesuffix('s')} {said}")
    return None


def _table_problem(raw: object, kind: type[Struct], where: str) -> str | None:
    if not isinstance(raw, dict):
        return f"{where}: {shown(raw)} is no table"
    table = cast("dict[str, object]", raw)
    fields = {field.name: field for field in msgspec.structs.fields(kind)}
    for name in table:
        if name not in fields:
            near = get_close_matches(name[:80], fields, n=1)
            meant = f" (did you mean {near[0]}?)" if near else ""
            said = name if name.isidentifier() and len(name) <= 60 else shown(name)
            return f"{where}: unknown key {said}{meant}; known are {', '.join(sorted(fields))}"
    for name, field in fields.items():
        if name not in table:
            if field.required:
                return f"{where}: {name} is missing, it must be {_description(field.type)}"
        elif not _converts(table[name], field.type):
            return _problem(table[name], field.type, f"{where}, {name}") or (
                f"{where}: {name} is {shown(table[name])}, it must be {_description(field.type)}"
            )
    try:
        msgspec.convert(table, kind)
    except msgspec.ValidationError as error:  # each key is right, but not beside the others
        return f"{where}: {str(error).partition(' - at ')[0]}"
    return None


def _converts(raw: object, kind: Any) -> bool:
    try:
        msgspec.convert(raw, kind)
    except msgspec.ValidationError:
        return False
    return True


def _options(kind: Any) -> list[Any]:
    """The types that a value may have, None and bounds aside."""
    if get_origin(kind) is Annotated:
        return _options(get_args(kind)[0])
    if get_origin(kind) in (Union, UnionType):
        return [inner for option in get_args(kind) if option is not NoneType for inner in _options(option)]
    return [kind]


def _description(kind: Any) -> str:
    """What a value may be, in words."""
    if get_origin(kind) in (Union, UnionType):
        return next(
            (_description(option) for option in get_args(kind) if option is not NoneType and option), ""
        )
    if get_origin(kind) is Annotated:
        found = [item.description for item in get_args(kind)[1:] if isinstance(item, Meta)]
        if found and found[0]:
            return found[0]
        return _description(get_args(kind)[0])
    if get_origin(kind) is Literal:
        return f"one of {', '.join(get_args(kind))}"
    return "a list of tables" if get_origin(kind) is tuple else "a table"


def _is_struct(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, Struct)
