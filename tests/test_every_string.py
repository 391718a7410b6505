"""Readers of the APIs' messages: every string that somebody said is in what was read, wherever it stands."""

from __future__ import annotations

import copy
import itertools
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snapshot.messages import Transcript
from snapshot.source.source import source_of
from snapshot.transcripts import from_messages

SAID = "said-{}-here"


def marked(value: Any, numbers: Any) -> Any:
    """The value with a word of its own in place of each `?`."""
    if value == "?":
        return SAID.format(next(numbers))
    if isinstance(value, dict):
        return {key: marked(item, numbers) for key, item in value.items()}
    return [marked(item, numbers) for item in value] if isinstance(value, list) else value


RESULT = {
    "type": "tool_result",
    "tool_use_id": "toolu_1",
    "content": [{"type": "text", "text": "?"}, {"type": "odd", "x": "?"}],
}
BLOCKS = [
    {"type": "text", "text": "?"},
    {"type": "thinking", "thinking": "?", "signature": "c2ln"},
    {"type": "tool_use", "id": "toolu_1", "name": "run", "input": {"a": "?", "b": [{"c": "?"}]}},
    RESULT,
    {"type": "document", "title": "?", "source": {"type": "text", "data": "?"}, "context": "?"},
    {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "?"}},
    {"type": "never seen", "what": {"it": "?"}},
]
ROLES = ["user", "assistant", "system", "developer", "tool", "function", "critic"]
CHAT_KEYS = {
    "content": st.sampled_from(
        [
            "?",
            None,
            [{"type": "text", "text": "?"}],
            [{"type": "odd", "x": "?"}, {"type": "refusal", "refusal": "?"}],
        ]
    ),
    "tool_calls": st.sampled_from(
        [
            [{"id": "call_1", "type": "function", "function": {"name": "run", "arguments": '{"a": "?"}'}}],
            [{"id": "call_1", "type": "custom", "custom": {"name": "run", "input": "?"}}, {"odd": "?"}],
            "?",
        ]
    ),
    "function_call": st.just({"name": "run", "arguments": "?"}),
    "reasoning_content": st.just("?"),
    "refusal": st.just("?"),
    "audio": st.just({"transcript": "?"}),
}
# A message without any key that is known: part of a stream, say.
STRAY = st.builds(lambda role: {"role": role, "delta": {"content": "?"}}, st.sampled_from(ROLES))  # fmt: skip
PART_KEYS = {
    "text": st.just("?"),
    "functionCall": st.just({"name": "run", "args": {"a": "?"}}),
    "functionResponse": st.just({"name": "run", "response": {"output": "?", "more": ["?"]}}),
    "fileData": st.just({"mimeType": "text/plain", "fileUri": "?"}),
    "executableCode": st.just({"language": "PYTHON", "code": "?"}),
    "codeExecutionResult": st.just({"outcome": "OUTCOME_OK", "output": "?"}),
}
ITEMS = [
    {"role": "user", "content": [{"type": "input_text", "text": "?"}, {"type": "odd", "x": "?"}]},
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "?"}]},
    {"type": "message", "role": "tool", "content": "?"},
    {"role": "developer", "content": "?"},
    {"type": "reasoning", "summary": [{"text": "?"}], "content": [{"type": "reasoning_text", "text": "?"}]},
    {"type": "function_call", "call_id": "c1", "name": "run", "arguments": "?"},
    {"type": "function_call_output", "call_id": "c1", "output": [{"type": "input_text", "text": "?"}]},
    {"type": "function_call_output", "call_id": "nobody", "output": "?"},
    {"type": "custom_tool_call", "call_id": "c2", "name": "run", "input": "?"},
    {"type": "web_search_call", "id": "w", "action": {"query": "?"}},
    {"type": "never_seen", "x": "?"},
]  # fmt: skip


def messages_of(roles: list[str], key: str, values: Any) -> Any:
    """Strategy: messages of any of these roles, with what they say under `key`."""
    message = st.builds(lambda role, value: {"role": role, key: value}, st.sampled_from(roles), values)
    return st.lists(message | STRAY if key == "content" else message, min_size=1, max_size=5)


def blocks(of: list[Any]) -> Any:
    return st.lists(st.sampled_from(of), min_size=1, max_size=4)


CHAT = st.lists(
    st.builds(
        lambda role, body, ref: {"role": role, **body, **({"tool_call_id": ref} if ref else {})},
        st.sampled_from(ROLES),
        st.fixed_dictionaries({}, optional=CHAT_KEYS),
        st.sampled_from(["", "call_1", "nobody"]),
    )
    | STRAY,
    min_size=1, max_size=5,
)  # fmt: skip
# What is not known and stands beside words is about them (Google adds such keys); alone it says something.
UNKNOWN = st.just({"never_seen": {"x": "?"}})
PARTS = st.lists(st.fixed_dictionaries({}, optional=PART_KEYS) | UNKNOWN, min_size=1, max_size=4)
CONTENTS = messages_of(["user", "assistant", "system", "critic"], "content", blocks(BLOCKS) | st.just("?"))
BODIES = {
    "anthropic": CONTENTS.map(lambda said: {"messages": said}),
    "openai-chat": CHAT.map(lambda said: {"messages": said}),
    "openai-responses": blocks(ITEMS).map(lambda items: {"input": items}),
    "gemini": messages_of(["user", "model", "function", "critic"], "parts", PARTS).map(
        lambda said: {"contents": said}
    ),
}


@pytest.mark.parametrize("name", BODIES)
@given(data=st.data())
def test_every_string_is_read(name, data):
    body = marked(copy.deepcopy(data.draw(BODIES[name])), itertools.count(100))
    body.setdefault("model", "some-model")
    told = json.dumps(body)
    transcript = from_messages(body, format=name)
    assert isinstance(transcript, Transcript)
    text = source_of(transcript, reasoning=True).text
    there = repr(transcript.messages)
    for number in range(100, 100 + told.count("said-")):
        word = SAID.format(number)
        if word in told:
            assert word in there
            assert word in text, there
