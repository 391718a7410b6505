"""Readers of agents' sessions and frameworks' messages."""

from __future__ import annotations

import json
from typing import Any

import pytest

from snapshot.errors import TranscriptError
from snapshot.messages import File, Image, Message, Opaque, Reasoning, Text, ToolCall, ToolResult, Usage
from snapshot.transcripts import conversations, load
from tests.transcript_samples import kinds, log, notes, only, outline, packed, parts_of, said

# --- Codex


def codex(kind: str, /, **payload: Any) -> dict[str, Any]:
    return {"timestamp": "T", "type": kind, "payload": payload}


def words(role: str, text: str) -> dict[str, Any]:
    kind = "output_text" if role == "assistant" else "input_text"
    return codex("response_item", type="message", role=role, content=[{"type": kind, "text": text}])


def test_codex_events_are_not_words():
    counted = codex(
        "event_msg", type="token_count", info={"last_token_usage": {"input_tokens": 9, "output_tokens": 2}}
    )
    transcript = load(
        log(
            codex("session_meta", id="S", base_instructions={"text": "Be brief."}),
            codex("turn_context", model="gpt-x"),
            words("user", "<environment_context>\n<cwd>/</cwd>\n</environment_context>"),
            words("user", "Go."),
            codex("event_msg", type="user_message", message="Go."),
            codex("response_item", type="function_call", name="shell", arguments="{}", call_id="c"),
            codex("event_msg", type="token_count", info=None),
            counted,
            codex("response_item", type="function_call_output", call_id="c", output=json.dumps(
                {"output": "no such file\n", "metadata": {"exit_code": 2, "duration_seconds": 0.1}})),
            codex("response_item", type="ghost_snapshot", ghost_commit={}),
            words("assistant", "Gone."),
        )
    )  # fmt: skip
    assert (transcript.format, transcript.model, transcript.diagnostics) == ("codex", "gpt-x", ())
    assert outline(transcript) == [
        ("system", ["Text"]),
        ("system", ["Text"]),
        ("user", ["Text"]),
        ("assistant", ["ToolCall"]),
        ("tool", ["ToolResult"]),
        ("assistant", ["Text"]),
    ]
    assert [m.usage for m in transcript.messages if m.role == "assistant"] == [Usage(9, 2), None]
    (result,) = only(parts_of(transcript), ToolResult)
    assert result == ToolResult("c", (Text("no such file\n"), Text("exit code 2")), is_error=True)
    assert json.loads(transcript.messages[4].raw[0]["output"])["metadata"]["exit_code"] == 2
    assert [row.kind for row in transcript.extra_rows] == ["session_meta", "ghost_snapshot"]


def test_codex_turns_that_were_taken_back_are_a_conversation():
    data = log(
        codex("session_meta", id="S"),
        *(words(role, f"{role} {n}") for n in (1, 2, 3) for role in ("user", "assistant")),
        codex("event_msg", type="thread_rolled_back", num_turns=2),
        words("user", "user 4"),
    )
    assert said(load(data)) == ["user 1", "assistant 1", "user 4"]
    assert [c.id for c in conversations(data)] == ["S", "rolled-back-1"]
    assert said(load(data, conversation="rolled-back-1"))[-1] == "assistant 3"
    assert kinds(load(data)) == {"branch": 1}


def test_codex_compaction_without_a_history_is_a_summary():
    data = log(
        words("user", "a"), words("assistant", "b"), codex("compacted", message="Sum."), words("user", "c")
    )
    assert said(load(data)) == ["a", "b", "c"]
    assert said(load(data, as_sent=True)) == ["Sum.", "c"]
    assert load(data, as_sent=True).messages[0].role == "assistant"


# --- pi and omp


def entry(kind: str, ref: str, parent: str | None, **fields: Any) -> dict[str, Any]:
    return {"type": kind, "id": ref, "parentId": parent, "timestamp": f"T{ref}"} | fields


def told(ref: str, parent: str | None, role: str, content: object, **fields: Any) -> dict[str, Any]:
    return entry("message", ref, parent, message={"role": role, "content": content} | fields)


HEADER = {"type": "session", "version": 3, "id": "S", "cwd": "/"}


def test_pi_blocks():
    call = {"type": "toolCall", "id": "c", "name": "read", "arguments": {"path": "x"}}
    thought = {"type": "thinking", "thinking": "hm", "thinkingSignature": "s"}
    ran = {"role": "bashExecution", "command": "ls", "output": "a", "exitCode": 1, "excludeFromContext": True}
    image = {"type": "image", "data": "aGk=", "mimeType": "image/png"}
    usage = {"input": 1, "output": 4, "cacheRead": 20, "cacheWrite": 300, "totalTokens": 325}
    transcript = load(
        log(
            HEADER,
            told("1", None, "user", "Look."),
            told("2", "1", "assistant", [thought, call], usage=usage, model="m", stopReason="toolUse"),
            entry("custom", "3", "2", customType="x", data={}),
            told("4", "3", "toolResult", [{"type": "text", "text": "t"}, image, image | {"data": "blob:0"}],
                 toolCallId="c", isError=True),
            entry("message", "5", "4", message=ran),
            entry("custom_message", "6", "5", customType="x", content="Note.", display=True),
            told("7", "6", "assistant", [], errorMessage="overloaded", stopReason="error"),
        )
    )  # fmt: skip
    assert (transcript.format, transcript.model) == ("pi", "m")
    assert transcript.messages[:5] == (
        Message("user", (Text("Look."),), "1", "T1"),
        Message(
            "assistant",
            (Reasoning("hm", "s"), ToolCall("c", "read", '{"path":"x"}')),
            "2",
            "T2",
            Usage(321, 4),
        ),
        Message(
            "tool",
            (
                ToolResult(
                    "c",
                    (Text("t"), Image("image/png", b"hi"), Image("image/png", source="blob:0")),
                    True,
                ),
            ),
            "4",
            "T4",
        ),
        Message("system", (Text("$ ls\na\n(exit code 1)"),), "5", "T5"),
        Message("system", (Text("Note."),), "6", "T6"),
    )
    assert kinds(transcript) == {"failed-answer": 1}


def test_pi_kept_tail_is_in_the_compaction():
    tail = [
        {"role": "user", "content": "kept"},
        {"role": "assistant", "content": [{"type": "text", "text": "too"}]},
    ]
    data = log(
        HEADER,
        told("1", None, "user", "old"),
        entry("compaction", "2", "1", summary="Sum.", retainedTail=tail, tokensBefore=9),
        told("3", "2", "user", "new"),
    )
    summary = "The conversation history before this point was compacted into the following summary:"
    sent = [f"{summary}\n\n<summary>\nSum.\n</summary>", "kept", "too", "new"]
    assert said(load(data, as_sent=True)) == sent
    assert said(load(data)) == ["old", "Sum.", "new"]
    assert "9 tokens before" in notes(load(data), "compaction")[0]


def test_pi_without_ids_is_a_line():
    rows = [{"type": "session", "id": "S", "cwd": "/"}]
    rows += [{"type": "message", "message": {"role": "user", "content": text}} for text in "abc"]
    assert said(load(log(*rows))) == ["a", "b", "c"]


def test_pi_log_of_a_run_has_each_message_at_its_end():
    user, reply = (
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": [{"type": "text", "text": "b"}]},
    )
    events = [{"type": "agent_start"}, {"type": "turn_start"}]
    for message in (user, reply):
        events += [
            {"type": kind, "message": message} for kind in ("message_start", "message_update", "message_end")
        ]
    events += [{"type": "turn_end", "message": reply}, {"type": "agent_end", "messages": [user, reply]}]
    transcript = load(log(HEADER, *events))
    assert (transcript.format, said(transcript), transcript.diagnostics) == ("pi", ["a", "b"], ())


def test_pi_notes_beside_the_talk_are_no_branch():
    data = log(
        HEADER,
        entry("title", "t", None, title="Notes"),
        told("1", "t", "user", "a"),
        entry("custom", "2", "1", customType="tool_execution"),
        told("3", "1", "assistant", "b"),
        entry("label", "4", "1", targetId="1", label="here"),
        told("5", "3", "user", "c"),
        entry("label", "6", "5", targetId="5", label="end"),
    )
    assert [(c.id, c.title, c.main) for c in conversations(data)] == [("6", "Notes", True)]
    transcript = load(data)
    assert said(transcript) == ["a", "b", "c"]
    assert [row.kind for row in transcript.extra_rows] == ["title", "custom", "label", "label"]
    assert said(load(data, conversation="1")) == ["a"]
    glued = log(HEADER) + b'{"type":"message","id":"0","mess' + log(told("1", None, "user", "a"))
    assert (said(load(glued)), kinds(load(glued))) == (["a"], {"torn-line": 1})


def test_pi_damaged_trees_end():
    """A circle, a gap and an id that comes twice: read as far as the way leads, and said."""
    circle = load(log(HEADER, told("1", "2", "user", "a"), told("2", "1", "user", "b")))
    assert said(circle) == ["a", "b"]
    gap = load(log(HEADER, told("2", "1", "user", "b")))
    assert (said(gap), kinds(gap)) == (["b"], {"no-parent": 1})
    twice = load(log(HEADER, told("1", None, "user", "a"), told("1", None, "user", "b")))
    assert (said(twice), kinds(twice)) == (["a", "b"], {"repeated-id": 1})
    with pytest.raises(TranscriptError, match="nothing was said"):
        load(log(HEADER))


def test_pi_system_messages_are_the_systems():
    transcript = load(log(HEADER, told("1", None, "system", "Rules."), told("2", "1", "user", "Hi.")))
    assert [m.role for m in transcript.messages] == ["system", "user"]
    assert not transcript.diagnostics


def test_pi_bushes_take_linear_time():
    """A long trunk with as many leaves: all are listed, and each can be read."""
    size = 4000
    trunk = [told(str(n), str(n - 1) if n else None, "user", f"t{n}") for n in range(size)]
    leaves = [told(f"leaf{n}", str(size - 1), "user", f"l{n}") for n in range(size)]
    data = log(HEADER, *trunk, *leaves)
    listed = conversations(data)
    assert [c.messages for c in listed] == [size + 1] * size
    assert said(load(data, conversation="leaf7"))[-1] == "l7"


# --- AI SDK


def test_ui_messages():
    """Steps are turns; each state of a tool says whether something came of the call."""
    tool = {"type": "tool-look", "input": {"at": 1}}
    parts = [
        {"type": "step-start"},
        {"type": "reasoning", "text": "hm"},
        tool | {"toolCallId": "a", "state": "output-available", "output": {"n": 3}},
        {
            "type": "dynamic-tool",
            "toolName": "d",
            "toolCallId": "b",
            "state": "output-error",
            "errorText": "boom",
        },
        tool | {"toolCallId": "c", "state": "output-denied", "approval": {"id": "x", "reason": "no"}},
        {"type": "step-start"},
        {"type": "text", "text": "Three."},
        {"type": "source-url", "url": "http://x"},
        {"type": "data-weather", "data": 1},
        tool | {"toolCallId": "e", "state": "input-streaming", "rawInput": '{"at":'},
    ]
    parts[-1].pop("input")
    png = {"type": "file", "mediaType": "image/png", "url": "data:image/png;base64,aGk="}
    pdf = {"type": "file", "mediaType": "application/pdf", "filename": "f", "url": "https://x/f"}
    transcript = load(
        packed([{"id": "1", "role": "user", "parts": [{"type": "text", "text": "?"}, png, pdf]},
                {"id": "2", "role": "assistant", "metadata": {"k": 1}, "parts": parts}])
    )  # fmt: skip
    assert (transcript.format, kinds(transcript)) == ("ai-sdk", {"unfinished-turn": 1})
    assert [(m.role, m.parts) for m in transcript.messages] == [
        ("user", (Text("?"), Image("image/png", b"hi"), File("f", "application/pdf", source="https://x/f"))),
        (
            "assistant",
            (
                Reasoning("hm"),
                ToolCall("a", "look", '{"at":1}'),
                ToolCall("b", "d", ""),
                ToolCall("c", "look", '{"at":1}'),
            ),
        ),
        (
            "tool",
            (
                ToolResult("a", (Text('{"n":3}'),)),
                ToolResult("b", (Text("boom"),), is_error=True),
                ToolResult("c", (Text("denied: no"),), is_error=True),
            ),
        ),
        (
            "assistant",
            (
                Text("Three."),
                Opaque("source-url", '{"type":"source-url","url":"http://x"}'),
                Opaque("data-weather", '{"type":"data-weather","data":1}'),
                ToolCall("e", "look", '{"at":'),
            ),
        ),
    ]
    assert transcript.extra_rows == (Opaque("metadata", '{"k":1}'),)


def test_ui_messages_of_version_4():
    made = [{"state": "result", "toolCallId": "a", "toolName": "t", "args": {}, "result": "R"}]
    data = packed(
        [{"role": "user", "content": "?"}, {"role": "assistant", "content": "So.", "toolInvocations": made}]
    )
    transcript = load(data)
    assert transcript.format == "ai-sdk"
    assert outline(transcript) == [
        ("user", ["Text"]), ("assistant", ["ToolCall"]), ("tool", ["ToolResult"]), ("assistant", ["Text"])
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ({"type": "text", "value": "R"}, ToolResult("c", (Text("R"),))),
        ({"type": "json", "value": [1]}, ToolResult("c", (Text("[1]"),))),
        ({"type": "error-text", "value": "R"}, ToolResult("c", (Text("R"),), is_error=True)),
        ({"type": "execution-denied"}, ToolResult("c", (Text("denied"),), is_error=True)),
        ({"type": "content", "value": [{"type": "media", "data": "aGk=", "mediaType": "image/png"}]},
         ToolResult("c", (Image("image/png", b"hi"),))),
    ],
)  # fmt: skip
def test_model_messages(output, expected):
    call = {"type": "tool-call", "toolCallId": "c", "toolName": "n", "input": {}}
    result = {"type": "tool-result", "toolCallId": "c", "toolName": "n", "output": output}
    data = packed([{"role": "user", "content": "?"}, {"role": "assistant", "content": [call]},
                   {"role": "tool", "content": [result]}])  # fmt: skip
    transcript = load(data)
    assert (transcript.format, transcript.messages[-1].parts) == ("ai-sdk", (expected,))


# --- LangChain


def test_langchain_shapes_read_alike():
    fields = [
        ("human", "HumanMessage", {"content": "?"}),
        ("ai", "AIMessage", {"content": ["So", {"type": "tool_use", "id": "a", "name": "f", "input": {}}],
                             "tool_calls": [{"name": "f", "args": {}, "id": "a"}],
                             "response_metadata": {"model_name": "m"}}),
        ("tool", "ToolMessage", {"content": "R", "tool_call_id": "a", "status": "error"}),
        ("ai", "AIMessageChunk", {"content": "", "additional_kwargs": {"tool_calls": [
            {"id": "b", "type": "function", "function": {"name": "g", "arguments": "{}"}}]}}),
    ]  # fmt: skip
    shapes = [
        [{"type": kind, "data": data} for kind, _, data in fields],
        [
            {"lc": 1, "type": "constructor", "id": ["langchain", name], "kwargs": data}
            for _, name, data in fields
        ],
        [
            data | {"type": kind, "additional_kwargs": data.get("additional_kwargs", {})}
            for kind, _, data in fields
        ],
    ]
    first, *others = (load(packed(shape)) for shape in shapes)
    assert (first.format, first.model) == ("langchain", "m")
    assert outline(first) == [
        ("user", ["Text"]),
        ("assistant", ["Text", "ToolCall"]),
        ("tool", ["ToolResult"]),
        ("assistant", ["ToolCall"]),
    ]
    assert [other.messages for other in others] == [first.messages] * 2
