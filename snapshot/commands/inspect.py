"""`snapshot inspect`: what is in a file, before anything is done with it."""

from __future__ import annotations

import argparse
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from snapshot.commands._arguments import (
    DEFAULT_MODEL,
    content,
    like_argument,
    model_argument,
    model_of,
    reading_options,
)
from snapshot.commands._console import DONE, print_json, read_stdin, tell
from snapshot.commands._sessions import session_argument
from snapshot.commands._table import Column, paragraph, table
from snapshot.errors import LayoutError, TranscriptError

if TYPE_CHECKING:
    from snapshot.inspection import Images, Inspection
    from snapshot.messages import Transcript
    from snapshot.transcripts import Conversation, Detection

__all__ = ["fill"]

_LABEL = 15
_LISTED = 12  # conversations, tools and sorts of parts that a table shows


def fill(parser: argparse.ArgumentParser) -> None:
    """Fill the command's parser."""
    parser.description = (
        "Says what is in a file: its format and why, the conversations in it, who speaks, what "
        "the tools brought, what takes the tokens, what each rung of compaction would free, what is odd."
    )
    parser.epilog = (
        "examples: snapshot inspect session.jsonl; snapshot inspect export.json --conversation 6f2e --json"
    )
    session_argument(parser)
    model_argument(parser, "model whose tokens are counted")
    like_argument(parser)
    reading_options(parser, salvage=False)
    parser.add_argument("--json", action="store_true", help="one JSON object on standard output")
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    from snapshot import transcripts
    from snapshot.inspection import inspect

    source = _source(arguments.session)
    try:
        detections = transcripts.detect(source)
        # A document that is cut is looked at as far as it goes: that it is cut is one of its diagnostics.
        found = transcripts.conversations(source, format=arguments.format, salvage=True)
        size = len(source) if isinstance(source, bytes) else Path(source).stat().st_size
        looked = _Looked(arguments.session, size, arguments.format, detections, found)
        if arguments.conversation is None and looked.main is None:
            transcript = inspection = None
        else:
            transcript = transcripts.load(
                source,
                format=arguments.format,
                conversation=arguments.conversation,
                as_sent=arguments.as_sent,
                salvage=True,
            )
            inspection = inspect(transcript, model=_reader(arguments, transcript))
    except TranscriptError as error:
        if not isinstance(source, bytes):
            raise
        raise TranscriptError(error.what, path="standard input", line=error.line, byte=error.byte) from error
    if arguments.json:
        described = None if inspection is None else inspection.as_json()
        print_json({**looked.as_json(), "inspection": described})
    else:
        chosen = arguments.conversation or looked.main
        lines = [*_head(looked, chosen), *(_lines(inspection) if inspection is not None else ())]
        tell(*lines)
    return DONE


@dataclass(frozen=True, slots=True)
class _Looked:
    """What is known of a file before one of its conversations is read."""

    file: str
    size: int
    insisted: str | None
    detections: tuple[Detection, ...]
    conversations: tuple[Conversation, ...]

    @property
    def main(self) -> str | None:
        """The conversation that is meant where nobody chooses; None if there is no such one."""
        meant = [one.id for one in self.conversations if one.main or len(self.conversations) == 1]
        return meant[0] if len(meant) == 1 else None

    def as_json(self) -> dict[str, Any]:
        return {
            "schema": "snapshot-pages/inspection/1",
            "file": self.file,
            "bytes": self.size,
            "format": self.insisted or self.detections[0].format,
            "detections": [asdict(one) for one in self.detections],
            "conversations": [asdict(one) for one in self.conversations],
        }


def _source(session: str) -> str | bytes:
    return read_stdin() if session == "-" else content(session)


def _reader(arguments: argparse.Namespace, transcript: Transcript) -> str:
    """The model that was asked for, else the transcript's, if anything is known of it, else the usual one."""
    from snapshot.models.ids import profile_for

    if arguments.model or arguments.like:
        return model_of(arguments.model, transcript, arguments.like)
    try:
        model = model_of(None, transcript)
        profile_for(model)
    except LayoutError:
        return DEFAULT_MODEL
    return model


def _labelled(label: str, text: str) -> list[str]:
    """A label and its text, on as many lines as it takes."""
    size = max(_LABEL, len(label))
    return paragraph(text, indent=" " * size, first=f"{label:<{size}}")


def _head(looked: _Looked, chosen: str | None) -> list[str]:
    first, *others = looked.detections
    name = "standard input" if looked.file == "-" else looked.file
    lines = _labelled("file", f"{name}, {looked.size:,} bytes")
    sure = "" if first.format == "text" else f", confidence {first.confidence:.2f}"
    told = f"{first.format}{sure}: {first.reason}"
    if looked.insisted and looked.insisted != first.format:
        told = f"{looked.insisted}, insisted on; by its content {told}"
    lines += _labelled("format", told)
    rivals = [f"{one.format} {one.confidence:.2f}" for one in others if one.format != "text"]
    if rivals:
        lines += _labelled("", f"could be as well: {', '.join(rivals)}")
    if len(looked.conversations) != 1:
        return lines + _choice(looked.conversations, chosen)
    title = looked.conversations[0].title
    return lines + (_labelled("title", title) if title else [])


def _choice(found: tuple[Conversation, ...], chosen: str | None) -> list[str]:
    """The conversations in a file, the chosen one marked."""
    which = "the one below is marked" if chosen else "none is the main one"
    lines = _labelled("conversations", f"{len(found):,}; {which}")
    columns = (
        Column("", right=False), Column("id", right=False, least=12), Column("messages"),
        Column("time", right=False), Column("title", right=False, least=16),
    )  # fmt: skip
    rows = [
        (
            "*" if chosen and one.id.startswith(chosen) else " ",
            one.id,
            f"{one.messages:,}",
            one.time[:16],
            one.title,
        )
        for one in found[:_LISTED]
    ]
    lines += table(columns, rows)
    lines += _more(len(found), "conversations")
    if chosen is None:
        lines += [
            "",
            *paragraph(
                "Choose one: snapshot inspect SESSION --conversation ID (the start of an id is enough)"
            ),
        ]
    return lines


def _more(count: int, what: str) -> list[str]:
    return [f"  and {count - _LISTED:,} more {what}; --json lists them"] if count > _LISTED else []


def _lines(found: Inspection) -> list[str]:
    roles = ", ".join(f"{count:,} {role}" for role, count in found.roles.items())
    turns = f"{found.turns:,} turn{'s' * (found.turns != 1)} of the user"
    lines = _labelled("messages", f"{found.messages:,}{f' ({roles})' if roles else ''}; {turns}")
    lines += _labelled("model", found.said_by or "the file does not say")
    lines += _labelled("tokens", f"{found.tokens:,} for {found.model}, estimated")
    if not found.basis.startswith("estimated: no usage"):
        lines += _labelled("window", f"{found.occupancy:,} tokens in it, {found.basis}")
    lines += _labelled("images", _images(found.images))
    for (declared, true), count in found.images.mistyped:
        lines += _labelled("", f"{count:,} said to be {declared}, and {'is' if count == 1 else 'are'} {true}")
    for number, limit in enumerate(found.limits):
        lines += _labelled("" if number else "beyond limits", limit)
    if found.extra_rows:
        rows = ", ".join(f"{count:,} {kind}" for kind, count in found.extra_rows.items())
        lines += _labelled("beside it", f"rows that are no messages: {rows}")
    return [*lines, *_shares(found), *_tools(found), *_rungs(found), *_diagnostics(found)]


def _images(images: Images) -> str:
    if not images.count:
        return "none"
    types = [f"{count:,} {kind or 'of unknown type'}" for kind, count in images.types]
    sizes = [f"{count:,} of {width}×{height}" for (width, height), count in images.sizes]
    if images.unknown:
        sizes.append(f"{images.unknown:,} of unknown size")
    return f"{images.count:,}, {images.bytes:,} bytes: {', '.join(sizes)}; {', '.join(types)}"


def _shares(found: Inspection) -> list[str]:
    shares = [*found.shares[: _LISTED - 1], found.shares[-1]] if len(found.shares) > _LISTED else found.shares
    columns = (
        Column("what takes the tokens", right=False, least=21), Column("count"), Column("characters"),
        Column("tokens"), Column("share"),
    )  # fmt: skip
    rows = [
        (
            share.name,
            f"{share.count:,}",
            f"{share.chars:,}" if share.chars else "-",
            f"{share.tokens:,}",
            f"{share.tokens / found.tokens if found.tokens else 0:.0%}",
        )
        for share in shares
    ]
    return ["", *table(columns, rows), *_more(len(found.shares), "sorts")]


def _tools(found: Inspection) -> list[str]:
    if not found.tools:
        return []
    columns = (
        Column("tool", right=False, least=16), Column("calls"), Column("failed"), Column("asked"),
        Column("brought"), Column("share"),
    )  # fmt: skip
    rows = [
        (
            tool.name,
            f"{tool.calls:,}",
            f"{tool.failed:,}",
            f"{tool.asked:,}",
            f"{tool.brought:,}",
            f"{(tool.asked + tool.brought) / found.tokens if found.tokens else 0:.0%}",
        )
        for tool in found.tools[:_LISTED]
    ]
    return ["", *table(columns, rows), *_more(len(found.tools), "tools")]


def _rungs(found: Inspection) -> list[str]:
    told = "what each rung alone would free, if the request had to come down to half its tokens"
    lines = ["", *paragraph(told)]
    for freed in found.rungs:
        lines += _labelled(f"{freed.rung:<10}", f"{freed.tokens:>9,}  {freed.note}")
    return lines


def _diagnostics(found: Inspection) -> list[str]:
    if not found.diagnostics:
        return ["", *_labelled("diagnostics", "none")]
    lines = ["", f"diagnostics ({len(found.diagnostics):,})"]
    for diagnostic in found.diagnostics:
        lines += _labelled(f"{diagnostic.kind + ' ':<16}", f"{diagnostic.where}: {diagnostic.note}")
    return lines
