"""The proxy: what passes as it came, what is compacted, what is kept, what never is."""

from __future__ import annotations

import gzip
import json
import socket
import sys
import time
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from tests.fake_provider import (
    FakeProvider,
    Reply,
    call,
    overflow,
    overloaded,
    rate_limit,
    refuse,
    say,
    think,
)
from tests.proxied import APIS, MODELS, body_of, pages_in, path_of, steps_of, texts_in
from tests.proxy_server import free_port, in_process, in_thread

pytestmark = pytest.mark.clients
httpx = pytest.importorskip("httpx")
pytest.importorskip("uvicorn")
pytest.importorskip("starlette")

WINDOW = 40_000
FITS, TOO_MUCH = 8, 50  # steps of a conversation
REPLY = think("Let me see.", "I look.", call("read", path="a.py"))


@pytest.fixture
def fake() -> Iterator[FakeProvider]:
    with FakeProvider() as made:
        yield made


@pytest.fixture
def settings(fake: FakeProvider, tmp_path: Path) -> dict[str, Any]:
    return {"store": str(tmp_path / "proxy.sqlite"), "upstream": fake.url, "window": WINDOW}


@pytest.fixture
def url(settings: dict[str, Any]) -> Iterator[str]:
    with in_thread(**settings) as made:
        yield made


def post(url: str, path: str, body: Any, **headers: str) -> Any:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    given = {"content-type": "application/json", "x-api-key": "sk-test"} | headers
    return httpx.post(url + path, content=data, headers=given, timeout=60, trust_env=False)


def raw(url: str, path: str, body: Any, **headers: str) -> tuple[int, dict[str, str], bytes]:
    """Status, headers and the very bytes of an answer."""
    with (
        httpx.Client(trust_env=False, timeout=60) as client,
        client.stream("POST", url + path, json=body, headers=headers) as answer,
    ):
        return answer.status_code, dict(answer.headers), b"".join(answer.iter_raw())


def checked(api: str, body: Any) -> None:
    """The request is one that the provider's public rules allow."""
    from snapshot.requests.check import check

    problems = check(body, api)
    assert not problems, problems


# --- what passes as it came


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("api", APIS)
def test_what_fits_passes_byte_for_byte(api: str, stream: bool, fake: FakeProvider, url: str) -> None:
    with FakeProvider() as other:
        fake.script(REPLY)
        other.script(REPLY)
        body = body_of(api, steps_of(api, FITS), stream=stream, unknown={"kept": [1.50, None]})
        path = path_of(api, stream=stream)
        through, direct = raw(url, path, body), raw(other.url, path, body)
        assert through[0] == direct[0] == 200
        assert through[2] == direct[2]
        assert {**through[1], "date": ""} == {**direct[1], "date": ""}
        assert fake.requests[0].body == other.requests[0].body
        for seen in (fake.requests[0], other.requests[0]):
            seen.headers.pop("host")
            seen.headers.pop("connection", None)
        assert fake.requests[0].headers == other.requests[0].headers


def test_odd_spellings_of_a_body_stay(fake: FakeProvider, url: str) -> None:
    body = b'{ "messages":[{"content":"\\u0068i","role":"user"}],"model" :"claude-opus-4-8", "x":1.00e5}\n'
    assert post(url, "/v1/messages", body).status_code == 200
    assert fake.requests[0].body == body
    for odd in (b"no json", b"[1]", b'{"messages": 3}', b'{"messages": []}', b"\xff", b""):
        assert post(url, "/v1/messages", odd).status_code == 200
        assert fake.requests[-1].body == odd


def test_compressed_answers_and_requests_pass(fake: FakeProvider, url: str) -> None:
    fake.script(say("Hello", gzip=True), say("Hello", gzip=True))
    body = body_of("anthropic", steps_of("anthropic", 1))
    for stream in (False, True):
        headers = {"accept-encoding": "gzip"}
        status, said, data = raw(url, "/v1/messages", body | {"stream": stream}, **headers)
        assert (status, said["content-encoding"]) == (200, "gzip")
        assert b"He" in gzip.decompress(data)
    packed = gzip.compress(json.dumps(body).encode())
    assert post(url, "/v1/messages", packed, **{"content-encoding": "gzip"}).status_code == 200
    assert fake.requests[-1].body == packed
    zstd = pytest.importorskip("backports.zstd") if sys.version_info < (3, 14) else None
    if zstd is not None:  # Codex sends this
        said = steps_of("openai-responses", TOO_MUCH)
        frozen = zstd.compress(json.dumps(body_of("openai-responses", said)).encode())
        assert post(url, "/v1/responses", frozen, **{"content-encoding": "zstd"}).status_code == 200
        assert pages_in(fake.requests[-1].json)
    large = gzip.compress(json.dumps(body_of("anthropic", steps_of("anthropic", TOO_MUCH))).encode())
    assert post(url, "/v1/messages", large, **{"content-encoding": "gzip"}).status_code == 200
    assert "content-encoding" not in fake.requests[-1].headers
    assert pages_in(fake.requests[-1].json)


def test_unknown_paths_pass(fake: FakeProvider, url: str) -> None:
    with httpx.Client(base_url=url, trust_env=False) as client:
        answer = client.get("/v1/models?limit=5&after=a%2Fb", headers={"te": "trailers", "x-own": "1"})
        assert answer.status_code == 200
        seen = fake.requests[-1]
        assert (seen.method, seen.path) == ("GET", "/v1/models")
        assert seen.query == {"limit": ["5"], "after": ["a/b"]}
        assert "te" not in seen.headers
        assert seen.headers["x-own"] == "1"
        upload = client.post("/v1/files%2Fodd", content=iter([b"a" * 70_000, b"b"]))
        assert upload.status_code == 404
        assert fake.requests[-1].body == b"a" * 70_000 + b"b"
        assert fake.requests[-1].path == "/v1/files%2Fodd"
        assert client.delete("/v1/files/1").status_code == 404
        assert fake.requests[-1].method == "DELETE"


def test_headers_of_one_connection_stay_there(fake: FakeProvider, url: str) -> None:
    own = {"connection": "close, x-mine", "x-mine": "1", "proxy-authorization": "Basic eA==", "x-other": "2"}
    assert post(url, "/v1/messages", body_of("anthropic", steps_of("anthropic", 1)), **own).status_code == 200
    headers = fake.requests[0].headers
    assert headers.keys().isdisjoint({"x-mine", "proxy-authorization", "te", "transfer-encoding"})
    assert headers["x-other"] == "2"


def test_a_response_that_goes_on_at_the_provider_passes(fake: FakeProvider, url: str) -> None:
    said = steps_of("openai-responses", TOO_MUCH)
    body = body_of("openai-responses", said, previous_response_id="resp_1")
    assert post(url, "/v1/responses", body).status_code == 200
    assert fake.requests[0].json == body


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


# --- broken connections


def test_a_broken_stream_is_broken_for_the_client(fake: FakeProvider, url: str) -> None:
    fake.script(say("Hello there", broken=3))
    body = body_of("anthropic", steps_of("anthropic", 1), stream=True)
    with pytest.raises(httpx.HTTPError):
        raw(url, "/v1/messages", body)


def test_a_client_that_leaves_ends_the_providers_stream(fake: FakeProvider, url: str) -> None:
    fake.script(say(*["word "] * 100, pace=0.05))
    body = body_of("anthropic", steps_of("anthropic", 1), stream=True)
    with (
        httpx.Client(trust_env=False) as client,
        client.stream("POST", url + "/v1/messages", json=body) as answer,
    ):
        next(answer.iter_raw())
    deadline = time.monotonic() + 5
    while not fake.left and time.monotonic() < deadline:
        time.sleep(0.05)
    assert fake.left == 1


def test_bytes_of_a_stream_come_as_they_are_sent(fake: FakeProvider, url: str) -> None:
    fake.script(say("Hello there", pace=0.1))
    body = body_of("anthropic", steps_of("anthropic", 1), stream=True)
    with (
        httpx.Client(trust_env=False) as client,
        client.stream("POST", url + "/v1/messages", json=body) as answer,
    ):
        times = [time.monotonic() for _ in answer.iter_raw()]
    assert times[-1] - times[0] > 0.4


@pytest.mark.parametrize("api", APIS)
def test_a_provider_that_is_not_there(api: str, settings: dict[str, Any]) -> None:
    nowhere: dict[str, Any] = {**settings, "upstream": f"http://127.0.0.1:{free_port()}"}
    with in_thread(**nowhere) as url:
        answer = post(url, path_of(api), body_of(api, steps_of(api, 1)))
        assert answer.status_code == 502
        assert "cannot reach 127.0.0.1" in answer.json()["error"]["message"]


# --- limits, secrets, pages for people


@pytest.mark.parametrize("api", APIS)
def test_bodies_are_limited(api: str, fake: FakeProvider, settings: dict[str, Any]) -> None:
    with in_thread(**settings | {"max_body": 10_000}) as url:
        for data in (b"x" * 10_001, iter([b"x" * 6000] * 2)):
            answer = httpx.post(url + path_of(api), content=data, trust_env=False)
            assert answer.status_code == 413
            assert "10000 bytes" in answer.json()["error"]["message"]
        bomb = gzip.compress(b'{"messages": "' + b"x" * 50_000_000)
        assert len(bomb) > 10_000 or post(url, path_of(api), bomb, **{"content-encoding": "gzip"})
        assert httpx.post(url + "/other", content=b"x" * 20_000, trust_env=False).status_code == 413
        assert not [seen for seen in fake.requests if seen.api]


def test_keys_are_never_kept(fake: FakeProvider, tmp_path: Path) -> None:
    key = "sk-ant-api03-" + "Qx7vT2mZ9pLw4RkE8sYd" * 4
    store, log = tmp_path / "proxy.sqlite", tmp_path / "log"
    fake.script(overflow(), say("ok"), refuse(500, key), overflow(), overflow())
    arguments = ("--upstream", fake.url, "--window", str(WINDOW), "--store", str(store))
    said = steps_of("anthropic", TOO_MUCH)
    said[4]["content"][0]["content"] += f"\nANTHROPIC_API_KEY={key}\n"
    headers = {"x-api-key": key, "authorization": f"Bearer {key}", "cookie": f"session={key}"}
    with in_process(*arguments, log=log) as (url, _):
        for api in ("anthropic", "gemini"):
            body = body_of(api, said if api == "anthropic" else steps_of(api, TOO_MUCH))
            for _ in range(3):
                post(url, path_of(api) + f"?key={key}", body, **headers)
        post(url, f"/other/{key}?key={key}", {}, **headers)
        httpx.get(f"http://127.0.0.1:{url.rpartition(':')[2]}/?key={key}", trust_env=False)
        assert fake.requests[-1].headers["x-api-key"] == key
        time.sleep(2.5)
    fake.close()
    kept = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert len(kept) > 10_000
    assert key.encode() not in kept
    assert key[13:33].encode() not in kept
    import sqlite3
    import zlib

    with sqlite3.connect(store) as connection:
        archives = [zlib.decompress(row[0]) for row in connection.execute("SELECT data FROM archives")]
    connection.close()
    assert archives
    assert all(key[13:33].encode() not in data for data in archives)
    assert oct(store.stat().st_mode)[-3:] == "600"


def test_the_pages_for_people(fake: FakeProvider, settings: dict[str, Any]) -> None:
    said = steps_of("anthropic", TOO_MUCH, task="<script>alert('x')</script> & go")
    with in_thread(**settings) as url, httpx.Client(base_url=url, trust_env=False) as client:
        post(url, "/v1/messages", body_of("anthropic", said) | {"model": "claude-opus-4-8"})
        sent = pages_in(fake.requests[0].json)
        deadline, home = time.monotonic() + 10, ""
        while "alert" not in home and time.monotonic() < deadline:
            home = client.get("/").text
            time.sleep(0.2)
        assert "&lt;script&gt;" in home
        assert "<script" not in home
        link = home.partition('href="/_snapshot/conversations/')[2].partition('"')[0]
        listed = client.get(f"/_snapshot/conversations/{link}")
        assert "default-src 'none'" in listed.headers["content-security-policy"]
        images = [piece.partition('"')[0] for piece in listed.text.split('<img src="')[1:]]
        assert [client.get(image).content for image in images] == sent
        assert "step_" in client.get(images[0].replace(".png", ".txt")).text
        for none in ("/_snapshot/archives/x/1.png", images[0].replace("/1.png", "/99.png"), "/_snapshot/x"):
            assert client.get(none).status_code == 404
        assert client.get("/", headers={"host": "evil.example"}).status_code == 403
        assert client.get("/", headers={"host": "127.0.0.1:99"}).status_code == 200
        assert len(fake.requests) == 1
    with (
        in_thread(**settings | {"public": True}) as url,
        httpx.Client(base_url=url, trust_env=False) as client,
    ):
        assert client.get("/", headers={"host": "box.example"}).status_code == 200


def test_workers_share_the_store(fake: FakeProvider, tmp_path: Path) -> None:
    store = tmp_path / "deep" / "proxy.sqlite"
    arguments = ("--upstream", f"anthropic={fake.url}", "--window", str(WINDOW), "--store", str(store))
    with in_process(*arguments, "--workers", "2") as (url, _):
        said = steps_of("anthropic", TOO_MUCH)
        for _ in range(6):
            assert post(url, "/v1/messages", body_of("anthropic", said)).status_code == 200
    assert len({seen.body for seen in fake.requests}) == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--upstream", "ftp://x"], "give a URL"),
        (["--upstream", "anthropic=localhost:80"], "no base URL"),
        (["--like", "no-such-model"], "no layout is known"),
        (["--store", "FOREIGN"], "not a database"),
    ],
)
def test_wrong_settings_are_one_line(arguments: list[str], words: str, tmp_path: Path) -> None:
    import subprocess
    import sys

    foreign = tmp_path / "foreign"
    foreign.write_text("not a store at all")
    given = [str(foreign) if item == "FOREIGN" else item for item in arguments]
    command = [sys.executable, "-m", "snapshot", "proxy", "--port", "0", *given]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert words in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert foreign.read_text() == "not a store at all"


def test_a_port_that_is_taken_is_one_line(tmp_path: Path) -> None:
    import subprocess
    import sys

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        command = [sys.executable, "-m", "snapshot", "proxy", "--port", port, "--store", str(tmp_path / "s")]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert "address already in use" in done.stderr.lower()
    assert "Traceback" not in done.stderr


def test_a_fault_of_the_proxy_passes_the_request_on(
    fake: FakeProvider, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise RuntimeError("a fault")

    monkeypatch.setattr("snapshot.proxy.compactor.compact", broken)
    body = body_of("anthropic", steps_of("anthropic", TOO_MUCH))
    assert post(url, "/v1/messages", body).status_code == 200
    assert fake.requests[0].json == body
