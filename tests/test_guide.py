"""What stands beside pages: only marks that occur are explained, what was sent stays, old words are found."""

from __future__ import annotations

import json
import string
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from snapshot.compaction.archive import Archive
from snapshot.compaction.archived import ALSO, CLOSING, OPENING, WORDS
from snapshot.compaction.assemble import archive_messages
from snapshot.compaction.compact import compact
from snapshot.messages import Image, Message, Text
from snapshot.pages.layout import layout_for
from snapshot.pages.render import Typesetter
from snapshot.source.marks import DIGITS, NEWLINE, SOURCE_MARKS, first_marks, reading_guide
from snapshot.source.source import Source
from snapshot.transcripts import load
from snapshot.typeset.pagetext import encode
from snapshot.typeset.prepared import PreparedText
from tests.conftest import HERE, LAYOUTS, examples, small
from tests.test_docs import talk

FORMER, SECOND, THIRD = (
    json.loads((HERE / "data" / f"{name}.json").read_text(encoding="utf-8"))
    for name in ("former_words", "former_words_2", "former_words_3")
)
"""Archives in their requests, made by versions whose words were the first, the second and the third."""


ATLAS = Typesetter(layout_for("claude-opus-4-8")).atlas(Source(""))
PIECES = [
    "a",
    "\n",
    "\t",
    " ",
    "  ",
    "\r",
    "\x1b[1m",
    "\x1b[3C",
    "\x1b[E",
    "\x1b]0;a  b\x07",
    "\0",
    "\b",
    "\f",
]


def words(messages: tuple[Message, ...]) -> list[str]:
    return [
        part.text if isinstance(part, Text) else "IMAGE" for message in messages for part in message.parts
    ]


def parts_of(body: dict[str, Any]) -> list[str]:
    """Texts of a request's user messages, and a word for each image."""
    found: list[str] = []
    for message in body["messages"]:
        content = message["content"]
        items = [{"type": "text", "text": content}] if isinstance(content, str) else content
        found += [item.get("text") or f"<{item['type']}>" for item in items]
    return found


# --- only what occurs

SHOWN = {
    "line ends": ("a\nb", "↵ ends a line"),
    "blanks": ("def f():\n  return", "is that many blanks"),
    "tab": ("a\tb", "faint dots is a tab"),
    "foreign": ("caf\u00e9 \u4e2d", "hexadecimal"),
    "right to left": ("\u05d0\u05d1", "right to left"),
    "entries": ("⁋user\nhi", "opens an entry"),
    "arguments": ("⁋call 1 ls‣path:1", "names an argument"),
    "elisions": ("✂ 30 lines ✂", "left out here"),
    "long": ("key " + "".join(Random(1).choices(string.hexdigits, k=90)), "not legible on the pages"),
}


@pytest.mark.parametrize("name", SHOWN)
def test_a_mark_is_explained_where_it_occurs_and_not_elsewhere(name):
    text, said = SHOWN[name]
    assert said in reading_guide(marks=first_marks(text))
    assert first_marks("x " + text)[name] == first_marks(text)[name] + 2
    assert said not in reading_guide(marks=first_marks("Nothing but words.  And   blanks."))
    assert said in reading_guide()


@pytest.mark.parametrize("name", LAYOUTS)
def test_what_every_face_draws_is_not_foreign(name):
    """A dash in a comment is on nearly every page: it says nothing of signs that are not there."""
    signs = map(chr, range(0x2000, 0x2800))
    drawn = "".join(sign for sign in signs if "foreign" not in first_marks(sign) and sign not in SOURCE_MARKS)
    assert "right to left" not in first_marks("\ufeffx")  # a byte order mark
    assert {*"—–…“”‘’•→│├✓✗"} <= {*drawn}
    atlas = Typesetter(small(80, 6, name)).atlas(Source(drawn))
    assert "⟦" not in encode(PreparedText(Source(drawn)).folded(), atlas).text


@settings(max_examples=examples(60))
@given(st.lists(st.sampled_from(PIECES)).map("".join))
@example("a\b  ")
def test_line_ends_and_blanks_are_explained_if_they_are_printed(text):
    found = first_marks(text)
    printed = encode(PreparedText(Source(text)).folded(), ATLAS).text
    assert "line ends" in found or NEWLINE not in printed
    assert "blanks" in found or not set(DIGITS) & set(printed)
    if not set(text) - set(" a\n\t"):
        assert ("blanks" in found) == bool(set(DIGITS) & set(printed))


@pytest.mark.parametrize(
    "text", ["-" * 200, "=" * 90, "/usr/lib/python3/" * 8, "words_of_a_long_name_" * 6, "a" * 64, "1" * 80]
)
def test_what_is_long_but_not_random_is_not_called_illegible(text):
    assert "long" not in first_marks(f"see {text} there")


def test_the_guide_says_when_not_to_trust_the_eye():
    for guide in (reading_guide(marks=()), reading_guide(way="lines")):
        assert "null" in guide
        assert "do not guess" in guide


@pytest.mark.parametrize("way", ["rows", "columns", "lines"])
def test_how_pages_are_read_is_said_of_those_that_are_read_so(way):
    guide = reading_guide(way=way, marks=())
    assert ("read row after row; where a row ends" in guide) == (way != "lines")
    assert ("part a page into columns" in guide) == (way == "columns")
    assert ("A row of a column is a line" in guide) == (way == "lines")
    assert ("much like a slash, is filling" in guide) == (way != "lines")


@pytest.mark.parametrize("words_of", [1, WORDS])
def test_columns_are_told_before_the_first_page_that_has_them(words_of):
    done = compact(talk(60), model="claude-opus-4-8", window=60_000, layout="claude-standard")
    assert done.archive is not None
    archive = replace(done.archive, words=words_of)
    count = len(archive.pages)
    assert count > 3
    plain = words(archive_messages(archive))
    assert "columns" not in "\n".join(text for text in plain if not text.startswith(CLOSING))
    for first in range(count):
        ways = ("rows",) * first + ("columns",) * (count - first)
        said = words(archive_messages(replace(archive, ways=ways)))
        told = [at for at, text in enumerate(said) if "part a page into columns" in text]
        pages = [at for at, text in enumerate(said) if text == "IMAGE"]
        assert len(told) == 1
        assert told[0] < pages[first]
        assert not first or told[0] > pages[first - 1]
    assert Archive.from_json(replace(archive, ways=("columns",) * count).to_json()).ways[0] == "columns"


# --- the request as a model reads it


def test_a_request_says_each_thing_once():
    done = compact(talk(40), model="claude-opus-4-8", window=60_000)
    assert done.archive is not None
    said = parts_of(done.request("anthropic"))
    whole = "\n".join(said)
    assert whole.count("Exact strings, spelled as they are") == 1
    assert "Exact strings on the pages" not in whole
    assert "tab" not in next(text for text in said if text.startswith(OPENING))
    lead = next(text for text in said if text.startswith(OPENING))
    flowing = " ".join(lead.split())
    assert "What is asked of you is what the user said last" in flowing
    assert "Earlier requests still count unless a later one replaces them" in flowing
    assert "read_archive" in lead
    assert any(text.startswith(CLOSING) and "what the user asked for last" in text for text in said)


# --- what was sent stays


def growing() -> list[dict[str, Any]]:
    """A conversation that has further marks only later on."""
    messages = talk(60)
    messages[11:11] = [
        {"role": "assistant", "content": "A table:\ta\tb, and \u05e9\u05dc\u05d5\u05dd."},
        {"role": "user", "content": "Go on."},
    ]
    return messages


def test_a_note_comes_before_the_first_page_that_wants_it_and_nothing_before_changes():
    messages = growing()
    archive, before = None, list[str]()
    noted, kept = False, 0
    for count in range(19, 43, 4):
        done = compact(messages[:count], model="claude-opus-4-8", window=70_000, archive=archive)
        if done.archive is None or not done.archive.pages:
            continue
        archive = done.archive
        said = words(archive_messages(archive))
        lead = said[0]
        assert lead.startswith(OPENING)
        if before and lead == before[0]:
            full = before[: max(0, len([*before]) - 1 - before[::-1].index("IMAGE"))]
            assert said[: len(full)] == full
            kept += len(full)
        text = archive.printed.text
        spans = archive.printed_pages or archive.pages
        for name, at in first_marks(text[spans[0][0] : spans[-1][1]]).items():
            note = SHOWN.get(name, ("", "lines shown before"))[1]
            page = next(n for n, (_, stop) in enumerate(spans) if at + spans[0][0] < stop)
            images = [n for n, item in enumerate(said) if item == "IMAGE"]
            places = [n for n, item in enumerate(said) if item != "IMAGE" and note in item]
            assert len(places) == 1, name
            assert places[0] < images[page]
            assert page == 0 or places[0] > images[page - 1]
            noted |= page > 0 and name in ("tab", "right to left")
        before = said
    assert archive is not None
    assert noted
    assert kept > 3


def test_signs_that_are_not_explained_open_no_note():
    """A dash that comes first behind the first page: there is nothing to say of it."""
    messages = talk(60)
    at = next(at for at, message in enumerate(messages) if "row 50." in str(message))
    messages[at] = {**messages[at], "content": "Then — as said — the rest."}
    done = compact(messages, model="claude-opus-4-8", window=70_000)
    assert done.archive is not None
    assert "—" in "".join(done.archive.page(number) for number in range(2, done.archive.page_count + 1))
    assert "—" not in done.archive.page(1)
    assert all(text.strip() != ALSO for text in parts_of(done.request("anthropic")))


# --- old words


@pytest.mark.parametrize(("former", "version"), [(FORMER, 1), (SECOND, 2), (THIRD, 3)])
def test_an_archive_of_former_words_is_found_in_its_request(former, version):
    archive = Archive.from_json(json.dumps(former["archive"]))
    assert archive.words == version < WORDS
    there = load(json.dumps(former["request"]).encode())
    whole = archive.restore(there)
    assert len(whole.messages) == len(there.messages) + len(archive.messages)
    texts = [text for message in whole.messages for text in words((message,))]
    assert not any(OPENING in text or CLOSING in text for text in texts)
    # With the words of now it would not have been found.
    with pytest.raises(Exception, match="archive"):
        replace(archive, words=WORDS).restore(there)


@pytest.mark.parametrize("former", [FORMER, SECOND, THIRD])
@pytest.mark.parametrize("stale", [False, True])
def test_what_is_gone_on_with_keeps_its_words_unless_its_pages_are_set_anew(former, stale):
    archive = Archive.from_json(json.dumps(former["archive"]))
    assert archive.stale is (archive.words < 3), "marks are drawn otherwise since the third words"
    archive = replace(archive, stale=stale)
    lead = former["request"]["messages"][0]["content"][1]["text"]
    assert words(archive_messages(archive))[0] == lead
    more = [
        {"role": "assistant", "content": "Yes. " * 3000},
        {"role": "user", "content": "And now the rest."},
        {"role": "assistant", "content": "Well. " * 3000},
        {"role": "user", "content": "Go on."},
    ]
    body = {"messages": [*former["request"]["messages"], *more]}
    done = compact(body, model="claude-opus-4-8", window=14_000, archive=archive)
    assert done.archive is not None
    assert done.archive.words == (WORDS if stale else archive.words)
    said = parts_of(done.request("anthropic"))
    assert lead in said or stale or archive.words > 1, "the second words go by what is on the first page"
    # No page has a run of blanks, which only the words of now go by.
    assert any("is that many blanks" in text for text in said) is not stale
    assert any("the gap behind it is none" in text for text in said) is (not stale and archive.words >= 3)
    assert any("All earlier ones are dealt with" in text for text in said) is (
        not stale and archive.words > 1
    )
    assert Archive.from_json(done.archive.to_json()).words == done.archive.words


def test_images_stand_where_they_stood():
    archive = Archive.from_json(json.dumps(FORMER["archive"]))
    kinds = [type(part) for message in archive_messages(archive) for part in message.parts]
    assert kinds == [Text, Image, Text, Text]
