"""The checker of requests: each rule of each API, its limits, and the sizes of images."""

from __future__ import annotations

import base64
import copy
from collections.abc import Callable
from typing import Any

import pytest

from snapshot.messages import (
    Image,
    Message,
    Text,
    ToolCall,
    ToolResult,
    Transcript,
)
from snapshot.requests import APIS, request
from snapshot.requests.check import check
from tests.test_requests import LISTS, Json, png


def good(api: str) -> Json:
    """A request with two calls, their results and an image, that every provider accepts."""
    messages = (
        Message("system", (Text("rules"),)),
        Message("user", (Text("go"), Image("image/png", png(30, 20)))),
        Message("assistant", (Text("I do"), ToolCall("a", "f", "{}"), ToolCall("b", "g", "{}"))),
        Message("tool", (ToolResult("a", (Text("A"),)), ToolResult("b", (Text("B"),)))),
        Message("assistant", (Text("done"),)),
        Message("user", (Text("thanks"),)),
    )
    return request(Transcript(messages, "text"), api)


def blocks(body: Json, at: int) -> list[Json]:
    message = body[LISTS["gemini"] if "contents" in body else "messages"][at]
    return message.get("parts") or message["content"]


HI: Any = "hi"
Mutation = Callable[[Json], object]
ANTHROPIC: dict[str, Mutation] = {
    "no messages": lambda b: b["messages"].clear(),
    "is no object": lambda b: b["messages"].append(["hi"]),
    "has the role 'tool'": lambda b: b["messages"][0].update(role="tool"),
    "not the user's": lambda b: b["messages"].pop(0),
    "has no content": lambda b: b["messages"][-1].update(content=[]),
    "neither text nor a list": lambda b: b["messages"][-1].update(content=None),
    "no block": lambda b: blocks(b, 0).append(HI),
    "message 5 has a text without words": lambda b: blocks(b, 4)[0].update(text=" \n"),
    "system text has a text without words": lambda b: b.update(system=""),
    "image or document of role assistant": lambda b: blocks(b, 3).append(blocks(b, 0)[1]),
    "image or document of role system": lambda b: b.update(system=[blocks(b, 0)[1]]),
    "a call of role user": lambda b: blocks(b, 0).append(blocks(b, 1)[1]),
    "a result of role assistant": lambda b: blocks(b, 3).append(blocks(b, 2)[0]),
    "a call without a name": lambda b: blocks(b, 1)[1].update(name=""),
    "input is no object": lambda b: blocks(b, 1)[1].update(input="{}"),
    "call 'b' that the next one does not": lambda b: blocks(b, 2).pop(),
    "call 'x' is not in the one before": lambda b: blocks(b, 2)[0].update(tool_use_id="x"),
    "result behind other content": lambda b: blocks(b, 2).insert(0, {"type": "text", "text": "hm"}),
    "with the id 'a' of an earlier one": lambda b: blocks(b, 1)[2].update(id="a"),
    "result with the id 'b' of": lambda b: blocks(b, 2).append(blocks(b, 2)[1]),
    "without the id of a call": lambda b: blocks(b, 1)[1].update(id=None),
    "failed result without words": lambda b: blocks(b, 2)[0].update(content="", is_error=True),
    "without a signature": lambda b: blocks(b, 1).insert(0, {"type": "thinking", "thinking": "hm"}),
    "nothing but thinking": lambda b: b["messages"][3].update(
        content=[{"type": "redacted_thinking", "data": "x"}]
    ),
    "message 5 has a NUL": lambda b: blocks(b, 4)[0].update(text="a\0"),
    "half of a surrogate pair": lambda b: blocks(b, 1)[1]["input"].update({"\ud800": 1}),
    "number that JSON does not know": lambda b: blocks(b, 1)[1]["input"].update(a=float("nan")),
    "bytes, which is no JSON": lambda b: blocks(b, 1)[1]["input"].update(a=b""),
    "system has half of": lambda b: b.update(system="\udc00"),
}
OPENAI: dict[str, Mutation] = {
    "no messages": lambda b: b.pop("messages"),
    "has the role 'model'": lambda b: b["messages"][-1].update(role="model"),
    "image or document of role system": lambda b: b["messages"][0].update(content=[blocks(b, 1)[1]]),
    "something else than text": lambda b: b["messages"][3].update(content=[blocks(b, 1)[1]]),
    "neither text nor a list": lambda b: b["messages"][5].update(content=None),
    "call 'b' that is not answered with": lambda b: (
        b["messages"].pop(4),
        b["messages"].__delitem__(slice(4, None)),
    ),
    "call 'b' that is not answered before": lambda b: b["messages"].pop(4),
    "call 'x' is not directly before": lambda b: b["messages"][3].update(tool_call_id="x"),
    "not directly before": lambda b: b["messages"].append(b["messages"][4]),
    "not answered before message 4": lambda b: b["messages"].insert(3, {"role": "user", "content": "and"}),
    "id 'a' of an earlier one": lambda b: b["messages"][2]["tool_calls"][1].update(id="a"),
    "result without the id": lambda b: b["messages"][3].pop("tool_call_id"),
    "no list of calls": lambda b: b["messages"][2].update(tool_calls=[]),
    "a call that is none": lambda b: b["messages"][2]["tool_calls"].append({"id": "z"}),
    "arguments are no text": lambda b: b["messages"][2]["tool_calls"][0]["function"].update(arguments={}),
    "a call of role user": lambda b: b["messages"][2].update(role="user"),
}
RESPONSES: dict[str, Mutation] = {
    "no input": lambda b: b["input"].clear(),
    "has the role 'tool'": lambda b: b["input"][0].update(role="tool"),
    "image or document of role developer": lambda b: b["input"][0].update(
        content=[b["input"][1]["content"][1]]
    ),
    "call 'x' is not before it": lambda b: b["input"][5].update(call_id="x"),
    "output whose call 'a'": lambda b: b["input"].insert(2, b["input"].pop(5)),
    "call 'b' without an output": lambda b: b["input"].pop(6),
    "call with the id 'a' of": lambda b: b["input"][4].update(call_id="a"),
    "result with the id 'a' of": lambda b: b["input"].append(b["input"][5]),
    "2 items have the id 'fc_1'": lambda b: (
        b["input"][3].update(id="fc_1"),
        b["input"][4].update(id="fc_1"),
    ),
    "without the id of a call": lambda b: b["input"][5].pop("call_id"),
    "reasoning without the item": lambda b: b["input"].append(
        {"type": "reasoning", "id": "rs_1", "summary": []}
    ),
    "item 6 is reasoning": lambda b: b["input"].insert(5, {"type": "reasoning", "id": "rs_1", "summary": []}),
    "item 8 is reasoning": lambda b: b["input"].__setitem__(7, {"type": "reasoning", "id": "rs_1"}),
    "arguments are no text": lambda b: b["input"][3].update(arguments={}),
    "has no content": lambda b: b["input"][1].update(content=[]),
}
GEMINI: dict[str, Mutation] = {
    "no contents": lambda b: b["contents"].clear(),
    "has the role 'assistant'": lambda b: b["contents"][1].update(role="assistant"),
    "not the user's": lambda b: b["contents"].pop(0),
    "has no content": lambda b: b["contents"][-1].update(parts=[]),
    "part that is no object": lambda b: blocks(b, 0).append(HI),
    "a text without words": lambda b: blocks(b, 0)[0].update(text=""),
    "keys in snake_case": lambda b: blocks(b, 0).append({"inline_data": {}}),
    "1 responses to 2 calls": lambda b: blocks(b, 2).pop(),
    "0 responses to 2 calls": lambda b: b["contents"].pop(2),
    "2 responses to 0 calls": lambda b: b["contents"].pop(1),
    "other names": lambda b: blocks(b, 2)[0]["functionResponse"].update(name="h"),
    "other ids": lambda b: blocks(b, 2)[0]["functionResponse"].update(id="x"),
    "result behind other content": lambda b: blocks(b, 2).insert(0, {"text": "hm"}),
    "call with the id 'a' of": lambda b: blocks(b, 1)[2]["functionCall"].update(id="a"),
    "args are no object": lambda b: blocks(b, 1)[1]["functionCall"].update(args="{}"),
    "response that is no object": lambda b: blocks(b, 2)[0]["functionResponse"].update(response="A"),
    "image or document of role system": lambda b: b["systemInstruction"].update(parts=[blocks(b, 0)[1]]),
}
MUTATIONS = [
    pytest.param(api, says, mutate, id=f"{api}: {says}")
    for api, some in zip(APIS, (ANTHROPIC, OPENAI, RESPONSES, GEMINI), strict=True)
    for says, mutate in some.items()
]


@pytest.mark.parametrize(("api", "says", "mutate"), MUTATIONS)
def test_each_violation_is_told(api, says, mutate):
    body = copy.deepcopy(good(api))
    assert check(body, api) == []
    mutate(body)
    assert any(says in sentence for sentence in check(body, api)), check(body, api)


def test_gemini_images_of_the_model_stay_the_models():
    """An image that the model drew may go back where it stood."""
    body = good("gemini")
    blocks(body, 3).append(blocks(body, 0)[1])
    assert check(body, "gemini") == []


def with_images(*sizes: tuple[int, int]) -> Json:
    parts = tuple(Image("image/png", png(*size)) for size in sizes)
    return request(Transcript((Message("user", parts),), "text"), "anthropic")


@pytest.mark.parametrize(
    ("body", "limits", "says"),
    [
        (with_images(*[(9, 9)] * 3), {"images_per_request": 2}, "3 images, and 2 are allowed"),
        (with_images((8001, 9)), {"max_side": 8000}, "message 1 has an image of 8001x9 pixels"),
        (with_images((2001, 2001), *[(9, 9)] * 20), {"max_side": 8000, "max_side_many": 2000}, "2000 a side"),
        (with_images((210, 10)), {"max_aspect": 20}, "sides of 20:1"),
        (with_images((9, 9)), {"image_bytes": 55}, "of 56 bytes of base64, and 55"),
        (with_images((9, 9)), {"request_bytes": 100}, "bytes, and 100 are allowed"),
    ],
)
def test_limits(body, limits, says):
    found = check(body, "anthropic", limits=limits)
    assert len(found) == 1
    assert says in found[0]
    assert check(body, "anthropic") == []
    assert check(body, "anthropic", limits={key: value + 10_000 for key, value in limits.items()}) == []


def test_twenty_images_may_be_large():
    limits = {"max_side": 8000, "max_side_many": 2000}
    assert check(with_images(*[(8000, 9)] * 20), "anthropic", limits=limits) == []
    assert check(with_images(*[(2000, 9)] * 21), "anthropic", limits=limits) == []
    documents = with_images(*[(2001, 9)] * 20)
    documents["messages"][0]["content"].append(
        {"type": "document", "source": {"type": "url", "url": "https://e"}}
    )
    assert len(check(documents, "anthropic", limits=limits)) == 20


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "WEBP", "lossless"])
def test_sizes_of_all_image_types(kind):
    from io import BytesIO

    from PIL import Image as Pillow

    data = BytesIO()
    picture = Pillow.new("RGB", (301, 17), "red")
    if kind == "lossless":
        picture.save(data, "WEBP", lossless=True)
    else:
        picture.save(data, kind)
    media_type = {"lossless": "image/webp"}.get(kind, f"image/{kind.lower()}")
    source = {"type": "base64", "media_type": media_type, "data": base64.b64encode(data.getvalue()).decode()}
    body = {"messages": [{"role": "user", "content": [{"type": "image", "source": source}]}]}
    assert "301x17" in check(body, "anthropic", limits={"max_side": 300})[0]
    assert check(body, "anthropic", limits={"max_side": 301}) == []
