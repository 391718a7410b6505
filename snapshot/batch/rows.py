"""One transcript in, rows out: plain values in the columns of `snapshot.batch.schemas`, errors as rows too.

The functions are pure (`pages` of `pages_of` apart, which names a folder to write to), can be pickled, and
raise nothing: an input that cannot be read is one row with `error_kind` and `error`, a model that cannot be
served is one for that model.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, cast

from snapshot._files import reason
from snapshot.batch.schemas import columns_of
from snapshot.errors import OutputError, SnapshotError, TranscriptError

if TYPE_CHECKING:
    from snapshot.messages import Transcript

__all__ = [
    "DEFAULT_MODEL",
    "Origin",
    "Row",
    "Source",
    "compact_of",
    "convert_of",
    "costs_of",
    "error_row",
    "inspect_of",
    "origin_of",
    "pages_of",
    "replay_of",
    "rows_of",
]

Row: TypeAlias = "dict[str, Any]"
Source: TypeAlias = "bytes | str | os.PathLike[str] | Sequence[Any] | Mapping[str, Any]"
"""A file's bytes, its path, or messages in memory: a list of them, or a request that has one."""
Models: TypeAlias = "str | Sequence[str] | None"

DEFAULT_MODEL = "claude-opus-4-8"
"""The model of a transcript that names none."""

_APIS = {"anthropic": "anthropic", "amazon": "anthropic", "google": "gemini"}
_LONGEST = 1000  # characters of an error
_READING = ("format", "conversation", "as_sent", "salvage")


class Origin(NamedTuple):
    """What a row says of its input: its name, the SHA-256 of its bytes, and their number."""

    path: str
    sha256: str | None = None
    size: int | None = None


def costs_of(source: Source, models: Models = None, *, path: str | None = None, **settings: Any) -> list[Row]:
    """What a transcript costs as text and as pages: a row for each model and class of text, and one for all.

    Args:
        source: the transcript: bytes, a path, or messages.
        models: a model id, or several; None: the transcript's own, or `DEFAULT_MODEL`.
        path: what the rows call it; by default the path, or "".
        settings: `prices`: USD per million tokens by model, as `PriceTable.prices` has them, and
            `price_from`, their name; without them the layout file's. Also what `snapshot.load` takes:
            `format`, `conversation`, `as_sent`, `salvage`.
    """
    return rows_of("cost", source, models, settings, path=path)


def pages_of(source: Source, models: Models = None, *, path: str | None = None, **settings: Any) -> list[Row]:
    """The pages of a transcript, a row for each with the PNG in it.

    Args:
        source, models, path: as for `costs_of`.
        settings: `layout`: name of a layout in place of the model's own; `reasoning`: False leaves out what
            the model thought; `redact`: False leaves credentials; `redaction_rules`: files of rules of one's
            own; `compress`: "default", "fast" or "small"; `pages`: a folder to write the PNGs to, so that a
            row has the name of a file. Also what `snapshot.load` takes.
    """
    return rows_of("render", source, models, settings, path=path)


def compact_of(
    source: Source, models: Models = None, *, path: str | None = None, **settings: Any
) -> list[Row]:
    """A transcript compacted into a request, a row for each model.

    Args:
        source, models, path: as for `costs_of`.
        settings: `options`: the settings of a compaction by name, see `snapshot.Options`; `api`: the form of
            the request, by default that of the model's provider; `manual`: True compacts whatever the size;
            `redact`, `redaction_rules` as for `pages_of`. Also what `snapshot.load` takes.
    """
    return rows_of("compact", source, models, settings, path=path)


def inspect_of(
    source: Source, models: Models = None, *, path: str | None = None, **settings: Any
) -> list[Row]:
    """What is in a transcript, a row for each model; `settings` is what `snapshot.load` takes."""
    return rows_of("inspect", source, models, settings, path=path)


def replay_of(
    source: Source, models: Models = None, *, path: str | None = None, **settings: Any
) -> list[Row]:
    """A transcript played as the requests that it was, a row for each model and policy.

    Args:
        source, models, path: as for `costs_of`.
        settings: `policies`: names of policies, by default all; `window`, `summary_tokens`: see
            `snapshot.replay.replay`; `options`: settings of a compaction. Also what `snapshot.load` takes.
    """
    return rows_of("replay", source, models, settings, path=path)


def convert_of(source: Source, to: str, *, path: str | None = None, **settings: Any) -> list[Row]:
    """A transcript in the format `to`, as one row with the file's bytes.

    `settings` is what `snapshot.load` takes.
    """
    return rows_of("convert", source, None, {**settings, "to": to}, path=path)


def rows_of(
    action: str,
    source: Source,
    models: Models,
    settings: Mapping[str, Any],
    *,
    path: str | None = None,
    origin: Origin | None = None,
) -> list[Row]:
    """The rows of one transcript under an action of `snapshot.batch.schemas.ACTIONS`; never an exception.

    `origin` is what the rows say of the input, where that is known already.
    """
    if origin is None:
        origin = Origin(_name_of(source) if path is None else path)
        try:
            origin = origin_of(source, origin.path)
        except Exception as error:
            return [error_row(action, origin, error)]
    try:
        make = _MAKERS[action]
        transcript = _loaded(source, settings)
    except Exception as error:
        return [error_row(action, origin, error)]
    rows: list[Row] = []
    for model in _several(models):
        chosen = model or transcript.model or DEFAULT_MODEL
        try:
            made = [_row(action, origin, chosen, values) for values in make(transcript, chosen, settings)]
            rows += made or [error_row(action, origin, SnapshotError("nothing in it"), chosen)]
        except Exception as error:
            rows.append(error_row(action, origin, error, chosen))
    return rows


def error_row(action: str, origin: Origin, error: BaseException, model: str | None = None) -> Row:
    """The row of an input that gave an error, for a model or for all."""
    if isinstance(error, TranscriptError):
        # The path stands in a column of its own, and may be one that only this process knows.
        where = [f"line {error.line}"] if error.line is not None else []
        where += [f"byte {error.byte}"] if error.byte is not None else []
        said = ": ".join([", ".join(where), error.what] if where else [error.what])
    elif isinstance(error, OSError):
        said = error.strerror or str(error)
    elif isinstance(error, MemoryError):
        said = "out of memory"
    elif isinstance(error, RecursionError):
        said = "nested too deeply"
    else:
        said = str(error)
    line = " ".join(said.split()) or type(error).__name__
    if len(line) > _LONGEST:
        line = line[: _LONGEST - 1] + "…"
    return _row(action, origin, model, {"error_kind": type(error).__name__, "error": line})


def origin_of(source: Source, path: str) -> Origin:
    """The hash and size of an input.

    Raises:
        OSError: the file cannot be read.
        ValueError: no path can be so.
        TypeError: messages that are no plain data.
    """
    if isinstance(source, bytes):
        return Origin(path, hashlib.sha256(source).hexdigest(), len(source))
    if isinstance(source, str | os.PathLike):
        with Path(source).open("rb") as file:
            digest = hashlib.file_digest(file, "sha256")
            return Origin(path, digest.hexdigest(), file.tell())
    data = json.dumps(source, sort_keys=True, separators=(",", ":")).encode("ascii")
    return Origin(path, hashlib.sha256(data).hexdigest(), len(data))


def _name_of(source: Source) -> str:
    return os.fspath(source) if isinstance(source, str | os.PathLike) else ""


def _several(models: Models) -> Sequence[str | None]:
    if models is None:
        return (None,)
    return (models,) if isinstance(models, str) else tuple(models) or (None,)


def _loaded(source: Source, settings: Mapping[str, Any]) -> Transcript:
    from snapshot.transcripts import from_messages, load

    reading = {name: settings[name] for name in _READING if settings.get(name)}
    if isinstance(source, bytes | str | os.PathLike):
        return load(source, **reading)
    return from_messages(_without_nulls(source), format=reading.get("format"))


def _without_nulls(value: object) -> object:
    """Messages without the keys that are null: a table's column has all keys in every row."""
    if isinstance(value, Mapping):
        pairs = cast("Mapping[str, object]", value).items()
        return {
            key: _without_nulls(item)
            for key, item in pairs
            if item is not None or key in ("content", "input")
        }
    if isinstance(value, list | tuple):
        return [_without_nulls(item) for item in cast("Sequence[object]", value)]
    return value


def _row(action: str, origin: Origin, model: str | None, values: Mapping[str, Any]) -> Row:
    """A whole row: every column in its order, strings without lone surrogates, which Arrow cannot hold."""
    common = {"path": origin.path, "sha256": origin.sha256, "bytes": origin.size, "model": model}
    found = {**common, **values}
    return {column.name: _plain(found.get(column.name)) for column in columns_of(action)}


def _plain(value: Any) -> Any:
    if isinstance(value, str) and not value.isascii():
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    return value


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=True, default=str)


def _float(value: Any) -> float | None:
    return None if value is None else float(value)


def _redacted(settings: Mapping[str, Any]) -> Any:
    from snapshot.redaction import Redactor

    return Redactor(settings.get("redaction_rules") or ()) if settings.get("redact", True) else False


# --- what each action makes of a transcript, for a model


def _costs(transcript: Transcript, model: str, settings: Mapping[str, Any]) -> Iterator[Row]:
    from snapshot.costs.content_kinds import classes_of
    from snapshot.costs.costs import costs_of as costs

    texts = classes_of([transcript])
    if not texts:
        raise SnapshotError("no text in it")
    prices: Mapping[str, Sequence[str | None]] | None = settings.get("prices")
    for cost in costs(texts, [model]):
        if prices is None:
            rate = None if cost.price is None else float(cost.price.input)
            origin = "layout"
        else:
            from snapshot.batch.prices import price_in

            found = price_in(prices, model)
            rate = None if found is None else _float(found[0])
            origin = settings.get("price_from") or "prices"
        as_text, as_pages = (
            None if rate is None else tokens * rate / 1e6 for tokens in (cost.text_tokens, cost.page_tokens)
        )
        yield {
            "text_class": cost.text_class,
            "layout": cost.layout.name,
            "chars": cost.chars,
            "text_tokens": cost.text_tokens,
            "counted_by": cost.counted_by,
            "pages": cost.pages,
            "page_tokens": cost.page_tokens,
            "page_bytes": cost.page_bytes,
            "chars_per_text_token": cost.per_text_token,
            "chars_per_page_token": cost.per_page_token,
            "saved": 1 - cost.page_tokens / max(1, cost.text_tokens),
            "usd_text": as_text,
            "usd_pages": as_pages,
            "usd_saved": None if as_text is None or as_pages is None else as_text - as_pages,
            "price_from": None if rate is None else origin,
        }


@lru_cache(maxsize=16)
def _typesetter(model: str, layout: str | None) -> Any:
    """A typesetter for many transcripts: opening a face takes as long as a few pages."""
    from snapshot.pages.layout import layout_for
    from snapshot.pages.render import Typesetter

    return Typesetter(layout_for(model, name=layout))


def _pages(transcript: Transcript, model: str, settings: Mapping[str, Any]) -> Iterator[Row]:
    from snapshot.source.repeats import original_span
    from snapshot.source.source import source_of

    redactor = _redacted(settings)
    if redactor:
        transcript = redactor.transcript(transcript)
    source = source_of(transcript, reasoning=settings.get("reasoning", True), runs=True)
    if not source.text:
        raise SnapshotError("nothing in it to render")
    setting = _typesetter(model, settings.get("layout"))
    for page in setting.pages(source, threads=1, compress=settings.get("compress", "default")):
        folder = settings.get("pages")
        start, stop = original_span(source, page.start, page.stop)
        yield {
            "layout": setting.layout.name,
            "page": page.number,
            "width": page.width,
            "height": page.height,
            "start": start,
            "stop": stop,
            "tokens": page.tokens,
            "runs": _json(dict(page.runs)) if page.runs else None,
            "png_sha256": page.sha256,
            "png": page.png if folder is None else None,
            "file": None if folder is None else _stored(folder, page.sha256, page.png),
        }


def _stored(folder: str, digest: str, png: bytes) -> str:
    """Write a page below `folder` under the name of its content; that name.

    Raises:
        OutputError: it cannot be written.
    """
    from snapshot.batch.folders import folder_of

    name = f"{digest[:2]}/{digest}.png"
    pages = folder_of(folder)
    try:
        pages.keep(name, png)
    except OSError as error:
        raise OutputError(f"{pages.at(name)}: cannot be written to ({reason(error)})") from error
    return name


def _compacted(transcript: Transcript, model: str, settings: Mapping[str, Any]) -> Iterator[Row]:
    from snapshot.compaction import Options, compact
    from snapshot.models.ids import profile_for
    from snapshot.parts.exact_json import encode

    api = settings.get("api") or _APIS.get(profile_for(model).provider, "openai")
    options: dict[str, Any] = {"threads": 1, "redact": _redacted(settings), **(settings.get("options") or {})}
    trigger = "manual" if settings.get("manual") else "target"
    done = compact(transcript, model=model, trigger=trigger, options=Options().changed(options))
    report = done.report
    yield {
        "before": report.before,
        "after": report.after,
        "saved": 1 - report.after / max(1, report.before),
        "window": report.window,
        "no_op": report.no_op,
        "pages": report.pages,
        "page_tokens": report.page_tokens,
        "facts": report.facts,
        "rungs": _json([{"rung": rung.name, "note": rung.note} for rung in report.rungs]),
        "api": api,
        "request": encode(done.request(api), json.dumps),
        "archive": None if done.archive is None else done.archive.to_json(),
    }


def _inspected(transcript: Transcript, model: str, _settings: Mapping[str, Any]) -> Iterator[Row]:
    from snapshot.inspection import inspect

    found = inspect(transcript, model=model)
    yield {
        "format": transcript.format,
        "said_by": found.said_by,
        "messages": found.messages,
        "turns": found.turns,
        "tokens": found.tokens,
        "occupancy": found.occupancy,
        "images": found.images.count,
        "image_bytes": found.images.bytes,
        "tool_calls": sum(tool.calls for tool in found.tools),
        "tool_errors": sum(tool.failed for tool in found.tools),
        "diagnostics": len(found.diagnostics),
        "report": _json(found.as_json()),
    }


def _replayed(transcript: Transcript, model: str, settings: Mapping[str, Any]) -> Iterator[Row]:
    from snapshot.compaction import Options
    from snapshot.replay import POLICIES, Recording, replay

    options = Options().changed({"threads": 1, **(settings.get("options") or {})})
    recording = Recording.of(transcript, model, overhead=options.overhead)
    if not recording.answers:
        raise SnapshotError("no message of an assistant in it, so no request to replay")
    for policy in settings.get("policies") or POLICIES:
        played = replay(
            recording,
            policy=policy,
            window=settings.get("window") or 0,
            summary_tokens=settings.get("summary_tokens") or 2000,
            options=options,
        ).as_json(requests=False)
        yield {**played, "recall": _float(played["recall"])}


def _converted(transcript: Transcript, _model: str, settings: Mapping[str, Any]) -> Iterator[Row]:
    from snapshot.transcripts import dump

    dumped = dump(transcript, settings["to"])
    yield {
        "from": transcript.format,
        "to": settings["to"],
        "messages": len(transcript.messages),
        "losses": len(dumped.losses),
        "lost": _json({loss.what: count for loss, count in dumped.grouped()}),
        "data": dumped.data,
    }


_MAKERS: Mapping[str, Callable[[Transcript, str, Mapping[str, Any]], Iterator[Row]]] = {
    "cost": _costs,
    "render": _pages,
    "compact": _compacted,
    "inspect": _inspected,
    "replay": _replayed,
    "convert": _converted,
}
