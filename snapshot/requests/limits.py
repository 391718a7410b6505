"""A provider's limits on a request: what each key of `limits` in a layout file means, and how it is measured.

Planner and checker measure by the same functions: `load_of` takes the messages of a conversation before they
are written, or the body of a request, and `exceeded` names what is over.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Literal

from snapshot.messages import File, Image, Message, Opaque, Part, Reasoning, Text, ToolCall, ToolResult
from snapshot.models.profile import ModelProfile
from snapshot.parts.documents import pages_of, pdf_pages
from snapshot.parts.media import PDF, image_size, media_type_of
from snapshot.requests._flatten import NOUNS, Piece, pieces_of

__all__ = ["LIMITS", "Excess", "Item", "Limit", "Load", "exceeded", "load_of", "message_bytes"]

_MANY = 20  # images and documents in a request, if `many_images` is not given
_ENOUGH = 1 << 20  # characters of base64 to find an image's size in: in a JPEG it stands behind profiles
_PATCH = 32  # pixels of a side of what `max_patches` counts
# What a part and a message cost in a body beside their words: names of keys, ids, brackets.
_FRAME = 80


@dataclass(frozen=True, slots=True)
class Item:
    """An image or a document of a request.

    Attributes:
        kind: which of both.
        at: number of its message, from 1. Of a conversation, messages that an API may join (all that stand
            between two of the assistant's) have the number of the first.
        sent: characters of base64; 0 for what is somewhere else.
        size: bytes of the file; 0 for what is somewhere else.
        pixels: width and height of an image; None where they are not known.
        pages: of a PDF; 0 where they are not known.
        detail: the image detail that is asked for; "" for none.
    """

    kind: Literal["image", "file"]
    at: int
    sent: int = 0
    size: int = 0
    pixels: tuple[int, int] | None = None
    pages: int = 0
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Load:
    """What of a request providers limit.

    Attributes:
        items: images and documents in order.
        measure_bytes: gives the bytes of the body, in compact JSON: exact for a body, estimated for messages.
        noun: what the API calls a message.
    """

    items: tuple[Item, ...]
    measure_bytes: Callable[[], int]
    noun: str = "message"


@dataclass(frozen=True, slots=True)
class Excess:
    """A limit that is exceeded.

    Attributes:
        key: the limit, as layout files name it.
        have: what there is.
        allowed: what may be.
        where: "the request", or the message that it is in.
        at: number of this message, from 1; 0 for the whole request.
        sentence: all of it for a person.
        item: number of the image or document in the load, from 0, where one alone is over; else None.
    """

    key: str
    have: int
    allowed: int
    where: str
    at: int
    sentence: str
    item: int | None = None


Measure = Callable[["Load", int, "_Terms"], Iterator[Excess]]


@dataclass(frozen=True, slots=True)
class Limit:
    """A limit: what it means, how it is measured, and whether it is a sum that a margin may be kept from."""

    meaning: str
    measure: Measure
    total: bool = False


@dataclass(frozen=True, slots=True)
class _Terms:
    """What a measure may look at beside its own limit."""

    limits: Mapping[str, int]
    reader: ModelProfile | None


def exceeded(
    load: Load, limits: Mapping[str, int], *, reader: ModelProfile | None = None, margin: int = 0
) -> tuple[Excess, ...]:
    """What is over the limits, in their order in `LIMITS`.

    Args:
        load: of messages or of a body, from `load_of`.
        limits: by name; what is not in it is not limited, and a name that is unknown is not looked at.
        reader: who reads it; without, images are taken not to be resized before patches are counted.
        margin: of sums (images, documents and pages in a request, its bytes) one in so many stays free; 0
            for none.
    """
    terms = _Terms(limits, reader)
    found: list[Excess] = []
    for key, limit in LIMITS.items():
        if key in limits:
            allowed = limits[key]
            if margin and limit.total:
                allowed -= allowed // margin
            found += limit.measure(load, allowed, terms)
    return tuple(found)


# --- measures


def _whole(key: str, have: int, allowed: int, sentence: str) -> Iterator[Excess]:
    if have > allowed:
        yield Excess(key, have, allowed, "the request", 0, sentence)


def _nouns(items: Sequence[Item]) -> str:
    kinds = {item.kind for item in items}
    return "images and documents" if len(kinds) > 1 else "documents" if kinds == {"file"} else "images"


def _images_per_request(load: Load, allowed: int, _terms: _Terms) -> Iterator[Excess]:
    have = len(load.items)
    said = f"there are {have} {_nouns(load.items)}, and {allowed} are allowed"
    return _whole("images_per_request", have, allowed, said)


def _images_per_message(load: Load, allowed: int, _terms: _Terms) -> Iterator[Excess]:
    for at, group in groupby(load.items, lambda item: item.at):
        items = list(group)
        if len(items) > allowed:
            said = f"{load.noun} {at} has {len(items)} {_nouns(items)}, and {allowed} are allowed in one"
            yield Excess("images_per_message", len(items), allowed, f"{load.noun} {at}", at, said)


def _documents_per_request(load: Load, allowed: int, _terms: _Terms) -> Iterator[Excess]:
    have = sum(item.kind == "file" for item in load.items)
    said = f"there are {have} documents, and {allowed} are allowed"
    return _whole("documents_per_request", have, allowed, said)


def _pdf_pages(load: Load, allowed: int, _terms: _Terms) -> Iterator[Excess]:
    have = sum(item.pages for item in load.items)
    said = f"the documents have {have} pages, and {allowed} are allowed"
    return _whole("pdf_pages", have, allowed, said)


def _request_bytes(load: Load, allowed: int, _terms: _Terms) -> Iterator[Excess]:
    have = load.measure_bytes()
    return _whole("request_bytes", have, allowed, f"the request has {have} bytes, and {allowed} are allowed")


def _each(key: str, kind: str, have: Callable[[Item], int], said: Callable[[Item, int], str]) -> Measure:
    """A measure of single images or documents; `said` goes on behind "message 3 has an image"."""
    article = "an image" if kind == "image" else "a document"

    def measure(load: Load, allowed: int, _terms: _Terms) -> Iterator[Excess]:
        for number, item in enumerate(load.items):
            if item.kind == kind and (found := have(item)) > allowed:
                where = f"{load.noun} {item.at}"
                sentence = f"{where} has {article} {said(item, allowed)}"
                yield Excess(key, found, allowed, where, item.at, sentence, number)

    return measure


def _sized(item: Item) -> str:
    width, height = item.pixels or (0, 0)
    return f"of {width}x{height} pixels"


def _longest(item: Item) -> int:
    return max(item.pixels or (0,))


def _side(load: Load, allowed: int, terms: _Terms) -> Iterator[Excess]:
    """`max_side`, unless there are many images and `max_side_many` is the smaller one."""
    if _is_many(load, terms) and terms.limits.get("max_side_many", allowed) < allowed:
        return iter(())
    return _sides("max_side")(load, allowed, terms)


def _side_many(load: Load, allowed: int, terms: _Terms) -> Iterator[Excess]:
    if not _is_many(load, terms) or terms.limits.get("max_side", allowed) < allowed:
        return iter(())
    return _sides("max_side_many")(load, allowed, terms)


def _sides(key: str) -> Measure:
    return _each(key, "image", _longest, lambda item, side: f"{_sized(item)}, and {side} a side are allowed")


def _is_many(load: Load, terms: _Terms) -> bool:
    return len(load.items) > terms.limits.get("many_images", _MANY)


def _many(_load: Load, _allowed: int, _terms: _Terms) -> Iterator[Excess]:
    """No limit of its own: it says from where on `max_side_many` holds."""
    return iter(())


def _aspect(item: Item) -> int:
    """Long side over short side, rounded up: 20 where it is 20 or less, 21 where it is more."""
    if item.pixels is None or min(item.pixels) <= 0:
        return 0
    return -(-max(item.pixels) // min(item.pixels))


def _max_patches(load: Load, allowed: int, terms: _Terms) -> Iterator[Excess]:
    for number, item in enumerate(load.items):
        if item.kind == "image" and (have := _patches(item, allowed, terms.reader)) > allowed:
            where = f"{load.noun} {item.at}"
            said = f"{where} has an image {_sized(item)}, which are {have} patches, and {allowed} are allowed"
            yield Excess("max_patches", have, allowed, where, item.at, said, number)


def _patches(item: Item, allowed: int, reader: ModelProfile | None) -> int:
    """Patches of an image after the provider's own resize, where that makes it smaller than the limit."""
    if item.pixels is None or item.detail in ("low", "high"):  # whose budgets are far below
        return 0
    if reader is not None and reader.billing is not None:
        width, height = reader.rule_at(item.detail or "auto").preprocess(*item.pixels)
        resized = math.ceil(width / _PATCH) * math.ceil(height / _PATCH)
        if resized < allowed * 0.9:
            return resized
    width, height = item.pixels
    return math.ceil(width / _PATCH) * math.ceil(height / _PATCH)


LIMITS: dict[str, Limit] = {
    "images_per_request": Limit("images and documents in a request", _images_per_request, total=True),
    "images_per_message": Limit("images and documents in one message", _images_per_message),
    "documents_per_request": Limit("documents in a request", _documents_per_request, total=True),
    "pdf_pages": Limit("pages of all PDFs in a request", _pdf_pages, total=True),
    "max_side": Limit("pixels of a side of an image", _side),
    "many_images": Limit("images and documents from which on max_side_many holds", _many),
    "max_side_many": Limit("pixels of a side of an image, where there are many", _side_many),
    "image_bytes": Limit(
        "characters of an image's base64",
        _each(
            "image_bytes", "image", lambda item: item.sent,
            lambda item, most: f"of {item.sent} bytes of base64, and {most} are allowed",
        ),
    ),
    "document_bytes": Limit(
        "bytes of a document",
        _each(
            "document_bytes", "file", lambda item: item.size,
            lambda item, most: f"of {item.size} bytes, and {most} are allowed",
        ),
    ),
    "max_aspect": Limit(
        "long side of an image over its short side",
        _each(
            "max_aspect", "image", _aspect,
            lambda item, most: f"{_sized(item)}, and sides of {most}:1 are allowed",
        ),
    ),
    "max_pixels": Limit(
        "pixels of an image",
        _each(
            "max_pixels", "image", lambda item: math.prod(item.pixels or (0,)),
            lambda item, most: f"{_sized(item)}, and {most} pixels are allowed",
        ),
    ),
    "max_patches": Limit("patches of 32 pixels of an image, after the provider's resize", _max_patches),
    "request_bytes": Limit("bytes of a request's body", _request_bytes, total=True),
}  # fmt: skip
"""Every limit that a layout file may give; what a file names beside these is a mistake in it."""


# --- what there is to measure


def load_of(what: Sequence[Message] | Mapping[str, Any], api: str = "") -> Load:
    """The load of a conversation's messages, or of the body of a request to `api`."""
    if isinstance(what, Mapping):
        body = dict(what)
        return load_of_pieces(body, pieces_of(body, api), NOUNS[api])
    return Load(tuple(_items(what)), lambda: sum(map(message_bytes, what)))


def load_of_pieces(body: dict[str, Any], found: Sequence[Piece], noun: str) -> Load:
    """The load of a body that was taken apart already."""
    items = tuple(_item(piece) for piece in found if piece.kind in ("image", "file"))
    return Load(items, lambda: _body_bytes(body), noun)


def _item(piece: Piece) -> Item:
    data = _decoded(piece.value, whole=piece.kind == "file")
    if data is None:  # a URL or id: nobody knows before the provider has fetched it
        return Item("image" if piece.kind == "image" else "file", piece.at, detail=piece.detail)
    sent = len(piece.value)
    if piece.kind == "image":
        return Item("image", piece.at, sent, sent * 3 // 4, image_size(data), detail=piece.detail)
    pages = pdf_pages(data) if media_type_of(data) == PDF else 0
    return Item("file", piece.at, sent, len(data), pages=pages)


def _decoded(value: str, *, whole: bool) -> bytes | None:
    try:
        return base64.b64decode(value if whole else value[:_ENOUGH], validate=True) if value else None
    except (binascii.Error, ValueError):
        return None


def _body_bytes(body: dict[str, Any]) -> int:
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":"), default=str)
    return len(text.encode("utf-8", "surrogatepass"))


def _items(messages: Sequence[Message]) -> Iterator[Item]:
    first = 1
    for number, message in enumerate(messages, 1):
        if message.role == "assistant" or (number > 1 and messages[number - 2].role == "assistant"):
            first = number
        for part in message.parts:
            for inner in part.content if isinstance(part, ToolResult) else (part,):
                if isinstance(inner, Image):
                    pixels = image_size(inner.data) if inner.data else None
                    yield Item(
                        "image", first, _base64(inner.data), len(inner.data), pixels, detail=inner.detail
                    )
                elif isinstance(inner, File):
                    size = pages_of(inner)
                    pages = size[0] if size is not None and size[1] else 0
                    yield Item("file", first, _base64(inner.data), len(inner.data), pages=pages)


def _base64(data: bytes) -> int:
    return -(-len(data) // 3) * 4


def message_bytes(message: Message) -> int:
    """About the bytes of a message in a body; what came from the API itself may go out with more keys."""
    return _FRAME + sum(map(_part_bytes, message.parts))


def _part_bytes(part: Part) -> int:  # noqa: PLR0911 -- a case each
    match part:
        case Text(text):
            return _FRAME + _json_bytes(text)
        case Reasoning(text, signature):
            return _FRAME + _json_bytes(text) + len(signature or "")
        case ToolCall(call_id, name, arguments):
            # In a text, quotes and backslashes of the arguments are escaped once more.
            return _FRAME + len(call_id) + len(name) + _json_bytes(arguments)
        case ToolResult(call_id, content):
            return _FRAME + len(call_id) + sum(map(_part_bytes, content))
        case Image(data=data, source=source):
            return _FRAME + _base64(data) + len(source)
        case File(name, _, data, text, source):
            return _FRAME + _json_bytes(name + text) + _base64(data) + len(source)
        case Opaque(_, text):
            return _FRAME + _json_bytes(text)


_ESCAPED = {'"': 1, "\\": 1, "\n": 1, "\t": 1, "\r": 1, "\x1b": 5, "\0": 5, "\b": 1, "\f": 1}


def _json_bytes(text: str) -> int:
    """Bytes of a text as a JSON string in UTF-8, without its quotes."""
    size = len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
    return size + sum(text.count(char) * more for char, more in _ESCAPED.items())
