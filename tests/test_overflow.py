"""What providers say is recognised for what it is, in every wrapping, with the figures that it names."""

# ruff: noqa: E501 - what providers say stands on one line

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snapshot.recovery.classify import ErrorClass, classify_error
from tests.conftest import HERE

ROWS: list[dict[str, Any]] = json.loads((HERE / "data" / "overflow_errors.json").read_text(encoding="utf-8"))
KINDS = {
    "context plus max_tokens": "output",
    "image limit": "images",
    "max_tokens parameter": "max_tokens",
    "ambiguous": "other",
}
# What a row describes instead of quoting it: a response, or an answer without a body.
RESPONSES = {
    "xiaomi": {
        "choices": [{"finish_reason": "length", "message": {"content": ""}}],
        "usage": {"prompt_tokens": 261_900, "completion_tokens": 0},
    },
    "ollama": {
        "message": {"content": "Well."},
        "done_reason": "stop",
        "prompt_eval_count": 4096,
        "eval_count": 9,
    },
}
SAID = [row for row in ROWS if row["class"] != "silent"]
WITH_BODY = [row for row in SAID if "no body" not in row["text"] and row["status"] >= 400]


class APIStatusError(Exception):
    """Shaped like the official SDKs' errors: attributes, and a text that repeats the body."""

    def __init__(self, status: int, body: object, message: str = "") -> None:
        super().__init__(message or f"Error code: {status} - {body}")
        self.status_code, self.body, self.message = status, body, str(self)


class Response:
    """A response of an HTTP library."""

    def __init__(self, status: int, text: str) -> None:
        self.status_code, self.text = status, text


class HTTPStatusError(Exception):
    """An HTTP library's error: all is in the response."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(f"Client error '{status}' for url 'https://api.example/v1/chat'")
        self.response = Response(status, text)


class ClientError(Exception):
    """The shape of AWS errors: the response is a mapping."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(f"An error occurred ({code}) when calling the Converse operation: {message}")
        self.response = {
            "Error": {"Code": code, "Message": message},
            "ResponseMetadata": {"HTTPStatusCode": status},
        }


def body_of(row: dict[str, Any]) -> dict[str, Any]:
    """A row's body as its provider sends it, or in the commonest form."""
    try:
        body = json.loads(row.get("body", "").replace('"message":"..."', '"message":""'))
    except ValueError:
        body = {"error": {"message": "", "code": row.get("code")}}
    holder = body["error"] if isinstance(body.get("error"), dict) else body
    holder["error" if isinstance(body.get("error"), str) else "message"] = row["text"]
    return body


def check(row: dict[str, Any], verdict: ErrorClass) -> None:
    assert verdict.kind == KINDS.get(row["class"], row["class"]), (row, verdict)
    assert verdict.overflow == row["is_overflow"]
    assert "\n" not in str(verdict)


def named(row: dict[str, Any]) -> str:
    return f"{row['provider']}-{row['status']}-{row['text'][:30]}"


def test_the_table_is_whole():
    assert len(ROWS) == 88
    assert {row["provider"] for row in ROWS if row["class"] == "silent"} == RESPONSES.keys()


@pytest.mark.parametrize("row", SAID, ids=named)
def test_each_row(row):
    for error in (
        {"status": row["status"], "body": row["text"]},
        {"status": row["status"], "text": row["text"]},
        {"status_code": row["status"], "error": {"message": row["text"]}},
    ):
        check(row, classify_error(error, provider=row["provider"]))


@pytest.mark.parametrize("row", WITH_BODY, ids=named)
def test_each_row_in_the_body_its_provider_sends(row):
    body, status = body_of(row), row["status"]
    inner = body.get("error", body)
    for error in (
        {"status": status, "body": body},
        {"status": status, "body": json.dumps(body)},
        f"Error code: {status} - {json.dumps(body)}",
        f"{status} {json.dumps(body, ensure_ascii=False)}",
        APIStatusError(status, body),
        APIStatusError(status, inner),  # the official OpenAI client unwraps it
        APIStatusError(status, None, json.dumps(body)),
        HTTPStatusError(status, json.dumps(body)),
        ClientError(status, "ValidationException", row["text"]),
    ):
        check(row, classify_error(error, provider=row["provider"]))


@pytest.mark.parametrize("row", WITH_BODY, ids=named)
def test_each_row_behind_gateways(row):
    status, raw = row["status"], json.dumps(body_of(row))
    check(row, classify_error({"status": status, "body": f"litellm.APIError: AnthropicException - {raw}"}))
    check(
        row,
        classify_error({"status": status, "body": f"The model returned the following errors: {row['text']}"}),
    )
    routed = {"error": {"message": "Provider returned error", "code": status, "metadata": {"raw": raw}}}
    check(row, classify_error(routed))
    check(row, classify_error(json.dumps({"status": status, "body": routed}).encode()))
    caused = RuntimeError("the step failed")
    caused.__cause__ = APIStatusError(status, routed)
    check(row, classify_error(caused))
    check(row, classify_error(BaseExceptionGroup("tasks", [ValueError("no"), caused])))


@pytest.mark.parametrize("row", [row for row in WITH_BODY if row["is_overflow"]], ids=named)
def test_each_overflow_in_a_stream(row):
    if row["class"] == "bytes":
        pytest.skip("a body too large is refused before there is a stream")
    error = {"message": row["text"], "code": row.get("code")}
    event = {"type": "response.failed", "response": {"status": "failed", "error": error, "output": []}}
    check(row, classify_error(event))
    check(row, classify_error({"type": "error", "error": {"type": "invalid_request_error", **error}}))
    check(row, classify_error(f"event: response.failed\ndata: {json.dumps(event)}\n\ndata: [DONE]\n"))


# Text, and what it names: kind, limit, requested, prompt, excess.
FIGURES = [
    ("prompt is too long: 210000 tokens > 200000 maximum", "context", 200_000, 210_000, None, 10_000),
    ("prompt is too long: 1,210,000 tokens > 1,000,000 maximum", "context", 1_000_000, 1_210_000, None, 210_000),
    ("prompt is too long: 1.210.000 tokens > 1.000.000 maximum", "context", 1_000_000, 1_210_000, None, 210_000),
    ("input length and `max_tokens` exceed context limit: 188240 + 64000 > 200000, decrease", "output", 200_000, 252_240, 188_240, 52_240),
    ("This model's maximum context length is 6048 tokens. However, you requested 6616 tokens (568 in the messages, 6048 in the completion).", "context", 6048, 6616, 568, 568),
    ("This endpoint's maximum context length is 32768 tokens. However, you requested about 42832 tokens (40000 of text input, 1832 of tool input, 1000 in the output).", "context", 32_768, 42_832, 41_832, 10_064),
    ("Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 342389.",
     "rate limit", 30_000, 342_389, None, 312_389),
    ("Prompt has 5,958,968 tokens, but the configured context size is 256,000 tokens",
     "context", 256_000, 5_958_968, None, 5_702_968),
    ("prompt too long; exceeded max context length by 1,200 tokens", "context", None, None, None, 1200),
    ("max_tokens must be at least 1, got -186.", "output", None, None, None, 186),
    ("image exceeds 5 MB maximum: 6291456 bytes > 5242880 bytes", "images", 5_242_880, 6_291_456, None, 1_048_576),
    ("Too much media: 3 document pages + 104 images > 100", "images", 100, 107, None, 7),
    ("too many images and documents: 120 + 0 > 100", "images", 100, 120, None, 20),
    ("At most 5 image(s) may be provided in one request.", "images", 5, None, None, None),
    ("chat history exceeds the 200-message limit", "message count", 200, None, None, None),
    ("* Quota exceeded for metric: input_token_count, limit: 0, model: m", "quota", None, None, None, None),
    ("max_tokens: 64000 > 32000, which is the maximum allowed number of output tokens for this model",
     "max_tokens", 32_000, 64_000, None, 32_000),
]  # fmt: skip


@pytest.mark.parametrize("row", FIGURES, ids=lambda row: row[0][:40])
def test_figures_are_read(row):
    text, *named_figures = row
    verdict = classify_error(text)
    found = [verdict.kind, verdict.limit, verdict.requested, verdict.prompt, verdict.excess]
    assert found == named_figures


def test_every_figure_of_a_limit_in_the_table_is_read():
    """Where a text of the table names a limit, the verdict has it."""
    without = []
    for row in SAID:
        digits = sum(char.isdigit() for char in row["text"])
        verdict = classify_error({"status": row["status"], "body": row["text"]}, provider=row["provider"])
        if row["is_overflow"] and digits >= 4 and verdict.limit is None and verdict.excess is None:
            without.append(row["text"])
    assert without == ['{"error":{"code":"1261","message":"Prompt exceeds max length"}}']


def test_figures_in_fields_of_the_body():
    body = {"error": {"code": 400, "type": "exceed_context_size_error", "n_prompt_tokens": 9000, "n_ctx": 8192,
                      "message": "the request exceeds the available context size, try increasing it"}}  # fmt: skip
    verdict = classify_error(APIStatusError(400, body))
    assert (verdict.limit, verdict.requested, verdict.unit, verdict.excess) == (8192, 9000, "tokens", 808)


def test_what_sending_less_cures():
    def less(text: str, status: int = 400) -> bool:
        return classify_error({"status": status, "body": text}).curable_by_less

    groq = "Request too large for model `m` on tokens per minute (TPM): Limit 6000, Requested 12328, please"
    assert less(groq, 413)
    assert classify_error({"status": 413, "body": groq}).overflow is False
    assert less("Rate limit reached for m on tokens per day (TPD): Limit 1000, Used 0, Requested 2000.", 429)
    assert not less("Rate limit reached for m on tokens per min: Limit 3000, Used 2900, Requested 400.", 429)
    assert less("Extra usage is required for long context requests.", 429)
    assert less("The request exceeds the limit of 20 images")
    assert not less("invalid x-api-key", 401)
    assert not less("max_tokens exceeds the configured limit of 8192")


def test_whether_max_tokens_alone_may_do():
    assert classify_error(
        "input length and `max_tokens` exceed context limit: 188240 + 64000 > 200000"
    ).output_alone
    assert classify_error("`inputs` tokens + `max_new_tokens` must be <= 4096").output_alone
    assert not classify_error("max_tokens must be at least 1, got -186.").output_alone
    assert not classify_error("prompt is too long: 210000 tokens > 200000 maximum").output_alone


@pytest.mark.parametrize(
    "error",
    [
        "tool_use ids were found without tool_result blocks: call_413",
        {"status": 400, "body": {"error": {"message": "No tool output found for function call call_413."}}},
        "see call_400 and 413 more",
        "413 files were changed",
        "HTTP 500: Request Entity Too Large",
        {"status": 500, "body": "Request Entity Too Large"},
        {"status": 502, "body": "input is too long"},
        "500 Internal Server Error: too many tokens",
        {"status": 400},
        "400 status code (no body)",
        APIStatusError(400, None, "Error code: 400"),
        {"status": 200, "choices": [{"finish_reason": "stop", "text": "prompt is too long"}]},
        {"type": "content_block_delta", "delta": {"type": "text_delta", "text": "context_length_exceeded"}},
        {"status": 422, "body": {"detail": [{"msg": "Field required", "input": "prompt is too long"}]}},
        {"type": "response.incomplete", "response": {"incomplete_details": {"reason": "max_output_tokens"}}},
        {"usage": {"input_tokens": 5, "output_tokens": 0}, "stop_reason": "end_turn"},
        None, "", b"", {}, [], 413, 400.0, object(), Exception(), KeyError("context"),
    ],
)  # fmt: skip
def test_what_is_no_overflow(error):
    assert classify_error(error).kind == "other"
    assert not classify_error(error).overflow


def test_an_answer_without_a_body_means_something_at_one_provider():
    for error in ({"status": 400}, "400 status code (no body)", {"status": 413, "body": ""}):
        assert classify_error(error, provider="Cerebras").kind == "context"
    error = APIStatusError(400, None, "Error code: 400")
    assert classify_error(error).kind == "other"
    error.request = type("Request", (), {"url": "https://api.cerebras.ai/v1/chat/completions"})()  # type: ignore[attr-defined]
    assert classify_error(error).kind == "context"
    assert classify_error({"status": 413}, provider="anthropic").kind == "bytes"


def test_the_providers_words_decide_over_the_gateways():
    assert (
        classify_error({"status": 400, "body": {"error": {"message": "Provider returned error"}}}).kind
        == "wrapper"
    )
    nested = {"error": {"message": "Provider returned error", "code": 400, "metadata": {
        "raw": '{"error":{"message":"Rate limit reached for m: Limit 30, Used 1, Requested 2","code":"rate_limit_exceeded"}}'
    }}}  # fmt: skip
    assert classify_error(nested).kind == "rate limit"


def test_successes_that_cannot_be_one():
    xiaomi = classify_error(RESPONSES["xiaomi"], window=262_144)
    assert (xiaomi.kind, xiaomi.overflow, xiaomi.requested, xiaomi.limit) == (
        "silent",
        True,
        261_900,
        262_144,
    )
    assert classify_error(RESPONSES["xiaomi"]).kind == "silent"
    assert classify_error(RESPONSES["xiaomi"], window=1_000_000).kind == "other"
    ollama = classify_error(RESPONSES["ollama"], sent=50_000)
    assert (ollama.kind, ollama.requested, ollama.limit) == ("silent", 50_000, 4096)
    assert classify_error(RESPONSES["ollama"], sent=5000).kind == "other"
    taken = {
        "usage": {"prompt_tokens": 210_000, "completion_tokens": 80},
        "choices": [{"finish_reason": "stop"}],
    }
    assert classify_error(taken, window=200_000).kind == "silent"
    cached = {"usage": {"input_tokens": 10, "cache_read_input_tokens": 210_000, "output_tokens": 5}}
    assert classify_error(cached, window=200_000).requested == 210_010
    stopped = {"type": "message_delta", "delta": {"stop_reason": "model_context_window_exceeded"}}
    assert classify_error(stopped).kind == "stop reason"


def test_exceptions_that_bite():
    class BitingError(Exception):
        @property
        def body(self) -> object:
            raise RuntimeError("not read yet")

        def __str__(self) -> str:
            raise ValueError

    assert classify_error(BitingError()).kind == "other"
    loop = ValueError("round")
    loop.__cause__ = RuntimeError("and round")
    loop.__cause__.__cause__ = loop
    assert classify_error(loop).kind == "other"


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary()
    | st.sampled_from([row["text"] for row in ROWS]),
    lambda inner: st.lists(inner) | st.dictionaries(
        st.sampled_from(["status", "code", "error", "message", "body", "raw", "usage", "input_tokens", "n_ctx", "x"]),
        inner,
    ),
)  # fmt: skip


@given(JUNK, st.text(max_size=10))
def test_any_junk_gets_a_verdict(junk, provider):
    for error in (junk, APIStatusError(400, junk), HTTPStatusError(500, junk), ValueError(junk)):
        verdict = classify_error(error, provider=provider)
        assert isinstance(verdict, ErrorClass)
        assert "\n" not in str(verdict)
        assert verdict == classify_error(error, provider=provider)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "piece",
    ["prompt is too long: ", "9", "1,000", "{", '{"error":', "Request too large for ", "[" * 9, "maximum context length is 9 ",
     "input token count (", "Invalid 'input", "data: {\n", "413 ", "Error"],
)  # fmt: skip
def test_time_grows_with_length_at_most(piece):
    """Were the work quadratic, this would not end."""
    small, large = (classify_error((piece * size)[:size]) for size in (1 << 16, 1 << 20))
    assert large.kind == small.kind


class ContextOverflowError(Exception):
    """As frameworks call what they raise where they have judged already."""


class RefusedByUs(ContextOverflowError):
    """One that descends from it."""


@pytest.mark.parametrize("kind", [ContextOverflowError, RefusedByUs])
@pytest.mark.parametrize("text", ["", "boom", "Input tokens exceed the configured limit"])
def test_a_framework_that_has_judged_is_believed(kind, text):
    found = classify_error(kind(text))
    assert (found.overflow, found.kind) == (True, "context")


def test_words_say_more_than_the_name_of_a_class():
    found = classify_error(ContextOverflowError("prompt is too long: 210000 tokens > 200000 maximum"))
    assert (found.requested, found.limit) == (210_000, 200_000)
    assert (
        classify_error(ContextOverflowError("Rate limit reached, please try again in 20s")).overflow is False
    )


def test_the_name_of_a_class_that_caused_it_counts():
    error = RuntimeError("the run failed")
    error.__cause__ = ContextOverflowError("")
    assert classify_error(error).overflow
