"""Errors in words that no rule lists are read by what they speak of, their figures and units; and nothing else is."""

# ruff: noqa: E501 - what providers say stands on one line

from __future__ import annotations

import json
import random
import time
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snapshot.errors import NotOverflow
from snapshot.messages import Image, Message, Text
from snapshot.models.ids import profile_for
from snapshot.recovery import ErrorClass, classify_error, recover
from tests.conftest import HERE, case
from tests.conversations import image_parts, long_conversation, png

PUBLIC: list[dict[str, Any]] = json.loads((HERE / "data" / "public_errors.json").read_text(encoding="utf-8"))
CASE: list[dict[str, Any]] = json.loads((case("039") / "input.json").read_text(encoding="utf-8"))
CONTEXT, BYTES, IMAGES, DOCUMENTS = "context", "bytes", "images", "documents"


def refused(text: str, status: int = 400) -> dict[str, Any]:
    return {"status": status, "error": {"message": text}}


@pytest.mark.parametrize("row", PUBLIC, ids=lambda row: row["source"])
def test_public_errors(row):
    """Texts from public issues, each with its kind and the figures that it names."""
    found = classify_error(row["error"])
    named = {name: getattr(found, name) for name in ("limit", "requested", "prompt") if name in row}
    assert (found.kind, named) == (row["kind"], {name: row[name] for name in named})


@pytest.mark.parametrize("row", CASE, ids=lambda row: row["id"])
def test_case_039(row):
    found = classify_error(
        row["error"], provider=row.get("provider", ""), window=row.get("window"), sent=row.get("sent")
    )
    names = ("overflow", "kind", "limit", "requested", "curable_by_less")
    assert [getattr(found, name) for name in names if name in row] == [
        row[name] for name in names if name in row
    ]
    assert found.kind != row.get("not_kind")


# --- figures and units

# How a size is written, and its bytes.
SIZES = [
    ("20971520 bytes", 20_971_520), ("20,971,520 bytes", 20_971_520), ("20_971_520 bytes", 20_971_520),
    ("20.971.520 bytes", 20_971_520), ("20MB", 20_000_000), ("20 MB", 20_000_000), ("20.0 MB", 20_000_000),
    ("20mb", 20_000_000), ("20 MiB", 20_971_520), ("20MiB", 20_971_520), ("4.5MB", 4_500_000), ("4.5 MiB", 4_718_592),
    ("512KB", 512_000), ("512 kB", 512_000), ("512 KiB", 524_288), ("2 GB", 2_000_000_000), ("1.5 GiB", 1_610_612_736),
    ("20 megabytes", 20_000_000), ("1,024.5 KB", 1_024_500),
]  # fmt: skip
SIZE_SENTENCES = [
    "The request is too large (max {}).", "Request body exceeds the limit of {}", "Payload exceeds {}",
    "Request too large: the maximum is {}.", "Total request size must not exceed {}", "Body exceeded {} limit",
    "Your request is larger than {}", "request entity is bigger than the {} allowed",
]  # fmt: skip


@pytest.mark.parametrize("sentence", SIZE_SENTENCES)
@pytest.mark.parametrize("size", SIZES, ids=lambda size: size[0])
def test_sizes_are_read_in_the_units_they_are_given_in(sentence, size):
    written, count = size
    found = classify_error(refused(sentence.format(written)))
    assert (found.kind, found.limit, found.unit) == (BYTES, count, "bytes")
    assert (found.limit_key, found.overflow) == ("request_bytes", True)


@pytest.mark.parametrize(
    "sentence",
    [
        "Your prompt has {requested} tokens, but the model accepts at most {limit}.",
        "{requested} tokens in the conversation exceed the maximum of {limit} tokens",
        "context window of {limit} tokens exceeded: {requested} tokens given",
        "input tokens ({requested}) > max input tokens ({limit})",
        "The total number of tokens is {requested}, which is over the limit of {limit}.",
        "Model only supports {limit} tokens, {requested} were provided",
        "prompt tokens: {requested}, limit: {limit}",
        "Conversation too long: {requested} tokens (maximum {limit})",
        "sequence of {requested} tokens does not fit: context size is {limit}",
        "Max is {limit} tokens, got {requested}",
    ],
)
@pytest.mark.parametrize("written", ["{:d}", "{:,}"])
def test_figures_are_told_apart_by_the_words_around_them(sentence, written):
    text = sentence.format(requested=written.format(212_345), limit=written.format(131_072))
    found = classify_error(refused(text))
    assert (found.kind, found.requested, found.limit) == (CONTEXT, 212_345, 131_072)
    assert (found.unit, found.excess, found.limit_key) == ("tokens", 81_273, "window")


@given(
    st.integers(2000, 10**7), st.integers(1, 10**6), st.sampled_from(["tokens", "bytes", "images", "pages"])
)
def test_whatever_the_figures(limit, over, unit):
    text = f"The request has {limit + over} {unit}; the maximum is {limit} {unit}, which it exceeds."
    found = classify_error(refused(text))
    if unit in ("tokens", "bytes"):
        assert (found.limit, found.requested, found.unit) == (limit, limit + over, unit)
    assert found.limit is None or found.requested is None or found.excess == found.requested - found.limit


MEDIA = [
    ("Too many images: 25. The maximum is 20 per request.", IMAGES, 20, 25, "images_per_request"),
    ("You may include up to 10 images per message; 12 were found.", IMAGES, 10, 12, "images_per_message"),
    ("image is too large: 12 MB, limit 10 MB", IMAGES, 10_000_000, 12_000_000, "image_bytes"),
    ("image size 6.3MB exceeds 5MB", IMAGES, 5_000_000, 6_300_000, "image_bytes"),
    ("Image width 9000px exceeds the maximum of 8000px", IMAGES, 8000, 9000, "max_side"),
    ("At least one of the image dimensions exceed max allowed size for many-image requests: 2000 pixels", IMAGES, 2000, None, "max_side_many"),
    ("Invalid image: the image exceeds the maximum number of patches (30000) allowed for this model.", IMAGES, 30_000, None, "max_patches"),
    ("The document has 1200 pages, which exceeds the supported page limit of 1000.", DOCUMENTS, 1000, 1200, "pdf_pages"),
    ("PDF too large: at most 600 pages", DOCUMENTS, 600, None, "pdf_pages"),
    ("too many documents: 7 > 5", DOCUMENTS, 5, 7, "documents"),
    ("The PDF file is 40 MB; files may be at most 32 MB", DOCUMENTS, 32_000_000, 40_000_000, "document_bytes"),
]  # fmt: skip


@pytest.mark.parametrize("row", MEDIA, ids=lambda row: row[0][:40])
def test_images_and_documents_name_their_limit(row):
    text, *expected = row
    found = classify_error(refused(text))
    assert [found.kind, found.limit, found.requested, found.limit_key] == expected
    assert (found.overflow, found.curable_by_less) == (False, True)


# Wordings as providers and servers have or may have them: kind, limit, requested.
WORDINGS: list[tuple[str, str, int | None, int | None]] = [
    ('The request exceeds the maximum allowed number of bytes.', 'bytes', None, None),
    ('Total image size is 60 MB which exceeds the allowed limit of 50 MB per request.', 'images', 50000000, 60000000),
    ('Too many images in request. Maximum is 500.', 'images', 500, None),
    ("Invalid 'messages': array too long. Expected an array with maximum length 2048, but got an array with length 3000 instead.", 'message count', 2048, 3000),
    ("Invalid 'input': array too long. Expected an array with maximum length 1000, but got an array with length 1200 instead.", 'message count', 1000, 1200),
    ('Please use fewer than 3600 images in your request to models/gemini-3-pro', 'images', 3600, None),
    ('This model supports up to 5 images', 'images', 5, None),
    ('The number of images exceeds the maximum of 20', 'images', 20, None),
    ("1 validation error detected: Value at 'body' failed to satisfy constraint: Member must have length less than or equal to 25000000", 'bytes', 25000000, None),
    ('too many tokens: size limit exceeded by 1200 tokens. Try using shorter or fewer inputs. The limit for this model is 4096 tokens.', 'context', 4096, None),
    ('invalid request: total number of tokens in the request exceeds 4096', 'context', 4096, None),
    ('Request exceeds the maximum image size of 10 MiB.', 'images', 10485760, None),
    ('Exceeded limit on max bytes per data-uri item : 10485760', 'images', 10485760, None),
    ('The number of images must be less than 250', 'images', 250, None),
    ('invalid params, context window exceeds limit(2013)', 'context', None, None),
    ('输入长度超出限制', 'context', None, None),
    ('Cannot truncate prompt with n_keep (12000) >= n_ctx (4096)', 'context', 4096, 12000),
    ('Max tokens of 32000 exceeded', 'context', 32000, None),
    ('AiError: Ai: The estimated number of input and maximum output tokens (9000) exceeded this model context window limit (8192).', 'output', 8192, 9000),
    ('Payload reached size limit.', 'bytes', None, None),
    ('PayloadTooLargeError: request entity too large', 'bytes', None, None),
    ('received message larger than max (5000000 vs. 4194304)', 'bytes', 4194304, 5000000),
    ('input (1200 tokens) is too large to process. increase the physical batch size (current batch size: 512)', 'context', None, 1200),
    ('The document size exceeds 4.5 MB', 'documents', 4500000, None),
    ('Number of documents in the conversation exceeds 5', 'documents', 5, None),
    ('Messages have 300 images, more than the 100 allowed', 'images', 100, 300),
    ('Your conversation is too long. Please start a new one.', 'context', None, None),
    ('The chat is over the 1M token limit', 'context', 1000000, None),
    ('Request too long', 'bytes', None, None),
    ('The input is too large for this model', 'context', None, None),
    ('content size 3145728 exceeds the maximum 2097152 bytes', 'bytes', 2097152, 3145728),
    ('HTTP content length exceeded 10485760 bytes.', 'bytes', 10485760, None),
    ('The maximum context length is 128,000, but the prompt has 140,000', 'context', 128000, 140000),
    ('prompt_tokens 140000 > max_prompt_tokens 128000', 'context', 128000, 140000),
    ('Context size exceeded', 'context', None, None),
    ("The requested model's limit is 8k tokens but 9k tokens were sent", 'context', 8000, 9000),
    ('入力が長すぎます（最大8192トークン）', 'context', 8192, None),
    ('프롬프트가 너무 깁니다', 'context', None, None),
]  # fmt: skip


@pytest.mark.parametrize("row", WORDINGS, ids=lambda row: row[0][:40])
def test_other_wordings(row):
    text, *expected = row
    found = classify_error(refused(text))
    assert [found.kind, found.limit, found.requested] == expected


def test_the_answer_alone_or_both_together():
    both = classify_error(
        refused("prompt (5000 tokens) plus max_tokens (4000) exceeds the context window (8192)")
    )
    assert (both.kind, both.limit, both.requested, both.prompt, both.output) == (
        "output",
        8192,
        9000,
        5000,
        4000,
    )
    assert both.overflow
    assert both.output_alone
    assert both.curable_by_smaller_output
    alone = classify_error(refused("max_output_tokens: 70000 exceeds the maximum of 65536"))
    assert (alone.kind, alone.limit, alone.requested) == ("max_tokens", 65_536, 70_000)
    assert (alone.limit_key, alone.overflow, alone.curable_by_less) == ("max_output", False, False)
    assert alone.curable_by_smaller_output
    prompt = classify_error(refused("prompt is too long: 210000 tokens > 200000 maximum"))
    assert not prompt.curable_by_smaller_output


# --- what only sounds so

OTHER = [
    "messages: text content blocks must be non-empty",
    'messages: roles must alternate between "user" and "assistant", but found multiple "user" roles in a row',
    "`temperature` may only be set to 1 when thinking is enabled.",
    "`max_tokens` must be greater than `thinking.budget_tokens`.",
    "thinking.budget_tokens: Input should be greater than or equal to 1024",
    "tools.0.custom.name: String should have at most 64 characters",
    "metadata.user_id: String should have at most 256 characters",
    "Invalid 'tools': array too long. Expected an array with maximum length 128, but got an array with length 130 instead.",
    "Invalid 'messages[2].tool_calls[0].id': string too long. Expected a string with maximum length 40, but got a string with length 56 instead.",
    "Invalid 'input[3].call_id': string too long. Expected a string with maximum length 64, but got a string with length 80 instead.",
    "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
    "Could not finish the message because max_tokens or model output limit was reached. Please try again with higher max_tokens.",
    "The model `gpt-9` does not exist or you do not have access to it.",
    "Image URLs are only allowed for messages with role 'user', but this message with role 'tool' contains an image URL.",
    "The PDF specified is password protected.", "Could not process image", "image cannot be empty",
    "Invalid JSON payload received. Unknown name \"foo\" at 'generation_config': Cannot find field.",
    "Request contains an invalid argument.", "User location is not supported for the API use.",
    "Request timed out after 600 seconds", "context deadline exceeded (Client.Timeout exceeded while awaiting headers)",
    "maximum recursion depth exceeded", "Maximum call stack size exceeded", "[Errno 24] Too many open files",
    "too many connections", "Missing required parameter: 'messages[0].content'.",
    "top_p must be less than or equal to 1", "stop: a maximum of 4 sequences is allowed", "n must be at most 8",
    "Failed to deserialize the JSON body into the target type: messages[0]: missing field `role` at line 1 column 40",
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'.",
    "max_tokens must be at least 1, got 0.", "schema exceeds the maximum depth of 10 levels", "The prompt is required",
    "Invalid prompt: your prompt was flagged as potentially violating our usage policy.",
    "the JSON object must be str, bytes or bytearray, not 9", "Master key must be 32 bytes for AES-256-GCM",
    "Message 9 must have a 'role' field", "Input must be 1- or 2-d.", "Azure AD token must be a string, got 9",
    "Control frame payload cannot be larger than 125 bytes", "window shape cannot be larger than input array shape",
    "This model takes at most 4 cache breakpoints per request, and this request has 5", "Input must be a dictionary, got 9",
    "Request body must be valid JSON: line 9", "system message content must be a string or a list of content parts, got 9",
    "fallback lists in the request body cannot exceed 9 entries", "max_tokens is required for the /v1/messages API",
    "Filename '9' is not allowed: not permitted in uploaded file names", "audio duration exceeds 60 seconds", "Expecting value: line 1 column 1 (char 0)",
    "peer closed connection without sending complete message body (incomplete chunked read)",
    "Budget has been exceeded! Current cost: 12.1, Max budget: 10.0",
    "You've hit your usage limit. Upgrade your plan to continue.",
]  # fmt: skip


@pytest.mark.parametrize("status", [0, 400, 422, 500])
@pytest.mark.parametrize("text", OTHER, ids=lambda text: text[:40])
def test_what_only_sounds_so(text, status):
    found = classify_error(refused(text, status) if status else text)
    assert (found.kind, found.overflow, found.curable_by_less) == ("other", False, False)
    assert found.cause_unknown


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Too many tokens per minute", "rate limit"), ("This request exceeds the limit of 30000 tokens per minute", "rate limit"),
        ("Concurrency limit exceeded for account", "rate limit"), ("maximum of 5 concurrent requests exceeded", "rate limit"),
        ("Daily quota exceeded: 100000 tokens per day", "quota"), ("Number of request tokens exceeds the per-minute limit of 4000", "rate limit"),
        ("API key not valid. Please pass a valid API key.", "auth"), ("Incorrect API key provided: sk-x", "auth"),
        ("The response was filtered due to the prompt triggering Azure OpenAI's content management policy.", "content filter"),
        ("This request requires more credits, or fewer max_tokens. You requested up to 64000 tokens, but can only afford 12000.", "billing"),
        ("The model is overloaded. Please try again later.", "capacity"), ("This model does not support image input", "no vision"),
    ],
    ids=lambda value: value[:30],
)  # fmt: skip
@pytest.mark.parametrize("status", [0, 400])
def test_limits_over_time_and_refusals_stay_what_they_are(text, kind, status):
    found = classify_error(refused(text, status) if status else text)
    assert (found.kind, found.overflow) == (kind, False)


@pytest.mark.parametrize("status", [401, 402, 403, 404, 409, 429, 529])
def test_a_status_of_something_else_is_believed(status):
    assert not classify_error(refused("the thing exceeds its maximum size of 5 MB", status)).overflow


def test_a_servers_own_fault_counts_only_with_figures():
    assert classify_error(refused("prompt does not fit", 500)).kind == "other"
    assert classify_error(refused("prompt of 9000 tokens does not fit, at most 8192", 500)).kind == CONTEXT


# --- in any form

PAGES = {
    "nginx": "<html>\r\n<head><title>413 Request Entity Too Large</title></head>\r\n<body>\r\n<center><h1>413 Request Entity Too Large</h1></center>\r\n<hr><center>nginx</center>\r\n</body>\r\n</html>\r\n",
    "cloudflare": "<html>\n<head><title>413 Payload Too Large</title></head>\n<body>\n<center><h1>413 Payload Too Large</h1></center>\n<hr><center>cloudflare</center>\n</body>\n</html>",
    "plain": "<!DOCTYPE html><html><head><style>h1{width:400px}</style><script>var max = 5;</script></head><body><h1>413 Content Too Large</h1><p>The request body is larger than 1 MB.</p></body></html>",
}  # fmt: skip


@pytest.mark.parametrize("page", PAGES.values(), ids=PAGES.keys())
def test_pages_of_proxies(page):
    for error in (
        page,
        page.encode(),
        {"status": 413, "body": page},
        {"body": page},
        RuntimeError(page),
        "\n" + page,
    ):
        found = classify_error(error)
        assert (found.kind, found.overflow, found.status) == (BYTES, True, 413)
        assert "<" not in found.text
        assert found.requested is None
    assert classify_error("<html><head><title>502 Bad Gateway</title></head></html>").status == 502
    assert not classify_error("<html><head><title>502 Bad Gateway</title></head></html>").overflow


TEXT = "The conversation is too long: 300000 tokens, the model accepts at most 262144."
BODY = {"error": {"message": TEXT, "type": "invalid_request_error", "code": None}}


class Plain:
    """An object with attributes, as HTTP libraries have them."""

    def __init__(self, **values: object) -> None:
        self.__dict__.update(values)


@pytest.mark.parametrize(
    "error",
    [
        TEXT, TEXT.encode(), bytearray(TEXT.encode()), [BODY], {"body": json.dumps(BODY)}, json.dumps([BODY]),
        str(BODY), f"Error code: 400 - {BODY}", f"ClientError: 400 INVALID_ARGUMENT. {BODY}", f"{BODY} (request_id=req_1)",
        "\ufeff" + json.dumps(BODY), json.dumps(json.dumps(json.dumps(BODY))),
        {"error": {"message": "Provider returned error", "code": 400, "metadata": {"raw": json.dumps(BODY), "provider_name": "X"}}},
        {"error": {"message": "Provider returned error", "code": 400, "metadata": {"raw": str(BODY)}}},
        {"detail": [{"msg": TEXT, "type": "value_error"}]}, {"Message": TEXT, "__type": "ValidationException"},
        {"base_resp": {"status_code": 2013, "status_msg": TEXT}}, {"details": TEXT}, {"innererror": {"message": TEXT}},
        {"error": {"message": "Param Incorrect", "param": TEXT}},
        ValueError(BODY), RuntimeError(TEXT), RuntimeError("step 3", BODY), KeyError(json.dumps(BODY)),
        Plain(status_code=400, text=json.dumps(BODY)), Plain(status=400, body=BODY), Plain(status=400, content=json.dumps(BODY).encode()),
        Plain(status_code=400, error={"message": TEXT}), Plain(model_dump=lambda: BODY), Plain(message=TEXT),
        f"event: error\ndata: {json.dumps(BODY)}\n\n", "upstream said:\n  The conversation is too long: 300000\n    tokens, the model accepts at most 262144.",
    ],
    ids=lambda error: repr(error)[:40],
)  # fmt: skip
def test_one_error_in_every_form(error):
    found = classify_error(error)
    assert (found.kind, found.limit, found.requested) == (CONTEXT, 262_144, 300_000)


@pytest.mark.parametrize("library", ["anthropic", "openai"])
def test_exceptions_of_the_official_libraries(library):
    sdk, httpx = pytest.importorskip(library), pytest.importorskip("httpx")
    client = {"anthropic": "Anthropic", "openai": "OpenAI"}[library]
    client = getattr(sdk, client)(api_key="none")
    for status, body, kind in (
        (400, json.dumps(BODY), CONTEXT), (413, PAGES["nginx"], BYTES), (413, "", BYTES), (429, "{}", "rate limit"),
        (400, json.dumps(refused("image is too large: 12 MB, limit 10 MB")), IMAGES),
    ):  # fmt: skip
        response = httpx.Response(
            status, text=body, request=httpx.Request("POST", "https://api.example/v1/x")
        )
        assert classify_error(response).kind == kind
        try:
            error = client._make_status_error_from_response(response)
        except TypeError:  # a library that has moved to another HTTP library
            pytest.skip("the client takes no such response")
        found = classify_error(error)
        assert (found.kind, found.status) == (kind, status)


def test_exceptions_shaped_like_googles():
    """`google.genai.errors.APIError`: the body under `details`, a name as `status`."""

    class APIError(Exception):
        def __init__(self, code: int, body: dict[str, Any]) -> None:
            self.code, self.details = code, body
            self.status, self.message = body["error"]["status"], body["error"]["message"]
            super().__init__(f"{code} {self.status}. {body}")

    def error(code: int, message: str, status: str) -> ErrorClass:
        return classify_error(APIError(code, {"error": {"code": code, "message": message, "status": status}}))

    assert error(400, TEXT, "INVALID_ARGUMENT").limit == 262_144
    assert error(429, "Resource has been exhausted (e.g. check quota).", "RESOURCE_EXHAUSTED").kind == "quota"
    assert (
        error(413, "Request payload size exceeds the limit: 20971520 bytes.", "INVALID_ARGUMENT").limit
        == 20_971_520
    )


PIECES = [
    "{", "[", "[{", '{"error":', "9", "9,", "1,000,", "9 tokens ", "max ", "exceeds ", "(", "<", "<a ", "<script>",
    "<html><script>", "<html><!--", "<html><", "{'a':", "too many ", "at most 9 ", "prompt prompt ", ". ", "; ", "\n ", "超",
    "max_tokens ", "error status ", "context window ", "limit by ", "1.", "9MB ", "word ", " ", "\u00a0",
]  # fmt: skip


@pytest.mark.sampled(4)
@pytest.mark.parametrize("piece", PIECES, ids=repr)
def test_a_megabyte_of_anything_is_quick(piece):
    for text in ((piece * (1 << 20))[: 1 << 20], "{'message': '" + (piece * (1 << 18))[: 1 << 18]):
        begin = time.process_time()
        for error in (text, {"status": 400, "error": {"message": text, "code": text, "n_ctx": 5}}):
            classify_error(error)
        assert (
            time.process_time() - begin < 2.0
        )  # a tenth of it on an idle machine; quadratic work takes minutes


# --- what `recover` makes of it


def shots(count: int, size: int) -> list[Message]:
    noise = random.Random(1).randbytes
    turns = [
        (
            Message("user", (Text(f"Shot {i}"), Image("image/png", png(64, 64) + noise(size)))),
            Message("assistant", (Text("Seen."),)),
        )
        for i in range(count)
    ]
    return [message for turn in turns for message in turn]


@pytest.mark.parametrize("model", ["claude-opus-4-8", "github-copilot/claude-opus-4-8"])
def test_as_many_images_stay_as_fit(model):
    """Seven images of 0.88 MB in base64, refused with 6.2 MB against 5: five stay."""
    row = next(row for row in CASE if row["id"] == "gateway-megabytes-413")
    transcript = long_conversation(4)
    transcript = replace(transcript, messages=(*transcript.messages, *shots(7, 660_000)))
    done = recover(transcript, row["error"], model=model, provider=row["provider"])
    assert len(json.dumps(done.request("anthropic"))) < 5_000_000
    assert len(image_parts(done.transcript.messages)) == 5


def test_the_gateways_limit_is_known_before_anything_is_refused():
    assert profile_for("github-copilot/claude-opus-4-8").limits["request_bytes"] == 5_000_000


def test_an_error_without_a_cause_is_said_to_have_none():
    for error in ({"status": 400, "body": {"model": "demo-flash"}}, "Provider returned error", ""):
        with pytest.raises(NotOverflow, match=r"names no cause.*compact makes the request smaller"):
            recover(long_conversation(4), error, model="claude-opus-4-8")


def test_an_error_without_a_cause_is_a_guess_where_the_window_is_full():
    error = {"status": 400, "body": {"model": "demo-flash"}}
    assert classify_error(error, window=1_000_000, sent=940_000).curable_by_less
    assert not classify_error(error, window=1_000_000, sent=400_000).curable_by_less
    assert not classify_error(error).curable_by_less
    told = refused("Missing required parameter: 'model'.")
    assert not classify_error(told, window=1_000_000, sent=940_000).curable_by_less
