"""Messages made to fit a format: what its reader does not give back is made simpler, and each step told."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import zip_longest
from typing import Any, Protocol, cast

from snapshot.errors import TranscriptError
from snapshot.messages import Message, Part, Text, ToolCall, ToolResult, Transcript
from snapshot.transcripts import from_messages, load
from snapshot.transcripts.writing.json_text import encoded, strict, value_of
from snapshot.transcripts.writing.simpler import in_words, simpler, simpler_results
from snapshot.transcripts.writing.units import Tell, Unit, as_user, beside_parts

__all__ = ["Writer", "instant", "written"]


class Writer(Protocol):
    """What the module of a format offers; `beside` and `escape` if it needs them."""

    OWN: frozenset[str]
    """Formats whose messages carry, as `raw`, what this format is made of."""
    LINES: bool
    """Whether the file is JSON Lines; else it is one JSON document, or text."""
    STRAYS: bool
    """Whether what is no message may stand among the rows as it is."""

    IDS: bool
    """Whether it holds the ids of calls; else readers number calls, and pair results by their order."""

    def units(self, transcript: Transcript, tell: Tell, /) -> Iterator[Unit]:
        """The messages, those together that the format writes as one."""
        ...

    def rows(self, messages: Sequence[Message], names: dict[str, str], /) -> list[Any]:
        """Messages of one unit as the format has them; `names` are those of the tools by call id."""
        ...

    def own(self, messages: Sequence[Message], /) -> list[Any] | None:
        """The same from what the messages came in (`raw`); None where that is no way."""
        ...

    # def beside(self, aside: tuple[Opaque, ...], document: list, /) -> list
    #     The document with rows that stood beside a conversation of this format.
    # def escape(self, text: str, /) -> str
    #     A text without what the format would take for its own marks.

    def document(self, rows: list[Any], model: str, /) -> Any:
        """The whole around the rows: JSON, a list of lines, or text."""
        ...


def written(transcript: Transcript, writer: Writer, name: str, tell: Tell) -> bytes:
    """The file; `tell` hears of everything that is not in it."""
    fitting = _Fitting(writer, name, transcript, tell)
    units = [list(unit) for unit in writer.units(transcript, tell)]
    if not any(units) and isinstance(writer.document([], ""), str):
        tell("message", 0, "a conversation without a word; a file of it counts as empty")
        return b""
    document = fitting.as_it_came(units) or fitting.whole(units)
    if transcript.extra_rows:
        document = fitting.with_asides(document, transcript)
    if transcript.model and fitting.read(document).model != transcript.model:
        tell("model", 0, "the model's name")
    if isinstance(document, str):
        return document.encode("utf-8", "surrogatepass")
    return encoded(document, lines=writer.LINES)


class _Fitting:
    """Writes unit by unit, reads each back, and tells what is lost."""

    def __init__(self, writer: Writer, name: str, transcript: Transcript, tell: Tell) -> None:
        self.tell = tell
        self._writer = writer
        self._model = transcript.model
        self._name = name
        self._own = transcript.format in writer.OWN
        calls = (part for m in transcript.messages for part in m.parts if isinstance(part, ToolCall))
        self._names = {call.id: call.name for call in calls}

    def read(self, document: Any) -> Transcript:
        """What the format's reader makes of a document."""
        if isinstance(document, str):
            return load(document.encode("utf-8", "surrogatepass"), format=self._name)
        return from_messages(document, format=self._name)

    def as_it_came(self, units: Sequence[Unit]) -> Any:
        """The document from what all messages came in; None if they did not, or it reads otherwise."""
        messages = [message for unit in units for _, message in unit]
        if not self._own or not all(message.raw for message in messages):
            return None
        rows: list[Any] = []
        for unit in units:
            came = self._writer.own([message for _, message in unit])
            if came is None:
                return None
            rows += came
        back = self._back(rows)
        if not self._same(messages, back):
            return None
        self._tell_facts([numbered for unit in units for numbered in unit], back)
        return self._writer.document(rows, self._model)

    def whole(self, units: Sequence[Unit]) -> Any:
        """The document, unit by unit as much as the format holds."""
        rows: list[Any] = []
        expected: list[tuple[int, Message]] = []
        for unit in units:
            some, back = self._rows(unit)
            rows += some
            expected += zip((number for number, _ in unit), back, strict=False)
        document = self._writer.document(rows, self._model)
        read = self.read(document).messages
        if not self._same([message for _, message in expected], read):
            self._tell_context(expected, read)
        elif not self._writer.IDS:
            self._tell_call_ids([numbered for unit in units for numbered in unit], read)
        return document

    def _tell_context(self, expected: Sequence[tuple[int, Message]], read: Sequence[Message]) -> None:
        """What only the whole shows."""
        wanted = [message for _, message in expected]
        kind, what = "context", "reads otherwise beside its neighbours than alone"
        if self._same(wanted, read, paired=False):
            kind, what = "pairing", "which call a result answers; in the order of the calls it is another one"
        pairs = zip_longest(self._alike(wanted), self._alike(read))
        changed = [at for at, (want, got) in enumerate(pairs) if want != got]
        for number in dict.fromkeys(expected[min(at, len(expected) - 1)][0] for at in changed):
            self.tell(kind, number, what)

    def with_asides(self, document: Any, transcript: Transcript) -> Any:
        """The document with the rows that stood beside the conversation, where they are this format's."""
        beside = getattr(self._writer, "beside", None)
        if beside is not None and transcript.format == self._name:
            messages = self.read(document).messages
            longer = beside(transcript.extra_rows, document)
            try:
                read = self.read(longer)
                if (read.extra_rows, read.messages) == (transcript.extra_rows, messages):
                    return longer
            except TranscriptError:  # rows of another branch, which has no words in this one
                pass
        for row in transcript.extra_rows:
            self.tell("aside", 0, f"a row of type {row.kind!r} that stands beside the conversation")
        return document

    def _rows(self, unit: Unit) -> tuple[list[Any], Sequence[Message]]:
        """The rows of a unit, as much of it as the format holds, and the messages that they are."""
        messages = [message for _, message in unit]
        for came, rows in self._candidates(messages):
            back = self._back(rows)
            if self._same(messages, back, paired=False):
                self._tell_facts(unit, back)
                if not came:
                    self._tell_keys(unit)
                return rows, messages
        self._tell_keys(unit)
        fitted = [(number, self._fitted(number, message)) for number, message in unit]
        rows = self._plain([message for _, message in fitted])
        back = self._back(rows)
        if [m.role for m in back] != [m.role for _, m in fitted]:
            fitted = [(number, as_user(number, message, self.tell)) for number, message in fitted]
            rows = self._plain([message for _, message in fitted])
            back = self._back(rows)
        self._tell_parts(fitted, back)
        messages = [message for _, message in fitted]
        return rows, messages if self._same(messages, back, paired=False) else back

    def _candidates(self, messages: list[Message]) -> Iterator[tuple[bool, list[Any]]]:
        """Rows to try, the best first, and whether they are what the messages came in."""
        if self._own and all(message.raw for message in messages):
            rows = self._writer.own(messages)
            if rows is not None:
                yield True, rows
        yield False, self._plain(messages)
        if self._writer.STRAYS and len(messages) == 1 and len(messages[0].parts) == 1:
            # What no reader could make sense of, kept whole in place of a message: written as what it was.
            value = value_of(getattr(messages[0].parts[0], "json", ""))
            if value is not None:
                yield True, [value]

    def _plain(self, messages: list[Message]) -> list[Any]:
        return self._writer.rows(messages, self._names)

    def _back(self, rows: list[Any]) -> tuple[Message, ...]:
        """The messages that rows read as; none where they read as nothing."""
        try:
            return self.read(self._writer.document(rows, "")).messages
        except (TranscriptError, RecursionError):
            return ()

    def _holds(self, role: Any, part: Part) -> bool:
        message = Message(role, (part,))
        back = [m for m in self._back(self._plain([message])) if m.parts]
        return self._same([message], back, paired=False)

    def _fitted(self, number: int, message: Message) -> Message:
        parts = (
            fit
            for part in message.parts
            for fit in (
                self._result(number, part)
                if isinstance(part, ToolResult)
                else self._part(number, message.role, part)
            )
        )
        return replace(message, parts=tuple(parts), raw=())

    def _part(self, number: int, role: Any, part: Part, result: str | None = None) -> list[Part]:
        """The part, or the nearest to it that the format holds; `result` is the call whose result has it."""

        def holds(some: Any) -> bool:
            return self._holds(role, some if result is None else ToolResult(result, (some,)))

        if holds(part):
            return [part]
        for simple, losses in simpler(part):
            if holds(simple):
                for kind, what in losses:
                    self.tell(kind, number, what)
                return [simple]
        if isinstance(part, Text) and part.text:
            return [self._text(number, part, holds)]
        kind, what, text = in_words(part)
        self.tell(kind, number, f"{what}; {'words stand for it' if text else 'left out'}")
        return [self._text(number, Text(text), holds)] if text else []

    def _text(self, number: int, part: Text, holds: Callable[[Part], bool]) -> Text:
        """A text as it is, or without what the format would take for its own."""
        if holds(part):
            return part
        escape = getattr(self._writer, "escape", str)
        changed, bare = Text(escape(strict(part.text))), Text(part.text.strip())
        if changed != part and holds(changed):
            what = "words that the format takes for its own; a sign more or less keeps them"
            self.tell("marks", number, what)
            return changed
        if holds(bare):
            self.tell("blanks", number, _BLANKS)
            return bare
        self.tell("text", number, "a text that reads otherwise")
        return changed

    def _result(self, number: int, result: ToolResult) -> list[Part]:
        content = [fit for part in result.content for fit in self._part(number, "tool", part, result.call_id)]
        kept = replace(result, content=tuple(cast(Any, content)))
        if not self._holds("tool", kept):
            for simple, losses in simpler_results(kept):
                if self._holds("tool", simple):
                    for kind, what in losses:
                        self.tell(kind, number, what)
                    return [simple]
        return [kept]

    def _same(self, messages: Sequence[Message], back: Sequence[Message], *, paired: bool = True) -> bool:
        return self._alike(messages, paired=paired) == self._alike(back, paired=paired)

    def _alike(
        self, messages: Sequence[Message], *, paired: bool = True
    ) -> list[tuple[str, tuple[Part, ...]]]:
        """Who says what; where the format holds no ids, with numbers for them in the order of the calls.

        Which result is whose (`paired`) shows only in the whole there.
        """
        if self._writer.IDS:
            return [(message.role, message.parts) for message in messages]
        numbers: dict[str, str] = {}
        count = 0
        found: list[tuple[str, tuple[Part, ...]]] = []
        for message in messages:
            parts = list(message.parts)
            for place, part in enumerate(parts):
                if isinstance(part, ToolCall):
                    count += paired
                    if part.id:
                        numbers[part.id] = str(count)
                    parts[place] = replace(part, id=str(count))
                elif isinstance(part, ToolResult):
                    parts[place] = replace(part, call_id=numbers.get(part.call_id, "") if paired else "")
            found.append((message.role, tuple(parts)))
        return found

    def _tell_call_ids(self, messages: Sequence[tuple[int, Message]], read: Sequence[Message]) -> None:
        for (number, message), found in zip(messages, read, strict=False):
            ids, others = (
                [part.id for part in some.parts if isinstance(part, ToolCall) and part.id]
                for some in (message, found)
            )
            if ids != others[: len(ids)]:
                self.tell("call-id", number, "the ids of calls; their order pairs them with their results")

    def _tell_facts(self, unit: Unit, back: Sequence[Message]) -> None:
        for (number, message), read in zip(unit, back, strict=True):
            if message.id and message.id != read.id:
                self.tell("id", number, "the id of a message")
            if message.time and instant(message.time) != instant(read.time):
                self.tell("time", number, "the time of a message")
            if message.usage and message.usage != read.usage:
                self.tell("usage", number, "the provider's count of tokens")

    def _tell_keys(self, unit: Unit) -> None:
        """What stood beside the parts in the API that they came from, and goes back to that one alone."""
        for number, message in unit:
            for key in beside_parts(message):
                self.tell("keys", number, f"`{key}` of a part, which is for the API that it came from")

    def _tell_parts(self, unit: Unit, back: Sequence[Message]) -> None:
        """What still differs when every part alone is held."""
        if [m.role for m in back] != [m.role for _, m in unit]:
            for number, message in unit:
                what = "a message without parts" if not message.parts else "the place of a message"
                self.tell("message", number, f"{what}; {'left out' if not back else 'reads otherwise'}")
            return
        self._tell_facts(unit, back)
        for (number, message), read in zip(unit, back, strict=True):
            if message.parts == read.parts:
                continue
            if _sorted(message) == _sorted(read):
                self.tell("order", number, "the order of a message's parts")
            elif _packed(message) == _packed(read):
                self.tell("blanks", number, _BLANKS)
            elif not self._same([message], [read], paired=False):
                self.tell("joined", number, "where one part of a message ends and the next begins")


_BLANKS = "blanks and ends of lines at the edges of a text"


def _sorted(message: Message) -> Counter[str]:
    return Counter(map(repr, message.parts))


def _packed(message: Message) -> str:
    return "".join(repr(message.parts).replace("\\r", "").replace("\\n", "").split())


def instant(time: str) -> object:
    """The moment that a time means, however it is written; the text itself where it is no time."""
    try:
        moment = datetime.fromisoformat(time)
    except ValueError:
        return time
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
