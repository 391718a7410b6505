"""What single APIs refuse, and what harnesses hold: sent as the API takes it, where it can be as it came."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from typing import Any

import pytest

from snapshot.compaction import compact
from snapshot.errors import TranscriptError
from snapshot.messages import Message, Reasoning, Text, ToolCall, ToolResult, Transcript
from snapshot.requests import APIS, request
from snapshot.requests.check import check
from snapshot.transcripts import from_messages
from tests.conftest import case

Json = dict[str, Any]
GO: Json = {"role": "user", "content": "go"}
FORMATS = {"openai": "openai-chat"}
LISTS = {"anthropic": "messages", "openai": "messages", "openai-responses": "input", "gemini": "contents"}


def sent(body: Any, api: str) -> list[Json]:
    """What goes to `api`, which accepts it."""
    made = request(from_messages(body, format=FORMATS.get(api, api)), api)
    assert check(made, api) == []
    json.dumps(made, allow_nan=False).encode()
    return made[LISTS[api]]


# --- arguments


ARGUMENTS = [
    (None, {}), ({}, {}), ({"a": 1}, {"a": 1}), ([1, 2], {"input": [1, 2]}), (7, {"input": 7}), (" \n", {}),
    (True, {"input": True}),
]  # fmt: skip


@pytest.mark.parametrize(("given", "wanted"), ARGUMENTS)
@pytest.mark.parametrize("api", APIS)
def test_arguments_that_are_no_text(given, wanted, api):
    """A harness's null, list, number or object becomes the text of an object."""
    function = {"name": "f", "arguments": given}
    chat = [
        GO,
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c", "type": "function", "function": function}],
        },
        {"role": "tool", "tool_call_id": "c", "content": "ok"},
    ]
    items = [
        GO,
        {"type": "function_call", "call_id": "c", "name": "f", "arguments": given},
        {"type": "function_call_output", "call_id": "c", "output": "ok"},
    ]
    for body, own in ((chat, "openai-chat"), (items, "openai-responses")):
        made = request(from_messages(body, format=own), api)
        assert check(made, api) == []
        text = json.dumps(made)
        if api == "openai":
            call = made["messages"][1]["tool_calls"][0]["function"]
        elif api == "openai-responses":
            call = made["input"][1]
        else:
            assert json.dumps(wanted) in text
            continue
        assert isinstance(call["arguments"], str)
        if own == "openai-chat" and api == "openai" and isinstance(given, str):
            assert call["arguments"] == given, "as it came"
        elif own == api and isinstance(given, str):
            assert call["arguments"] == given
        else:
            assert json.loads(call["arguments"]) == wanted


@pytest.mark.parametrize("text", ["{x", '{"a": NaN}', "[1]", '{"a":1,"a":2}', '{"a": 1e400}'])
def test_arguments_as_the_model_wrote_them(text):
    """Text goes back as it came; for others it is JSON, with nothing of it lost."""
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": text}}
    chat = [GO, {"role": "assistant", "content": None, "tool_calls": [call]}]
    transcript = from_messages(chat)
    assert request(transcript, "openai")["messages"] == chat
    for api in APIS:
        body = request(transcript, api)
        assert check(body, api) == []
        json.dumps(body, allow_nan=False)
    block = request(transcript, "anthropic")["messages"][1]["content"][0]["input"]
    if text in ("{x", '{"a": NaN}', '{"a":1,"a":2}'):
        assert block == {"input": text}
    items = request(transcript, "openai-responses")["input"]
    assert json.loads(items[1]["arguments"], parse_constant=pytest.fail)


# --- ids


def test_items_that_come_twice():
    """Responses: the second of two with one id goes out without ids."""
    reasoning = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "c2Vh"}
    call = {"type": "function_call", "id": "fc_1", "call_id": "c", "name": "f", "arguments": "{}"}
    output = {"type": "function_call_output", "call_id": "c", "output": "one"}
    again = {**output, "output": "two"}
    items = sent([GO, reasoning, call, output, reasoning, call, again], "openai-responses")
    ids = [item["id"] for item in items if "id" in item]
    assert ids == ["rs_1", "fc_1"]
    assert [item["output"] for item in items if "output" in item] == ["one", "two"]
    message = {
        "type": "message",
        "id": "msg_1",
        "role": "assistant",
        "content": [{"type": "output_text", "text": "a"}],
    }
    items = sent([GO, message, GO, message, GO], "openai-responses")
    assert [item.get("id") for item in items] == [None, "msg_1", None, None, None]


# --- thinking, citations


THOUGHT: Json = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
USE: Json = {"type": "tool_use", "id": "t", "name": "f", "input": {}}
RESULT: Json = {"type": "tool_result", "tool_use_id": "t", "content": "ok"}


@pytest.mark.parametrize(
    "content",
    [
        [{"type": "text", "text": "a"}, THOUGHT],
        [THOUGHT, USE, THOUGHT],
        [THOUGHT, USE, {"type": "redacted_thinking", "data": "eHg="}],
        [THOUGHT],
        [THOUGHT, THOUGHT],
    ],
)
def test_no_turn_ends_in_thinking(content):
    body = [GO, {"role": "assistant", "content": content}]
    if len(content) > 1 and content[0] is not content[1]:
        assert any("ends in thinking" in sentence for sentence in check({"messages": body}, "anthropic"))
    rest = [{"role": "user", "content": [RESULT]}] if USE in content else [GO]
    messages = sent([*body, *rest], "anthropic")
    for message in messages:
        if message["role"] == "assistant":
            assert "thinking" not in message["content"][-1]["type"]
    if USE in content:
        assert messages[1]["content"] == [THOUGHT, USE], "what leads to a call stays untouched"


def test_two_messages_that_become_one():
    """The first may end in thinking, if the second goes on."""
    first = {"role": "assistant", "content": [{"type": "text", "text": "a"}, THOUGHT]}
    messages = sent(
        [GO, first, {"role": "assistant", "content": [USE]}, {"role": "user", "content": [RESULT]}],
        "anthropic",
    )
    assert messages[1]["content"] == [*first["content"], USE]


def test_citations_of_documents_that_are_gone():
    """They name documents by number: without the document they are refused, with it they stay."""
    place = {
        "type": "char_location",
        "cited_text": "x",
        "document_index": 0,
        "start_char_index": 0,
        "end_char_index": 1,
    }
    cited = {"role": "assistant", "content": [{"type": "text", "text": "says x", "citations": [place]}]}
    source = {"type": "text", "media_type": "text/plain", "data": "x"}
    asked = {
        "role": "user",
        "content": [{"type": "document", "source": source}, {"type": "text", "text": "?"}],
    }
    assert sent([asked, cited, GO], "anthropic")[1] == cited
    alone = sent([GO, cited, GO], "anthropic")[1]
    assert alone == {"role": "assistant", "content": [{"type": "text", "text": "says x"}]}


# --- no-ops


EMPTY: dict[str, list[Json]] = {
    "openai": [
        GO,
        {"role": "assistant", "content": None, "tool_calls": [
            {"id": "c", "type": "function", "function": {"name": "f", "arguments": ""}},
        ]},
        {"role": "tool", "tool_call_id": "c", "content": ""},
        {"role": "assistant", "content": "done"},
        GO,
    ],
    "openai-responses": [
        GO,
        {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c", "output": ""},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "done"}]},
        GO,
    ],
    "anthropic": [
        GO,
        {"role": "assistant", "content": [USE]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t"}]},
        {"role": "assistant", "content": "done"},
        GO,
    ],
    "gemini": [
        {"role": "user", "parts": [{"text": "go"}]},
        {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}}}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {}}}]},
        {"role": "model", "parts": [{"text": "done"}]},
        {"role": "user", "parts": [{"text": "go"}]},
    ],
}  # fmt: skip


@pytest.mark.parametrize("api", APIS)
def test_a_no_op_changes_no_empty_result(api):
    body = copy.deepcopy(EMPTY[api])
    model = {"anthropic": "claude-opus-4-8", "gemini": "gemini-3.8-flash"}.get(api, "gpt-5.6-sol")
    done = compact(body, model=model, window=100_000)
    assert done.report.no_op
    assert done.request(api)[LISTS[api]] == EMPTY[api]
    other = replace(done.transcript, messages=tuple(replace(m, raw=()) for m in done.transcript.messages))
    assert "(no output)" in json.dumps(request(other, api))


@pytest.mark.parametrize("api", APIS)
def test_a_result_without_content_says_so(api):
    """OpenAI takes "" and no null; nobody takes a result that is not there."""
    chat = copy.deepcopy(EMPTY["openai"])
    chat[2]["content"] = None
    assert "(no output)" in json.dumps(sent_from(chat, api))


def sent_from(chat: list[Json], api: str) -> Json:
    body = request(from_messages(chat, format="openai-chat"), api)
    assert check(body, api) == []
    return body


# --- what the SDKs give


def test_anthropics_own_objects():
    types = pytest.importorskip("anthropic.types")
    message = types.Message.model_validate({
        "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-opus-4-8",
        "stop_reason": "tool_use", "stop_sequence": None, "usage": {"input_tokens": 50, "output_tokens": 7},
        "content": [THOUGHT, {"type": "text", "text": "hi"}, {**USE, "input": {"a": [1, None]}}],
    })  # fmt: skip
    wanted = [THOUGHT, {"type": "text", "text": "hi"}, {**USE, "input": {"a": [1, None]}}]
    rest = {"role": "user", "content": [RESULT]}
    for held in (
        message,
        {"role": "assistant", "content": message.content},
        {"role": "assistant", "content": [*message.content]},
    ):
        messages = sent([GO, held, rest], "anthropic")
        assert messages[1] == {"role": "assistant", "content": wanted}
    assert from_messages([GO, message]).messages[1].usage is not None
    assert compact([GO, message, rest], model="claude-opus-4-8", window=100_000).report.no_op


def test_openais_own_objects():
    chat = pytest.importorskip("openai.types.chat")
    responses = pytest.importorskip("openai.types.responses")
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    raw = {"role": "assistant", "content": None, "tool_calls": [call]}
    message = chat.ChatCompletionMessage.model_validate(raw)
    rest = {"role": "tool", "tool_call_id": "c", "content": "ok"}
    assert sent([GO, message, rest], "openai")[1] == raw
    assert sent({"messages": [GO, message, rest]}, "openai")[1] == raw
    item = {
        "type": "function_call",
        "call_id": "c",
        "name": "f",
        "arguments": "{}",
        "id": "fc_1",
        "status": "completed",
    }
    made = responses.ResponseFunctionToolCall.model_validate(item)
    output = {"type": "function_call_output", "call_id": "c", "output": "ok"}
    assert sent([GO, made, output], "openai-responses")[1] == item


def test_objects_of_other_libraries():
    """Whatever has `model_dump` is taken; whatever has not is one clear line."""

    class Held:
        def model_dump(self) -> Json:
            return {"role": "user", "content": ("a", b"b")}

    assert from_messages([Held(), {"role": "assistant", "content": "ok"}]).messages[0].role == "user"
    with pytest.raises(TranscriptError, match=r"messages\[1\]\['content'\] is a object: give plain"):
        from_messages([GO, {"role": "user", "content": object()}])
    with pytest.raises(TranscriptError, match="is a type"):
        from_messages([GO, {"role": "user", "content": Held}])


# --- cases


def test_parallel_calls_keep_their_batch():
    """Case 011: the text behind the results stays behind them, failures stay failures, in every API."""
    body = json.loads((case("011") / "input.json").read_text(encoding="utf-8"))
    transcript = from_messages(body)
    failed = sum(p.is_error for m in transcript.messages for p in m.parts if isinstance(p, ToolResult))
    for api in APIS:
        text = json.dumps(request(transcript, api))
        marks = {"anthropic": '"is_error": true', "gemini": '"error":'}.get(api, "[error] ")
        assert text.count(marks) == failed > 0


CALLS: dict[str, list[Json]] = {
    "anthropic": [
        {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": None, "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "x"}]},
    ],
    "openai": [
        {
            "role": "assistant",
            "tool_calls": [
                {"id": "a", "type": "function", "function": {"name": None, "arguments": "{}"}},
            ],
        },
        {"role": "tool", "tool_call_id": "a", "content": "x"},
    ],
    "openai-responses": [
        {"type": "function_call", "call_id": "a", "name": None, "arguments": "{}"},
        {"type": "function_call_output", "call_id": "a", "output": "x"},
    ],
    "gemini": [
        {"role": "model", "parts": [{"functionCall": {"name": None, "args": {}}}]},
        {"role": "user", "parts": [{"functionResponse": {"name": None, "response": {"output": "x"}}}]},
    ],
}


@pytest.mark.parametrize("api", APIS)
def test_a_call_without_a_name_gets_one(api):
    start = {"role": "user", "parts": [{"text": "go"}]} if api == "gemini" else GO
    assert check({LISTS[api]: [start, *CALLS[api]]}, api)
    assert '"name": null' not in json.dumps(sent([start, *CALLS[api]], api))


def test_an_answer_in_audio_is_sent_by_its_id():
    """A list of user and assistant alone is known for OpenAI's by it, and the message has nothing else."""
    body = [GO, {"role": "assistant", "content": None, "audio": {"id": "audio_1"}}, GO]
    assert from_messages(body).format == "openai-chat"
    assert sent(body, "openai") == body
    assert "audio_1" in json.dumps(request(from_messages(body), "anthropic"))


def test_orphans_are_dropped_and_counted():
    """Case 012."""
    transcript = from_messages(json.loads((case("012") / "input.json").read_text(encoding="utf-8")))
    told = [d for d in transcript.diagnostics if d.kind == "orphan-result"]
    assert sum(1 + d.where.count(",") for d in told) == 3
    assert "message 2" in " ".join(d.where for d in told)
    text = json.dumps(request(transcript, "openai"))
    assert "call_gone_17" not in text
    assert "call_zz" not in text


@pytest.mark.parametrize("api", APIS)
def test_thoughts_and_calls_of_others_stay_words_or_go(api):
    """A thought without words leaves no message behind."""
    messages = (
        Message("user", (Text("go"),)),
        Message("assistant", (Reasoning("", "c2ln"),)),
        Message("assistant", (Reasoning("hm"), ToolCall("a", "f", "{}"))),
        Message("tool", (ToolResult("a", ()),)),
        Message("user", (Reasoning("whose?"), Text("on"))),
    )
    body = request(Transcript(messages, "text"), api)
    assert check(body, api) == []
    assert "whose?" in json.dumps(body)


# --- blank words, images under a wrong type


JPEG = "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAAgGBgcGBQgHBwcJCQgKDBQNDAsLDBkSEw8U"


def image_of(api: str) -> Json:
    """A JPEG that is said to be a PNG."""
    url = f"data:image/png;base64,{JPEG}"
    return {
        "anthropic": {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": JPEG}},
        "openai": {"type": "image_url", "image_url": {"url": url}},
        "openai-responses": {"type": "input_image", "image_url": url},
        "gemini": {"inlineData": {"mimeType": "image/png", "data": JPEG}},
    }[api]


def message_of(api: str, *parts: Json) -> Json:
    return {"role": "user", ("parts" if api == "gemini" else "content"): list(parts)}


@pytest.mark.parametrize("api", APIS)
def test_images_are_sent_as_what_they_are(api):
    body = {LISTS[api]: [message_of(api, image_of(api))]}
    assert check(body, api) == [
        f"{NOUN.get(api, 'message')} 1 has an image that is no image/png, as it is said to be"
    ]
    text = json.dumps(sent(body, api))
    assert "image/jpeg" in text
    assert JPEG in text


NOUN = {"openai-responses": "item", "gemini": "content"}
INVISIBLE = ["", " \n\t", "\u200b\u2060", "\ufeff", "\u3164 \u2800", "\u202e\u202c"]


@pytest.mark.parametrize("text", INVISIBLE)
@pytest.mark.parametrize("api", APIS)
def test_words_that_nobody_sees(text, api):
    """They are no message, and a result of them has no output."""
    words = (
        {"text": text}
        if api == "gemini"
        else {"type": "input_text" if "resp" in api else "text", "text": text}
    )
    whole = {"text": "go"} if api == "gemini" else {**words, "text": "go"}
    body = {LISTS[api]: [message_of(api, whole), message_of(api, words), message_of(api, whole, words)]}
    messages = sent(body, api)
    assert len(json.dumps(messages).split('"go"')) == 3
    assert not text or json.dumps(text)[1:-1] not in json.dumps(messages) or api.startswith("openai")
    call = Message("assistant", (ToolCall("a", "f", "{}"),))
    result = Message("tool", (ToolResult("a", (Text(text),)),))
    transcript = Transcript((Message("user", (Text("go"),)), call, result), "text")
    assert "(no output)" in json.dumps(request(transcript, api))
