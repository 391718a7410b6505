"""ATIF, the Agent Trajectory Interchange Format: one object with a list of steps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from snapshot.messages import Image, Opaque, Part, Reasoning, Role, ToolCall, ToolResult, Transcript
from snapshot.transcripts.io.json_values import (
    JsonObject,
    as_list,
    as_object,
    as_text,
    compact,
    quoted,
    type_name,
)
from snapshot.transcripts.io.source import Sample, Source
from snapshot.transcripts.reading.build import Builder, usage_of
from snapshot.transcripts.reading.parts import ANY_IMAGE, read_content, read_opaque, read_result, read_text
from snapshot.transcripts.reading.threads import Conversation, Detection, Thread, first_words, title_of

NAME = "atif"

_SPEAKERS: dict[str, Role] = {"system": "system", "user": "user", "agent": "assistant"}


def detect(sample: Sample) -> Detection | None:
    """How sure it is that this is a trajectory."""
    document = as_object(sample.document) or {}
    if as_list(document.get("steps")) is None:
        return None
    version = as_text(document.get("schema_version"))
    if not version.startswith("ATIF-v"):
        return None
    return Detection(NAME, 1.0, f"an object with steps, and schema_version {quoted(version)}")


def threads(source: Source) -> Sequence[Thread]:
    """The trajectory, and those of its subagents, whatever their depth, under their own ids."""
    if source.damage is not None:
        raise source.damage
    document = as_object(source.document) or {}
    if as_list(document.get("steps")) is None:
        raise source.error("no trajectory in it: expected a JSON object with a list `steps`")
    made: list[Thread] = []
    names: dict[str, None] = {}
    waiting = [("main", document)]
    for name, trajectory in waiting:
        for value in as_list(trajectory.get("subagent_trajectories")) or ():
            inner = as_object(value)
            if inner is not None and as_list(inner.get("steps")) is not None:
                wanted = as_text(inner.get("trajectory_id") or inner.get("session_id")) or "subagent"
                free = wanted if wanted not in names else f"{wanted}#{len(names)}"
                names[free] = None
                waiting.append((free, inner))
        made.append(_thread(source, name, trajectory, list(names) if trajectory is document else []))
    return made


def _thread(source: Source, name: str, trajectory: JsonObject, subagents: Sequence[str]) -> Thread:
    steps = [step for step in map(as_object, as_list(trajectory.get("steps")) or ()) if step is not None]
    words = next((first_words(step) for step in steps if step.get("source") == "user"), "")
    time = as_text(steps[-1].get("timestamp")) if steps else ""
    found = Conversation(name, title_of(words), len(steps), time, main=name == "main")
    return Thread(found, lambda: _read(source, trajectory, subagents))


def _read(source: Source, trajectory: JsonObject, subagents: Sequence[str]) -> Transcript:
    """Each step as a message, and what its calls brought as a message of role "tool" behind it.

    What was observed without a call stands behind them as the system's.
    """
    builder = Builder(source)
    agent = as_object(trajectory.get("agent")) or {}
    model = as_text(agent.get("model_name"))
    before: object = 0
    for number, value in enumerate(as_list(trajectory.get("steps")) or (), 1):
        step = as_object(value)
        if step is None:
            builder.add_unread(value, where=f"step {number}", what="step")
            continue
        where = f"step {as_text(step.get('step_id')) or number}"
        before = _check_order(builder, before, step.get("step_id"), where)
        _add_step(builder, step, where)
        model = as_text(step.get("model_name")) or model
    for name in subagents:
        note = f"the trajectory of subagent {quoted(name)}; read it as a conversation of its own"
        builder.odd("sidechain", "subagent_trajectories", note)
    return builder.finish(NAME, model)


def _check_order(builder: Builder, before: object, step_id: object, where: str) -> object:
    if isinstance(step_id, int) and isinstance(before, int) and step_id != before + 1:
        builder.odd("step-order", where, f"step {step_id} stands behind step {before}; read in this order")
    return step_id


def _add_step(builder: Builder, step: JsonObject, where: str) -> None:
    source = step.get("source")
    role = _SPEAKERS.get(as_text(source).strip().lower())
    if role is None:
        builder.add_unread(step, where=where, what="step", speaker="source")
        return
    parts = [
        *_reasoning(step),
        *read_content(builder, step.get("message"), where, _PARTS),
        *_calls(builder, step.get("tool_calls"), where),
    ]
    step_id, time = as_text(step.get("step_id")), as_text(step.get("timestamp"))
    # prompt_tokens is the whole prompt: the cached share is not added.
    usage = usage_of(step.get("metrics")) if role == "assistant" else None
    builder.add(role, parts, where=where, message_id=step_id, time=time, usage=usage)
    results = list(_results(builder, step.get("observation"), where))
    answers = [part for part in results if not isinstance(part, ToolResult) or part.call_id]
    if answers:
        builder.add("tool", answers, where=where, message_id=step_id, time=time)
    seen = [
        part
        for result in results
        if isinstance(result, ToolResult) and not result.call_id
        for part in result.content
    ]
    if seen:
        builder.add("system", seen, where=where, message_id=step_id, time=time)


def _reasoning(step: JsonObject) -> Iterator[Part]:
    text = as_text(step.get("reasoning_content"))
    if text:
        yield Reasoning(text)


def _calls(builder: Builder, listed: object, where: str) -> Iterator[Part]:
    calls = as_list(listed)
    if calls is None and listed is not None:
        yield read_opaque(builder, listed, "tool_calls", where)
    for value in calls or ():
        call = as_object(value)
        if call is None:
            yield read_opaque(builder, value, type_name(value), where)
            continue
        name, arguments = as_text(call.get("function_name")), as_text(call.get("arguments"))
        yield ToolCall(builder.ids.text(call.get("tool_call_id")), name, arguments)


def _results(builder: Builder, observation: object, where: str) -> Iterator[Part]:
    body = as_object(observation)
    if body is None:
        if observation is not None:
            yield read_opaque(builder, observation, "observation", where)
        return
    for value in as_list(body.get("results")) or ():
        result = as_object(value)
        if result is None:
            yield read_opaque(builder, value, type_name(value), where)
            continue
        call_id = builder.ids.text(result.get("source_call_id"))
        read = read_result(builder, call_id, result.get("content"), where, _PARTS)
        subagent = result.get("subagent_trajectory_ref")
        if subagent is not None:
            pointer = Opaque("subagent_trajectory_ref", compact(subagent))
            read = ToolResult(call_id, (*read.content, pointer))
        yield read


def _image(_builder: Builder, block: JsonObject, _where: str) -> Sequence[Part] | None:
    source = as_object(block.get("source")) or {}
    path = as_text(source.get("path"))
    return (Image(as_text(source.get("media_type")) or ANY_IMAGE, source=path),) if path else None


_PARTS = {"text": read_text, "image": _image}
