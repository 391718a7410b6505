"""A request body of any API as a flat list of bits: what the checker looks at, and nothing of the writers.

Keys are looked up as each API spells them; what is not as it must be is a bit of the kind "bad" that says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from snapshot.parts.kinds import kind_of

__all__ = ["LISTS", "NOUNS", "Piece", "pieces_of"]

LISTS = {"anthropic": "messages", "openai": "messages", "openai-responses": "input", "gemini": "contents"}
NOUNS = {"anthropic": "message", "openai": "message", "openai-responses": "item", "gemini": "content"}
_ROLES = {
    "anthropic": ("user", "assistant", "system"),
    "openai": ("system", "developer", "user", "assistant", "tool"),
    "openai-responses": ("system", "developer", "user", "assistant"),
    "gemini": ("user", "model"),
}


@dataclass(frozen=True, slots=True)
class Piece:
    """One piece of a request.

    Attributes:
        at: number of its message, from 1; 0 for system text beside the list.
        role: who speaks.
        kind: "text", "image", "file", "call", "result", "reasoning", "provider-call", "provider-result",
            "other", or "bad".
        id: of a call, or of the call that a result answers; "" where it has none.
        name: of a tool.
        value: the text; base64 or URL of an image or file; what is bad.
        within: it stands in a result.
        item: id that the service gave to the piece itself.
        detail: the image detail that is asked for.
        media_type: what an image is said to be; "" where nothing is.
        pair: of a tool that the provider runs itself: the id that call and result share; "" where they are
            told by their order.
    """

    at: int
    role: str
    kind: str
    id: str = ""
    name: str = ""
    value: str = ""
    within: bool = False
    item: str = ""
    detail: str = ""
    media_type: str = ""
    pair: str = ""


def pieces_of(body: dict[str, Any], api: str) -> list[Piece]:
    """All bits of a body in order."""
    listed = body.get(LISTS[api])
    found = list(_beside(body, api))
    if not isinstance(listed, list) or not listed:
        return [*found, Piece(0, "", "bad", value=f"there are no {LISTS[api]}")]
    for at, message in enumerate(listed, 1):
        if not isinstance(message, dict):
            found.append(Piece(at, "", "bad", value="is no object"))
        elif api == "openai-responses" and message.get("type", "message") != "message":
            found += _item(at, message)
        else:
            role = _text_of(message, "role")
            if role not in _ROLES[api]:
                found.append(Piece(at, role, "bad", value=f"has the role {role!r}"))
            read = list(_READ[api](at, role, message))
            found += read or [Piece(at, role, "bad", value="has no content")]
    return found


def _beside(body: dict[str, Any], api: str) -> Iterator[Piece]:
    if api == "anthropic" and "system" in body:
        yield from _blocks(0, "system", body["system"])
    elif api == "gemini" and "systemInstruction" in body:
        yield from _gemini(0, "system", body["systemInstruction"])


def _text_of(value: dict[str, Any], key: str) -> str:
    found = value.get(key)
    return found if isinstance(found, str) else ""


def _blocks(
    at: int, role: str, content: object, *, block: Callable[..., Iterator[Piece]] | None = None
) -> Iterator[Piece]:
    read = block or _anthropic_block
    if isinstance(content, str):
        yield Piece(at, role, "text", value=content)
    elif isinstance(content, list):
        for part in content:
            if isinstance(part, dict) and isinstance(part.get("type"), str):
                yield from read(at, role, part)
            else:
                yield Piece(at, role, "bad", value="has content that is no block with a type")
    else:
        yield Piece(at, role, "bad", value="has content that is neither text nor a list")


def _anthropic(at: int, role: str, message: dict[str, Any]) -> Iterator[Piece]:
    yield from _blocks(at, role, message.get("content"))


def _anthropic_block(at: int, role: str, block: dict[str, Any]) -> Iterator[Piece]:
    kind = kind_of("anthropic", block["type"])
    match kind.family if kind else None:
        case "text":
            yield Piece(at, role, "text", value=_text_of(block, "text"))
        case "image" | "file" as family:
            source = block.get("source")
            place = source if isinstance(source, dict) else {}
            value = _text_of(place, "data") if place.get("type") == "base64" else _text_of(place, "url")
            yield Piece(at, role, family, value=value, media_type=_text_of(place, "media_type"))
        case "call":
            yield Piece(at, role, "call", _text_of(block, "id"), _text_of(block, "name"))
            if not isinstance(block.get("input"), dict):
                yield Piece(at, role, "bad", value="has a call whose input is no object")
        case "result":
            content = block.get("content")
            yield Piece(at, role, "result", _text_of(block, "tool_use_id"))
            if content:
                yield from (replace(bit, within=True) for bit in _blocks(at, role, content))
            elif block.get("is_error"):
                yield Piece(at, role, "bad", value="has a failed result without words")
        case "reasoning":
            yield Piece(at, role, "reasoning", value=_text_of(block, "signature"))
        case "sealed" if "thinking" in block["type"]:
            yield Piece(at, role, "reasoning", value=_text_of(block, "data"))
        case "provider-call" | "provider-result" as family:
            assert kind is not None
            yield Piece(at, role, family, name=kind.name, pair=_text_of(block, kind.pair))
        case _:
            yield Piece(at, role, "other")


def _openai(at: int, role: str, message: dict[str, Any]) -> Iterator[Piece]:
    content, calls = message.get("content"), message.get("tool_calls")
    if role == "tool":
        yield Piece(at, role, "result", _text_of(message, "tool_call_id"))
    said = calls or message.get("refusal") or message.get("audio")
    if content is not None or not (role == "assistant" and said):
        blocks = _blocks(at, role, content, block=_openai_block)
        yield from (replace(bit, within=role == "tool") for bit in blocks)
    for call in calls if isinstance(calls, list) else ():
        body = call.get(str(call.get("type", "function"))) if isinstance(call, dict) else None
        if isinstance(call, dict) and isinstance(body, dict):
            yield Piece(at, role, "call", _text_of(call, "id"), _text_of(body, "name"))
            if not isinstance(body.get("arguments", body.get("input")), str):
                yield Piece(at, role, "bad", value="has a call whose arguments are no text")
        else:
            yield Piece(at, role, "bad", value="has a call that is none")
    if calls is not None and (not isinstance(calls, list) or not calls):
        yield Piece(at, role, "bad", value="has `tool_calls` that are no list of calls")
    if message.get("refusal"):
        yield Piece(at, role, "text", value=_text_of(message, "refusal"))
    if message.get("audio"):
        yield Piece(at, role, "other")


def _openai_block(at: int, role: str, block: dict[str, Any]) -> Iterator[Piece]:
    kind = kind_of("openai", block["type"]) or kind_of("openai-responses", block["type"])
    match kind.family if kind else None:
        case "text":
            key = "refusal" if block["type"] == "refusal" else "text"
            yield Piece(at, role, "text", value=_text_of(block, key))
        case "image":
            place = block.get("image_url")
            holder = place if isinstance(place, dict) else block
            url = _text_of(place, "url") if isinstance(place, dict) else _text_of(block, "image_url")
            said = url.partition(";base64,")[0].removeprefix("data:") if url.startswith("data:") else ""
            detail = _text_of(holder, "detail")
            yield Piece(at, role, "image", value=_payload(url), detail=detail, media_type=said)
        case "file":
            inner = block.get("file")
            holder = inner if isinstance(inner, dict) else block
            value = _payload(_text_of(holder, "file_data")) or _text_of(holder, "file_url")
            yield Piece(at, role, "file", value=value)
        case _:
            yield Piece(at, role, "other")


def _payload(url: str) -> str:
    """The base64 of a data URL; any other text as it is."""
    head, comma, data = url.partition(";base64,")
    return data if comma and head.startswith("data:") else url


def _item(at: int, item: dict[str, Any]) -> Iterator[Piece]:
    name, item_id = _text_of(item, "type"), _text_of(item, "id")
    kind = kind_of("openai-responses", name)
    family = kind.family if kind else "result" if name.endswith("_output") else None
    call_id = _text_of(item, "call_id") or (item_id if name.startswith("local_shell") else "")
    if family == "result" or name.endswith("_output"):
        yield Piece(at, "tool", "result", call_id, item=item_id if item.get("call_id") else "")
        output = item.get("output")
        if isinstance(output, str | list) and name == "function_call_output":
            blocks = _blocks(at, "tool", output, block=_openai_block)
            yield from (replace(bit, within=True) for bit in blocks)
    elif name in ("function_call", "custom_tool_call") or (name.endswith("_call") and call_id):
        kept = "" if name in ("function_call", "custom_tool_call") else name
        yield Piece(at, "assistant", "call", call_id, _text_of(item, "name") or kept, item=item_id)
        if name == "function_call" and not isinstance(item.get("arguments"), str):
            yield Piece(at, "assistant", "bad", value="has a call whose arguments are no text")
    elif family == "reasoning":
        yield Piece(at, "assistant", "reasoning", value=_text_of(item, "encrypted_content"), item=item_id)
    elif name == "mcp_approval_response":
        yield Piece(at, "user", "other", item=item_id)
    else:
        yield Piece(at, "assistant", "other", item=item_id)


def _responses(at: int, role: str, message: dict[str, Any]) -> Iterator[Piece]:
    item = _text_of(message, "id")
    blocks = _blocks(at, role, message.get("content"), block=_openai_block)
    yield from (replace(bit, item=item) if n == 0 else bit for n, bit in enumerate(blocks))


def _gemini(at: int, role: str, content: Any) -> Iterator[Piece]:
    parts = content.get("parts") if isinstance(content, dict) else None
    for part in parts if isinstance(parts, list) else ():
        yield from _gemini_part(at, role, part)


def _gemini_part(at: int, role: str, part: Any) -> Iterator[Piece]:
    if not isinstance(part, dict):
        yield Piece(at, role, "bad", value="has a part that is no object")
        return
    call, response = part.get("functionCall"), part.get("functionResponse")
    blob = part.get("inlineData") or part.get("fileData")
    if any("_" in key for key in part):
        yield Piece(at, role, "bad", value="has keys in snake_case")
    if isinstance(call, dict):
        yield Piece(at, role, "call", _text_of(call, "id"), _text_of(call, "name"))
        if not isinstance(call.get("args") or {}, dict):
            yield Piece(at, role, "bad", value="has a call whose args are no object")
    elif isinstance(response, dict):
        yield Piece(at, role, "result", _text_of(response, "id"), _text_of(response, "name"))
        if not isinstance(response.get("response"), dict):
            yield Piece(at, role, "bad", value="has a response that is no object")
        yield from (replace(bit, within=True) for bit in _gemini(at, role, response))
    elif isinstance(blob, dict):
        kind = "image" if _text_of(blob, "mimeType").startswith("image/") else "file"
        value = _text_of(blob, "data") or _text_of(blob, "fileUri")
        yield Piece(at, role, kind, value=value, media_type=_text_of(blob, "mimeType"))
    elif "text" in part:
        thought = part.get("thought") is True
        signed = bool(part.get("thoughtSignature"))
        yield Piece(
            at,
            role,
            "reasoning" if thought or (signed and not part["text"]) else "text",
            value=_text_of(part, "text"),
        )
    elif known := [kind for key in part if (kind := kind_of("gemini", key)) is not None]:
        paired = known[0].family in ("provider-call", "provider-result")
        yield Piece(at, role, known[0].family if paired else "other", name=known[0].name)
    else:
        yield Piece(at, role, "other")


_READ = {"anthropic": _anthropic, "openai": _openai, "openai-responses": _responses, "gemini": _gemini}
