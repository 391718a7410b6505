"""The caller's images and documents: counted, and dropped for the limits by name; cases 035 and 041."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import snapshot
from snapshot.messages import File, Image, Message, Text, ToolCall, ToolResult, Transcript
from snapshot.models.ids import profile_for
from snapshot.requests import APIS
from snapshot.requests.check import check
from tests.compacting import MODELS
from tests.conftest import case
from tests.test_requests_limits import BEYOND, conversation, document, image

OPUS = "claude-opus-4-8"
BEDROCK = "us.anthropic.claude-opus-4-8-v1:0"


@pytest.fixture(scope="module")
def inputs(tmp_path_factory) -> dict[str, Any]:
    """The conversations of case 035."""
    folder = tmp_path_factory.mktemp("documents")
    subprocess.run([sys.executable, case("035") / "make_input.py", folder], check=True)
    return {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in folder.glob("*.json")}


def titles(body: dict[str, Any]) -> list[str]:
    """Titles of the documents in a request to Anthropic."""
    return [
        block["title"]
        for message in body["messages"]
        if not isinstance(message["content"], str)
        for block in message["content"]
        if block["type"] == "document"
    ]


def words(body: dict[str, Any]) -> str:
    return json.dumps(body, ensure_ascii=False)


# --- case 035


@pytest.mark.parametrize("window", [60_000, 200_000, 1_000_000])
def test_case_035_the_body_is_within_the_limit_with_the_newest_documents(inputs, window):
    done = snapshot.compact(inputs["many"], model=OPUS, window=window)
    body = done.request("anthropic")
    assert check(body, "anthropic", reader=profile_for(OPUS)) == []
    kept = titles(body)
    assert kept == [f"annex-{number}.pdf" for number in range(9 - len(kept), 9)]
    if window < 100_000:  # most of them are in the middle, and their lines on pages
        return
    assert len(kept) == 7
    for number in range(2):
        line = f"[document dropped: annex-{number}.pdf, application/pdf, 3 pages, 2999554 bytes"
        assert line in words(body)
        assert any(note.startswith(line) for note in done.report.notes)


@pytest.mark.parametrize(
    ("name", "error", "fewer"),
    [
        ("pages", "A maximum of 100 PDF pages may be provided.", ["b.pdf"]),
        (
            "many",
            '{"error": {"type": "request_too_large", "message": "Request exceeds the maximum size"}}',
            [f"annex-{number}.pdf" for number in range(3, 9)],
        ),
    ],
)
def test_case_035_recover_gives_fewer_documents(inputs, name, error, fewer):
    done = snapshot.recover(inputs[name], error, model=OPUS, window=1_000_000)
    body = done.request("anthropic")
    assert titles(body) == fewer
    assert done.archive is not None
    whole = done.archive.restore(done.transcript)
    assert [part for message in whole.messages for part in message.parts if isinstance(part, File)] == [
        part
        for message in snapshot.from_messages(inputs[name]).messages
        for part in message.parts
        if isinstance(part, File)
    ]


def test_case_035_a_document_does_not_make_the_task_bulk(inputs):
    """Nor does one that is larger than the window: its line stands where it was."""
    done = snapshot.compact(inputs["pages"], model=OPUS, window=40_000)
    body = done.request("anthropic")
    assert titles(body) == []
    first = body["messages"][0]["content"]
    assert first[0] == {"type": "text", "text": "Compare both reports."}
    assert [block["text"][:26] for block in first[1:]] == [
        "[document dropped: a.pdf, ",
        "[document dropped: b.pdf, ",
    ]
    assert done.report.after <= done.report.safe


def test_documents_go_before_images_and_only_where_that_helps():
    """A small document that went before large photos would have gone for nothing: it stays."""
    photos = [image(size=4_000_000) for _ in range(6)]
    mixed = conversation(document(1, name="small.pdf"), *photos, document(1, 4_000_000, name="large.pdf"))
    limits = {"request_bytes": 24_000_000}
    done = snapshot.compact(
        Transcript(mixed, "anthropic"), model=OPUS, window=1_000_000, target=1.0, limits=limits
    )
    body = done.request("anthropic")
    assert check(body, "anthropic", limits=limits) == []
    assert titles(body) == ["small.pdf"]


# --- every limit


@pytest.mark.parametrize("key", [key for key in BEYOND if key != "request_bytes"])
@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("place", ["head", "tail", "result"])
def test_what_a_provider_would_refuse_is_not_sent(key, api, place):
    """Case 041: for every limit that there is, wherever the attachment stands."""
    parts, allowed = BEYOND[key]
    inner = [part for part in parts if isinstance(part, Image | File)]
    ask = Message("user", (Text("look"),))
    call = Message("assistant", (ToolCall("c", "f", "{}"),))
    messages = {
        "head": conversation(*parts),
        "tail": (ask, Message("assistant", (Text("ok"),)), Message("user", (Text("so"), *parts))),
        "result": (
            ask,
            call,
            Message("tool", (ToolResult("c", (Text("found"), *inner)),)),
            Message("assistant", (Text("ok"),)),
            Message("user", (Text("so"),)),
        ),
    }[place]
    limits = {key: allowed}
    done = snapshot.compact(Transcript(messages, "text"), model=MODELS[api], window=100_000, limits=limits)
    body = done.request(api)
    assert check(body, api, limits=limits, reader=profile_for(MODELS[api])) == []
    assert "dropped: " in words(body)
    assert done.archive is not None
    assert done.archive.restore(done.transcript).messages == messages


@given(
    st.lists(st.sampled_from(["image", "document", "large image", "large document"]), max_size=9),
    st.dictionaries(
        st.sampled_from(["images_per_request", "images_per_message", "documents_per_request", "pdf_pages"]),
        st.integers(0, 6),
    ),
    st.sampled_from([None, 60_000, 90_000]),
)
@example(["image", "large image", "large image", "large image"], {}, 60_000)
@example(["image"] * 2 + ["document"] * 5 + ["large image", "large document"], {}, 60_000)
@example(["document", "image", "large image", "image", "large document", "large image"], {}, 60_000)
def test_no_more_goes_than_must(kinds, limits, size):
    made = {
        "image": image(),
        "document": document(2),
        "large image": image(size=20_000),
        "large document": document(3, 20_000),
    }
    messages = conversation(*(made[kind] for kind in kinds))
    limits |= {"request_bytes": size} if size else {}
    done = snapshot.compact(Transcript(messages, "anthropic"), model=OPUS, window=100_000, limits=limits)
    body = done.request("anthropic")
    assert check(body, "anthropic", limits=limits) == []
    left = [part for part in done.transcript.messages[0].parts if isinstance(part, Image | File)]
    if len(left) == len(kinds):
        return
    # With any one of those that went it would be too much, for a planner that keeps a twentieth free.
    kept = {key: most - most // 20 if key != "images_per_message" else most for key, most in limits.items()}
    gone = [made[kind] for kind in kinds if made[kind] not in left]
    for item in gone:
        more = snapshot.request(Transcript(conversation(*left, item), "anthropic"), "anthropic")
        room = 200  # the line in its place, and what the estimate of a body is off by
        assert check(
            more,
            "anthropic",
            limits={**kept, **({"request_bytes": kept["request_bytes"] - room} if size else {})},
        )


# --- case 041


@pytest.fixture(scope="module")
def chapters(tmp_path_factory) -> dict[str, Any]:
    path = tmp_path_factory.mktemp("chapters") / "input.json"
    subprocess.run([sys.executable, case("041") / "make_input.py", path], check=True)
    return json.loads(path.read_text(encoding="utf-8"))


def images_of(body: dict[str, Any]) -> list[int]:
    return [
        sum(block["type"] == "image" for block in message["content"] if isinstance(block, dict))
        for message in body["messages"]
    ]


def test_case_041_pages_are_spread_over_messages(chapters):
    done = snapshot.compact(chapters, model=BEDROCK, window=300_000)
    body = done.request("anthropic")
    assert done.report.pages > 20
    assert check(body, "anthropic", reader=profile_for(BEDROCK)) == []
    assert max(images_of(body)) == 20
    roles = [message["role"] for message in body["messages"]]
    assert roles == ["user", "assistant"] * (len(roles) // 2) + ["user"]
    # It goes on: what was sent before is the beginning of what is sent now, up to the last page.
    more = [*chapters["messages"], *chapters["messages"][1:21]]
    again = snapshot.compact(more, model=BEDROCK, window=300_000, archive=done.archive)
    assert again.request("anthropic")["messages"][0]["content"][:21] == body["messages"][0]["content"][:21]
    assert check(again.request("anthropic"), "anthropic", reader=profile_for(BEDROCK)) == []


@pytest.mark.parametrize("before", [0, 3, 20])
@pytest.mark.parametrize("after", [0, 2, 20])
def test_images_that_an_api_joins_to_the_pages_count(chapters, before, after):
    """What stands between two messages of the assistant's is one message for the API."""
    messages = list(snapshot.from_messages(chapters).messages)
    messages[0] = Message("user", (*messages[0].parts, *[image()] * before))
    messages[-1] = Message("user", (*messages[-1].parts, *[image()] * after))
    done = snapshot.compact(Transcript(tuple(messages), "anthropic"), model=BEDROCK, window=300_000, tail=0.0)
    body = done.request("anthropic")
    assert done.report.pages > 20
    assert check(body, "anthropic", reader=profile_for(BEDROCK)) == []
    assert sum(images_of(body)) == done.report.pages + before + after
    assert done.archive is not None
    assert done.archive.restore(done.transcript).messages == tuple(messages)
