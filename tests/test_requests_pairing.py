"""Calls and results find each other wherever they stand, and nothing real is replaced by "no result"."""

from __future__ import annotations

import copy
import json
import re
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import snapshot
from snapshot.compaction import compact
from snapshot.compaction.boundaries import Boundaries, groups, repair
from snapshot.messages import Message, Opaque, Part, Text, ToolCall, ToolResult, Transcript
from snapshot.requests import APIS, LISTED, call_ids, request
from snapshot.requests.check import check
from snapshot.requests.tool_pairing import NO_RESULT, OpenCalls, arrange, mended, pair, torn
from snapshot.transcripts import from_messages
from tests.conftest import case, examples

VISION = "claude-opus-4-8"
OWN = {
    "anthropic": "anthropic",
    "openai": "openai-chat",
    "openai-responses": "openai-responses",
    "gemini": "gemini",
}


def user(text: str) -> Message:
    return Message("user", (Text(text),))


def calls(*ids: str, words: str = "") -> Message:
    made = tuple(ToolCall(call_id, "f", json.dumps({"n": n})) for n, call_id in enumerate(ids))
    return Message("assistant", ((Text(words),) if words else ()) + made)


def results(*pairs: tuple[str, str]) -> Message:
    return Message("tool", tuple(ToolResult(call_id, (Text(text),)) for call_id, text in pairs))


def said(messages: tuple[Message, ...]) -> list[str]:
    """Role and texts, calls by their id, results by id and text."""
    found: list[str] = []
    for message in messages:
        for part in message.parts:
            match part:
                case Text(text):
                    found.append(f"{message.role}: {text}")
                case ToolCall(call_id):
                    found.append(f"call {call_id}")
                case ToolResult(call_id, content):
                    texts = "".join(item.text for item in content if isinstance(item, Text))
                    found.append(f"result {call_id}: {texts}")
                case _:
                    found.append("other")
    return found


# --- one law for all who pair


IDS = st.sampled_from(["", "a", "b", "c"])
COUNTER = st.integers(0, 10**9)


@st.composite
def conversations(draw: st.DrawFn) -> tuple[Message, ...]:
    """Calls whose results come late, in another order, with words between them, under ids used again."""
    messages: list[Message] = [user("begin")]
    waiting: list[str] = []
    serial = 0
    for _ in range(draw(st.integers(1, 8))):
        what = draw(st.sampled_from(["calls", "results", "results", "words", "reply"]))
        if what == "calls":
            ids = draw(st.lists(st.sampled_from(["a", "b", "c"]), min_size=1, max_size=3))
            messages.append(calls(*ids, words=draw(st.sampled_from(["", "I look."]))))
            waiting += ids
        elif what == "results" and waiting:
            count = draw(st.integers(1, len(waiting)))
            taken = draw(st.permutations(range(len(waiting))))[:count]
            made = []
            for index in sorted(taken):
                serial += 1
                made.append((waiting[index], f"out{serial}"))
            waiting = [call_id for index, call_id in enumerate(waiting) if index not in taken]
            messages.append(results(*made))
        else:
            messages.append(user("more") if what == "words" else Message("assistant", (Text("ok"),)))
    return tuple(messages)


@given(messages=conversations())
def test_every_result_with_a_call_before_it_is_kept(messages):
    """As many results as there are calls for them stay, each behind a call that was made with its id."""
    given_ = [part.content[0].text for m in messages for part in m.parts if isinstance(part, ToolResult)]  # type: ignore[union-attr]
    repaired, repairs = repair(messages)
    assert not repairs.orphans, "each result was made for a call that waits"
    kept = [line.partition(": ")[2] for line in said(repaired) if line.startswith("result ")]
    assert Counter(text for text in kept if text != NO_RESULT) == Counter(given_)
    for group in groups(repaired):
        made = Counter(
            p.id for m in repaired[group.start : group.stop] for p in m.parts if isinstance(p, ToolCall)
        )
        answered = Counter(
            p.call_id
            for m in repaired[group.start : group.stop]
            for p in m.parts
            if isinstance(p, ToolResult)
        )
        assert group.open or made == answered
        assert max(made.values(), default=1) == 1, "an id is used once"
    texts = [line for line in said(messages) if ": " in line and not line.startswith("result")]
    assert [line for line in said(repaired) if ": " in line and not line.startswith("result")] == texts
    assert repair(repaired)[0] == repaired, "what was repaired needs nothing"


@pytest.mark.parametrize("api", APIS)
@settings(max_examples=examples(40))
@given(messages=conversations())
def test_requests_keep_every_result(api, messages):
    body = request(Transcript(messages, "text"), api)
    assert check(body, api) == []
    text = json.dumps(body)
    for message in messages:
        for part in message.parts:
            if isinstance(part, ToolResult):
                assert re.search(rf"\b{part.content[0].text}\b", text)  # type: ignore[union-attr]


@given(messages=conversations())
def test_pairs_are_the_same_for_all(messages):
    """The pairs, the repaired conversation, the reader's diagnostics and the steps of requests agree."""
    pairs = pair(message.parts for message in messages)
    assert len(set(pairs.answers.values())) == len(pairs.answers)
    for call, result in pairs.answers.items():
        assert call < result
        made, answer = messages[call[0]].parts[call[1]], messages[result[0]].parts[result[1]]
        assert isinstance(made, ToolCall)
        assert isinstance(answer, ToolResult)
        assert made.id == answer.call_id
    batches, orphans = arrange(messages)
    assert len(orphans) == len(pairs.orphans)
    assert sum(len(batch.missing) for batch in batches) == len(pairs.unanswered)
    body = request(Transcript(messages, "text"), "openai")
    read = from_messages(body, format="openai-chat")
    assert not {d.kind for d in read.diagnostics} & {"orphan-result", "repeated-id"}


@given(messages=conversations())
def test_the_quick_look_agrees_with_the_careful_one(messages):
    from unittest.mock import patch

    for conversation in (messages, repair(messages)[0]):
        quick = repair(conversation)
        with patch.object(Boundaries, "sound", new=False):
            assert repair(conversation) == quick


# --- the public faults, as their classes


def test_words_between_the_results_of_a_batch():
    messages = (
        user("go"),
        calls("a", "b"),
        results(("b", "B")),
        user("hurry"),
        results(("a", "A")),
        user("on"),
    )
    repaired, repairs = repair(messages)
    assert said(repaired) == [
        "user: go", "call a", "call b", "result b: B", "result a: A", "user: hurry", "user: on",
    ]  # fmt: skip
    assert repairs.unanswered == 0
    assert not repairs.orphans
    assert [id(m) for m in repaired[2:4]] == [id(messages[2]), id(messages[4])], "the same objects"


def test_results_behind_later_messages():
    messages = (
        user("go"), calls("a"), user("?"), Message("assistant", (Text("wait"),)), results(("a", "A")),
        user("on"),
    )  # fmt: skip
    assert said(repair(messages)[0])[1:4] == ["call a", "result a: A", "user: ?"]


@pytest.mark.parametrize(
    ("messages", "found"),
    [
        ((calls("x"), results(("x", "1")), calls("x"), results(("x", "2"))), ["x: 1", "x_2: 2"]),
        ((calls("x", "x"), results(("x", "1"), ("x", "2"))), ["x: 1", "x_2: 2"]),
        ((calls("x"), user("no"), calls("x"), results(("x", "2"))), [f"x: {NO_RESULT}", "x_2: 2"]),
        ((calls("x"), calls("x"), results(("x", "1"), ("x", "2"))), ["x: 1", "x_2: 2"]),
        ((calls("", ""), results(("", "1"), ("", "2"))), ["call_2: 1", "call_3: 2"]),
    ],
)
def test_equal_ids_are_told_apart_by_order(messages, found):
    repaired, repairs = repair((user("go"), *messages, user("end")))
    assert [line[7:] for line in said(repaired) if line.startswith("result")] == found
    assert not repairs.orphans


def test_a_second_result_is_an_orphan():
    """Case 012: the first one counts."""
    repaired, repairs = repair((user("go"), calls("a"), results(("a", "1")), user("x"), results(("a", "2"))))
    assert [r.content for r in repairs.orphans] == [(Text("2"),)]
    assert "result a: 1" in said(repaired)


@pytest.mark.parametrize("window", [50_000, 200_000])
def test_a_no_op_keeps_real_results(window):
    chat: list[dict[str, Any]] = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": None, "tool_calls": [
            {"id": name, "type": "function", "function": {"name": "f", "arguments": "{}"}} for name in "ab"
        ]},
        {"role": "tool", "tool_call_id": "a", "content": "first"},
        {"role": "user", "content": "and?"},
        {"role": "tool", "tool_call_id": "b", "content": "second"},
        {"role": "assistant", "content": "done"},
        {"role": "user", "content": "thanks"},
    ]  # fmt: skip
    done = compact(chat, model="gpt-5.6-sol", window=window)
    assert done.report.no_op
    sent = done.request("openai")["messages"]
    assert check({"messages": sent}, "openai") == []
    assert [m["content"] for m in sent] == ["go", None, "first", "second", "and?", "done", "thanks"]


def test_misplaced_calls_take_their_results_along():
    """A call in the user's name is words, and so is what it gave."""
    messages = (Message("user", (ToolCall("a", "f", "{}"),)), results(("a", "RESULT")), user("on"))
    for api in APIS:
        body = request(Transcript(messages, "text"), api)
        assert check(body, api) == []
        assert "RESULT" in json.dumps(body)


def test_one_wording():
    """Nowhere else in the package is it said that there is no result, or no output."""
    package = Path(snapshot.__file__).parent
    wording = re.compile(r"=\s*\"\((no result|no output)")
    found = [path.name for path in package.rglob("*.py") for _ in wording.finditer(path.read_text("utf-8"))]
    assert found == ["tool_pairing.py"] * 2


def test_open_calls_along_a_path():
    state = OpenCalls.after([user("go"), calls("a", "b")])
    assert state.take(results(("a", "1"), ("z", "?"))) == [
        ("orphan-result", "a result of call 'z', which is not open")
    ]
    assert dict(state.open) == {"b": 1}
    assert [p.call_id for p in state.closing().parts if isinstance(p, ToolResult)] == ["b"]
    assert [kind for kind, _ in state.take(user("x"))] == ["open-call"]


def test_growth_is_linear():
    """One id over and over, most of it without a result: ten times as much takes ten times as long."""

    def seconds(count: int) -> float:
        parts: list[tuple[Part, ...]] = [
            (ToolCall("x", "f", ""),) * 2 if n % 3 else (ToolResult("x", ()),) for n in range(count)
        ]
        parts[:0] = [(ToolCall("x", "f", ""),) * count, (ToolResult("x", ()),) * 2]
        start = time.process_time()
        pair(parts)
        return time.process_time() - start

    assert min(seconds(20_000) for _ in range(3)) < 40 * min(seconds(2_000) for _ in range(3)) + 0.05


# --- tools that the provider runs


def provider_call(call_id: str, kind: str = "server_tool_use") -> Opaque:
    return Opaque(
        kind, json.dumps({"type": kind, "id": call_id, "name": "web_search", "input": {"query": "q"}})
    )


def provider_result(call_id: str, kind: str = "web_search_tool_result") -> Opaque:
    found = [
        {"type": "web_search_result", "title": "T", "url": "https://e.org", "encrypted_content": "Zm9v" * 50}
    ]
    return Opaque(kind, json.dumps({"type": kind, "tool_use_id": call_id, "content": found}))


@pytest.mark.parametrize(
    ("parts", "last", "half"),
    [
        ((provider_call("s"), provider_result("s")), False, set()),
        ((provider_call("s"), Text("x"), provider_result("s")), False, set()),
        ((provider_result("s"),), False, {0}),
        ((provider_result("s"), provider_call("s")), False, {0, 1}),
        ((provider_call("s"), provider_result("t")), False, {0, 1}),
        ((Text("x"), provider_call("s")), False, {1}),
        ((Text("x"), provider_call("s")), True, set()),
        ((provider_call("s"), Text("x")), True, {0}),
        ((Opaque("executableCode", "{}"), Opaque("codeExecutionResult", "{}")), False, set()),
        ((Opaque("codeExecutionResult", "{}"),), False, {0}),
        ((provider_call("m", "mcp_tool_use"), provider_result("m", "mcp_tool_result")), False, set()),
    ],
)
def test_torn_pairs(parts: tuple[Part, ...], last: bool, half: set[int]):
    message = Message("assistant", parts)
    assert torn([message], last=last - 1).get(0, frozenset()) == half
    changed, count = mended(message, half)
    assert count == len(half)
    assert (changed is message) == (not half)
    assert not torn([changed], last=last - 1)


TOOL = {"type": "tool_use", "id": "toolu_1", "name": "query", "input": {}}
CODE = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "code_execution", "input": {"code": "query()"}}
RAN = {
    "type": "code_execution_tool_result",
    "tool_use_id": "srvtoolu_1",
    "content": {
        "type": "code_execution_result", "stdout": "7", "stderr": "", "return_code": 0, "content": [],
    },
}  # fmt: skip


@pytest.mark.parametrize("steps", [2, 4, 5, 6])
def test_code_that_calls_a_tool_of_the_callers_goes_on_in_the_next_message(steps):
    """Its call and its result stand in two messages, with calls and results between; it may still run."""
    called = {"type": "code_execution_20250825", "tool_id": "srvtoolu_1"}
    text = {"type": "text", "text": "Seven."}
    talk = [
        {"role": "user", "content": "How many?"},
        {"role": "assistant", "content": [CODE, {**TOOL, "caller": called}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "3"}]},
        {"role": "assistant", "content": [{**TOOL, "id": "toolu_2", "caller": called}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_2", "content": "4"}]},
        {"role": "assistant", "content": [RAN, text]},
        {"role": "user", "content": "Thanks."},
    ]
    body = {"messages": talk[: steps + 1]}
    assert check(body, "anthropic") == []
    assert request(from_messages(body), "anthropic") == body
    assert not repair(from_messages(body).messages)[1].halves
    cut = {"messages": [talk[0], *talk[3:]]}
    assert len(check(cut, "anthropic")) == 1
    assert check(request(from_messages(cut), "anthropic"), "anthropic") == []
    left = {"messages": [*talk[:3], {"role": "assistant", "content": [text]}, talk[-1]]}
    assert len(check(left, "anthropic")) == 1
    assert check(request(from_messages(left), "anthropic"), "anthropic") == []


def whole() -> dict[str, Any]:
    return json.loads((case("037") / "whole.json").read_text(encoding="utf-8"))


def orphans() -> dict[str, Any]:
    return json.loads((case("037") / "orphans.json").read_text(encoding="utf-8"))


def test_provider_tools_go_back_whole():
    """Case 037."""
    body = whole()
    assert check(body, "anthropic") == []
    assert request(from_messages(body), "anthropic")["messages"] == body["messages"]
    rebuilt = from_messages(body)
    bare = replace(rebuilt, messages=tuple(replace(m, raw=()) for m in rebuilt.messages))
    assert check(request(bare, "anthropic"), "anthropic") == []


def test_torn_provider_tools_are_words():
    body = orphans()
    wrong = check(body, "anthropic")
    assert len(wrong) == 2
    assert "srvtoolu_2" in wrong[0]
    assert "srvtoolu_9" in wrong[1]
    sent = request(from_messages(body), "anthropic")
    assert check(sent, "anthropic") == []
    text = json.dumps(sent)
    assert "Upgrade after the freeze." in text
    assert "freeze end" in text
    assert 'server_tool_use",' not in text
    repaired, repairs = repair(from_messages(body).messages)
    assert repairs.halves == 2
    assert check(request(Transcript(repaired, "anthropic"), "anthropic"), "anthropic") == []


@pytest.mark.parametrize("api", ["openai", "openai-responses", "gemini"])
def test_provider_tools_in_words_for_others(api):
    text = json.dumps(request(from_messages(whole()), api), ensure_ascii=False)
    assert "memory leak release notes" in text
    assert "Release notes 4.2" in text
    assert "https://example.org/4.2" in text
    assert "encrypted_content" not in text
    assert "Rk9P" not in text
    assert '\\"type\\"' not in text


def test_what_is_encrypted_costs_nothing():
    """The estimate does not grow with it; a page has a mark with its size."""
    short, long = whole(), whole()
    block = long["messages"][1]["content"][1]["content"][0]
    block["encrypted_content"] *= 40
    one, other = (compact(body, model=VISION, window=100_000) for body in (short, long))
    assert one.report.before == other.report.before
    from snapshot.source.source import source_of

    source = source_of(from_messages(long))
    assert "Rk9P" not in source.text
    assert f"encrypted_content, {len(block['encrypted_content'])} bytes" in source.text
    assert "Release notes 4.2" in source.text
    assert '{"' not in source.text


def test_kinds_of_parts_that_other_apis_do_not_know_are_readable():
    """Code of one service in the words of another: no JSON."""
    code = Opaque("executableCode", json.dumps({"language": "PYTHON", "code": "print(31)"}))
    result = Opaque("codeExecutionResult", json.dumps({"outcome": "OUTCOME_OK", "output": "31"}))
    transcript = Transcript((user("go"), Message("assistant", (code, result))), "gemini")
    for api in ("anthropic", "openai"):
        text = json.dumps(request(transcript, api))
        assert "print(31)" in text
        assert "OUTCOME_OK" in text
        assert '\\"code\\"' not in text
    assert check(request(transcript, "gemini"), "gemini") == []


def _with_equal_ids(api: str) -> dict[str, Any]:
    """Two turns whose calls have the same id, or none where the API takes that, with what only the API's own
    form holds."""
    match api:
        case "gemini":
            call = {"functionCall": {"name": "f", "args": {"id": "c"}}, "thoughtSignature": "c2ln"}
            answer = {"functionResponse": {"name": "f", "response": {"output": "o"}}}
            turn = [{"role": "model", "parts": [call]}, {"role": "user", "parts": [answer]}]
            return {"contents": [{"role": "user", "parts": [{"text": "q"}]}, *turn, *copy.deepcopy(turn)]}
        case "anthropic":
            used = {"type": "tool_use", "id": "c", "name": "f", "input": {"id": "c"}, "only_here": 1}
            answered = {"type": "tool_result", "tool_use_id": "c", "content": "o", "only_here": 2}
            turn = [{"role": "assistant", "content": [used]}, {"role": "user", "content": [answered]}]
            return {"messages": [{"role": "user", "content": "q"}, *turn, *copy.deepcopy(turn)]}
        case "openai":
            asked = {"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"id": "c"}'}}
            turn = [
                {"role": "assistant", "content": None, "tool_calls": [asked], "only_here": 1},
                {"role": "tool", "tool_call_id": "c", "content": "o", "only_here": 2},
            ]
            return {"messages": [{"role": "user", "content": "q"}, *turn, *copy.deepcopy(turn)]}
        case _:
            turn = [
                {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}", "only_here": 1},
                {"type": "function_call_output", "call_id": "c", "output": "o", "only_here": 2},
            ]
            return {"input": [{"role": "user", "content": "q"}, *turn, *copy.deepcopy(turn)]}


def _without_ids(value: Any) -> Any:
    """Messages of an API without the ids of calls, but for those in arguments."""
    if isinstance(value, list):
        return [_without_ids(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key: item if key in ("args", "input") else _without_ids(item)
        for key, item in value.items()
        if key not in ("id", "call_id", "tool_call_id", "tool_use_id")
    }


@pytest.mark.parametrize("api", APIS)
def test_equal_ids_change_nothing_but_ids(api):
    given = _with_equal_ids(api)
    before = copy.deepcopy(given)
    read = from_messages(given)
    for messages in (read.messages, repair(read.messages)[0]):
        sent = request(replace(read, messages=messages), api)
        key = LISTED[api]
        assert _without_ids(sent[key]) == _without_ids(given[key])
        assert not check(sent, api)
        assert len(set(call_ids(sent[key], api))) == (1 if api == "gemini" else 2)
    assert given == before


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("order", [(0, 1), (1, 0), (0, 0, 1), (1, 1, 0)])
def test_a_call_that_runs_at_the_end_is_the_last_thing_there(api, order):
    """A provider's own call of another API becomes words, and no call of this one runs behind words."""
    bodies = (
        ("server_tool_use", {"type": "server_tool_use", "name": "web_search", "input": {}}),
        ("executableCode", {"executableCode": {"code": "1", "language": "PYTHON"}}),
    )
    parts = tuple(
        Opaque(bodies[which][0], json.dumps(bodies[which][1] | ({} if which else {"id": f"s{number}"})))
        for number, which in enumerate(order)
    )
    conversation = Transcript((Message("user", (Text("Look."),)), Message("assistant", parts)), "anthropic")
    assert not list(check(request(conversation, api), api))
