"""A caller's own list after a compaction: which of its messages stay, and what stands between them.

A host keeps objects of its own: SDK objects, a framework's messages, dictionaries with keys that no API
knows. It needs no list that was written anew, but what to change in the one it has.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, cast

from snapshot.errors import SnapshotError
from snapshot.messages import Message, Text, ToolCall, Transcript
from snapshot.requests.cache_marks import CacheMark
from snapshot.requests.tool_pairing import with_ids
from snapshot.transcripts.watched import HostList

__all__ = ["Edit", "Given", "InPlace", "Make", "tools_in"]

Make = Callable[[list[dict[str, Any]]], Sequence[Any]]
"""Turns new messages, dictionaries of an API, into a host's own objects."""

# How a conversation that is in no API's own form is written, where nothing is said: what most clients take.
_COMMON = "openai"
# Keys under which a body may hold the list, and keys of what stands beside it.
_LISTS = ("messages", "input", "contents", "history")
_BESIDE = ("system", "systemInstruction", "system_instruction", "instructions")


@dataclass(frozen=True, slots=True)
class Edit:
    """Messages that stand where others stood in the caller's list.

    Attributes:
        start, stop: half-open span of places (from 0) in the list that they replace; equal where none
            is replaced.
        messages: what stands there now, in order; () where messages were only taken out.
        behind: the message in front of them, whose calls they may answer; None where there is none.
    """

    start: int
    stop: int
    messages: tuple[Message, ...]
    behind: Message | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True)
class Given:
    """A conversation as the caller gave it.

    Attributes:
        value: the caller's own object.
        transcript: what it says.
        items: the messages of the caller's list as it was then; its owner may have added some since.
    """

    value: Any = field(repr=False)
    transcript: Transcript
    items: tuple[Any, ...] = field(repr=False)

    @classmethod
    def of(cls, conversation: Any, transcript: Transcript) -> Given:
        """What was given, which says what the transcript says."""
        return cls(conversation, transcript, tuple(_listed(conversation)))

    @property
    def count(self) -> int:
        """How many places the caller's list has."""
        return len(self.items)

    @cached_property
    def rows(self) -> tuple[tuple[int, ...], ...]:
        """For each message of the transcript its places in the caller's list; () for what stands beside it.

        Where the reading of the list is not known any more, it is read again.
        """
        messages = len(self.transcript.messages)
        if isinstance(self.value, Transcript):
            return tuple((row,) for row in range(messages))
        from snapshot.transcripts import with_rows
        from snapshot.transcripts.continued import rows_of

        rows = rows_of(self.transcript)
        if rows is None:
            value: Any = self.plain_list() if isinstance(self.value, HostList) else list(self.items)
            if self.body is not None and (way := _place_of_list(self.body)):
                value = _with_list(self.body, way, value, {})
            rows = with_rows(value, format=self.transcript.format)[1]
        if len(rows) == messages and any(rows):
            return rows
        # The reader does not say: then they are one for one, or all of them are one.
        every = tuple(range(self.count))
        return tuple((row,) if self.count == messages else every for row in range(messages))

    @property
    def body(self) -> Mapping[str, Any] | None:
        """The caller's body, where it is one."""
        value = self.value
        return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else None

    def plain_list(self) -> list[Any]:
        """The caller's list as plain data; words alone as the user's message."""
        from snapshot.transcripts.io.json_values import plain

        if len(self.items) == 1 and isinstance(self.items[0], str):
            return [{"role": "user", "content": self.items[0]}]
        return cast(
            "list[Any]", plain(self.value.plain() if isinstance(self.value, HostList) else self.items)
        )

    def plain_beside(self) -> dict[str, Any]:
        """What the caller's body says beside the list, as plain data."""
        from snapshot.transcripts.io.json_values import plain

        body = self.body
        if body is None:
            return {}
        *way, _ = _place_of_list(body) or ("",)
        holder = cast("Mapping[str, Any]", body[way[0]]) if way else body
        return {key: plain(holder[key]) for key in _BESIDE if holder.get(key)}

    @property
    def beside(self) -> int:
        """How many messages stand beside the list: the system text of a body."""
        return next((n for n, rows in enumerate(self.rows) if rows), len(self.rows))

    def components(self) -> list[tuple[int, int, int, int]]:
        """Messages that share places of the list: half-open spans of messages and of places, in order."""
        found: list[tuple[int, int, int, int]] = []
        for number, places in enumerate(self.rows):
            if not places:
                continue
            if found and places[0] < found[-1][3]:
                first, _, start, stop = found[-1]
                found[-1] = first, number + 1, start, max(stop, places[-1] + 1)
            else:
                found.append((number, number + 1, places[0], places[-1] + 1))
        return found


class InPlace:
    """A conversation to be sent, as changes of the caller's own list."""

    __slots__ = ()

    transcript: Transcript
    _given: Given | None

    def _cache_mark(self) -> CacheMark | None:
        """The mark for the prompt cache that new messages get."""
        raise NotImplementedError

    @property
    def unchanged(self) -> bool:
        """Whether what is to be sent is the caller's conversation as it stands, to the last byte."""
        given = self._given
        return given is not None and self.transcript.messages is given.transcript.messages

    @property
    def kept(self) -> tuple[int, ...]:
        """Places (from 0) in the caller's list of the messages that stand unchanged, in order.

        A message of which any part was changed (a large part became pages, a result was elided) is not kept:
        what stands in its place is in `edits`. The same holds of what shares its place in the list, or its
        batch of results, with one that was changed.
        """
        return _kept_of(self._given.count, self.edits) if self._given is not None else ()

    @property
    def edits(self) -> tuple[Edit, ...]:
        """What changes in the caller's list, in order: the archive in the middle's place, messages in place
        of those that were changed, and a draft. Apply them from the last to the first to a list of one's own:
        `own[edit.start : edit.stop] = my_objects(edit.messages)`."""
        return _edits_of(self._given, self.transcript) if self._given is not None else ()

    @property
    def covered(self) -> int:
        """How many of the caller's messages, from the first on, what changed looks at: all up to the last one
        that does not stand as it was, counted as the transcript has them."""
        given = self._given
        last = max((edit.stop for edit in self.edits), default=0)
        return 0 if given is None else sum(not rows or rows[-1] < last for rows in given.rows)

    @property
    def new(self) -> tuple[Message, ...]:
        """The messages to be sent that the caller does not have: those of all `edits`."""
        return tuple(message for edit in self.edits for message in edit.messages)

    def splice(self, own: Any = None, *, make: Make | None = None, api: str = "") -> Any:
        """The caller's list with what changed in it; every message that is kept is the caller's own object.

        Args:
            own: the list, or the body that holds it, to splice: one object for each message of the list that
                was compacted, in the same order; what has been added behind them stays. None: that list
                itself.
            make: makes the host's objects of new messages: it is called with a list of dictionaries, as `api`
                has them, and gives the objects. None: the dictionaries themselves.
            api: of `snapshot.requests.APIS`; "": that of the list, or OpenAI's Chat Completions where it has
                no API's own form.

        Returns:
            The very object that was given where nothing changed; else a new list, a new body, or, for a
            transcript, the transcript to be sent.

        Raises:
            SnapshotError: `own` has fewer messages than the list that was compacted.

        Example:
            >>> done = snapshot.compact(messages, model=model)  # LangChain's messages, say
            >>> messages = done.splice(messages, make=convert_to_messages)
        """
        if self._given is None:
            raise SnapshotError("there is no list to splice: this compaction was not made of one")
        return _spliced(self._given, self.transcript, own, make, api, mark=self._cache_mark())


def tools_in(conversation: object) -> str:
    """The definitions of tools in a body as text, as they are billed; "" where there are none."""
    from snapshot.transcripts.io.json_values import compact, plain

    if not isinstance(conversation, Mapping):
        return ""
    body = cast("Mapping[str, Any]", conversation)
    found: list[object] = []
    for holder in (body, *(body.get(key) for key in ("body", "params", "config"))):
        if isinstance(holder, Mapping):
            known = cast("Mapping[str, Any]", holder)
            found += [known[key] for key in ("tools", "functions") if known.get(key)]
    try:
        return "\n".join(compact(plain(tools)) for tools in found)
    except TypeError:  # a host's own objects, which say nothing of what is sent
        return ""


def _place_of_list(body: Mapping[str, Any]) -> tuple[str, ...]:
    """The keys that lead to the list of messages in a body; () where the body is a message itself."""
    for way in ("", "body", "params"):
        holder = body.get(way) if way else body
        if isinstance(holder, Mapping):
            inner = cast("Mapping[str, Any]", holder)
            key = next((key for key in _LISTS if isinstance(inner.get(key), str | list | tuple)), None)
            if key is not None:
                return (way, key) if way else (key,)
    return ()


def _listed(conversation: Any) -> Sequence[Any]:
    """The caller's list of messages: the conversation itself, or what its body holds."""
    if isinstance(conversation, Transcript):
        return conversation.messages
    if not isinstance(conversation, Mapping):
        return conversation
    value = cast(Any, conversation)
    way = _place_of_list(value)
    for key in way:
        value = value[key]
    return [value] if isinstance(value, str) or not way else value


def _edits_of(given: Given, sent: Transcript) -> tuple[Edit, ...]:
    """What has to change in the caller's list so that it says what is sent, in order."""
    there, now = given.transcript.messages, sent.messages
    if now is there:
        return ()
    at = _beside(given, sent)
    matched = _matched(there, now)
    # Places of the list that say something; the others stay where both neighbours do.
    components = given.components()
    edits: list[Edit] = []
    start = 0
    gone = False
    for first, behind, row, row_behind in components:
        place = matched.get(first)
        if place is None or [matched.get(n) for n in range(first, behind)] != list(
            range(place, place + behind - first)
        ):
            gone = True
            continue
        if gone or place > at:
            edits.append(Edit(start, row, now[at:place], now[at - 1] if at else None))
        at, start, gone = place + behind - first, row_behind, False
    if gone or len(now) > at:
        edits.append(Edit(start, given.count, now[at:], now[at - 1] if at else None))
    return tuple(edits)


def _beside(given: Given, sent: Transcript) -> int:
    """How many of the messages that are sent stand beside the list."""
    beside = given.beside
    leading = next(
        (n for n, message in enumerate(sent.messages) if message.role != "system"), len(sent.messages)
    )
    return min(beside, leading)


def _matched(there: Sequence[Message], now: Sequence[Message]) -> dict[int, int]:
    """Places in `now` of the messages that are in both, by their places in `there`; both rise.

    What was not changed is the same object. The leading ones are found from the start, all else from the end.
    """
    matched: dict[int, int] = {}
    lead = 0
    while lead < min(len(there), len(now)) and there[lead] is now[lead]:
        matched[lead] = lead
        lead += 1
    places: dict[int, list[int]] = {}
    for place in range(lead, len(there)):
        places.setdefault(id(there[place]), []).append(place)
    last = len(there)
    for place in range(len(now) - 1, lead - 1, -1):
        found = places.get(id(now[place]), [])
        before = bisect_left(found, last)
        if before:
            last = found[before - 1]
            matched[last] = place
    return matched


def _kept_of(count: int, edits: Sequence[Edit]) -> tuple[int, ...]:
    """The places of a list of `count` that no edit replaces."""
    kept: list[int] = []
    at = 0
    for edit in edits:
        kept += range(at, edit.start)
        at = edit.stop
    return (*kept, *range(at, count))


def _spliced(
    given: Given, sent: Transcript, own: Any, make: Make | None, api: str, *, mark: CacheMark | None
) -> Any:
    """The caller's list, or the body that holds it, with what changed: see `Compaction.splice`."""
    from snapshot.requests import api_of, request

    value = given.value if own is None else own
    if isinstance(value, HostList):
        value = value.messages
    listed = _listed(value)
    if len(listed) < given.count:
        raise SnapshotError(
            f"the list has {len(listed)} messages, the one that was compacted had {given.count}: "
            "splice the same one"
        )
    if sent.messages is given.transcript.messages:
        return value
    edits = _edits_of(given, sent)
    beside = given.beside
    same_beside = sent.messages[:beside] == given.transcript.messages[:beside]
    if not edits and same_beside:
        return value
    if isinstance(value, Transcript):
        return sent
    chosen = api or api_of(given.transcript.format) or _COMMON
    result: list[Any] = []
    at = 0
    for edit in edits:
        new = _written(edit, sent.format, chosen)
        if mark is not None and chosen == "anthropic" and mark.on(new):
            mark = None
        result += [*listed[at : edit.start], *(new if make is None else make(new))]
        at = edit.stop
    result += listed[at:]
    if not isinstance(value, Mapping):
        return result
    body = cast("Mapping[str, Any]", value)
    changed = {} if same_beside else request(sent, chosen)
    return _with_list(body, _place_of_list(body), result, changed)


def _with_list(
    body: Mapping[str, Any], way: tuple[str, ...], listed: list[Any], changed: Mapping[str, Any]
) -> Any:
    """The body with another list in it, and what stands beside that where it changed."""
    if not way:
        return listed
    key, *inner = way
    if inner:
        return {**body, key: _with_list(body[key], tuple(inner), listed, changed)}
    system = next((changed[key] for key in _BESIDE if key in changed), None)
    beside = {key: system for key in _BESIDE if key in body and system is not None}
    return {**body, **beside, key: listed}


def _written(edit: Edit, format_name: str, api: str) -> list[dict[str, Any]]:
    """New messages in the form of an API.

    They are written behind the message whose calls they answer, since results are written by their calls.
    """
    from snapshot.requests import LISTED, call_ids, request

    if not edit.messages:
        return []
    first = next(iter(edit.messages)).role
    asked = edit.behind if first == "tool" else None
    lead = (asked,) if asked is not None else ()
    if first == "system":  # at the start it would stand beside the list
        lead = (Message("assistant", (Text("…"),)),)
    before: list[dict[str, Any]] = []
    if lead:
        before = request(Transcript(lead, format_name), api)[LISTED[api]]
    whole: list[dict[str, Any]] = request(Transcript((*lead, *edit.messages), format_name), api)[LISTED[api]]
    new = whole[len(before) :]
    return new if asked is None else _with_ids(new, asked, call_ids(before, api))


def _with_ids(new: list[dict[str, Any]], asked: Message, given: Sequence[str]) -> list[dict[str, Any]]:
    """Results under the ids that the host's own message has, where they were written under others."""
    own = [part.id for part in asked.parts if isinstance(part, ToolCall)]
    other = {new_id: [old] for old, new_id in zip(own, given, strict=False) if old and old != new_id}
    return cast("list[dict[str, Any]]", with_ids(new, other)) if other and len(own) == len(given) else new
