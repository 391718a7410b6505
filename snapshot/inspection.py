"""What is in a conversation: who speaks, what the tools brought, what takes the tokens, what is odd.

Tokens are estimated as compaction does (`snapshot.compaction.estimate`).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from snapshot.compaction import compact
from snapshot.compaction.estimate import Estimator, image_size
from snapshot.compaction.options import RUNGS, Options
from snapshot.compaction.usage import context_usage
from snapshot.errors import CannotFit, SnapshotError
from snapshot.messages import (
    Diagnostic,
    File,
    Image,
    Message,
    Opaque,
    Part,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
    Transcript,
)
from snapshot.models.ids import profile_for
from snapshot.models.profile import ModelProfile
from snapshot.parts.media import media_type_of

__all__ = ["Freed", "Images", "Inspection", "Share", "Tool", "inspect"]


@dataclass(frozen=True, slots=True)
class Share:
    """A sort of part: how many there are, their characters, and the tokens that they take."""

    name: str
    count: int
    chars: int
    tokens: int


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool: its calls, how many of its results are errors, and the tokens of what was asked and brought."""

    name: str
    calls: int
    failed: int
    asked: int
    brought: int


@dataclass(frozen=True, slots=True)
class Images:
    """All images.

    Attributes:
        count, bytes: how many, and their bytes.
        sizes: how many of each size in pixels.
        unknown: how many of unknown size.
        types: how many of each media type, as their first bytes tell it; "" where they do not.
        mistyped: how many are declared as another type than that, by both: ("image/png", "image/jpeg").
    """

    count: int
    bytes: int
    sizes: tuple[tuple[tuple[int, int], int], ...]
    unknown: int
    types: tuple[tuple[str, int], ...] = ()
    mistyped: tuple[tuple[tuple[str, str], int], ...] = ()


@dataclass(frozen=True, slots=True)
class Freed:
    """What a rung of the ladder would free alone: tokens, and what it would do or why it would not."""

    rung: str
    tokens: int
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Inspection:
    """What was found.

    Attributes:
        model: whose tokens are counted. `said_by`: the model that spoke last, as the transcript says.
        messages, turns, roles: messages in all, turns of the user, messages of each role.
        tokens: all of them, by an estimate; `shares`: by sort of part, the most first.
        occupancy: how full the window is, and `basis`: where that figure comes from.
        tools: by what they were asked and brought, the most first.
        limits: what of the conversation, sent as it is, is beyond the window and the provider's limits.
        rungs: what each rung would free if the request had to come down to half.
        aside: rows beside the conversation, by type.
        diagnostics: what the reader found wrong.
    """

    model: str
    said_by: str
    messages: int
    turns: int
    roles: dict[str, int]
    tokens: int
    shares: tuple[Share, ...]
    occupancy: int
    basis: str
    tools: tuple[Tool, ...]
    images: Images
    limits: tuple[str, ...]
    rungs: tuple[Freed, ...]
    extra_rows: dict[str, int]
    diagnostics: tuple[Diagnostic, ...]

    def as_json(self) -> dict[str, Any]:
        """The whole as a JSON object."""
        return asdict(self)


_SORTS: dict[type, str] = {
    Text: "tool results",
    ToolResult: "tool results",
    Reasoning: "reasoning",
    ToolCall: "tool calls",
    Image: "images",
    File: "files",
}


def inspect(transcript: Transcript, *, model: str) -> Inspection:
    """What is in a conversation, in tokens of `model`.

    Raises:
        LayoutError: nothing is known of the model.
    """
    reader = profile_for(model)
    estimator = Estimator(reader)
    messages = transcript.messages
    filled = context_usage(messages, reader)
    return Inspection(
        model=model,
        said_by=transcript.model,
        messages=len(messages),
        turns=sum(message.starts_turn for message in messages),
        roles=dict(Counter(message.role for message in messages)),
        tokens=estimator.messages(messages),
        shares=_shares(messages, estimator),
        occupancy=filled.tokens,
        basis=filled.basis,
        tools=_tools(messages, estimator),
        images=_images(messages),
        limits=tuple(_over_limits(messages, reader, filled.tokens)),
        rungs=_rungs(transcript, model, estimator.messages(messages)),
        extra_rows=dict(Counter(row.kind for row in transcript.extra_rows)),
        diagnostics=transcript.diagnostics,
    )


def _walk(messages: Sequence[Message]) -> Iterator[tuple[Message, Part]]:
    """Every part that is no result, with its message; of results what is in them."""
    for message in messages:
        for part in message.parts:
            if isinstance(part, ToolResult):
                yield from ((message, inner) for inner in part.content)
            else:
                yield message, part


def _shares(messages: Sequence[Message], estimator: Estimator) -> tuple[Share, ...]:
    counts: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    for message, part in _walk(messages):
        sums = counts[_sort(message, part)]
        for at, amount in enumerate((1, _chars(part), estimator.part(part))):
            sums[at] += amount
    shares = [Share(name, *sums) for name, sums in counts.items()]
    shares.sort(key=lambda share: -share.tokens)
    frames = estimator.messages(messages) - sum(share.tokens for share in shares)
    return (*shares, Share("frames of messages and results", len(messages), 0, frames))


def _sort(message: Message, part: Part) -> str:
    if isinstance(part, Opaque):
        return f"{part.kind} (kept whole)"
    if isinstance(part, Text) and message.role != "tool":
        return f"{message.role} text"
    return _SORTS[type(part)]


def _chars(part: Part) -> int:
    match part:
        case Text(text) | Reasoning(text) | File(text=text):
            return len(text)
        case ToolCall(_, name, arguments):
            return len(name) + len(arguments)
        case Opaque(_, text):
            return len(text)
    return 0


def _tools(messages: Sequence[Message], estimator: Estimator) -> tuple[Tool, ...]:
    names: dict[str, str] = {}
    found: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    for message in messages:
        for part in message.parts:
            if isinstance(part, ToolCall):
                names[part.id] = part.name
                found[part.name][0] += 1
                found[part.name][2] += estimator.part(part)
            elif isinstance(part, ToolResult):
                of = found[names.get(part.call_id, "(unknown)")]
                of[1] += part.is_error
                of[3] += estimator.part(part)
    tools = [Tool(name, *sums) for name, sums in found.items()]
    return tuple(sorted(tools, key=lambda tool: -(tool.asked + tool.brought)))


def _images(messages: Sequence[Message]) -> Images:
    images = [part for _, part in _walk(messages) if isinstance(part, Image)]
    sizes = [image_size(image.data) if image.data else None for image in images]
    counted = Counter(size for size in sizes if size is not None)
    types = [media_type_of(image.data) for image in images]
    wrong = Counter(
        (image.media_type, true)
        for image, true in zip(images, types, strict=True)
        if true and image.media_type not in ("", true)
    )
    return Images(
        len(images),
        sum(len(image.data) for image in images),
        tuple(counted.most_common()),
        sizes.count(None),
        tuple(Counter(types).most_common()),
        tuple(wrong.most_common()),
    )


def _over_limits(messages: Sequence[Message], reader: ModelProfile, tokens: int) -> Iterator[str]:
    """A line for the window and for each limit of the provider's that the conversation is beyond as it is."""
    if reader.window and tokens > reader.window:
        yield f"{tokens:,} tokens, and the window of the model has {reader.window:,}"
    images = [part for _, part in _walk(messages) if isinstance(part, Image)]
    in_one = max(
        (sum(isinstance(part, Image) for _, part in _walk([message])) for message in messages), default=0
    )
    sizes = [size for image in images if image.data and (size := image_size(image.data))]
    found = {
        "images_per_request": (len(images), "images in all"),
        "images_per_message": (in_one, "images in one message"),
        "image_bytes": (
            max((_encoded(image.data) for image in images), default=0),
            "bytes of base64 in one image",
        ),
        "max_side": (max((max(size) for size in sizes), default=0), "pixels on a side of an image"),
        "request_bytes": (_bytes(messages), "bytes in all"),
    }
    for name, (count, what) in found.items():
        most = reader.limits.get(name)
        if most is not None and count > most:
            yield f"{count:,} {what}, and the provider takes {most:,}"


def _encoded(data: bytes) -> int:
    """Characters of base64 that bytes become."""
    return -(-len(data) // 3) * 4


def _bytes(messages: Sequence[Message]) -> int:
    """Bytes of a request with these messages, by what is in them: its keys are not counted."""
    total = 0
    for _, part in _walk(messages):
        if isinstance(part, Image | File):
            total += _encoded(part.data)
        total += _chars(part)
    return total


def _rungs(transcript: Transcript, model: str, tokens: int) -> tuple[Freed, ...]:
    """Each rung alone, as if the window were full and the request had to come down to half."""
    try:
        before = compact(transcript, model=model, rungs=(), target=1.0).report.before
    except SnapshotError:  # without a rung nothing comes below the window: the estimate has to do
        before = tokens
    return tuple(_freed(transcript, model, rung, before) for rung in RUNGS)


def _freed(transcript: Transcript, model: str, rung: str, before: int) -> Freed:
    options = Options(rungs=(rung,), target=max(before // 2, 2), digest=True)
    if rung == "summarize":  # taken only where nothing else makes a request safe: so let the window be full
        options = replace(options, window=max(before, 2), max_output=max(before // 8, 1))
    try:
        report = compact(transcript, model=model, options=options).report
    except CannotFit as error:
        return Freed(rung, 0, f"what has to stay takes {error.smallest:,} tokens of {before:,}")
    except SnapshotError as error:
        return Freed(rung, 0, str(error))
    taken = next((some for some in report.rungs if some.name == rung), None)
    note = taken.note if taken is not None else report.no_op
    return Freed(rung, max(report.before - report.after, 0), note)
