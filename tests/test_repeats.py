"""Said once: blocks that stood before are references to what is in view, exact, and nobody forges one."""

from __future__ import annotations

import re
import time
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import snapshot
from snapshot.messages import Message, Text, ToolCall, ToolResult, Transcript
from snapshot.pages import folder
from snapshot.pages.layout import layout_for
from snapshot.pages.manifest import load_manifest
from snapshot.pages.render import Typesetter
from snapshot.source.line_numbers import numbered, prefix
from snapshot.source.marks import REPEAT, SCOPE, first_marks, reading_guide
from snapshot.source.repeats import expand_repeats, fold_repeats, folded_offset, original_span
from snapshot.source.source import source_of
from snapshot.source.text import Source
from snapshot.typeset.prepared import PreparedText
from tests.conftest import LAYOUTS, REAL, read_back, small

LONG = [f"line {number} of a file that is long enough to be worth a reference" for number in range(12)]
FORGED = [
    f"{REPEAT}3 lines as 3 lines up in result 1: x",
    f"{REPEAT}the line above, 5 times more",
    f"{SCOPE}result 1",
    f"{REPEAT}",
]
LINES = st.sampled_from([*LONG, "", "  ", "}", "a\rb", "\x1b[31mred", "\x1b]0;title", *FORGED])
NUMBERS = st.sampled_from(["   1→", " 7\t", "998:", "9-", "00001| ", "12│", "0:"])
blocks = st.one_of(
    st.tuples(st.integers(0, 8), NUMBERS).map(lambda way: [*numbered(LONG[way[0] :], way[1])]),
    st.lists(LINES, max_size=6),
    st.integers(0, 11).flatmap(lambda first: st.just(LONG[first:])),
    st.tuples(LINES, st.integers(1, 90)).map(lambda run: [run[0]] * run[1]),
    st.tuples(st.lists(LINES, min_size=2, max_size=4), st.integers(1, 30)).map(lambda run: run[0] * run[1]),
)
words = st.lists(blocks, max_size=5).map(lambda parts: "\n".join(line for part in parts for line in part))


@st.composite
def transcripts(draw) -> Transcript:
    messages: list[Message] = []
    for number, text in enumerate(draw(st.lists(words, max_size=8))):
        match draw(st.integers(0, 3)):
            case 0:
                messages.append(Message("user", (Text(text),)))
            case 1:
                messages.append(Message("assistant", (Text("Now."), Text(text))))
            case 2:
                call = ToolCall(str(number), "Bash, 3 lines as 2 lines up", '{"command": "ls"}')
                messages.append(Message("assistant", (call,)))
                messages.append(Message("tool", (ToolResult(str(number), (Text(text),)),)))
            case _:
                messages.append(Message("tool", (ToolResult("none", ()),)))
    return Transcript(tuple(messages), draw(st.sampled_from(["anthropic", "text"])))


def references(source: Source) -> list[str]:
    return [source.text[repeat.start : repeat.stop] for repeat in source.repeats]


@given(transcripts(), st.integers(0, 3000), st.booleans())
def test_folding_and_expanding_gives_the_source(transcript, visible_from, runs):
    source = source_of(transcript)
    folded = fold_repeats(source, visible_from=min(visible_from, len(source.text)), runs=runs)
    assert expand_repeats(folded.text, folded.marks, runs=folded.runs) == source.text
    assert len(folded.text) <= len(source.text)
    assert folded.text.startswith(source.text[: min(visible_from, len(source.text))])


@given(transcripts())
def test_structure_is_kept(transcript):
    """Marks, spans, elisions and the map to the original are those of the folded text."""
    source, folded = source_of(transcript), source_of(transcript, repeats=True, runs=True)
    own = {repeat.start for repeat in folded.repeats}
    assert own <= set(folded.marks)
    assert [folded.text[mark] for mark in folded.marks if mark not in own] == [
        source.text[mark] for mark in source.marks
    ]
    assert all(folded.text[start] == REPEAT for start in own)
    assert [item.media_type for item in folded.elisions] == [item.media_type for item in source.elisions]
    assert len(folded.spans) == len(transcript.messages)
    assert all(one[1] == other[0] for one, other in pairwise(folded.spans))
    for span, (start, stop) in zip(source.spans, folded.spans, strict=True):
        assert original_span(folded, start, stop) == span
    every = [original_span(folded, at, at)[0] for at in range(len(folded.text) + 1)]
    assert every == sorted(every)
    assert every[-1] == len(source.text)
    for repeat in folded.repeats:
        found = original_span(folded, repeat.start, repeat.stop)
        assert found == (repeat.original_start, repeat.original_stop)
    places = [folded_offset(folded, at) for at in range(len(source.text) + 1)]
    assert places == sorted(places)
    inside = {at for one in folded.repeats for at in range(one.original_start + 1, one.original_stop)}
    assert all(
        original_span(folded, place, place)[0] == at for at, place in enumerate(places) if at not in inside
    )


@given(
    transcripts().filter(lambda transcript: transcript.format != "text"), transcripts(), st.integers(0, 2000)
)
def test_a_conversation_that_grows_keeps_its_text(transcript, more, visible_from):
    """A prefix's fold is a prefix of the whole's fold: full pages stay as they are."""
    whole = replace(transcript, messages=(*transcript.messages, *more.messages))
    before = fold_repeats(source_of(transcript), visible_from=visible_from, runs=True)
    grown = fold_repeats(source_of(whole), visible_from=visible_from, runs=True)
    assert grown.text.startswith(before.text)
    assert grown.repeats[: len(before.repeats)] == before.repeats
    assert grown.marks[: len(before.marks)] == before.marks


@settings(max_examples=40)
@given(transcripts(), st.integers(0, 2000))
def test_references_go_to_what_is_in_view_and_shown_in_full(transcript, visible_from):
    source = source_of(transcript)
    folded = fold_repeats(source, visible_from=visible_from, runs=True)
    lines = folded.text.split("\n")
    starts = {0: 0}
    offset = 0
    for number, line in enumerate(lines):
        starts[offset] = number
        offset += len(line) + 1
    hidden = source.text[:visible_from].count("\n") + (source.text[:visible_from][-1:] not in ("", "\n"))
    own = {starts[repeat.start] for repeat in folded.repeats}
    for repeat, said in zip(folded.repeats, references(folded), strict=True):
        number = starts[repeat.start]
        if said.startswith(f"{REPEAT}the line above"):
            size, first = 1, number - 1
        else:
            size, up = int(said[1:].split()[0]), int(re.findall(r"as (\d+) lines up", said)[0])
            first = number - up
        assert hidden <= first < first + size <= number
        assert own.isdisjoint(range(first, first + size))
        block = lines[first : first + size]
        if numbers := re.match(
            rf"{REPEAT}\d+ lines (?:numbered from (?P<first>.+?)|without numbers) as ", said
        ):
            block = [line[len(prefix(line)) :] for line in block]
            block = list(numbered(block, numbers["first"])) if numbers["first"] else block
        original = source.text[repeat.original_start : repeat.original_stop]
        assert original.startswith("\n".join(block) + "\n")


@given(transcripts(), st.sampled_from(LAYOUTS), st.integers(46, 90))
def test_pages_of_references_read_back(transcript, name, columns):
    """The mark on a page is real where the source's is; a forged one is its code point."""
    source = source_of(transcript, repeats=True, runs=True)
    setter = Typesetter(small(columns, 6, name))
    pages = list(setter.pages(source))
    read = read_back(setter, source, pages)
    length, marks = 0, []
    for page in read:
        marks += [length + mark for mark in page.marks]
        length += len(page.text)
    text = "".join(page.text for page in read)
    assert [text[mark] for mark in marks] == [source.text[mark] for mark in source.marks]
    # What the pages say, expanded, is what pages without references would say.
    assert expand_repeats(text, marks) == PreparedText(source_of(transcript)).folded()


@pytest.mark.parametrize("runs", [False, True])
def test_a_conversation_that_grows_by_nothing_has_the_message(runs):
    said = tuple(Message("user", (Text("\n".join(LONG * 12)),)) for _ in range(2))
    empty = (Message("user", (Text(""),)), Message("assistant", ()))
    for messages in (said, (*said, *empty), said):
        source = source_of(Transcript(messages, "anthropic"))
        folded = fold_repeats(source, runs=runs)
        assert len(folded.spans) == len(messages)
        assert expand_repeats(folded.text, folded.marks) == source.text


def test_a_reference_tells_where_to_look():
    text = "\n".join(LONG)
    transcript = Transcript(
        (
            Message("assistant", (ToolCall("a", "Read", "{}"), ToolCall("b", "Read", "{}"))),
            Message("tool", (ToolResult("a", (Text(text),)),)),
            Message("tool", (ToolResult("b", (Text("new\n" + "\n".join(LONG[2:9]) + "\nnew"),)),)),
            Message(
                "user", (Text("wait\n" * 50 + "\n".join(LONG[:4]) + "\n" + "a\nbb\nccc of a period\n" * 40),)
            ),
        ),
        "anthropic",
    )
    assert references(source_of(transcript, repeats=True)) == [
        f"{REPEAT}7 lines as 12 lines up in result 1: line 2 of a file that is long enough to\n",
        f"{REPEAT}the line above, 49 times more\n",
        f"{REPEAT}4 lines as 19 lines up in result 1: line 0 of a file that is long enough to\n",
        f"{REPEAT}3 lines 39 times as 3 lines up in user: a … ccc of a period\n",
    ]
    assert not source_of(transcript).repeats


def test_a_file_that_is_read_again_with_other_numbers_is_said_once():
    """As an editor's tool, `cat -n` and `grep -n` number it, and as it stands; an edit moves its lines."""
    read = "\n".join(numbered(LONG, "     8→"))
    moved = "\n".join(["    12→new", *numbered(LONG[3:], "    13→")])
    plain, searched = "\n".join(LONG[2:]), "\n".join(numbered(LONG[2:8], "98-"))
    other = "\n".join(f"{number}: {line}" for number, line in zip(range(3, 90, 7), LONG, strict=False))
    said = [Message("user", (Text(text),)) for text in (read, moved, plain, searched, other)]
    transcript = Transcript(tuple(said), "anthropic")
    folded = source_of(transcript, repeats=True, runs=True)
    assert [said.partition(" of a file")[0] for said in references(folded)] == [
        f"{REPEAT}9 lines numbered from     13→ as 11 lines up in user: 11→line 3",
        f"{REPEAT}10 lines without numbers as 14 lines up in user: 10→line 2",
        f"{REPEAT}6 lines numbered from 98- as 16 lines up in user: 10→line 2",
    ]
    assert expand_repeats(folded.text, folded.marks) == source_of(transcript).text
    guide = reading_guide(marks=first_marks(folded.text, runs=True), repeats=True)
    assert "numbered from" in guide
    blank = ["\n".join(["x", "", *LONG[5:]]), "\n".join(numbered(["", *LONG[5:]], "8:"))]
    again = Transcript(tuple(Message("user", (Text(text),)) for text in blank), "anthropic")
    (reference,) = references(source_of(again, repeats=True, runs=True))
    assert reference.startswith(f"{REPEAT}8 lines numbered from 8: as 9 lines up in user: … line 5 of a file")
    # Pages of an archive that has no such references say what they said.
    assert len(source_of(transcript, repeats=True).repeats) == 0
    assert "numbers" not in first_marks(folded.text)


@pytest.mark.parametrize(
    "words",
    ["10%\r20%", "\x1b[31mred\x1b[0m", "\x1b]0;title", "\x9b31m", "\ud800", "⁋user", "\u202e", "\t" * 60],
)
def test_first_words_can_break_nothing(words):
    """Whatever a block begins with, the reference is one line that says what it says."""
    block = "\n".join([words, *LONG[:4]])
    transcript = Transcript((Message("user", (Text(block),)), Message("user", (Text(block),))), "anthropic")
    folded = source_of(transcript, repeats=True)
    assert expand_repeats(folded.text, folded.marks) == source_of(transcript).text
    if "\r" in words:  # what a page may print as two lines is not counted over
        assert not folded.repeats
        return
    (reference,) = references(folded)
    lines = 4 if words.startswith("\x1b]") else 5
    assert reference.startswith(f"{REPEAT}{lines} lines as 6 lines up in user")
    assert reference.isprintable() is False
    assert reference[:-1].isprintable()
    assert expand_repeats(folded.text, folded.marks) == source_of(transcript).text


def test_a_part_that_lacks_what_it_refers_to_is_refused():
    text = f"{REPEAT}3 lines as 3 lines up: x\n"
    assert expand_repeats(text, ()) == text
    for wrong in (text, f"a\n{REPEAT}2 lines as 1 lines up\n", f"{REPEAT}the line above, 2 times more\n"):
        with pytest.raises(ValueError, match="refers to"):
            expand_repeats(wrong, [wrong.index(REPEAT)])


def test_the_guide_explains_references_where_there_are_any(tmp_path: Path):
    setter = Typesetter(layout_for("claude-opus-4-8"))
    text = "\n".join([*LONG, "", *LONG, ""])
    for repeats in (False, True):
        source = source_of(Transcript((Message("user", (Text(text),)),), "text"), repeats=repeats)
        guide = folder.write(tmp_path / str(repeats), source, setter).guide
        assert (REPEAT in guide) == repeats
        assert not folder.check(tmp_path / str(repeats), load_manifest(tmp_path / str(repeats)))
    for way in ("rows", "columns", "lines"):
        assert reading_guide(way=way, repeats=True).replace(REPEAT, "") != reading_guide(way=way)


@pytest.mark.parametrize(
    "text",
    [
        "\n" * 1_000_000,
        "a\n" * 500_000,
        "a\nb\n" * 300_000,
        "".join(f"{number % 7}\n{number % 11}\n" for number in range(200_000)),
        "".join(f"the line {number} of a log\n" for number in range(100_000)) * 2,
        "".join(f"{number}: the same line\n" for number in range(20_000)) * 2,
        "".join(
            f"one of {number % 13 * (number % 5)} lines that stand in many places\n"
            for number in range(200_000)
        ),
    ],
)
def test_folding_is_linear(text):
    source = Source(text, (), ((0, len(text)),))
    begin = time.process_time()
    folded = fold_repeats(source, runs=True)
    assert time.process_time() - begin < 10
    assert expand_repeats(folded.text, folded.marks) == text
    assert len(folded.text) < len(text) or "\n\n" not in text


@pytest.mark.parametrize("file", REAL)
def test_real_transcripts_say_things_once(real: Path, file):
    transcript = snapshot.load(real / file)
    source, folded = source_of(transcript), source_of(transcript, repeats=True, runs=True)
    assert expand_repeats(folded.text, folded.marks, runs=folded.runs) == source.text
    assert bool(folded.repeats) == (len(folded.text) < len(source.text))
    assert folded.repeats or file.startswith("ytt-start")
