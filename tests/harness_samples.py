"""Small sessions of harnesses, in the shape that their tools write; the words are our own."""

from __future__ import annotations

import base64
import json
from typing import Any

from tests.framework_documents import CONVERSE, SMOL
from tests.harness_documents import AMP, CLINE, OPENCODE, OPENHANDS, OPENHANDS_EVENTS, OPENHANDS_OLD
from tests.transcript_samples import PNG, Json, log, packed


def _call_record(**more: Any) -> Json:
    answer = {
        "functionResponse": {"id": "read-1", "name": "read_file", "response": {"output": "retries = 5"}}
    }
    return {
        "id": "read-1",
        "name": "read_file",
        "args": {"path": "queue.toml"},
        "result": [answer],
        "status": "success",
        "timestamp": "2026-10-03T08:00:05.000Z",
        "displayName": "ReadFile",
        "resultDisplay": "Read 1 line",
    } | more


GEMINI_HEADER = {
    "sessionId": "0b7e1d52-0000-4000-8000-00000000001a",
    "projectHash": "9f2c",
    "kind": "main",
    "startTime": "2026-10-03T08:00:00.000Z",
    "lastUpdated": "2026-10-03T08:00:00.000Z",
}
GEMINI_MESSAGES: list[Json] = [
    {"id": "i1", "timestamp": "2026-10-03T08:00:00.000Z", "type": "info", "content": "Update available."},
    {
        "id": "u1",
        "timestamp": "2026-10-03T08:00:01.000Z",
        "type": "user",
        "content": [{"text": "How many retries?"}, {"inlineData": {"mimeType": "image/png", "data": PNG}}],
    },
    {
        "id": "g1",
        "timestamp": "2026-10-03T08:00:04.000Z",
        "type": "gemini",
        "content": "I look it up.",
        "thoughts": [{"subject": "Where", "description": "In the settings.", "timestamp": "T"}],
        "tokens": {"input": 9000, "output": 40, "cached": 8000, "thoughts": 12, "tool": 0, "total": 9052},
        "model": "gemini-3.8-flash",
        "toolCalls": [
            _call_record(),
            _call_record(
                id="run-2",
                name="run_shell_command",
                args={"command": "make"},
                result=None,
                status="cancelled",
                resultDisplay="User cancelled",
            ),
        ],
    },
    {
        "id": "g2",
        "timestamp": "2026-10-03T08:00:09.000Z",
        "type": "gemini",
        "content": "Five.",
        "model": "gemini-3.8-flash",
    },
]
GEMINI_CLI_LINES = log(
    GEMINI_HEADER,
    GEMINI_MESSAGES[0],
    GEMINI_MESSAGES[1],
    GEMINI_MESSAGES[2] | {"content": "", "toolCalls": []},  # its state before the calls
    {"$set": {"lastUpdated": "2026-10-03T08:00:05.000Z"}},
    GEMINI_MESSAGES[2],
    {"id": "u9", "timestamp": "2026-10-03T08:00:06.000Z", "type": "user", "content": "No, wait."},
    {"$rewindTo": "u9"},
    GEMINI_MESSAGES[3],
    {"$set": {"summary": "Retries of the queue"}},
)
GEMINI_CLI_DOCUMENT = packed(GEMINI_HEADER | {"summary": "Retries of the queue", "messages": GEMINI_MESSAGES})


def qwen(kind: str, uuid: str, parent: str | None, parts: list[Json] | None = None, **more: Any) -> Json:
    """A row of Qwen Code's."""
    role = "model" if kind == "assistant" else "user"
    message = {} if parts is None else {"message": {"role": role, "parts": parts}}
    return (
        {
            "uuid": uuid,
            "parentUuid": parent,
            "sessionId": "q-1",
            "timestamp": f"2026-10-04T09:00:0{uuid[-1]}.000Z",
            "type": kind,
            "cwd": "/srv/demo",
            "version": "0.20.0",
            "gitBranch": "main",
        }
        | message
        | more
    )


QWEN_CODE = log(
    qwen("user", "q1", None, [{"text": "Which port does the server use?"}], provenance="real_user"),
    qwen(
        "assistant",
        "q2",
        "q1",
        [
            {"text": "The settings know.", "thought": True},
            {"functionCall": {"id": "call_1", "name": "grep_search", "args": {"pattern": "port"}}},
        ],
        model="qwen3.8-max",
        usageMetadata={
            "promptTokenCount": 7000,
            "candidatesTokenCount": 30,
            "thoughtsTokenCount": 5,
            "cachedContentTokenCount": 6000,
            "totalTokenCount": 7035,
        },
    ),
    qwen("system", "q3", "q2", subtype="ui_telemetry", systemPayload={"uiEvent": {"event.name": "api"}}),
    qwen(
        "tool_result",
        "q4",
        "q3",
        [
            {
                "functionResponse": {
                    "id": "call_1",
                    "name": "grep_search",
                    "response": {"output": "port = 8443"},
                }
            }
        ],
        toolCallResult={"callId": "call_1", "status": "success"},
    ),
    qwen(
        "user",
        "q5",
        "q4",
        [{"text": "<task-notification>\nbuild done\n</task-notification>"}],
        subtype="notification",
        provenance="system",
    ),
    qwen("user", "q6", "q5", [{"text": "And over TLS?"}], subtype="mid_turn_user_message"),
    qwen("assistant", "q7", "q6", [{"text": "8443, with TLS."}], model="qwen3.8-max"),
    qwen("system", "q8", "q7", subtype="custom_title", systemPayload={"customTitle": "Port of the server"}),
)


def event(kind: str, number: int, data: Json, **more: Any) -> Json:
    """An event of Copilot CLI's."""
    return {
        "type": kind,
        "data": data,
        "id": f"e{number}",
        "timestamp": f"2026-10-05T10:00:{number:02}.000Z",
        "parentId": f"e{number - 1}" if number else None,
    } | more


COPILOT_CLI = log(
    event(
        "session.start",
        0,
        {
            "sessionId": "c-1",
            "version": 1,
            "producer": "copilot-agent",
            "copilotVersion": "1.0.40",
            "context": {"cwd": "/srv/demo"},
        },
    ),
    event("session.model_change", 1, {"newModel": "gpt-5.6-sol"}),
    event(
        "user.message",
        2,
        {
            "content": "Why is the page slow?",
            "transformedContent": "<reminder>R</reminder>\n\nWhy",
            "attachments": [
                {"type": "blob", "data": PNG, "mimeType": "image/png", "displayName": "trace.png"},
                {"type": "file", "path": "/srv/demo/page.py", "displayName": "page.py"},
            ],
            "source": "user",
            "interactionId": "i",
        },
    ),
    event("assistant.turn_start", 3, {"turnId": "0"}),
    event(
        "assistant.message",
        4,
        {
            "messageId": "m1",
            "content": "I measure.",
            "reasoningText": "Perhaps the query.",
            "reasoningOpaque": "c2VhbGVk",
            "toolRequests": [
                {
                    "toolCallId": "call_a",
                    "name": "bash",
                    "arguments": {"command": "time make page"},
                    "type": "function",
                }
            ],
        },
    ),
    event(
        "assistant.usage",
        5,
        {"model": "gpt-5.6-sol", "inputTokens": 12000, "cacheReadTokens": 9000, "outputTokens": 80},
        ephemeral=True,
    ),
    event(
        "tool.execution_start",
        6,
        {"toolCallId": "call_a", "toolName": "bash", "arguments": {"command": "time make page"}},
    ),
    event(
        "tool.execution_complete",
        7,
        {
            "toolCallId": "call_a",
            "success": True,
            "result": {"content": "real 4.2s", "detailedContent": "real 4.2s\n"},
        },
    ),
    event("system.notification", 8, {"content": "Background job 1 finished", "kind": {"type": "shell"}}),
    event("user.message", 9, {"content": "Continue.", "source": "autopilot"}),
    event(
        "assistant.message", 10, {"messageId": "m2", "content": "The query takes 4 s.", "toolRequests": []}
    ),
    event("user.message", 11, {"content": "Never mind.", "source": "user"}),
    event("session.snapshot_rewind", 12, {"upToEventId": "e11", "eventsRemoved": 1}),
    event("session.shutdown", 13, {"shutdownType": "routine"}),
)


GOOSE_MESSAGES: list[Json] = [
    {
        "id": "g1",
        "role": "user",
        "created": 1790000001,
        "metadata": {"userVisible": True, "agentVisible": True},
        "content": [
            {"type": "text", "text": "How large is the log?"},
            {"type": "image", "data": PNG, "mimeType": "image/png"},
        ],
    },
    {
        "id": "g2",
        "role": "assistant",
        "created": 1790000002,
        "metadata": {
            "userVisible": True,
            "agentVisible": True,
            "usage": {"inputTokens": 3000, "outputTokens": 20},
        },
        "content": [
            {"type": "thinking", "thinking": "du knows.", "signature": "c2ln"},
            {"type": "text", "text": "I look."},
            {
                "type": "toolRequest",
                "id": "t1",
                "toolCall": {
                    "status": "success",
                    "value": {"name": "developer__shell", "arguments": {"command": "du -h log"}},
                },
            },
            {
                "type": "toolRequest",
                "id": "t2",
                "toolCall": {"status": "error", "error": "-32602: no such tool"},
            },
        ],
    },
    {
        "id": "g3",
        "role": "user",
        "created": 1790000003,
        "metadata": {"userVisible": True, "agentVisible": True},
        "content": [
            {
                "type": "toolResponse",
                "id": "t1",
                "toolResult": {
                    "status": "success",
                    "value": {
                        "isError": False,
                        "content": [
                            {"type": "text", "text": "4.2G log", "annotations": {"audience": ["assistant"]}},
                            {
                                "type": "text",
                                "text": "the same for the eye",
                                "annotations": {"audience": ["user"]},
                            },
                        ],
                    },
                },
            },
            {"type": "toolResponse", "id": "t2", "toolResult": {"status": "error", "error": "no such tool"}},
        ],
    },
    {
        "id": "g4",
        "role": "user",
        "created": 1790000004,
        "metadata": {"userVisible": False, "agentVisible": True},
        "content": [{"type": "text", "text": "Your context was compacted."}],
    },
    {
        "id": "g5",
        "role": "assistant",
        "created": 1790000005,
        "content": [{"type": "text", "text": "4.2 GB."}],
    },
]
GOOSE_EXPORT = packed(
    {
        "id": "20261007_1",
        "name": "Size of the log",
        "working_dir": "/srv/demo",
        "message_count": 5,
        "model_config": {"model_name": "claude-opus-4-8"},
        "conversation": GOOSE_MESSAGES,
    }
)
GOOSE_LINES = log(
    {"description": "Size of the log", "working_dir": "/srv/demo", "message_count": 5, "total_tokens": 3020},
    *GOOSE_MESSAGES,
)


AIDER = b"""
# aider chat started at 2026-10-08 12:00:00

> /usr/bin/aider --model sonnet
> Aider v0.86.1
> Main model: claude-opus-4-8 with diff edit format

#### /add app.py

> Added app.py to the chat

#### Greet by name.
#### And say when.

I change the greeting:

app.py
```python
#### a comment, no turn
> a prompt, no output
print("hello")
```

> Tokens: 5.1k sent, 1,300 received. Cost: $0.02 message, $0.02 session.
> Applied edit to app.py

# aider chat started at 2026-10-08 13:00:00

#### Now in French.

Bonjour.
"""


SAMPLES: dict[str, tuple[bytes, ...]] = {
    "gemini-cli": (GEMINI_CLI_DOCUMENT, GEMINI_CLI_LINES),
    "qwen-code": (QWEN_CODE,),
    "copilot-cli": (COPILOT_CLI,),
    "opencode": (packed(OPENCODE), packed(OPENCODE["messages"]), packed([OPENCODE])),
    "goose": (GOOSE_EXPORT, GOOSE_LINES, log(*({"type": "message", "message": m} for m in GOOSE_MESSAGES))),
    "openhands": (OPENHANDS, OPENHANDS_OLD, log(*OPENHANDS_EVENTS)),
    "amp": (packed(AMP),),
    "cline": (packed(CLINE), packed({"version": 1, "sessionId": "s", "messages": CLINE})),
    "aider": (AIDER,),
    "bedrock": (json.dumps(CONVERSE, default=lambda data: base64.b64encode(data).decode()).encode(),),
    "smolagents": (packed(SMOL),),
}
