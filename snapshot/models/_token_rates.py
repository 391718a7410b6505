"""What text costs by kind of character, for `snapshot.models.tokens`: by pairs of neighbours.

A byte-pair vocabulary has a token for what is frequent. Where two characters that stand together are
frequent neighbours (letters of a word, blanks, a ruled line), they share a token; where they are not (a digit
in a hexadecimal number, a capital in base64) a new one begins. So a text's cost is close to a sum over its
pairs of neighbours, by their kinds. Rates are the same for a pair and the pair turned round.

Fitted by least squares of the relative error (2026-11) to the counts of public tokenizers on half of a corpus
of 32 kinds of text, each with the same weight: licences, documentation, Python, JavaScript, C, JSON, HTML,
logs, listings of folders, random hexadecimal and base64 text, numbers, tables and others. Letters are told
apart by how often they are neighbours in that corpus. On the other half the mean error of a kind is 3 to 5 %
by vocabulary, where one ratio for all text errs by 34 to 53 %: hexadecimal and base64 text cost twice to three
times what it says. On three real runs of agents, which nothing was fitted to, estimates of calls, results and
words are 2 % below to 12 % above the count; by one ratio 22 % below to 39 % above.
"""

from __future__ import annotations

__all__ = ["FOREIGN", "LESS_FREQUENT", "RATES", "RATIOS", "USUAL", "VOCABULARIES"]

VOCABULARIES = ("o200k_base", "qwen3", "claude-new", "claude-old")
"""Columns of the tables. Llama 3's vocabulary was fitted together with o200k, which it is close to."""

RATIOS = (3.7, 3.8, 2.3, 3.0)
"""Characters per token of common agents' text, at which the rates hold; other ratios scale them."""

USUAL = (
    "ab ac ad ae ag ah ai al am an ap ar as at be bi bu ce ch ci co cr ct de di dn do ef eg eh ei el em "
    "en ep er es et ev ex fi fo gi gn hi ht il im in io ir is it ll lo lu mo mp no ns nt nu op or os ot "
    "ou pr ps pt py rs rt ru ss st su tu ty "
)
"""Letters that are neighbours most often, in either order: four fifths of what occurs."""

LESS_FREQUENT = (
    "af ak au av aw ax ay bl bo br by ck cl cn cs cu cy dd dl dp dr ds du ee ej ek eo eq eu ew ey ez ff "
    "fl fn fr ft fu gh gl go gr gs gu ho hr hs hw ik ip iu iv iw ix iz js kn kr ks lm ln lp ls lt ly mm "
    "mr ms mu np nr nv ny oo ov ow oy pp pu qu rr rw ry sy tt tw tx "
)
"""The next sixth of what occurs; all others are rare."""

RATES: dict[str, tuple[int, int, int, int]] = {
    "blank bracket": (54, 61, 31, 37),
    "blank digit": (125, 125, 125, 125),
    "blank joint": (125, 125, 125, 125),
    "blank line": (60, 45, 88, 115),
    "blank lower": (19, 20, 11, 8),
    "blank sign": (72, 71, 74, 67),
    "blank upper": (10, 10, 40, 10),
    "bracket bracket": (20, 20, 20, 20),
    "bracket digit": (87, 101, 92, 83),
    "bracket joint": (125, 125, 125, 125),
    "bracket line": (31, 32, 20, 36),
    "bracket lower": (48, 49, 125, 67),
    "bracket sign": (87, 76, 125, 104),
    "bracket upper": (89, 61, 125, 105),
    "digit digit": (33, 103, 33, 33),
    "digit joint": (89, 104, 85, 87),
    "digit line": (35, 65, 44, 53),
    "digit lower": (85, 90, 95, 87),
    "digit sign": (125, 125, 125, 125),
    "digit upper": (81, 85, 92, 84),
    "joint joint": (52, 58, 20, 20),
    "joint line": (30, 20, 125, 108),
    "joint lower": (38, 33, 85, 66),
    "joint sign": (88, 107, 125, 125),
    "joint upper": (20, 26, 125, 125),
    "line line": (40, 40, 40, 40),
    "line lower": (90, 89, 94, 63),
    "line sign": (20, 20, 89, 20),
    "line upper": (10, 10, 10, 10),
    "lower lower less": (58, 59, 74, 85),
    "lower lower rare": (72, 73, 114, 85),
    "lower lower usual": (6, 6, 20, 7),
    "lower sign": (48, 49, 3, 56),
    "lower upper less": (125, 125, 125, 125),
    "lower upper rare": (89, 99, 120, 125),
    "lower upper usual": (10, 10, 51, 29),
    "same blank": (3, 3, 5, 9),
    "same bracket": (3, 3, 3, 3),
    "same joint": (3, 3, 27, 6),
    "same line": (5, 3, 3, 3),
    "same sign": (3, 3, 3, 3),
    "sign sign": (20, 20, 62, 20),
    "sign upper": (125, 125, 125, 125),
    "upper upper less": (77, 20, 125, 41),
    "upper upper rare": (67, 94, 105, 125),
    "upper upper usual": (23, 33, 75, 29),
}
"""Hundredths of a token by the kinds of two neighbours, in order; `same` for one character twice."""

FOREIGN: tuple[tuple[int, tuple[int, int, int, int]], ...] = (
    (0x24F, (110, 160, 200, 160)),  # Latin with accents
    (0x7FF, (42, 60, 70, 65)),  # Greek, Cyrillic, Hebrew, Arabic
    (0x1FFF, (45, 110, 95, 95)),  # Indic scripts, Thai, Georgian
    (0x2FFF, (100, 90, 150, 140)),  # punctuation, arrows, mathematics, boxes
    (0xFFFF, (85, 82, 115, 110)),  # Chinese, Japanese, Korean
    (0x10FFFF, (200, 150, 250, 250)),  # emoji
)
"""Hundredths of a token of a character outside ASCII, by the highest code point of its class.

Measured on messages of programs in 18 languages (2026-11); accents include what words of other languages than
English cost more.
"""
