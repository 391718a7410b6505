"""What a provider would refuse in a request, written from the providers' rules and not from our writers.

Each rule is a function that gives one sentence for each violation, with the number of the message (from 1).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from typing import Any

from snapshot.errors import SnapshotError
from snapshot.models.profile import ModelProfile
from snapshot.parts.characters import UNSENDABLE, is_blank
from snapshot.requests import GENAI, OTHER_NAMES
from snapshot.requests._flatten import LISTS, NOUNS, Piece, pieces_of
from snapshot.requests.fallback_text import is_mistyped
from snapshot.requests.limits import exceeded, load_of_pieces

__all__ = ["check"]

Rule = Callable[[list[Piece], str], Iterator[str]]


def check(
    body: dict[str, Any],
    api: str,
    *,
    limits: Mapping[str, int] | None = None,
    reader: ModelProfile | None = None,
) -> list[str]:
    """The violations in the conversation of a request, one sentence each; none if the provider accepts it.

    Args:
        body: what `snapshot.requests.request` gives, or a body with more keys.
        api: one of `snapshot.requests.APIS`, or "google-genai".
        limits: those of a layout file, see `snapshot.requests.limits.LIMITS`. What is not in it is not
            limited.
        reader: the model that will read it: its limits, where `limits` does not say otherwise, and whether
            the conversation may end in the assistant's words, to be continued.

    Raises:
        SnapshotError: `api` is not known.
    """
    if api == GENAI:
        body, api = _as_body(body), "gemini"
    api = OTHER_NAMES.get(api, api)
    if api not in LISTS:
        raise SnapshotError(f"unknown API {api!r}; known APIs: {', '.join(LISTS)}")
    bits = pieces_of(body, api)
    found = [sentence for rule in (*_COMMON, *_RULES[api]) for sentence in rule(bits, NOUNS[api])]
    found += [f"{where} has {what}" for where, what in _unfit(body, api)]
    if reader is not None:
        limits = {**reader.limits, **(limits or {})}
        if not reader.prefill:
            found += _prefilled(bits, NOUNS[api])
        if api == "anthropic" and not reader.midway_system:
            found += _system_within(bits, NOUNS[api])
    over = exceeded(load_of_pieces(body, bits, NOUNS[api]), limits or {}, reader=reader)
    return [*found, *(excess.sentence for excess in over)]


def _as_body(arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments of the SDK's `generate_content` as a body for Gemini."""
    config = arguments.get("config")
    system = config.get("system_instruction") if isinstance(config, dict) else None
    return arguments if system is None else {**arguments, "systemInstruction": system}


# --- rules of every provider


def _place(bit: Piece, noun: str) -> str:
    return f"{noun} {bit.at}" if bit.at else "the system text"


def _malformed(bits: list[Piece], noun: str) -> Iterator[str]:
    for bit in bits:
        if bit.kind == "bad":
            yield f"{_place(bit, noun)} {bit.value}" if bit.role or bit.at else bit.value


def _nameless(bits: list[Piece], noun: str) -> Iterator[str]:
    for bit in bits:
        if bit.kind == "call" and not bit.name:
            yield f"{_place(bit, noun)} has a call without a name"


def _misplaced_images(bits: list[Piece], noun: str) -> Iterator[str]:
    for bit in bits:
        if bit.kind in ("image", "file") and bit.role in ("system", "developer", "assistant"):
            yield f"{_place(bit, noun)} has an image or document of role {bit.role}"


def _misplaced_calls(bits: list[Piece], noun: str) -> Iterator[str]:
    for bit in bits:
        if bit.kind in ("call", "reasoning", "provider-call", "provider-result") and bit.role not in (
            "assistant",
            "model",
        ):
            yield f"{_place(bit, noun)} has a {bit.kind} of role {bit.role}"
        if bit.kind == "result" and bit.role not in ("user", "tool"):
            yield f"{_place(bit, noun)} has a result of role {bit.role}"


def _mistyped_images(bits: list[Piece], noun: str) -> Iterator[str]:
    for bit in bits:
        if bit.kind == "image" and is_mistyped(bit.media_type, bit.value):
            yield f"{_place(bit, noun)} has an image that is no {bit.media_type}, as it is said to be"


_COMMON: tuple[Rule, ...] = (_malformed, _nameless, _misplaced_images, _misplaced_calls, _mistyped_images)


# --- rules of some


def _starts_with_user(bits: list[Piece], noun: str) -> Iterator[str]:
    first = next((bit for bit in bits if bit.at), None)
    if first is not None and first.role != "user":
        yield f"{noun} {first.at} is the first one and not the user's"


def _blank_text(bits: list[Piece], noun: str) -> Iterator[str]:
    for bit in bits:
        if bit.kind == "text" and is_blank(bit.value):
            yield f"{_place(bit, noun)} has a text without words"


def _text_only_results(bits: list[Piece], noun: str) -> Iterator[str]:
    for bit in bits:
        if bit.within and bit.kind != "text":
            yield f"{noun} {bit.at} is a tool's and holds something else than text"


def _results_first(bits: list[Piece], noun: str) -> Iterator[str]:
    for before, bit in pairwise(bits):
        if bit.kind == "result" and before.at == bit.at and not before.within and before.kind != "result":
            yield f"{noun} {bit.at} has a result behind other content"


def _unsigned_thoughts(bits: list[Piece], noun: str) -> Iterator[str]:
    for bit in bits:
        if bit.kind == "reasoning" and not bit.value:
            yield f"{noun} {bit.at} has a thinking block without a signature"
    by_message = _grouped(bits)
    for at, group in by_message.items():
        if at and all(bit.kind == "reasoning" for bit in group):
            yield f"{noun} {at} has nothing but thinking"


def _repeated_ids(bits: list[Piece], noun: str) -> Iterator[str]:
    for kind in ("call", "result"):
        seen: set[str] = set()
        for bit in bits:
            if bit.kind == kind and bit.id:
                if bit.id in seen:
                    yield f"{noun} {bit.at} has a {kind} with the id {bit.id!r} of an earlier one"
                seen.add(bit.id)
    items = Counter(bit.item for bit in bits if bit.item)
    for item, count in items.items():
        if count > 1:
            yield f"{count} {noun}s have the id {item!r}"


def _missing_ids(bits: list[Piece], noun: str) -> Iterator[str]:
    for bit in bits:
        if bit.kind in ("call", "result") and not bit.id:
            yield f"{noun} {bit.at} has a {bit.kind} without the id of a call"


def _pairs_in_next_message(bits: list[Piece], noun: str) -> Iterator[str]:
    """Anthropic: all results of a message's calls stand in the next one."""
    by_message = _grouped(bits)
    last = max(by_message, default=0)
    for at, group in by_message.items():
        before = _ids(by_message.get(at - 1, []), "call")
        for bit in group:
            if bit.kind == "result" and bit.id not in before:
                yield f"{noun} {at} has a result whose call {bit.id!r} is not in the one before"
        if at != last:
            for call_id in _ids(group, "call") - _ids(by_message.get(at + 1, []), "result"):
                yield f"{noun} {at} has a call {call_id!r} that the next one does not answer"


def _pairs_in_tool_messages(bits: list[Piece], noun: str) -> Iterator[str]:
    """OpenAI Chat: tool messages follow their assistant message, one for each call."""
    by_message = _grouped(bits)
    waiting: set[str] = set()
    asked = 0
    answered = False
    for at, group in by_message.items():
        if group[0].role == "tool":
            answered = True
            for call_id in _ids(group, "result") - waiting:
                yield f"{noun} {at} is a result whose call {call_id!r} is not directly before"
            waiting -= _ids(group, "result")
            continue
        for call_id in sorted(waiting):
            yield f"{noun} {asked} has a call {call_id!r} that is not answered before {noun} {at}"
        waiting, asked, answered = _ids(group, "call"), at, False
    if answered:
        for call_id in sorted(waiting):
            yield f"{noun} {asked} has a call {call_id!r} that is not answered with the others"


def _pairs_by_id(bits: list[Piece], noun: str) -> Iterator[str]:
    """OpenAI Responses: an output behind its call; a call without one only where nothing follows."""
    called: dict[str, int] = {}
    outputs = _ids(bits, "result")
    for bit in bits:
        if bit.kind == "call":
            called[bit.id] = bit.at
        elif bit.kind == "result" and bit.id not in called:
            yield f"{noun} {bit.at} is an output whose call {bit.id!r} is not before it"
    last = max((bit.at for bit in bits if bit.role != "assistant"), default=0)
    for call_id, at in called.items():
        if call_id not in outputs and at < last:
            yield f"{noun} {at} is a call {call_id!r} without an output"


def _reasoning_leads(bits: list[Piece], noun: str) -> Iterator[str]:
    """OpenAI Responses: a reasoning item is followed by the item that it led to."""
    order = list(_grouped(bits).values())
    for n, group in enumerate(order):
        following = order[n + 1][0] if n + 1 < len(order) else None
        if group[0].kind == "reasoning" and (following is None or following.role != "assistant"):
            yield f"{noun} {group[0].at} is reasoning without the item that it led to"


def _parity(bits: list[Piece], noun: str) -> Iterator[str]:
    """Gemini: as many responses as calls in the turn before, each with an id or name of one."""
    by_message = _grouped(bits)
    for at, group in by_message.items():
        calls = [bit for bit in by_message.get(at - 1, []) if bit.kind == "call"]
        results = [bit for bit in group if bit.kind == "result"]
        if len(calls) != len(results):
            yield f"{noun} {at} has {len(results)} responses to {len(calls)} calls"
        elif Counter(b.name for b in calls) != Counter(b.name for b in results):
            yield f"{noun} {at} has responses of other names than the calls"
        elif not {bit.id for bit in results if bit.id} <= _ids(calls, "call"):
            yield f"{noun} {at} has responses of other ids than the calls"


def _provider_pairs(bits: list[Piece], noun: str) -> Iterator[str]:
    """A provider's own tools: call and result in one turn, the result in another message only where the call
    ended its own, beside calls of the caller's tools."""
    running: list[Piece] = []
    group: list[Piece] = []
    for group in _grouped(bits).values():
        if group[0].role not in ("assistant", "model"):
            if any(bit.kind != "result" and not bit.within for bit in group):
                yield from _without_result(running, noun)
                running = []
            continue
        waiting: list[Piece] = []
        for bit in group:
            if bit.kind == "provider-call":
                waiting.append(bit)
            elif bit.kind == "provider-result":
                call = next((call for call in waiting if call.pair == bit.pair), None)
                if call is not None:
                    waiting.remove(call)
                elif bit.pair and bit.pair in (call.pair for call in running):
                    running = [call for call in running if call.pair != bit.pair]
                else:
                    yield f"{noun} {bit.at} has a {bit.name} without its call {bit.pair!r} before it"
        own = [bit for bit in group if bit.kind != "call"]
        if waiting == own[len(own) - len(waiting) :]:
            running += waiting
        else:
            yield from _without_result(waiting, noun)
    if group and group[-1].kind not in ("provider-call", "call", "result") and not group[-1].within:
        yield from _without_result(running, noun)


def _without_result(calls: list[Piece], noun: str) -> Iterator[str]:
    for call in calls:
        yield f"{noun} {call.at} has a {call.name} {call.pair!r} without its result"


def _ends_in_thinking(bits: list[Piece], noun: str) -> Iterator[str]:
    for at, group in _grouped(bits).items():
        if group[-1].kind == "reasoning" and any(bit.kind != "reasoning" for bit in group):
            yield f"{noun} {at} ends in thinking"


def _prefilled(bits: list[Piece], noun: str) -> Iterator[str]:
    """Models that take no words of the assistant to be continued."""
    if bits and bits[-1].at and bits[-1].role in ("assistant", "model"):
        yield f"{noun} {bits[-1].at} is the last one and the assistant's, which this model refuses"


def _system_within(bits: list[Piece], noun: str) -> Iterator[str]:
    """Models whose system text stands beside the list alone."""
    for at, group in _grouped(bits).items():
        if group[0].role == "system":
            yield f"{noun} {at} is the system's, which this model refuses within the list"


def _system_in_place(bits: list[Piece], noun: str) -> Iterator[str]:
    """Anthropic: the system speaks behind the user, before the assistant or nothing, and in text."""
    roles = {at: group[0].role for at, group in _grouped(bits).items()}
    for bit in bits:
        if bit.at and bit.role == "system" and bit.kind not in ("text", "bad"):
            yield f"{noun} {bit.at} is the system's and holds something else than text"
    for at, role in roles.items():
        before, after = roles.get(at - 1, ""), roles.get(at + 1, "assistant")
        served = before == "assistant" and _ends_in_provider_result(bits, at - 1)
        if role == "system" and ((before != "user" and not served) or after != "assistant"):
            yield f"{noun} {at} is the system's, and does not stand between the user's and the assistant's"


def _ends_in_provider_result(bits: list[Piece], at: int) -> bool:
    kinds = [bit.kind for bit in bits if bit.at == at]
    return bool(kinds) and kinds[-1].startswith("provider-")


_RULES: dict[str, tuple[Rule, ...]] = {
    "anthropic": (
        _starts_with_user, _blank_text, _results_first, _unsigned_thoughts, _repeated_ids, _missing_ids,
        _pairs_in_next_message, _provider_pairs, _ends_in_thinking, _system_in_place,
    ),
    "openai": (_text_only_results, _repeated_ids, _missing_ids, _pairs_in_tool_messages),
    "openai-responses": (_repeated_ids, _missing_ids, _pairs_by_id, _reasoning_leads),
    "gemini": (_starts_with_user, _blank_text, _results_first, _repeated_ids, _parity, _provider_pairs),
}  # fmt: skip


def _grouped(bits: list[Piece]) -> dict[int, list[Piece]]:
    found: dict[int, list[Piece]] = {}
    for bit in bits:
        if bit.at:
            found.setdefault(bit.at, []).append(bit)
    return found


def _ids(bits: list[Piece], kind: str) -> set[str]:
    return {bit.id for bit in bits if bit.kind == kind}


# --- values


def _unfit(body: dict[str, Any], api: str) -> Iterator[tuple[str, str]]:
    listed = body.get(LISTS[api])
    numbered = enumerate(listed if isinstance(listed, list) else (), 1)
    places = [(f"{NOUNS[api]} {at}", message) for at, message in numbered]
    beside = ("system", "systemInstruction", "instructions")
    for where, whole in [*((key, body[key]) for key in beside if key in body), *places]:
        todo = [whole]
        while todo:
            value = todo.pop()
            if isinstance(value, dict):
                todo += [*value, *value.values()]
            elif isinstance(value, list | tuple):
                todo += value
            elif what := _no_json(value):
                yield where, what


def _no_json(value: object) -> str:
    """What is wrong with a value that is neither object nor list; "" if nothing is."""
    if isinstance(value, str):
        bad = UNSENDABLE.search(value)
        return (
            ""
            if bad is None
            else "a NUL in a text"
            if bad[0] == "\0"
            else "half of a surrogate pair in a text"
        )
    if isinstance(value, float) and not math.isfinite(value):
        return "a number that JSON does not know"
    return (
        ""
        if value is None or isinstance(value, int | float)
        else f"a {type(value).__name__}, which is no JSON"
    )
