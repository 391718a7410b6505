"""The face for hosts against the official SDKs: their objects in, their types out, what really is sent."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from typing import Any

import pytest

import snapshot
from snapshot.compaction import compact
from snapshot.requests import LISTED, request
from snapshot.summarizers import CutOff, SummaryRequest, anthropic_summarizer, openai_summarizer
from tests.conversations import long_conversation

pytestmark = [
    pytest.mark.clients,
    # What the SDKs' own modules warn of is theirs.
    pytest.mark.filterwarnings("ignore"),
]

MODELS = {
    "anthropic": "claude-opus-4-8",
    "openai": "gpt-5.5",
    "openai-responses": "gpt-5.6-sol",
    "gemini": "gemini-3-pro",
}
WINDOW = 40_000
ASK = SummaryRequest("system", "prompt", 64_000)


class Served:
    """A server on this machine that answers every request with one body, and keeps what it was sent."""

    def __init__(self, answer: bytes, kind: str) -> None:
        self.bodies: list[dict[str, Any]] = []
        served = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                size = int(self.headers["content-length"])
                served.bodies.append(json.loads(self.rfile.read(size)))
                self.send_response(200)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture
def serve() -> Iterator[Any]:
    made: list[Served] = []

    def start(answer: bytes, kind: str = "application/json") -> Served:
        made.append(Served(answer, kind))
        return made[-1]

    yield start
    for one in made:
        one.server.shutdown()
        one.server.server_close()


def valid(kind: Any, values: Any) -> None:
    """Raise where values are not of an SDK's own type."""
    from pydantic import TypeAdapter

    adapter = TypeAdapter(list[kind])  # pyright: ignore[reportInvalidTypeForm]
    # Some of the SDKs' types are lazy iterables: each has to be walked to be checked.
    json.dumps(adapter.dump_python(adapter.validate_python(values), mode="json"))


def types_of(api: str) -> Any:
    if api == "anthropic":
        return import_module("anthropic.types").MessageParam
    if api == "openai":
        return import_module("openai.types.chat").ChatCompletionMessageParam
    if api == "openai-responses":
        return import_module("openai.types.responses").ResponseInputItemParam
    return import_module("google.genai.types").Content


def objects(api: str) -> list[Any]:
    """A conversation as the documented loop of each SDK leaves it: dictionaries, and the SDK's objects."""
    listed = request(long_conversation(60, size=2000), api)[LISTED[api]]
    if api == "anthropic":
        types = import_module("anthropic.types")
        blocks = {"text": types.TextBlock, "tool_use": types.ToolUseBlock}
        return [
            {**item, "content": [blocks[b["type"]].model_construct(**b) for b in item["content"]]}
            if item["role"] == "assistant"
            else item
            for item in listed
        ]
    if api == "openai":
        kind = import_module("openai.types.chat").ChatCompletionMessage
        return [kind.model_validate(item) if item["role"] == "assistant" else item for item in listed]
    if api == "openai-responses":
        kind = import_module("openai.types.responses").ResponseFunctionToolCall
        return [kind.model_validate(item) if item["type"] == "function_call" else item for item in listed]
    kind = import_module("google.genai.types").Content
    return [kind.model_validate(item) for item in listed]


@pytest.mark.parametrize("api", MODELS)
def test_objects_of_the_sdk_are_kept(api):
    own = objects(api)
    nothing = compact(own, model=MODELS[api], threshold=0.9)
    assert nothing.splice() is own
    done = compact(own, model=MODELS[api], window=WINDOW)
    spliced = done.splice()
    assert done.archive is not None
    assert done.archive.pages
    assert len(done.kept) > 3
    assert len(done.new) == 1
    assert all(any(item is own[place] for item in spliced) for place in done.kept)
    assert compact(spliced, model=MODELS[api], window=WINDOW, archive=done.archive).splice() is spliced


@pytest.mark.parametrize("api", MODELS)
def test_requests_are_of_the_sdks_types(api):
    for transcript in (long_conversation(60, size=2000), long_conversation(3)):
        done = compact(transcript, model=MODELS[api], window=WINDOW)
        valid(types_of(api), done.request(api)[LISTED[api]])


def test_a_log_of_codex_is_of_the_sdks_types():
    """Its words of the assistant have lost their ids, without which they are no output of the service's."""
    items = [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Go."}]},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Done."}]},
    ]
    rows = [{"type": "session_meta", "payload": {"id": "s"}}]
    rows += [{"type": "response_item", "payload": item} for item in items]
    transcript = snapshot.load("\n".join(map(json.dumps, rows)).encode(), format="codex")
    listed = request(transcript, "openai-responses")["input"]
    valid(types_of("openai-responses"), listed)
    assert listed[1]["content"] == "Done."


def test_googles_sdk_takes_the_arguments(serve):
    genai = import_module("google.genai")
    server = serve(
        json.dumps({"candidates": [{"content": {"role": "model", "parts": [{"text": "ok"}]}}]}).encode()
    )
    client = genai.Client(api_key="none", http_options={"base_url": server.url})
    done = compact(long_conversation(60, size=2000), model="gemini-3-pro", window=WINDOW)
    answer = client.models.generate_content(model="gemini-3-pro", **done.request("google-genai"))
    assert answer.text == "ok"
    (sent,) = server.bodies
    assert sent["systemInstruction"]["parts"] == [{"text": "Be brief."}]
    body = done.request("gemini")
    assert [part.keys() for item in sent["contents"] for part in item["parts"]] == [
        part.keys() for item in body["contents"] for part in item["parts"]
    ]


# --- summarizers


def events(stop: str) -> bytes:
    """A stream of Anthropic's, which ends for a reason."""
    message = {
        "id": "m", "type": "message", "role": "assistant", "model": "m", "content": [], "stop_reason": None,
        "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1},
    }  # fmt: skip
    rows = [
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Goal: x"}},
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta",
            "delta": {"stop_reason": stop, "stop_sequence": None},
            "usage": {"output_tokens": 2},
        },
        {"type": "message_stop"},
    ]
    return "".join(f"event: {row['type']}\ndata: {json.dumps(row)}\n\n" for row in rows).encode()


@pytest.mark.parametrize(("stop", "cut"), [("end_turn", False), ("max_tokens", True)])
def test_anthropics_client_summarizes(serve, stop, cut):
    """Beyond 21,333 tokens of answer the client refuses to wait, so it has to stream."""
    anthropic = import_module("anthropic")
    server = serve(events(stop), "text/event-stream")
    client = anthropic.Anthropic(api_key="none", base_url=server.url)
    summarize = anthropic_summarizer(client, "claude-haiku-4-5")
    answer = summarize(ASK)
    assert (answer, isinstance(answer, CutOff)) == ("Goal: x", cut)
    assert (server.bodies[0]["stream"], server.bodies[0]["max_tokens"]) == (True, 64_000)
    assert (summarize.window, summarize.max_output) == (200_000, 64_000)


def test_an_asynchronous_client_summarizes(serve):
    anthropic = import_module("anthropic")
    server = serve(events("end_turn"), "text/event-stream")

    async def main() -> snapshot.Compaction:
        async with anthropic.AsyncAnthropic(api_key="none", base_url=server.url) as client:
            return await snapshot.acompact(
                long_conversation(60, size=2000),
                model="claude-opus-4-8",
                window=WINDOW,
                rungs=("summarize",),
                summarize=anthropic_summarizer(client, "claude-haiku-4-5"),
            )

    done = asyncio.run(main())
    assert done.archive is not None
    assert done.archive.summary == "Goal: x"
    assert server.bodies


@pytest.mark.parametrize(("reason", "cut"), [("stop", False), ("length", True)])
def test_openais_client_summarizes(serve, reason, cut):
    openai = import_module("openai")
    choice = {"index": 0, "finish_reason": reason, "message": {"role": "assistant", "content": "Goal: x"}}
    answer = {"id": "c", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice]}
    server = serve(json.dumps(answer).encode())
    made = openai_summarizer(openai.OpenAI(api_key="none", base_url=server.url), "gpt-4o-mini")(ASK)
    assert (made, isinstance(made, CutOff)) == ("Goal: x", cut)

    async def main() -> Any:
        async with openai.AsyncOpenAI(api_key="none", base_url=server.url) as client:
            return await openai_summarizer(client, "gpt-4o-mini")(ASK)  # type: ignore[misc]

    assert isinstance(asyncio.run(main()), CutOff) is cut


# --- LangChain


def test_langchains_messages_are_spliced():
    """What is kept is the host's object, with its thinking blocks and ids; what is new is LangChain's."""
    messages = import_module("langchain_core.messages")
    thought = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
    own: list[Any] = [messages.SystemMessage("Be brief."), messages.HumanMessage("Find out why it fails.")]
    for n in range(80):
        call = {"name": "Read", "args": {"path": f"{n}.py"}, "id": f"call_{n}"}
        content = [thought, {"type": "text", "text": f"Step {n}."}]
        output = "\n".join(f"value_{n * 7919 + i} = {i}" for i in range(120))
        own.append(messages.AIMessage(content, tool_calls=[call], id=f"ai_{n}"))
        own.append(messages.ToolMessage(output, tool_call_id=f"call_{n}", artifact={"n": n}))
    done = compact(own, model="anthropic:claude-opus-4-8", window=WINDOW)
    spliced = done.splice(make=messages.convert_to_messages)
    assert all(isinstance(item, messages.BaseMessage) for item in spliced)
    assert [item for item in spliced if any(item is one for one in own)] == [
        own[place] for place in done.kept
    ]
    assert spliced[-1] is own[-1]
    assert spliced[-2].content[0] == thought
    assert len(done.new) == 1
    again = compact(spliced, model="anthropic:claude-opus-4-8", window=WINDOW, archive=done.archive)
    assert again.splice() is spliced


def test_langchains_overflow_error_is_one():
    error = import_module("langchain_core.exceptions").ContextOverflowError
    assert snapshot.classify_error(error("Input tokens exceed the configured limit")).overflow
    assert snapshot.classify_error(error("…")).overflow
