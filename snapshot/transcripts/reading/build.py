"""Putting a transcript together: messages in order, ids told apart, diagnostics counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from snapshot.messages import (
    Diagnostic,
    File,
    Image,
    Message,
    Opaque,
    Origin,
    Part,
    Reasoning,
    Role,
    Text,
    ToolCall,
    ToolResult,
    Transcript,
    Usage,
)
from snapshot.parts.characters import LONE_SURROGATE, is_blank
from snapshot.parts.media import media_type_of
from snapshot.requests.tool_pairing import pair
from snapshot.transcripts.io.harness import NONE, rules_for
from snapshot.transcripts.io.json_values import (
    JsonObject,
    a_type,
    as_object,
    as_text,
    compact,
    quoted,
    type_name,
)
from snapshot.transcripts.io.source import Source
from snapshot.transcripts.reading.speakers import runs_of

__all__ = ["Builder", "Ids", "role_of", "usage_of"]

_ROLES: dict[str, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
    "function": "tool",
}
T = TypeVar("T")

_PLACES = 4  # places that a diagnostic names; the others are counted


def role_of(value: object) -> Role | None:
    """The role that a source's word for it means, in whatever case, or None."""
    return _ROLES.get(value.strip().lower()) if isinstance(value, str) else None


def usage_of(value: object) -> Usage | None:
    """A provider's usage record, in Anthropic's or OpenAI's words; None if it counts nothing."""
    record = as_object(value)
    if record is None:
        return None

    def total(*keys: str) -> int:
        counts = (record.get(key) for key in keys)
        return sum(n for n in counts if isinstance(n, int) and not isinstance(n, bool) and n > 0)

    cached = total("cache_creation_input_tokens", "cache_read_input_tokens")
    prompt = total("input_tokens", "prompt_tokens") + cached
    output = total("output_tokens", "completion_tokens")
    return Usage(prompt, output) if prompt or output else None


class Ids:
    """Ids of calls as text, one text per id.

    A number becomes its digits. Where the number 7 and the string "7" both occur they are two ids:
    the later one is read as "7#2". It depends only on what came before, so a conversation that grows
    keeps the ids it had.

    Attributes:
        invented: how many were made up.
    """

    def __init__(self, invented: int = 0) -> None:
        self._texts: dict[tuple[bool, str], str] = {}
        self._taken: set[str] = set()
        self.invented = invented

    def text(self, raw: object) -> str:
        """The text for an id as found; "" for null or none."""
        key = (isinstance(raw, str), as_text(raw))
        if not key[1]:
            return ""
        known = self._texts.get(key)
        return known if known is not None else self._claim(key, key[1])

    def invent(self, stem: str) -> str:
        """An id for a call that has none by design of its format."""
        self.invented += 1
        return self._claim((True, f"\0{stem}{self.invented}"), f"{stem}_{self.invented}")

    def _claim(self, key: tuple[bool, str], wanted: str) -> str:
        text, n = wanted, 1
        while text in self._taken:
            n += 1
            text = f"{wanted}#{n}"
        self._texts[key] = text
        self._taken.add(text)
        return text


@dataclass(slots=True)
class _Draft:
    where: str
    role: Role
    parts: list[Part]
    id: str
    time: str
    usage: Usage | None
    raw: list[JsonObject] | None  # None: some of the parts came in a form that cannot be sent back
    origin: Origin = ""
    joints: list[tuple[int, str]] = field(default_factory=list)  # where parts come from other places
    rows: tuple[int, ...] = ()  # places in the list of the items it was read from

    def take(
        self, parts: Iterable[Part], raw: Sequence[JsonObject], where: str = "", rows: tuple[int, ...] = ()
    ) -> None:
        """More parts of the same message, and the objects that they came in."""
        self.rows += tuple(row for row in rows if row not in self.rows)
        if where and where != self.where:
            self.joints.append((len(self.parts), where))
        self.parts.extend(parts)
        self.raw = [*self.raw, *raw] if self.raw and raw else None

    def place(self, number: int) -> str:
        """Where the part of this number comes from."""
        return next((where for start, where in reversed(self.joints) if number >= start), self.where)

    def message(self) -> Message:
        """The finished message."""
        raw = tuple(self.raw or ())
        return Message(self.role, tuple(self.parts), self.id, self.time, self.usage, raw, self.origin)


class Builder:
    """Collects what a reader finds; `finish` checks the whole and gives the transcript."""

    def __init__(self, source: Source) -> None:
        self.ids = Ids(source.invented)
        self._source = source
        self._drafts: list[_Draft] = []
        self._by_id: dict[str, _Draft] = {}
        self._speaker: _Draft | None = None
        self._odd: dict[tuple[str, str], list[str]] = {}
        self._row: tuple[int, ...] = ()

    def numbered(self, items: Sequence[T]) -> Iterator[tuple[int, T]]:
        """The items of a list with their numbers, from 1; what is added meanwhile is noted as read from
        each."""
        for place, item in enumerate(items):
            self._row = (place,)
            yield place + 1, item
        self._row = ()

    def odd(self, kind: str, where: str, note: str) -> None:
        """Report a diagnostic; those with equal kind and note are told as one, with their number."""
        self._odd.setdefault((kind, note), []).append(where)

    def add(
        self,
        role: Role,
        parts: Iterable[Part],
        *,
        where: str,
        message_id: str = "",
        time: str = "",
        usage: Usage | None = None,
        raw: Sequence[JsonObject] = (),
        join: bool = False,
        origin: Origin = "",
    ) -> None:
        """Add a message, or to one: results go to the batch before them, whatever row they came in.

        `raw` is the message as its API has it, none where it has no such form.

        With `join`, an assistant message goes to the one of its id before it, if the assistant said
        nothing else between: logs spread one message over several rows, results among them.
        """
        last = self._drafts[-1] if self._drafts else None
        if role == "tool" and last is not None and last.role == "tool":
            last.take(parts, raw, where, self._row)
            return
        if join and role == "assistant" and message_id:
            first = self._by_id.get(message_id)
            if first is not None and self._speaker is not None and self._speaker.id == message_id:
                self._speaker.take(parts, raw, where, self._row)
                first.usage = usage or first.usage
                return
            if first is not None:
                self.odd("repeated-id", where, "a message id comes again after another message; kept apart")
                usage = None  # one request, counted where its id came first
        draft = _Draft(
            where, role, list(parts), message_id, time, usage, list(raw) or None, origin, rows=self._row
        )
        self._drafts.append(draft)
        if role == "assistant":
            self._speaker = draft
            self._by_id.setdefault(message_id, draft)

    def extend(self, role: Role, parts: Iterable[Part], *, raw: Sequence[JsonObject] = ()) -> bool:
        """Add to the last message, if it is of this role; whether it was."""
        if not self._drafts or self._drafts[-1].role != role:
            return False
        self._drafts[-1].take(parts, raw, rows=self._row)
        return True

    def count(self, usage: Usage | None) -> None:
        """Note the usage of the request that the assistant's last message answered, told behind it."""
        if self._speaker is not None and usage is not None:
            self._speaker.usage = usage

    def add_unread(self, value: object, *, where: str, what: str = "message", speaker: str = "role") -> None:
        """Keep a message whole that is no object, or does not say under `speaker` who speaks.

        It stands as the system's, so that it is neither the user's word nor the model's.
        """
        message = as_object(value)
        kind = type_name(value) if message is None else as_text(message.get(speaker)) or what
        if message is None:
            note = f"{a_type(value)} in place of a {what}"
        elif message.get(speaker) is None:
            note = f"a {what} without a {speaker}"
        else:
            note = f"a {what} of unknown {speaker} {quoted(message[speaker])}"
        self.odd(f"unknown-{what}", where, f"{note}; kept whole")
        self.add("system", (Opaque(kind, compact(value)),), where=where)

    def finish(self, reader: str, model: str = "", extra_rows: Sequence[Opaque] = ()) -> Transcript:
        """The transcript that `reader` read, after a look at what only the whole shows."""
        if self._source.bad_byte is not None:
            note = "not UTF-8; bytes that are no character read as U+FFFD"
            self.odd("invalid-utf8", f"byte {self._source.bad_byte}", note)
        if self._source.recoded:
            note = "not UTF-8 but Windows-1252 (cp1252); read as that"
            for line in self._source.recoded:
                self.odd("cp1252", f"line {line}", note)
        self._tell_apart(reader)
        self._check_pairs()
        self._check_surrogates()
        self._check_blanks()
        self._check_images()
        of_file: dict[tuple[str, str], list[str]] = {}
        for kind, where, note in self._source.odd:
            of_file.setdefault((kind, note), []).append(where)
        self._source.rows = tuple(draft.rows for draft in self._drafts)
        self._source.invented = self.ids.invented
        return Transcript(
            tuple(draft.message() for draft in self._drafts),
            reader,
            model,
            tuple(_told(*key, places) for odd in (of_file, self._odd) for key, places in odd.items()),
            tuple(extra_rows),
        )

    def _tell_apart(self, reader: str) -> None:
        """Words that a harness put in the user's name become the system's; a person's stay the user's.

        They go back to the provider as they came: `raw` stays, in halves where both speak in one message.
        """
        rules = rules_for(reader, self._source.harness)
        if rules is NONE:
            return
        drafts: list[_Draft] = []
        counts: Counter[str] = Counter()
        for draft in self._drafts:
            asked = draft.role == "user" and not draft.origin
            runs = runs_of(draft.parts, draft.raw, rules) if asked else []
            for run in runs:
                counts.update(run.kinds)
                message_id = draft.id if run.role == "user" or len(runs) == 1 else ""
                raw = None if run.raw is None else list(run.raw)
                drafts.append(
                    _Draft(
                        draft.where,
                        run.role,
                        [*run.parts],
                        message_id,
                        draft.time,
                        None,
                        raw,
                        run.origin,
                        rows=draft.rows,
                    )
                )
            if not runs:
                drafts.append(draft)
        if counts:
            told = ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items()))
            note = f"words of the harness in the user's name, read as the system's: {told}"
            self.odd("harness-words", "whole file", note)
        self._drafts = drafts

    def _check_pairs(self) -> None:
        pairs = pair(draft.parts for draft in self._drafts)
        orphans, unanswered = set(pairs.orphans), set(pairs.unanswered)
        talk = (
            n for n, draft in reversed(list(enumerate(self._drafts))) if draft.role in ("user", "assistant")
        )
        last = next(talk, -1)  # the last batch may still be running
        seen: set[str] = set()
        for number, draft in enumerate(self._drafts):
            for place, part in enumerate(draft.parts):
                if isinstance(part, ToolCall):
                    self._check_call(part, draft.place(place), seen)
                    if (number, place) in unanswered:
                        self._open_call(draft.place(place), running=number == last)
                elif isinstance(part, ToolResult):
                    if not part.call_id:
                        self.odd(
                            "no-id",
                            draft.place(place),
                            "a result that names no call; read as one of a call without an id",
                        )
                    if (number, place) in orphans:
                        self._orphan(part, draft.place(place), seen)

    def _check_call(self, call: ToolCall, where: str, seen: set[str]) -> None:
        if not call.id:
            self.odd("no-id", where, "a call without an id; the next result without one is read as its own")
        elif call.id in seen:
            self.odd("repeated-id", where, "a call has the id of an earlier one")
        seen.add(call.id)

    def _open_call(self, where: str, *, running: bool) -> None:
        if running:
            self.odd("unfinished-turn", where, "the last call has no result yet; the turn is not finished")
        else:
            self.odd("open-call", where, "a call that was never answered")

    def _orphan(self, result: ToolResult, where: str, seen: set[str]) -> None:
        if result.call_id in seen:
            self.odd("orphan-result", where, "a second result of a call that was answered before")
        else:
            self.odd("orphan-result", where, "a result whose call is not in the transcript")

    def _check_blanks(self) -> None:
        """Report words of which nothing is seen; they stay, and no request has them."""
        for draft in self._drafts:
            for number, part in enumerate(draft.parts):
                within = part.content if isinstance(part, ToolResult) else (part,)
                texts = [one.text for one in within if isinstance(one, Text)]
                if texts and any(texts) and all(map(is_blank, texts)) and len(texts) == len(within):
                    what = "a result" if isinstance(part, ToolResult) else "a text"
                    note = f"{what} of blanks or invisible characters alone; it is not sent"
                    self.odd("blank-text", draft.place(number), note)

    def _check_images(self) -> None:
        """Give images the type that their bytes have: services refuse one that is said to be another."""
        for draft in self._drafts:
            for number, part in enumerate(draft.parts):
                fixed = self._typed(part, draft.place(number))
                if fixed is not part:
                    draft.parts[number] = fixed
                    draft.raw = None  # it would be sent under the wrong type

    def _typed(self, part: Part, where: str) -> Part:
        if isinstance(part, ToolResult):
            content = tuple(self._typed(one, where) for one in part.content)
            if all(new is old for new, old in zip(content, part.content, strict=True)):
                return part
            kept = tuple(one for one in content if isinstance(one, Text | Image | File | Opaque))
            return replace(part, content=kept)
        if not isinstance(part, Image) or not part.data or part.media_type.endswith("/*"):
            return part
        found = media_type_of(part.data)
        if not found or found == part.media_type:
            return part
        note = f"an image said to be {quoted(part.media_type)} is {found}; read as what it is"
        self.odd("wrong-media-type", where, note)
        return replace(part, media_type=found)

    def _check_surrogates(self) -> None:
        for draft in self._drafts:
            for text in _strings(draft.parts):
                if not text.isascii():
                    for _ in LONE_SURROGATE.finditer(text):
                        note = "half of a surrogate pair, which is no character; kept as it is"
                        self.odd("lone-surrogate", draft.where, note)


def _strings(parts: Sequence[Part]) -> Iterable[str]:
    for part in parts:
        if isinstance(part, Text | Reasoning):
            yield part.text
        elif isinstance(part, ToolCall):
            yield part.arguments
        elif isinstance(part, File):
            yield part.text
        elif isinstance(part, Opaque):
            yield part.json
        elif isinstance(part, ToolResult):
            yield from _strings(part.content)


def _told(kind: str, note: str, places: list[str]) -> Diagnostic:
    distinct = list(dict.fromkeys(places))
    where = ", ".join(distinct[:_PLACES])
    if len(distinct) > _PLACES:
        where += f" and {len(distinct) - _PLACES} more"
    return Diagnostic(kind, where, note if len(places) == 1 else f"{note} ({len(places)} times)")
