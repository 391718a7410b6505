"""Requests: no provider refuses what is written, and what came from an API goes back as it came."""

from __future__ import annotations

import base64
import copy
import json
import struct
from collections.abc import Callable
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
from tests.conftest import case

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
@settings(max_examples=120)
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
    assert not {o.kind for o in back.oddities} & {"orphan-result", "open-call", "unknown-part", "wrong-type"}
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


# --- the checker


def good(api: str) -> Json:
    """A request with two calls, their results and an image, that every provider accepts."""
    messages = (
        Message("system", (Text("rules"),)),
        Message("user", (Text("go"), Image("image/png", png(30, 20)))),
        Message("assistant", (Text("I do"), ToolCall("a", "f", "{}"), ToolCall("b", "g", "{}"))),
        Message("tool", (ToolResult("a", (Text("A"),)), ToolResult("b", (Text("B"),)))),
        Message("assistant", (Text("done"),)),
        Message("user", (Text("thanks"),)),
    )
    return request(Transcript(messages, "text"), api)


def blocks(body: Json, at: int) -> list[Json]:
    message = body[LISTS["gemini"] if "contents" in body else "messages"][at]
    return message.get("parts") or message["content"]


HI: Any = "hi"
Mutation = Callable[[Json], object]
ANTHROPIC: dict[str, Mutation] = {
    "no messages": lambda b: b["messages"].clear(),
    "is no object": lambda b: b["messages"].append(["hi"]),
    "has the role 'tool'": lambda b: b["messages"][0].update(role="tool"),
    "not the user's": lambda b: b["messages"].pop(0),
    "has no content": lambda b: b["messages"][-1].update(content=[]),
    "neither text nor a list": lambda b: b["messages"][-1].update(content=None),
    "no block": lambda b: blocks(b, 0).append(HI),
    "message 5 has a text without words": lambda b: blocks(b, 4)[0].update(text=" \n"),
    "system text has a text without words": lambda b: b.update(system=""),
    "image or document of role assistant": lambda b: blocks(b, 3).append(blocks(b, 0)[1]),
    "image or document of role system": lambda b: b.update(system=[blocks(b, 0)[1]]),
    "a call of role user": lambda b: blocks(b, 0).append(blocks(b, 1)[1]),
    "a result of role assistant": lambda b: blocks(b, 3).append(blocks(b, 2)[0]),
    "a call without a name": lambda b: blocks(b, 1)[1].update(name=""),
    "input is no object": lambda b: blocks(b, 1)[1].update(input="{}"),
    "call 'b' that the next one does not": lambda b: blocks(b, 2).pop(),
    "call 'x' is not in the one before": lambda b: blocks(b, 2)[0].update(tool_use_id="x"),
    "result behind other content": lambda b: blocks(b, 2).insert(0, {"type": "text", "text": "hm"}),
    "with the id 'a' of an earlier one": lambda b: blocks(b, 1)[2].update(id="a"),
    "result with the id 'b' of": lambda b: blocks(b, 2).append(blocks(b, 2)[1]),
    "without the id of a call": lambda b: blocks(b, 1)[1].update(id=None),
    "failed result without words": lambda b: blocks(b, 2)[0].update(content="", is_error=True),
    "without a signature": lambda b: blocks(b, 1).insert(0, {"type": "thinking", "thinking": "hm"}),
    "nothing but thinking": lambda b: b["messages"][3].update(
        content=[{"type": "redacted_thinking", "data": "x"}]
    ),
    "message 5 has a NUL": lambda b: blocks(b, 4)[0].update(text="a\0"),
    "half of a surrogate pair": lambda b: blocks(b, 1)[1]["input"].update({"\ud800": 1}),
    "number that JSON does not know": lambda b: blocks(b, 1)[1]["input"].update(a=float("nan")),
    "bytes, which is no JSON": lambda b: blocks(b, 1)[1]["input"].update(a=b""),
    "system has half of": lambda b: b.update(system="\udc00"),
}
OPENAI: dict[str, Mutation] = {
    "no messages": lambda b: b.pop("messages"),
    "has the role 'model'": lambda b: b["messages"][-1].update(role="model"),
    "image or document of role system": lambda b: b["messages"][0].update(content=[blocks(b, 1)[1]]),
    "something else than text": lambda b: b["messages"][3].update(content=[blocks(b, 1)[1]]),
    "neither text nor a list": lambda b: b["messages"][5].update(content=None),
    "call 'b' that is not answered with": lambda b: (
        b["messages"].pop(4),
        b["messages"].__delitem__(slice(4, None)),
    ),
    "call 'b' that is not answered before": lambda b: b["messages"].pop(4),
    "call 'x' is not directly before": lambda b: b["messages"][3].update(tool_call_id="x"),
    "not directly before": lambda b: b["messages"].append(b["messages"][4]),
    "not answered before message 4": lambda b: b["messages"].insert(3, {"role": "user", "content": "and"}),
    "id 'a' of an earlier one": lambda b: b["messages"][2]["tool_calls"][1].update(id="a"),
    "result without the id": lambda b: b["messages"][3].pop("tool_call_id"),
    "no list of calls": lambda b: b["messages"][2].update(tool_calls=[]),
    "a call that is none": lambda b: b["messages"][2]["tool_calls"].append({"id": "z"}),
    "arguments are no text": lambda b: b["messages"][2]["tool_calls"][0]["function"].update(arguments={}),
    "a call of role user": lambda b: b["messages"][2].update(role="user"),
}
RESPONSES: dict[str, Mutation] = {
    "no input": lambda b: b["input"].clear(),
    "has the role 'tool'": lambda b: b["input"][0].update(role="tool"),
    "image or document of role developer": lambda b: b["input"][0].update(
        content=[b["input"][1]["content"][1]]
    ),
    "call 'x' is not before it": lambda b: b["input"][5].update(call_id="x"),
    "output whose call 'a'": lambda b: b["input"].insert(2, b["input"].pop(5)),
    "call 'b' without an output": lambda b: b["input"].pop(6),
    "call with the id 'a' of": lambda b: b["input"][4].update(call_id="a"),
    "result with the id 'a' of": lambda b: b["input"].append(b["input"][5]),
    "2 items have the id 'fc_1'": lambda b: (
        b["input"][3].update(id="fc_1"),
        b["input"][4].update(id="fc_1"),
    ),
    "without the id of a call": lambda b: b["input"][5].pop("call_id"),
    "reasoning without the item": lambda b: b["input"].append(
        {"type": "reasoning", "id": "rs_1", "summary": []}
    ),
    "item 6 is reasoning": lambda b: b["input"].insert(5, {"type": "reasoning", "id": "rs_1", "summary": []}),
    "item 8 is reasoning": lambda b: b["input"].__setitem__(7, {"type": "reasoning", "id": "rs_1"}),
    "arguments are no text": lambda b: b["input"][3].update(arguments={}),
    "has no content": lambda b: b["input"][1].update(content=[]),
}
GEMINI: dict[str, Mutation] = {
    "no contents": lambda b: b["contents"].clear(),
    "has the role 'assistant'": lambda b: b["contents"][1].update(role="assistant"),
    "not the user's": lambda b: b["contents"].pop(0),
    "has no content": lambda b: b["contents"][-1].update(parts=[]),
    "part that is no object": lambda b: blocks(b, 0).append(HI),
    "a text without words": lambda b: blocks(b, 0)[0].update(text=""),
    "keys in snake_case": lambda b: blocks(b, 0).append({"inline_data": {}}),
    "1 responses to 2 calls": lambda b: blocks(b, 2).pop(),
    "0 responses to 2 calls": lambda b: b["contents"].pop(2),
    "2 responses to 0 calls": lambda b: b["contents"].pop(1),
    "other names": lambda b: blocks(b, 2)[0]["functionResponse"].update(name="h"),
    "other ids": lambda b: blocks(b, 2)[0]["functionResponse"].update(id="x"),
    "result behind other content": lambda b: blocks(b, 2).insert(0, {"text": "hm"}),
    "call with the id 'a' of": lambda b: blocks(b, 1)[2]["functionCall"].update(id="a"),
    "args are no object": lambda b: blocks(b, 1)[1]["functionCall"].update(args="{}"),
    "response that is no object": lambda b: blocks(b, 2)[0]["functionResponse"].update(response="A"),
    "image or document of role system": lambda b: b["systemInstruction"].update(parts=[blocks(b, 0)[1]]),
}
MUTATIONS = [
    pytest.param(api, says, mutate, id=f"{api}: {says}")
    for api, some in zip(APIS, (ANTHROPIC, OPENAI, RESPONSES, GEMINI), strict=True)
    for says, mutate in some.items()
]


@pytest.mark.parametrize(("api", "says", "mutate"), MUTATIONS)
def test_each_violation_is_told(api, says, mutate):
    body = copy.deepcopy(good(api))
    assert check(body, api) == []
    mutate(body)
    assert any(says in sentence for sentence in check(body, api)), check(body, api)


def test_gemini_images_of_the_model_stay_the_models():
    """An image that the model drew may go back where it stood."""
    body = good("gemini")
    blocks(body, 3).append(blocks(body, 0)[1])
    assert check(body, "gemini") == []


def with_images(*sizes: tuple[int, int]) -> Json:
    parts = tuple(Image("image/png", png(*size)) for size in sizes)
    return request(Transcript((Message("user", parts),), "text"), "anthropic")


@pytest.mark.parametrize(
    ("body", "limits", "says"),
    [
        (with_images(*[(9, 9)] * 3), {"images_per_request": 2}, "3 images, and 2 are allowed"),
        (with_images((8001, 9)), {"max_side": 8000}, "message 1 has an image of 8001x9 pixels"),
        (with_images((2001, 2001), *[(9, 9)] * 20), {"max_side": 8000, "max_side_many": 2000}, "2000 a side"),
        (with_images((210, 10)), {"max_aspect": 20}, "sides of 20:1"),
        (with_images((9, 9)), {"image_bytes": 55}, "of 56 bytes of base64, and 55"),
        (with_images((9, 9)), {"request_bytes": 100}, "bytes, and 100 are allowed"),
    ],
)
def test_limits(body, limits, says):
    found = check(body, "anthropic", limits=limits)
    assert len(found) == 1
    assert says in found[0]
    assert check(body, "anthropic") == []
    assert check(body, "anthropic", limits={key: value + 10_000 for key, value in limits.items()}) == []


def test_twenty_images_may_be_large():
    limits = {"max_side": 8000, "max_side_many": 2000}
    assert check(with_images(*[(8000, 9)] * 20), "anthropic", limits=limits) == []
    assert check(with_images(*[(2000, 9)] * 21), "anthropic", limits=limits) == []
    documents = with_images(*[(2001, 9)] * 20)
    documents["messages"][0]["content"].append(
        {"type": "document", "source": {"type": "url", "url": "https://e"}}
    )
    assert len(check(documents, "anthropic", limits=limits)) == 20


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "WEBP", "lossless"])
def test_sizes_of_all_image_types(kind):
    from io import BytesIO

    from PIL import Image as Pillow

    data = BytesIO()
    picture = Pillow.new("RGB", (301, 17), "red")
    if kind == "lossless":
        picture.save(data, "WEBP", lossless=True)
    else:
        picture.save(data, kind)
    source = {"type": "base64", "media_type": "image/png", "data": base64.b64encode(data.getvalue()).decode()}
    body = {"messages": [{"role": "user", "content": [{"type": "image", "source": source}]}]}
    assert "301x17" in check(body, "anthropic", limits={"max_side": 300})[0]
    assert check(body, "anthropic", limits={"max_side": 301}) == []
