"""A host's own list after a compaction: what is kept is its own, what changed is said, nothing else moves."""

from __future__ import annotations

import base64
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import snapshot
from snapshot.compaction import Compaction, compact
from snapshot.errors import CannotFit, SnapshotError, SummarizerRequired
from snapshot.messages import Message, Text, Transcript
from snapshot.requests import APIS, LISTED, request
from snapshot.requests.check import check
from tests.conftest import examples
from tests.conversations import conversations, long_conversation, png

MODELS = {
    "anthropic": "claude-opus-4-8",
    "openai": "gpt-5.5",
    "openai-responses": "gpt-5.6-sol",
    "gemini": "gemini-3-pro",
}


class Own(dict[str, Any]):
    """A host's message: a dictionary that knows who made it."""


def listed(transcript: Transcript, api: str) -> list[Any]:
    """A transcript as a host's list of messages."""
    return [Own(item) for item in request(transcript, api)[LISTED[api]]]


def applied(own: list[Any], done: Compaction) -> list[Any]:
    """The list with the edits applied by hand, messages as they are."""
    result = list(own)
    for edit in reversed(done.edits):
        result[edit.start : edit.stop] = edit.messages
    return result


def words(messages: list[Any], api: str) -> dict[str, Any]:
    """What a list says, written anew."""
    transcript = snapshot.from_messages({LISTED[api]: messages} if messages else [])
    plain = [Message(m.role, m.parts, origin=m.origin) for m in transcript.messages]
    return request(Transcript(tuple(plain), transcript.format), api)


@pytest.mark.parametrize("api", APIS)
@settings(max_examples=examples(15))
@given(data=st.data())
def test_what_is_kept_is_the_hosts_own(api, data):
    own = listed(data.draw(conversations(most=30)), api)
    window = data.draw(st.sampled_from([3_000, 6_000, 12_000, 200_000]))
    trigger = data.draw(st.sampled_from(["target", "manual"]))
    try:
        done = compact(own, model=MODELS[api], window=window, digest=True, trigger=trigger)
    except (CannotFit, SummarizerRequired):
        return
    spliced = done.splice()
    kept, edits = done.kept, done.edits
    assert list(kept) == sorted(set(kept))
    assert done.unchanged == (spliced is own) == (not edits)
    assert [edit.start for edit in edits] == sorted(edit.start for edit in edits)
    inside = [place for edit in edits for place in range(edit.start, edit.stop)]
    assert sorted([*kept, *inside]) == list(range(len(own)))
    # No two edits touch: they would be one.
    assert all(one.stop < other.start for one, other in pairwise(edits))
    assert [item for item in spliced if isinstance(item, Own)] == [own[place] for place in kept]
    assert all(any(item is own[place] for item in spliced) for place in kept)
    by_hand = applied(own, done)
    assert [item for item in by_hand if isinstance(item, Own)] == [own[place] for place in kept]
    assert tuple(item for item in by_hand if isinstance(item, Message)) == done.new


@pytest.mark.parametrize("api", APIS)
@settings(max_examples=examples(15))
@given(data=st.data())
def test_a_spliced_list_says_what_is_sent(api, data):
    own = listed(data.draw(conversations(most=30, orphans=False)), api)
    window = data.draw(st.sampled_from([6_000, 12_000]))
    try:
        done = compact(own, model=MODELS[api], window=window, digest=True, cache_marks=False)
    except (CannotFit, SummarizerRequired):
        return
    spliced = done.splice()
    assert not check({LISTED[api]: spliced}, api)
    said, sent = words(spliced, api), words(done.request(api)[LISTED[api]], api)
    assert said == sent


@pytest.mark.parametrize("api", APIS)
def test_the_archive_is_one_edit_and_the_next_compaction_takes_the_spliced_list(api):
    own = listed(long_conversation(60, size=2000), api)
    first = compact(own, model=MODELS[api], window=30_000)
    assert len(first.edits) <= 2  # the middle; a system message is in front of it in some APIs
    spliced = first.splice()
    again = compact(spliced, model=MODELS[api], window=30_000, archive=first.archive)
    assert again.unchanged
    assert again.splice() is spliced
    assert again.request(api) == {LISTED[api]: spliced}
    whole = compact(own, model=MODELS[api], window=30_000, archive=first.archive)
    assert not whole.unchanged
    assert whole.splice() == spliced


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("kind", [list, tuple, dict])
def test_nothing_to_do_gives_the_callers_own(api, kind):
    own: Any = listed(long_conversation(3), api)
    own = {LISTED[api]: own, "model": "m", "tools": []} if kind is dict else kind(own)
    done = compact(own, model=MODELS[api])
    assert done.unchanged
    assert done.splice() is own
    assert done.edits == done.new == ()
    assert done.request(api) == {LISTED[api]: list(own[LISTED[api]] if kind is dict else own)}


def test_nothing_to_do_gives_a_transcript_back():
    transcript = long_conversation(3)
    done = compact(transcript, model=MODELS["anthropic"])
    assert done.splice() is transcript
    assert done.transcript is transcript
    assert done.kept == tuple(range(len(transcript.messages)))


def test_a_transcripts_messages_are_kept_by_place():
    transcript = long_conversation(60, size=2000)
    done = compact(transcript, model=MODELS["anthropic"], window=30_000)
    (edit,) = done.edits
    assert done.splice() is done.transcript
    there = transcript.messages
    assert done.transcript.messages == (*there[: edit.start], *edit.messages, *there[edit.stop :])


def test_a_body_keeps_what_stands_beside_the_messages():
    body = request(long_conversation(60, size=2000), "anthropic") | {
        "model": "m",
        "tools": [{"name": "Read"}],
    }
    done = compact(body, model=MODELS["anthropic"], window=30_000)
    spliced = done.splice()
    assert {key: spliced[key] for key in ("system", "model", "tools")} == {
        key: body[key] for key in ("system", "model", "tools")
    }
    assert spliced["system"] is body["system"]
    assert len(spliced["messages"]) < len(body["messages"])
    assert body["messages"] is not spliced["messages"]


def test_a_host_makes_its_own_objects():
    own = [("mine", item) for item in listed(long_conversation(60, size=2000), "openai")]
    done = compact([item for _, item in own], model=MODELS["openai"], window=30_000)
    spliced = done.splice(own, make=lambda new: [("new", item) for item in new])
    assert {who for who, _ in spliced} == {"mine", "new"}
    assert [item for who, item in spliced if who == "mine"] == [own[place][1] for place in done.kept]
    with pytest.raises(SnapshotError, match="the list has 3 messages"):
        done.splice(own[:3])
    # What came while the list was compacted stays behind it.
    assert done.splice([*own, "newest"], make=lambda new: [("new", item) for item in new]) == [
        *spliced,
        "newest",
    ]


def test_a_message_that_had_to_change_is_not_kept():
    """A paste in the newest message becomes pages in its place: it is replaced, and its neighbours stay."""
    own = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "\n".join(f"{n}: value_{n * 7919}" for n in range(9000))},
    ]
    done = compact(own, model=MODELS["openai"], window=60_000)
    (edit,) = done.edits
    assert (edit.start, edit.stop) == (1, 2)
    assert done.kept == (0,)
    assert done.splice()[0] is own[0]
    assert any(block["type"] == "image_url" for block in done.splice()[1]["content"])


def test_a_changed_batch_of_results_answers_the_hosts_own_calls():
    """Ids that an API would not take are the host's own: results are given back under them."""
    odd = "chatcmpl-tool-0123456789abcdef0123456789abcdef:7"
    call = {"id": odd, "type": "function", "function": {"name": "Read", "arguments": "{}"}}
    own = [
        {"role": "user", "content": "Read it."},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": odd, "content": "\n".join(f"{n}: {n * 7919}" for n in range(9000))},
    ]
    done = compact(own, model=MODELS["openai"], window=60_000)
    spliced = done.splice()
    assert done.kept[:2] == (0, 1)
    assert spliced[2]["tool_call_id"] == odd
    assert not check({"messages": spliced}, "openai")


def test_a_draft_is_new():
    own = listed(long_conversation(2), "openai")
    done = compact(own, model=MODELS["openai"], draft=[{"role": "user", "content": "And now?"}])
    assert done.kept == tuple(range(len(own)))
    assert done.new == (Message("user", (Text("And now?"),)),)
    assert done.splice()[-1] == {"role": "user", "content": "And now?"}


def test_without_pages_splices_the_same_list():
    own = listed(long_conversation(60, size=2000), "anthropic")
    done = compact(own, model=MODELS["anthropic"], window=30_000).without_pages()
    assert done.kept
    assert "image" not in {
        block.get("type") for item in done.splice() for block in item["content"] if isinstance(block, dict)
    }


def test_an_image_of_the_host_that_is_dropped_is_replaced():
    picture = {
        "type": "image_url",
        "image_url": {"url": "data:image/png;base64," + base64.b64encode(png(32, 16)).decode()},
    }
    own = [
        {"role": "user", "content": [{"type": "text", "text": "See"}, picture]},
        {"role": "assistant", "content": "I see."},
        {"role": "user", "content": "Go on."},
    ]
    blind = compact(own, model="gpt-oss-120b", window=100_000)
    assert blind.kept == (1, 2)
    # Of a model that is not known nobody can say that it sees nothing.
    unknown = compact(own, model="my-own-model", window=100_000)
    assert unknown.splice() is own
    assert "nothing is known" in str(unknown.report)
