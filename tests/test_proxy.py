"""The proxy: what passes as it came, what breaks, what is limited, what is never kept, wrong settings."""

from __future__ import annotations

import gzip
import json
import socket
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.fake_provider import FakeProvider, call, overflow, refuse, say, think
from tests.proxied import APIS, body_of, pages_in, path_of, steps_of
from tests.proxy_requests import FITS, TOO_MUCH, WINDOW, fake, httpx, post, raw, settings, url
from tests.proxy_server import free_port, in_process, in_thread

__all__ = ["fake", "settings", "url"]  # fixtures: pytest finds them here

pytestmark = pytest.mark.clients

REPLY = think("Let me see.", "I look.", call("read", path="a.py"))


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
