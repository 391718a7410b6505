"""Exact strings that an agent uses, by their form: paths, URLs, hashes, names, numbers, flags.

They are what the measure of a continuation counts. The factsheet has finer patterns of its own
(`snapshot.facts.patterns`): what is measured must not be defined by what is chosen.
"""

from __future__ import annotations

import re

from snapshot.messages import Message, Opaque, Part, ToolCall, ToolResult

__all__ = ["KINDS", "exact_strings", "kind_of", "words"]

KINDS = ("url", "path", "hash", "name", "number", "flag")

_SHORTEST = 5
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


def exact_strings(text: str) -> frozenset[str]:
    """The exact strings of at least five characters in a text, without a full stop at their end."""
    return frozenset(item.rstrip(".") for item in _EXACT.findall(text) if len(item) >= _SHORTEST)


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
