"""Small conversations as frameworks keep them; the words are our own."""

from __future__ import annotations

import base64
from typing import Any

from snapshot.messages import Image

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGBgAAAABQABpfZFQAAAAABJRU5ErkJggg=="
)
DATA = base64.b64encode(PNG).decode()
URL = f"data:image/png;base64,{DATA}"
PICTURE = Image("image/png", PNG)

PYDANTIC: list[Any] = [
    {
        "kind": "request",
        "instructions": "Be careful.",
        "timestamp": None,
        "parts": [
            {"part_kind": "system-prompt", "content": "Be brief."},
            {
                "part_kind": "user-prompt",
                "content": ["Look", {"kind": "binary", "data": DATA, "media_type": "image/png"}],
            },
        ],
    },
    {
        "kind": "response",
        "model_name": "claude-opus-4-8",
        "usage": {"input_tokens": 10, "output_tokens": 3},
        "timestamp": "2026-12-01T01:00:00Z",
        "parts": [
            {"part_kind": "thinking", "content": "Hm.", "signature": "sig"},
            {"part_kind": "text", "content": "I look."},
            {"part_kind": "tool-call", "tool_name": "read", "args": {"path": "a"}, "tool_call_id": "c1"},
            {"part_kind": "tool-call", "tool_name": "ls", "args": '{"p": 1}', "tool_call_id": "c2"},
        ],
    },
    {
        "kind": "request",
        "instructions": "Be careful.",
        "parts": [
            {"part_kind": "user-prompt", "content": "Go on"},
            {"part_kind": "tool-return", "tool_name": "read", "content": {"x": 1}, "tool_call_id": "c1"},
            {"part_kind": "retry-prompt", "tool_name": "ls", "content": "no such", "tool_call_id": "c2"},
        ],
    },
]

INSPECT: list[Any] = [
    {"id": "a", "role": "system", "content": "Be brief."},
    {
        "id": "b",
        "role": "user",
        "content": [{"type": "text", "text": "Look"}, {"type": "image", "image": URL}],
    },
    {
        "id": "c",
        "role": "assistant",
        "model": "anthropic/claude-opus-4-8",
        "content": [
            {"type": "reasoning", "reasoning": "Hm.", "signature": "sig", "redacted": False},
            {"type": "text", "text": "I look."},
        ],
        "tool_calls": [{"id": "c1", "function": "read", "arguments": {"path": "a"}, "type": "function"}],
    },
    {
        "id": "d",
        "role": "tool",
        "content": "",
        "tool_call_id": "c1",
        "function": "read",
        "error": {"type": "file_not_found", "message": "no such"},
    },
]

SMOL: list[Any] = [
    {"role": "system", "content": [{"type": "text", "text": "Be brief."}]},
    {"role": "user", "content": [{"type": "text", "text": "Look"}, {"type": "image", "image": DATA}]},
    {"role": "assistant", "content": [{"type": "text", "text": "I look."}]},
    {
        "role": "tool-call",
        "content": [
            {
                "type": "text",
                "text": "Calling tools:\n[{'id': 'call_1', 'type': 'function', 'function': "
                "{'name': 'read', 'arguments': {'path': 'a'}}}]",
            }
        ],
    },
    {"role": "tool-response", "content": [{"type": "text", "text": "Observation:\ntext of a"}]},
]

CONVERSE: dict[str, Any] = {
    "modelId": "anthropic.claude-opus-4-8",
    "system": [{"text": "Be brief."}, {"cachePoint": {"type": "default"}}],
    "messages": [
        {
            "role": "user",
            "content": [{"text": "Look"}, {"image": {"format": "png", "source": {"bytes": PNG}}}],
        },
        {
            "role": "assistant",
            "content": [
                {"reasoningContent": {"reasoningText": {"text": "Hm.", "signature": "sig"}}},
                {"text": "I look."},
                {"toolUse": {"toolUseId": "c1", "name": "read", "input": {"path": "a"}}},
            ],
        },
        {
            "role": "user",
            "content": [
                {
                    "toolResult": {
                        "toolUseId": "c1",
                        "content": [{"json": {"x": 1}}, {"text": "t"}],
                        "status": "error",
                    }
                }
            ],
        },
    ],
}
