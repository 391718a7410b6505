"""The columns of the rows of each action, and the same as Arrow schemas and Daft types."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from snapshot.batch.packages import arrow, daft
from snapshot.errors import SnapshotError

__all__ = ["ACTIONS", "COLUMNS", "Column", "columns_of", "daft_type", "schema_of"]


class Column(NamedTuple):
    """A column: its name, its Arrow type ("string", "int64", "double", "binary"), and what it holds."""

    name: str
    type: str
    about: str


_S, _I, _F, _B = "string", "int64", "double", "binary"

_COMMON = (
    Column("path", _S, "the input: path, URL, archive/member, or table#row"),
    Column("sha256", _S, "SHA-256 of the input's bytes as they were read; null where they could not be"),
    Column("bytes", _I, "their number"),
    Column("model", _S, "the model that the row is about; null where the input could not be read"),
    Column("error_kind", _S, "class of the error, null in a good row"),
    Column("error", _S, "the error in one line, null in a good row"),
)

COLUMNS: Mapping[str, tuple[Column, ...]] = {
    "cost": (
        *_COMMON,
        Column("text_class", _S, "prose, code, JSON, logs or CJK; all is their sum"),
        Column("layout", _S, "name of the layout of the pages"),
        Column("chars", _I, "characters of the text"),
        Column("text_tokens", _I, "tokens of it as text"),
        Column("counted_by", _S, "the vocabulary that counted them, or ratio"),
        Column("pages", _I, "pages that it takes"),
        Column("page_tokens", _I, "tokens of the pages"),
        Column("page_bytes", _I, "bytes of the pages, estimated"),
        Column("chars_per_text_token", _F, "characters that a token buys as text"),
        Column("chars_per_page_token", _F, "characters that a token buys on full pages"),
        Column("saved", _F, "share of the text's tokens that pages save; below 0 where they cost more"),
        Column("usd_text", _F, "USD of the text as fresh input, once; null without a price"),
        Column("usd_pages", _F, "USD of the pages as fresh input, once"),
        Column("usd_saved", _F, "usd_text less usd_pages"),
        Column("price_from", _S, "where the price comes from: layout, or the name of the price table"),
    ),
    "render": (
        *_COMMON,
        Column("layout", _S, "name of the layout"),
        Column("page", _I, "number of the page, from 1"),
        Column("width", _I, "pixels"),
        Column("height", _I, "pixels"),
        Column("start", _I, "offset of its first character in the source text"),
        Column("stop", _I, "offset behind its last character"),
        Column("tokens", _I, "input tokens that it is billed"),
        Column(
            "runs",
            _S,
            "each run of random characters that is a mark on the page, by its number, as JSON; null for none",
        ),
        Column("png_sha256", _S, "SHA-256 of the PNG"),
        Column("png", _B, "the PNG; null where pages are files"),
        Column("file", _S, "path of the PNG below the folder of pages; null where it is in png"),
    ),
    "compact": (
        *_COMMON,
        Column("before", _I, "estimated tokens of the request as it was"),
        Column("after", _I, "estimated tokens of the compacted request"),
        Column("saved", _F, "share of the tokens that went"),
        Column("window", _I, "the model's window in tokens"),
        Column("no_op", _S, "why nothing was done, empty where something was"),
        Column("pages", _I, "pages in the request"),
        Column("page_tokens", _I, "tokens of them"),
        Column("facts", _I, "exact strings beside the pages"),
        Column("rungs", _S, "what each rung freed, as JSON"),
        Column("api", _S, "the API that the request is for"),
        Column("request", _S, "the request, as JSON"),
        Column("archive", _S, "what was replaced, as JSON; null where nothing was"),
    ),
    "inspect": (
        *_COMMON,
        Column("format", _S, "format of the transcript"),
        Column("said_by", _S, "the model that spoke last, as the transcript says"),
        Column("messages", _I, "messages in all"),
        Column("turns", _I, "turns of the user"),
        Column("tokens", _I, "tokens of the messages, estimated"),
        Column("occupancy", _I, "tokens in the window"),
        Column("images", _I, "images"),
        Column("image_bytes", _I, "bytes of the images"),
        Column("tool_calls", _I, "calls of tools"),
        Column("tool_errors", _I, "results that are errors"),
        Column("diagnostics", _I, "what the reader found wrong"),
        Column("report", _S, "the whole inspection, as JSON"),
    ),
    "replay": (
        *_COMMON,
        Column("policy", _S, "text, drop, summary or ours"),
        Column("window", _I, "context window in tokens"),
        Column("answers", _I, "requests that were answered"),
        Column("compactions", _I, "how often the conversation was made smaller"),
        Column("fresh", _I, "input tokens at the plain price"),
        Column("written", _I, "input tokens written into the cache"),
        Column("read", _I, "input tokens read from the cache"),
        Column("output", _I, "output tokens"),
        Column("usd", _F, "what all requests cost; null without a price"),
        Column("peak", _I, "input tokens of the largest request"),
        Column("recall", _F, "continuation recall, null where nothing was asked"),
        Column("stopped", _I, "number of the message that no request could be made for; null if none"),
        Column("reason", _S, "why not"),
    ),
    "convert": (
        *_COMMON,
        Column("from", _S, "format of the input"),
        Column("to", _S, "format that was written"),
        Column("messages", _I, "messages in all"),
        Column("losses", _I, "what the format could not hold, counted"),
        Column("lost", _S, "the same by kind, as JSON"),
        Column("data", _B, "the file that was written"),
    ),
}
"""The columns of each action, in their order."""

ACTIONS = tuple(COLUMNS)


def columns_of(action: str) -> tuple[Column, ...]:
    """The columns of an action.

    Raises:
        SnapshotError: there is no such action.
    """
    if action not in COLUMNS:
        raise SnapshotError(f"no action {action!r}: {', '.join(ACTIONS)}")
    return COLUMNS[action]


def schema_of(action: str) -> Any:
    """The Arrow schema (`pyarrow.Schema`) of an action's rows; each field's metadata says what it holds.

    Raises:
        SnapshotError: there is no such action.
    """

    types = {_S: arrow().string(), _I: arrow().int64(), _F: arrow().float64(), _B: arrow().binary()}
    return arrow().schema(
        [
            arrow().field(item.name, types[item.type], metadata={"about": item.about})
            for item in columns_of(action)
        ]
    )


def daft_type(action: str) -> Any:
    """The rows of one transcript as a type of Daft's: a list of structs, for `daft.func(return_dtype=…)`.

    Raises:
        SnapshotError: there is no such action.
    """

    return daft().DataType.from_arrow_type(
        arrow().list_(arrow().struct(list(schema_of(action).remove_metadata())))
    )
