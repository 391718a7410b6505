"""ShareGPT: `conversations` of `{from, value}`, one or many in a file, as training sets have them."""

from __future__ import annotations

from collections.abc import Sequence

from snapshot.messages import Opaque, Part, Role, Text, Transcript
from snapshot.transcripts.io.json_values import as_object, as_text
from snapshot.transcripts.io.source import Sample, Source
from snapshot.transcripts.reading.build import Builder
from snapshot.transcripts.reading.envelope import Dialogue, dialogue_threads, opened, sampled
from snapshot.transcripts.reading.pairing import Pairing
from snapshot.transcripts.reading.parts import named
from snapshot.transcripts.reading.tags import call_from, said, tool_results
from snapshot.transcripts.reading.threads import Detection, Thread

NAME = "sharegpt"

_OPENED = opened("conversations", "conversation")
_ROLES: dict[str, Role] = {
    "human": "user", "user": "user", "gpt": "assistant", "assistant": "assistant", "chatgpt": "assistant",
    "bing": "assistant", "bard": "assistant", "model": "assistant", "function_call": "assistant",
    "system": "system", "observation": "tool", "tool": "tool", "function_response": "tool",
}  # fmt: skip


def detect(sample: Sample) -> Detection | None:
    """How sure it is that these are such conversations."""
    found = sampled(sample, _OPENED, alike=True)
    items = [] if found is None else found.items
    turns = [
        turn
        for turn in map(as_object, items)
        if turn and isinstance(turn.get("from"), str) and "value" in turn
    ]
    if not turns:
        return None
    return Detection(
        NAME,
        0.97 * len(turns) / len(items),
        f"{len(turns)} of the first {len(items)} turns are {{from, value}}",
    )


def threads(source: Source) -> Sequence[Thread]:
    """Every conversation. Calls have no ids: results answer them in order.

    A name that is no role's is one of the user's side, with the name in front of the words.
    """
    what = "no conversation in it: expected objects with `conversations` of {from, value}"
    return dialogue_threads(source, _OPENED, what, _read)


def _read(builder: Builder, dialogue: Dialogue) -> Transcript:
    pairing = Pairing(builder.ids)
    envelope = dialogue.envelope
    if envelope.get("system"):
        builder.add("system", [Text(as_text(envelope["system"]))], where="system")
    for number, value in builder.numbered(dialogue.items):
        where, turn = f"turn {number}", as_object(value)
        speaker = as_text((turn or {}).get("from"))
        if turn is None or not speaker:
            builder.add_unread(value, where=where, what="turn", speaker="from")
            continue
        role = _ROLES.get(speaker.strip().lower())
        text = as_text(turn.get("value"))
        call = call_from(text, pairing) if speaker == "function_call" else None
        if call is not None:
            parts: list[Part] = [call]
        elif role == "assistant":
            parts = list(said(text, pairing))
        elif role == "tool":
            parts = list(tool_results(text, pairing))
        else:
            parts = [Text(text)] if role else named(speaker, [Text(text)])
        if role != "assistant" or call is None or not builder.extend(role, parts):
            builder.add(role or "user", parts, where=where)
    tools = [Opaque("tools", as_text(envelope["tools"]))] if envelope.get("tools") else []
    return builder.finish(NAME, as_text(envelope.get("model")), tools)
