"""The compactor's promises, over generated conversations."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from snapshot.compaction import boundaries
from snapshot.compaction.archive import OPENING
from snapshot.compaction.estimate import Estimator
from snapshot.compaction.replaced import attachments
from snapshot.messages import Image, Message, Text, ToolCall, ToolResult, Transcript
from snapshot.models.ids import profile_for
from snapshot.pages.layout import layout_for
from snapshot.pages.readback import PageReader
from snapshot.pages.render import Typesetter
from snapshot.requests import APIS
from snapshot.requests.check import check
from snapshot.source.repeats import expand_repeats, original_span
from snapshot.typeset.prepared import PreparedText
from tests.compacting import BLIND, MODELS, VISION, shrink, texts
from tests.conftest import examples
from tests.conversations import conversations, image_parts


@given(conversations(), st.sampled_from(APIS), st.sampled_from([600, 2000, 6000, 40_000]))
def test_every_request_is_sendable(conversation, api, window):
    """Promise 6: whatever was compacted, the API's own rules hold."""
    model = MODELS[api]
    compaction = shrink(conversation, model=model, window=window)
    assume(compaction is not None)
    assert compaction is not None
    problems = check(compaction.request(api), api, limits=profile_for(model).limits)
    assert problems == []


@given(conversations(), st.sampled_from([600, 2000, 6000]))
def test_nothing_is_lost(conversation, window):
    """Promise 1: head, middle and tail are the conversation; the middle is on its pages, or named."""
    compaction = shrink(conversation, window=window)
    assume(compaction is not None)
    assert compaction is not None
    repaired, repairs = boundaries.repair(conversation.messages)
    archive = compaction.archive
    if archive is None:
        assert compaction.transcript.messages == conversation.messages
        return
    assert archive.restore(compaction.transcript).messages == repaired
    assert len(repairs.orphans) == compaction.report.orphans
    if archive.pages:
        spans = list(archive.pages)
        assert spans[0][0] == compaction.report.left_out
        assert spans[-1][1] == len(archive.source.text)
        assert all(one[1] == other[0] for one, other in pairwise(spans))


@given(conversations())
@settings(
    max_examples=examples(25), suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow]
)
def test_the_pages_say_what_the_archive_says(conversation):
    """Promise 2, on the images of the request itself."""
    compaction = shrink(conversation)
    assume(compaction is not None and compaction.archive is not None and compaction.archive.pages)
    assert compaction is not None
    assert compaction.archive is not None
    archive = compaction.archive
    (message,) = [m for m in compaction.transcript.messages if OPENING in "".join(texts((m,)))]
    pages = [part for part in message.parts if isinstance(part, Image)]
    for page, (start, stop), name in zip(pages, archive.printed_pages, archive.tiers, strict=True):
        layout = layout_for(name=name)
        reader = PageReader(layout, Typesetter(layout).atlas(archive.printed))
        assert reader.read(page.data).text == PreparedText(archive.printed).folded(start, stop)
    for span, (start, stop) in zip(archive.pages, archive.printed_pages, strict=True):
        assert original_span(archive.printed, start, stop) == span
    assert expand_repeats(archive.printed.text, archive.printed.marks) == archive.source.text


@given(conversations(), st.sampled_from([2000, 6000, 100_000]), st.booleans())
def test_it_shrinks_or_says_why(conversation, window, manual):
    """Promise 7: fewer tokens by one estimator, or the same conversation and a reason."""
    compaction = shrink(conversation, window=window, trigger="manual" if manual else "target")
    assume(compaction is not None)
    assert compaction is not None
    report = compaction.report
    estimator = Estimator(profile_for(VISION))
    assert report.after == estimator.messages(compaction.transcript.messages) or report.no_op
    if report.no_op:
        assert compaction.transcript is conversation
    else:
        assert report.after < report.before


def test_a_summary_is_not_counted_with_the_pages_that_were_tried_before():
    """Pages that did not make the request safe are no part of what the last rung makes."""
    few = "\n".join(f"{line}: parse parse parse parse parse parse parse" for line in range(42))
    many = "\n".join(f"{line}: parse parse parse parse parse parse parse token token" for line in range(43))
    path = '{"path": "parse"}'
    conversation = Transcript(
        (
            Message("assistant", (Text("parse"), *(ToolCall(name, "Read", path) for name in ("a", "b")))),
            Message("tool", (ToolResult("b", (Text(many),)),)),
            *(Message("user", (Text(words),)) for words in ("parse", few, *["parse"] * 3)),
        ),
        "anthropic",
    )
    summarized = 0
    for window in range(1400, 2400, 10):
        compaction = shrink(conversation, window=window, trigger="target")
        if compaction is None:
            continue
        report = compaction.report
        used = [rung.name for rung in report.rungs if rung.freed]
        if used[-1:] == ["summarize"]:
            summarized += "snapshot" in used
            assert report.after == Estimator(profile_for(VISION)).messages(compaction.transcript.messages)
            assert (report.pages, report.page_tokens, report.images) == (0, 0, 0)
    assert summarized


LONG = " ".join(f"w{number * 7919 % 65521:x}" for number in range(7000))


@pytest.mark.parametrize("large", ["words", "call", "system", "system before a user"])
def test_a_large_part_is_on_pages_only_where_pages_can_be_sent(large):
    """Neither the system nor the assistant holds images: without a message behind that does, text stays."""
    user, done = Message("user", (Text("Go on."),)), Message("assistant", (Text("Done."),))
    middle = (user, *(Message("assistant", (Text(f"{n} " + "step by step " * 300),)) for n in range(9)))
    call = Message("assistant", (ToolCall("c", "Write", json.dumps({"content": LONG})),))
    result = Message("tool", (ToolResult("c", (Text("ok"),)),))
    system = Message("system", (Text(LONG),))
    messages = {
        "words": (*middle, user, Message("assistant", (Text(LONG),))),
        "call": (*middle, user, call, result),
        "system": (system, *middle[1:], done),
        "system before a user": (system, *middle, user, done),
    }[large]
    compaction = shrink(Transcript(messages, "anthropic"), window=24_000, trigger="target")
    assert compaction is not None
    sent = compaction.transcript.messages
    report, images = compaction.report, sum(isinstance(item, Image) for item in attachments(sent))
    assert report.after == Estimator(profile_for(VISION)).messages(sent)
    assert images == report.pages == report.images
    said = "\n".join(texts(sent))
    assert compaction.archive is not None
    (part,) = compaction.archive.parts
    assert part.text in (LONG, json.dumps({"content": LONG}))
    assert bool(part.pages) == (large in ("call", "system before a user"))
    assert ("page images between them" in said) == bool(part.pages)
    assert compaction.archive is not None
    assert compaction.archive.restore(compaction.transcript).messages[: len(messages)] == messages


@given(conversations(most=20), st.sampled_from([2000, 6000]))
@settings(
    max_examples=examples(30), suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow]
)
def test_again_without_news_changes_nothing(conversation, window):
    """Promises 4 and 7: compacting the result once more, with its archive, is the same or a no-op."""
    first = shrink(conversation, window=window)
    assume(first is not None and first.archive is not None and bool(first.archive.pages))
    assert first is not None
    again = shrink(first.transcript, window=window, archive=first.archive, trigger="target")
    if again is not None and again.archive is not None and again.archive.pages:
        assert again.archive.boundary >= first.archive.boundary if first.archive else False


@given(conversations(most=8), conversations(most=6, orphans=False))
@settings(
    max_examples=examples(30), suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow]
)
def test_growing_keeps_full_pages(before, more):
    """Promise 5: a later compaction continues the earlier one, page for page."""
    before = replace(before, messages=tuple(before.messages) * 3)
    first = shrink(before, window=20_000, max_output=2_500, tail=0.01)
    assume(first is not None and first.archive is not None and bool(first.archive.pages))
    assert first is not None
    assert first.archive is not None
    grown = replace(before, messages=(*before.messages, Message("user", (Text("Go on."),)), *more.messages))
    for archive in (first.archive, None):
        second = shrink(grown, window=20_000, max_output=2_500, tail=0.01, archive=archive)
        if second is None or second.archive is None or not second.archive.pages:
            continue
        if second.archive.head != first.archive.head or second.report.dense_pages or first.report.dense_pages:
            continue
        old = [image.data for image in image_parts(first.transcript.messages[first.report.head :][:1])]
        new = [image.data for image in image_parts(second.transcript.messages[second.report.head :][:1])]
        assert new[: len(old) - 1] == old[:-1]


@given(conversations())
def test_a_blind_model_never_gets_a_page(conversation):
    """Promise 8."""
    compaction = shrink(conversation, model=BLIND)
    assume(compaction is not None)
    assert compaction is not None
    assert len(image_parts(compaction.transcript.messages)) <= len(image_parts(conversation.messages))
    assert not (compaction.archive and compaction.archive.pages)


@given(conversations())
def test_it_is_a_function(conversation):
    """Promise 5: same input, same bytes."""
    one, other = shrink(conversation), shrink(conversation, threads=1)
    assert (one is None) == (other is None)
    if one is not None and other is not None:
        assert json.dumps(one.request("anthropic")) == json.dumps(other.request("anthropic"))
