"""Lists of messages as APIs have them: one or several in a file, and whose dialect they speak."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from snapshot.messages import Role, Transcript
from snapshot.parts.kinds import KINDS
from snapshot.transcripts.io import jsonl
from snapshot.transcripts.io.harness import NONE, Rules, rules_for
from snapshot.transcripts.io.json_values import JsonObject, as_list, as_object, as_text
from snapshot.transcripts.io.source import MISSING, Sample, Source
from snapshot.transcripts.reading.build import Builder, role_of
from snapshot.transcripts.reading.speakers import asked
from snapshot.transcripts.reading.threads import Conversation, Detection, Thread, first_words, title_of

_SPEAKERS = ("role", "from", "sender", "type")  # where the formats say who speaks
_TITLE_WITHIN = 10  # messages
_TIMES = ("updated_at", "update_time", "created_at", "create_time")
_ONLY = "main"
_SURE = 0.95  # harnesses send these messages too, and keep them in frames of their own
_JUDGED = 200  # messages that are enough to tell a format by, where each of them tells it
_IDS = ("id", "conversation_id", "custom_id", "uuid")

__all__ = ["Dialogue", "dialects", "dialogue_threads", "opened", "sampled"]

_ANTHROPIC_BLOCKS = frozenset(
    kind.name for kind in KINDS if kind.api == "anthropic" and kind.family not in ("text", "note")
)
_OPENAI_BLOCKS = frozenset({"file", "image_url", "input_audio", "refusal"})
_OPENAI_KEYS = frozenset(
    {"audio", "function_call", "reasoning", "reasoning_content", "refusal", "tool_call_id", "tool_calls"}
)
_OPENAI_ROLES = frozenset({"developer", "function", "tool"})
# Items of the Responses API and messages of the AI SDK look alike, and are not.
_RESPONSES = frozenset({"function_call", "function_call_output", "input_text", "output_text", "reasoning"})
_AI_SDK = frozenset({"tool-call", "tool-result"})
_FOREIGN = frozenset({"toolUse", "toolResult", "cachePoint", "reasoningContent", "guardContent"})
_CONTENT_KEYS = frozenset({"content", "function_call", "tool_calls"})


@dataclass(frozen=True, slots=True)
class Dialogue:
    """One list of messages, and the object around it (empty if there is none)."""

    items: list[object]
    envelope: JsonObject


Opened: TypeAlias = Callable[[object], Dialogue | None]


def opened(*keys: str) -> Opened:
    """What finds the list in a document: under the first of `keys`, or the document itself."""

    def find(document: object) -> Dialogue | None:
        envelope = as_object(document)
        if envelope is None:
            listed = as_list(document)
            return None if listed is None else Dialogue(listed, {})
        if "role" in envelope and not any(key in envelope for key in keys):  # one message, as an API answers
            return Dialogue([envelope], {})
        for holder in (
            envelope,
            as_object(envelope.get("body")) or {},
            as_object(envelope.get("params")) or {},
        ):
            found = next((listed for key in keys if (listed := as_list(holder.get(key))) is not None), None)
            if found is not None:  # the others are the lines of batches
                return Dialogue(found, holder)
        return None

    return find


def sampled(sample: Sample, find: Opened, *, alike: bool = False) -> Dialogue | None:
    """The first of the lists, to judge by.

    `alike` says that each message tells the format, so that some of a long list are enough.
    """
    several = _several(list(sample.rows) if sample.document is MISSING else sample.document, find)
    if not several:
        return None
    first = several[0][1]
    return Dialogue(first.items[:_JUDGED], first.envelope) if alike else first


def dialogue_threads(
    source: Source,
    find: Opened,
    what: str,
    read: Callable[[Builder, Dialogue], Transcript],
    name: str = "",
) -> Sequence[Thread]:
    """A thread for each list in the input: a document, an array of them, or a line for each.

    Lines that are messages are one conversation. `name` is that of the format, where it has words of a
    harness: they make no title.

    Raises:
        TranscriptError: there is no such list; `what` says what was expected.
    """
    if source.damage is not None:
        raise source.damage
    document = source.document
    if document is MISSING:
        document = [row for _, row in jsonl.rows(source)] if _is_log(source) else None
    several = _several(document, find)
    if not several:
        raise source.error(what)
    lost = len(as_list(document) or ()) - len(several)
    if several[0][0] != _ONLY and lost:
        source.odd.append(
            ("unknown-row", "whole file", f"{lost} elements that hold no conversation; left out")
        )

    rules = rules_for(name, source.harness)

    def thread(conversation_id: str, dialogue: Dialogue) -> Thread:
        envelope = dialogue.envelope
        title = as_text(envelope.get("title") or envelope.get("name")) or title_of(
            _first_words(dialogue.items, rules)
        )
        time = as_text(next((envelope[key] for key in _TIMES if envelope.get(key)), ""))
        conversation = Conversation(conversation_id, title, len(dialogue.items), time, main=len(several) == 1)
        return Thread(conversation, lambda: read(Builder(source), dialogue))

    return [thread(*item) for item in several]


def _is_log(source: Source) -> bool:
    return bool(jsonl.sample(source).rows)


def _several(document: object, find: Opened) -> list[tuple[str, Dialogue]]:
    """The lists in a document, each with its id: one, or those of most elements of an array."""
    found: list[tuple[str, Dialogue]] = []
    listed = as_list(document) or []
    envelopes = any("role" not in item for item in map(as_object, listed[:_JUDGED]) if item is not None)
    for number, item in enumerate(map(as_object, listed if envelopes else ()), 1):
        one = find(item) if item is not None and "role" not in item and "type" not in item else None
        if item is not None and one is not None:
            found.append((_id_of(item) or str(number), one))
    if 2 * len(found) <= len(listed):
        only = find(document)
        return [] if only is None else [(_ONLY, only)]
    taken = Counter(name for name, _ in found)
    return [
        (name if taken[name] == 1 else f"{name}#{number}", one) for number, (name, one) in enumerate(found, 1)
    ]


def _id_of(envelope: JsonObject) -> str:
    return next((as_text(envelope[key]) for key in _IDS if envelope.get(key)), "")


def _first_words(items: Sequence[object], rules: Rules) -> str:
    """What the user says first, in whatever form."""
    for item in map(as_object, items[:_TITLE_WITHIN]):
        speaker = next((item[key] for key in _SPEAKERS if key in item), "") if item else ""
        if item and speaker in ("user", "human", "HumanMessage"):
            words = first_words(item) if rules is NONE else asked(item.get("content"), rules)
            if words or rules is NONE:
                return words
    return ""


def dialects(
    sample: Sample, anthropic_name: str, openai_name: str
) -> tuple[Detection | None, Detection | None]:
    """How sure it is that messages are Anthropic's, and OpenAI's: by their blocks, keys and roles.

    Plain messages fit both; they are OpenAI's if one is the system's or a tool's, else Anthropic's.
    """
    found = sampled(sample, opened("messages"))
    messages, envelope = ([], {}) if found is None else (found.items, found.envelope)
    objects = [m for m in map(as_object, messages or ()) if m is not None]
    with_role = [m for m in objects if isinstance(m.get("role"), str)]
    if 2 * len(with_role) < len(messages or ()) or not any(map(_is_message, with_role)):
        return None, None
    if any(map(_is_foreign, objects)):
        return None, None
    anthropic = int("system" in envelope)
    openai = 0
    for message in objects:
        kinds = _kinds(message)
        if not (_RESPONSES | _AI_SDK).isdisjoint(kinds):
            return None, None
        role = message.get("role")
        anthropic += not _ANTHROPIC_BLOCKS.isdisjoint(kinds)
        openai += (
            not _OPENAI_BLOCKS.isdisjoint(kinds)
            or not _OPENAI_KEYS.isdisjoint(message)
            or (isinstance(role, str) and role in _OPENAI_ROLES)
        )
    if not anthropic and not openai:
        plain: Role = "system"
        openai = sum(role_of(message.get("role")) == plain for message in objects)
    if not anthropic and not openai:
        reason = "messages with a role and plain content, as several APIs have them"
        return Detection(anthropic_name, 0.5, reason), Detection(openai_name, 0.4, reason)
    share = anthropic / (anthropic + openai)
    count = f"of {len(objects)} messages have"
    return (
        Detection(
            anthropic_name,
            _SURE * share,
            f"{anthropic} {count} blocks that only Anthropic's have, or system stands beside them",
        )
        if share
        else None,
        Detection(
            openai_name, _SURE * (1 - share), f"{openai} {count} roles, keys or parts that only OpenAI's have"
        )
        if share < 1
        else None,
    )


def _is_message(message: JsonObject) -> bool:
    return role_of(message.get("role")) is not None and not _CONTENT_KEYS.isdisjoint(message)


def _is_foreign(message: JsonObject) -> bool:
    """Whether a message has blocks without a type, under keys of another service's."""
    blocks = as_list(message.get("content")) or ()
    return any(
        block is not None and "type" not in block and not _FOREIGN.isdisjoint(block)
        for block in map(as_object, blocks)
    )


def _kinds(message: JsonObject) -> set[str]:
    """The types of a message's blocks, and its own."""
    blocks = as_list(message.get("content")) or [message.get("content")]
    kinds = (block.get("type") for block in map(as_object, [*blocks, message]) if block is not None)
    return {kind for kind in kinds if isinstance(kind, str)}
