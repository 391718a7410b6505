"""One part larger than the room becomes pages in its place: case 034 and its class, for every API."""

from __future__ import annotations

import json

import pytest

import snapshot
from snapshot.messages import Message, Text, ToolCall, ToolResult, Transcript
from snapshot.models.ids import profile_for
from snapshot.requests import APIS
from snapshot.requests.check import check
from tests.compacting import BLIND, MODELS, texts

LOG = "\n".join(f"{number:06d} INFO worker-{number % 7} took job {number * 37}" for number in range(4000))
LOG = LOG[:90_000] + "\nERROR 4711 at ZEBRA-77\n" + LOG[90_000:]
ASK = Message("user", (Text("Find the fault."),))


def call(name: str, arguments: dict[str, str], number: int = 0) -> ToolCall:
    return ToolCall(f"c{number}", name, json.dumps(arguments))


def result(text: str, number: int = 0) -> ToolResult:
    return ToolResult(f"c{number}", (Text(text),))


LARGE = {
    "paste": (
        Message("user", (Text("Find it."), Text(LOG), Text("Answer in one line, and name ZEBRA-77."))),
    ),
    "result": (
        ASK,
        Message("assistant", (call("Bash", {"command": "cat log"}),)),
        Message("tool", (result(LOG),)),
    ),
    "results": (
        ASK,
        Message("assistant", tuple(call("Read", {"path": f"{n}.log"}, n) for n in range(3))),
        Message("tool", tuple(result(LOG, n) for n in range(3))),
    ),
    "arguments": (
        ASK,
        Message("assistant", (call("Write", {"path": "a.log", "content": LOG}),)),
        Message("tool", (result("Written."),)),
    ),
    "system": (Message("system", (Text("Be brief."), Text(LOG))), ASK),
}  # fmt: skip


@pytest.mark.sampled(3)
@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("name", LARGE)
def test_it_fits_and_nothing_is_lost(name, api):
    transcript = Transcript(LARGE[name], "anthropic")
    model = MODELS[api]
    window = 30_000
    done = snapshot.compact(transcript, model=model, window=window)
    assert done.report.after <= done.report.safe
    assert done.report.pages
    assert done.report.notes
    assert check(done.request(api), api, limits=profile_for(model).limits) == []
    assert done.archive is not None
    assert done.archive.restore(done.transcript).messages == transcript.messages
    again = snapshot.compact(done.transcript, model=model, window=window, archive=done.archive)
    assert again.report.no_op
    assert again.transcript == done.transcript


@pytest.mark.parametrize("name", ["paste", "result"])
def test_words_around_it_stay_and_telling_lines_are_text(name):
    done = snapshot.compact(Transcript(LARGE[name], "anthropic"), model=MODELS["anthropic"], window=30_000)
    said = "\n".join(texts(done.transcript.messages))
    assert "ERROR 4711 at ZEBRA-77" in said
    assert LOG[:200] in said
    assert LOG[-200:] in said
    if name == "paste":
        assert said.index("Find it.") < said.index("ERROR 4711") < said.index("Answer in one line")


@pytest.mark.parametrize("name", LARGE)
def test_a_blind_reader_gets_the_beginning_and_the_end(name):
    done = snapshot.compact(Transcript(LARGE[name], "anthropic"), model=BLIND, window=30_000, digest=True)
    assert not done.report.images
    assert done.report.after <= done.report.safe
    assert done.archive is not None
    assert done.archive.restore(done.transcript).messages == LARGE[name]


def test_recover_is_smaller_than_what_was_refused():
    refused = "prompt is too long: 70000 tokens > 30000 maximum"
    done = snapshot.recover(Transcript(LARGE["paste"], "anthropic"), refused, model=MODELS["anthropic"])
    assert done.report.after < 30_000
    third = snapshot.recover(
        done.transcript,
        "context_length_exceeded",
        model=MODELS["anthropic"],
        window=30_000,
        archive=done.archive,
    )
    assert third.report.after < third.report.before
    assert third.report.page_tokens < done.report.page_tokens
