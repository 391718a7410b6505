"""Emoji by name: what stands in brackets for an emoji, and back.

No small glyph of an emoji can be read for sure, and its code points say little, so it is printed as a name:
`⟦rocket⟧`. Names are those of `fonts/emoji-names.txt`, for one code point each; sequences are put together:

* `woman+laptop`: joined by U+200D;
* `thumbsup 3`: with the third of the five skin tones;
* `flag PT`, `flag gbsct`: regional indicators, and the tags behind a black flag;
* `keycap 1`.

Only sequences in the one form that Unicode calls fully qualified have names, so that a name is one sequence
and a sequence one name. All others are printed as code points.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from snapshot._resources import locate
from snapshot.errors import FontError, PageError

__all__ = ["emoji_of", "name_of", "starts_emoji"]

_JOINER = "\u200d"
_TONES = "\U0001f3fb\U0001f3fc\U0001f3fd\U0001f3fe\U0001f3ff"
_EMOJI_STYLE, _KEYCAP, _BLACK_FLAG = "\ufe0f", "\u20e3", "\U0001f3f4"
_KEYS = "0123456789#*"
_INDICATORS = 0x1F1E6  # that of A
_TAGS = 0xE0000  # a tag is an ASCII character above this
_CANCEL = "\U000e007f"
_FLAG = re.compile("[\U0001f1e6-\U0001f1ff]{2}")
_TAGGED = re.compile(f"{_BLACK_FLAG}([\U000e0030-\U000e0039\U000e0061-\U000e007a]+){_CANCEL}")
_NAME = re.compile(r"[a-z]+(?: [a-z]+)*")


class _Names(NamedTuple):
    """Names by emoji, emoji by name, emoji by the first code point alone, and those first code points."""

    names: dict[str, str]
    emoji: dict[str, str]
    first: dict[str, str]
    starts: NDArray[np.uint32]


@lru_cache(maxsize=1)
def _names() -> _Names:
    path = locate("fonts") / "emoji-names.txt"
    names: dict[str, str] = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if not line.strip() or line.startswith(";"):
            continue
        codes, _, name = line.partition(" ")
        if not _NAME.fullmatch(name) or name.split()[0] in ("flag", "keycap"):
            raise FontError(f"{path.name}, line {number}: {name!r} is no name for an emoji")
        names["".join(chr(int(code, 16)) for code in codes.split("."))] = name
    emoji = {name: char for char, name in names.items()}
    if len(emoji) < len(names):
        raise FontError(f"{path.name}: two emoji have the same name")
    starts = np.array(sorted({ord(char[0]) for char in names}), np.uint32)
    return _Names(names, emoji, {char[0]: char for char in names}, starts)


def starts_emoji(codes: NDArray[np.uint32]) -> NDArray[np.bool_]:
    """Which of the code points are emoji that have a name, or start a flag."""
    starts = _names().starts
    at = np.searchsorted(starts, codes).clip(max=starts.size - 1)
    return (starts[at] == codes) | (codes - np.uint32(_INDICATORS) < 26)


@lru_cache(maxsize=1 << 12)
def name_of(cluster: str) -> str | None:
    """The name of a grapheme cluster that is an emoji; None for any other."""
    if _FLAG.fullmatch(cluster):
        return "flag " + "".join(chr(ord(char) - _INDICATORS + ord("A")) for char in cluster)
    if tagged := _TAGGED.fullmatch(cluster):
        return "flag " + "".join(chr(ord(char) - _TAGS) for char in tagged[1])
    if cluster[0] in _KEYS:
        return f"keycap {cluster[0]}" if cluster[1:] == _EMOJI_STYLE + _KEYCAP else None
    names, _, first, _ = _names()
    parts = []
    for part in cluster.split(_JOINER):
        if part in names:
            parts.append(names[part])
        elif len(part) == 2 and part[1] in _TONES and part[0] in first:
            parts.append(f"{names[first[part[0]]]} {_TONES.index(part[1]) + 1}")
        else:
            return None
    return "+".join(parts)


def emoji_of(name: str) -> str:
    """The emoji of a name: what `name_of` gave the name for.

    Raises:
        PageError: no emoji is called that.
    """
    kind, _, rest = name.partition(" ")
    if kind == "flag" and rest.isupper():
        return "".join(chr(ord(char) - ord("A") + _INDICATORS) for char in rest)
    if kind == "flag":
        return _BLACK_FLAG + "".join(chr(ord(char) + _TAGS) for char in rest) + _CANCEL
    if kind == "keycap":
        return rest + _EMOJI_STYLE + _KEYCAP
    try:
        return _JOINER.join(_part(part) for part in name.split("+"))
    except (KeyError, IndexError) as error:
        raise PageError(
            f"no emoji is called {name!r} here: read the page with the version that made it"
        ) from error


def _part(name: str) -> str:
    emoji = _names().emoji
    if name[-1].isdigit():
        return emoji[name[:-2]][0] + dict(zip("12345", _TONES, strict=True))[name[-1]]
    return emoji[name]
