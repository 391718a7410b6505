"""Hosts' own messages: what was changed in one, at any depth, is noticed; what was not is not read again."""

from __future__ import annotations

import copy
import enum
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from benchmarks.bench_adapters import HOSTS, MODEL, Host
from snapshot.integrations import HostList, Keeper
from snapshot.transcripts import from_messages
from snapshot.transcripts.continued import continued, forget
from tests.test_continued import told

OBJECTS = ("langchain", "pydantic-ai", "inspect-ai", "smolagents")
WITH = ("gemini", *OBJECTS)


@pytest.fixture
def host(request: pytest.FixtureRequest) -> Host:
    try:
        found = HOSTS[request.param]()
    except Exception as error:  # an import error, or ours that names the extra
        pytest.skip(str(error))
    forget()
    return found


def plain(host: Host, messages: list[Any]) -> list[Any]:
    return list(messages) if host.dump is None else list(map(host.dump, messages))


def strings(value: Any) -> Iterator[tuple[str, Callable[[Any], None]]]:
    """Every string in an object, at any depth, with what puts another one in its place."""
    if isinstance(value, dict | list):
        for key, item in list(value.items() if isinstance(value, dict) else enumerate(value)):
            yield from _at(item, lambda new, key=key: value.__setitem__(key, new))
    elif hasattr(value, "__dict__") and not isinstance(value, enum.Enum):
        for name, item in list(vars(value).items()):
            yield from _at(item, lambda new, name=name: object.__setattr__(value, name, new))


def _at(item: Any, put: Callable[[Any], None]) -> Iterator[tuple[str, Callable[[Any], None]]]:
    if type(item) is str:
        yield item, put
    else:
        yield from strings(item)


@pytest.mark.filterwarnings("ignore::UserWarning")  # pydantic's, of what says its kind
@pytest.mark.parametrize("host", WITH, indirect=True)
def test_every_string_that_is_changed_in_place_is_noticed(host: Host):
    messages = host.messages(7)
    changes = [change for message in messages for change in strings(message)]
    assert len(changes) > 12
    noticed = 0
    first = told(from_messages, plain(host, messages))
    for was, put in changes:
        for _ in range(3):  # read, seen as it was, looked at alone
            continued(host.given(messages))
        put(was + "?")
        wanted = told(from_messages, plain(host, messages))
        assert told(continued, host.given(messages)) == wanted
        noticed += wanted != first
        put(was)
        assert told(continued, host.given(messages)) == told(from_messages, plain(host, messages))
    assert noticed > len(messages)


@pytest.mark.parametrize("host", WITH, indirect=True)
def test_a_list_that_grows_is_read_on_from_where_it_was(host: Host, monkeypatch: pytest.MonkeyPatch):
    from snapshot.transcripts import loading

    whole = host.messages(80)
    copied = loading.plain
    read: list[int] = []
    monkeypatch.setattr(loading, "plain", lambda value: (read.append(len(value)), copied(value))[1])
    before = continued(host.given(whole[:61]))
    for size in range(63, 80, 2):
        del read[:]
        messages = copy.deepcopy(whole[:size]) if host.anew else whole[:size]
        after = continued(host.given(messages))
        assert max(read) < 12
        kept = len(before.messages) - 4
        assert all(one is other for one, other in zip(after.messages[:kept], before.messages, strict=False))
        assert told(lambda _, after=after: after, None) == told(from_messages, plain(host, messages))
        before = after


@pytest.mark.parametrize("host", OBJECTS, indirect=True)
def test_with_nothing_to_do_no_message_is_dumped_and_the_host_gets_its_own(host: Host):
    dumped: list[Any] = []
    dump = host.dump
    assert dump is not None

    def counted(message: Any) -> Any:
        dumped.append(message)
        return dump(message)

    messages, keeper = host.messages(200), Keeper(window=1 << 40)
    for _ in range(3):
        del dumped[:]
        assert keeper.compact(HostList(messages, counted), model=MODEL).splice() is messages
    assert not dumped
    messages[100] = copy.deepcopy(messages[100])
    keeper.compact(HostList(messages, counted), model=MODEL)
    assert 0 < len(dumped) <= 64


@pytest.mark.parametrize("host", OBJECTS, indirect=True)
def test_what_is_sent_is_the_same_as_of_the_dump(host: Host):
    messages = host.messages(121)
    kept, spliced = (Keeper(window=20_000) for _ in range(2))
    for size in (61, 91, 121):
        of_own = kept.compact(host.given(messages[:size]), model=MODEL)
        forget()
        of_dump = spliced.compact(plain(host, messages[:size]), model=MODEL)
        assert of_own.report == of_dump.report
        assert not of_own.unchanged
        assert of_own.request("anthropic") == of_dump.request("anthropic")
        own = of_own.splice(make=lambda new: [json.dumps(one) for one in new])
        assert sum(one in messages for one in own if type(one) is not str) == len(of_own.kept)
