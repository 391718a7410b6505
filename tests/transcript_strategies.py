"""Generated transcripts with everything that a message can hold, and with what is odd about real ones."""

from __future__ import annotations

import json
from dataclasses import replace

from hypothesis import strategies as st

from snapshot.messages import (
    File,
    Image,
    Message,
    Opaque,
    Part,
    Reasoning,
    Role,
    Text,
    ToolCall,
    ToolResult,
    Transcript,
    Usage,
)

WORDS = st.one_of(
    st.sampled_from(
        ["", " ", "Read it.", "a\nb", "[error] no", "<think>x</think>", "User: hi", "```", "\0", "🦊"]
    ),
    st.text(max_size=20),
)
JSON = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(allow_nan=False, allow_infinity=False),
        st.text(max_size=5),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=2), st.dictionaries(st.text(max_size=4), inner, max_size=2)
    ),
    max_leaves=5,
)
OBJECTS = st.dictionaries(st.text(max_size=6), JSON, max_size=3)


def compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


IDS = st.sampled_from(["", "call_1", "call_2", "toolu_a|b", "7", "7#2", "call_1"])
NAMES = st.sampled_from(["Read", "Bash", "mcp__x.y", "", "日本"])
ARGUMENTS = st.one_of(
    OBJECTS.map(compact),
    OBJECTS.map(json.dumps),
    st.sampled_from(["", "not JSON", "[1]", '"s"', '{"a":1,"a":2}']),
)
BYTES = st.sampled_from([b"\x89PNG\r\n\x1a\n", b"\0", b"%PDF-1.4"])
PLACES = st.sampled_from(["https://example.org/a.png", "file-1", "plot.png", "data:image/png;base64,AAAA"])
TYPES = st.sampled_from(["image/png", "image/*", "image/webp", "", "image/x;y"])
images = st.one_of(
    st.builds(Image, TYPES, BYTES, detail=st.sampled_from(["", "high"])),
    st.builds(Image, TYPES, source=PLACES, detail=st.sampled_from(["", "low"])),
    st.builds(Image, TYPES, BYTES, PLACES),
    st.builds(Image, TYPES),
)
FILE_TYPES = st.sampled_from(["application/pdf", "text/plain", "application/octet-stream", "audio/wav", ""])
TITLES = st.sampled_from(["", "a.pdf"])
files = st.one_of(
    st.builds(File, TITLES, FILE_TYPES, BYTES),
    st.builds(File, TITLES, FILE_TYPES, text=WORDS),
    st.builds(File, TITLES, FILE_TYPES, source=PLACES),
)
KINDS = st.sampled_from(
    ["server_tool_use", "executableCode", "web_search_call", "untyped", "image", "compaction"]
)
opaque = st.one_of(
    st.builds(lambda kind, value: Opaque(kind, compact({"type": kind, **value})), KINDS, OBJECTS),
    st.builds(lambda kind, value: Opaque(kind, compact(value)), KINDS, JSON),
    st.builds(lambda kind, value: Opaque(kind, json.dumps(value)), KINDS, OBJECTS),
)
texts = st.builds(Text, WORDS, st.booleans())
content = st.lists(
    st.one_of(st.builds(Text, WORDS), st.builds(Text, WORDS), images, files, opaque), max_size=3
)
calls = st.builds(ToolCall, IDS, NAMES, ARGUMENTS)
results = st.builds(ToolResult, IDS, content.map(tuple), st.booleans())
thoughts = st.builds(Reasoning, WORDS, st.one_of(st.none(), st.sampled_from(["", "c2ln"])))
SAID: dict[Role, st.SearchStrategy[Part]] = {
    "system": st.one_of(texts, texts, opaque),
    "user": st.one_of(texts, texts, images, files, opaque),
    "assistant": st.one_of(texts, thoughts, calls, calls, opaque, images),
    "tool": results,
}


@st.composite
def messages(draw: st.DrawFn) -> Message:
    role: Role = draw(st.sampled_from(["system", "user", "user", "assistant", "assistant", "tool", "tool"]))
    strange = draw(st.integers(0, 9)) == 0
    parts = draw(st.lists(st.one_of(*SAID.values()) if strange else SAID[role], max_size=4))
    usage = draw(st.sampled_from([None, None, Usage(7, 3)])) if role == "assistant" else None
    ids, times = st.sampled_from(["", "m1", "m2", "m3"]), st.sampled_from(["", "2026-11-02T09:00:00Z"])
    return Message(role, tuple(parts), draw(ids), draw(times), usage)


transcripts = st.builds(
    Transcript,
    st.lists(messages(), min_size=1, max_size=6).map(tuple),
    st.just("hand-made"),
    st.sampled_from(["", "claude-opus-4-8"]),
)


@st.composite
def conversations(draw: st.DrawFn, *, ids: bool = True, calls: bool = True) -> Transcript:
    """What all formats hold: words, calls with compact objects, their results as one text each.

    Without `ids` the calls are numbered as readers do it that find none, and answered in their order;
    without `calls` there are words alone, none of them at the edge of a line.
    """
    words = st.text(st.characters(codec="utf-8"), min_size=1, max_size=20).filter(str.strip)
    if not ids:
        words = words.map(str.strip)
    if not calls:
        words = words.map(lambda text: " ".join(text.split()))
    found: list[Message] = []
    count = 0
    for _ in range(draw(st.integers(1, 4))):
        found.append(Message("user", (Text(draw(words)),)))
        asked: list[ToolCall] = []
        for _ in range(draw(st.integers(0, 3)) if calls else 0):
            count += 1
            name = draw(st.sampled_from(["Read", "Bash"]))
            asked.append(ToolCall(f"function_call_{count}", name, compact(draw(OBJECTS))))
        found.append(Message("assistant", (Text(draw(words)), *asked)))
        if asked:
            answered = draw(st.permutations(asked)) if ids else asked
            found.append(Message("tool", tuple(ToolResult(c.id, (Text(draw(words)),)) for c in answered)))
    return Transcript(tuple(found), "hand-made")


def alike(transcript: Transcript, *, ids: bool = True) -> list[tuple[str, tuple[Part, ...]]]:
    """Who says what; without `ids` calls and results have none."""

    def plain(part: Part) -> Part:
        if ids or not isinstance(part, ToolCall | ToolResult):
            return part
        return replace(part, id="") if isinstance(part, ToolCall) else replace(part, call_id="")

    return [(message.role, tuple(map(plain, message.parts))) for message in transcript.messages]
