"""Clients that leave in the middle: the provider's stream ends with them, and nothing is printed of it."""

from __future__ import annotations

import contextlib
import json
import socket
import struct
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.proxied import body_of, steps_of
from tests.proxy_server import in_process

pytestmark = pytest.mark.clients
pytest.importorskip("uvicorn")

CHUNK = b"data: " + b"x" * 2000 + b"\n\n"


class Fast:
    """A provider whose answers come at once and never end; it counts those whose reader has left."""

    def __init__(self) -> None:
        self.begun = self.left = 0
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self._open = True
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while self._open:
                threading.Thread(target=self._answer, args=(self._socket.accept()[0],), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            connection.settimeout(20)
            taken = b""
            while b"\r\n\r\n" not in taken:
                taken += connection.recv(65536)
            self.begun += 1
            connection.sendall(
                b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
            )
            try:
                for _ in range(20_000):  # 40 MB: more than lies in buffers on the way
                    connection.sendall(b"%x\r\n%s\r\n" % (len(CHUNK), CHUNK))
            except OSError:
                self.left += 1

    def close(self) -> None:
        self._open = False
        self._socket.close()


@pytest.fixture
def fast() -> Iterator[Fast]:
    provider = Fast()
    yield provider
    provider.close()


def leave(url: str, path: str, body: bytes, *, abruptly: bool, after: int = 1000) -> None:
    """Ask, read so many bytes, and go."""
    port = int(url.rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port)) as client:
        if abruptly:  # the system sends a reset in place of an end
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        kind = "content-type: application/json"
        head = (f"POST {path} HTTP/1.1", "host: x", kind, f"content-length: {len(body)}")
        client.sendall("\r\n".join(head).encode() + b"\r\n\r\n" + body)
        seen = 0
        while seen < after:
            seen += len(client.recv(after))


@pytest.mark.parametrize("path", ["/v1/messages", "/v1/files"], ids=["an API's", "passed through"])
@pytest.mark.parametrize("abruptly", [False, True], ids=["closed", "reset"])
def test_nothing_is_printed_and_the_providers_stream_ends(fast, path, abruptly, tmp_path):
    body = json.dumps(body_of("anthropic", steps_of("anthropic", 2), stream=True)).encode()
    log = Path(tmp_path / "log")
    arguments = ("--upstream", fast.url, "--store", str(tmp_path / "p.sqlite"))
    with in_process(*arguments, log=log) as (url, _):
        before = log.read_text(encoding="utf-8")
        for after in (1, 1000, 100_000, 300_000) * 3:
            leave(url, path, body, abruptly=abruptly, after=after)
        deadline = time.monotonic() + 15
        while fast.left < fast.begun and time.monotonic() < deadline:
            time.sleep(0.05)
    assert fast.begun == 12
    assert fast.left == fast.begun
    assert log.read_text(encoding="utf-8") == before
