"""Said once in a compaction: full pages stay, references go to what is shown, and all of it is exact."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from snapshot.compaction import Archive, Compaction, compact
from snapshot.compaction.archived import OPENING
from snapshot.errors import ArchiveError
from snapshot.messages import Image, Message, Text, ToolCall, ToolResult, Transcript
from snapshot.pages.layout import layout_for
from snapshot.pages.readback import PageReader
from snapshot.pages.render import Typesetter
from snapshot.source.marks import REPEAT
from snapshot.source.repeats import expand_repeats, original_span
from snapshot.typeset.prepared import PreparedText
from tests.conftest import examples

MODEL = "claude-haiku-4-5"
FILES = [
    [f"    value_{file}_{line} = compute({line}, 'of file {file}')  # step {line % 7}" for line in range(90)]
    for file in range(4)
]
steps = st.tuples(st.integers(0, 3), st.integers(0, 60), st.integers(8, 90), st.integers(1, 30))


def run_of(reads: list[tuple[int, int, int, int]]) -> tuple[Message, ...]:
    """An agent that reads pieces of four files again and again, and a log that repeats a line."""
    messages = [Message("user", (Text("Find out what value_1_7 is for."),))]
    for number, (file, start, size, waits) in enumerate(reads):
        call = ToolCall(f"c{number}", "Read", json.dumps({"path": f"f{file}.py", "offset": start}))
        text = "\n".join([*FILES[file][start : start + size], *["waiting for the server"] * waits])
        messages += [
            Message("assistant", (Text(f"Step {number}."), call)),
            Message("tool", (ToolResult(call.id, (Text(text),)),)),
        ]
    return tuple(messages)


def pages_of(done: Compaction) -> list[bytes]:
    return [p.data for m in done.transcript.messages for p in m.parts if isinstance(p, Image)]


def parts_of(done: Compaction) -> list[str]:
    """All content of the request in order."""
    messages = done.request("anthropic")["messages"]
    return [
        json.dumps({key: value for key, value in part.items() if key != "cache_control"})
        for message in messages
        for part in message["content"]
    ]


def check_references(done: Compaction) -> None:
    """What is shown, expanded, is what the archive has from its first page on: nothing refers to less."""
    archive = done.archive
    assert archive is not None
    printed = archive.printed
    start = archive.pages[0][0]
    assert start == archive.printed_pages[0][0] == done.report.left_out
    assert printed.text[:start] == archive.source.text[:start]
    shown = [mark - start for mark in printed.marks if mark >= start]
    assert expand_repeats(printed.text[start:], shown) == archive.source.text[start:]
    for span, own in zip(archive.pages, archive.printed_pages, strict=True):
        assert original_span(printed, *own) == span
    assert all(one[1] == other[0] for one, other in pairwise(archive.pages))
    # It says so before the first page that has one, in the lead where that is the first of all.
    guides = [p.text for m in done.transcript.messages for p in m.parts if isinstance(p, Text)]
    explained = sum(text.startswith((OPENING, "From here on")) and REPEAT in text for text in guides)
    has = [any(a <= one.start < b for one in printed.repeats) for a, b in archive.printed_pages]
    assert explained == any(has)
    assert archive.first_reference == (has.index(True) + 1 if any(has) else 0)


@settings(max_examples=examples(8), suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(steps, min_size=30, max_size=60),
    st.lists(st.integers(2, 12), min_size=2, max_size=3),
    st.sampled_from([12_000, 20_000, 60_000]),
)
def test_later_turns_keep_full_pages_and_refer_to_what_is_shown(reads, more, window):
    messages = run_of(reads)
    cut = 25
    former: Compaction | None = None
    for step in (0, *more):
        cut += 2 * step
        conversation = Transcript(messages[: min(cut, len(messages))], "anthropic")
        archive = Archive.from_json(former.archive.to_json()) if former and former.archive else None
        done = compact(
            conversation, model=MODEL, window=window, max_output=1_000, archive=archive, trigger="manual"
        )
        if done.archive is None or not done.archive.pages:
            return
        check_references(done)
        assert done.archive.restore(done.transcript).messages == conversation.messages
        if (
            former is not None
            and former.archive is not None
            and done.report.left_out == former.report.left_out
        ):
            full = len(former.archive.pages) - 1
            if done.archive.pages[:full] == former.archive.pages[:full]:
                assert pages_of(done)[:full] == pages_of(former)[:full]
            else:  # what had no room is denser
                assert "dense" in done.archive.tiers[0]
        former = done


@settings(max_examples=examples(6), suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(steps, min_size=20, max_size=40))
def test_with_room_no_full_page_changes(reads):
    messages = run_of(reads)
    former: Compaction | None = None
    for size in range(21, len(messages) + 1, 10):
        conversation = Transcript(messages[:size], "anthropic")
        archive = former.archive if former else None
        done = compact(conversation, model=MODEL, trigger="manual", archive=archive)
        assert done.archive is not None
        if former is not None and former.archive is not None and former.archive.pages:
            full = len(former.archive.pages) - 1
            assert done.archive.pages[:full] == former.archive.pages[:full]
            assert done.archive.printed_pages[:full] == former.archive.printed_pages[:full]
            assert pages_of(done)[:full] == pages_of(former)[:full]
            # Nothing before the last full page has changed in the request either.
            before, after = parts_of(former), parts_of(done)
            images = [at for at, one in enumerate(before) if '"image"' in one]
            same = images[full - 1] + 1 if full else images[0] - 1
            assert after[:same] == before[:same]
        former = done


def test_pages_of_an_archive_read_back_to_its_text():
    reads = [(number % 4, number % 30, 70, 20) for number in range(24)]
    done = compact(Transcript(run_of(reads), "anthropic"), model=MODEL, trigger="manual")
    archive = done.archive
    assert archive is not None
    assert archive.printed.repeats
    assert len(archive.printed.text) < len(archive.source.text) / 2
    layout = layout_for(name=archive.layout)
    reader = PageReader(layout, Typesetter(layout).atlas(archive.printed))
    text, marks = "", []
    for png in pages_of(done):
        page = reader.read(png)
        marks += [len(text) + mark for mark in page.marks]
        text += page.text
    assert expand_repeats(text, marks) == PreparedText(archive.source).folded()
    # A page looked up is told in full: what it refers to included.
    assert "".join(archive.page(number) for number in range(1, archive.page_count + 1)) == archive.source.text


def test_a_string_is_told_to_stand_where_it_is_shown():
    file = "\n".join([*FILES[0][:20], "see commit a81f3c9e77d04b5512ab", *FILES[0][20:60]])
    other = "\n".join(
        f"another line {number} of no interest at all, number {number}" for number in range(400)
    )
    messages = [Message("user", (Text("Go."),))]
    for number, text in enumerate([file, other, file, "ok", "fine", "good"]):
        messages += [
            Message("assistant", (ToolCall(f"c{number}", "Read", "{}"),)),
            Message("tool", (ToolResult(f"c{number}", (Text(text),)),)),
        ]
    conversation = Transcript(tuple(messages), "anthropic")
    done = compact(conversation, model=MODEL, trigger="manual", rungs=("snapshot",), tail=0.001)
    archive = done.archive
    assert archive is not None
    shown = [
        at
        for at, (a, b) in enumerate(archive.printed_pages, 1)
        if "a81f3c9e77d04b5512ab" in archive.printed.text[a:b]
    ]
    assert archive.printed.repeats
    assert shown == [1] != [len(archive.pages)]
    (line,) = [line for line in archive.facts.split("\n") if "a81f3c9e77d04b5512ab" in line]
    assert line.startswith("p1: ")


def test_an_archive_from_before_goes_on_without_references():
    """Its pages are set of the source text, and stay as they are."""
    messages = run_of([(number % 4, number % 30, 70, 20) for number in range(40)])
    first = compact(Transcript(messages[:41], "anthropic"), model=MODEL, trigger="manual")
    assert first.archive is not None
    plain = Typesetter(layout_for(name=first.archive.layout)).measure(first.archive.source)
    value = json.loads(first.archive.to_json())
    for key in ("printed_pages", "first_reference", "sizes"):
        del value[key]
    value |= {
        "schema": "snapshot-pages/archive/2",
        "pages": [[page.start, page.stop] for page in plain],
        "tiers": [first.archive.layout] * len(plain),
        "prices": [page.tokens for page in plain],
        "starts": [0],
    }
    archive = Archive.from_json(json.dumps(value))
    assert archive.printed is archive.source
    stays = compact(Transcript(messages[:41], "anthropic"), model=MODEL, archive=archive)
    grown = compact(Transcript(messages, "anthropic"), model=MODEL, archive=archive, trigger="manual")
    assert grown.archive is not None
    assert not grown.archive.printed_pages
    full = len(plain) - 1
    assert grown.archive.pages[:full] == archive.pages[:full]
    drawn = [page.png for page in Typesetter(layout_for(name=archive.layout)).pages(archive.source)]
    assert pages_of(stays) == drawn
    assert pages_of(grown)[:full] == drawn[:full]
    # For another reader they are made anew.
    other = compact(
        Transcript(messages, "anthropic"), model="gemini-3-pro", archive=archive, trigger="manual"
    )
    assert other.archive is not None
    assert other.archive.printed_pages


def test_a_damaged_list_of_pages_is_told():
    reads = [(number % 4, number % 30, 70, 20) for number in range(24)]
    done = compact(Transcript(run_of(reads), "anthropic"), model=MODEL, trigger="manual")
    assert done.archive is not None
    value = json.loads(done.archive.to_json())
    value["printed_pages"][0][1] += 5
    with pytest.raises(ArchiveError, match="damaged"):
        Archive.from_json(json.dumps(value))
