"""Inputs that broke other tools (`tests/cases/`), each as a test of its class of fault."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import snapshot
from snapshot.messages import Message, Text, ToolResult, Transcript
from snapshot.pages.layout import layout_for
from snapshot.pages.render import Typesetter
from snapshot.raster.atlas import Atlas, atlas_for
from snapshot.raster.face import load_face
from snapshot.source import marks
from snapshot.source.source import Source, source_of
from snapshot.typeset.fold import fold
from snapshot.typeset.grid import set_pages
from snapshot.typeset.pagetext import decode, encode
from tests.conftest import case, case_results, read_back, small, tool_results

FACES = ("fira-9x16", "fira-8x16")


@pytest.fixture(scope="module", params=FACES)
def atlas(request: pytest.FixtureRequest) -> Atlas:
    return atlas_for(load_face(request.param))


def glyph(atlas: Atlas, char: str) -> np.ndarray:
    assert atlas.cells[ord(char)] == 1
    return atlas.ink[atlas.glyphs[ord(char)]]


def round_trip(text: str, columns: int = 196) -> str:
    """The text back from the pixels of its pages."""
    setting = Typesetter(small(columns, 20))
    source = Source(text)
    return "".join(said.text for said in read_back(setting, source, list(setting.pages(source))))


def page_text(text: str) -> str:
    setting = Typesetter(layout_for("claude-opus-4-8"))
    return encode(fold(text).text, setting.atlas(Source(text))).text


# --- 001: look-alikes


def test_look_alikes_differ(atlas):
    """The nearest pair of each look-alike set is still several pixels apart."""
    nearest = []
    for group in (
        "0OoDQ",
        "1lI|!i",
        "5S",
        "8B",
        "2Z",
        "6bG",
        "g9q",
        "uv",
        "nh",
        "ce",
        ".,",
        ";:",
        "'`",
        "({[",
        ")}]",
    ):
        for one, other in combinations(group, 2):
            nearest.append((int((glyph(atlas, one) != glyph(atlas, other)).sum()), one + other))
    assert min(nearest)[0] >= 4, sorted(nearest)[:5]


def test_no_two_ascii_characters_are_near(atlas):
    ink = np.stack([glyph(atlas, chr(code)) for code in range(33, 127)]).reshape(94, -1).astype(int)
    apart = np.abs(ink[:, None] - ink[None]).sum(axis=2) + 99 * np.eye(94, dtype=int)
    assert apart.min() >= 4


@pytest.mark.parametrize(("two", "one"), [("rn", "m"), ("vv", "w"), ("cl", "d")])
def test_neighbours_do_not_melt_into_another_letter(atlas, two, one):
    """The pair keeps a gap where the single letter has ink."""
    pair = np.concatenate([glyph(atlas, char) for char in two], axis=1)
    seam = pair[:, atlas.face.cell[0] - 1] + pair[:, atlas.face.cell[0]]
    whole = glyph(atlas, one)
    assert seam.sum() < whole[:, whole.shape[1] // 2].sum()


def test_case_001_reads_back():
    text = (case("001") / "input.txt").read_text(encoding="utf-8")
    assert round_trip(text) == text
    for result in case_results("001"):
        assert round_trip(result) == result


# --- 002: payloads in text


def test_case_002_payload_is_replaced_whole():
    transcript = snapshot.load(case("002") / "input.json")
    source = source_of(transcript)
    raw = json.loads((case("002") / "input.json").read_text(encoding="utf-8"))
    payload = re.search(r"base64,([A-Za-z0-9+/=]{64,})", tool_results(raw)[0])
    assert payload
    for at in range(0, len(payload[1]) - 64, 16):
        assert payload[1][at : at + 64] not in source.text
    assert "✂image/png, 2600 bytes✂" in source.text
    assert "focus score 0.912, horizon tilt -0.4 deg" in source.text
    assert "saved as frames/cam2-0007.png" in source.text
    prose = raw[6]["content"]
    assert prose in source.text
    assert {(item.media_type, item.size) for item in source.elisions} >= {("image/png", 2600)}


# --- 003: emoji and surrogates


def test_case_003_every_cut_decodes():
    """At every length: never a piece that starts within a cluster, and always valid UTF-8 outside."""
    (text,) = case_results("003")
    assert round_trip(text, 60) == text
    for length in range(1, len(text)):
        assert round_trip(text[:length], 60) == text[:length]


def test_case_003_clusters_stay_whole():
    from wcwidth import iter_graphemes

    (text,) = case_results("003")
    clusters = {0}
    for cluster in iter_graphemes(text):
        clusters.add(max(clusters) + len(cluster))
    setting = Typesetter(small(60, 1))
    for page in setting.pages(Source(text)):
        assert page.start in clusters


def test_case_003_sequences_print_apart():
    sequences = [
        "👩‍👩‍👧‍👦",
        "🇵🇹",
        "👍🏽",
        "1️⃣",
        "❤️‍🔥",
        "✅",
        "❌",
        "⚠️",
        "🚀",
        "⚠",
        "❤",
        "1",
        "👍",
        "👩",
        "\ud83d",
        "\ud83e",
    ]
    printed = [page_text(sequence) for sequence in sequences]
    assert len(set(printed)) == len(sequences)
    assert not any("?" in text or "□" in text or not text.strip() for text in printed)


# --- 004: wide characters


@pytest.mark.parametrize("columns", [*range(20, 40), 63, 64, 65, 119, 120, 200])
def test_case_004_wide_never_straddles(columns):
    text = (case("004") / "input.md").read_text(encoding="utf-8")
    assert round_trip(text, columns) == text


def test_case_004_nothing_is_normalised():
    for one, other in (("\u3000", "  "), ("ＡＢＣ", "ABC"), ("ﾊﾟ", "パ"), ("ｶ", "カ")):
        assert page_text(one) != page_text(other)
        assert round_trip(one) == one
    assert round_trip("ﾊﾟ") == "ﾊﾟ"


def test_case_004_wide_takes_two_cells_and_half_width_one():
    pytest.importorskip("noto_cjk_sans_jp_regular", reason="the extra `cjk` is not installed")
    setting = Typesetter(layout_for("claude-opus-4-8"))
    atlas = setting.atlas(Source("漢字カｶ한Ａ"))
    assert [int(atlas.cells[ord(char)]) for char in "漢字カｶ한Ａ"] == [2, 2, 2, 1, 2, 2]


def test_case_004_token_estimate():
    from snapshot.models.tokens import text_tokens

    text = (case("004") / "input.md").read_text(encoding="utf-8")
    for model in ("claude-opus-4-8", "gpt-5.5", "gemini-3-pro"):
        reader = layout_for(model).reader
        assert text_tokens("漢字" * 100, reader) >= 100
        assert 206 <= text_tokens(text, reader) <= 824  # a public vocabulary counts 412


# --- 005: terminal escapes


def test_case_005_escapes_go_and_text_stays():
    (text,) = case_results("005")
    expected = (case("005") / "expected.txt").read_text(encoding="utf-8")
    folded = fold(text)
    assert folded.text.rstrip("\n") == expected.rstrip("\n")
    assert folded.counts["control sequences"] > 100
    assert round_trip(text) == folded.text


SEQUENCES = [
    "\x1b[36m", "\x1b[38;2;1;2;3m", "\x9b1;31m", "\x1b]0;title\x07", "\x1b]8;;http://x\x1b\\", "\x1b(B", "\x1b[K",
    "\x1bP+q544e\x1b\\", "\x1b7", "\x1bM", "\x90q\x9c", "\x9d2;t\x9c", "\x1b_app\x1b\\", "\x1b[?25l", "\x1b[4:3m",
]  # fmt: skip
LIKE_SEQUENCES = [
    "plain",
    "[36m",
    "]0;",
    "8;;",
    "\\x1b[0m",
    "arr[31m]",
    "\r\n",
    "\n",
    "\t",
    " ",
    "é",
    "漢",
]


@given(st.lists(st.sampled_from(SEQUENCES + LIKE_SEQUENCES)))
def test_only_whole_sequences_go(pieces):
    """Whatever stands around them, complete sequences vanish and everything else stays."""
    kept = [piece for piece in pieces if piece not in SEQUENCES]
    assert fold("".join(pieces)).text == "".join(kept).replace("\r\n", "\n")


@given(st.text(st.sampled_from("\x1b\x9b\x9d\x90[]()PX^_\\?;:mKHx0189 \x07\x9c\x00\r\n\t\ufffdé")))
def test_folding(text):
    """Twice is once, no control is left but tab and newline, and every offset leads back to its character."""
    folded = fold(text)
    assert fold(folded.text).text == folded.text
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", folded.text)
    for at, char in enumerate(folded.text):
        origin = text[folded.source_offset(at)]
        assert (
            origin == char
            or (char == "\n" and origin == "\r")
            or (char == " " and re.match(r"[\x00-\x1f\x7f-\x9f]", origin))
        )
    offsets = [folded.source_offset(at) for at in range(len(folded.text))]
    assert folded.folded_offsets(np.array(offsets, np.int64)).tolist() == list(range(len(folded.text)))
    assert all(count > 0 for count in folded.counts.values())


def test_a_string_that_never_ends_swallows_nothing():
    text = "\x1b]0;title without end\nok table users \x9f c1 end\n" + "\x9d" * 500_000 + "tail"
    folded = fold(text)  # were the work quadratic, this would not end
    assert "]0;title without end\nok table users" in folded.text
    assert folded.text.endswith(" tail")


# --- 006: indentation


@pytest.mark.parametrize("name", ["ledger.py.txt", "compose.yml.txt", "prices.txt"])
def test_case_006_is_equal_byte_for_byte(name):
    data = (case("006") / name).read_bytes()
    assert round_trip(data.decode("utf-8")).encode("utf-8") == data


def test_case_006_indentation_is_told_by_the_page_alone():
    printed = page_text((case("006") / "ledger.py.txt").read_text(encoding="utf-8"))
    assert "↵❶❷self.log.append(e)" in printed
    assert "↵❶❻self.total += e.amount" in printed
    assert "↵↵" in printed
    assert "\n" not in printed
    assert '"a  b"' in page_text((case("006") / "compose.yml.txt").read_text(encoding="utf-8"))


@given(st.text(st.sampled_from(" \n\ta⓿❶❾"), max_size=300))
def test_blanks_survive(text):
    assert round_trip(text, 40) == text


# --- 007: forged marks


def test_case_007_reads_back():
    text = (case("007") / "input.txt").read_text(encoding="utf-8")
    assert round_trip(text) == fold(text).text


@pytest.mark.parametrize("mark", [*marks.PAGE_MARKS, marks.PAD, marks.END])
def test_no_mark_can_be_forged(mark):
    for text in (mark, f"a{mark}b", f"{mark * 3}\n", f"⟦{ord(mark):X}⟧{mark}", f"    {mark}12"):
        assert round_trip(text) == text
        said, genuine = decode(page_text(text))
        assert (said, genuine) == (text, ())


@given(st.text(st.sampled_from(marks.PAGE_MARKS + marks.PAD + marks.END + " \n1F0.user"), max_size=80))
def test_text_made_of_marks(text):
    assert round_trip(text, 30) == text


def test_case_007_no_role_is_forged():
    """The pages show one user, call, result, assistant and user: what looks like more is content."""
    source = source_of(snapshot.load(case("007") / "input.json"))
    heads = [source.text[at + 1 :].split("\n")[0] for at in source.marks if source.text[at] == marks.SCOPE]
    assert heads == ["user", "call 1 Bash‣command=cat notes/marks.txt", "result 1", "assistant", "user"]
    setting = Typesetter(layout_for("claude-opus-4-8"))
    pages = list(setting.pages(source))
    (said,) = read_back(setting, source, pages)
    folded = fold(source.text)
    assert list(said.marks) == folded.folded_offsets(np.array(source.marks, np.int64)).tolist()


@given(st.lists(st.text(st.sampled_from("⁋‣✂ user\n:=1result"), max_size=30), min_size=1, max_size=6))
def test_entries_cannot_be_forged(contents):
    """From pages alone, the entries of a conversation are told from words that imitate them."""
    messages = tuple(
        Message("user", (Text(content + "."),))
        if number % 2
        else Message("tool", (ToolResult("", (Text(content + "."),)),))
        for number, content in enumerate(contents)
    )
    source = source_of(Transcript(messages, "anthropic"))
    setting = Typesetter(small(40, 6))
    text, scopes, length = "", [], 0
    for said in read_back(setting, source, list(setting.pages(source))):
        text += said.text
        scopes += [length + at for at in said.marks]
        length = len(text)
    bodies = [text[start:stop] for start, stop in zip(scopes, [*scopes[1:], len(text)], strict=True)]
    heads = ["⁋user\n" if number % 2 else "⁋result ?\n" for number in range(len(contents))]
    assert bodies == [head + content + ".\n" for head, content in zip(heads, contents, strict=True)]


# --- 008: invisible characters


def test_case_008_reads_back_in_logical_order():
    text = (case("008") / "input.txt").read_text(encoding="utf-8")
    assert round_trip(text) == text
    printed = page_text(text)
    for code in ("202E", "2066", "2069", "200B", "FEFF", "AD", "2060"):
        assert f"⟦{code}⟧" in printed


@pytest.mark.parametrize(
    "code", [0x200B, 0x200C, 0x200D, 0xFEFF, 0xAD, 0x2060, 0x202E, 0x2066, 0x2003, 0x3000, 0xA0, 0xFE0F]
)
def test_invisible_characters_change_the_page(code):
    pages = [
        next(snapshot.render(text, model="claude-opus-4-8")).png
        for text in ("a b", f"a{chr(code)} b", f"a {chr(code)}b")
    ]
    assert len(set(pages)) == 3


def test_case_008_combining_marks_stay_in_their_cells():
    """A stack changes the pixels of its own unit only: what stands around it is the same."""
    setting = Typesetter(small(40, 3))
    source = Source("aZ\u0351\u036b\u0343\u036a\u0302\u0348\u032a\u034db" + "c" * 50)
    plain = Source("aZ" + "x" * 35 + "b")
    atlas = setting.atlas(source)
    (grid,) = set_pages(source, atlas, 40, 3)
    (other,) = set_pages(plain, atlas, 40, 3)
    assert grid.cells[0, :2].tolist() == other.cells[0, :2].tolist()
    assert round_trip("café cafe\u0301 \u212b \u00c5 A\u030a") == "café cafe\u0301 \u212b \u00c5 A\u030a"


# --- 009: one long line


def bundle(tmp_path: Path) -> str:
    target = tmp_path / "input.json"
    subprocess.run([sys.executable, case("009") / "make_input.py", target], check=True)
    (text,) = tool_results(json.loads(target.read_text(encoding="utf-8")))
    return text


def test_case_009_flows_without_marks(tmp_path):
    text = bundle(tmp_path)
    assert len(text) >= 400_000
    assert round_trip(text) == text
    printed = page_text(text)
    assert printed == text
    assert sum(page.chars for page in snapshot.render(text, model="gpt-5.5")) == len(text)


# --- 010: binary bytes


def test_case_010_nothing_is_cut_at_a_nul():
    text, _ = case_results("010")
    folded = fold(text)
    assert "ok table users id name" in folded.text
    assert " end " in folded.text
    assert "\ufffd\ufffd" in folded.text
    assert folded.counts["control characters"] > 20
    assert round_trip(text) == folded.text
    # No two words are glued where a control stood between them.
    for control in range(0x20):
        if control not in (9, 10, 13, 27):
            assert fold(f"bell{chr(control)}bs").text == "bell bs"
