"""Writers of generated conversations in each format, for the laws that the readers keep."""

from __future__ import annotations

import json
from collections.abc import Callable

from tests.transcript_samples import Json, Turns, answer, log, numbered, packed


def as_anthropic(turns: Turns) -> list[Json]:
    messages: list[Json] = []
    for ask, reply, calls in numbered(turns):
        uses = [{"type": "tool_use", "id": ref, "name": name, "input": args} for ref, name, args, _ in calls]
        messages.append({"role": "user", "content": ask})
        messages.append({"role": "assistant", "content": [{"type": "text", "text": reply}, *uses]})
        if calls:
            messages.append({"role": "user", "content": [answer(ref, out)[0] for ref, _, _, out in calls]})
    return messages


def as_openai(turns: Turns) -> list[Json]:
    messages: list[Json] = []
    for ask, reply, calls in numbered(turns):
        made = [
            {"id": ref, "type": "function", "function": {"name": name, "arguments": json.dumps(args)}}
            for ref, name, args, _ in calls
        ]
        messages.append({"role": "user", "content": [{"type": "text", "text": ask}]})
        messages.append({"role": "assistant", "content": reply} | ({"tool_calls": made} if made else {}))
        messages += [{"role": "tool", "tool_call_id": ref, "content": out} for ref, _, _, out in calls]
    return messages


def as_atif(turns: Turns) -> Json:
    steps: list[Json] = []
    for ask, reply, calls in numbered(turns):
        made = [
            {"tool_call_id": ref, "function_name": name, "arguments": args} for ref, name, args, _ in calls
        ]
        seen = [{"source_call_id": ref, "content": out} for ref, _, _, out in calls]
        steps.append({"source": "user", "message": ask})
        steps.append(
            {"source": "agent", "message": reply, "tool_calls": made, "observation": {"results": seen}}
        )
    numbers = [step | {"step_id": n} for n, step in enumerate(steps, 1)]
    return {"schema_version": "ATIF-v1.7", "agent": {}, "steps": numbers}


def as_rows(turns: Turns, session_key: str) -> list[Json]:
    """One row per block, as Claude Code writes them."""
    rows: list[Json] = []
    for n, message in enumerate(as_anthropic(turns)):
        content = message["content"]
        for block in content if isinstance(content, list) else [content]:
            inner = {"role": message["role"], "content": [block] if isinstance(content, list) else block}
            if message["role"] == "assistant":
                inner["id"] = f"msg{n}"
            rows.append(
                {"type": message["role"], session_key: "s", "uuid": f"u{len(rows)}", "message": inner}
            )
    return rows


def as_codex(turns: Turns) -> list[Json]:
    """Items, each also told by an event."""
    items: list[Json] = []
    for ask, reply, calls in numbered(turns):
        items.append({"type": "message", "role": "user", "content": [{"type": "input_text", "text": ask}]})
        said_back = [{"type": "output_text", "text": reply}]
        items.append({"type": "message", "role": "assistant", "content": said_back})
        items += [
            {"type": "function_call", "call_id": ref, "name": name, "arguments": json.dumps(args)}
            for ref, name, args, _ in calls
        ]
        items += [
            {"type": "function_call_output", "call_id": ref, "output": [{"type": "input_text", "text": out}]}
            for ref, _, _, out in calls
        ]
    rows = [{"timestamp": "T", "type": "session_meta", "payload": {"id": "S"}}]
    for item in items:
        rows.append({"timestamp": "T", "type": "response_item", "payload": item})
        rows.append(
            {"timestamp": "T", "type": "event_msg", "payload": {"type": "agent_message", "message": "m"}}
        )
    return rows


def as_pi(turns: Turns) -> list[Json]:
    messages: list[Json] = []
    for ask, reply, calls in numbered(turns):
        made = [
            {"type": "toolCall", "id": ref, "name": name, "arguments": args} for ref, name, args, _ in calls
        ]
        messages.append({"role": "user", "content": ask})
        messages.append({"role": "assistant", "content": [{"type": "text", "text": reply}, *made]})
        messages += [
            {"role": "toolResult", "toolCallId": ref, "content": [{"type": "text", "text": out}]}
            for ref, _, _, out in calls
        ]
    entries = [
        {"type": "message", "id": str(n), "parentId": str(n - 1) if n else None, "message": message}
        for n, message in enumerate(messages)
    ]
    return [{"type": "session", "version": 3, "id": "S", "cwd": "/"}, *entries]


def as_ui(turns: Turns) -> list[Json]:
    messages: list[Json] = []
    for ask, reply, calls in numbered(turns):
        tools = [
            {
                "type": f"tool-{name}",
                "toolCallId": ref,
                "state": "output-available",
                "input": args,
                "output": out,
            }
            for ref, name, args, out in calls
        ]
        messages.append({"role": "user", "parts": [{"type": "text", "text": ask}]})
        messages.append(
            {"role": "assistant", "parts": [{"type": "step-start"}, {"type": "text", "text": reply}, *tools]}
        )
    return messages


def as_langchain(turns: Turns) -> list[Json]:
    messages: list[Json] = []
    for ask, reply, calls in numbered(turns):
        made = [{"name": name, "args": args, "id": ref, "type": "tool_call"} for ref, name, args, _ in calls]
        messages.append({"type": "human", "data": {"content": ask}})
        messages.append({"type": "ai", "data": {"content": reply, "tool_calls": made}})
        messages += [
            {"type": "tool", "data": {"content": out, "tool_call_id": ref}} for ref, _, _, out in calls
        ]
    return messages


def as_claude_export(turns: Turns) -> Json:
    messages: list[Json] = []
    for ask, reply, calls in numbered(turns):
        blocks: list[Json] = [{"type": "text", "text": reply}]
        blocks += [
            {"type": "tool_use", "id": ref, "name": name, "input": args} for ref, name, args, _ in calls
        ]
        blocks += [
            {"type": "tool_result", "tool_use_id": ref, "content": [{"type": "text", "text": out}]}
            for ref, _, _, out in calls
        ]
        messages.append({"sender": "human", "text": ask, "content": []})
        messages.append({"sender": "assistant", "text": "", "content": blocks})
    return {"uuid": "K", "chat_messages": messages}


WRITERS: dict[str, Callable[[Turns], bytes]] = {
    "codex": lambda turns: log(*as_codex(turns)),
    "pi": lambda turns: log(*as_pi(turns)),
    "ai-sdk": lambda turns: packed(as_ui(turns)),
    "langchain": lambda turns: packed(as_langchain(turns)),
    "claude-export": lambda turns: packed([as_claude_export(turns)]),
    "anthropic": lambda turns: packed(as_anthropic(turns)),
    "openai-chat": lambda turns: json.dumps({"messages": as_openai(turns)}, indent=1).encode(),
    "atif": lambda turns: packed(as_atif(turns)),
    "claude-stream": lambda turns: log(*as_rows(turns, "session_id")),
    "claude-session": lambda turns: log(*as_rows(turns, "sessionId")),
}
