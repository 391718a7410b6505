"""Estimates of text: close to what public vocabularies count, kind by kind, and safe to search by halving."""

from __future__ import annotations

import base64
from dataclasses import replace
from hashlib import sha256
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snapshot.models import tokens
from snapshot.models.ids import profile_for
from snapshot.models.tokens import counter, most_chars, most_tokens, text_tokens

GPT, CLAUDE, QWEN = (profile_for(model) for model in ("gpt-5.6-sol", "claude-opus-4-8", "qwen3.8-max"))
READERS = (GPT, CLAUDE, QWEN, *map(profile_for, ("claude-haiku-4-5", "kimi-k3", "mistral-large-4")))

RANDOM = b"".join(sha256(bytes([n])).digest() for n in range(40))
PROSE = (
    "The keeper of the lighthouse wrote every evening into the same book how strong the wind had been, "
    "which ships had passed, and what the children had found on the beach after the storm. "
) * 6
CODE = (
    "def merge(left: list[int], right: list[int]) -> list[int]:\n    result = []\n    while left and right:\n"
    "        side = left if left[0] <= right[0] else right\n        result.append(side.pop(0))\n"
    "    return result + left + right\n\n\n"
) * 5
TEXTS = {
    "hexadecimal": RANDOM.hex(),
    "base64": base64.b64encode(RANDOM).decode(),
    "digits": "".join(str(byte) for byte in RANDOM),
    "numbers": "\n".join(f"{a},{b / 7:.3f}" for a, b in pairwise(RANDOM)),
    "uuids": "\n".join(
        f"{RANDOM[n : n + 4].hex()}-{RANDOM[n + 4 : n + 6].hex()}-4a1b-9c0d-{RANDOM[n : n + 6].hex()}"
        for n in range(0, 600, 20)
    ),
    "prose": PROSE,
    "code": CODE,
    "json": '{"id": 71, "path": "src/cache/atlas.py", "status": "ok", "lines": [12, 40], "owner": null}\n'
    * 12,
    "log": "2026-11-30T08:00:01.125Z INFO worker-3 request=9f3c took 812 ms, 3 of 40 retries left\n" * 12,
    "ruled": ("=" * 72 + "\n" + " " * 40 + "-" * 30 + "\n") * 8,
    "Chinese": "他把灯塔看守人的日记放在桌上，每天晚上写下风有多大、哪些船经过。" * 8,
    "Russian": "Смотритель маяка каждый вечер записывал в книгу, какой был ветер и какие прошли корабли. "
    * 6,
    "Hindi": "प्रकाशस्तंभ का रखवाला हर शाम किताब में लिखता था कि हवा कितनी तेज थी। " * 6,
}
# Counted with quicktok 0.4 and ctok 1.3 (2026-11).
COUNTED = {
    "hexadecimal": (1460, 2243, 1664),
    "base64": (1174, 1264, 1630),
    "digits": (1097, 3290, 1097),
    "numbers": (7673, 13182, 7673),
    "uuids": (824, 997, 909),
    "prose": (223, 229, 313),
    "code": (295, 295, 379),
    "json": (432, 468, 551),
    "log": (456, 600, 575),
    "ruled": (40, 40, 127),
    "Chinese": (209, 168, 296),
    "Russian": (139, 158, 229),
    "Hindi": (128, 361, 283),
}


@pytest.mark.parametrize("kind", TEXTS)
@pytest.mark.parametrize(
    ("reader", "vocabulary"), [(GPT, "o200k_base"), (QWEN, "qwen3"), (CLAUDE, "claude-new")]
)
def test_every_kind_of_text_is_near_what_is_counted(kind, reader, vocabulary):
    counted = COUNTED[kind][("o200k_base", "qwen3", "claude-new").index(vocabulary)]
    worst = 0.4 if kind in ("Chinese", "Russian", "Hindi", "ruled") else 0.2
    assert abs(text_tokens(TEXTS[kind], reader) / counted - 1) < worst, (kind, counted)


@pytest.mark.parametrize(
    ("text", "gpt", "claude", "qwen"),
    [
        ("", 0, 0, 0),
        ("漢字" * 100, 172, 232, 166),
        ("слово" * 40, 78, 126, 98),
        ("ngữ" * 40, 23, 43, 51),
        ("हिन्दी" * 40, 103, 218, 266),
        ("→─" * 40, 82, 122, 74),
        ("🐍" * 40, 82, 102, 62),
        ("word " * 40, 45, 92, 45),
        ("0123456789" * 40, 133, 133, 409),
        ("a0b1c2d3" * 40, 257, 305, 267),
    ],
)
def test_estimates_are_these_figures(text, gpt, claude, qwen):
    """Every class of code points at its own rate, on every machine."""
    assert (text_tokens(text, GPT), text_tokens(text, CLAUDE), text_tokens(text, QWEN)) == (gpt, claude, qwen)


words = st.one_of(
    st.text(max_size=40),
    st.text('abcXYZ019 \n-="\x7f', max_size=40),
    st.sampled_from(list(TEXTS.values())).map(lambda text: text[:200]),
)


@given(words, words, st.sampled_from(READERS))
def test_halving_may_rely_on_estimates(a, b, reader):
    whole, first, second = (text_tokens(text, reader) for text in (a + b, a, b))
    assert max(first, second) <= whole <= first + second
    assert text_tokens((a + b)[::-1], reader) == whole
    assert whole <= most_tokens(len(a + b), reader)
    assert len(a + b) <= most_chars(whole, reader)


@given(st.lists(words, max_size=6).map("".join), st.sampled_from(READERS), st.integers(1, 50))
def test_pieces_that_are_counted_at_once_do_not_show(text, reader, size):
    whole = text_tokens(text, reader)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tokens, "_AT_ONCE", size)
        assert text_tokens(text, reader) == whole


def test_the_ratio_of_the_file_scales_every_rate():
    for text in TEXTS.values():
        half = text_tokens(text, replace(GPT, chars_per_token=GPT.chars_per_token / 2))
        assert abs(half - 2 * text_tokens(text, GPT)) <= 1


def test_a_vocabulary_that_is_like_it_gives_the_rates():
    like = replace(GPT, tokenizer="", rates="qwen3", chars_per_token=QWEN.chars_per_token)
    assert text_tokens(TEXTS["digits"], like) == text_tokens(TEXTS["digits"], QWEN)
    assert profile_for("mistral-large-4").rates == "qwen3"


def test_exact_counts_only_where_they_are_asked_for(monkeypatch):
    estimated = text_tokens(PROSE, GPT)
    monkeypatch.setattr(tokens, "counter", lambda name: (lambda _: 7) if name == "o200k_base" else None)
    assert text_tokens(PROSE, GPT, exact=True) == 7
    assert text_tokens(PROSE, GPT) == estimated
    assert text_tokens(PROSE, CLAUDE, exact=True) == text_tokens(PROSE, CLAUDE)


@pytest.mark.parametrize("place", [0, 1, 2])
def test_installed_vocabularies_count_what_is_recorded(place):
    count = counter(("o200k_base", "qwen3", "claude-new")[place])
    if count is None:
        pytest.skip("no package with this vocabulary is installed")
    for kind, text in TEXTS.items():
        assert count(text) == COUNTED[kind][place]
