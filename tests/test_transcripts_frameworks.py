"""Lists of messages as frameworks and services write them."""

from __future__ import annotations

from typing import Any

import pytest

from snapshot.messages import Image, Message, Opaque, Reasoning, Text, ToolCall, ToolResult, Usage
from snapshot.transcripts import detect, dump, from_messages, load
from snapshot.transcripts.writing.json_text import encoded
from tests.framework_documents import CONVERSE, DATA, INSPECT, PICTURE, PYDANTIC, SMOL, URL

THOUGHT = Reasoning("Hm.", "sig")
CALL = ToolCall("c1", "read", '{"path":"a"}')


def test_pydantic_ai():
    transcript = from_messages(PYDANTIC)
    assert (transcript.format, transcript.model, transcript.diagnostics) == (
        "pydantic-ai",
        "claude-opus-4-8",
        (),
    )
    assert transcript.messages == (
        Message("system", (Text("Be careful."),)),
        Message("system", (Text("Be brief."),)),
        Message("user", (Text("Look"), PICTURE)),
        Message(
            "assistant",
            (THOUGHT, Text("I look."), CALL, ToolCall("c2", "ls", '{"p": 1}')),
            time="2026-12-01T01:00:00Z",
            usage=Usage(10, 3),
        ),
        Message("tool", (ToolResult("c1", (Text('{"x":1}'),)), ToolResult("c2", (Text("no such"),), True))),
        Message("user", (Text("Go on"),)),
    )


def test_inspect_ai():
    transcript = from_messages(INSPECT)
    assert (transcript.format, transcript.model) == ("inspect-ai", "anthropic/claude-opus-4-8")
    assert transcript.diagnostics == ()
    assert [message.parts for message in transcript.messages] == [
        (Text("Be brief."),),
        (Text("Look"), PICTURE),
        (THOUGHT, Text("I look."), CALL),
        (ToolResult("c1", (Text("no such"),), True),),
    ]


def test_smolagents():
    transcript = from_messages(SMOL)
    assert (transcript.format, transcript.diagnostics) == ("smolagents", ())
    (asked,) = (part for part in transcript.messages[2].parts if isinstance(part, ToolCall))
    assert [message.parts for message in transcript.messages] == [
        (Text("Be brief."),),
        (Text("Look"), PICTURE),
        (Text("I look."), ToolCall(asked.id, "read", '{"path":"a"}')),
        (ToolResult(asked.id, (Text("text of a"),)),),
    ]


@pytest.mark.parametrize(
    "words", ["Calling tools:\n[", "Calling tools:\n[{}, {}]", "Calling tools:\n" + "[" * 9999, "Hm."]
)
def test_calls_of_smolagents_that_are_none_stay_words(words):
    talk = [*SMOL[:3], {"role": "tool-call", "content": words}, SMOL[4]]
    transcript = from_messages(talk)
    assert transcript.messages[2].parts == (Text("I look."), Text(words))
    assert transcript.messages[3] == Message("user", (Text("Observation:\ntext of a"),))


def test_converse():
    transcript = from_messages(CONVERSE)  # bytes, as boto3 has them
    assert (transcript.format, transcript.model) == ("bedrock", "anthropic.claude-opus-4-8")
    assert transcript.diagnostics == ()
    assert [(message.role, message.parts) for message in transcript.messages] == [
        ("system", (Text("Be brief."),)),
        ("user", (Text("Look"), PICTURE)),
        ("assistant", (THOUGHT, Text("I look."), CALL)),
        ("tool", (ToolResult("c1", (Text('{"x":1}'), Text("t")), True),)),
    ]


def test_images_of_ollama():
    talk = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Look", "images": [DATA, "/no.png"]},
    ]
    transcript = from_messages({"model": "llava", "messages": talk})
    assert transcript.messages[1].parts == (Text("Look"), PICTURE, Image("image/*", source="/no.png"))
    assert transcript.diagnostics == ()


def test_langchain_on_the_responses_api():
    content = [
        {
            "type": "reasoning",
            "summary": [{"type": "summary_text", "text": "Hm."}],
            "encrypted_content": "gAAAA",
        },
        {"type": "text", "text": "I look."},
        {"type": "function_call", "name": "read", "arguments": '{"path":"a"}', "call_id": "c1", "id": "fc_1"},
    ]
    calls = [{"name": "read", "args": {"path": "a"}, "id": "c1", "type": "tool_call"}]
    transcript = from_messages([{"type": "ai", "data": {"content": content, "tool_calls": calls}}])
    assert transcript.messages[0].parts == (Reasoning("Hm.", "gAAAA"), Text("I look."), CALL)
    assert {found.kind for found in transcript.diagnostics} == {"unfinished-turn"}


@pytest.mark.parametrize(
    ("name", "value"), [("pydantic-ai", PYDANTIC), ("inspect-ai", INSPECT), ("smolagents", SMOL)]
)
def test_a_file_is_detected(name, value):
    data = encoded(value, lines=False)
    assert next(iter(detect(data))).format == name
    assert load(data).messages == from_messages(value).messages


def said(kind: str, *parts: dict[str, Any]) -> dict[str, Any]:
    return {"kind": kind, "parts": list(parts)}


@pytest.mark.parametrize(
    "value",
    [
        [said("request", {"part_kind": "user-prompt", "content": 5}, {"part_kind": "new", "x": 1})],
        [said("response", {"part_kind": "new"}, {"part_kind": "file", "content": {"kind": "binary"}})],
        [
            said("request", {"part_kind": "tool-return", "content": [1, 2]}),
            said("request", {"part_kind": "x"}),
        ],
    ],
)
def test_what_nobody_knows_is_kept(value):
    transcript = from_messages(value, format="pydantic-ai")
    assert transcript.messages
    assert transcript.diagnostics


@pytest.mark.parametrize("format_name", ["pydantic-ai", "inspect-ai"])
def test_pages_go_into_a_framework_and_back(format_name):
    talk = [
        {
            "role": "user",
            "content": [{"type": "text", "text": "Look"}, {"type": "image_url", "image_url": {"url": URL}}],
        }
    ]
    dumped = dump(from_messages(talk), format_name)
    assert dumped.losses == ()
    assert load(dumped.data, format=format_name).messages == (Message("user", (Text("Look"), PICTURE)),)


def test_a_sealed_thought_of_converse_is_kept():
    talk = {
        "messages": [{"role": "assistant", "content": [{"reasoningContent": {"redactedContent": "abc"}}]}]
    }
    (part,) = from_messages(talk).messages[0].parts
    assert isinstance(part, Opaque)
    assert part.kind == "redacted_thinking"
