"""The server: what arrives is kept and counted, and answered as it was told."""

from __future__ import annotations

import gzip as gzip_
import json
import re
import socket
import struct
import sys
import threading
import time
import zlib
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.fake_provider.answers import Answer, event_bytes
from tests.fake_provider.refusals import anthropic_error, refusal
from tests.fake_provider.replies import Reply, Seen, overflow, say

_GEMINI = re.compile(r"/models/([^/:]+):(generateContent|streamGenerateContent|countTokens)$")
_DEPLOYMENT = re.compile(r"/openai/deployments/([^/]+)/")


def count_tokens(body: Any, image_tokens: int = 1500) -> int:
    """Tokens of a request's body, roughly: four characters of any string each, and so much an image."""
    tokens = characters = 0
    stack = [body]
    while stack:
        item = stack.pop()
        if isinstance(item, dict):
            kind = str(item.get("media_type") or item.get("mimeType") or item.get("mime_type") or "")
            if kind.startswith("image/") and isinstance(item.get("data"), str):
                tokens += image_tokens
                continue
            stack.extend(item.values())
        elif isinstance(item, list):
            stack.extend(item)
        elif isinstance(item, str):
            if item.startswith("data:image/"):
                tokens += image_tokens
            else:
                characters += len(item)
    return tokens + characters // 4


def _read_as(
    method: str, path: str, body: Any, query: Mapping[str, list[str]]
) -> tuple[str, str, bool, bool]:
    """API, model, stream and count of a request."""
    given: dict[str, Any] = body if isinstance(body, dict) else {}
    model, stream = str(given.get("model") or ""), given.get("stream") is True
    if found := _GEMINI.search(path):
        return "gemini", found[1], found[2].startswith("stream"), found[2] == "countTokens"
    if method == "POST" and path.endswith("/messages/count_tokens"):
        return "anthropic", model, False, True
    if method == "POST" and path.endswith("/messages"):
        return "anthropic", model, stream, False
    if deployed := _DEPLOYMENT.search(path):
        model = deployed[1]
    if method == "POST" and path.endswith("/chat/completions"):
        return "openai", model, stream, False
    if method == "POST" and path.endswith("/responses"):
        return "openai-responses", model, stream, False
    return "", model, "sse" in query.get("alt", ()), False


class FakeProvider:
    """A server on a free port of 127.0.0.1, in threads of its own; a context manager.

    Args:
        reply: decides each reply by the request, in place of a script.
        window: tokens from which on a request is refused; 0: never.
        max_bytes: bytes of a body from which on a request is refused with 413; 0: never.
        image_tokens: what an image counts.
        port: 0 for any free one.
        keep: how many requests are kept in `requests`; 0: all.

    Attributes:
        url: its address, without a path. requests: what arrived (a `Seen` each), the oldest first.
        left: how many clients went away before the end of their answer.
    """

    def __init__(
        self,
        reply: Callable[[Seen], Reply] | None = None,
        *,
        window: int = 0,
        max_bytes: int = 0,
        image_tokens: int = 1500,
        port: int = 0,
        keep: int = 0,
    ) -> None:
        self.reply, self.window, self.max_bytes, self.image_tokens = reply, window, max_bytes, image_tokens
        self.otherwise: Callable[[Seen], Reply] = lambda _seen: say("ok")
        self.scripted: Callable[[Seen], bool] = lambda _seen: True
        self._script: deque[Reply] = deque()
        self._lock = threading.Lock()
        self._count = self.left = 0
        self._seen: deque[Seen] = deque(maxlen=keep or None)

        class Handler(_Handler):
            fake = self

        self._server = _Server(("127.0.0.1", port), Handler)
        self._server.fake = self
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    @property
    def requests(self) -> list[Seen]:
        with self._lock:
            return list(self._seen)

    def script(self, *replies: Reply) -> None:
        """Add replies, one for each request to come; count_tokens and unknown paths take none."""
        with self._lock:
            self._script.extend(replies)

    def clear(self) -> None:
        """Forget the script and what arrived."""
        with self._lock:
            self._script.clear()
            self._seen.clear()

    def close(self) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def __enter__(self) -> FakeProvider:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _arrived(self, method: str, target: str, headers: dict[str, str], body: bytes) -> Seen:
        parts = urlsplit(target)
        query = parse_qs(parts.query, keep_blank_values=True)
        plain = body
        if headers.get("content-encoding") == "gzip":
            plain = gzip_.decompress(body)
        elif headers.get("content-encoding") == "deflate":
            plain = zlib.decompress(body)
        try:
            value = json.loads(plain)
        except ValueError:
            value = None
        api, model, stream, count = _read_as(method, parts.path, value, query)
        tokens = count_tokens(value, self.image_tokens) if api else 0
        with self._lock:
            self._count += 1
            number = self._count
            seen = Seen(
                method, parts.path, query, headers, body, value, api, model, stream, count, tokens, number
            )
            self._seen.append(seen)
        return seen

    def _chosen(self, seen: Seen) -> Reply:
        if self.max_bytes and len(seen.body) > self.max_bytes:
            return overflow("bytes")
        if self.window and seen.tokens > self.window and not seen.count:
            return overflow()
        if self.reply is not None:
            return self.reply(seen)
        with self._lock:
            if self._script and self.scripted(seen):
                return self._script.popleft()
        return self.otherwise(seen)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 512
    fake: FakeProvider

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of clients that went away, which is what many tests do."""
        if isinstance(sys.exception(), OSError):
            self.fake.left += 1
        else:
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    fake: FakeProvider

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - as the standard library names it
        pass

    def _serve(self) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        seen = self.fake._arrived(self.command, self.path, headers, self._read(headers))
        if not seen.api:
            self._other(seen)
        elif seen.count:
            name = "totalTokens" if seen.api == "gemini" else "input_tokens"
            self._send(200, {name: seen.tokens}, Reply())
        else:
            self._answer(seen, self.fake._chosen(seen))

    do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = do_HEAD = do_OPTIONS = _serve  # noqa: N815

    def _read(self, headers: Mapping[str, str]) -> bytes:
        if headers.get("transfer-encoding", "").lower() != "chunked":
            return self.rfile.read(int(headers.get("content-length") or 0))
        pieces: list[bytes] = []
        while size := int(self.rfile.readline().split(b";")[0], 16):
            pieces.append(self.rfile.read(size))
            self.rfile.readline()
        while self.rfile.readline().strip():
            pass
        return b"".join(pieces)

    def _other(self, seen: Seen) -> None:
        if seen.path.endswith("/models"):
            self._send(200, {"object": "list", "data": [], "models": [], "has_more": False}, Reply())
        elif seen.path in ("", "/"):
            self._send(200, {"fake": "provider"}, Reply())
        else:
            kind = anthropic_error("not_found_error", f"no such path: {seen.method} {seen.path}")
            self._send(404, kind, Reply())

    def _answer(self, seen: Seen, reply: Reply) -> None:
        if reply.delay:
            time.sleep(reply.delay)
        if reply.error == "other":
            self._send(reply.status, reply.body, reply)
        elif reply.error == "stream" and seen.stream:
            self._stream(self._failing(seen), reply)
        elif reply.error not in ("", "stop"):
            error = "overflow" if reply.error == "stream" else reply.error
            window = self.fake.window or 200_000
            headers = dict(reply.headers)
            if error == "rate limit":
                headers.setdefault("retry-after", "0")
            self._send(*refusal(seen, error, window), replace(reply, headers=headers))
        elif seen.stream:
            self._stream(Answer(seen, reply).events(), reply)
        else:
            self._send(200, Answer(seen, reply).whole(), reply)

    def _failing(self, seen: Seen) -> Iterator[bytes]:
        """A stream that begins well and then says that the request is too large."""
        error = refusal(seen, "overflow", self.fake.window or 200_000)[1]
        if seen.api == "openai-responses":
            answer = Answer(seen, say("never said"))
            started = answer.response([], "in_progress")
            yield event_bytes(
                {"type": "response.created", "sequence_number": 0, "response": started}, "response.created"
            )
            failed = started | {
                "status": "failed",
                "error": {k: error["error"][k] for k in ("code", "message")},
            }
            yield event_bytes(
                {"type": "response.failed", "sequence_number": 1, "response": failed}, "response.failed"
            )
        else:
            yield event_bytes(error, "error" if seen.api == "anthropic" else "")

    def _head(self, status: int, kind: str, reply: Reply, length: int | None) -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("request-id", f"req_{self.fake._count}")
        for name, value in reply.headers.items():
            self.send_header(name, value)
        if length is None:
            self.send_header("transfer-encoding", "chunked")
        else:
            self.send_header("content-length", str(length))
        self.end_headers()

    def _send(self, status: int, body: Any, reply: Reply) -> None:
        kind = "application/json"
        if isinstance(body, bytes | str):
            kind, data = "text/plain", body.encode() if isinstance(body, str) else body
        else:
            data = json.dumps(body, ensure_ascii=False).encode()
        if self._gzipped(reply):
            data, reply = gzip_.compress(data, mtime=0), replace(reply, headers=_encoded(reply))
        self._head(status, kind, reply, len(data))
        if self.command != "HEAD":
            if reply.broken >= 0:
                self.wfile.write(data[: reply.broken])
                self._reset()
            else:
                self.wfile.write(data)

    def _gzipped(self, reply: Reply) -> bool:
        return reply.gzip and "gzip" in (self.headers.get("accept-encoding") or "")

    def _stream(self, events: Iterator[bytes], reply: Reply) -> None:
        packer = None
        if self._gzipped(reply):
            packer, reply = zlib.compressobj(wbits=31), replace(reply, headers=_encoded(reply))
        self._head(200, "text/event-stream; charset=utf-8", reply, None)
        for at, event in enumerate(events):
            if at == reply.broken:
                self._reset()
                return
            if at and reply.pace:
                time.sleep(reply.pace)
            self._chunk(packer.compress(event) + packer.flush(zlib.Z_SYNC_FLUSH) if packer else event)
        if packer:
            self._chunk(packer.flush())
        self.wfile.write(b"0\r\n\r\n")

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))
        self.wfile.flush()

    def _reset(self) -> None:
        """Cut the connection as a crash would: no end of the body."""
        self.wfile.flush()
        self.close_connection = True
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        time.sleep(0.02)  # what was written before arrives first


def _encoded(reply: Reply) -> dict[str, str]:
    return {**reply.headers, "content-encoding": "gzip"}
