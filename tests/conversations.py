"""Generated conversations: parallel calls, errors, images, orphans, blanks, no user at the start."""

from __future__ import annotations

import json
import random
from io import BytesIO

from hypothesis import strategies as st
from PIL import Image as Pillow

from snapshot.compaction.replaced import attachments
from snapshot.messages import Image, Message, Part, Reasoning, Text, ToolCall, ToolResult, Transcript

WORDS = [
    "parse",
    "the",
    "ledger",
    "import",
    "row",
    "value",
    "error",
    "return",
    "self",
    "config",
    "path",
    "index",
    "cache",
    "token",
    "page",
    "retry",
]


def told_words(seed: object, count: int) -> str:
    """So many words and names in a row, the same for the same seed."""
    draw = random.Random(str(seed))
    drawn = draw.choices(WORDS, k=count)
    return " ".join(f"{word}_{draw.randrange(1000)}" if n % 4 == 0 else word for n, word in enumerate(drawn))


def png(width: int, height: int) -> bytes:
    out = BytesIO()
    Pillow.new("L", (width, height), 200).save(out, "PNG")
    return out.getvalue()


SMALL_PNG = png(32, 16)
prose = st.lists(st.sampled_from(WORDS), min_size=1, max_size=60).map(" ".join)
bulk = st.tuples(prose, st.integers(1, 60)).map(
    lambda pair: "\n".join(f"{i}: {pair[0]}" for i in range(pair[1]))
)
images = st.builds(Image, st.just("image/png"), st.just(SMALL_PNG))


@st.composite
def conversations(draw: st.DrawFn, *, most: int = 12, orphans: bool = True) -> Transcript:
    """A conversation as harnesses leave them behind, ids unique, in the order of time."""
    messages: list[Message] = []
    if draw(st.booleans()):
        messages.append(Message("system", (Text("Be brief."),)))
    calls = 0
    for _ in range(draw(st.integers(1, most))):
        kind = draw(st.sampled_from(["user", "assistant", "tools", "tools", "blank", "orphan", "picture"]))
        if kind == "user":
            messages.append(Message("user", (Text(draw(st.one_of(prose, bulk))),)))
        elif kind == "picture":
            messages.append(Message("user", (Text(draw(prose)), draw(images))))
        elif kind == "assistant":
            parts: list[Part] = [Reasoning("Let me think.")] if draw(st.booleans()) else []
            messages.append(Message("assistant", (*parts, Text(draw(prose)))))
        elif kind == "blank":
            messages.append(Message(draw(st.sampled_from(["user", "assistant"])), (Text(" \n"),)))
        elif kind == "orphan" and orphans:
            messages.append(Message("tool", (ToolResult("gone", (Text(draw(prose)),)),)))
        else:
            count = draw(st.integers(1, 3))
            ids = [f"call_{calls + i}" for i in range(count)]
            calls += count
            made = [ToolCall(i, "Read", json.dumps({"path": draw(st.sampled_from(WORDS))})) for i in ids]
            messages.append(Message("assistant", (Text(draw(prose)), *made)))
            answered = draw(st.permutations(ids))
            if draw(st.integers(0, 9)) == 0:
                answered = answered[1:]
            results = [
                ToolResult(
                    i,
                    tuple(draw(st.lists(st.one_of(bulk.map(Text), images), max_size=2))),
                    is_error=draw(st.booleans()),
                )
                for i in answered
            ]
            if results:
                messages.append(Message("tool", tuple(results)))
    return Transcript(tuple(messages), "anthropic", "claude-opus-4-8")


def long_conversation(turns: int, *, size: int = 400) -> Transcript:
    """A plain conversation of so many turns, each with one call; deterministic."""
    messages: list[Message] = [Message("system", (Text("Be brief."),))]
    for turn in range(turns):
        messages.append(Message("user", (Text(f"Request {turn}: look at file_{turn}.py, please."),)))
        call = ToolCall(f"call_{turn}", "Read", json.dumps({"path": f"file_{turn}.py"}))
        messages.append(Message("assistant", (Text("Reading."), call)))
        body = "\n".join(
            f"    line {i} of {turn}: value_{i * turn} = {WORDS[i % len(WORDS)]}" for i in range(size // 40)
        )
        messages.append(Message("tool", (ToolResult(f"call_{turn}", (Text(body),)),)))
        messages.append(Message("assistant", (Text(f"File {turn} is fine."),)))
    return Transcript(tuple(messages), "anthropic", "claude-opus-4-8")


def image_parts(messages: tuple[Message, ...]) -> list[Image]:
    """All images of messages, those in results included."""
    return [item for item in attachments(messages) if isinstance(item, Image)]
