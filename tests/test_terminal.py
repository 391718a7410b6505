"""What a terminal wrote over: the last state is printed, and nothing that was not written over is lost."""

from __future__ import annotations

import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snapshot.messages import Message, Text, ToolCall, ToolResult, Transcript
from snapshot.pages import folder
from snapshot.pages.layout import layout_for
from snapshot.pages.render import Typesetter
from snapshot.source.source import source_of
from snapshot.source.text import Source
from snapshot.typeset.fold import fold
from snapshot.typeset.prepared import PreparedText
from snapshot.typeset.terminal import overwritten
from tests.conftest import read_back, small

WORDS = st.text(st.sampled_from("abcxyzAÄß漢é ,.-"), min_size=1, max_size=12)


@given(
    st.lists(
        st.tuples(WORDS, st.sampled_from(["plain", "bold", "underlined", "below", "twice"])), max_size=12
    )
)
def test_manual_pages_are_their_letters(runs):
    """Bold is a letter struck over itself, underlined a line and then the letter, or the other way round."""
    strike = {
        "plain": "{0}",
        "bold": "{0}\b{0}",
        "twice": "{0}\b{0}\b{0}",
        "underlined": "_\b{0}",
        "below": "{0}\b_",
    }
    printed = "".join(
        "".join(strike[how].format(char) if char not in " _" else char for char in word) for word, how in runs
    )
    folded = fold(printed)
    assert folded.text == "".join(word for word, _ in runs)
    assert sum(folded.counts.values()) == len(printed) - len(folded.text)


@given(
    st.sampled_from(
        [
            "Downloading {0}%",
            "{0}%",
            "step {0}",
            "[{0}/100] Building",
            "{0:3d}%|####    | {0}/100 [00:01<00:09]",
            "remote: Counting objects: {0}% ({0}/100)\x1b[K",
            "\x1b[2K\x1b[1G{0} of 100 packages",
            "⠋ {0} files",
            "Fetching \x1b[32m{0}\x1b[0m of 100 MB/s",
        ]
    ),
    st.lists(st.integers(0, 100), min_size=1, max_size=30),
    st.sampled_from(["\r", "\r\x1b[K", "\x1b[2K\r"]),
    st.booleans(),
)
def test_progress_is_its_last_state(shape, counts, anew, first):
    states = [shape.format(count) for count in counts]
    line = (anew if first else "") + anew.join(states)
    printed = f"$ make\n{line}\nDone.\n"
    assert fold(printed).text == f"$ make\n{fold(states[-1]).text}\nDone.\n"
    assert fold(printed.replace("\n", "\r\n")).text == fold(printed).text


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("Working...\rDone      \n", "Done      \n"),
        ("|\b/\b-\b\\\bready", "ready"),
        (" 10%\b\b\b\b 20%\b\b\b\b100%", "100%"),
        ("mistkae\b\b\bake", "mistake"),
        ("abc\b \bd", "abd"),
        ("at the end\b\b\b\b\n", "at the end\n"),
        ("+\bo a bullet", "o a bullet"),
        ("e\u0301\be\u0301 漢\b\b漢", "e\u0301 漢"),
        ("\x1b[1mN\bN\x1b[0mA", "NA"),
    ],
)
def test_what_is_written_over(text, printed):
    assert fold(text).text == printed


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("bell\bbs", "bell bs"),  # a stray control between two words
        ("abc\b\bX", "abc X"),  # the c is still on the screen
        ("one\rtwo\rthree\n", "one\ntwo\nthree\n"),
        (
            "import os\rimport sys\rdef f():\r    return 1\r",
            "import os\nimport sys\ndef f():\n    return 1\n",
        ),
        ("1,2,3\r2,3,4\r3,4,5", "1,2,3\n2,3,4\n3,4,5"),
        ("a\tb\ra\tc\n", "a\tb\na\tc\n"),
        ("1\r2\r3", "1\n2\n3"),
        ("Phase one 100%\rNow something else\n", "Phase one 100%\nNow something else\n"),
        ("line\r\r\nnext\r\n", "line\nnext\n"),
        ("\r", "\n"),
        ("a\r\rb", "a\n\nb"),
        ("state 1\r" * 10_000, "state 1\n" * 10_000),  # too long for a line of a terminal
    ],
)
def test_what_is_not_written_over_stays(text, printed):
    assert fold(text).text == printed


@pytest.mark.parametrize("tail", ["\x1b", "\x1b[", "\x1b[3", "\x1b[38;5", "\x1b[?25", "\x1b(", "\x1b[0 "])
def test_sequences_cut_off_by_the_end_of_their_line_go(tail):
    for end in ("", "\n", "\r\n", "\nnext line"):
        folded = fold(f"red{tail}{end}")
        assert folded.text == f"red{fold(end).text}"
        assert folded.counts["control sequences"] == len(tail)


@pytest.mark.parametrize(
    "tail", ["\x1b]8;;https://example.org/a", "\x1b]0;ti", "\x1b]", "\x1bP+q54", "\x1b_Gf=1"]
)
def test_strings_cut_off_by_the_end_of_their_entry_go(tail):
    assert fold(f"text{tail}").text == "text"
    conversation = Transcript(
        (Message("user", (Text(f"text{tail}"),)), Message("user", (Text(f"{tail}\nmore"),))), "anthropic"
    )
    ready = PreparedText(source_of(conversation))
    # Within an entry a stray introducer swallows nothing.
    assert ready.folded() == f"⁋user\ntext\n⁋user\n {tail[1:]}\nmore\n"


CONTENT = st.lists(
    st.sampled_from(
        ["\b", "\b\b\b\b\b\b", "\r", "\x1b[K", "\x1b[2K\r", "\x1b[1G", "\x1b[3", "\x1b]8;;x", "\n", " ",
         "step 1", "step 2", "10%", "20%", "_", "a", "漢", "\u0301", "user", "⁋", "‣", "\r\n", "\x00", "\x9b",
         "\t"]
    ),
    max_size=24,
).map("".join)  # fmt: skip


@st.composite
def conversations(draw) -> Transcript:
    messages: list[Message] = []
    for number, text in enumerate(draw(st.lists(CONTENT, min_size=1, max_size=5))):
        if draw(st.booleans()):
            call = ToolCall(str(number), "Bash", '{"command": "ls"}')
            odd = ToolCall("x", text, f'{{"{number}": 1}}')
            messages.append(Message("assistant", (call, odd)))
            messages.append(Message("tool", (ToolResult(str(number), (Text(text),)),)))
        else:
            messages.append(Message("user", (Text(text),)))
    return Transcript(tuple(messages), "anthropic")


@given(conversations(), st.integers(20, 60), st.integers(1, 300))
def test_content_never_writes_over_the_structure(conversation, columns, size):
    """Every mark is on the pages, with its name: whatever controls the words beside it hold."""
    source = source_of(conversation)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("snapshot.typeset.prepared._STRETCH", size)
        text = PreparedText(source)
        folded, marks = text.folded(), text.folded_marks()
    assert [folded[mark] for mark in marks] == [source.text[mark] for mark in source.marks]
    assert folded == PreparedText(source).folded()
    for mark, place in zip(source.marks, marks, strict=True):
        if source.text[mark] == "⁋":
            for word in ("user", "call", "result"):
                assert source.text.startswith(word, mark + 1) == folded.startswith(word, place + 1)
    setter = Typesetter(small(columns, 3))
    pages = list(setter.pages(source))
    read = read_back(setter, source, pages)
    assert "".join(page.text for page in read) == folded
    assert all(one.stop == other.start for one, other in pairwise(pages))


@given(conversations(), conversations())
def test_a_conversation_that_grows_keeps_its_folds(before, more):
    one = PreparedText(source_of(before))
    both = Transcript((*before.messages, *more.messages), "anthropic")
    assert PreparedText(source_of(both)).folded().startswith(one.folded())


@given(st.text(st.sampled_from("ab_ 1%\b\r\x1b[]KG\n\x00漢\u0301")))
def test_folds_lead_back_to_their_source(text):
    folded = fold(text)
    assert fold(folded.text).text == folded.text
    assert not any(char < " " and char not in "\n\t" for char in folded.text)
    offsets = [folded.source_offset(at) for at in range(len(folded.text))]
    assert offsets == sorted(set(offsets))
    for at, offset in enumerate(offsets):
        assert text[offset] == folded.text[at] or text[offset] < " "
        assert folded.folded_at(offset) == at
    places = [folded.folded_at(offset) for offset in range(len(text) + 1)]
    assert places == sorted(places)
    for line in text.split("\n"):
        spans = overwritten(line)
        assert all(start < stop for start, stop in spans)
        assert all(one[1] <= other[0] for one, other in pairwise(spans))


def test_folders_of_terminal_output_read_back(tmp_path):
    text = "10%\r20%\r30%\nN\bNA\bAM\bME\bE\nplain\r\nlast\x1b[3"
    setter = Typesetter(layout_for("claude-opus-4-8"))
    manifest = folder.write(tmp_path / "pages", Source(text), setter)
    assert manifest.source.folded == {
        "overwritten characters": 16,
        "carriage returns": 1,
        "control sequences": 3,
    }
    assert folder.check(tmp_path / "pages", manifest) == []


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "text",
    [
        "\r" * 1_000_000,
        "\b" * 60_000,
        "a\b" * 30_000,
        "10%\r" * 16_000,
        "\r" * 60_000,
        ("10%\r" * 10_000 + "\n") * 3,
        "\b" * 1_000_000,
        "a\b" * 400_000,
        "a" * 400_000 + "\b" * 400_000,
        "10%\r" * 200_000,
        "\x1b[1G" * 200_000,
        "\x1b" * 500_000,
        "\x1b[" * 400_000,
        "\x1b]0;" * 200_000,
        "a\ba\n" * 150_000,
        "\r\r\n" * 200_000,
        " \r" * 400_000,
        ("a" * 999 + "\r") * 800,
    ],
)
def test_folding_is_linear(text):
    begin = time.process_time()
    folded = fold(text)
    assert time.process_time() - begin < 6
    assert len(folded.text) <= len(text)
