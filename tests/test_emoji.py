"""Emoji by name, and back."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snapshot._resources import locate
from snapshot.errors import PageError
from snapshot.typeset.emoji import emoji_of, name_of
from snapshot.typeset.pagetext import decode, encode
from tests.conftest import case_results


def listed() -> dict[str, str]:
    """Emoji and names of the data file."""
    lines = (locate("fonts") / "emoji-names.txt").read_text(encoding="utf-8").splitlines()
    pairs = [line.partition(" ") for line in lines if line and not line.startswith(";")]
    return {"".join(chr(int(code, 16)) for code in codes.split(".")): name for codes, _, name in pairs}


def test_every_name_gives_its_emoji():
    names = listed()
    assert len(names) > 1390
    assert len(set(names.values())) == len(names)
    for emoji, name in names.items():
        assert name_of(emoji) == name
        assert emoji_of(name) == emoji
        assert len(name) <= 30
        assert not re.fullmatch(r"[0-9A-F.]+", name)
        base, *style = emoji
        assert style in ([], ["\ufe0f"])
        if style:
            assert name_of(base) is None, "printed by its glyph or its code point"


@pytest.mark.parametrize(
    ("emoji", "name"),
    [
        ("🚀", "rocket"),
        ("✅", "check"),
        ("⚠\ufe0f", "warning"),
        ("👍🏿", "thumbsup 5"),
        ("👩‍💻", "woman+laptop"),
        ("👨🏽‍🦰", "man 3+red hair"),
        ("👩‍👩‍👧‍👦", "woman+woman+girl+boy"),
        ("❤\ufe0f\u200d🔥", "heart+fire"),
        ("🇵🇹", "flag PT"),
        ("🏴\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f", "flag gbsct"),
        ("#\ufe0f\u20e3", "keycap #"),
        ("☝🏻", "point up 1"),
    ],
)
def test_sequences(emoji, name):
    assert name_of(emoji) == name
    assert emoji_of(name) == emoji


parts = st.sampled_from(
    [*list(listed())[::40], "\u200d", "\ufe0f", "\ufe0e", "🏻", "🏿", "👍", "☝", "❤", "🇵", "🇹", "🏴",
     "1", "\u20e3", "\U000e0067", "\U000e007f", "a", "♀", "♀\ufe0f", "👩"]
)  # fmt: skip


@given(st.lists(parts, min_size=1, max_size=6).map("".join))
def test_a_name_is_one_sequence(cluster):
    name = name_of(cluster)
    if name is not None:
        assert emoji_of(name) == cluster


@pytest.mark.parametrize("name", ["no such thing", "rocket 6", "rocket 0", "+", "rocket+", "rocket 12"])
def test_unknown_names_are_one_line(name):
    with pytest.raises(PageError, match="no emoji is called"):
        emoji_of(name)


def test_case_003_prints_names_and_decodes(plain_atlas):
    (text,) = case_results("003")
    printed = encode(text, plain_atlas)
    for name in (
        "check",
        "cross",
        "warning",
        "rocket",
        "flag PT",
        "thumbsup 3",
        "keycap 1",
        "heart+fire",
    ):
        assert f"⟦{name}⟧" in printed.text
    assert "⟦D83D⟧" in printed.text
    assert "200D" not in printed.text
    assert decode(printed.text) == (text, ())


def test_names_wider_than_a_row_are_code_points(plain_atlas):
    assert encode("👩‍👩‍👧‍👦", plain_atlas, widest=20).text.startswith("⟦1F469⟧")


@pytest.fixture(scope="module")
def plain_atlas():
    from snapshot.raster.atlas import atlas_for
    from snapshot.raster.face import load_face

    return atlas_for(load_face("fira-9x16"))
