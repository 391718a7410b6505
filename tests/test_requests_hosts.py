"""Requests as hosts send them: marks for the prompt cache, the system within the list, who speaks last."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import snapshot
from snapshot.compaction import compact
from snapshot.messages import Message, Text
from snapshot.models.ids import profile_for
from snapshot.requests import request
from snapshot.requests.cache_marks import CacheMark
from snapshot.requests.check import check
from tests.conftest import examples
from tests.conversations import WORDS, conversations, long_conversation

MODEL = "claude-opus-4-8"
MARK = {"type": "ephemeral"}


def steps(start: int, stop: int) -> list[dict[str, Any]]:
    """Steps of an agent's loop, each a call with its result."""
    found: list[dict[str, Any]] = []
    for n in range(start, stop):
        call = {"type": "tool_use", "id": f"call_{n}", "name": "Read", "input": {"path": f"file_{n}.py"}}
        output = "\n".join(f"    value_{n * 7919 + i} = {WORDS[i % len(WORDS)]}" for i in range(120))
        found += [
            {"role": "assistant", "content": [{"type": "text", "text": f"Step {n}."}, call]},
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": f"call_{n}", "content": output}],
            },
        ]
    return found


def body(count: int = 60) -> dict[str, Any]:
    """A body for Anthropic that has to be compacted into several pages."""
    ask = {"role": "user", "content": "Find out why the importer fails."}
    return {"system": [{"type": "text", "text": "Be brief."}], "messages": [ask, *steps(0, count)]}


def blocks(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        block for message in messages if isinstance(message["content"], list) for block in message["content"]
    ]


def marked(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [block for block in blocks(messages) if "cache_control" in block]


# --- marks for the prompt cache


def test_the_last_page_that_stays_is_marked():
    done = compact(body(), model=MODEL, window=40_000)
    assert done.archive is not None
    pages = len(done.archive.pages)
    assert pages > 2
    for messages in (done.request("anthropic")["messages"], done.splice()["messages"]):
        images = [block for block in blocks(messages) if block["type"] == "image"]
        assert [n for n, block in enumerate(images) if "cache_control" in block] == [pages - 2]
        assert marked(messages)[0]["cache_control"] == MARK
    assert not check(done.request("anthropic"), "anthropic")


def test_what_is_marked_is_in_the_next_compaction_to_the_byte():
    """Everything up to the mark stands in the next request as it stood: that is what a mark is for."""
    whole = body(90)
    first = compact(whole, model=MODEL, window=150_000)
    sent = first.request("anthropic")["messages"]
    grown = {**whole, "messages": [*whole["messages"], *steps(90, 130)]}
    second = compact(grown, model=MODEL, window=150_000, archive=first.archive)
    assert second.archive is not None
    assert not second.report.no_op
    again = second.request("anthropic")["messages"]
    until = blocks(sent).index(marked(sent)[0]) + 1
    plain = [{**block, "cache_control": None} for block in blocks(sent)[:until]]
    assert plain == [{**block, "cache_control": None} for block in blocks(again)[:until]]
    assert blocks(again).index(marked(again)[0]) >= until - 1


@pytest.mark.parametrize("model", ["gpt-5.5", "gemini-3-pro"])
def test_only_a_cache_with_marks_gets_one(model):
    done = compact(long_conversation(60, size=3000), model=model, window=40_000)
    assert not marked(done.request("anthropic")["messages"])


def test_marks_can_be_turned_off():
    done = compact(body(), model=MODEL, window=40_000, cache_marks=False)
    assert not marked(done.request("anthropic")["messages"])
    with pytest.raises(snapshot.SnapshotError, match="cache_marks"):
        compact(body(), model=MODEL, cache_marks=3)  # type: ignore[arg-type]


@settings(max_examples=examples(20), deadline=None)
@given(
    beside=st.sets(st.sampled_from(["system", "tools", "whole"])),
    tail=st.integers(0, 3),
    lifetime=st.sampled_from(["", "1h", "5m"]),
    listed=st.booleans(),
)
def test_never_more_than_the_provider_takes_and_never_the_callers(beside, tail, lifetime, listed):
    whole = body(45)
    mark = MARK | ({"ttl": lifetime} if lifetime else {})
    whole["tools"] = [{"name": "Read", "input_schema": {"type": "object"}}]
    if "system" in beside:
        whole["system"][0]["cache_control"] = mark
    if "tools" in beside:
        whole["tools"][0]["cache_control"] = mark
    if "whole" in beside:
        whole["cache_control"] = mark
    for message in whole["messages"][len(whole["messages"]) - tail :]:
        message["content"][-1]["cache_control"] = mark
    given_marks = len(beside) + tail
    done = compact(whole["messages"] if listed else whole, model=MODEL, window=40_000)
    messages = done.request("anthropic")["messages"]
    pages = [block for block in marked(messages) if block["type"] == "image"]
    assert len(marked(messages)) - len(pages) == tail
    seen = tail + 2 if listed else given_marks
    assert len(pages) == (1 if seen < 4 else 0)
    if not listed or len(beside) < 3:
        assert len(marked(messages)) + len(beside) <= max(4, given_marks)
    if pages and tail and lifetime == "1h":
        assert pages[0]["cache_control"] == {"type": "ephemeral", "ttl": "1h"}


def test_a_mark_for_a_page_that_is_not_there_is_none():
    messages = [{"role": "user", "content": [{"type": "text", "text": "lead"}]}]
    assert not CacheMark("lead", 0).on(messages)
    assert not marked(messages)


# --- the system within the list

TALK = [
    {"role": "user", "content": "Go."},
    {"role": "system", "content": "From now on, be brief."},
    {"role": "assistant", "content": "Yes."},
    {"role": "user", "content": "And now?"},
]


@pytest.mark.parametrize(
    "model", [MODEL, "claude-sonnet-5", "claude-opus-5-5", "sonnet", "bedrock/claude-opus-4-8"]
)
def test_the_system_keeps_its_place_where_the_model_takes_it(model):
    assert profile_for(model).midway_system
    done = compact(TALK, model=model)
    assert done.splice() is TALK
    assert done.request("anthropic") == {"messages": TALK}
    assert not check({"messages": TALK}, "anthropic", reader=profile_for(model))


@pytest.mark.parametrize("model", ["claude-opus-4-7", "claude-haiku-4-5", "somewhere/claude-opus-4-8"])
def test_the_system_is_the_users_where_the_model_does_not_take_it(model):
    reader = profile_for(model)
    assert not reader.midway_system
    sent = compact(TALK, model=model).request("anthropic")["messages"]
    assert [message["role"] for message in sent] == ["user", "assistant", "user"]
    assert sent[0]["content"][1]["text"] == "[system] From now on, be brief."
    assert "the system's" in check({"messages": TALK}, "anthropic", reader=reader)[0]


def test_the_system_keeps_its_place_in_a_compacted_request():
    whole = body()
    whole["messages"].insert(-2, {"role": "system", "content": "From now on, be brief."})
    done = compact(whole, model=MODEL, window=40_000)
    assert done.archive is not None
    assert done.archive.pages
    sent = done.request("anthropic")
    assert {"role": "system", "content": "From now on, be brief."} in sent["messages"]
    assert not check(sent, "anthropic", reader=profile_for(MODEL))


@settings(max_examples=examples(60))
@given(data=st.data())
def test_the_system_never_stands_where_it_is_refused(data):
    """Wherever the system speaks in a conversation, the request has it where the API takes it."""
    transcript = data.draw(conversations(most=8))
    messages = list(transcript.messages)
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(messages)))
        messages.insert(place, Message("system", (Text("Mind the gap."),)))
    sent = request(snapshot.Transcript(tuple(messages), "anthropic"), "anthropic", reader=profile_for(MODEL))
    assert [line for line in check(sent, "anthropic") if "system" in line] == []


@pytest.mark.parametrize(
    ("roles", "why"),
    [
        (["system", "user"], "does not stand between"),
        (["user", "assistant", "system"], "does not stand between"),
        (["user", "system", "user"], "does not stand between"),
        (["user", "system", "system", "assistant"], "does not stand between"),
    ],
)
def test_the_checker_knows_where_the_system_may_speak(roles, why):
    messages = [{"role": role, "content": "words"} for role in roles]
    assert any(why in line for line in check({"messages": messages}, "anthropic"))


# --- who speaks last


@pytest.mark.parametrize(
    ("model", "awaits"),
    [(MODEL, True), ("claude-opus-4-6", True), ("claude-haiku-4-5", False), ("gpt-5.5", False)],
)
def test_a_finished_conversation_says_that_the_user_is_next(model, awaits):
    done = compact(long_conversation(60, size=2000), model=model, window=40_000)
    assert done.awaits_user is awaits
    assert ("append the user's next message" in str(done.report)) is awaits
    # No words of the user are invented: what is sent ends as the conversation does.
    assert done.transcript.messages[-1] == long_conversation(60, size=2000).messages[-1]
    going_on = [*done.transcript.messages, Message("user", (Text("Next."),))]
    body = request(snapshot.Transcript(tuple(going_on), "anthropic"), "anthropic")
    assert not check(body, "anthropic", reader=profile_for(model))


def test_a_conversation_that_the_user_ends_awaits_nobody():
    assert not compact(TALK, model=MODEL).awaits_user


# --- Google's SDK


def test_arguments_for_googles_sdk():
    transcript = long_conversation(2)
    whole, arguments = request(transcript, "gemini"), request(transcript, "google-genai")
    assert arguments == {
        "contents": whole["contents"],
        "config": {"system_instruction": whole["systemInstruction"]},
    }
    assert not check(arguments, "google-genai")
    assert request(snapshot.Transcript((Message("user", (Text("Hi"),)),), "text"), "google-genai") == {
        "contents": [{"role": "user", "parts": [{"text": "Hi"}]}]
    }
    assert compact(transcript, model="gemini-3-pro").request("google-genai") == arguments
