"""Small transcripts of every format, and what the tests of the readers share."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterable
from itertools import groupby
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from snapshot.messages import (
    Opaque,
    Part,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
    Transcript,
    Usage,
)
from snapshot.transcripts import load

Json = dict[str, Any]


EXAMPLE = Path(__file__).parent / "data" / "example.claude-stream.jsonl"


PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n").decode()


def packed(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()


def log(*rows: Json) -> bytes:
    return b"".join(packed(row) + b"\n" for row in rows)


def only(parts: Iterable[Part], kind: type) -> list[Any]:
    return [part for part in parts if isinstance(part, kind)]


def parts_of(transcript: Transcript) -> list[Part]:
    return [part for message in transcript.messages for part in message.parts]


def kinds(transcript: Transcript) -> dict[str, int]:
    """Number of diagnostics of each kind."""
    return {kind: len(list(group)) for kind, group in groupby(sorted(o.kind for o in transcript.diagnostics))}


def notes(transcript: Transcript, kind: str) -> list[str]:
    return [f"{o.where}: {o.note}" for o in transcript.diagnostics if o.kind == kind]


def outline(transcript: Transcript) -> list[tuple[str, list[str]]]:
    return [(m.role, [type(part).__name__ for part in m.parts]) for m in transcript.messages]


def said(transcript: Transcript) -> list[str]:
    return [part.text for part in parts_of(transcript) if isinstance(part, Text)]


def raw_rows(path: Path) -> list[Json]:
    rows = [json.loads(line) for line in path.read_bytes().split(b"\n") if line]
    return [row for row in rows if row["type"] in ("assistant", "user")]


def assert_as_logged(path: Path) -> Transcript:
    """The transcript holds exactly what the rows of the log hold."""
    rows, transcript = raw_rows(path), load(path)
    spoken = [row["message"] for row in rows if row["type"] == "assistant"]
    usages = {message["id"]: message["usage"] for message in spoken}
    answers = [m for m in transcript.messages if m.role == "assistant"]

    assert [m.id for m in answers] == list(usages)
    assert transcript.format == "claude-stream"
    assert transcript.model == spoken[-1]["model"]
    assert transcript.diagnostics == ()
    assert not only(parts_of(transcript), Opaque)
    blocks = [block for message in spoken for block in message["content"]]
    assert sum(len(m.parts) for m in answers) == len(blocks)
    for message in answers:
        usage = usages[message.id]
        prompt = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
        assert message.usage == Usage(sum(usage[key] for key in prompt), usage["output_tokens"])
    calls = [(b["id"], b["name"], b["input"]) for b in blocks if b["type"] == "tool_use"]
    assert [
        (call.id, call.name, json.loads(call.arguments)) for call in only(parts_of(transcript), ToolCall)
    ] == calls
    signatures = [b["signature"] for b in blocks if b["type"] == "thinking"]
    assert [part.signature for part in only(parts_of(transcript), Reasoning)] == signatures
    found = [b for row in rows if row["type"] == "user" for b in row["message"]["content"]]
    assert [
        (result.call_id, "".join(part.text for part in result.content), result.is_error)
        for result in only(parts_of(transcript), ToolResult)
    ] == [
        (b["tool_use_id"], b["content"], b.get("is_error", False))
        for b in found
        if b["type"] == "tool_result"
    ]
    return transcript


SESSION_ROW = {"type": "user", "uuid": "u", "sessionId": "s", "message": {"role": "user", "content": "hi"}}


STREAM_ROW = {"type": "user", "uuid": "u", "session_id": "s", "message": {"role": "user", "content": "hi"}}


PLAIN = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "yes"}]


CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}


USE = {"type": "tool_use", "id": "c", "name": "f", "input": {}}


DETECTED = {
    "session": (log(SESSION_ROW), "claude-session"),
    "session behind a title": (log({"type": "summary", "summary": "s", "leafUuid": "l"}), "claude-session"),
    "session in a web export": (packed({"loglines": [SESSION_ROW]}), "claude-session"),
    "stream": (log({"type": "system", "subtype": "init", "session_id": "s"}, STREAM_ROW), "claude-stream"),
    "stream as one array": (packed([STREAM_ROW]), "claude-stream"),
    "plain messages": (packed(PLAIN), "anthropic"),
    "plain messages, pretty": (json.dumps(PLAIN, indent=2).encode(), "anthropic"),
    "plain messages with a system role": (
        packed([{"role": "system", "content": "s"}, *PLAIN]),
        "openai-chat",
    ),
    "plain messages with a developer": (
        packed([{"role": "developer", "content": "s"}, *PLAIN]),
        "openai-chat",
    ),
    "request with system beside": (packed({"system": "s", "messages": PLAIN}), "anthropic"),
    "request with system beside and within": (
        packed({"system": "s", "messages": [{"role": "system", "content": "s"}, *PLAIN]}),
        "anthropic",
    ),
    "request with calls": (
        packed({"model": "m", "messages": [{"role": "assistant", "tool_calls": [CALL]}]}),
        "openai-chat",
    ),
    "blocks": (packed([{"role": "assistant", "content": [USE]}]), "anthropic"),
    "blocks after a system message": (
        packed([{"role": "system", "content": "s"}, {"role": "assistant", "content": [USE]}]),
        "anthropic",
    ),
    "one response": (packed({"type": "message", "role": "assistant", "content": [USE]}), "anthropic"),
    "trajectory": (packed({"schema_version": "ATIF-v1.3", "steps": []}), "atif"),
    "markdown": (b"# Title\n\n[a](b) {c}\n", "text"),
    "markdown with a link first": (b'[{a}](b) says "role": "user"\n', "text"),
    "JSON with comments": (b'{"a": 1, // one\n "b": 2}', "text"),
    "Responses items": (
        packed([{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "a"}]}]),
        "openai-responses",
    ),
    "Gemini contents": (packed([{"role": "user", "parts": [{"text": "a"}]}]), "gemini"),
}


def one_message(*blocks: object, role: str = "user") -> list[Part]:
    return parts_of(load(packed([{"role": role, "content": list(blocks)}]), format="anthropic"))


MALFORMED = rb"""[
{"role": "user", "content": "Count.", "id": 1},
{"role": "assistant", "content": [{"type": "tool_use", "id": 7, "name": "count", "input": {}}]},
{"role": "user", "content": [{"type": "tool_result", "tool_use_id": 7, "content": 12}]},
{"role": "assistant", "content": [{"type": "tool_use", "id": "7", "name": "count", "input": null},
                                  {"type": "tool_use", "name": "sum", "input": "all"}]},
{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "7", "content": {"n": 12, "sum": 4811.5}},
                             {"type": "tool_result", "content": true}]},
{"role": "assistant", "content": {"type": "text", "text": "Twelve."}},
{"role": "user", "content": [{"type": "text"}, {"text": "And?"}, "these", 3, null]},
{"content": "Who said this?"},
{"role": "Assistant", "content": "Four."},
"just a string"]"""


EMPTIES = rb"""[
{"role": "developer", "content": ""},
{"role": "user", "content": "  \n"},
{"role": "assistant", "content": null,
 "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": "{}"}}]},
{"role": "tool", "tool_call_id": "c", "content": ""},
{"role": "assistant", "content": [], "tool_calls": [{"id": "d", "function": {"name": "f", "arguments": ""}},
                                                    {"id": "e", "function": {"name": "f", "arguments": ""}}]},
{"role": "tool", "tool_call_id": "e", "content": [{"type": "text", "text": ""}]},
{"role": "tool", "tool_call_id": "d", "content": "D"},
{"role": "assistant", "tool_calls": null},
{"role": "user"},
{"role": "assistant", "content": null, "function_call": {"name": "drain", "arguments": "not JSON"}},
{"role": "function", "name": "drain", "content": "drained 0"},
{"role": "assistant", "content": null, "refusal": "No.", "reasoning_content": "hm"},
{"role": "assistant", "content": [{"type": "refusal", "refusal": "Never."}], "refusal": null}]"""


def session(kind: str, content: object, uuid: str, **more: object) -> Json:
    """A row of a session; `id` and `usage` are those of its API message."""
    message = {"role": kind, "content": content}
    message |= {key: more.pop(key) for key in ("id", "usage", "model") if key in more}
    return {"type": kind, "uuid": uuid, "sessionId": "s", "timestamp": f"T{uuid}", "message": message} | more


def answer(ref: str, content: str) -> list[Json]:
    return [{"type": "tool_result", "tool_use_id": ref, "content": content}]


USAGE = {
    "input_tokens": 4,
    "cache_creation_input_tokens": 900,
    "cache_read_input_tokens": 12000,
    "output_tokens": 60,
}


def in_session(content: object, uuid: str, **more: object) -> Json:
    return session("assistant", [content], uuid, id="m1", usage=USAGE, model="claude-x", **more)


SESSION = (
    {"type": "summary", "summary": "Tiles", "leafUuid": "9"},
    {"type": "file-history-snapshot", "messageId": "2", "snapshot": {}},
    session("user", "<local-command-caveat>", "1", isMeta=True),
    session("user", "Check both.", "2"),
    in_session({"type": "thinking", "thinking": "", "signature": "sig"}, "3"),
    in_session({"type": "text", "text": "I check both."}, "4"),
    in_session(USE | {"id": "a"}, "5"),
    in_session(USE | {"id": "b"}, "6"),
    {"type": "progress", "uuid": "p", "sessionId": "s"},
    session("user", answer("b", "B"), "7"),
    session("user", answer("a", "A"), "8"),
    session("user", "Search.", "s1", isSidechain=True, agentId="a1f2"),
    session("assistant", "Found.", "s2", isSidechain=True, agentId="a1f2"),
    {
        "type": "system", "subtype": "compact_boundary", "sessionId": "s",
        "compactMetadata": {"trigger": "auto", "preTokens": 167000},
    },
    session("user", "This session continues.", "10", isCompactSummary=True),
    session("user", [{"type": "text", "text": "Clean up."}], "11"),
    {"type": "hologram", "uuid": "2", "sessionId": "s"},
    session("assistant", "Log in again.", "12", id="m2", model="<synthetic>", usage={"input_tokens": 0}),
)  # fmt: skip


def assert_grown_from(part: Transcript, whole: Transcript) -> None:
    """Every message of `part` is the start of the message of `whole` at its place."""
    assert len(part.messages) <= len(whole.messages)
    for some, full in zip(part.messages, whole.messages, strict=False):
        assert (some.role, some.id) == (full.role, full.id)
        assert some.parts == full.parts[: len(some.parts)]


TRAJECTORY = rb"""{"schema_version": "ATIF-v1.7", "agent": {"name": "a", "model_name": "gemini-3-pro"},
"steps": [
{"step_id": 1, "source": "system", "message": "You fix notebooks.", "timestamp": "T1"},
{"step_id": 2, "source": "user", "message": [
  {"type": "text", "text": "Empty, see:"},
  {"type": "image", "source": {"media_type": "image/png", "path": "plot.png"}}]},
{"step_id": 3, "source": "agent", "message": "", "reasoning_content": "Look.",
 "tool_calls": [{"tool_call_id": "c1", "function_name": "ls", "arguments": {"path": "."}},
                {"tool_call_id": "c2", "function_name": "head", "arguments": {}}],
 "observation": {"results": [{"source_call_id": "c2", "content": "x,y"}]}},
{"step_id": 4, "source": "agent", "message": "Empty.",
 "tool_calls": [{"tool_call_id": "c3", "function_name": "ask", "arguments": {}}],
 "observation": {"results": [
   {"source_call_id": "c3", "content": null, "subagent_trajectory_ref": [{"trajectory_id": "sub-1"}]},
   {"content": "disk is 91 % full"}]},
 "metrics": {"prompt_tokens": 18000, "completion_tokens": 90, "cached_tokens": 12000}},
{"step_id": 7, "source": "agent", "message": "Done.", "tool_calls": [], "model_name": "other"},
{"step_id": 8, "source": "robot", "message": "beep"}],
"subagent_trajectories": [{"trajectory_id": "sub-1", "steps": []}]}"""


KEYS = (
    "role", "content", "type", "text", "id", "name", "input", "tool_use_id", "tool_calls", "function",
    "arguments", "tool_call_id", "message", "uuid", "source", "steps", "observation", "results",
    "source_call_id", "usage", "thinking", "image_url", "url", "data", "media_type", "isSidechain",
    "refusal", "function_call", "reasoning", "metrics", "step_id", "timestamp", "model", "system",
    "is_error", "input_tokens", "custom", "file",
)  # fmt: skip


WORDS = (
    "user", "assistant", "system", "tool", "function", "agent", "text", "thinking", "tool_use",
    "tool_result", "image", "document", "base64", "url", "image_url", "custom", "refusal", "file",
    "input_audio", "result", "data:image/png;base64,AA==", "redacted_thinking",
)  # fmt: skip


SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.sampled_from(WORDS), st.text(max_size=3)
)


JUNK = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.sampled_from(KEYS), inner, max_size=6)
    ),
    max_leaves=25,
)


FRAMES: dict[str, Callable[[list[Any]], bytes]] = {
    "anthropic": lambda values: packed({"system": values[:1], "messages": values}),
    "openai-chat": packed,
    "atif": lambda values: packed({"schema_version": "ATIF-v1.7", "agent": values[0], "steps": values}),
    "claude-stream": lambda values: log(*({"type": "user", "session_id": "s", "message": v} for v in values)),
    "claude-session": lambda values: log(
        *({"type": "assistant", "sessionId": "s", "message": v} for v in values)
    ),
    "codex": lambda values: log(
        *({"timestamp": "T", "type": "response_item", "payload": v} for v in values),
        *({"timestamp": v, "type": "compacted", "payload": {"replacement_history": v}} for v in values),
        *({"timestamp": "T", "type": "event_msg", "payload": v} for v in values),
        *({"timestamp": v, "type": v, "payload": {"type": v}} for v in values),
    ),
    "pi": lambda values: log(
        *({"type": "message", "id": str(n), "parentId": v, "message": v} for n, v in enumerate(values)),
        *({"type": "compaction", "id": v, "parentId": "0", "summary": v, "retainedTail": v} for v in values),
        *({"type": v, "id": v, "parentId": v, "message": v} for v in values),
    ),
    "ai-sdk": lambda values: packed(
        [
            *({"role": "assistant", "parts": [v, {"type": v, "toolCallId": v, "state": v}]} for v in values),
            *({"role": "user", "parts": v} for v in values),
            *(
                {"role": "tool", "content": [{"type": v}, {"type": "tool-result", "output": v}]}
                for v in values
            ),
        ]
    ),
    "langchain": lambda values: packed(
        [
            *({"type": "ai", "data": {"content": [v], "tool_calls": v}} for v in values),
            *({"lc": 1, "id": v, "kwargs": v} for v in values),
        ]
    ),
    "sharegpt": lambda values: packed({"conversations": values, "system": values[0], "tools": values[0]}),
    "claude-export": lambda values: packed(
        {
            "chat_messages": [
                *values,
                *({"sender": "assistant", "content": [v], "attachments": v} for v in values),
            ]
        }
    ),
    "chatgpt-export": lambda values: packed(
        {
            "title": values[0],
            "current_node": values[0],
            "mapping": {
                str(n): {"id": v, "parent": str(n - 1), "message": {"author": {"role": "tool"}, "content": v}}
                for n, v in enumerate(values)
            }
            | {f"m{n}": {"parent": f"m{n - 1}", "message": v} for n, v in enumerate(values)},
        }
    ),
    "gemini": lambda values: packed({"contents": values, "systemInstruction": values[0]}),
    "openai-responses": lambda values: packed(
        {
            "instructions": values[0],
            "input": [
                *values,
                *({"type": v, "role": v, "content": [{"type": v}], "output": v} for v in values),
            ],
        }
    ),
}


WORDS_OF = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40)


ARGUMENTS = st.dictionaries(
    st.text(max_size=5), st.one_of(st.integers(), st.text(max_size=9), st.none()), max_size=3
)


CALLS = st.lists(st.tuples(st.sampled_from(["Bash", "lire"]), ARGUMENTS, WORDS_OF), max_size=3)


TURNS = st.lists(st.tuples(WORDS_OF, WORDS_OF, CALLS), min_size=1, max_size=4)


Turns = list[tuple[str, str, list[tuple[str, Json, str]]]]


def numbered(turns: Turns) -> list[tuple[str, str, list[tuple[str, str, Json, str]]]]:
    """The turns with an id for each call."""
    return [
        (ask, reply, [(f"call{t}.{c}", *call) for c, call in enumerate(calls)])
        for t, (ask, reply, calls) in enumerate(turns)
    ]
