"""Sessions of harnesses that keep documents, and what they hold; the words are our own."""

from __future__ import annotations

from typing import Any

from tests.transcript_samples import PNG, Json, packed

DATA_URL = f"data:image/png;base64,{PNG}"


def _opencode_part(kind: str, number: int, **more: Any) -> Json:
    return {"id": f"prt_{number}", "sessionID": "ses_1", "messageID": "msg_1", "type": kind} | more


OPENCODE: Json = {
    "info": {
        "id": "ses_1",
        "projectID": "global",
        "directory": "/srv/demo",
        "title": "Names of the tables",
        "version": "1.4.0",
        "time": {"created": 1790000000000, "updated": 1790000009000},
        "revert": {"messageID": "msg_4"},
    },
    "messages": [
        {
            "info": {
                "id": "msg_1",
                "sessionID": "ses_1",
                "role": "user",
                "agent": "build",
                "time": {"created": 1790000001000},
                "model": {"providerID": "anthropic", "modelID": "claude-opus-4-8"},
            },
            "parts": [
                _opencode_part("text", 1, text="Which tables are there?"),
                _opencode_part(
                    "text", 2, text="Called the Read tool with the following input", synthetic=True
                ),
                _opencode_part("file", 3, mime="image/png", filename="er.png", url=DATA_URL),
                _opencode_part("agent", 4, name="plan"),
            ],
        },
        {
            "info": {
                "id": "msg_2",
                "sessionID": "ses_1",
                "role": "assistant",
                "parentID": "msg_1",
                "modelID": "claude-opus-4-8",
                "providerID": "anthropic",
                "mode": "build",
                "time": {"created": 1790000002000, "completed": 1790000008000},
                "cost": 0.02,
                "tokens": {"input": 10, "output": 50, "reasoning": 0, "cache": {"read": 900, "write": 90}},
            },
            "parts": [
                _opencode_part("step-start", 1),
                _opencode_part("reasoning", 2, text="The schema says.", time={"start": 1}),
                _opencode_part("text", 3, text="I list them."),
                _opencode_part(
                    "tool",
                    4,
                    callID="toolu_1",
                    tool="bash",
                    state={
                        "status": "completed",
                        "input": {"command": "ls schema"},
                        "output": "orders\nusers",
                        "title": "ls",
                        "metadata": {},
                        "time": {"start": 1, "end": 2},
                        "attachments": [_opencode_part("file", 9, mime="image/png", url=DATA_URL)],
                    },
                ),
                _opencode_part(
                    "tool",
                    5,
                    callID="toolu_2",
                    tool="read",
                    state={
                        "status": "error",
                        "input": {"filePath": "x"},
                        "error": "no such file",
                        "time": {"start": 1, "end": 2},
                    },
                ),
                _opencode_part(
                    "step-finish",
                    6,
                    reason="tool-calls",
                    cost=0.01,
                    tokens={"input": 5, "output": 20, "reasoning": 4, "cache": {"read": 400, "write": 0}},
                ),
                _opencode_part("step-start", 7),
                _opencode_part("text", 8, text="orders and users."),
                _opencode_part(
                    "step-finish",
                    9,
                    reason="stop",
                    cost=0.01,
                    tokens={"input": 5, "output": 30, "reasoning": 0, "cache": {"read": 500, "write": 9}},
                ),
            ],
        },
        {
            "info": {"id": "msg_4", "sessionID": "ses_1", "role": "user", "time": {"created": 1790000009000}},
            "parts": [_opencode_part("text", 1, text="Drop them.")],
        },
    ],
}


def sdk(kind: str, number: int, source: str, **more: Any) -> Json:
    """An event of OpenHands' SDK."""
    return {
        "id": f"o{number}",
        "timestamp": f"2026-10-06T11:00:0{number}.000000",
        "source": source,
        "kind": kind,
    } | more


def _text(words: str) -> Json:
    return {"cache_prompt": False, "type": "text", "text": words}


OPENHANDS_EVENTS: list[Json] = [
    sdk("SystemPromptEvent", 0, "agent", system_prompt=_text("You are an agent."), tools=[]),
    sdk(
        "MessageEvent",
        1,
        "user",
        activated_skills=[],
        extended_content=[_text("A skill about tests.")],
        llm_message={
            "role": "user",
            "content": [_text("Do the tests pass?"), {"type": "image", "image_urls": [DATA_URL]}],
        },
    ),
    sdk(
        "ActionEvent",
        2,
        "agent",
        thought=[_text("I run them.")],
        reasoning_content="Both suites.",
        thinking_blocks=[],
        action={"kind": "TerminalAction", "command": "make unit"},
        tool_name="terminal",
        tool_call_id="c1",
        llm_response_id="r1",
        tool_call={
            "id": "c1",
            "name": "terminal",
            "arguments": '{"command": "make unit"}',
            "origin": "completion",
        },
    ),
    sdk(
        "ActionEvent",
        3,
        "agent",
        thought=[],
        thinking_blocks=[],
        tool_name="terminal",
        tool_call_id="c2",
        llm_response_id="r1",
        action={"kind": "TerminalAction", "command": "make e2e"},
        tool_call={
            "id": "c2",
            "name": "terminal",
            "arguments": '{"command": "make e2e"}',
            "origin": "completion",
        },
    ),
    sdk(
        "ObservationEvent",
        4,
        "environment",
        tool_name="terminal",
        tool_call_id="c1",
        action_id="o2",
        observation={
            "kind": "TerminalObservation",
            "content": [_text("41 passed")],
            "is_error": False,
            "exit_code": 0,
        },
    ),
    sdk("AgentErrorEvent", 5, "agent", tool_name="terminal", tool_call_id="c2", error="timed out"),
    sdk("ConversationStateUpdateEvent", 6, "environment", key="execution_status", value="running"),
    sdk(
        "MessageEvent",
        7,
        "agent",
        llm_response_id="r2",
        activated_skills=[],
        extended_content=[],
        llm_message={"role": "assistant", "content": [_text("The unit tests pass.")]},
    ),
]
OPENHANDS = packed(
    {
        "state": {"id": "h-1", "agent": {"llm": {"model": "claude-opus-4-8"}}},
        "events": OPENHANDS_EVENTS,
    }
)


def _acted(call: str, name: str) -> Json:
    made = [{"id": call, "type": "function", "function": {"name": name, "arguments": '{"command": "ls"}'}}]
    message = {"role": "assistant", "content": "I look.", "tool_calls": made}
    response = {"id": "chatcmpl-1", "model": "gpt-5.6-sol", "choices": [{"message": message}]}
    return {
        "function_name": name,
        "tool_call_id": call,
        "total_calls_in_response": 1,
        "model_response": response,
    }


OPENHANDS_OLD = packed(
    [
        {
            "id": 0,
            "timestamp": "T0",
            "source": "agent",
            "message": "",
            "action": "system",
            "args": {"content": "You are an agent.", "tools": []},
        },
        {
            "id": 1,
            "timestamp": "T1",
            "source": "user",
            "message": "What is here?",
            "action": "message",
            "args": {"content": "What is here?", "image_urls": [DATA_URL], "wait_for_response": False},
        },
        {
            "id": 2,
            "timestamp": "T2",
            "source": "environment",
            "message": "",
            "observation": "agent_state_changed",
            "content": "",
            "extras": {"agent_state": "running"},
        },
        {
            "id": 3,
            "timestamp": "T3",
            "source": "agent",
            "message": "Running ls",
            "action": "run",
            "args": {"command": "ls", "thought": "I look.", "hidden": False},
            "tool_call_metadata": _acted("call_1", "execute_bash"),
        },
        {
            "id": 4,
            "timestamp": "T4",
            "source": "agent",
            "cause": 3,
            "message": "",
            "observation": "run",
            "content": "a.txt",
            "extras": {"command": "ls", "metadata": {"exit_code": 0}},
            "tool_call_metadata": _acted("call_1", "execute_bash"),
        },
        {
            "id": 5,
            "timestamp": "T5",
            "source": "agent",
            "message": "Reading",
            "action": "read",
            "args": {"path": "a.txt", "thought": "And inside?"},
        },
        {
            "id": 6,
            "timestamp": "T6",
            "source": "agent",
            "cause": 5,
            "message": "",
            "observation": "error",
            "content": "no permission",
            "extras": {},
        },
        {
            "id": 7,
            "timestamp": "T7",
            "source": "agent",
            "message": "Done",
            "action": "finish",
            "args": {"final_thought": "One file.", "outputs": {}},
        },
    ]
)


AMP: Json = {
    "v": 34,
    "id": "T-5c0e8f6a-0000-4000-8000-00000000001b",
    "created": 1790000000000,
    "title": "Unused names",
    "messages": [
        {
            "role": "user",
            "messageId": 0,
            "meta": {"sentAt": 1790000001000},
            "content": [{"type": "text", "text": "Which names are unused?"}],
        },
        {
            "role": "assistant",
            "messageId": 1,
            "state": {"type": "complete", "stopReason": "tool_use"},
            "usage": {
                "model": "claude-opus-4-8",
                "inputTokens": 8,
                "cacheCreationInputTokens": 100,
                "cacheReadInputTokens": 4000,
                "outputTokens": 33,
                "totalInputTokens": 4108,
            },
            "content": [
                {"type": "thinking", "thinking": "A linter.", "signature": "c2ln"},
                {"type": "tool_use", "id": "toolu_a", "name": "Bash", "input": {"cmd": "ruff check"}},
                {"type": "tool_use", "id": "toolu_b", "name": "Read", "input": {"path": "x"}},
            ],
        },
        {
            "role": "user",
            "messageId": 2,
            "content": [
                {
                    "type": "tool_result",
                    "toolUseID": "toolu_a",
                    "run": {"status": "done", "result": {"output": "F841 total", "exitCode": 1}},
                },
                {
                    "type": "tool_result",
                    "toolUseID": "toolu_b",
                    "run": {"status": "error", "error": {"message": "no such file"}},
                },
            ],
        },
        {"role": "assistant", "messageId": 3, "content": [{"type": "text", "text": "Only `total`."}]},
    ],
}


CLINE: list[Json] = [
    {
        "role": "user",
        "ts": 1790000001000,
        "content": [
            {"type": "text", "text": "<task>\nRename the field to `size`.\n</task>"},
            {
                "type": "text",
                "text": "<environment_details>\n# Current Mode\nACT MODE\n</environment_details>",
            },
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}},
        ],
    },
    {
        "role": "assistant",
        "ts": 1790000002000,
        "modelInfo": {"modelId": "claude-opus-4-8", "mode": "act"},
        "metrics": {"tokens": {"prompt": 9000, "completion": 60, "cached": 7000}, "cost": 0.03},
        "content": [
            {"type": "text", "text": "I replace it."},
            {"type": "tool_use", "id": "toolu_1", "name": "replace_in_file", "input": {"path": "f.py"}},
        ],
    },
    {
        "role": "user",
        "ts": 1790000003000,
        "content": [
            {"type": "tool_result", "tool_use_id": "toolu_1", "content": [{"type": "text", "text": "saved"}]},
            {"type": "text", "text": "<environment_details>\n# Files\n</environment_details>"},
        ],
    },
    {"role": "assistant", "ts": 1790000004000, "content": [{"type": "text", "text": "Done."}]},
]
