"""Readers of OpenAI Responses and Gemini, messages in memory, and what each reader keeps to send back."""

from __future__ import annotations

import base64
import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snapshot.errors import TranscriptError
from snapshot.messages import File, Image, Message, Opaque, Reasoning, Text, ToolCall, ToolResult, Usage
from snapshot.source.source import source_of
from snapshot.transcripts import from_messages, load
from tests.conftest import case

Json = dict[str, Any]
PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n").decode()
PICTURE = Image("image/png", b"\x89PNG\r\n\x1a\n")
ASK = {"role": "user", "content": "go"}


def case_input(name: str) -> Any:
    return json.loads((case(name) / "input.json").read_text(encoding="utf-8"))


def kinds(transcript: Any) -> list[str]:
    return [diagnostic.kind for diagnostic in transcript.diagnostics]


def items(*values: Json) -> list[Message]:
    return list(from_messages(list(values), format="openai-responses").messages)


def contents(*values: Json) -> list[Message]:
    return list(from_messages(list(values), format="gemini").messages)


# --- Responses


def test_responses_items():
    """Case 014: reasoning and what it led to are one message; the order of outputs does not matter."""
    transcript = load(case("014") / "input.json")
    given_ = case_input("014")
    assert (transcript.format, transcript.diagnostics) == ("openai-responses", ())
    assert [(m.role, len(m.raw)) for m in transcript.messages] == [
        ("system", 1), ("user", 1), ("assistant", 3), ("tool", 2), ("assistant", 2), ("user", 1),
        ("assistant", 2), ("tool", 1), ("assistant", 2), ("user", 1),
    ]  # fmt: skip
    assert [raw for m in transcript.messages for raw in m.raw] == given_
    reasoning, *calls = transcript.messages[2].parts
    assert reasoning == Reasoning("Looking up hosts.", given_[2]["encrypted_content"])
    assert calls == [
        ToolCall("call_h1", "hosts", '{"fields":["name","kernel"]}'),
        ToolCall("call_h2", "kernels", "{}"),
    ]
    results = transcript.messages[3].parts
    assert [r.call_id for r in results if isinstance(r, ToolResult)] == ["call_h2", "call_h1"]
    assert "encrypted" not in source_of(transcript).text
    assert all(
        item["encrypted_content"][:8] not in source_of(transcript).text
        for item in given_[2::5]
        if "encrypted_content" in item
    )


def test_responses_detection():
    item = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "a"}]}
    call = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}
    for value in (
        [item],
        {"model": "m", "input": [item]},
        {"input": [ASK]},
        [ASK, ASK, call],
        {"output": [call]},
    ):
        assert from_messages(value).format == "openai-responses"
        assert load(json.dumps(value).encode()).format == "openai-responses"
    assert from_messages({"input": "hello"}, format="openai-responses").messages[0].parts == (Text("hello"),)


def test_responses_envelopes():
    request = {"model": "m", "instructions": "rules", "input": [ASK]}
    transcript = from_messages(request)
    assert (transcript.model, transcript.messages[0]) == ("m", Message("system", (Text("rules"),)))
    answer = {
        "type": "message",
        "id": "msg_1",
        "role": "assistant",
        "content": [{"type": "output_text", "text": "a"}],
    }
    response = {"model": "m", "output": [answer], "usage": {"input_tokens": 5, "output_tokens": 2}}
    assert from_messages(response).messages == (
        Message("assistant", (Text("a"),), "msg_1", usage=Usage(5, 2)),
    )


def test_responses_parts():
    content = [
        {"type": "input_text", "text": "a"},
        {"type": "input_image", "image_url": f"data:image/png;base64,{PNG}", "detail": "low"},
        {"type": "input_image", "image_url": "https://example.org/a.png"},
        {"type": "input_image", "file_id": "file-1"},
        {"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,cGRm"},
        {"type": "input_file", "file_url": "https://example.org/a.pdf"},
        {"type": "input_file", "file_data": "%%"},
    ]
    (message,) = items({"role": "user", "content": content})
    assert message.parts[:-1] == (
        Text("a"),
        Image("image/png", PICTURE.data, detail="low"),
        Image("image/*", source="https://example.org/a.png"),
        Image("image/*", source="file-1"),
        File("a.pdf", "application/pdf", b"pdf"),
        File("", "application/octet-stream", source="https://example.org/a.pdf"),
    )
    assert isinstance(message.parts[-1], Opaque)
    refusal = {"type": "refusal", "refusal": "No."}
    assert items({"role": "assistant", "content": [refusal]})[0].parts == (Text("No.", refusal=True),)


@pytest.mark.parametrize(
    ("call", "output", "parts"),
    [
        (
            {"type": "custom_tool_call", "call_id": "c", "name": "g", "input": "free"},
            {"type": "custom_tool_call_output", "call_id": "c", "output": "r"},
            (ToolCall("c", "g", "free"), ToolResult("c", (Text("r"),))),
        ),
        (
            {"type": "computer_call", "call_id": "c", "id": "cu_1", "action": {"type": "click"}},
            {
                "type": "computer_call_output", "call_id": "c",
                "output": {"type": "computer_screenshot", "image_url": f"data:image/png;base64,{PNG}"},
            },
            (ToolCall("c", "computer", '{"type":"click"}'), ToolResult("c", (PICTURE,))),
        ),
        (
            {"type": "local_shell_call", "id": "c", "action": {"command": ["ls"]}},
            {"type": "local_shell_call_output", "id": "c", "output": "a"},
            (ToolCall("c", "local_shell", '{"command":["ls"]}'), ToolResult("c", (Text("a"),))),
        ),
        (
            {"type": "apply_patch_call", "call_id": "c", "operation": {"path": "a"}},
            {"type": "apply_patch_call_output", "call_id": "c", "status": "failed", "output": None},
            (ToolCall("c", "apply_patch", '{"path":"a"}'), ToolResult("c", (), is_error=True)),
        ),
    ],
)  # fmt: skip
def test_responses_built_in_calls(call, output, parts):
    transcript = from_messages([call, output])
    assert (transcript.format, transcript.diagnostics) == ("openai-responses", ())
    assert tuple(part for m in transcript.messages for part in m.parts) == parts
    assert [m.raw for m in transcript.messages] == [(call,), (output,)]


def test_responses_items_without_words_are_kept():
    search = {"type": "web_search_call", "id": "ws_1", "action": {"query": "kernel"}}
    sealed = {"type": "compaction", "encrypted_content": "c2VhbGVk"}
    new = {"type": "hologram", "x": 1}
    (message,) = items(search, sealed, new, {"type": "image_generation_call", "id": "ig_1", "result": PNG})
    assert message.parts == (
        Opaque("web_search_call", json.dumps(search, separators=(",", ":"))),
        Reasoning("", "c2VhbGVk"),
        Opaque("hologram", '{"type":"hologram","x":1}'),
        PICTURE,
    )
    transcript = from_messages([ASK, {"content": "who?"}, 3], format="openai-responses")
    assert [m.role for m in transcript.messages] == ["user", "system", "system"]
    assert kinds(transcript) == ["unknown-item"]


# --- Gemini


def test_gemini_contents():
    """Case 027: calls without ids are not mixed up, both spellings read alike, no signature is printed."""
    transcript = load(case("027") / "input.json")
    assert (transcript.format, transcript.diagnostics) == ("gemini", ())
    calls = {p.id: p for m in transcript.messages for p in m.parts if isinstance(p, ToolCall)}
    results = [p for m in transcript.messages for p in m.parts if isinstance(p, ToolResult)]
    told = [
        (calls[r.call_id].arguments, r.content[0].text) for r in results if isinstance(r.content[0], Text)
    ]
    assert told == [
        ('{"city":"Oslo"}', '{"temp":3,"wind":"NW 5"}'),
        ('{"city":"Cairo"}', '{"temp":31,"wind":"N 2"}'),
        ('{"zoom":4}', "see image"),
        ('{"city":"Lima"}', "quota exceeded"),
    ]
    assert [len(r.content) for r in results] == [1, 1, 2, 1]
    assert [r.is_error for r in results] == [False, False, False, True]
    assert transcript.messages[1].parts[0] == Reasoning("Two look-ups and a map.", "dGhvdWdodC0x")
    text = source_of(transcript).text
    assert "print(31-3)" in text
    assert text.index("print(31-3)") < text.index("OUTCOME_OK")
    assert not any(sign in text for sign in ("dGhvdWdodC0x", "c2lnLTE", "c2lnLTI"))


def test_gemini_spellings_read_alike():
    def snake(value: Any) -> Any:
        text = json.dumps(value)
        for key in ("functionCall", "functionResponse", "inlineData", "mimeType", "thoughtSignature"):
            text = text.replace(key, "".join("_" + c.lower() if c.isupper() else c for c in key))
        return json.loads(text)

    given_ = case_input("027")
    assert from_messages(snake(given_)).messages == from_messages(given_).messages


def test_gemini_envelope_and_parts():
    parts = [
        {"text": "a"},
        {"inlineData": {"mimeType": "application/pdf", "data": "cGRm"}},
        {"fileData": {"mimeType": "image/png", "fileUri": "gs://b/a.png"}},
        {"file_data": {"file_uri": "files/1"}},
        {"inline_data": {"mime_type": "image/png", "data": "iVBORw0KGgo-_w=="}},
        {"inlineData": {"mimeType": "image/png", "data": "?"}},
        {"thoughtSignature": "c2ln"},
        {"hologram": [1]},
        "bare",
    ]
    request = {
        "model": "m",
        "systemInstruction": {"parts": [{"text": "rules"}]},
        "contents": [{"parts": parts}],
    }
    transcript = from_messages(request)
    assert (transcript.format, transcript.model) == ("gemini", "m")
    assert transcript.messages[0] == Message("system", (Text("rules"),))
    assert transcript.messages[1].parts == (
        Text("a"),
        File("", "application/pdf", b"pdf"),
        Image("image/png", source="gs://b/a.png"),
        File("", "application/octet-stream", source="files/1"),
        Image("image/png", b"\x89PNG\r\n\x1a\n>\xff"),
        Opaque("inlineData", '{"inlineData":{"mimeType":"image/png","data":"?"}}'),
        Opaque("hologram", "[1]"),
        Text("bare"),
    )
    assert kinds(transcript) == ["bad-base64", "unknown-part"]
    assert (
        from_messages({"contents": [], "system_instruction": "rules"}, format="gemini").messages[0].role
        == "system"
    )


def call(name: str, **more: object) -> Json:
    return {"functionCall": {"name": name, "args": {}, **more}}


def response(name: str, output: object = "r", **more: object) -> Json:
    return {"functionResponse": {"name": name, "response": {"output": output}, **more}}


@pytest.mark.parametrize(
    ("calls", "results", "pairs"),
    [
        ("ab", "ba", [1, 0]),
        ("aa", "aa", [0, 1]),
        ("ab", "xb", [0, 1]),
        ("a", "aa", [0, None]),
    ],
)
def test_gemini_pairs_by_name_then_by_order(calls, results, pairs):
    model, user = contents(
        {"role": "model", "parts": [call(name) for name in calls]},
        {"role": "user", "parts": [response(name) for name in results]},
    )
    ids = [part.id for part in model.parts if isinstance(part, ToolCall)]
    found = [part.call_id for part in user.parts if isinstance(part, ToolResult)]
    assert found == [ids[n] if n is not None else "" for n in pairs]


def test_gemini_pairs_by_id_and_within_a_turn():
    """An id names its call; calls of an earlier turn are not answered by name any more."""
    messages = contents(
        {"role": "model", "parts": [call("a"), call("a", id="x")]},
        {"role": "function", "parts": [response("a", id="x"), {"text": "and"}]},
        {"role": "model", "parts": [call("a")]},
        {"role": "user", "parts": [response("a", {"n": 1}), response("a")]},
    )
    assert [m.role for m in messages] == ["assistant", "tool", "user", "assistant", "tool"]
    results = [p for m in messages for p in m.parts if isinstance(p, ToolResult)]
    last = messages[3].parts[0]
    assert isinstance(last, ToolCall)
    assert [r.call_id for r in results] == ["x", last.id, ""]
    assert results[1].content == (Text('{"n":1}'),)


def test_gemini_pieces_of_one_turn_are_one_message():
    messages = contents(
        {"role": "model", "parts": [call("a")]},
        {"role": "model", "parts": [call("b")]},
        {"role": "user", "parts": [response("a")]},
        {"role": "user", "parts": [response("b")]},
    )
    assert [(m.role, len(m.parts), len(m.raw)) for m in messages] == [("assistant", 2, 2), ("tool", 2, 2)]


# --- what goes back


def test_raw_is_kept_by_all_readers():
    given_ = case_input("013")
    assert [m.raw for m in from_messages(given_).messages] == [(message,) for message in given_]
    chat = case_input("012")
    read = from_messages(chat)
    assert [raw for m in read.messages for raw in m.raw] == chat
    gemini = case_input("027")["contents"]
    assert [raw for m in from_messages(gemini).messages for raw in m.raw] == gemini


def test_raw_of_a_split_message_is_its_own_half():
    use = {"type": "tool_use", "id": "c", "name": "f", "input": {}}
    result = {
        "type": "tool_result",
        "tool_use_id": "c",
        "content": "r",
        "cache_control": {"type": "ephemeral"},
    }
    now = {"type": "text", "text": "now"}
    for blocks in ([result, now], [now, result]):
        transcript = from_messages(
            [{"role": "assistant", "content": [use]}, {"role": "user", "content": blocks}]
        )
        assert [m.raw for m in transcript.messages[1:]] == [
            ({"role": "user", "content": [result]},),
            ({"role": "user", "content": [now]},),
        ]
    mixed = [{"role": "assistant", "content": [use, result, now]}]
    assert [m.raw for m in from_messages(mixed).messages] == [(), (), ()]


def test_raw_of_log_rows_is_the_messages_in_them():
    def row(kind: str, block: Json, uuid: str, **more: object) -> Json:
        message = {"role": kind, "content": [block], **({"id": "m"} if kind == "assistant" else {})}
        return {"type": kind, "uuid": uuid, "sessionId": "s", "message": message, **more}

    rows = [
        row("user", {"type": "text", "text": "note"}, "1", isMeta=True),
        row("assistant", {"type": "thinking", "thinking": "", "signature": "s"}, "2"),
        row("assistant", {"type": "tool_use", "id": "c", "name": "f", "input": {}}, "3"),
        row("user", {"type": "tool_result", "tool_use_id": "c", "content": "r"}, "4"),
    ]
    transcript = from_messages(rows)
    assert transcript.format == "claude-session"
    assert [m.role for m in transcript.messages] == ["system", "assistant", "tool"]
    assert [raw for m in transcript.messages for raw in m.raw] == [r["message"] for r in rows]


def test_no_raw_where_something_was_not_the_apis():
    """Keys of another API beside the blocks, or a message that nobody can read: built anew, or left out."""
    odd = {
        "role": "assistant",
        "content": "a",
        "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": ""}}],
    }
    transcript = from_messages([ASK, odd, {"content": "who?"}], format="anthropic")
    assert [bool(m.raw) for m in transcript.messages] == [True, False, False]


def test_raw_is_neither_compared_nor_shown():
    transcript = from_messages([ASK])
    assert transcript.messages[0] == Message("user", (Text("go"),))
    assert "raw" not in repr(transcript)


def test_a_summary_by_the_service_is_words():
    block = {"type": "compaction", "content": "We did A.", "encrypted_content": "c2VhbGVk"}
    (message,) = from_messages([{"role": "assistant", "content": [block]}], format="anthropic").messages
    assert message.parts == (Text("We did A."),)
    assert message.raw[0]["content"] == [block]
    sealed = {"type": "compaction", "content": None, "encrypted_content": "c2VhbGVk"}
    transcript = from_messages([{"role": "assistant", "content": [sealed]}], format="anthropic")
    assert [part.kind for part in transcript.messages[0].parts if isinstance(part, Opaque)] == ["compaction"]
    assert transcript.diagnostics == ()


# --- messages in memory


PLAIN = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=3)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=10,
)


@given(
    st.lists(
        st.fixed_dictionaries({"role": st.sampled_from(["user", "assistant"]), "content": PLAIN}), max_size=4
    )
)
def test_in_memory_as_from_a_file(value):
    before = copy.deepcopy(value)
    transcript = from_messages(value)
    assert value == before
    if value:
        assert transcript == load(json.dumps(value).encode())
    for message in transcript.messages:
        for raw in message.raw:
            raw["content"] = "changed"
    assert value == before, "raw is a copy"


def test_what_is_no_list_of_messages():
    assert from_messages([]).messages == ()
    assert from_messages(({"role": "user", "content": ("a", "b")},)).messages[0].parts == (
        Text("a"),
        Text("b"),
    )
    blob = {"role": "user", "parts": [{"inline_data": {"mime_type": "image/png", "data": PICTURE.data}}]}
    assert from_messages([blob]).messages[0].parts == (PICTURE,)
    for value in ("text", {"a": 1}, [1, 2], None):
        with pytest.raises(TranscriptError, match="not a list of messages of a known format: claude-stream"):
            from_messages(value)
    with pytest.raises(TranscriptError, match=r"messages\[0\]\['content'\] is a object: give plain dict"):
        from_messages([{"role": "user", "content": object()}])
    with pytest.raises(TranscriptError, match=r"did you mean 'openai-chat'\?"):
        from_messages([ASK], format="openai_chat")
    with pytest.raises(TranscriptError, match="not a list of messages"):
        from_messages([ASK], format="text")
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(TranscriptError, match="nested too deeply"):
        from_messages([{"role": "user", "content": deep}])
    while deep:  # taken apart level by level: freeing it whole would recurse
        deep = deep.pop()
