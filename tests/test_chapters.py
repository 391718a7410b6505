"""Chapters: when pages fill the window, whole chapters of the oldest leave, and what stays is the same."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from snapshot.compaction import Archive, compact
from snapshot.compaction.chapters import Setter
from snapshot.compaction.page_images import page_images
from snapshot.compaction.pagination import Stretch, measured
from snapshot.compaction.result import Compaction
from snapshot.messages import Image, Message, Text, ToolCall, ToolResult, Transcript
from snapshot.pages.layout import layout_for
from snapshot.pages.render import Typesetter
from snapshot.source.repeats import expand_repeats, fold_chapters, fold_repeats, folded_offset, original_span
from snapshot.source.source import source_of
from snapshot.source.text import Source
from tests.conftest import examples
from tests.test_repeats import transcripts

MODEL = "claude-haiku-4-5"


@settings(max_examples=examples(25), suppress_health_check=[HealthCheck.too_slow])
@given(transcripts(), st.lists(st.integers(0, 3000), max_size=4))
def test_chapters_are_folded_as_if_nothing_stood_before(transcript, offsets):
    source = source_of(transcript)
    starts = [0]
    for offset in sorted({min(offset, len(source.text)) for offset in offsets} - {0}):
        if offset <= starts[-1]:
            continue
        before = fold_repeats(source, visible_from=starts[-1])
        place = folded_offset(before, offset)
        starts.append(original_span(before, place, place)[0])  # it cuts no reference in two
    folded = fold_chapters(source, starts)
    assert expand_repeats(folded.text, folded.marks) == source.text
    assert sorted(folded.marks) == list(folded.marks)
    assert len(folded.marks) == len(source.marks) + len(folded.repeats)
    for number, start in enumerate(starts):
        alone = fold_chapters(source, starts[number:])
        assert alone.text[:start] == source.text[:start]
        assert alone.text[start:] == folded.text[folded_offset(folded, start) :]
        longer = fold_chapters(source, starts[: number + 1])
        place = folded_offset(longer, start)
        assert folded.text[:place] == longer.text[:place]


def run_of(length: int, seed: int = 0) -> tuple[Message, ...]:
    """A run that reads five files again and again, each time with a line that is new."""
    messages = [Message("system", (Text("Be brief."),)), Message("user", (Text("Port the parser."),))]
    for number in range(length):
        file = (number * 3 + seed) % 5
        lines = [f"{file}.{line}: value of the field number {line * file} in the table" for line in range(30)]
        lines[(number * 7) % 30] = f"changed in step {number}, seed {seed}"
        more = [f"{number}.{line} {'x' * (line % 17)} is said only here {seed}" for line in range(60)]
        call = ToolCall(f"c{number}", "read", f'{{"path": "src/{file}.py", "offset": {number}}}')
        messages.append(Message("assistant", (call,)))
        messages.append(Message("tool", (ToolResult(f"c{number}", (Text("\n".join(lines + more)),)),)))
    return tuple(messages)


def pages_of(done: Compaction) -> list[bytes]:
    return [p.data for m in done.transcript.messages for p in m.parts if isinstance(p, Image)]


def compactions(messages: tuple[Message, ...], **given: Any) -> list[Compaction]:
    """A run compacted before each request, each time from the archive as it was stored."""
    found: list[Compaction] = []
    for size in range(12, len(messages) + 1, 4):
        archive = found[-1].archive if found else None
        archive = Archive.from_json(archive.to_json()) if archive is not None else None
        conversation = Transcript(messages[:size], "anthropic")
        settings: dict[str, Any] = {"model": MODEL, "threshold": 0.9, **given}
        done = compact(conversation, archive=archive, **settings)
        if not done.report.no_op:
            found.append(done)
            assert done.archive is not None
            assert done.archive.restore(done.transcript).messages == conversation.messages
            assert done.report.after <= done.report.safe
    return found


@pytest.mark.parametrize(("seed", "window"), [(0, 34_000), (3, 44_000)])
def test_what_stays_is_the_same_byte_for_byte(seed, window):
    found = compactions(run_of(60, seed), window=window)
    left = [done.report.left_out for done in found]
    breaks = sum(one != other for one, other in pairwise(left))
    assert left == sorted(left)
    assert breaks >= 1
    assert breaks <= 0.6 * len(found), left  # not at each compaction
    for one, other in pairwise(found):
        assert one.archive is not None
        assert other.archive is not None
        old = dict(zip(one.archive.pages, pages_of(one), strict=True))
        new = dict(zip(other.archive.pages, pages_of(other), strict=True))
        full = [span for span in list(old)[:-1] if span[0] >= other.report.left_out]
        if other.report.dense_pages <= one.report.dense_pages:  # else older chapters became denser
            assert [new.get(span) for span in full] == [old[span] for span in full]
        if one.report.left_out == other.report.left_out:
            assert len(full) == len(old) - 1
        else:  # whole chapters left, with a word on it and the way back
            assert other.report.left_out in one.archive.chapters
            text = "\n".join(
                p.text for m in other.transcript.messages for p in m.parts if isinstance(p, Text)
            )
            assert f"{other.report.left_out} characters of the oldest messages left view" in text
            assert "read_archive" in text
            assert full


@pytest.mark.parametrize("limit", ["tokens", "images", "bytes"])
def test_room_is_kept_free_whatever_is_short(limit):
    limits = {"tokens": {}, "images": {"images_per_request": 12}, "bytes": {"request_bytes": 150_000}}[limit]
    window = 34_000 if limit == "tokens" else 60_000
    found = compactions(run_of(80), window=window, limits=limits)
    gone = [other for one, other in pairwise(found) if other.report.left_out > one.report.left_out > 0]
    assert gone
    for done in gone:
        if limit == "images":
            assert done.report.images <= 8
        if limit == "tokens":
            assert done.report.after <= 0.75 * done.report.safe


def test_a_long_part_of_the_tail_is_no_reason_to_leave_pages_out():
    """It goes on pages the next time, so what it takes now need not be free."""
    messages = run_of(40)
    former = compact(Transcript(messages, "anthropic"), model=MODEL, window=400_000, trigger="manual")
    assert former.archive is not None
    big = "\n".join(f"{number}: a line of a long result that comes once" for number in range(420))
    call = ToolCall("big", "read", "{}")
    more = (Message("assistant", (call,)), Message("tool", (ToolResult("big", (Text(big),)),)))
    grown = Transcript((*messages, *more), "anthropic")
    settings: dict[str, Any] = {"model": MODEL, "archive": former.archive, "trigger": "manual"}
    size = compact(grown, window=400_000, tail=0.02, **settings).report.after
    for safe, goes in ((0.85, False), (1.2, True)):
        done = compact(grown, window=int(size / safe / 0.73), tail=0.1, **settings)
        assert (done.report.left_out > 0) == goes
        full = len(former.archive.pages) - 1
        assert (pages_of(done)[:full] == pages_of(former)[:full]) != goes


def test_an_archive_without_chapters_goes_on():
    """One that an earlier version made: its pages stay while there is room, then all are set anew, once."""
    messages = run_of(70)
    first = compact(Transcript(messages[:40], "anthropic"), model=MODEL, window=400_000, trigger="manual")
    assert first.archive is not None
    source = first.archive.source
    printed = fold_repeats(source)
    stretch = measured(printed, layout_for(name=first.archive.layout), 0, len(printed.text))
    old = replace(
        first.archive,
        pages=tuple(original_span(printed, page.start, page.stop) for page in stretch.pages),
        printed_pages=tuple((page.start, page.stop) for page in stretch.pages),
        tiers=(stretch.layout.name,) * len(stretch.pages),
        prices=tuple(page.tokens for page in stretch.pages),
        starts=(0,),
        chapters=(),
    )
    images = list(page_images(printed, stretch))
    for window in (400_000, 16_000):
        done = compact(
            Transcript(messages, "anthropic"), model=MODEL, window=window, archive=old, trigger="manual"
        )
        assert done.archive is not None
        assert Archive.from_json(done.archive.to_json()).printed == done.archive.printed
        full = len(images) - 1
        assert (pages_of(done)[:full] == images[:full]) == (window == 400_000)
        assert bool(done.report.left_out) == (window == 16_000)


@pytest.mark.parametrize("wide", [False, True])
def test_a_page_is_the_same_at_the_end_of_what_is_kept(wide):
    """A row that has no room for a wide character ends alike, whether the next page is of another stretch."""
    layout = layout_for("claude-opus-4-8")
    words = ("日本", "b ", "x\n", "word ", "a") if wide else ("ab", "b ", "x\n", "word ", "a")
    for seed in range(2):
        text = "".join(words[(number * number + seed * number // 7) % 5] for number in range(34_000 + seed))
        source = Source(text)
        pages = Typesetter(layout).measure(source, 0, len(text))
        whole = list(page_images(source, Stretch(layout, pages)))
        assert len(pages) > 2
        for kept in range(1, len(pages)):
            assert list(page_images(source, Stretch(layout, pages[:kept]))) == whole[:kept]


@settings(max_examples=examples(12), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(transcripts(), st.integers(1, 3))
def test_chapters_begin_with_pages_and_show_all(transcript, size):
    layout = replace(layout_for("claude-haiku-4-5"), width=240, height=126, text_columns=0)
    source = source_of(transcript)
    if not source.text:
        return
    setter = Setter(source, repeats=True, chapter=size)
    pagination = setter.set([(layout, len(source.text))], 0)
    starts = [start for start, _ in pagination.printed_spans]
    assert pagination.printed_spans[0][0] == 0
    assert pagination.printed_spans[-1][1] == len(pagination.printed.text)
    assert all(a[1] == b[0] for a, b in pairwise(pagination.printed_spans))
    for chapter in pagination.chapters:
        assert folded_offset(pagination.printed, chapter) in starts
    assert list(pagination.chapters) == sorted(set(pagination.chapters))
    # What goes on from a part of the pages is what is set in one go, wherever the part ends.
    again = setter.continued(pagination, layout) if len(pagination.pages) > 1 else pagination
    assert (again.printed_spans, again.chapters) == (pagination.printed_spans, pagination.chapters)


@pytest.mark.parametrize("window", [8_000, 12_000])
def test_a_small_window_is_filled_with_lower_pages(window):
    """Where two pages have no room, one that is not as high has, and the tail keeps its share."""
    conversation = Transcript(run_of(40), "anthropic")
    done = compact(conversation, model="claude-opus-4-8", window=window, digest=True, tail=0.1)
    layout = layout_for("claude-opus-4-8")
    assert done.report.pages
    assert done.report.page_tokens % layout.tokens
    assert done.report.after > 0.75 * done.report.safe
    assert done.report.tail_tokens >= 0.1 * done.report.goal
