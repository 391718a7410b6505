"""Exact strings that an agent uses, by their form: paths, URLs, hashes, names, numbers, flags.

They are what the measure of a continuation counts. The factsheet has finer patterns of its own
(`snapshot.facts.patterns`): what is measured must not be defined by what is chosen.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from snapshot.messages import Message, Opaque, Part, ToolCall, ToolResult

__all__ = ["KINDS", "exact_strings", "kind_of", "words"]

KINDS = ("url", "path", "hash", "name", "number", "flag")

_SHORTEST = 5
# Words of which it is kept what they have, and their longest: bounds memory.
_WORDS_KNOWN, _LONGEST_KNOWN = 1 << 16, 200
# A path starts where no character of one stands before, so that a long run of letters is looked at once.
_EXACT = re.compile(
    r"""  https?://[^\s"'<>)\]}]+
    | (?<![\w.\-])[\w.\-]*/[\w.\-/]+
    | \b[0-9a-f]{7,40}\b
    | \b[A-Za-z_][A-Za-z0-9]*(?:[_\-.][A-Za-z0-9]+)+\b      # snake_case, kebab-case, dotted.names
    | \b[A-Z][a-z0-9]+(?:[A-Z][a-z0-9]+)+\b                 # CamelCase
    | \b[a-z]+(?:[A-Z][a-z0-9]+)+\b                         # camelCase
    | \b\d{4,}\b
    | --[a-z][a-z\-]+
    """,
    re.VERBOSE,
)


class _Words:
    """The exact strings of the words that were looked at lately: none reaches over a blank, and a run has few
    different words."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[str, ...]] = {}

    def strings_of(self, text: str) -> Iterator[str]:
        """The exact strings of each different word of a text."""
        if len(self._known) > _WORDS_KNOWN:
            self._known = {}
        known = self._known
        for word in set(text.split()):
            found = known.get(word)
            if found is None:
                items = _EXACT.findall(word)
                found = tuple(item.rstrip(".") for item in items if len(item) >= _SHORTEST)
                if len(word) <= _LONGEST_KNOWN:
                    known[word] = found
            yield from found


_words = _Words()


def exact_strings(text: str) -> frozenset[str]:
    """The exact strings of at least five characters in a text, without a full stop at their end."""
    return frozenset(_words.strings_of(text))


def kind_of(text: str) -> str:
    """Which of `KINDS` an exact string is."""
    if text.startswith("http"):
        return "url"
    if re.fullmatch(r"[0-9a-f]{7,40}", text) and re.search(r"\d", text):
        return "hash"
    if "/" in text:
        return "path"
    if text.startswith("--"):
        return "flag"
    return "number" if text.isdigit() else "name"


def words(message: Message) -> str:
    """All that a message says as text: words, thoughts, results, calls with the line breaks of their
    arguments."""
    return "\n".join(text for part in message.parts for text in _texts(part))


def _texts(part: Part) -> list[str]:
    match part:
        case ToolCall(_, name, arguments):
            return [f"{name} " + arguments.replace("\\n", "\n").replace('\\"', '"')]
        case ToolResult(_, content):
            return [text for item in content for text in _texts(item)]
        case Opaque():
            return []
        case _:
            text = getattr(part, "text", None)
            return [text] if isinstance(text, str) else []
