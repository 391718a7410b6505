"""opencode's sessions: its export, the messages of its server, and its storage of a file for each part.

Source: the message and part types of anomalyco/opencode, looked up 2026-11. An export is `{info, messages:
[{info, parts}]}`. In the older storage a message is `message/SESSION/MESSAGE.json`, a part
`part/MESSAGE/PART.json`: give the folder `message/SESSION`, or `storage` itself. Newer versions keep sessions
in a database: `opencode export SESSION` writes one out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from snapshot.messages import (
    File,
    Image,
    Opaque,
    Part,
    Reasoning,
    Role,
    Text,
    ToolCall,
    ToolResult,
    Transcript,
    Usage,
)
from snapshot.transcripts.io.json_values import JsonObject, as_list, as_object, as_text, compact, quoted
from snapshot.transcripts.io.source import Sample, Source
from snapshot.transcripts.reading.build import Builder
from snapshot.transcripts.reading.parts import ANY_FILE, ANY_IMAGE, bad_base64, split_data_url
from snapshot.transcripts.reading.threads import Conversation, Detection, Thread, title_of
from snapshot.transcripts.reading.times import iso_time

NAME = "opencode"

_STATE = frozenset({"agent", "patch", "retry", "snapshot", "step-finish", "step-start"})
_OPEN = frozenset({"pending", "running"})


def detect(sample: Sample) -> Detection | None:
    """How sure it is that this is such a session."""
    sessions = _sessions(sample.document)
    if sessions:
        held = sessions[0][1]
        hits = sum(map(_is_message, held))
        reason = f"{hits} of {len(held)} messages have info and parts"
        return Detection(NAME, 0.98 * hits / len(held), reason)
    if _is_piece(sample.document):
        return Detection(NAME, 0.9, "one message or part of a session")
    return None


def _is_message(value: object) -> bool:
    message = as_object(value) or {}
    info = as_object(message.get("info"))
    return info is not None and "role" in info and as_list(message.get("parts")) is not None


def _is_piece(document: object) -> bool:
    """Whether this is a file of the storage: a message without its parts, or a part."""
    piece = as_object(document) or {}
    return "sessionID" in piece and "id" in piece and ("role" in piece or "messageID" in piece)


def _sessions(document: object) -> list[tuple[JsonObject, list[object]]]:
    """Facts and messages of each session: one, or those of a storage."""
    whole, listed = as_object(document), as_list(document)
    if listed:
        if any(map(_is_message, listed[:20])):
            return [({}, listed)]
        found = [one for value in listed if (one := as_object(value)) is not None]
    else:
        found = [] if whole is None else [whole]
    made: list[tuple[JsonObject, list[object]]] = []
    for one in found:
        messages = as_list(one.get("messages"))
        if messages and any(map(_is_message, messages[:20])):
            made.append((as_object(one.get("info")) or {}, messages))
    return made


def threads(source: Source) -> Sequence[Thread]:
    """A thread for each session, subagents' among them, and one for what was reverted in it."""
    if source.damage is not None:
        raise source.damage
    sessions = _sessions(source.document)
    if not sessions:
        if _is_piece(source.document):
            raise source.error(
                "this is one file of a session; give the folder message/SESSION that it belongs to, or what "
                "`opencode export` writes"
            )
        raise source.error("no session in it: expected `info` and `messages`, each with `info` and `parts`")
    made: list[Thread] = []
    roots = [info for info, _ in sessions if not info.get("parentID")]
    for number, (info, messages) in enumerate(sessions, 1):
        name = as_text(info.get("id")) or (str(number) if len(sessions) > 1 else "main")
        ordered = sorted(messages, key=_when)
        kept, reverted = _reverted(info, ordered)
        notes: list[tuple[str, str, str]] = []
        if reverted:
            note = f'messages were taken back; read them as conversation "{name}:reverted"'
            notes.append(("branch", f"message {len(kept) + 1}", note))
        main = len(sessions) == 1 or (len(roots) == 1 and info is roots[0])
        made.append(_thread(source, name, info, kept, notes, main=main))
        if reverted:
            made.append(_thread(source, f"{name}:reverted", {}, reverted, [], main=False))
    return made


def _thread(
    source: Source,
    name: str,
    info: JsonObject,
    messages: Sequence[object],
    notes: Sequence[tuple[str, str, str]],
    *,
    main: bool,
) -> Thread:
    words = next((text for value in messages if (text := _asked(value))), "")
    time = next((found for value in reversed(messages) if (found := iso_time(_created(value)))), "")
    title = as_text(info.get("title")) or title_of(words)
    read = partial(_read, source, info, messages, notes)
    return Thread(Conversation(name, title, len(messages), time, main), read)


def _info(value: object) -> JsonObject:
    return as_object((as_object(value) or {}).get("info")) or {}


def _created(value: object) -> object:
    return (as_object(_info(value).get("time")) or {}).get("created")


def _when(value: object) -> float:
    """The time of a message; those without one stay together at the start, in their order."""
    created = _created(value)
    return created if isinstance(created, int | float) and not isinstance(created, bool) else 0


def _asked(value: object) -> str:
    if _info(value).get("role") != "user":
        return ""
    parts = [as_object(part) or {} for part in as_list((as_object(value) or {}).get("parts")) or ()]
    texts = (
        as_text(p.get("text")) for p in parts if p.get("type") == "text" and p.get("synthetic") is not True
    )
    return next(filter(None, texts), "")


def _reverted(info: JsonObject, messages: list[object]) -> tuple[list[object], list[object]]:
    first = as_text((as_object(info.get("revert")) or {}).get("messageID"))
    at = next((n for n, value in enumerate(messages) if first and _info(value).get("id") == first), None)
    return (messages, []) if at is None else (messages[:at], messages[at:])


def _read(
    source: Source, info: JsonObject, messages: Sequence[object], notes: Sequence[tuple[str, str, str]]
) -> Transcript:
    builder = Builder(source)
    for note in notes:
        builder.odd(*note)
    reader = _Reader(builder)
    shown = _since_compaction(messages) if source.as_sent else messages
    for number, value in enumerate(shown, 1):
        reader.read(value, _info(value), f"message {number}")
    extra_rows = [Opaque("session", compact(info))] if info else []
    return builder.finish(NAME, reader.model, [*extra_rows, *reader.extra_rows])


def _since_compaction(messages: Sequence[object]) -> Sequence[object]:
    """The newest summary and what follows it."""
    at = max((n for n, value in enumerate(messages) if _info(value).get("summary") is True), default=0)
    return messages[at:]


class _Reader:
    """Adds messages to a conversation: a step of the assistant is a message, with its results behind it."""

    def __init__(self, builder: Builder) -> None:
        self.model = ""
        self.extra_rows: list[Opaque] = []
        self._builder = builder

    def read(self, value: object, info: JsonObject, where: str) -> None:
        parts = as_list((as_object(value) or {}).get("parts"))
        role = info.get("role")
        if parts is None or role not in ("user", "assistant"):
            self._builder.add_unread(value, where=where)
            return
        message_id, time = as_text(info.get("id")), iso_time(_created(value))
        if role == "user":
            self._user(parts, where, message_id, time)
            return
        self.model = as_text(info.get("modelID")) or self.model
        error = as_object(info.get("error"))
        if error is not None:
            told = as_object(error.get("data")) or {}
            words = quoted(as_text(told.get("message") or error.get("name")), 200)
            self._builder.odd("failed-answer", where, f"the answer failed: {words}")
        if info.get("summary") is True:
            note = "the conversation was compacted here, and this is the summary; all of it is kept"
            self._builder.odd("compaction", where, note)
        usage = _usage(info.get("tokens"))
        steps = list(self._steps(parts, where))
        for number, (said, results, counted) in enumerate(steps):
            own = counted or (usage if number == len(steps) - 1 else None)
            self._builder.add("assistant", said, where=where, message_id=message_id, time=time, usage=own)
            if results:
                self._builder.add("tool", results, where=where, time=time)

    def _steps(
        self, parts: Sequence[object], where: str
    ) -> Iterator[tuple[list[Part], list[ToolResult], Usage | None]]:
        said: list[Part] = []
        results: list[ToolResult] = []
        usage: Usage | None = None
        for value in parts:
            part = as_object(value) or {"type": None, "text": value}
            kind = part.get("type")
            if kind == "step-start" and (said or results):
                yield said, results, usage
                said, results, usage = [], [], None
            elif kind == "step-finish":
                usage = _usage(part.get("tokens")) or usage
            elif kind == "tool":
                call, result = self._tool(part, where)
                said.append(call)
                results += [] if result is None else [result]
            else:
                if results and kind in ("text", "reasoning"):  # versions without marks between steps
                    yield said, results, usage
                    said, results, usage = [], [], None
                said += self._part(part, where)
        if said or results:
            yield said, results, usage

    def _user(self, parts: Sequence[object], where: str, message_id: str, time: str) -> None:
        """The user's words; what the harness adds to them stands apart, as the system's."""
        own: list[Part] = []
        added: list[Part] = []
        for value in parts:
            part = as_object(value) or {"type": None, "text": value}
            if part.get("type") == "compaction":
                self._builder.odd(
                    "compaction", where, "the conversation is compacted here; all of it is kept"
                )
                self.extra_rows.append(Opaque("compaction", compact(part)))
                continue
            (added if part.get("synthetic") is True else own).extend(self._part(part, where))
        for role, said in (("user", own), ("system", added)):
            if said or (role == "user" and not added):
                speaker: Role = "user" if role == "user" else "system"
                self._builder.add(
                    speaker,
                    said,
                    where=where,
                    message_id=message_id if role == "user" else "",
                    time=time,
                    origin="harness" if role == "system" else "",
                )

    def _part(self, part: JsonObject, where: str) -> Iterator[Part]:
        kind, text = as_text(part.get("type")), as_text(part.get("text"))
        if kind == "text" and part.get("ignored") is not True:
            if text:
                yield Text(text)
        elif kind == "reasoning":
            yield Reasoning(text)
        elif kind == "file":
            yield from self._file(part, where)
        elif kind == "subtask":
            yield Text(as_text(part.get("prompt")) or as_text(part.get("description")))
        elif kind == "text" or kind in _STATE:
            self.extra_rows.append(Opaque(kind, compact(part)))
        else:
            note = f"a part of type {quoted(part.get('type'))} is not known; kept whole"
            self._builder.odd("unknown-part", where, note)
            yield Opaque(kind or "part", compact(part))

    def _file(self, part: JsonObject, where: str) -> Iterator[Image | File | Opaque]:
        media_type, url, name = (as_text(part.get(key)) for key in ("mime", "url", "filename"))
        inline = split_data_url(url)
        if inline is not None:
            found, data = inline
            media_type = found or media_type
            if not data:
                kept = bad_base64(self._builder, part, "file", where)
                yield from (one for one in kept if isinstance(one, Opaque))
            elif media_type.startswith("image/"):
                yield Image(media_type, data)
            else:
                yield File(name, media_type or ANY_FILE, data)
        elif media_type.startswith("image/"):
            yield Image(media_type or ANY_IMAGE, source=url)
        else:
            yield File(name or url, media_type or ANY_FILE, source=url)

    def _tool(self, part: JsonObject, where: str) -> tuple[ToolCall, ToolResult | None]:
        state = as_object(part.get("state")) or {}
        call_id = self._builder.ids.text(part.get("callID")) or self._builder.ids.invent("call")
        asked = state.get("input") or state.get("raw") or {}
        call = ToolCall(call_id, as_text(part.get("tool")), as_text(asked))
        status = as_text(state.get("status"))
        if status in _OPEN:
            return call, None
        failed = status == "error"
        words = as_text(state.get("error") if failed else state.get("output"))
        content: list[Text | Image | File | Opaque] = [Text(words)] if words else []
        for value in as_list(state.get("attachments")) or ():
            content += self._file(as_object(value) or {}, where)
        return call, ToolResult(call_id, tuple(content), failed)


def _usage(value: object) -> Usage | None:
    counts = as_object(value) or {}
    cache = as_object(counts.get("cache")) or {}

    def count(record: JsonObject, *keys: str) -> int:
        found = (record.get(key) for key in keys)
        return sum(n for n in found if isinstance(n, int) and not isinstance(n, bool) and n > 0)

    prompt = count(counts, "input") + count(cache, "read", "write")
    output = count(counts, "output", "reasoning")
    return Usage(prompt, output) if prompt or output else None
