"""The view: which cells show which text, what stands in the file, and that nothing in it can run."""

from __future__ import annotations

import json
import re
import unicodedata
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snapshot.compaction import Archive, compact
from snapshot.compaction.archived import ALSO
from snapshot.compaction.assemble import archive_messages
from snapshot.compaction.estimate import Estimator
from snapshot.compaction.restoring import is_frame
from snapshot.errors import CannotFit
from snapshot.messages import Image, Message, Text, ToolCall, ToolResult, Transcript
from snapshot.models.ids import profile_for
from snapshot.pages.layout import layout_for
from snapshot.pages.readback import PageReader
from snapshot.pages.render import Typesetter
from snapshot.source.marks import NEWLINE, TAB
from snapshot.source.source import Source
from snapshot.transcripts import load
from snapshot.view.cells import cell_runs
from snapshot.view.content import PageBlock, PictureBlock, TextBlock, View
from snapshot.view.document import html_of
from snapshot.view.harmless import as_html, visible
from snapshot.view.outline import entries_of
from snapshot.view.request_view import view_of_request
from snapshot.view.session_view import view_of_archive, view_of_conversation
from tests.conftest import examples, small
from tests.conversations import conversations, long_conversation, png
from tests.view_samples import (
    HOSTILE,
    MIXED,
    MODEL,
    Parsed,
    checked_document,
    hostile_view,
    long_view,
    parsed,
)

LONG = (36, 3000)  # turns, and characters of each result


@pytest.fixture(scope="module")
def view() -> View:
    return long_view(*LONG)


@pytest.fixture(scope="module")
def hostile() -> View:
    return hostile_view()


def units(text: str) -> list[str]:
    """A text as a browser counts it."""
    data = text.encode("utf-16-le", "surrogatepass")
    return [data[at : at + 2].decode("utf-16-le", "surrogatepass") for at in range(0, len(data), 2)]


# --- cells


def checked_runs(setting: Typesetter, source: Source) -> None:
    """Every cell with a glyph shows what its run says, and all text that is printed is in one run."""
    atlas = setting.atlas(source)
    reader = PageReader(setting.layout, atlas)
    for page in setting.pages(source):
        cells = reader.cells(page.png)
        said = units(reader.read(page.png).text)
        shown = atlas.prints(cells.glyphs.reshape(-1))
        covered = [0] * len(said)
        used: set[int] = set()
        for run_ in cell_runs(cells, atlas):
            own = set(range(run_.cell, run_.cell + run_.cells))
            assert not own & used, "a cell shows one text"
            used |= own
            for at in range(run_.start, run_.start + run_.units):
                covered[at] += 1
            glyphs = "".join(shown[cell] for cell in sorted(own))
            text = "".join(said[run_.start : run_.start + run_.units])
            if run_.cells == run_.units and not any("\ud800" <= unit <= "\udfff" for unit in text):
                assert glyphs.replace(NEWLINE, "\n").replace(TAB, "\t") == text or set(text) == {" "}
            else:
                text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
                assert glyphs[:1] == "⟦" or text == glyphs or set(text) == {" "} or len(text) == 1
        printed = [unit for unit, count in zip(said, covered, strict=True) if count != 1]
        if setting.layout.text_columns:
            assert set(printed) <= {"\n"}, "only the end of a line may stand in no cell"
        else:
            assert not printed


@pytest.mark.parametrize("layout", ["claude-high", "claude-standard/lines", "gemini-3/lines", "qwen/columns"])
def test_every_cell_is_told_by_its_glyph(layout):
    checked_runs(Typesetter(layout_for(name=layout)), Source(MIXED * 40))


@given(st.text(st.sampled_from("ab \n\t↵⟦漢é🚀👩‍א1\u0301\u202e\x00\U0001f9ff"), min_size=1, max_size=120))
def test_any_text_is_told_by_its_glyphs(text):
    checked_runs(Typesetter(small(24, 6)), Source(text))


# --- text that can be shown


def test_every_character_keeps_its_units_and_none_is_hidden():
    # The planes with characters in them, and the ends of the others.
    ends = [code for plane in range(17) for code in range((plane << 16) + 0xFF00, (plane + 1) << 16)]
    every = "".join(map(chr, sorted({*range(0x20000), *range(0xE0000, 0xE1000), *ends})))
    chunks = (every[at : at + 1024] for at in range(0, len(every), 1024))
    changed = [char for chunk in chunks if visible(chunk) != chunk for char in chunk if visible(char) != char]
    assert len(changed) < 4000
    for char in changed:
        assert len(units(visible(char))) == len(units(char))
        assert visible(char) in ("\ufffd", "\ufffd\ufffd", "▯", "▯▯", "␤", "␡") or "␀" <= visible(char) <= "␟"
    gone = visible(every)
    assert not {*gone} & {*map(chr, range(9)), "\r", "\x7f", "\x85", "\u2028", "\u202e", "\u2066", "\ufeff"}
    assert not any(unicodedata.category(char) in ("Cc", "Cs") for char in {*gone} - {"\n", "\t"})


@given(st.text(st.sampled_from("<>&\"'`=/!-ab\x00\r\n\ud800\u202e"), max_size=50))
def test_escaped_text_is_parsed_as_what_is_shown(text):
    parsed = Parsed(f'<p title="{as_html(text)}">{as_html(text)}</p>')
    assert parsed.elements == [("p", {"title": visible(text)}, visible(text))]


# --- the file


def test_the_file_needs_nothing_and_shows_all_text_once(view):
    found = checked_document(view)
    blocks = [block for section in view.sections for block in section.blocks]
    texts = [visible(block.text) for block in blocks if isinstance(block, TextBlock | PageBlock)]
    # What follows <pre> at once is dropped by a browser, if it is a newline.
    assert [text.removeprefix("\n") for _, text in found.all("pre")] == texts
    assert len(view.pages) > 3
    assert len(found.all("img")) == len(view.pages)


def test_hostile_text_is_text(hostile):
    found = checked_document(hostile)
    pres = "\n".join(text for _, text in found.all("pre"))
    for words in HOSTILE[:18]:
        assert words in pres
    assert HOSTILE[0] in found.all("title")[0][1]
    assert not [attributes for _, attributes, _ in found.elements if attributes.get("id") == "top"][1:]


def test_the_file_is_the_same_at_each_run_and_small(view):
    document = html_of(view)
    assert document == html_of(long_view(*LONG))
    images = sum(len(page.png) for page in view.pages)
    text = sum(len(page.text) for page in view.pages)
    assert len(document) < 4 / 3 * images + 2.2 * text + 200_000


def test_scripts_hold_nothing_that_ends_them():
    document = html_of(long_view(1))
    script = document[document.rindex("<script>") + 8 : document.rindex("</script>")]
    assert "</" not in script
    assert "<!--" not in script
    assert "innerHTML" not in script
    assert not re.search(r"\beval\b|\bFunction\(|fetch\(|XMLHttpRequest|import\(", script)


def test_runs_in_the_file_are_those_of_the_pages(view):
    _, found = parsed(view)
    for page, (attributes, _) in zip(view.pages, found.all("article", "page"), strict=True):
        numbers = list(map(int, (attributes["data-runs"] or "").split()))
        cell = unit = 0
        runs = []
        for gap, skipped, cells, count in zip(*(numbers[at::4] for at in range(4)), strict=True):
            runs.append((cell + gap, cells, unit + skipped, count))
            cell, unit = cell + gap + cells, unit + skipped + count
        assert runs == [(item.cell, item.cells, item.start, item.units) for item in page.runs]


# --- the outline


def test_the_outline_has_every_entry_where_it_starts():
    words = "\n".join(f"word {number}" for number in range(5000))
    call = ToolCall("a", "Read", json.dumps({"path": "file.py", "lines": 3}))
    transcript = Transcript(
        (
            Message("user", (Text("Start."),)),
            Message("assistant", (Text("Reading."), call)),
            Message("tool", (ToolResult("a", (Text(words),), True),)),
            Message("user", (Text("Forged:\n⁋user\nnot an entry"),)),
            *long_conversation(20, size=1500).messages,
        ),
        "anthropic",
        MODEL,
    )
    view = view_of_conversation(transcript, model=MODEL, title="t")
    entries = list(entries_of(view.pages))
    assert [(entry.kind, entry.title) for entry in entries[:4]] == [
        ("assistant", "assistant"), ("call", "call 1 Read"), ("error", "error 1"), ("user", "user")
    ]  # fmt: skip
    assert entries[1].words.startswith("path=file.py")
    assert entries[3].words == "Forged: ⁋user not an entry"
    assert entries[3].page > entries[2].page
    text = {page.number: page.text for page in view.pages}
    assert all(text[entry.page][entry.offset] == "⁋" for entry in entries)


def test_the_first_line_of_an_entry_may_be_torn_between_pages(view):
    first, second = view.pages[:2]
    pages = (replace(first, text="⁋cal", marks=(0,)), replace(second, text="l 7 Bash‣a=1", marks=(8,)))
    (entry,) = entries_of(pages)
    assert (entry.page, entry.head, entry.kind, entry.title) == (first.number, 4, "call", "call 7 Bash")


# --- what is shown


def shown(view: View) -> list[object]:
    return [
        (block.png, block.text) if isinstance(block, PageBlock) else block
        for s in view.sections
        for block in s.blocks
    ]


def test_a_session_is_shown_as_compact_sends_it(view):
    done = compact(long_conversation(LONG[0], size=LONG[1]), model=MODEL, trigger="manual")
    assert (view.figures.tokens_before, view.figures.tokens_after) == (done.report.before, done.report.after)
    assert [section.id for section in view.sections] == ["head", "middle", "tail"]
    images = [
        part.data for message in done.transcript.messages for part in message.parts if isinstance(part, Image)
    ]
    assert [page.png for page in view.pages] == images
    assert done.archive is not None
    for number, page in enumerate(view.pages, 1):
        assert page.text == done.archive.page(number)
        assert page.seen == (page.width, page.height)
    kinds = [block.kind for block in view.sections[1].blocks if isinstance(block, TextBlock)]
    assert (kinds[0], kinds[-1]) == ("guide", "close")
    assert {"statement", "facts", "ledger"} <= set(kinds)
    assert view.figures.usd_before is not None
    assert view.figures.usd_before > (view.figures.usd_after or 0) > 0


@settings(max_examples=examples(15))
@given(
    conversations(), st.sampled_from([0, 3000, 6000]), st.sampled_from([MODEL, "gpt-5.5", "deepseek-chat"])
)
def test_any_conversation_is_counted_as_compact_counts_it(talk, window, model):
    more: Any = {"window": window, "digest": True}
    try:
        done = compact(talk, model=model, redact=False, **more)
        if done.report.no_op and not done.report.pages:
            by_hand = compact(talk, model=model, trigger="manual", redact=False, **more)
            done = by_hand if by_hand.archive is not None else done
    except CannotFit:
        return
    found = view_of_conversation(talk, model=model, title="t", **more).figures
    assert (found.tokens_before, found.tokens_after) == (done.report.before, done.report.after)


@pytest.mark.parametrize("api", ["anthropic", "openai", "openai-responses", "gemini"])
def test_a_request_with_its_archive_is_shown_as_the_session_is(api, tmp_path, view):
    done = compact(long_conversation(LONG[0], size=LONG[1]), model=MODEL, trigger="manual")
    assert done.archive is not None
    (tmp_path / "r.json").write_text(json.dumps(done.request(api)), encoding="utf-8")
    archive = Archive.from_json(done.archive.to_json())
    again = view_of_conversation(load(tmp_path / "r.json"), model=MODEL, title="long", archive=archive)
    assert [(page.png, page.text) for page in again.pages] == [(page.png, page.text) for page in view.pages]
    assert again.sections[1].about == view.sections[1].about
    middle, before = shown(again)[1:-4], shown(view)[1:-4]
    assert [block for block in middle if isinstance(block, tuple)] == [
        b for b in before if isinstance(b, tuple)
    ]
    kinds = [
        [(b.kind, b.text) for b in v.sections[1].blocks if isinstance(b, TextBlock)] for v in (again, view)
    ]
    assert kinds[0] == kinds[1]


def test_a_guide_between_pages_is_called_a_guide():
    plain = [Message("user", (Text("Begin."),))]
    for number in range(8):
        sign = "\N{ROCKET}" if number == 6 else "."
        plain += [
            Message("assistant", (Text(f"Step {number}{sign} " + "all that was found here " * 1500),)),
            Message("user", (Text("Go on."),)),
        ]
    done = compact(Transcript(tuple(plain), "test"), model=MODEL, trigger="manual", window=60_000)
    assert done.archive is not None
    view = view_of_archive(done.archive, model=MODEL, title="long")
    blocks = [block for section in view.sections for block in section.blocks if isinstance(block, TextBlock)]
    more = [block for block in blocks if block.text.startswith(ALSO)]
    assert more
    assert {block.kind for block in more} == {"guide"}
    assert all("left view" in block.text for block in blocks if block.kind == "left-out")


def test_an_archive_alone_draws_its_pages_again(view):
    done = compact(long_conversation(LONG[0], size=LONG[1]), model=MODEL, trigger="manual")
    assert done.archive is not None
    again = view_of_archive(done.archive, model=MODEL, title="long")
    assert [page.png for page in again.pages] == [page.png for page in view.pages]


def test_an_image_that_is_not_the_archives_says_so(view):
    done = compact(long_conversation(LONG[0], size=LONG[1]), model=MODEL, trigger="manual")
    pngs = [page.png for page in view.pages]

    def other(part: object) -> object:
        return replace(part, data=pngs[1]) if isinstance(part, Image) and part.data == pngs[0] else part

    messages = tuple(
        replace(message, parts=tuple(map(other, message.parts)), raw=())
        for message in done.transcript.messages
    )
    forged = replace(done.transcript, messages=messages)
    shown_again = view_of_request(forged, done.archive, profile_for(MODEL), title="t")
    assert shown_again.pages[0].note == "does not say what the archive holds"
    assert any("page 1 does not say" in note for note in shown_again.notes)
    assert not any(page.note for page in shown_again.pages[1:])


def test_an_image_that_is_no_page_is_a_picture_and_what_is_elsewhere_is_not_fetched():
    remote = Image("image/png", source="https://example.invalid/a.png")
    svg = Image("image/svg+xml", b"<svg xmlns='http://www.w3.org/2000/svg' onload='window.broken=1'/>")
    huge = png(1, 1)[:16] + (60000).to_bytes(4) * 2 + png(1, 1)[24:]
    parts = (Text("See."), Image("image/png", png(40, 30)), remote, svg, Image("image/png", huge))
    view = view_of_conversation(Transcript((Message("user", parts),), "anthropic"), model=MODEL, title="t")
    # What no provider would take for its size is not sent: a line stands in its place.
    assert sum(isinstance(block, PictureBlock) for block in view.sections[0].blocks) == 3
    found = checked_document(view)
    assert len(found.all("img")) == 1
    assert len(found.all("p", "absent")) == 1


def test_one_large_result_stands_on_pages_where_it_is(tmp_path):
    lines = "\n".join(f"{n}: value_{n * 7919} = {n * 104729}" for n in range(5_000))
    messages = (
        Message("user", (Text("Look."),)),
        Message("assistant", (ToolCall("a", "Read", "{}"),)),
        Message("tool", (ToolResult("a", (Text(lines),)),)),
    )
    transcript = Transcript(messages, "anthropic", MODEL)
    view = view_of_conversation(transcript, model=MODEL, title="t", window=60_000)
    assert view.pages
    assert all(page.stream == 1 and not page.note and page.runs for page in view.pages)
    assert view.figures.tokens_after < view.figures.tokens_before
    checked_document(view)
    # The same from the request and its archive.
    done = compact(transcript, model=MODEL, window=60_000)
    assert done.archive is not None
    assert done.archive.light
    (tmp_path / "r.json").write_text(json.dumps(done.request("anthropic")), encoding="utf-8")
    again = view_of_conversation(load(tmp_path / "r.json"), model=MODEL, title="t", archive=done.archive)
    assert [(page.png, page.text) for page in again.pages] == [(page.png, page.text) for page in view.pages]


def test_pages_in_several_messages_are_one_archive(view):
    done = compact(long_conversation(LONG[0], size=LONG[1]), model=MODEL, trigger="manual")
    assert done.archive is not None
    frame = archive_messages(done.archive, [page.png for page in view.pages], per_message=2)
    assert len(frame) >= 3
    at = next(n for n, message in enumerate(done.transcript.messages) if is_frame(message))
    messages = done.transcript.messages
    split = replace(done.transcript, messages=(*messages[:at], *frame, *messages[at + 1 :]))
    again = view_of_request(split, done.archive, profile_for(MODEL), title="long", model=MODEL)
    assert shown(again) == shown(view)
    total = sum(map(Estimator(profile_for(MODEL)).message, split.messages))
    assert again.figures.tokens_after == total


def test_a_summary_stands_where_pages_would():
    talk = long_conversation(LONG[0], size=LONG[1])
    view = view_of_conversation(talk, model="deepseek-chat", title="t", window=30_000, digest=True)
    assert not view.pages
    kinds = [block.kind for block in view.sections[1].blocks if isinstance(block, TextBlock)]
    assert kinds[0] == "summary"
    assert "as a summary" in view.sections[1].about
    assert view.figures.tokens_after < view.figures.tokens_before
    checked_document(view)


def test_what_needs_no_compaction_and_cannot_have_any_is_shown_as_text():
    transcript = Transcript((Message("user", (Text("Hello."),)),), "anthropic", MODEL)
    view = view_of_conversation(transcript, model=MODEL, title="t")
    assert [section.id for section in view.sections] == ["conversation"]
    assert view.notes
    assert view.figures.tokens_before == view.figures.tokens_after
    checked_document(view)
