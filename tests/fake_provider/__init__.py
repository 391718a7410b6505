"""A local fake of Anthropic, OpenAI and Gemini, for tests of clients: scripts, errors, broken streams.

On the standard library alone, no network but 127.0.0.1. It answers Anthropic Messages and
count_tokens, OpenAI Chat Completions and Responses (Azure's paths too), Gemini's generateContent,
streamGenerateContent and countTokens, streaming or not, and keeps what arrived:

    with FakeProvider(window=200_000) as fake:
        fake.script(say("Hello"), think("Hm.", call("read", path="a.py")), overflow(), rate_limit())
        client = anthropic.Anthropic(base_url=fake.url, api_key="sk-test")      # OpenAI: fake.url + "/v1"
        ...
        fake.requests[-1].json, .body, .headers, .path, .api, .model, .stream, .tokens

Each request takes the next reply of the script; only one of which `scripted(request)` is true, where a client
asks for titles and the like on the side. When the script is used up, `otherwise(request)` is asked, which by
default says "ok". `FakeProvider(reply=function)` decides by the request itself, a `Seen`, in place of a
script. Whatever the script says, a request of more than `window` tokens is refused in the provider's own
words, and one of more than `max_bytes` with 413. Tokens are counted roughly: four characters each, and
`image_tokens` an image.

Replies: `say`, `think`, `call` (which nest, so one reply may hold several parts), `overflow`, `rate_limit`,
`overloaded`, `refuse`; each takes `broken=N` (the connection is cut after N events), `delay=` and `pace=`
(seconds before the first byte and between events), `gzip=True`, `headers=`.
As a program (`python -m tests.fake_provider --port 0 --window 50000`) it prints its address and serves until
killed.
"""

from __future__ import annotations

from tests.fake_provider.answers import SIGNATURE
from tests.fake_provider.replies import (
    Reply,
    Seen,
    call,
    overflow,
    overloaded,
    rate_limit,
    refuse,
    say,
    think,
)
from tests.fake_provider.server import FakeProvider, count_tokens

__all__ = [
    "SIGNATURE",
    "FakeProvider",
    "Reply",
    "Seen",
    "call",
    "count_tokens",
    "overflow",
    "overloaded",
    "rate_limit",
    "refuse",
    "say",
    "think",
]
