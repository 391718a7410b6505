"""Answers, form by form: a whole one, and the events of a stream."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tests.fake_provider.replies import Reply, Seen

SIGNATURE = "c2lnbmVkLWJ5LXRoZS1mYWtl"  # base64, as signatures of thinking are


def event_bytes(data: Any, name: str = "") -> bytes:
    text = json.dumps(data, ensure_ascii=False)
    return ((f"event: {name}\n" if name else "") + f"data: {text}\n\n").encode()


def _halves(text: str) -> list[str]:
    middle = len(text) // 2
    return [half for half in (text[:middle], text[middle:]) if half]


class Answer:
    """The answer to one request, in the form of its API."""

    def __init__(self, seen: Seen, reply: Reply) -> None:
        self.seen, self.parts = seen, reply.parts
        self.input = seen.tokens if reply.usage is None else reply.usage
        words = sum(len(part.text) + len(json.dumps(dict(part.arguments))) for part in self.parts)
        self.output = max(1, words // 4)
        self.stop = reply.error == "stop"
        self.calls = any(part.kind == "call" for part in self.parts)

    def id(self, prefix: str, at: int = 0) -> str:
        return f"{prefix}{self.seen.number:06d}{at:02d}"

    def whole(self) -> Any:
        return getattr(self, "_whole_" + self.seen.api.replace("-", "_"))()

    def events(self) -> Iterator[bytes]:
        return getattr(self, "_events_" + self.seen.api.replace("-", "_"))()

    # Anthropic

    def _blocks(self) -> list[dict[str, Any]]:
        blocks: list[dict[str, Any]] = []
        for at, part in enumerate(self.parts):
            if part.kind == "text":
                blocks.append({"type": "text", "text": part.text})
            elif part.kind == "thinking":
                blocks.append({"type": "thinking", "thinking": part.text, "signature": SIGNATURE})
            else:
                made = {"type": "tool_use", "id": self.id("toolu_", at), "name": part.name}
                blocks.append(made | {"input": dict(part.arguments)})
        return blocks

    def _message(self, content: list[Any], stop: str | None, output: int) -> dict[str, Any]:
        return {
            "id": self.id("msg_"),
            "type": "message",
            "role": "assistant",
            "model": self.seen.model,
            "content": content,
            "stop_reason": stop,
            "stop_sequence": None,
            "usage": {
                "input_tokens": self.input,
                "cache_creation_input_tokens": 0,
                "cache_read_input_tokens": 0,
                "output_tokens": output,
            },
        }

    def _stop_reason(self) -> str:
        return "model_context_window_exceeded" if self.stop else "tool_use" if self.calls else "end_turn"

    def _whole_anthropic(self) -> Any:
        return self._message(self._blocks(), self._stop_reason(), self.output)

    def _events_anthropic(self) -> Iterator[bytes]:
        yield event_bytes({"type": "message_start", "message": self._message([], None, 1)}, "message_start")
        yield event_bytes({"type": "ping"}, "ping")
        for at, block in enumerate(self._blocks()):
            empty = dict(block)
            deltas: list[dict[str, Any]] = []
            if block["type"] == "text":
                empty["text"] = ""
                deltas = [{"type": "text_delta", "text": half} for half in _halves(block["text"])]
            elif block["type"] == "thinking":
                empty |= {"thinking": "", "signature": ""}
                deltas = [{"type": "thinking_delta", "thinking": half} for half in _halves(block["thinking"])]
                deltas.append({"type": "signature_delta", "signature": block["signature"]})
            else:
                empty["input"] = {}
                halves = _halves(json.dumps(block["input"]))
                deltas = [{"type": "input_json_delta", "partial_json": half} for half in halves]
            start = {"type": "content_block_start", "index": at, "content_block": empty}
            yield event_bytes(start, "content_block_start")
            for delta in deltas:
                yield event_bytes(
                    {"type": "content_block_delta", "index": at, "delta": delta}, "content_block_delta"
                )
            yield event_bytes({"type": "content_block_stop", "index": at}, "content_block_stop")
        last = {
            "type": "message_delta",
            "delta": {"stop_reason": self._stop_reason(), "stop_sequence": None},
            "usage": {"output_tokens": self.output},
        }
        yield event_bytes(last, "message_delta")
        yield event_bytes({"type": "message_stop"}, "message_stop")

    # OpenAI Chat Completions

    def _chat_message(self) -> dict[str, Any]:
        text = "".join(part.text for part in self.parts if part.kind == "text")
        message: dict[str, Any] = {"role": "assistant", "content": text or None, "refusal": None}
        thought = "".join(part.text for part in self.parts if part.kind == "thinking")
        if thought:
            message["reasoning_content"] = thought
        calls = [
            {
                "id": self.id("call_", at),
                "type": "function",
                "function": {"name": part.name, "arguments": json.dumps(dict(part.arguments))},
            }
            for at, part in enumerate(self.parts)
            if part.kind == "call"
        ]
        return message | ({"tool_calls": calls} if calls else {})

    def _chat_usage(self) -> dict[str, int]:
        total = self.input + self.output
        return {"prompt_tokens": self.input, "completion_tokens": self.output, "total_tokens": total}

    def _finish(self) -> str:
        return "length" if self.stop else "tool_calls" if self.calls else "stop"

    def _whole_openai(self) -> Any:
        return {
            "id": self.id("chatcmpl-"),
            "object": "chat.completion",
            "created": 1_700_000_000,
            "model": self.seen.model,
            "choices": [
                {
                    "index": 0,
                    "message": self._chat_message(),
                    "finish_reason": self._finish(),
                    "logprobs": None,
                }
            ],
            "usage": self._chat_usage(),
        }

    def _events_openai(self) -> Iterator[bytes]:
        base = {
            "id": self.id("chatcmpl-"),
            "object": "chat.completion.chunk",
            "created": 1_700_000_000,
            "model": self.seen.model,
        }

        def chunk(delta: dict[str, Any], finish: str | None = None) -> bytes:
            return event_bytes(base | {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})

        message = self._chat_message()
        yield chunk({"role": "assistant", "content": ""})
        for half in _halves(message.get("reasoning_content", "")):
            yield chunk({"reasoning_content": half})
        for half in _halves(message["content"] or ""):
            yield chunk({"content": half})
        for at, made in enumerate(message.get("tool_calls", ())):
            first = {"index": at, "id": made["id"], "type": "function"}
            yield chunk(
                {"tool_calls": [first | {"function": {"name": made["function"]["name"], "arguments": ""}}]}
            )
            for half in _halves(made["function"]["arguments"]):
                yield chunk({"tool_calls": [{"index": at, "function": {"arguments": half}}]})
        yield chunk({}, self._finish())
        if ((self.seen.json or {}).get("stream_options") or {}).get("include_usage"):
            yield event_bytes(base | {"choices": [], "usage": self._chat_usage()})
        yield b"data: [DONE]\n\n"

    # OpenAI Responses

    def _items(self) -> list[dict[str, Any]]:
        items: list[dict[str, Any]] = []
        for at, part in enumerate(self.parts):
            if part.kind == "thinking":
                item = {"id": self.id("rs_", at), "type": "reasoning", "encrypted_content": SIGNATURE}
                items.append(item | {"summary": [{"type": "summary_text", "text": part.text}]})
            elif part.kind == "text":
                text = {"type": "output_text", "text": part.text, "annotations": [], "logprobs": []}
                item = {"id": self.id("msg_", at), "type": "message", "role": "assistant"}
                items.append(item | {"status": "completed", "content": [text]})
            else:
                item = {"id": self.id("fc_", at), "type": "function_call", "call_id": self.id("call_", at)}
                item |= {"name": part.name, "arguments": json.dumps(dict(part.arguments))}
                items.append(item | {"status": "completed"})
        return items

    def response(self, output: list[Any], status: str) -> dict[str, Any]:
        usage = None
        if status == "completed":
            usage = {
                "input_tokens": self.input,
                "input_tokens_details": {"cached_tokens": 0},
                "output_tokens": self.output,
                "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": self.input + self.output,
            }
        return {
            "id": self.id("resp_"),
            "object": "response",
            "created_at": 1_700_000_000,
            "status": status,
            "model": self.seen.model,
            "output": output,
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": (self.seen.json or {}).get("tools") or [],
            "temperature": 1.0,
            "top_p": 1.0,
            "error": None,
            "incomplete_details": None,
            "instructions": None,
            "metadata": {},
            "store": False,
            "usage": usage,
        }

    def _whole_openai_responses(self) -> Any:
        return self.response(self._items(), "completed")

    def _events_openai_responses(self) -> Iterator[bytes]:
        number = 0

        def event(kind: str, **data: Any) -> bytes:
            nonlocal number
            number += 1
            return event_bytes({"type": kind, "sequence_number": number - 1, **data}, kind)

        yield event("response.created", response=self.response([], "in_progress"))
        yield event("response.in_progress", response=self.response([], "in_progress"))
        for at, item in enumerate(self._items()):
            where = {"item_id": item["id"], "output_index": at}
            begun = dict(item)
            if item["type"] == "message":
                begun |= {"status": "in_progress", "content": []}
            elif item["type"] == "reasoning":
                begun |= {"summary": []}
            else:
                begun |= {"status": "in_progress", "arguments": ""}
            yield event("response.output_item.added", output_index=at, item=begun)
            if item["type"] == "message":
                part = item["content"][0]
                inside = where | {"content_index": 0}
                yield event("response.content_part.added", **inside, part=part | {"text": ""})
                for half in _halves(part["text"]):
                    yield event("response.output_text.delta", **inside, delta=half, logprobs=[])
                yield event("response.output_text.done", **inside, text=part["text"], logprobs=[])
                yield event("response.content_part.done", **inside, part=part)
            elif item["type"] == "function_call":
                for half in _halves(item["arguments"]):
                    yield event("response.function_call_arguments.delta", **where, delta=half)
                done = {"name": item["name"], "arguments": item["arguments"]}
                yield event("response.function_call_arguments.done", **where, **done)
            yield event("response.output_item.done", output_index=at, item=item)
        yield event("response.completed", response=self.response(self._items(), "completed"))

    # Gemini

    def _gemini_parts(self) -> list[dict[str, Any]]:
        parts: list[dict[str, Any]] = []
        for part in self.parts:
            if part.kind == "text":
                parts.append({"text": part.text})
            elif part.kind == "thinking":
                parts.append({"text": part.text, "thought": True, "thoughtSignature": SIGNATURE})
            else:
                asked = {"name": part.name, "args": dict(part.arguments)}
                parts.append({"functionCall": asked, "thoughtSignature": SIGNATURE})
        return parts

    def _candidate(self, parts: list[Any], finish: str | None) -> dict[str, Any]:
        candidate: dict[str, Any] = {"content": {"role": "model", "parts": parts}, "index": 0}
        usage = {
            "promptTokenCount": self.input,
            "candidatesTokenCount": self.output,
            "totalTokenCount": self.input + self.output,
        }
        if finish:
            candidate["finishReason"] = finish
        return {
            "candidates": [candidate],
            "usageMetadata": usage,
            "modelVersion": self.seen.model,
            "responseId": self.id("r"),
        }

    def _whole_gemini(self) -> Any:
        return self._candidate(self._gemini_parts(), "MAX_TOKENS" if self.stop else "STOP")

    def _events_gemini(self) -> Iterator[bytes]:
        pieces: list[Any] = []
        for part in self._gemini_parts():
            if set(part) == {"text"}:
                pieces += [{"text": half} for half in _halves(part["text"])]
            else:
                pieces.append(part)
        last = len(pieces) - 1
        made = [self._candidate([piece], "STOP" if at == last else None) for at, piece in enumerate(pieces)]
        if self.seen.query.get("alt") == ["sse"]:
            for one in made:
                yield event_bytes(one)
            return
        for at, one in enumerate(made):
            yield (("[" if at == 0 else ",\r\n") + json.dumps(one)).encode()
        yield b"]"
