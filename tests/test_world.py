"""Scripts of the world: what is drawn, that it reads back, and that nothing behind it changes it."""

from __future__ import annotations

import itertools
import json
import unicodedata
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cli
from snapshot.errors import PageError
from snapshot.pages import folder
from snapshot.pages.layout import layout_for
from snapshot.pages.manifest import Manifest
from snapshot.pages.render import Typesetter
from snapshot.raster import face as face_module
from snapshot.raster.atlas import Atlas, atlas_for
from snapshot.raster.face import load_face
from snapshot.source.source import Source
from snapshot.typeset.arabic import AFTER, BEFORE, joining_type
from snapshot.typeset.fold import fold
from snapshot.typeset.missing_glyphs import missing_glyphs, uncovered
from snapshot.typeset.pagetext import decode, encode
from snapshot.typeset.shaped import ShapedCluster
from tests.conftest import read_back, small

pytest.importorskip("manimgx_fonts", reason="the extra `world` is not installed")
pytest.importorskip("uharfbuzz", reason="the extra `world` is not installed")

SAMPLES = {
    "ARABIC": "السلام عليكم، كيف الحال؟ لا إله، گچپژ می‌خواهم ١٢٣",
    "HEBREW": "שלום עולם עִבְרִית",
    "DEVANAGARI": "नमस्ते क्षत्रिय विश्वविद्यालय हूँ र्कू।",
    "BENGALI": "বাংলা ভাষা বিশ্ববিদ্যালয়",
    "GURMUKHI": "ਪੰਜਾਬੀ ਭਾਸ਼ਾ",
    "GUJARATI": "ગુજરાતી ક્ષેત્ર",
    "TAMIL": "தமிழ் மொழி கொடு",
    "TELUGU": "తెలుగు భాష జన్మతః",
    "KANNADA": "ಕನ್ನಡ ಭಾಷೆ",
    "MALAYALAM": "മലയാളം സ്വാതന്ത്ര്യം",
    "SINHALA": "සිංහල මනුෂ්‍යයෝ",
    "ORIYA": "ଓଡ଼ିଆ ଭାଷା",
    "THAI": "สวัสดี ที่นี่ กำลัง ปู่ย่า",
    "LAO": "ສະບາຍດີ",
    "KHMER": "ខ្មែរ សេរីភាព",
    "MYANMAR": "မြန်မာ လူတိုင်းသည်",
    "ETHIOPIC": "አማርኛ",
    "GEORGIAN": "ქართული",
    "ARMENIAN": "Հայերեն",
    "LATIN": "Tiếng Việt rất đẹp, x̄ ŷ q̃",
}
PIECES = [
    *" ,.()[]«»-/0159", "  ", "\n", "word", "⟦", "🚀", "👩‍💻", "e\u0301", "漢", "한", "ﾊﾟ",
    "\u200c", "\u200d", "\u200f",
    "\u064e", "\u05b0", "\u094d", "ل", "ا", "لا", "ي", "ی",
    *(word for text in SAMPLES.values() for word in text.split()),
]  # fmt: skip
BLOCKS = st.one_of(
    *(
        st.characters(min_codepoint=low, max_codepoint=high)
        for low, high in ((0x590, 0x77F), (0x900, 0xDFF), (0xE00, 0xEFF), (0x1000, 0x109F), (0x1780, 0x17FF))
    )
)
texts = st.lists(st.one_of(st.sampled_from(PIECES), st.text(BLOCKS, max_size=6)), max_size=60).map("".join)
NAMES = ("claude-standard", "claude-standard/dense", "gemini-3/lines")


def atlas_of(text: str, face: str = "fira-9x16") -> Atlas:
    loaded = load_face(face)
    return atlas_for(loaded, missing_glyphs(text, atlas_for(loaded)))


@pytest.mark.parametrize("face", ["fira-8x16", "fira-9x16"])
@pytest.mark.parametrize("script", SAMPLES)
def test_every_script_is_drawn(script, face):
    text = SAMPLES[script]
    atlas = atlas_of(text, face)
    assert uncovered(text, atlas) == {}
    assert "⟦" not in encode(text, atlas).text
    assert script in {name.split()[0] for char in text if (name := unicodedata.name(char, ""))}


@given(texts, st.integers(20, 90), st.sampled_from(NAMES))
def test_any_mixture_reads_back(text, columns, name):
    setting = Typesetter(small(columns, 5, name))
    source = Source(text)
    pages = list(setting.pages(source))
    assert "".join(said.text for said in read_back(setting, source, pages)) == fold(text).text


@given(texts, texts)
def test_what_comes_behind_changes_no_full_page(before, more):
    setting = Typesetter(small(24, 3))
    old = [page.png for page in setting.pages(Source(before + "\n"))]
    new = [page.png for page in setting.pages(Source(before + "\n" + more))]
    assert new[: len(old) - 1] == old[:-1]
    base = atlas_for(setting.face)
    first = missing_glyphs(before + "\n", base)
    assert missing_glyphs(before + "\n" + more, base)[: len(first)] == first


@given(texts)
def test_no_two_glyphs_can_be_taken_for_each_other(text):
    atlas = atlas_of(text)
    first = np.flatnonzero(atlas.codes >= 0)
    sizes = np.diff(first, append=atlas.codes.size)
    narrow = {atlas.ink[glyph].tobytes() for glyph in first[sizes == 1].tolist()}
    assert len(narrow) == int((sizes == 1).sum())
    wide = [
        [part.tobytes() for part in atlas.ink[glyph : glyph + size]]
        for glyph, size in zip(first[sizes > 1].tolist(), sizes[sizes > 1].tolist(), strict=True)
    ]
    assert narrow.isdisjoint(itertools.chain.from_iterable(wide))
    beginnings = {tuple(parts[:size]) for parts in wide for size in range(1, len(parts))}
    whole = [tuple(parts) for parts in wide]
    assert len(set(whole)) == len(whole)
    assert beginnings.isdisjoint(whole)


def test_atlases_grow_by_what_is_needed():
    text = SAMPLES["DEVANAGARI"] + SAMPLES["HEBREW"]
    alone, more = atlas_of(SAMPLES["DEVANAGARI"]), atlas_of(text)
    assert more.extra[: len(alone.extra)] == alone.extra
    assert (more.ink[: len(alone.ink)] == alone.ink).all()
    assert [helper.name for helper in more.face.fallback] == [
        "noto-world/hebrew",
        "noto-world/devanagari",
    ]
    assert atlas_of("plain, é — → А").extra == ()
    assert missing_glyphs("plain " * 9, atlas_for(load_face("fira-9x16"))) == ()


# --- Arabic


def test_joining_types_are_those_of_the_shaping_library():
    import uharfbuzz

    library: Any = uharfbuzz
    face = load_face("fira-9x16")
    arabic = next(helper for helper in face.fallback if helper.name.endswith("/arabic"))
    font = library.Font(library.Face(library.Blob.from_file_path(str(arabic.path))))

    def beh(before: str, after: str) -> list[int]:
        """The glyphs of a beh between two letters."""
        buffer = library.Buffer()
        buffer.add_str(f"{before}ب{after}", len(before), 1)
        buffer.guess_segment_properties()
        library.shape(font, buffer)
        return [info.codepoint for info in buffer.glyph_infos]

    alone = beh("", "")
    for code in (*range(0x620, 0x700), *range(0x750, 0x780)):
        char = chr(code)
        if unicodedata.category(char) == "Lo":
            found = AFTER * (beh(char, "") != alone) | BEFORE * (beh("", char) != alone)
            assert joining_type(char) == found, f"U+{code:04X}"


def test_letters_have_the_form_of_their_place():
    atlas = atlas_of("ببب ب لا سلام")
    first, middle, last = (ShapedCluster("ب", form) for form in (AFTER, AFTER | BEFORE, BEFORE))
    assert {first, middle, last, ShapedCluster("لا"), ShapedCluster("لا", BEFORE)} <= atlas.units.keys()
    assert atlas.cells[ord("ب")], "the form of a letter that stands alone"
    # What joins reaches the edge of its cells: right to left, so the next letter is at the left.
    for unit, left, right in ((first, True, False), (middle, True, True), (last, False, True)):
        number = atlas.units[unit]
        ink = np.concatenate(atlas.ink[atlas.glyphs[number] :][: atlas.cells[number]], axis=1)
        assert (ink[:, 0].any(), ink[:, -1].any()) == (left, right)


def test_a_word_is_printed_in_its_forms():
    atlas = atlas_of("سلام")
    word = [ShapedCluster("س", AFTER), ShapedCluster("لا", BEFORE)]
    printed = encode("سلام", atlas)
    assert printed.codes.tolist() == [*(atlas.units[unit] for unit in word), ord("م")]
    assert printed.text == "سلام"


def test_farsi_yeh_is_told_from_arabic_yeh_by_a_dot():
    atlas = atlas_of("يا یا")
    one, other = (atlas.ink[atlas.glyphs[atlas.units[ShapedCluster(char, 2)]]] for char in "يی")
    assert int((one != other).sum()) == 1


# --- marks and spellings


def test_decomposed_letters_are_drawn_composed_with_a_dot():
    text = "Zu\u0308rich Zürich \u1112\u1161\u11ab 한 か\u3099が"
    atlas = atlas_of(text)
    for cluster in ("u\u0308", "\u1112\u1161\u11ab"):
        composed = ord(unicodedata.normalize("NFC", cluster))
        if not atlas.cells[composed]:
            continue  # the extra `cjk` is not installed
        number = atlas.units[ShapedCluster(cluster)]
        one = atlas.ink[atlas.glyphs[number] : atlas.glyphs[number] + atlas.cells[number]]
        other = atlas.ink[atlas.glyphs[composed] : atlas.glyphs[composed] + atlas.cells[composed]]
        assert int((one != other).sum()) == 1
        assert (one != other)[0, -1].sum() == 1, "in the lowest row of its first cell"


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("a\u200db", "a⟦200D⟧b"),
        ("c\u200cd", "c⟦200C⟧d"),
        ("漢\ufe00", "漢⟦FE00⟧"),
        ("שלום\u200f", "שלום⟦200F⟧"),
        ("\u202eabc", "⟦202E⟧abc"),
        ("e\u034f", "e⟦34F⟧"),
        ("می\u200cخوا", "می\u200cخوا"),
    ],
)
def test_invisible_characters_are_marks_but_where_letters_join(text, printed):
    if ord(text[0]) == ord("漢"):
        pytest.importorskip("noto_cjk_sans_jp_regular", reason="the extra `cjk` is not installed")
    assert encode(text, atlas_of(text)).text == printed


def test_symbols_that_are_emoji_only_with_a_selector_are_drawn():
    text = "☂ ☂\ufe0f"
    assert encode(text, atlas_of(text)).text == "☂ ⟦umbrella⟧"


def test_stacks_that_fit_no_cell_are_code_points():
    assert encode("a\u0301\u0301 ", atlas_of("a\u0301\u0301 ")).text == "a⟦301.301⟧ "
    text = "x\u0304\u0301\u0306\u0302\u0300\u0303"
    assert encode(text, atlas_of(text)).text.startswith("x⟦304.301.")


@pytest.mark.parametrize("face", ["drawn-6x11", "drawn-9x16", "drawn-11x16"])
def test_stacks_of_marks_of_any_script_are_drawn_or_told(face):
    """However high a stack stands above its cell: it is drawn whole, or in code points."""
    marks = {0x300: [0x300 + at for at in range(10)]}
    for block in (0x590, 0x600, *range(0x900, 0xE00, 0x80), 0xE00, 0xE80, 0x1000, 0x1780):
        codes = [
            code for code in range(block, block + 0x80) if unicodedata.category(chr(code)) in ("Mn", "Lm")
        ]
        marks[next(code for code in range(block + 5, block + 0x80) if chr(code).isalpha())] = codes
    stacks = [
        chr(letter) + "".join(map(chr, codes[at : at + size]))
        for letter, codes in marks.items()
        for size in (1, 3, 8)
        for at in range(0, len(codes), size)
    ]
    stacks.append("\u0e46\u0e47\u0e48\u0e49\u0e4a\u0e4b\u0e4c\u0e4d\u0e4e")
    text = " ".join(stacks)
    atlas = atlas_of(text, face)
    assert decode(encode(text, atlas).text)[0] == text


# --- folders


def test_folders_read_back_and_know_what_they_need(tmp_path: Path, monkeypatch):
    source = Source("\n".join(SAMPLES.values()) + "\n")
    setting = Typesetter(layout_for("claude-opus-4-8"))
    manifest = folder.write(tmp_path / "pages", source, setting)
    assert folder.check(tmp_path / "pages", manifest) == []
    assert manifest.source.code_points == {}
    assert "noto-world/thai" in manifest.layout.helpers
    monkeypatch.setattr(face_module, "can_shape", lambda: False)
    with pytest.raises(PageError, match=r"noto-world/.*not here: pip install 'snapshot-pages\[world\]'"):
        folder.open_pages(tmp_path / "pages", manifest)


def test_what_is_missing_is_said_once(tmp_path: Path, monkeypatch, capsys):
    (tmp_path / "a.txt").write_text("שלום नमस्ते plain 🚀\n" * 3, encoding="utf-8")
    monkeypatch.setattr(face_module, "can_shape", lambda: False)
    assert cli.main(["render", str(tmp_path / "a.txt"), "-o", str(tmp_path / "pages")]) == 0
    (note,) = [line for line in capsys.readouterr().err.splitlines() if "code points" in line]
    assert "30 characters (DEVANAGARI, HEBREW)" in note
    assert "snapshot-pages[world]" in note


def test_a_font_without_latin_letters_helps_out(tmp_path: Path):
    hebrew = next(helper for helper in load_face("fira-9x16").fallback if helper.name.endswith("/hebrew"))
    path = tmp_path / "own.ttf"
    path.write_bytes(hebrew.path.read_bytes())
    source = Source("abc שלום\n")
    manifest = folder.write(tmp_path / "pages", source, Typesetter(layout_for("gpt-5.5"), font=path))
    assert manifest.layout.helpers == ("own.ttf",)
    assert folder.check(tmp_path / "pages", Manifest.from_json(manifest.to_json()), font=path) == []


def test_pages_of_any_script_can_be_verified(tmp_path: Path, capsys):
    folder.write(
        tmp_path / "pages", Source("\n".join(SAMPLES.values())), Typesetter(small(60, 12, "claude-high"))
    )
    assert cli.main(["verify", str(tmp_path / "pages")]) == 0
    assert "Traceback" not in capsys.readouterr().err


def test_compaction_says_what_is_missing(tmp_path: Path, monkeypatch, capsys):
    turns = [
        {"role": role, "content": text * 400}
        for _ in range(6)
        for role, text in (("user", "go on, "), ("assistant", "שלום 🚀 and so on, "))
    ]
    (tmp_path / "a.json").write_text(json.dumps(turns), encoding="utf-8")
    monkeypatch.setattr(face_module, "can_shape", lambda: False)
    wanted = [
        "compact",
        str(tmp_path / "a.json"),
        "-m",
        "claude-opus-4-8",
        "--target",
        "9000",
        "-o",
        str(tmp_path / "r.json"),
    ]
    assert cli.main(wanted) == 0
    said = capsys.readouterr()
    assert "as codes   " in said.out
    assert "HEBREW" in said.out
    assert said.err.count("snapshot-pages[world]") == 1


@pytest.mark.parametrize(("key", "value"), [("helpers", 1), ("glyphs", None), ("glyphs", ["a"])])
def test_damaged_lists_are_one_line(tmp_path: Path, key, value):
    manifest = folder.write(tmp_path / "pages", Source("שלום"), Typesetter(layout_for("gpt-5.5")))
    damaged = manifest.as_dict()
    damaged["layout"][key] = value
    with pytest.raises(PageError, match=rf"layout\.{key}"):
        Manifest.from_json(json.dumps(damaged).encode())


WORDS = st.sampled_from(
    [word for text in SAMPLES.values() for word in text.split()] + ["a ", "\n", "🚀", "漢", "e\u0301"]
)


@given(st.lists(WORDS, min_size=20, max_size=80).map(" ".join))
def test_a_span_from_a_page_on_has_the_same_pages(text):
    """Compaction measures a whole and renders spans of it; a word that a page tears keeps its forms."""
    setting, source = Typesetter(small(24, 2)), Source(text)
    pages = list(setting.pages(source))
    rest = list(setting.pages(source, start=pages[1].start)) if len(pages) > 1 else []
    assert [page.png for page in rest] == [page.png for page in pages[1:]]
