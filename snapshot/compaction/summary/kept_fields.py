"""Fields of tool results that must survive a summary: found in JSON, appended where the answer lacks them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from snapshot.compaction.summary.clip import clip, scalars
from snapshot.messages import Message, Text, ToolResult
from snapshot.models.tokens import text_tokens
from snapshot.source.payloads import payloads
from snapshot.source.source import strict_text

if TYPE_CHECKING:
    from snapshot.models.profile import ModelProfile

__all__ = ["Field", "carried", "resources_of", "with_resources"]

Field: TypeAlias = tuple[str, str]
"""Name and value of a field."""

_HEADING = "Key resources, exactly as tools gave them:"
_LONGEST = 500
# A value of fewer characters may stand anywhere by chance, so it counts only beside its field's name.
_TELLING = 6


def resources_of(messages: Sequence[Message], names: Sequence[str]) -> tuple[Field, ...]:
    """The fields called `names` in the tool results of `messages`, each value once, in order.

    Values of more than 500 characters, and payloads, are none.
    """
    wanted = frozenset(names)
    if not wanted:
        return ()
    found: dict[Field, None] = {}
    for message in messages:
        for part in message.parts:
            if isinstance(part, ToolResult):
                for content in part.content:
                    if isinstance(content, Text):
                        for name, value in _fields(content.text, wanted):
                            if value.strip() and len(value) <= _LONGEST and not any(payloads(value)):
                                found[name, strict_text(value)[0]] = None
    return tuple(found)


def _fields(text: str, wanted: frozenset[str]) -> Iterator[Field]:
    try:
        # Numbers as they are spelled: 1.50 is not 1.5.
        value: Any = json.loads(text, parse_int=str, parse_float=str)
    except (ValueError, RecursionError):
        value = None
    if isinstance(value, dict | list):
        yield from scalars(value, wanted)
        return
    # JSON among other words, several documents, or one that was cut: what is there of it.
    names = "|".join(re.escape(json.dumps(name, ensure_ascii=False)[1:-1]) for name in sorted(wanted))
    pattern = rf'"({names})"[ \t]*:[ \t]*("(?>(?:[^"\\\n]|\\.)*)"|-?\d[\d.eE+-]*+|true|false)'
    for match in re.finditer(pattern, text):
        if match[2].startswith('"'):
            try:
                yield match[1], json.loads(match[2], strict=False)
            except ValueError:
                continue
        else:
            yield match[1], match[2]


def carried(summary: str) -> tuple[Field, ...]:
    """The fields that `with_resources` appended to an earlier summary, so that they go on being kept."""
    _, heading, block = summary.rpartition(_HEADING + "\n")
    found: list[Field] = []
    for line in block.split("\n") if heading else ():
        name, equals, value = line.removeprefix("- ").partition(" = ")
        if not (line.startswith("- ") and equals):
            break
        if value.startswith('"'):
            try:
                value = str(json.loads(value))
            except ValueError:
                continue
        found.append((name, value))
    return tuple(found)


def with_resources(
    text: str, facts: Sequence[Field], room: int, reader: ModelProfile
) -> tuple[str, tuple[Field, ...]]:
    """The summary with what it lacks of `facts` appended, in `room` tokens; and the facts that are in it.

    Where both have no room, the text is clipped to no less than half of it, and the newest facts stay.
    """
    missing = _absent(text, facts)
    if not missing:
        return text, tuple(facts)
    share = min(text_tokens(_append("", missing), reader), room // 2)
    if text_tokens(text, reader) > room - share:
        text = clip(text, room - share, reader)
        missing = _absent(text, facts)
    low, high = 0, len(missing)
    while low < high:
        middle = (low + high + 1) // 2
        if text_tokens(_append(text, missing[-middle:]), reader) <= room:
            low = middle
        else:
            high = middle - 1
    lost = frozenset(missing[: len(missing) - low])
    kept = tuple(fact for fact in facts if fact not in lost)
    return _append(text, missing[len(missing) - low :]), kept


def _append(text: str, facts: Sequence[Field]) -> str:
    if not facts:
        return text
    return "\n".join([f"{text}\n\n{_HEADING}", *(f"- {name} = {_quoted(value)}" for name, value in facts)])


def _quoted(value: str) -> str:
    """The value as it is, or as JSON where it would not stay on its line."""
    plain = len(value.splitlines()) == 1 and value == value.strip() and not value.startswith('"')
    return value if plain else json.dumps(value, ensure_ascii=False)


def _absent(text: str, facts: Sequence[Field]) -> list[Field]:
    lines = text.split("\n")
    missing: list[Field] = []
    for name, value in facts:
        # Most often it is not there at all, which a plain search tells soonest.
        if value in text:
            exact = re.compile(rf"(?<!\w){re.escape(value)}(?!\w)")
            where = [text] if len(value) >= _TELLING else [line for line in lines if name in line]
            if any(exact.search(words) for words in where):
                continue
        missing.append((name, value))
    return missing
