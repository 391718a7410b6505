"""A request with nothing to do is checked by what is new, and is what a first look would give."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import snapshot
from benchmarks.bench_compact import as_dictionaries, run_of
from snapshot.compaction.history import forget
from snapshot.requests import _flatten, accepted, check
from snapshot.requests.accepted import Accepted
from snapshot.transcripts.io.json_values import _plain, plain

MODEL = "claude-opus-4-8"

_IDS = st.sampled_from(["a", "b", "c", "d", "e", ""])


def _chat() -> st.SearchStrategy[dict[str, Any]]:
    def call(name: str) -> dict[str, Any]:
        return {"id": name, "type": "function", "function": {"name": "f", "arguments": "{}"}}

    return st.one_of(
        st.sampled_from(["user", "assistant", "system"]).map(lambda role: {"role": role, "content": "x"}),
        st.lists(_IDS, min_size=1, max_size=2).map(
            lambda ids: {"role": "assistant", "content": None, "tool_calls": list(map(call, ids))}
        ),
        _IDS.map(lambda name: {"role": "tool", "tool_call_id": name, "content": "done"}),
        st.just({"role": "assistant", "content": None}),
        st.just({"role": "tool", "tool_call_id": "a", "content": [{"type": "image_url"}]}),
        st.just({"role": "user", "content": "\0"}),
    )


def _anthropic() -> st.SearchStrategy[dict[str, Any]]:
    block = st.one_of(
        st.sampled_from(
            [
                {"type": "text", "text": "x"},
                {"type": "text", "text": " "},
                {"type": "thinking", "thinking": "x", "signature": "s"},
                {"type": "thinking", "thinking": "x"},
                {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}},
                {"type": "web_search_tool_result", "tool_use_id": "s1", "content": []},
            ]
        ),
        _IDS.map(lambda name: {"type": "tool_use", "id": name, "name": "f", "input": {}}),
        _IDS.map(lambda name: {"type": "tool_result", "tool_use_id": name, "content": "done"}),
    )
    roles = st.sampled_from(["user", "assistant", "system"])
    return st.builds(
        lambda role, blocks: {"role": role, "content": blocks}, roles, st.lists(block, max_size=3)
    )


def _responses() -> st.SearchStrategy[dict[str, Any]]:
    return st.one_of(
        st.sampled_from(["user", "assistant"]).map(lambda role: {"role": role, "content": "x"}),
        st.builds(
            lambda name, item: {
                "type": "function_call", "call_id": name, "id": item, "name": "f", "arguments": "{}",
            },
            _IDS, _IDS,
        ),
        _IDS.map(lambda name: {"type": "function_call_output", "call_id": name, "output": "done"}),
        _IDS.map(lambda item: {"type": "reasoning", "id": item, "encrypted_content": "x", "summary": []}),
    )  # fmt: skip


def _gemini() -> st.SearchStrategy[dict[str, Any]]:
    part = st.one_of(
        st.just({"text": "x"}),
        _IDS.map(lambda name: {"functionCall": {"id": name, "name": "f", "args": {}}}),
        _IDS.map(lambda name: {"functionResponse": {"id": name, "name": "f", "response": {}}}),
    )
    roles = st.sampled_from(["user", "model"])
    return st.builds(lambda role, parts: {"role": role, "parts": parts}, roles, st.lists(part, max_size=2))


_MESSAGES = {
    "openai": _chat(), "anthropic": _anthropic(), "openai-responses": _responses(), "gemini": _gemini(),
}  # fmt: skip


def _first(api: str) -> dict[str, Any]:
    """The user's first words."""
    said = {"parts": [{"text": "x"}]} if api == "gemini" else {"content": "x"}
    return {"role": "user", **said}


def _turn(api: str, name: str) -> list[dict[str, Any]]:
    """A call and its result as the API takes them."""
    if api == "anthropic":
        return [
            {"role": "assistant", "content": [{"type": "tool_use", "id": name, "name": "f", "input": {}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": name, "content": "done"}]},
        ]
    if api == "openai-responses":
        return [
            {"type": "function_call", "call_id": name, "name": "f", "arguments": "{}"},
            {"type": "function_call_output", "call_id": name, "output": "done"},
        ]
    if api == "gemini":
        return [
            {"role": "model", "parts": [{"functionCall": {"id": name, "name": "f", "args": {}}}]},
            {"role": "user", "parts": [{"functionResponse": {"id": name, "name": "f", "response": {}}}]},
        ]
    call = {"id": name, "type": "function", "function": {"name": "f", "arguments": "{}"}}
    return [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": name, "content": "done"},
    ]


@pytest.mark.parametrize("api", _MESSAGES)
@given(data=st.data())
def test_what_is_known_of_a_beginning_never_changes_the_verdict(api: str, data: st.DataObject):
    """Of lists that grow, mostly as they should, whose ends change, and that repeat ids or answer late."""
    messages: list[Any] = [_first(api)]
    known = Accepted(api)
    name = _flatten.LISTS[api]
    late: list[Any] = []
    for number in range(data.draw(st.integers(2, 9))):
        kind = data.draw(st.sampled_from(["turn", "turn", "same", "call", "late", "any", "shorter"]))
        more: list[Any] = []
        if kind in ("turn", "same"):
            more = _turn(api, "t0" if kind == "same" else f"t{number}")
        elif kind == "call":
            call, result = _turn(api, f"c{number}")
            more, late = [call], [*late, result]
        elif kind == "late":
            more, late = late[:1], late[1:]
        elif kind == "any":
            more = data.draw(st.lists(_MESSAGES[api], max_size=2))
        else:  # never what is known: `continued` would drop it
            messages = messages[: data.draw(st.integers(max(1, known.count), len(messages)))]
        longer = [*messages, *more]
        fine = not check.check({name: longer}, api)
        assert known.accepts(longer, {}) == fine
        assert known.count <= len(longer)
        if fine:
            messages = longer


def test_a_beginning_ends_where_every_call_has_its_result():
    """An output may stand behind another call: what is known may not end between a call and its output."""

    def call(name: str) -> dict[str, Any]:
        return {"type": "function_call", "call_id": name, "name": "f", "arguments": "{}"}

    def output(name: str) -> dict[str, Any]:
        return {"type": "function_call_output", "call_id": name, "output": "done"}

    start = [{"role": "user", "content": "x"}, call("a"), call("b"), output("a"), call("c")]
    known = Accepted("openai-responses")
    assert known.accepts([*start, output("b"), output("c")], {})
    assert not known.accepts([*start, output("c")], {})


@pytest.mark.parametrize("api", _MESSAGES)
def test_of_every_api_only_the_end_is_looked_at(api: str):
    messages = [_first(api), *(message for number in range(9) for message in _turn(api, f"t{number}"))]
    known = Accepted(api)
    for stop in range(3, len(messages) + 1, 2):
        assert known.accepts(messages[:stop], {})
        assert known.count == max(1, stop - 2)


def _requested(messages: list[Any], api: str) -> dict[str, Any]:
    done = snapshot.compact(messages, model=MODEL, window=1 << 40)
    assert done.report.no_op
    return done.request(api)


def _damaged(messages: list[Any], at: int, how: int) -> None:
    message = messages[at]
    if how == 0:
        message["content"] = "\0"
    elif how == 1:
        message["role"] = "nobody"
    elif how == 2:
        message["note"] = {"of": ["the", "host"]}
    elif how == 3 and "tool_calls" in message:
        message["tool_calls"][0]["id"] = "another"
    elif how == 4:
        messages[at] = {"role": "user", "content": "Another one."}
    else:
        del messages[at]


@given(st.lists(st.tuples(st.integers(1, 60), st.integers(0, 5)), max_size=3), st.integers(1, 5))
def test_a_list_that_was_changed_in_place_is_checked_again(changes: list[tuple[int, int]], turns: int):
    """Between `compact` and `request`, and between calls, at any depth."""
    messages = as_dictionaries(run_of(40 + turns))
    forget()
    _requested(messages[: 30 + turns], "openai")
    _requested(messages, "openai")
    done = snapshot.compact(messages, model=MODEL, window=1 << 40)
    for at, how in changes:
        _damaged(messages, min(at, len(messages) - 1), how)
    found = done.request("openai")
    again = _requested(messages, "openai")
    forget()
    assert again == _requested(messages, "openai")
    anew = as_dictionaries(run_of(40 + turns))
    forget()
    done = snapshot.compact(anew, model=MODEL, window=1 << 40)
    forget()
    for at, how in changes:
        _damaged(anew, min(at, len(anew) - 1), how)
    assert found == done.request("openai")


def test_a_request_with_nothing_to_do_looks_at_what_is_new(monkeypatch: pytest.MonkeyPatch):
    looks: Counter[str] = Counter()
    whole = _flatten.pieces_of

    def counted(body: dict[str, Any], api: str) -> list[_flatten.Piece]:
        looks["pieces"] += len(body[_flatten.LISTS[api]])
        return whole(body, api)

    monkeypatch.setattr(check, "pieces_of", counted)
    monkeypatch.setattr(accepted, "pieces_of", counted)
    messages = as_dictionaries(run_of(420))
    forget()
    _requested(messages[:401], "openai")
    assert looks["pieces"] >= 401
    for stop in (401, 403, 405, 405):
        looks.clear()
        assert _requested(messages[:stop], "openai") == {"messages": messages[:stop]}
        assert 0 < looks["pieces"] <= 12


def test_a_body_is_a_copy_of_the_callers_list():
    messages = as_dictionaries(run_of(9))
    body = _requested(messages, "openai")
    body["messages"][1]["tool_calls"][0]["id"] = "another"
    assert messages[1]["tool_calls"][0]["id"] == "c0"


_LEAVES = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(), st.binary(max_size=4)
)
_VALUES = st.recursive(
    _LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.tuples(inner, inner),
        st.dictionaries(st.one_of(st.text(max_size=3), st.integers(0, 3)), inner, max_size=3),
    ),
    max_leaves=12,
)  # fmt: skip


@given(_VALUES)
def test_the_quick_copy_is_that_of_any_value(value: Any):
    assert repr(plain(value)) == repr(_plain(value, ""))
