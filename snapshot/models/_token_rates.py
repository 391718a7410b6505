"""What text costs by kind of character, for `snapshot.models.tokens`: by pairs of neighbours.

A byte-pair vocabulary has a token for what is frequent. Where two characters that stand together are
frequent neighbours (letters of a word, blanks, a ruled line), they share a token; where they are not (a digit
in a hexadecimal number, a capital in base64) a new one begins. So a text's cost is close to a sum over its
pairs of neighbours, by their kinds. Rates are the same for a pair and the pair turned round.

Fitted by least squares of the relative error (2026-11) to the counts of public tokenizers on half of a corpus
of 35 kinds of text: licences, documentation, Python, JavaScript, C, JSON, HTML,
logs, listings of folders, random hexadecimal and base64 text, numbers, tables and others. Letters are told
apart by how often they are neighbours in that corpus. On the other half the mean error of a kind is 3 to 6 %
by vocabulary and 25 % at most, where one ratio for all text errs by 32 to 54 %: hexadecimal and base64 text
cost twice to three times what that says. On three real runs of agents, which nothing was fitted to, calls,
results and words are estimated 1 % below to 19 % above the count; by one ratio 22 % below to 39 % above.
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
    "blank bracket": (66, 69, 61, 67),
    "blank digit": (84, 111, 81, 84),
    "blank joint": (21, 20, 62, 60),
    "blank line": (20, 20, 20, 20),
    "blank lower": (39, 39, 47, 41),
    "blank sign": (54, 60, 64, 56),
    "blank upper": (20, 20, 20, 20),
    "bracket bracket": (20, 20, 37, 20),
    "bracket digit": (100, 103, 111, 100),
    "bracket joint": (50, 61, 21, 20),
    "bracket line": (20, 20, 20, 20),
    "bracket lower": (58, 61, 103, 82),
    "bracket sign": (87, 93, 125, 125),
    "bracket upper": (30, 10, 125, 43),
    "digit digit": (33, 102, 33, 33),
    "digit joint": (78, 105, 71, 77),
    "digit line": (80, 89, 82, 82),
    "digit lower": (80, 83, 95, 83),
    "digit sign": (125, 125, 125, 125),
    "digit upper": (83, 86, 90, 85),
    "joint joint": (120, 98, 20, 20),
    "joint line": (20, 20, 20, 20),
    "joint lower": (44, 36, 116, 89),
    "joint sign": (125, 106, 125, 125),
    "joint upper": (63, 55, 125, 125),
    "line line": (45, 45, 45, 45),
    "line lower": (79, 87, 58, 56),
    "line sign": (20, 20, 85, 20),
    "line upper": (10, 10, 10, 10),
    "lower lower less": (10, 10, 61, 17),
    "lower lower rare": (105, 105, 125, 125),
    "lower lower usual": (12, 12, 12, 12),
    "lower sign": (13, 14, 3, 4),
    "lower upper less": (106, 125, 125, 125),
    "lower upper rare": (93, 100, 79, 124),
    "lower upper usual": (23, 17, 104, 58),
    "same blank": (5, 4, 6, 8),
    "same bracket": (3, 3, 3, 3),
    "same joint": (3, 3, 32, 11),
    "same line": (3, 3, 3, 3),
    "same sign": (3, 3, 3, 3),
    "sign sign": (20, 20, 88, 32),
    "sign upper": (125, 125, 125, 125),
    "upper upper less": (111, 58, 125, 125),
    "upper upper rare": (54, 79, 101, 91),
    "upper upper usual": (14, 23, 87, 13),
}
"""Hundredths of a token by the kinds of two neighbours, in order; `same` for one character twice."""

FOREIGN: tuple[tuple[int, tuple[int, int, int, int]], ...] = (
    (0x24F, (110, 160, 200, 160)),  # Latin with accents
    (0x7FF, (38, 48, 62, 60)),  # Greek, Cyrillic, Hebrew, Arabic
    (0x1FFF, (42, 110, 90, 90)),  # Indic scripts, Thai, Georgian
    (0x2FFF, (100, 90, 150, 140)),  # punctuation, arrows, mathematics, boxes
    (0xFFFF, (85, 82, 115, 110)),  # Chinese, Japanese, Korean
    (0x10FFFF, (200, 150, 250, 250)),  # emoji
)
"""Hundredths of a token of a character outside ASCII, by the highest code point of its class.

Measured on messages of programs in 18 languages (2026-11); accents include what words of other languages than
English cost more.
"""
