"""Amp's threads: Anthropic's blocks, but results hold the run of their tool.

Source: threads in public repositories, looked up 2026-11: `{v, id: "T-…", created, title, messages}`, results
`{type: "tool_result", toolUseID, run: {status, result | error}}`.
"""

from __future__ import annotations

from collections.abc import Sequence

from snapshot.messages import Part, Transcript, Usage
from snapshot.transcripts.io.json_values import JsonObject, as_list, as_object, as_text
from snapshot.transcripts.io.source import Sample, Source
from snapshot.transcripts.reading.blocks import BLOCKS
from snapshot.transcripts.reading.build import Builder, role_of
from snapshot.transcripts.reading.envelope import Dialogue, dialogue_threads, opened, sampled
from snapshot.transcripts.reading.parts import by_speaker, read_content, read_result
from snapshot.transcripts.reading.threads import Detection, Thread
from snapshot.transcripts.reading.times import iso_time

NAME = "amp"

_OPENED = opened("messages")
_SHOWN = ("output", "content", "diff")  # where tools put what the model is shown
_FAILED = ("error", "cancelled", "rejected-by-user")


def detect(sample: Sample) -> Detection | None:
    """How sure it is that this is such a thread."""
    found = sampled(sample, _OPENED)
    if found is None:
        return None
    results = [
        block
        for message in found.items
        for value in as_list((as_object(message) or {}).get("content")) or ()
        if (block := as_object(value)) is not None and block.get("type") == "tool_result"
    ]
    own = sum("toolUseID" in block for block in results)
    named = as_text(found.envelope.get("id")).startswith("T-") and "created" in found.envelope
    if not own and not named:
        return None
    return Detection(NAME, 0.97, f"a thread with {own} results that name their call as toolUseID")


def threads(source: Source) -> Sequence[Thread]:
    """The thread."""
    what = "no messages in it: expected an object with `messages`"
    return dialogue_threads(source, _OPENED, what, _read)


def _read(builder: Builder, dialogue: Dialogue) -> Transcript:
    model = ""
    for number, value in builder.numbered(dialogue.items):
        where, message = f"message {number}", as_object(value)
        role = role_of((message or {}).get("role"))
        if message is None or role is None or role == "tool":
            builder.add_unread(value, where=where)
            continue
        parts = read_content(builder, message.get("content"), where, _PARTS)
        counts, facts = as_object(message.get("usage")) or {}, as_object(message.get("meta")) or {}
        model = as_text(counts.get("model")) or model
        time = iso_time(counts.get("timestamp") or facts.get("sentAt"))
        usage = _usage(counts) if role == "assistant" else None
        for speaker, run in by_speaker(role, parts):
            message_id = as_text(message.get("messageId"))
            builder.add(speaker, run, where=where, message_id=message_id, time=time, usage=usage)
            usage = None
    return builder.finish(NAME, model)


def _usage(counts: JsonObject) -> Usage | None:
    def count(*keys: str) -> int:
        found = (counts.get(key) for key in keys)
        return sum(n for n in found if isinstance(n, int) and not isinstance(n, bool) and n > 0)

    parts = count("inputTokens", "cacheCreationInputTokens", "cacheReadInputTokens")
    prompt, output = count("totalInputTokens") or parts, count("outputTokens")
    return Usage(prompt, output) if prompt or output else None


def _answer(builder: Builder, block: JsonObject, where: str) -> Sequence[Part]:
    call_id = builder.ids.text(block.get("toolUseID") or block.get("tool_use_id"))
    run = as_object(block.get("run")) or {}
    result = run.get("result", block.get("content"))
    held = as_object(result)
    failed = as_text(run.get("status")) in _FAILED or (held or {}).get("success") is False
    if held is not None and "type" not in held:
        result = next((held[key] for key in _SHOWN if held.get(key) is not None), result)
    error = as_object(run.get("error")) or {"message": run.get("error") or run.get("reason")}
    if result is None:
        result = as_text(error.get("message"))
    listed = as_list(result)
    if not isinstance(result, str) and not (listed and all(map(_is_block, listed))):
        result = as_text(result)
    return (read_result(builder, call_id, result, where, BLOCKS, is_error=failed),)


def _is_block(value: object) -> bool:
    return as_text((as_object(value) or {}).get("type")) in BLOCKS


_PARTS = {**BLOCKS, "tool_result": _answer}
