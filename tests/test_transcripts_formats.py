"""Readers: each format becomes the conversation that it holds."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snapshot.messages import (
    File,
    Image,
    Message,
    Opaque,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
    Usage,
)
from snapshot.transcripts import load
from tests.transcript_samples import (
    CALL,
    EMPTIES,
    MALFORMED,
    PLAIN,
    PNG,
    SESSION,
    TRAJECTORY,
    USAGE,
    USE,
    Json,
    answer,
    kinds,
    log,
    notes,
    one_message,
    only,
    outline,
    packed,
    parts_of,
    said,
    session,
)

# --- Anthropic blocks


def test_anthropic_blocks():
    source = {"type": "base64", "media_type": "image/png", "data": PNG}
    pdf = {"type": "base64", "media_type": "application/pdf", "data": "cGRm"}
    assert one_message(
        {"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}},
        {"type": "image", "source": source},
        {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}},
        {"type": "image", "source": {"type": "file", "file_id": "file_1"}},
        {"type": "document", "source": pdf, "title": "T", "context": "read this"},
        {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "words"}},
    ) == [
        Text("a"),
        Image("image/png", b"\x89PNG\r\n\x1a\n"),
        Image("image/*", source="https://example.org/a.png"),
        Image("image/*", source="file_1"),
        Text("read this"),
        File("T", "application/pdf", b"pdf"),
        File("", "text/plain", text="words"),
    ]
    redacted = {"type": "redacted_thinking", "data": "x"}
    transcript = load(
        packed(
            [
                {
                    "role": "assistant",
                    "content": [{"type": "thinking", "thinking": "t", "signature": "s"}, redacted],
                }
            ]
        )
    )
    assert parts_of(transcript) == [
        Reasoning("t", "s"),
        Opaque("redacted_thinking", '{"type":"redacted_thinking","data":"x"}'),
    ]
    assert transcript.diagnostics == ()


def test_unknown_parts_are_kept_and_counted():
    new = {"type": "hologram", "é": [1, {"b": None}]}
    result = {
        "type": "tool_result",
        "tool_use_id": "c",
        "content": [new, {"type": "thinking", "thinking": "x"}],
    }
    transcript = load(
        packed([{"role": "assistant", "content": [USE, new]}, {"role": "user", "content": [result, new]}])
    )
    opaque = Opaque("hologram", '{"type":"hologram","é":[1,{"b":null}]}')
    assert [m.parts for m in transcript.messages] == [
        (ToolCall("c", "f", "{}"), opaque),
        (ToolResult("c", (opaque, Opaque("thinking", '{"type":"thinking","thinking":"x"}'))),),
        (opaque,),
    ]
    hologram, thinking = notes(transcript, "unknown-part")
    assert hologram.startswith("message 1, message 2: ")
    assert hologram.endswith("(3 times)")
    assert "thinking" in thinking


def test_calls_in_another_dialect_are_kept():
    """Blocks of one provider and keys of the other in one list: what the reader does not know is counted."""
    mixed = {
        "role": "assistant",
        "content": [USE, {"type": "thinking", "thinking": ""}],
        "tool_calls": [CALL],
    }
    transcript = load(packed([mixed]), format="anthropic")
    assert only(parts_of(transcript), Opaque)[0].kind == "tool_calls"
    assert kinds(transcript) == {"unknown-part": 1, "unfinished-turn": 1}


@pytest.mark.parametrize("payload", ["not base64!", "", "aGk", None, 7])
def test_damaged_payloads_are_kept_whole(payload):
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": payload}}
    transcript = load(packed([{"role": "user", "content": [image]}]))
    (part,) = parts_of(transcript)
    assert isinstance(part, Opaque)
    assert json.loads(part.json) == image
    assert kinds(transcript) == {"bad-base64": 1}


def test_base64_may_be_wrapped():
    image = {
        "type": "image",
        "source": {"type": "base64", "media_type": "image/png", "data": PNG[:6] + "\r\n" + PNG[6:]},
    }
    assert one_message(image) == [Image("image/png", b"\x89PNG\r\n\x1a\n")]


def test_results_stand_before_what_the_user_says():
    result = {"type": "tool_result", "tool_use_id": "c", "is_error": True}
    call = {"role": "assistant", "content": [USE, {"type": "server_tool_use", "id": "s"}]}
    for blocks in ([result, "now"], ["now", result]):
        transcript = load(packed([call, {"role": "user", "content": blocks}]))
        assert outline(transcript)[1:] == [("tool", ["ToolResult"]), ("user", ["Text"])]
        assert transcript.messages[1].parts == (ToolResult("c", (), is_error=True),)


def test_envelopes():
    request = {
        "model": "m-1",
        "system": [{"type": "text", "text": "rules"}],
        "tools": [{"name": "f"}],
        "messages": PLAIN,
    }
    transcript = load(packed(request))
    assert (transcript.format, transcript.model) == ("anthropic", "m-1")
    assert transcript.messages[0] == Message("system", (Text("rules"),))
    response = {
        "id": "r",
        "model": "m-2",
        "role": "assistant",
        "content": [],
        "usage": {"input_tokens": 5, "cache_read_input_tokens": 7, "output_tokens": 2},
    }
    transcript = load(packed({"messages": [PLAIN[0], response]}))
    assert (transcript.model, transcript.messages[1].usage) == ("m-2", Usage(12, 2))


def test_malformed_messages_are_read_by_one_rule_each():
    """Case 032: ids as numbers, missing ids and roles, content of the wrong type."""
    transcript = load(MALFORMED)
    assert transcript.format == "anthropic"
    assert [m.parts for m in transcript.messages] == [
        (Text("Count."),),
        (ToolCall("7", "count", "{}"),),
        (ToolResult("7", (Text("12"),)),),
        (ToolCall("7#2", "count", ""), ToolCall("", "sum", "all")),
        (ToolResult("7#2", (Text('{"n":12,"sum":4811.5}'),)), ToolResult("", (Text("true"),))),
        (Text("Twelve."),),
        (Text(""), Text("And?"), Text("these"), Opaque("number", "3"), Opaque("null", "null")),
        (Opaque("message", '{"content":"Who said this?"}'),),
        (Text("Four."),),
        (Opaque("string", '"just a string"'),),
    ]
    assert [m.role for m in transcript.messages[-3:]] == ["system", "assistant", "system"]
    assert [o.where for o in transcript.diagnostics if o.kind == "unknown-message"] == [
        "message 8",
        "message 10",
    ]
    assert [o.where for o in transcript.diagnostics if o.kind == "no-id"] == ["message 4", "message 5"]
    assert kinds(transcript)["wrong-type"] == 5


@given(st.lists(st.one_of(st.integers(0, 3), st.sampled_from("0123"), st.just("1#2")), max_size=12))
def test_ids_stay_apart_and_do_not_depend_on_what_follows(ids):
    def texts(raw: Sequence[object]) -> list[str]:
        blocks = [{"type": "tool_use", "id": ref, "name": "f", "input": {}} for ref in raw]
        return [part.id for part in only(one_message(*blocks, role="assistant"), ToolCall)]

    read = texts(ids)
    pairs = set(zip(read, [(type(ref), ref) for ref in ids], strict=True))
    assert len(pairs) == len({text for text, _ in pairs}) == len({raw for _, raw in pairs})
    assert texts(ids[:-1]) == read[:-1]


# --- pairs


def test_pairs_are_checked():
    def use(ref: str) -> Json:
        return {"role": "assistant", "content": [USE | {"id": ref}]}

    def result(ref: str) -> Json:
        return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": ref, "content": "r"}]}

    def odd(*messages: Json) -> dict[str, int]:
        return kinds(load(packed(messages)))

    assert odd(use("a"), result("a"), use("b"), result("b")) == {}
    assert odd(result("a"), use("a"), result("a")) == {"orphan-result": 1}
    assert odd(use("a"), PLAIN[0]) == {"open-call": 1}
    assert odd(use("a")) == {"unfinished-turn": 1}, "the last batch may still be running"
    assert odd(use("a"), result("a"), use("a"), result("a")) == {"repeated-id": 1}


# --- OpenAI


def test_openai_empty_messages_and_old_calls():
    """Case 015: null, empty lists, missing keys, the old form of calls, a refusal."""
    transcript = load(EMPTIES)
    assert transcript.format == "openai-chat"
    assert kinds(transcript) == {"blank-text": 1}
    assert [(m.role, m.parts) for m in transcript.messages] == [
        ("system", ()),
        ("user", (Text("  \n"),)),
        ("assistant", (ToolCall("c", "f", "{}"),)),
        ("tool", (ToolResult("c", ()),)),
        ("assistant", (ToolCall("d", "f", ""), ToolCall("e", "f", ""))),
        ("tool", (ToolResult("e", (Text(""),)), ToolResult("d", (Text("D"),)))),
        ("assistant", ()),
        ("user", ()),
        ("assistant", (ToolCall("function_call_1", "drain", "not JSON"),)),
        ("tool", (ToolResult("function_call_1", (Text("drained 0"),)),)),
        ("assistant", (Reasoning("hm"), Text("No.", refusal=True))),
        ("assistant", (Text("Never.", refusal=True),)),
    ]


@pytest.mark.parametrize(
    ("names", "results", "answered"),
    [
        ("ab", "ba", [2, 1]),
        ("aa", "aa", [1, 2]),
        ("ab", "xy", [1, 2]),
        ("a", "aa", [1, 0]),
        ("ab", "xb", [1, 2]),
    ],
)
def test_old_calls_pair_by_name_then_by_order(names, results, answered):
    messages = [{"role": "assistant", "function_call": {"name": name, "arguments": ""}} for name in names]
    messages += [{"role": "function", "name": name, "content": "r"} for name in results]
    found = only(parts_of(load(packed(messages))), ToolResult)
    assert [result.call_id for result in found] == [f"function_call_{n}" if n else "" for n in answered]


def test_openai_parts():
    content = [
        {"type": "text", "text": "a"},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}", "detail": "low"}},
        {"type": "image_url", "image_url": "https://example.org/a.png"},
        {"type": "input_audio", "input_audio": {"data": "cGRm", "format": "wav"}},
        {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,cGRm"}},
        {"type": "file", "file": {"file_id": "file_1"}},
    ]
    transcript = load(packed([{"role": "user", "content": content}]))
    assert parts_of(transcript) == [
        Text("a"),
        Image("image/png", b"\x89PNG\r\n\x1a\n", detail="low"),
        Image("image/*", source="https://example.org/a.png"),
        File("", "audio/wav", b"pdf"),
        File("a.pdf", "application/pdf", b"pdf"),
        File("", "application/octet-stream", source="file_1"),
    ]
    assert transcript.diagnostics == ()
    broken = {"type": "image_url", "image_url": {"url": "data:image/png;base64,%%%"}}
    transcript = load(packed([{"role": "user", "content": [broken, {"type": "video"}]}]))
    assert [part.kind for part in only(parts_of(transcript), Opaque)] == ["image_url", "video"]
    assert kinds(transcript) == {"bad-base64": 1, "unknown-part": 1}


def test_openai_calls_of_all_kinds():
    transcript = load(
        packed(
            [
                {
                    "role": "assistant",
                    "reasoning": "same",
                    "reasoning_content": "same",
                    "tool_calls": [
                        {"id": "1", "type": "custom", "custom": {"name": "g", "input": "free text"}},
                        {"id": "2", "function": {"name": "f", "arguments": {"é": 1}}},
                        {"id": "3", "type": "new"},
                    ],
                    "usage": {"prompt_tokens": 9, "completion_tokens": 1},
                },
                {"role": "user", "content": "x", "name": None},
            ]
        )
    )
    assert transcript.messages[0] == Message(
        "assistant",
        (
            Reasoning("same"),
            ToolCall("1", "g", "free text"),
            ToolCall("2", "f", '{"é":1}'),
            Opaque("new", '{"id":"3","type":"new"}'),
        ),
        usage=Usage(9, 1),
    )


# --- Claude Code


def test_session_rows():
    """Case 024: one message over four rows, results out of order, sidechain, boundary, unknown type."""
    transcript = load(log(*SESSION))
    assert (transcript.format, transcript.model) == ("claude-session", "claude-x")
    assert transcript.messages == (
        Message("system", (Text("<local-command-caveat>"),), "1", "T1"),
        Message("user", (Text("Check both."),), "2", "T2"),
        Message(
            "assistant",
            (Reasoning("", "sig"), Text("I check both."), ToolCall("a", "f", "{}"), ToolCall("b", "f", "{}")),
            "m1",
            "T3",
            Usage(12904, 60),
        ),
        Message("tool", (ToolResult("b", (Text("B"),)), ToolResult("a", (Text("A"),))), "7", "T7"),
        Message("system", (Text("This session continues."),), "10", "T10"),
        Message("user", (Text("Clean up."),), "11", "T11"),
        Message("assistant", (Text("Log in again."),), "m2", "T12"),
    )
    assert notes(transcript, "sidechain") == [
        'line 12, line 13: a row of the subagent "a1f2"; read it as a conversation of its own (2 times)'
    ]
    assert notes(transcript, "unknown-row")[0].startswith('line 17: a row of type "hologram"')
    assert "auto, 167000 tokens" in notes(transcript, "compaction")[0]
    assert "1 file-history-snapshot, 1 progress, 1 summary" in notes(transcript, "bookkeeping")[0]


def test_session_shapes_read_alike():
    """A web export, CR LF, blank lines and NULs of a power loss change nothing but the names of places."""
    plain = load(log(*SESSION)).messages
    assert load(packed({"loglines": SESSION})).messages == plain
    assert load(log(*SESSION).replace(b"\n", b"\r\n\r\n")).messages == plain
    damaged = load(b"\0" * 300 + log(*SESSION)[:-1] + b"\0" * 40)
    assert damaged.messages == plain
    assert len(notes(damaged, "nul-bytes")) == 1
    assert "(2 times)" in notes(damaged, "nul-bytes")[0]


def test_rows_that_were_appended_again():
    again = load(log(*SESSION[2:9], SESSION[3], *SESSION[9:]))
    assert again.messages == load(log(*SESSION)).messages
    assert notes(again, "repeated-row")[0].startswith("line 8:")
    changed = session("user", "Something else.", "2")
    assert said(load(log(SESSION[3], changed))) == ["Check both.", "Something else."]


def test_a_subagents_own_file_is_a_conversation():
    transcript = load(log(SESSION[11], SESSION[12]))
    assert said(transcript) == ["Search.", "Found."]
    assert transcript.diagnostics == ()


def test_one_message_is_one_whatever_comes_between():
    rows = (SESSION[3], SESSION[6], session("user", answer("a", "A"), "7"), SESSION[7])
    transcript = load(log(*rows, session("user", answer("b", "B"), "8")))
    assert outline(transcript) == [
        ("user", ["Text"]),
        ("assistant", ["ToolCall", "ToolCall"]),
        ("tool", ["ToolResult", "ToolResult"]),
    ]


def test_the_last_usage_of_a_message_counts():
    last = session("assistant", [USE], "6", id="m1", usage=USAGE | {"output_tokens": 75})
    assert load(log(SESSION[5], last)).messages[0].usage == Usage(12904, 75)
    unmetered = session("assistant", [USE], "6", id="m1")
    assert load(log(SESSION[5], unmetered)).messages[0].usage == Usage(12904, 60)


def test_an_id_that_comes_again_is_counted_once():
    other = session("assistant", "between", "x", id="m9", usage=USAGE)
    transcript = load(log(SESSION[5], other, SESSION[5] | {"uuid": "y"}, SESSION[6]))
    assert said(transcript) == ["I check both.", "between", "I check both."]
    assert len(transcript.messages[2].parts) == 2
    assert [bool(m.usage) for m in transcript.messages] == [True, True, False]
    assert kinds(transcript) == {"repeated-id": 1, "unfinished-turn": 1}


def test_stream_rows():
    def row(kind: str, content: object, parent: str | None = None, **more: object) -> Json:
        message = {"role": kind, "content": content} | more
        return {"type": kind, "message": message, "parent_tool_use_id": parent, "session_id": "s"}

    transcript = load(
        log(
            {"type": "system", "subtype": "init", "model": "claude-y", "session_id": "s"},
            {"type": "system", "subtype": "thinking_tokens", "session_id": "s"},
            row("user", "Go."),
            row("assistant", [USE], id="m"),
            {"type": "tool_progress", "parent_tool_use_id": "c", "session_id": "s"},
            row("user", "Search.", "c"),
            row("assistant", [{"type": "text", "text": "Found."}], "c", id="sub"),
            {"type": "rate_limit_event", "session_id": "s"},
            {"type": "stream_event", "event": {}, "session_id": "s"},
            row("user", answer("c", "done")),
            {"type": "novelty", "session_id": "s"},
            {"type": "novelty", "session_id": "s"},
            {"type": "result", "result": "done", "usage": {"input_tokens": 99}, "session_id": "s"},
        )
    )
    assert (transcript.format, transcript.model) == ("claude-stream", "claude-y")
    assert outline(transcript) == [("user", ["Text"]), ("assistant", ["ToolCall"]), ("tool", ["ToolResult"])]
    assert kinds(transcript) == {"sidechain": 1, "unknown-row": 1}
    assert notes(transcript, "sidechain")[0].endswith("(2 times)")
    assert notes(transcript, "unknown-row")[0].endswith("(2 times)")


# --- ATIF


def test_trajectory_gaps():
    """Case 028: unanswered calls, results without a call, parts, a subagent, an unknown source."""
    transcript = load(TRAJECTORY)
    assert (transcript.format, transcript.model) == ("atif", "other")
    assert [(m.role, m.parts) for m in transcript.messages] == [
        ("system", (Text("You fix notebooks."),)),
        ("user", (Text("Empty, see:"), Image("image/png", source="plot.png"))),
        (
            "assistant",
            (Reasoning("Look."), ToolCall("c1", "ls", '{"path":"."}'), ToolCall("c2", "head", "{}")),
        ),
        ("tool", (ToolResult("c2", (Text("x,y"),)),)),
        ("assistant", (Text("Empty."), ToolCall("c3", "ask", "{}"))),
        (
            "tool",
            (ToolResult("c3", (Opaque("subagent_trajectory_ref", '[{"trajectory_id":"sub-1"}]'),)),),
        ),
        ("system", (Text("disk is 91 % full"),)),
        ("assistant", (Text("Done."),)),
        ("system", (Opaque("robot", '{"step_id":8,"source":"robot","message":"beep"}'),)),
    ]
    assert [m.usage for m in transcript.messages if m.usage] == [Usage(18000, 90)]
    assert kinds(transcript) == {
        "step-order": 1,
        "unknown-step": 1,
        "sidechain": 1,
        "open-call": 1,
    }
