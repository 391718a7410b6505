"""Lists that are read again: what was read before is the same, and what was changed in place is read anew."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import snapshot
from snapshot.errors import SnapshotError
from snapshot.messages import Transcript
from snapshot.transcripts import from_messages, loading
from snapshot.transcripts.continued import continued, forget, rows_of
from tests.conversations import conversations, long_conversation

KEYS = {"openai": "messages", "anthropic": "messages", "openai-responses": "input", "gemini": "contents"}
FORMS = (*KEYS, "langchain")


def items_of(transcript: Transcript, api: str) -> list[dict[str, Any]]:
    if api not in KEYS:
        return json.loads(snapshot.dump(transcript, api).data)
    return copy.deepcopy(snapshot.request(transcript, api)[KEYS[api]])


def told(read: Callable[[Any], Transcript], value: Any) -> object:
    """All that a reading says, byte for byte, or its error."""
    try:
        found = read(value)
    except SnapshotError as error:
        return type(error), str(error)
    odd = [one for one in found.diagnostics if one.kind != "harness-words"]
    return found.format, found.model, odd, [(repr(one), repr(one.raw), one.origin) for one in found.messages]


def placed(items: list[Any]) -> object:
    """The places that are remembered of a list; None where they are not."""
    try:
        return rows_of(continued(items))
    except SnapshotError:
        return None


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every place in plain data: container and key."""
    found: list[tuple[Any, Any]] = []
    inner = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in list(inner):
        found.append((value, key))
        if isinstance(item, dict | list):
            found += places(item)
    return found


LEAVES = ("word", "", 1, True, 1.0, 0, False, None, -0.0, 0.0, "1", [], {}, [{"type": "text", "text": "new"}])


def change(draw: Callable[..., Any], items: list[Any]) -> None:
    """One change in place, at any depth, of a kind that a host may make."""
    kind = draw(st.sampled_from(["leaf", "leaf", "edit", "drop", "turn", "like", "again", "key", "item"]))
    where = places(items)
    if not where:
        return
    holder, key = draw(st.sampled_from(where))
    value = holder[key]
    if kind == "leaf":
        holder[key] = copy.deepcopy(draw(st.sampled_from(LEAVES)))
    elif kind == "edit" and isinstance(value, str):
        holder[key] = value + " and more"
    elif kind == "drop":
        del holder[key]
    elif kind == "turn":  # the same, in another order
        if isinstance(holder, dict):
            holder[key] = holder.pop(key)
        else:
            holder.reverse()
    elif kind == "like":  # an equal one in its place
        holder[key] = copy.deepcopy(value)
    elif kind == "again":  # everything was parsed anew
        items[:] = json.loads(json.dumps(items))
    elif kind == "key" and isinstance(holder, dict):
        holder["cache_control"] = {"type": "ephemeral"}
    elif kind == "item":
        items.pop(draw(st.integers(0, len(items) - 1)))


@pytest.mark.parametrize("api", FORMS)
@given(st.data())
@settings(max_examples=25)
def test_a_list_that_grows_and_changes_reads_as_at_first_sight(api: str, data: st.DataObject):
    forget()
    whole = items_of(data.draw(conversations(most=14)), api)
    items: list[Any] = []
    for _ in range(data.draw(st.integers(1, 6))):
        step = data.draw(st.integers(0, 4))
        items += copy.deepcopy(whole[len(items) : len(items) + step])
        if data.draw(st.integers(0, 3)) == 0:
            change(data.draw, items)
        given_items = copy.deepcopy(items)
        assert told(continued, items) == told(from_messages, copy.deepcopy(items))
        known = placed(items)
        assert known is None or known == loading.with_rows(copy.deepcopy(items))[1]
        assert repr(items) == repr(given_items)


@pytest.mark.parametrize("api", ["openai", "anthropic", "openai-responses", "langchain"])
def test_what_is_known_is_the_same_object_and_only_the_end_is_read(api: str, monkeypatch: pytest.MonkeyPatch):
    forget()
    whole = items_of(long_conversation(40), api)
    items = whole[:60]
    before = continued(items)
    assert rows_of(before) == loading.with_rows(items)[1]
    read: list[int] = []
    plain = loading.plain
    monkeypatch.setattr(loading, "plain", lambda value: (read.append(len(value)), plain(value))[1])
    while len(items) < len(whole):
        items += whole[len(items) : len(items) + 2]
        after = continued(items)
        kept = len(before.messages) - 4
        assert all(one is other for one, other in zip(after.messages[:kept], before.messages, strict=False))
        before = after
    assert max(read) < 30
    del read[:]
    assert continued(items) is before or continued(items).messages is before.messages
    assert not read


def test_a_mark_that_moves_along_costs_only_the_end(monkeypatch: pytest.MonkeyPatch):
    """Hosts put their cache mark on the newest message, and take it from the one before."""
    forget()
    whole = items_of(long_conversation(40), "anthropic")
    items = whole[:60]
    continued(items)
    read: list[int] = []
    plain = loading.plain
    monkeypatch.setattr(loading, "plain", lambda value: (read.append(len(value)), plain(value))[1])
    marked: dict[str, Any] = {}
    while len(items) < len(whole):
        marked.pop("cache_control", None)
        items += whole[len(items) : len(items) + 2]
        marked = items[-1]
        marked["cache_control"] = {"type": "ephemeral"}
        assert told(continued, items) == told(from_messages, copy.deepcopy(items))
    assert sum(size < 30 for size in read) > len(read) // 2


def test_a_body_goes_on_as_a_list_does():
    forget()
    whole = items_of(long_conversation(12), "anthropic")
    for size in range(2, len(whole), 2):
        body = {"model": "claude-opus-4-8", "system": "Be brief.", "messages": whole[:size]}
        assert told(continued, body) == told(from_messages, body)
    changed = {"model": "claude-opus-4-8", "system": "Be long.", "messages": whole}
    assert told(continued, changed) == told(from_messages, changed)


def test_what_is_no_plain_data_gets_the_readers_own_words():
    forget()
    circle: list[Any] = [{"role": "user", "content": "a"}]
    circle[0]["content"] = circle
    for value in (circle, [{"role": "user", "content": object()}], [object()], [], "text", {"messages": 3}):
        for _ in range(2):
            assert told(continued, value) == told(from_messages, value)
