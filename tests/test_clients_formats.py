"""What the writers make is valid by the packages whose formats they are."""

from __future__ import annotations

import json
from typing import Any

import pytest

from snapshot.messages import Image, Message, Reasoning, Text, ToolCall, ToolResult, Transcript, Usage
from snapshot.transcripts import dump, from_messages, load
from tests.conftest import HERE
from tests.test_transcripts_frameworks import PICTURE

pytestmark = [pytest.mark.clients, pytest.mark.filterwarnings("ignore")]

TALK = Transcript(
    (
        Message("system", (Text("Be brief."),)),
        Message("user", (Text("Look"), PICTURE, Image("image/png", source="https://example.org/a.png"))),
        Message(
            "assistant",
            (Reasoning("Hm.", "sig"), Text("I look."), ToolCall("c1", "read", '{"path":"a"}')),
            time="2026-12-01T01:00:00Z",
            usage=Usage(10, 3),
        ),
        Message("tool", (ToolResult("c1", (Text("no such"), PICTURE), True),)),
        Message("assistant", (Text("Done."),)),
    ),
    "hand-made",
    "claude-opus-4-8",
)


def test_pydantic_ai_validates_its_messages():
    adapter = pytest.importorskip("pydantic_ai").ModelMessagesTypeAdapter
    messages = adapter.validate_json(dump(TALK, "pydantic-ai").data)
    assert [message.kind for message in messages] == ["request", "request", "response", "request", "response"]
    back = from_messages(adapter.dump_python(messages, mode="json"))
    assert back.format == "pydantic-ai"
    assert [message.parts for message in back.messages] == [message.parts for message in TALK.messages]


def test_inspect_validates_its_messages():
    model = pytest.importorskip("inspect_ai.model")
    from pydantic import TypeAdapter

    kind: Any = list.__class_getitem__(model.ChatMessage)
    chat: Any = TypeAdapter(kind)
    messages = chat.validate_json(dump(TALK, "inspect-ai").data)
    assert [message.role for message in messages] == ["system", "user", "assistant", "tool", "assistant"]
    back = from_messages(chat.dump_python(messages, mode="json", exclude_none=True))
    assert back.format == "inspect-ai"
    assert back.messages[2].parts == TALK.messages[2].parts
    assert back.messages[3].parts == TALK.messages[3].parts


def test_langchain_loads_its_messages():
    messages = pytest.importorskip("langchain_core.messages")
    made = messages.messages_from_dict(json.loads(dump(TALK, "langchain").data))
    assert [message.type for message in made] == ["system", "human", "ai", "tool", "ai"]


@pytest.mark.parametrize("name", ["claude-stream", "hand-made"])
def test_atif_validates_its_trajectory(name):
    atif = pytest.importorskip("atif")
    plain = Transcript(tuple(m for m in TALK.messages if m.role != "tool"), "hand-made")
    transcript = load(HERE / "data" / "example.claude-stream.jsonl") if name == "claude-stream" else plain
    trajectory = atif.Trajectory.model_validate_json(dump(transcript, "atif").data)
    assert trajectory.steps
