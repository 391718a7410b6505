"""What the proxy compacts, which pages stay, and how it answers a provider's refusal."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from tests.fake_provider import FakeProvider, Reply, overflow, overloaded, rate_limit, refuse, say
from tests.proxied import APIS, MODELS, body_of, pages_in, path_of, steps_of, texts_in
from tests.proxy_requests import FITS, TOO_MUCH, WINDOW, checked, fake, post, raw, settings, url
from tests.proxy_server import in_thread

__all__ = ["fake", "settings", "url"]  # fixtures: pytest finds them here

pytestmark = pytest.mark.clients


# --- what is compacted


@pytest.mark.parametrize("api", APIS)
def test_what_would_not_fit_is_compacted(api: str, fake: FakeProvider, url: str) -> None:
    said = steps_of(api, TOO_MUCH)
    body = body_of(api, said, tool_choice={"kept": True})
    answer = post(url, path_of(api), body)
    assert answer.status_code == 200
    assert answer.headers["x-snapshot"].startswith("compacted; tokens=")
    sent = fake.requests[0].json
    assert fake.requests[0].tokens < WINDOW
    assert pages_in(sent)
    checked(api, sent)
    name = {"gemini": "contents", "openai-responses": "input"}.get(api, "messages")
    assert {key: value for key, value in sent.items() if key != name} == {
        key: value for key, value in body.items() if key != name
    }
    assert sent[name][-1] == said[-1]
    assert list(sent) == list(body)


@pytest.mark.parametrize("api", APIS)
def test_pages_stay_until_much_is_new_and_across_restarts(
    api: str, fake: FakeProvider, settings: dict[str, Any]
) -> None:
    """Where there is no more room for all, chapters of the oldest leave; the others stay as they are."""
    compactions, pages = 0, list[str]()
    lengths = iter(range(60, 340, 8))
    while compactions < 2:
        with in_thread(**settings | {"window": 140_000}) as url:  # a proxy of its own for every few calls
            for _ in range(4):
                said = steps_of(api, next(lengths))
                assert post(url, path_of(api), body_of(api, said)).status_code == 200
                new = [sha256(page).hexdigest() for page in pages_in(fake.requests[-1].json)]
                if new != pages:
                    compactions += 1
                    full = pages[:-1]  # the newest may have had room
                    kept = [page for page in new if page in full]
                    assert new[: len(kept)] == kept == full[len(full) - len(kept) :]
                    assert bool(kept) == bool(full)
                    checked(api, fake.requests[-1].json)
                pages = new


@pytest.mark.parametrize("api", APIS)
def test_a_lost_archive_gives_the_same_pages(api: str, fake: FakeProvider, settings: dict[str, Any]) -> None:
    body = body_of(api, steps_of(api, TOO_MUCH))
    with in_thread(**settings) as url:
        post(url, path_of(api), body)
    for file in Path(settings["store"]).parent.iterdir():
        file.unlink()
    with in_thread(**settings) as url:
        post(url, path_of(api), body)
    one, other = fake.requests
    assert one.body == other.body
    assert pages_in(one.json)


def test_moving_cache_marks_and_dropped_thoughts_are_the_same_conversation(
    fake: FakeProvider, url: str
) -> None:
    said = steps_of("anthropic", TOO_MUCH)
    post(url, "/v1/messages", body_of("anthropic", said))
    later = json.loads(json.dumps([*said, *steps_of("anthropic", 1, task="", first=TOO_MUCH)]))
    later[0]["content"] = [{"type": "text", "text": later[0]["content"]}]
    later[-1]["content"][0]["cache_control"] = {"type": "ephemeral"}
    later[1]["content"] = later[1]["content"][1:]
    body = body_of("anthropic", later) | {"system": [{"type": "text", "text": "Another day."}]}
    post(url, "/v1/messages", body)
    first, second = fake.requests
    assert pages_in(first.json) == pages_in(second.json)
    assert second.json["system"] == body["system"]
    assert second.json["messages"][-1]["content"][-1] == later[-1]["content"][-1]


def test_conversations_that_begin_alike_do_not_mix(fake: FakeProvider, url: str) -> None:
    common = steps_of("anthropic", TOO_MUCH - 6)

    def branch(name: str) -> list[Any]:
        said = json.loads(json.dumps(common))
        for number in range(6):
            step = steps_of("anthropic", 1, task="", first=1000 + number)
            text = "\n".join(f"{name}_{number}_{at} = '{name}/{number}/{at}.txt'" for at in range(100))
            step[1]["content"][0]["content"] = text
            said += step
        return said

    # Each is compacted at a length at which the other is another conversation.
    for name in ("alpha", "beta", "alpha", "beta"):
        post(url, "/v1/messages", body_of("anthropic", branch(name)))
    sent = [seen.json for seen in fake.requests]
    assert sent[0] == sent[2]
    assert sent[1] == sent[3]
    assert all(map(pages_in, sent))
    assert "beta" not in json.dumps(sent[0])
    assert "alpha" not in json.dumps(sent[1])
    # One that goes back to before the compaction and on in another way has nothing of what it left.
    post(
        url,
        "/v1/messages",
        body_of("anthropic", [*branch("alpha")[:-8], {"role": "user", "content": "Stop."}]),
    )
    assert "alpha_5" not in texts_in(fake.requests[-1].json)


def test_tokens_are_counted_of_what_would_be_sent(fake: FakeProvider, url: str) -> None:
    body = body_of("anthropic", steps_of("anthropic", TOO_MUCH))
    del body["max_tokens"]
    counted = post(url, "/v1/messages/count_tokens?beta=true", body)
    assert counted.json()["input_tokens"] == fake.requests[0].tokens < WINDOW
    post(url, "/v1/messages", body | {"max_tokens": 1000})
    assert fake.requests[1].json["messages"] == fake.requests[0].json["messages"]
    contents = body_of("gemini", steps_of("gemini", TOO_MUCH))
    path = path_of("gemini").replace("generateContent", "countTokens")
    whole = {"generateContentRequest": {"model": "models/m", **contents}}
    assert post(url, path, whole).json()["totalTokens"] < WINDOW
    assert pages_in(fake.requests[2].json["generateContentRequest"])
    small = body_of("anthropic", steps_of("anthropic", 1))
    post(url, "/v1/messages/count_tokens", small)
    assert fake.requests[-1].json == small


# --- refusals


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("kind", ["overflow", "output", "bytes", "stream"])
@pytest.mark.parametrize("api", APIS)
def test_a_refusal_for_size_is_answered_once(
    api: str, kind: str, stream: bool, fake: FakeProvider, settings: dict[str, Any]
) -> None:
    steps = 24
    body, path = body_of(api, steps_of(api, steps), stream=stream), path_of(api, stream=stream)
    with in_thread(**settings | {"window": 60_000}) as url:
        fake.script(overflow(kind), say("Well."))
        answer = post(url, path, body)
        assert answer.status_code == 200, answer.text
        assert "Well" in answer.text.replace('"We"', '"Well"') or "We" in answer.text
        first, second = fake.requests
        assert first.json == body
        assert len(second.body) < len(first.body) or second.tokens < first.tokens
        assert second.tokens < first.tokens
        checked(api, second.json)


@pytest.mark.parametrize("api", APIS)
def test_refused_twice_the_error_goes_to_the_client(api: str, fake: FakeProvider, url: str) -> None:
    fake.script(overflow(), overflow("bytes"))
    status, headers, data = raw(url, path_of(api), body_of(api, steps_of(api, 20)))
    assert status == 413
    assert len(fake.requests) == 2
    assert "size" in data.decode() or "Large" in data.decode()
    assert headers["content-length"] == str(len(data))


@pytest.mark.parametrize("reply", [rate_limit(), overloaded(), refuse(401, {"error": 1}), refuse(400, "x")])
def test_other_errors_pass(reply: Reply, fake: FakeProvider, url: str) -> None:
    with FakeProvider() as other:
        body = body_of("anthropic", steps_of("anthropic", FITS))
        for one in (fake, other):
            one.script(reply)
        assert raw(url, "/v1/messages", body)[::2] == raw(other.url, "/v1/messages", body)[::2]
        assert len(fake.requests) == 1


def test_what_cannot_be_smaller_is_refused_in_the_providers_words(fake: FakeProvider, url: str) -> None:
    fake.script(overflow(), overflow())
    body = body_of("anthropic", [{"role": "user", "content": "Hello."}])
    answer = post(url, "/v1/messages", body)
    assert answer.status_code == 400
    assert "prompt is too long" in answer.text
    assert len(fake.requests) <= 2


def test_a_refusal_with_figures_of_something_else(fake: FakeProvider, url: str) -> None:
    said = steps_of("anthropic", TOO_MUCH)
    post(url, "/v1/messages", body_of("anthropic", said))
    fake.script(overflow(), say("ok"))  # 200,001 tokens, it says, where a tenth of that was sent
    said += steps_of("anthropic", 1, task="", first=TOO_MUCH)
    assert post(url, "/v1/messages", body_of("anthropic", said)).status_code == 200
    first, again = fake.requests[-2:]
    assert again.tokens < first.tokens


def test_a_model_that_is_not_known(fake: FakeProvider, settings: dict[str, Any]) -> None:
    body = body_of("openai", steps_of("openai", TOO_MUCH)) | {"model": "own-deployment"}
    with in_thread(**settings | {"window": 0}) as url:
        assert post(url, path_of("openai"), body).status_code == 200
        assert fake.requests[0].json == body
        fake.window = 30_000  # the provider names it in its refusal
        answer = post(url, path_of("openai"), body)
        assert answer.status_code == 200
        assert not pages_in(fake.requests[-1].json)
        assert fake.requests[-1].tokens < 30_000
        checked("openai", fake.requests[-1].json)
        refused = len(fake.requests)
        assert post(url, path_of("openai"), body).status_code == 200
        assert len(fake.requests) == refused + 1  # known from then on
    fake.clear()
    fake.window = 0
    settings["store"] += "2"  # what stands for the conversation already would be continued
    path = "/openai/deployments/mine/chat/completions?api-version=2026-01-01"
    with in_thread(**settings | {"like": {"mine": MODELS["openai"]}, "window": 30_000}) as url:
        del body["model"]
        assert post(url, path, body).status_code == 200
        assert pages_in(fake.requests[0].json)
        assert fake.requests[0].query == {"api-version": ["2026-01-01"]}
