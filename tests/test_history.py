"""What is known from call to call changes nothing but the time: every call gives what a first one gives."""

from __future__ import annotations

import copy
import json
from collections import Counter
from dataclasses import asdict, replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import snapshot
from snapshot.compaction import boundaries, tally
from snapshot.compaction.body import body_bytes
from snapshot.compaction.boundaries import Boundaries
from snapshot.compaction.estimate import Estimator
from snapshot.compaction.history import Redacted, forget
from snapshot.compaction.replaced import attachments
from snapshot.compaction.tally import Tally
from snapshot.compaction.usage import context_usage
from snapshot.errors import SnapshotError
from snapshot.facts import survey
from snapshot.facts.patterns import Finder, find
from snapshot.facts.ranking import ranking
from snapshot.messages import Message, Text, Transcript, Usage
from snapshot.models import tokens
from snapshot.models.ids import profile_for
from snapshot.redaction import Redactor
from snapshot.source.source import _Writer, source_of
from tests.conftest import examples
from tests.conversations import conversations, long_conversation
from tests.test_continued import change, items_of

READERS = ("claude-opus-4-8", "gpt-5.6-sol", "gemini-3.8-flash", "deepseek-chat")
# In pieces, so that this file is no place of a credential.
TOKEN = "ghp_" + "16C7e42F292c6912E771" + "0c838347Ae178B4a"
SECRET = f"token {TOKEN} of src/pool_a1/retry.py, commit 3f786850e387550f"


def told(call: Any, api: str) -> object:
    """All that a compaction gives, as text: request, archive and report; or its error."""
    try:
        done = call()
    except SnapshotError as error:
        return type(error).__name__, str(error)
    request = json.dumps(done.request(api), default=repr)
    archive = done.archive.to_json() if done.archive is not None else None
    return request, archive, asdict(done.report), done.transcript.format


def both(conversation: Any, api: str, archives: tuple[Any, Any], **settings: Any) -> tuple[Any, Any]:
    """A call that knows the ones before, and one that knows nothing, are the same; their archives."""
    made: list[Any] = []

    def call(value: Any, archive: Any) -> Any:
        made.append(snapshot.compact(value, archive=archive, **settings))
        return made[-1]

    warm = told(lambda: call(conversation, archives[0]), api)
    kept = keep()
    forget()
    given_again = copy.deepcopy(conversation)
    cold = told(lambda: call(given_again, archives[1]), api)
    put_back(kept)
    assert warm == cold
    if len(made) == 2 and made[0].archive is not None:
        stored = snapshot.Archive.from_json(made[1].archive.to_json())
        return made[0].archive, stored
    return archives


def keep() -> list[Any]:
    return [copy.copy(vars(one)) for one in memories()]


def put_back(kept: list[Any]) -> None:
    for one, values in zip(memories(), kept, strict=True):
        vars(one).update(values)


def memories() -> list[Any]:
    from snapshot.compaction.history import histories
    from snapshot.facts import survey
    from snapshot.source import source
    from snapshot.transcripts import continued

    return [histories, survey._lately, source._lately, continued._readings]


@pytest.mark.parametrize("api", ["openai", "anthropic", "openai-responses"])
@given(st.data())
@settings(max_examples=examples(12))
def test_lists_that_grow_and_change_are_compacted_as_at_first_sight(api: str, data: st.DataObject):
    forget()
    whole = items_of(data.draw(conversations(most=24)), api)
    model = data.draw(st.sampled_from(READERS))
    window = data.draw(st.sampled_from([2_000, 6_000, 20_000]))
    items: list[Any] = []
    archives: tuple[Any, Any] = (None, None)
    for _ in range(data.draw(st.integers(2, 6))):
        items += copy.deepcopy(whole[len(items) : len(items) + data.draw(st.integers(1, 8))])
        if data.draw(st.integers(0, 4)) == 0:
            change(data.draw, items)
        trigger = data.draw(st.sampled_from(["target", "manual", "after-turn", "preflight"]))
        archives = both(
            items, api, archives, model=model, window=window, trigger=trigger, digest=True, overhead=100
        )


@given(st.data())
@settings(max_examples=examples(15))
def test_transcripts_that_grow_are_compacted_as_at_first_sight(data: st.DataObject):
    forget()
    base = data.draw(conversations(most=20))
    tail = long_conversation(8, size=data.draw(st.sampled_from([200, 900]))).messages
    found: list[Message] = []
    for at, plain in enumerate((*base.messages, *tail)):
        message = plain
        if data.draw(st.integers(0, 9)) == 0:
            message = replace(plain, parts=(*plain.parts, Text(SECRET)))
        if message.role == "assistant" and data.draw(st.integers(0, 3)) == 0:
            usage = Usage(at * data.draw(st.sampled_from([20, 400])), 10)
            message = replace(message, usage=usage)
        found.append(message)
    model = data.draw(st.sampled_from(READERS))
    window = data.draw(st.sampled_from([2_500, 8_000]))
    draft = (Message("user", (Text("Go on."),)),) if data.draw(st.booleans()) else ()
    archives: tuple[Any, Any] = (None, None)
    size = 0
    while size < len(found):
        size = min(len(found), size + data.draw(st.integers(1, 9)))
        so_far = Transcript(tuple(found[:size]), "openai-chat")
        trigger = data.draw(st.sampled_from(["target", "manual", "preflight"]))
        archives = both(
            so_far, "openai", archives, model=model, window=window, trigger=trigger, digest=True, draft=draft
        )


@given(st.data())
@settings(max_examples=examples(40))
def test_totals_are_those_of_measuring_all(data: st.DataObject):
    reader = profile_for(data.draw(st.sampled_from(READERS)))
    running = Tally(reader)
    groups = Boundaries()
    redacted = Redacted()
    messages = list(data.draw(conversations(most=16)).messages)
    fed = 0
    for _ in range(4):
        size = data.draw(st.integers(0, len(messages)))
        some = tuple(messages[:size])
        if some and data.draw(st.booleans()):  # another end than before
            at = data.draw(st.integers(0, len(some) - 1))
            usage = Usage(data.draw(st.integers(1, 5_000)), 7)
            some = (*some[:at], replace(some[at], usage=usage), *some[at + 1 :])
        running.follow(some)
        groups.follow(some)
        for scale in (1.0, 1.37):
            estimator = Estimator(reader, scale)
            assert running.costs(scale) == [estimator.message(message) for message in some]
            assert running.total(scale) == estimator.messages(some)
        assert running.body_bytes() == body_bytes(some)
        assert [item for _, item in running.attachments] == attachments(some)
        assert running.turns == [at for at, message in enumerate(some) if message.starts_turn]
        fresh = Tally(reader)
        fresh.follow(some)
        assert running.reports == fresh.reports
        assert tuple(groups.groups) == boundaries.groups(some)
        repaired, repairs = boundaries.repair(some)
        assert groups.sound or (repaired, repairs) == boundaries._repaired(some)
        if groups.sound:
            assert boundaries._repaired(some)[0] == some
        if size > fed:
            redacted.feed(messages[fed:size])
            fed = size
    once = Redactor()
    assert tuple(redacted.messages) == once.transcript(Transcript(tuple(messages[:fed]), "x")).messages
    assert redacted.counts == once.counts


@given(
    st.lists(
        st.sampled_from(["a_b 3f786850 x", "[truncated 12 chars]", "ends…\n3f786850", "src/a.py", "7,410"])
    )
)
def test_strings_found_in_pieces_are_those_of_the_whole(pieces: list[str]):
    lines = [f"⁋user\n{piece}\n" for piece in pieces]
    finder = Finder(names=True)
    for line in lines:
        finder.feed(line)
    assert finder.facts() == find("".join(lines), names=True)
    start = len("".join(lines[: len(lines) // 2]))
    behind = find("".join(lines[len(lines) // 2 :]), names=True)
    finder.forget(start)
    assert finder.facts() == tuple(
        replace(fact, offsets=tuple(start + at for at in fact.offsets)) for fact in behind
    )


def test_a_call_with_nothing_to_do_looks_at_no_message_again(monkeypatch: pytest.MonkeyPatch):
    forget()
    run = long_conversation(200)
    looks: Counter[str] = Counter()

    def counted(module: Any, name: str) -> None:
        whole = getattr(module, name)
        monkeypatch.setattr(module, name, lambda *given: (looks.update([name]), whole(*given))[1])

    counted(tally, "measured")
    counted(tally, "message_bytes")
    counted(boundaries, "is_blank")
    counted(tokens, "_counted")
    snapshot.compact(run, model=READERS[0], window=1 << 40)
    assert looks["message_bytes"] == len(run.messages)
    for more in range(1, 4):
        looks.clear()
        run = replace(run, messages=(*run.messages, Message("user", (Text(f"more {more}"),))))
        assert snapshot.compact(run, model=READERS[0], window=1 << 40).report.no_op
        assert [looks[name] for name in ("message_bytes", "measured", "_counted")] == [1, 1, 1]
        assert looks["is_blank"] <= 3
    looks.clear()
    snapshot.compact(run, model=READERS[0], window=1 << 40)
    assert not looks


@pytest.mark.parametrize("turns", [150, 450])
def test_going_on_from_an_archive_looks_at_what_is_new(turns: int, monkeypatch: pytest.MonkeyPatch):
    forget()
    run = long_conversation(turns)
    messages = run.messages
    cut = len(messages) - 8
    first = replace(run, messages=messages[:cut])
    done = snapshot.compact(first, model=READERS[0], window=60_000, trigger="manual", digest=True)
    assert done.archive is not None
    looks: Counter[str] = Counter()

    def counted(owner: Any, name: str, size: Any) -> None:
        whole = getattr(owner, name)

        def call(self: Any, *given: Any, **named: Any) -> Any:
            looks[f"{owner.__name__}.{name}"] += size(*given)
            return whole(self, *given, **named)

        monkeypatch.setattr(owner, name, call)

    counted(Redactor, "message", lambda _: 1)
    counted(_Writer, "message", lambda _: 1)
    counted(Finder, "feed", len)
    again = snapshot.compact(
        run, model=READERS[0], window=60_000, trigger="manual", digest=True, archive=done.archive
    )
    assert again.report.pages
    assert looks["Redactor.message"] == 8
    assert looks["_Writer.message"] < 200  # what moved from the tail onto pages
    assert looks["Finder.feed"] < 200_000


def test_usage_of_a_tally_is_that_of_the_messages():
    run = long_conversation(10)
    reader = profile_for(READERS[0])
    found = context_usage(run.messages, reader)
    assert found.tokens == Estimator(reader).messages(run.messages)


def test_source_text_that_goes_on_is_that_of_the_whole():
    forget()
    run = long_conversation(30)
    for size in (20, 40, 41, 39, len(run.messages)):
        some = replace(run, messages=run.messages[:size])
        writer = _Writer()
        for message in some.messages:
            writer.message(message, reasoning=True)
        assert source_of(some) == writer.source()
    assert source_of(run) is source_of(run)


@pytest.mark.parametrize("newest", [900, 5_000, 1 << 21])
def test_a_survey_that_goes_on_is_that_of_the_whole(newest: int, monkeypatch: pytest.MonkeyPatch):
    """Also where the oldest text is too far back to be looked at."""
    monkeypatch.setattr(survey, "_NEWEST", newest)
    monkeypatch.setattr(survey, "_AT_ONCE", 700)
    run = long_conversation(24)
    going = survey.Survey()
    for size in range(17, len(run.messages) + 1):
        source = source_of(replace(run, messages=run.messages[:size]))
        assert going.leads_to(source)
        going.follow(source)
        fresh = survey.Survey()
        fresh.follow(source)

        def places(one: survey.Survey) -> list[tuple[str, int, float, bool]]:
            found = one.finder.places
            texts = [one.finder.texts[number] for number in found.numbers]
            return sorted(zip(texts, found.offsets.tolist(), one.news, one.fresh, strict=True))

        assert fresh.finder.facts()
        assert going.finder.facts() == fresh.finder.facts()
        assert places(going) == places(fresh)
        assert ranking(going).facts() == ranking(fresh).facts()
