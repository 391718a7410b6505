"""Sessions that are compacted: what is archived, which pages go to which model, and the record as it was."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from snapshot.compaction.boundaries import repair
from snapshot.errors import CannotFit, SessionBusy, SummarizerRequired
from snapshot.messages import Image, Message, Text, ToolCall, ToolResult
from snapshot.requests import APIS, request
from snapshot.requests.check import check
from snapshot.session import Store
from snapshot.session.tree import open_calls
from tests.conftest import examples
from tests.conversations import conversations, long_conversation
from tests.session_histories import MODEL, history, ids, store
from tests.session_model import answer, turn, user

__all__ = ["history", "store"]  # fixtures: pytest finds them here


def test_compaction_twice_and_on(store):
    whole = long_conversation(80, size=2000).messages
    history = store.create("long", model=MODEL, format="anthropic", messages=whole[:241])
    done, projections = [], []
    for messages in ((), whole[241:]):
        history.append(messages)
        done.append(history.compact(window=70_000).checkpoint)
        projections.append(history.project())
        assert (done[-1].kind, projections[-1].made_for) == ("snapshot", MODEL)
        assert projections[-1].ids[0] == done[-1].first_kept
    assert [message for _, message in history.path()] == list(whole), "the record is as it was"
    path = ids(history)
    once, twice = (path.index(projection.ids[0]) for projection in projections)
    assert twice > once
    # Older checkpoints are never sent, and pages that stay as they were are stored once.
    said = str(projections[1].transcript.messages)
    assert said.count("ARCHIVE OF EARLIER") == 1
    pages = [len(checkpoint.archive.pages) for checkpoint in done]
    assert max(pages) <= store.database.value("SELECT count(*) FROM blobs") < sum(pages)


def test_what_only_became_a_line_is_a_checkpoint_too_and_made_once(store):
    """Results that came again later are enough: no pages, and the second time nothing to do."""
    body = Text("\n".join(f"line {number} of the file" for number in range(400)))
    messages = [user("Watch the file.")]
    for number in range(12):
        call = Message("assistant", (ToolCall(f"c{number}", "Read", '{"path": "a.py"}'),))
        messages += [call, Message("tool", (ToolResult(f"c{number}", (body,)),)), Message("assistant", ())]
    messages += [answer(), *turn("more"), *turn("and more")]
    history = store.create("watch", model=MODEL, messages=messages)
    done = history.compact(window=30_000)
    assert done.checkpoint is not None
    assert done.checkpoint.kind == "elision"
    sent = history.project()
    assert "".join(map(str, sent.transcript.messages)).count("line 399 of the file") == 2  # of the tail
    assert [message for _, message in history.path()] == messages
    again = history.compact(window=30_000)
    assert again.checkpoint is None
    assert again.report.no_op
    history.append(turn("still more " * 4000))
    assert history.compact(window=30_000).checkpoint


def test_a_compaction_that_does_nothing_writes_nothing(history):
    before = history.branch()
    done = history.compact(window=200_000)
    assert done.report.no_op
    assert done.checkpoint is None
    assert history.branch() == before


def images(sent):
    parts = (part for message in sent.transcript.messages for part in message.parts)
    return [part.data for part in parts if isinstance(part, Image)]


def test_a_model_without_vision_is_sent_no_page(store):
    long = long_conversation(160, size=2000)
    history = store.create("long", model=MODEL, format="anthropic", messages=long.messages)
    assert history.compact(window=60_000).checkpoint
    assert images(history.project())
    for model in ("glm-4.6", "gpt-3.5-turbo", "deepseek-chat"):
        history.set_model(model)
        sent = history.project()
        assert not images(sent)
        assert sent.made_for == ""
        assert "Images of earlier messages" not in str(sent.lead)
        kept = [message for _, message in sent.kept]
        assert kept == list(long.messages[len(long.messages) - len(kept) :])


def test_the_same_pages_go_to_a_model_that_reads_the_same(store):
    history = store.create("long", model=MODEL, format="anthropic", messages=long_conversation(60).messages)
    assert history.compact(window=8000).checkpoint
    sent = history.project()
    history.set_model("claude-opus-5")
    assert history.project().lead == sent.lead


def test_another_reader_gets_pages_of_its_own(store):
    history = store.create("long", model=MODEL, format="anthropic", messages=long_conversation(60).messages)
    assert history.compact(window=8000).checkpoint
    record, former = history.path(), history.project()
    history.set_model("gpt-5.5")
    sent = history.project()
    assert sent.made_for == "gpt-5.5", "before it is compacted again, too"
    assert images(sent)
    assert images(sent) != images(former)
    history.append(turn("another"))
    assert history.project().lead == sent.lead, "what is new is added at the end"
    assert history.path()[: len(record)] == record
    done = history.compact(window=8000)
    assert done.checkpoint is not None
    assert done.checkpoint.archive is not None
    assert done.checkpoint.archive.layout.startswith("gpt")
    assert history.project().made_for == "gpt-5.5"


def test_credentials_are_redacted_in_what_is_archived(store):
    key = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"
    messages = list(long_conversation(60).messages)
    messages[6:6] = turn(f"use the token {key} for it")
    history = store.create("long", model=MODEL, format="anthropic", messages=messages)
    done = history.compact(window=8000)
    assert done.checkpoint is not None
    assert done.checkpoint.archive is not None
    assert dict(done.checkpoint.redactions) == {"github-token": 1}
    assert key not in done.checkpoint.archive.to_json()
    assert key not in str(history.project().transcript)
    history.retry(ids(history)[20])
    assert history.compact(window=1500, redact=False).report.redactions == {}


@settings(max_examples=examples(15))
@given(first=conversations(most=20), more=conversations(most=8), window=st.sampled_from([1500, 4000, 12_000]))
def test_whatever_was_compacted_is_sendable_and_the_record_is_as_it_was(first, more, window):
    """Twice, with a turn between; the second time from what the first one left."""
    messages = repair(first.messages)[0]
    # Ids of calls of their own, and no call left open before them.
    later = [
        replace(message, parts=tuple(map(_later, message.parts))) for message in repair(more.messages)[0]
    ]
    with TemporaryDirectory() as folder, Store(Path(folder) / "s.sqlite", create=True) as store:
        history = store.create("talk", model=MODEL, format="anthropic", messages=messages)
        for added in ((), later):
            assume(not (added and open_calls([message for _, message in history.path()])))
            history.append(added)
            with suppress(CannotFit, SummarizerRequired, SessionBusy):
                history.compact(window=window, digest=True)
            sent = history.project()
            for api in APIS:
                assert check(request(sent.transcript, api), api) == []
        assert [message for _, message in history.path()] == [*messages, *later]
        assert [found for _, found in store.check()] == [[], []]


def _later(part):
    if isinstance(part, ToolCall):
        return replace(part, id=f"later_{part.id}")
    return replace(part, call_id=f"later_{part.call_id}") if isinstance(part, ToolResult) else part
