"""OpenHands' conversations: the events of its SDK, and the trajectories of older versions.

Source: the event types of OpenHands/software-agent-sdk and of the older backend, looked up 2026-11. The SDK
writes `events/event-NUMBER-ID.json`, one event a file: give the folder of the conversation. A trajectory is a
list of actions and observations, `{id, source, action, args}` and `{id, source, observation, content}`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial

from snapshot.messages import Image, Opaque, Part, Reasoning, Text, ToolCall, ToolResult, Transcript
from snapshot.transcripts.io import jsonl
from snapshot.transcripts.io.json_values import JsonObject, as_list, as_object, as_text, compact, quoted
from snapshot.transcripts.io.source import MISSING, Sample, Source
from snapshot.transcripts.reading.blocks import BLOCKS
from snapshot.transcripts.reading.build import Builder, role_of
from snapshot.transcripts.reading.parts import image_at, read_content, read_result, read_text
from snapshot.transcripts.reading.threads import Conversation, Detection, Thread, first_words, title_of
from snapshot.transcripts.reading.times import iso_time

NAME = "openhands"

_SAID = frozenset(
    {
        "ActionEvent", "AgentErrorEvent", "Condensation", "CondensationSummaryEvent", "MessageEvent",
        "ObservationEvent", "SystemPromptEvent", "UserRejectObservation",
    }
)  # fmt: skip
_STATE = frozenset(
    {
        "ACPToolCallEvent", "CondensationRequest", "ConversationErrorEvent", "ConversationStateUpdateEvent",
        "HookExecutionEvent", "InterruptEvent", "LLMCompletionLogEvent", "PauseEvent", "TokenEvent",
    }
)  # fmt: skip
# Of the older versions: what only tells of the run, and what is said.
_SILENT = frozenset({"agent_state_changed", "change_agent_state", "null", "recall", "loop_recovery", ""})
_ENDS = frozenset({"finish", "reject"})
_HOLDERS = ("events", "history", "items", "trajectory")


def detect(sample: Sample) -> Detection | None:
    """How sure it is that this is such a list of events."""
    events = [as_object(value) or {} for value in (_listed(sample.document) or list(sample.rows))[:50]]
    hits = sum(_is_event(event) for event in events)
    if not hits or not events:
        return None
    return Detection(
        NAME, 0.97 * hits / len(events), f"{hits} of the first {len(events)} are events of a run"
    )


def _is_event(event: JsonObject) -> bool:
    if "source" not in event or "timestamp" not in event:
        return False
    kind = event.get("kind")
    if isinstance(kind, str):
        return kind in _SAID | _STATE
    action, observation = event.get("action"), event.get("observation")
    return (isinstance(action, str) and "args" in event) or (
        isinstance(observation, str) and "content" in event
    )


def _listed(document: object) -> list[object] | None:
    whole = as_object(document)
    if whole is not None:
        held = (as_list(whole.get(key)) for key in _HOLDERS)
        return next((found for found in held if found), [document] if _is_event(whole) else None)
    return as_list(document)


def threads(source: Source) -> Sequence[Thread]:
    """The one conversation."""
    if source.damage is not None:
        raise source.damage
    document = as_object(source.document) or {}
    if source.document is MISSING:
        events = list(jsonl.rows(source))
    else:
        listed = _listed(source.document) or ()
        events = [(f"event {n}", as_object(value) or {"kind": value}) for n, value in enumerate(listed, 1)]
    if not any(_is_event(event) for _, event in events):
        raise source.error("no event in it: expected a list of events, or the folder of a conversation")
    if len(events) == 1 and _is_event(document):
        note = "this is one event; give the folder of the conversation to read all of them"
        source.odd.append(("one-event", "whole file", note))
    words = next((text for _, event in events if (text := _asked(event))), "")
    time = next((iso_time(event["timestamp"]) for _, event in reversed(events) if event.get("timestamp")), "")
    state = as_object(document.get("state")) or {}
    name = as_text(state.get("id") or document.get("id") if document.get("events") else "") or "main"
    said = sum(
        as_text(event.get("kind") or event.get("action")) in (*_SAID, "message") for _, event in events
    )
    read = partial(_read, source, events, state)
    return [Thread(Conversation(name, title_of(words), said or len(events), time, main=True), read)]


def _asked(event: JsonObject) -> str:
    if event.get("source") != "user":
        return ""
    return first_words(event.get("llm_message")) or as_text(
        (as_object(event.get("args")) or {}).get("content")
    )


def _read(source: Source, events: Sequence[tuple[str, JsonObject]], state: JsonObject) -> Transcript:
    builder = Builder(source)
    reader = _Reader(builder, as_sent=source.as_sent)
    forgotten = _forgotten(events) if source.as_sent else frozenset[str]()
    for where, event in events:
        if as_text(event.get("id")) not in forgotten:
            reader.read(where, event)
    if reader.counted:
        told = ", ".join(f"{count} {kind}" for kind, count in sorted(reader.counted.items()))
        builder.odd("bookkeeping", "whole file", f"events without a message, kept extra_rows: {told}")
    llm = as_object((as_object(state.get("agent")) or {}).get("llm")) or {}
    extra_rows = [Opaque("state", compact(state))] if state else []
    return builder.finish(NAME, reader.model or as_text(llm.get("model")), [*extra_rows, *reader.extra_rows])


def _forgotten(events: Sequence[tuple[str, JsonObject]]) -> frozenset[str]:
    """Ids of events that a condensation took out of what the model is sent."""
    found: set[str] = set()
    for _, event in events:
        found.update(map(as_text, as_list(event.get("forgotten_event_ids")) or ()))
    return frozenset(found)


class _Reader:
    """Adds events to a conversation."""

    def __init__(self, builder: Builder, *, as_sent: bool) -> None:
        self.model = ""
        self.extra_rows: list[Opaque] = []
        self.counted: Counter[str] = Counter()
        self._builder = builder
        self._as_sent = as_sent
        self._calls: dict[str, str] = {}  # ids of calls by the ids of their events
        self._responses: set[str] = set()

    def read(self, where: str, event: JsonObject) -> None:
        """Add one event, or keep it aside."""
        kind = event.get("kind")
        if isinstance(kind, str) and kind in _SAID:
            self._new(where, kind, event)
        elif isinstance(event.get("action"), str) and not isinstance(kind, str):
            self._action(where, as_text(event["action"]), event)
        elif isinstance(event.get("observation"), str) and not isinstance(kind, str):
            self._observation(where, as_text(event["observation"]), event)
        else:
            self._keep(where, as_text(kind), event, known=as_text(kind) in _STATE)

    def _keep(self, where: str, kind: str, event: JsonObject, *, known: bool) -> None:
        self.extra_rows.append(Opaque(kind or "event", compact(event)))
        if known:
            self.counted[kind or "event"] += 1
        else:
            self._builder.odd(
                "unknown-row", where, f"an event of kind {quoted(kind)} is not known; kept aside"
            )

    def _new(self, where: str, kind: str, event: JsonObject) -> None:
        """An event of the SDK."""
        time, event_id = iso_time(event.get("timestamp")), as_text(event.get("id"))
        add = partial(self._builder.add, where=where, time=time)
        if kind == "SystemPromptEvent":
            add("system", self._content(event.get("system_prompt"), where), message_id=event_id)
        elif kind == "MessageEvent":
            message = as_object(event.get("llm_message")) or {}
            role = role_of(message.get("role")) or ("user" if event.get("source") == "user" else "assistant")
            parts = [*_thoughts(message, event), *self._content(message.get("content"), where)]
            parts += self._tool_calls(message)
            response = as_text(event.get("llm_response_id"))
            add(role, parts, message_id=response or event_id, join=bool(response))
            more = self._content(event.get("extended_content"), where)
            if more:
                add("system", more, origin="harness")
        elif kind == "ActionEvent":
            response = as_text(event.get("llm_response_id"))
            parts = [*_thoughts(event, {}), *self._content(event.get("thought"), where)]
            add(
                "assistant", [*parts, self._call(event)], message_id=response or event_id, join=bool(response)
            )
        elif kind in ("Condensation", "CondensationSummaryEvent"):
            summary = as_text(event.get("summary"))
            if kind == "Condensation":
                gone = len(as_list(event.get("forgotten_event_ids")) or ())
                note = f"the conversation was condensed here ({gone} events left out); all of it is kept"
                self._builder.odd("compaction", where, note)
            if summary:
                add("user" if self._as_sent else "system", [Text(summary)], origin="harness")
        else:
            add("tool", [self._result(kind, event, where)])

    def _content(self, value: object, where: str) -> list[Part]:
        return read_content(self._builder, value, where, _PARTS)

    def _call(self, event: JsonObject) -> ToolCall:
        call = as_object(event.get("tool_call")) or {}
        function = as_object(call.get("function")) or call
        raw = event.get("tool_call_id") or call.get("id")
        name = as_text(event.get("tool_name") or function.get("name"))
        arguments = function.get("arguments", event.get("action"))
        return ToolCall(self._builder.ids.text(raw), name, as_text(arguments))

    def _tool_calls(self, message: JsonObject) -> Iterator[ToolCall]:
        for value in as_list(message.get("tool_calls")) or ():
            yield self._call({"tool_call": value})

    def _result(self, kind: str, event: JsonObject, where: str) -> ToolResult:
        call_id = self._builder.ids.text(event.get("tool_call_id"))
        if kind == "AgentErrorEvent":
            return ToolResult(call_id, (Text(as_text(event.get("error"))),), is_error=True)
        if kind == "UserRejectObservation":
            return ToolResult(call_id, (Text(as_text(event.get("rejection_reason"))),), is_error=True)
        observation = as_object(event.get("observation")) or {}
        content = observation.get("content", observation.get("output"))
        if content is None:
            content = as_text({key: value for key, value in observation.items() if key != "kind"})
        failed = observation.get("is_error") is True
        result = read_result(self._builder, call_id, content, where, _PARTS, is_error=failed)
        more = self._content(event.get("extended_content"), where)
        kept = tuple(part for part in more if isinstance(part, Text | Image | Opaque))
        return ToolResult(call_id, (*result.content, *kept), failed)

    def _action(self, where: str, action: str, event: JsonObject) -> None:
        """An action of an older version: a message, or a call under the id of its event."""
        args, time = as_object(event.get("args")) or {}, iso_time(event.get("timestamp"))
        event_id = as_text(event.get("id"))
        add = partial(self._builder.add, where=where, time=time)
        source = event.get("source")
        if action in _SILENT or (action == "condensation" and not args.get("summary")):
            self._keep(where, action, event, known=True)
        elif action == "system":
            add("system", [Text(as_text(args.get("content")))], message_id=event_id)
        elif action == "condensation":
            self._builder.odd("compaction", where, "the conversation was condensed here; all of it is kept")
            add("system", [Text(as_text(args["summary"]))], origin="harness")
        elif action == "message" or (source == "user" and "content" in args):
            parts: list[Part] = [Text(as_text(args["content"]))] if args.get("content") else []
            for url in as_list(args.get("image_urls")) or ():
                parts += image_at(self._builder, {"type": "image"}, url, where) or ()
            add("user" if source == "user" else "assistant", parts, message_id=event_id)
        else:
            self._called(add, event, action, args)

    def _called(self, add: partial[None], event: JsonObject, action: str, args: JsonObject) -> None:
        told = as_object(event.get("tool_call_metadata")) or {}
        response = as_object(told.get("model_response")) or {}
        self.model = as_text(response.get("model")) or self.model
        event_id, response_id = as_text(event.get("id")), as_text(response.get("id"))
        call_id = self._builder.ids.text(told.get("tool_call_id")) or self._builder.ids.invent("call")
        self._calls[event_id] = call_id
        thought = as_text(args.get("thought") or args.get("final_thought"))
        message = _first_message(response)
        name = as_text(told.get("function_name")) or action
        written = next(
            (
                function.get("arguments")
                for value in as_list(message.get("tool_calls")) or ()
                if (call := as_object(value))
                and call.get("id") == told.get("tool_call_id")
                and (function := as_object(call.get("function")))
            ),
            None,
        )
        asked = {key: value for key, value in args.items() if key not in ("thought", "hidden")}
        parts: list[Part] = []
        if response_id not in self._responses or not response_id:
            parts += _thoughts(message, {})
            parts += [Text(thought)] if thought and action not in ("think", "finish") else []
        self._responses.add(response_id)
        parts.append(ToolCall(call_id, name, as_text(asked if written is None else written)))
        add("assistant", parts, message_id=response_id or event_id, join=bool(response_id))
        if action in _ENDS and thought:
            add("tool", [ToolResult(call_id, ())])
            add("assistant", [Text(thought)])

    def _observation(self, where: str, observation: str, event: JsonObject) -> None:
        told = as_object(event.get("tool_call_metadata")) or {}
        extras = as_object(event.get("extras")) or {}
        raw = told.get("tool_call_id")
        call_id = self._builder.ids.text(raw) if raw else self._calls.get(as_text(event.get("cause")), "")
        if observation in _SILENT or not call_id:
            self._keep(where, observation, event, known=True)
            return
        code = (as_object(extras.get("metadata")) or {}).get("exit_code", extras.get("exit_code"))
        failed = observation == "error" or code not in (None, 0, -1)
        words = as_text(event.get("content"))
        content: list[Text | Image] = [Text(words)] if words else []
        for url in [*(as_list(extras.get("image_urls")) or ()), extras.get("screenshot")]:
            shown = image_at(self._builder, {"type": "image"}, url, where) or ()
            content += (part for part in shown if isinstance(part, Image))
        result = ToolResult(call_id, tuple(content), failed)
        self._builder.add("tool", [result], where=where, time=iso_time(event.get("timestamp")))


def _first_message(response: JsonObject) -> JsonObject:
    choices = as_list(response.get("choices")) or [{}]
    return as_object((as_object(choices[0]) or {}).get("message")) or {}


def _thoughts(holder: JsonObject, other: JsonObject) -> Iterator[Part]:
    """The model's thinking: signed blocks, or the text of it, or the summary of a sealed item."""
    blocks = as_list(holder.get("thinking_blocks")) or as_list(other.get("thinking_blocks")) or ()
    found = False
    for block in map(as_object, blocks):
        if block is None:
            continue
        found = True
        signature = block.get("signature")
        if block.get("type") == "redacted_thinking":
            yield Opaque("redacted_thinking", compact(block))
        else:
            yield Reasoning(as_text(block.get("thinking")), signature if isinstance(signature, str) else None)
    words = as_text(holder.get("reasoning_content") or other.get("reasoning_content"))
    item = as_object(holder.get("responses_reasoning_item")) or {}
    texts = [as_text(one) for key in ("summary", "content") for one in as_list(item.get(key)) or ()]
    sealed = item.get("encrypted_content")
    if not found and (words or texts or isinstance(sealed, str)):
        yield Reasoning(words or "\n".join(texts), sealed if isinstance(sealed, str) else None)


def _image(builder: Builder, block: JsonObject, where: str) -> Sequence[Part] | None:
    urls = as_list(block.get("image_urls"))
    if urls is None:
        return BLOCKS["image"](builder, block, where)
    return [part for url in urls for part in image_at(builder, block, url, where) or ()]


_PARTS = {"text": read_text, "image": _image}
