"""Requests: no provider refuses what is written, and what came from an API goes back as it came."""

from __future__ import annotations

import json
import struct
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snapshot.errors import SnapshotError
from snapshot.messages import (
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
from snapshot.requests import APIS, request
from snapshot.requests.check import check
from snapshot.transcripts import from_messages
from tests.conftest import case, examples

Json = dict[str, Any]
OWN = {
    "anthropic": "anthropic",
    "openai": "openai-chat",
    "openai-responses": "openai-responses",
    "gemini": "gemini",
}
LISTS = {"anthropic": "messages", "openai": "messages", "openai-responses": "input", "gemini": "contents"}
LABELS = ("From the call ", "(no ", "[system] ", "(conversation ")


def png(width: int = 3, height: int = 2, size: int = 40) -> bytes:
    """The head of a PNG: what tells its size."""
    return (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", width, height)).ljust(size, b"\0")


def case_input(name: str) -> Any:
    return json.loads((case(name) / "input.json").read_text(encoding="utf-8"))


def assert_sent(transcript: Transcript, api: str) -> Json:
    """The request for `transcript`, which is strict JSON, made the same way each time, and accepted."""
    body = request(transcript, api)
    assert check(body, api) == []
    assert body == request(transcript, api)
    json.dumps(body, ensure_ascii=False, allow_nan=False).encode()
    return body


# --- laws


WORDS = st.one_of(st.sampled_from(["", " \n", "a\0b", "\ud800", "ok"]), st.text(max_size=6))
REFS = st.sampled_from(["", "a", "b", "c", "7#2", "é" * 50])
IMAGES = st.one_of(
    st.builds(Image, st.sampled_from(["image/png", "image/*", "image/svg+xml"]), st.just(png())),
    st.builds(
        Image, st.just("image/png"), source=st.sampled_from(["https://e.org/a.png", "file_1", "plot.png"])
    ),
)
FILES = st.one_of(
    st.builds(File, WORDS, st.sampled_from(["application/pdf", "audio/wav", "x/y"]), st.just(b"%PDF")),
    st.builds(File, WORDS, st.just("text/plain"), text=WORDS),
    st.builds(File, WORDS, st.just("application/pdf"), source=st.sampled_from(["https://e.org/a", "file_1"])),
)
OPAQUE = st.one_of(
    st.builds(
        Opaque, st.sampled_from(["number", "hologram", "redacted_thinking"]), st.sampled_from(["3", "{", ""])
    ),
    st.just(Opaque("executableCode", '{"code":"1"}')),
    st.just(Opaque("server_tool_use", '{"type":"server_tool_use","id":"s","name":"n","input":{}}')),
)
TEXTS = st.builds(Text, WORDS, st.booleans())
RESULTS = st.builds(
    ToolResult, REFS, st.lists(st.one_of(TEXTS, IMAGES, FILES, OPAQUE), max_size=3).map(tuple), st.booleans()
)
CALLS = st.builds(
    ToolCall, REFS, st.sampled_from(["f", "a.b c", ""]), st.sampled_from(["", "{}", "[1]", '{"a":NaN}', "{x"])
)
THOUGHTS = st.builds(Reasoning, WORDS, st.one_of(st.none(), st.just("sig")))
PARTS = st.one_of(TEXTS, THOUGHTS, CALLS, RESULTS, IMAGES, FILES, OPAQUE)
MESSAGES = st.builds(
    Message,
    st.sampled_from(["system", "user", "assistant", "assistant", "tool"]),
    st.lists(PARTS, max_size=4).map(tuple),
)
TRANSCRIPTS = st.builds(
    Transcript,
    st.lists(MESSAGES, max_size=7).map(tuple),
    st.sampled_from([*OWN.values(), "claude-stream", "atif"]),
)


@pytest.mark.parametrize("api", APIS)
@settings(max_examples=examples(120))
@given(transcript=TRANSCRIPTS)
def test_no_request_is_refused(api, transcript):
    """Open and repeated calls, orphans, empty messages, parts in wrong places: all of it is mended."""
    assert_sent(transcript, api)


KEYS = (
    "role", "content", "type", "text", "id", "name", "input", "tool_use_id", "tool_calls", "function",
    "arguments", "tool_call_id", "call_id", "output", "parts", "functionCall", "function_response", "args",
    "response", "source", "data", "media_type", "thinking", "signature", "image_url", "summary", "refusal",
    "is_error", "inlineData", "mimeType", "thought", "thoughtSignature", "encrypted_content",
)  # fmt: skip
VALUES = (
    "user", "assistant", "system", "tool", "model", "text", "thinking", "tool_use", "tool_result", "image",
    "base64", "function_call", "function_call_output", "reasoning", "message", "input_text", "output_text",
    "custom_tool_call", "shell_call", "shell_call_output", "image_url", "input_image", "compaction",
    "local_shell_call", "local_shell_call_output", "c", "AAAA", "https://e.org/a.png", "",
)  # fmt: skip
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(0, 9), st.floats(), st.sampled_from(VALUES))
JUNK = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.sampled_from(KEYS), inner, max_size=6)
    ),
    max_leaves=25,
)
ROLE = st.fixed_dictionaries({"role": st.sampled_from(["user", "assistant", "tool", "model", "system"])})
ROLED = st.builds(lambda some, more: more | some if isinstance(more, dict) else more, ROLE, JUNK)
ITEMS = st.builds(
    lambda kind, more: {"type": kind} | more,
    st.sampled_from(VALUES),
    st.dictionaries(st.sampled_from(KEYS), JUNK, max_size=5),
)


@pytest.mark.parametrize("name", OWN.values())
@given(value=st.lists(st.one_of(JUNK, ROLED, ITEMS), min_size=1, max_size=6))
def test_no_shape_of_messages_is_refused(name, value):
    """What a harness holds may be of any shape: read, and sent to its own API or another."""
    before = repr(value)
    transcript = from_messages(value, format=name)
    for api in APIS:
        assert_sent(transcript, api)
    assert repr(value) == before, "neither reader nor writer changes what it was given"


CLEAN = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=12).map(lambda text: f"t{text}")
PICTURES = st.integers(1, 9).map(lambda side: Image("image/png", png(side)))
ANSWERS = st.builds(
    lambda words, pictures: (*map(Text, words), *pictures),
    st.lists(CLEAN, max_size=1),
    st.lists(PICTURES, max_size=2),
)
ARGUMENTS = st.dictionaries(CLEAN, st.one_of(st.integers(), CLEAN), max_size=2)
TURN = st.tuples(
    CLEAN,
    st.lists(PICTURES, max_size=2),
    CLEAN,
    st.lists(st.tuples(ARGUMENTS, ANSWERS, st.booleans()), max_size=3),
)


def conversation(turns: list[Any], *, starts: bool) -> Transcript:
    messages = [Message("system", (Text("tRules"),))] if starts else []
    for t, (ask, pictures, reply, calls) in enumerate(turns):
        if starts or t:
            messages.append(Message("user", (Text(ask), *pictures)))
        made = [ToolCall(f"c{t}_{n}", "f", json.dumps(args)) for n, (args, _, _) in enumerate(calls)]
        messages.append(Message("assistant", (Text(reply), *made)))
        if calls:
            given = (ToolResult(f"c{t}_{n}", answer, bad) for n, (_, answer, bad) in enumerate(calls))
            messages.append(Message("tool", tuple(given)))
            messages.append(Message("tool", (ToolResult("gone", (Text("tOrphan"),)),)))
    return Transcript(tuple(messages), "text")


def said(transcript: Transcript, *, orphans: bool = False) -> dict[str, list[Any]]:
    """Texts, calls, results and images in their order, without the words that requests need beside them."""
    parts = [part for message in transcript.messages for part in message.parts]
    results = [p for p in parts if isinstance(p, ToolResult) and (orphans or p.call_id != "gone")]
    inner: list[Part] = []
    for part in parts:
        inner += part.content if isinstance(part, ToolResult) else [part]
    texts = [p.text for p in parts if isinstance(p, Text) and not p.text.startswith(LABELS)]
    answers = ["".join(p.text for p in r.content if isinstance(p, Text)) for r in results]
    return {
        "texts": texts,
        "calls": [(p.id, p.name, json.loads(p.arguments)) for p in parts if isinstance(p, ToolCall)],
        "results": [(r.call_id, a.removeprefix("[error] ")) for r, a in zip(results, answers, strict=True)],
        "images": [p.data for p in inner if isinstance(p, Image)],
    }


@pytest.mark.parametrize("api", APIS)
@given(turns=st.lists(TURN, min_size=1, max_size=4), starts=st.booleans())
def test_a_request_reads_back_as_what_was_said(api, turns, starts):
    transcript = conversation(turns, starts=starts)
    back = from_messages(assert_sent(transcript, api), format=OWN[api])
    assert not {o.kind for o in back.diagnostics} & {
        "orphan-result",
        "open-call",
        "unknown-part",
        "wrong-type",
    }
    wanted, found = said(transcript), said(back, orphans=True)
    empty = [(ref, "" if text.startswith("(no ") else text) for ref, text in found["results"]]
    assert found | {"results": empty} == wanted
    if api in ("anthropic", "gemini"):
        failed = [r.is_error for m in back.messages for r in m.parts if isinstance(r, ToolResult)]
        kept = [m for m in transcript.messages if m.role == "tool"][::2]
        assert failed == [r.is_error for m in kept for r in m.parts if isinstance(r, ToolResult)]


@pytest.mark.parametrize("api", APIS)
@given(turns=st.lists(TURN, min_size=1, max_size=4))
def test_what_came_from_an_api_goes_back_as_it_came(api, turns):
    body = request(conversation(turns, starts=True), api)
    read = from_messages(body, format=OWN[api])
    assert request(read, api) == body
    assert request(replace(read, messages=tuple(replace(m, raw=()) for m in read.messages)), api)


# --- cases


@pytest.mark.parametrize(
    ("name", "api"),
    [
        ("011", "anthropic"),
        ("013", "anthropic"),
        ("014", "openai-responses"),
        ("017", "anthropic"),
        ("027", "gemini"),
    ],
)
def test_same_api_key_for_key(name, api):
    given_ = case_input(name)
    listed = given_ if isinstance(given_, list) else given_[LISTS[api]]
    body = assert_sent(from_messages(given_), api)
    one_spelling = json.loads(
        json.dumps(listed)
        .replace("function_call", "functionCall")
        .replace("function_response", "functionResponse")
        .replace("inline_data", "inlineData")
        .replace("mime_type", "mimeType")
    )
    assert body[LISTS[api]] == (one_spelling if api == "gemini" else listed)


@pytest.mark.parametrize("name", ["011", "012", "013", "014", "015", "017", "027", "032"])
@pytest.mark.parametrize("api", APIS)
def test_cases_in_every_api(name, api):
    assert_sent(from_messages(case_input(name)), api)


def test_signatures_stay_at_home():
    """Case 013, 014 and 027: no other API gets what only the own one can read."""
    for name, own in (("013", "anthropic"), ("014", "openai-responses"), ("027", "gemini")):
        transcript = from_messages(case_input(name))
        for api in APIS:
            text = json.dumps(request(transcript, api))
            for message in transcript.messages:
                for part in message.parts:
                    if isinstance(part, Reasoning) and part.signature:
                        assert (json.dumps(part.signature)[1:20] in text) == (api == own)


def test_screenshots_in_tool_results():
    """Case 017: tool messages in a row, then one user message with the images, each with its call."""
    transcript = from_messages(case_input("017"))
    messages = request(transcript, "openai")["messages"]
    assert [m["role"] for m in messages[:6]] == ["user", "assistant", "tool", "tool", "tool", "user"]
    assert messages[3] == {
        "role": "tool",
        "tool_call_id": "toolu_s2",
        "content": "(no text; what it showed is in the user message below)",
    }
    assert [block["type"] for block in messages[5]["content"]] == ["text", "image_url"] * 2
    assert "toolu_s1" in messages[5]["content"][0]["text"]
    assert "toolu_s2" in messages[5]["content"][2]["text"]
    assert messages[-1]["content"][-1]["image_url"] == {"url": "https://shots.example/4.png"}
    outputs = [
        i for i in request(transcript, "openai-responses")["input"] if i["type"] == "function_call_output"
    ]
    assert outputs[-1]["output"] == [{"type": "input_image", "image_url": "https://shots.example/4.png"}]
    contents = request(transcript, "gemini")["contents"]
    assert [list(p["functionResponse"]["parts"][0]) for p in contents[2]["parts"][:2]] == [["inlineData"]] * 2
    assert contents[-1]["parts"][0]["functionResponse"]["parts"] == [
        {"fileData": {"mimeType": "image/png", "fileUri": "https://shots.example/4.png"}}
    ]


def test_reasoning_and_ids_stand_and_fall_together():
    """Case 014: where a call of a message has to change, its reasoning and all ids go."""
    transcript = from_messages(case_input("014"))
    cut = tuple(replace(m, raw=()) if n == 2 else m for n, m in enumerate(transcript.messages))
    items = assert_sent(replace(transcript, messages=cut), "openai-responses")["input"]
    assert [i.get("id") for i in items[2:4]] == [None, None]
    assert "rs_aa01" not in json.dumps(items)
    assert "rs_aa02" in json.dumps(items)


def test_elided_results_keep_their_kind():
    """A result that was changed is built anew, with its call as it came where that is a function's."""
    call = {"type": "custom_tool_call", "call_id": "c", "id": "ctc_1", "name": "g", "input": "x"}
    output = {"type": "custom_tool_call_output", "call_id": "c", "output": "long"}
    transcript = from_messages([{"role": "user", "content": "go"}, call, output])
    assert request(transcript, "openai-responses")["input"][1:] == [call, output]
    elided = Message("tool", (ToolResult("c", (Text("short"),)),))
    items = request(replace(transcript, messages=(*transcript.messages[:2], elided)), "openai-responses")[
        "input"
    ]
    assert [item["type"] for item in items[1:]] == ["function_call", "function_call_output"]


def test_gemini_elided_results_stay_with_calls_without_ids():
    """Case 027: the calls go out as they came, changed responses in the order of the calls."""
    transcript = from_messages(case_input("027"))
    results = tuple(reversed(transcript.messages[2].parts))
    changed = (*transcript.messages[:2], Message("tool", results), *transcript.messages[3:])
    contents = assert_sent(replace(transcript, messages=changed), "gemini")["contents"]
    assert contents[1]["parts"][1]["thoughtSignature"] == "c2lnLTE="
    given_ = [part["functionResponse"] for part in contents[2]["parts"]]
    assert [r.get("id") for r in given_] == [None, None, "fc-map"]
    assert ["31" in r["response"]["output"] for r in given_] == [False, True, False]


def test_response_objects_are_stripped():
    answer = {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "stop_reason": "end_turn",
        "stop_sequence": None, "usage": {"input_tokens": 1}, "content": [{"type": "text", "text": "yes"}],
    }  # fmt: skip
    body = request(from_messages([{"role": "user", "content": "a"}, answer], format="anthropic"), "anthropic")
    assert body["messages"][1] == {"role": "assistant", "content": [{"type": "text", "text": "yes"}]}
    message = {"role": "assistant", "content": "yes", "annotations": [], "tool_calls": None, "refusal": None}
    body = request(from_messages([{"role": "user", "content": "a"}, message], format="openai-chat"), "openai")
    assert body["messages"][1] == {"role": "assistant", "content": "yes"}


def test_a_request_is_the_callers_own():
    """Changing a request, as callers do to set cache marks, does not change the next one."""
    transcript = from_messages(case_input("013"))
    body = request(transcript, "anthropic")
    body["messages"][1]["content"][0]["cache_control"] = {"type": "ephemeral"}
    assert request(transcript, "anthropic")["messages"] == case_input("013")


def test_blocks_in_wrong_places_are_words():
    """Thinking or a call inside a result is no block there, whatever its type says."""
    inner = {"type": "thinking", "thinking": "hm", "signature": "s"}
    use = {"type": "tool_use", "id": "c", "name": "f", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "c", "content": [inner, use]}
    messages = [{"role": "user", "content": "go"}, {"role": "assistant", "content": [use]}]
    transcript = from_messages([*messages, {"role": "user", "content": [result]}])
    sent = assert_sent(transcript, "anthropic")["messages"][2]["content"][0]["content"]
    assert [block["type"] for block in sent] == ["text", "text"]


def test_system_words():
    """In front they have a place of their own; later on they are the user's, behind results, with a label."""
    messages = (
        Message("system", (Text("rules"),)),
        Message("user", (Text("go"),)),
        Message("assistant", (ToolCall("c", "f", "{}"),)),
        Message("system", (Text("note"),)),
        Message("tool", (ToolResult("c", (Text("done"),)),)),
    )
    transcript = Transcript(messages, "text")
    body = assert_sent(transcript, "anthropic")
    assert body["system"] == "rules"
    assert [block["type"] for block in body["messages"][-1]["content"]] == ["tool_result", "text"]
    assert body["messages"][-1]["content"][1]["text"] == "[system] note"
    assert assert_sent(transcript, "gemini")["systemInstruction"] == {"parts": [{"text": "rules"}]}
    roles = [message["role"] for message in assert_sent(transcript, "openai")["messages"]]
    assert roles == ["system", "user", "assistant", "tool", "system"]
    cached = [{"type": "text", "text": "rules", "cache_control": {"type": "ephemeral"}}]
    body = {"system": cached, "messages": [{"role": "user", "content": "go"}]}
    assert request(from_messages(body), "anthropic") == body


def test_open_calls_only_at_the_end():
    call = Message("assistant", (ToolCall("a", "f", "{}"), ToolCall("b", "f", "{}")))
    ask = Message("user", (Text("go"),))
    for api in APIS:
        assert "never answered" not in json.dumps(assert_sent(Transcript((ask, call), "text"), api))
        half = Message("tool", (ToolResult("b", (Text("B"),)),))
        for rest in ((half,), (ask,), (half, ask)):
            text = json.dumps(assert_sent(Transcript((ask, call, *rest), "text"), api))
            assert text.count("never answered") == (1 if half in rest else 2)


def test_image_detail_is_asked_for():
    transcript = Transcript((Message("user", (Image("image/png", png(), detail="original"),)),), "text")
    assert request(transcript, "openai")["messages"][0]["content"][0]["image_url"]["detail"] == "original"
    assert request(transcript, "openai-responses")["input"][0]["content"][0]["detail"] == "original"


def test_unknown_api():
    for call in (request, lambda _transcript, api: check({}, api)):
        with pytest.raises(SnapshotError, match="known APIs: anthropic, openai, openai-responses, gemini"):
            call(Transcript((), "text"), "claude")
