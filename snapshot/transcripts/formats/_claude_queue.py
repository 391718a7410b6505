"""Words sent to Claude Code while a turn ran: rows of its queue, and the attachments that deliver them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from snapshot.transcripts.formats._claude_code import Row
from snapshot.transcripts.io.harness import Rules
from snapshot.transcripts.io.json_values import JsonObject, as_list, as_object, as_text
from snapshot.transcripts.reading.times import known_time

__all__ = ["Queue", "delivered"]


def delivered(where: str, row: JsonObject, rules: Rules) -> Row | None:
    """The message that an attachment delivers: "queued" words of a person, or a "note" of a program.

    None for attachments of another kind, and for those without words.
    """
    attachment = as_object(row.get("attachment")) or {}
    if row.get("type") != "attachment" or attachment.get("type") != "queued_command":
        return None
    prompt = attachment.get("prompt")
    if not isinstance(prompt, str | list) or not prompt:
        return None
    origin = as_object(attachment.get("origin")) or {}
    said_by = as_text(origin.get("kind")) or as_text(attachment.get("commandMode")) or "prompt"
    return Row(
        where,
        "queued" if said_by in rules.person else "note",
        as_text(row.get("uuid")),
        as_text(row.get("parentUuid")),
        known_time(row.get("timestamp")),
        {"role": "user", "content": prompt},
    )


@dataclass(frozen=True, slots=True)
class _Taken:
    """Words that left the queue into a turn: queued before message row `since`, taken before row `until`."""

    row: Row
    since: int
    until: int


class Queue:
    """What the queue rows say: words that were taken into a turn are the user's, those taken back are not."""

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self._waiting: dict[str, list[int]] = {}  # before which rows words were queued
        self._taken: list[_Taken] = []

    def note(self, where: str, row: JsonObject, number: int) -> None:
        """Follow a queue row; `number` is how many message rows of the main thread stand before it."""
        operation, words = row.get("operation"), as_text(row.get("content"))
        if operation == "enqueue":
            self._waiting.setdefault(words, []).append(number)
        elif operation == "popAll":
            self._waiting.clear()
        elif operation in ("dequeue", "remove"):
            words = words or next(iter(self._waiting), "")
            times = self._waiting.get(words, [])
            since = times.pop(0) if times else number
            if not times:
                self._waiting.pop(words, None)
            if operation == "remove" and as_text(row.get("reason")) in self._rules.taken and words.strip():
                message: JsonObject = {"role": "user", "content": words}
                taken = Row(where, "queued", "", "", known_time(row.get("timestamp")), message)
                self._taken.append(_Taken(taken, since, number))

    def settled(self, rows: Sequence[Row]) -> tuple[list[Row], list[Row]]:
        """The rows with the words that no attachment delivered, and attachments that say a thing again.

        Words count once: a row of the user's own goes before an attachment, and that before a queue row.
        """
        own = _twice(rows)
        places: dict[str, list[int]] = {}  # of words that stand in a row, last first
        for number in range(len(rows) - 1, -1, -1):
            if rows[number].kind in ("user", "queued"):
                places.setdefault(_words(rows[number]), []).append(number)
        made: dict[int, list[Row]] = {}
        for one in self._taken:
            later = places.get(_words(one.row), [])
            while later and later[-1] < one.since:
                later.pop()
            if later:
                later.pop()
            else:
                made.setdefault(one.until, []).append(one.row)
        kept: list[Row] = []
        for number, row in enumerate(rows):
            kept += made.pop(number, ())
            if number not in own:
                kept.append(row)
        for rest in made.values():
            kept += rest
        return kept, [rows[number] for number in sorted(own)]


def _twice(rows: Sequence[Row]) -> set[int]:
    """Numbers of attachments whose words stand in a row of the user's own, between the same two answers."""
    found: set[int] = set()
    queued: list[int] = []
    own: Counter[str] = Counter()
    for number in range(len(rows) + 1):
        row = rows[number] if number < len(rows) else None
        if row is None or row.kind == "assistant":
            for one in queued:
                words = _words(rows[one])
                if own[words]:
                    own[words] -= 1
                    found.add(one)
            queued, own = [], Counter()
        elif row.kind == "queued":
            queued.append(number)
        elif row.kind == "user":
            own[_words(row)] += 1
    return found


def _words(row: Row) -> str:
    content = row.message.get("content")
    blocks = as_list(content)
    if blocks is None:
        return as_text(content).strip()
    texts = (as_text((as_object(block) or {"text": block}).get("text")) for block in blocks)
    return "\n".join(text for text in texts if text).strip()
