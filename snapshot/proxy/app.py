"""The proxy as an ASGI application: what comes in is passed on, watched, and made to fit where it must."""

from __future__ import annotations

import asyncio
import json
import logging
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, MutableMapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import httpx

from snapshot.proxy.apis import Route, parse, refusal, route_of
from snapshot.proxy.compactor import REFUSALS, Compactor, Decision
from snapshot.proxy.forward import Headers, Upstream, header, passed_on
from snapshot.proxy.log import quiet_log
from snapshot.proxy.overview import Overview
from snapshot.proxy.peek import Peek, decoded
from snapshot.proxy.settings import ProxySettings
from snapshot.proxy.store import Store

__all__ = ["Proxy", "create_app"]

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

_LOG = logging.getLogger("snapshot.proxy")
_MOST_ERROR = 1 << 20  # bytes of an answer that may be a refusal
_LARGE = 1 << 17  # bytes of a body from which on even a first look is taken in a thread
_HOLD = 10.0  # seconds that the first events of a stream are held back while it may still be refused
_WRITE_FIGURES = 2.0


class _TooLarge(Exception):
    """A body beyond what the proxy takes."""


class _Gone(Exception):
    """The client has gone before its request was there."""


def create_app(settings: ProxySettings | None = None) -> Proxy:
    """The application with these settings; without, those that the process which started this one left."""
    if settings is None:
        quiet_log()
        settings = ProxySettings.exported()
    return Proxy(settings)


class Proxy:
    """The ASGI application.

    Args:
        settings: of the proxy.
    """

    def __init__(self, settings: ProxySettings) -> None:
        self._settings = settings
        self._store = Store(settings.store, keep_days=settings.keep_days)
        self._compactor = Compactor(settings, self._store)
        self._overview = Overview(settings, self._store)
        self._upstream: Upstream | None = None
        # Looks never wait behind compactions.
        self._looks = ThreadPoolExecutor(max_workers=4)
        self._threads = ThreadPoolExecutor(max_workers=max(2, os.cpu_count() or 1))
        self._writing: asyncio.Task[None] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a connection."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1003})
        elif self._overview.serves(scope):
            await self._overview(scope, receive, send)
        else:
            await self._serve(scope, receive, send)

    # --- life

    async def start(self) -> None:
        """Open connections, and begin to write figures."""
        self._upstream = Upstream(self._settings)
        self._writing = asyncio.create_task(self._write())

    async def stop(self) -> None:
        """Close all that is open; what was counted is written."""
        if self._writing is not None:
            self._writing.cancel()
            with suppress(asyncio.CancelledError):
                await self._writing
        if self._upstream is not None:
            await self._upstream.close()
        self._looks.shutdown()
        self._threads.shutdown()
        self._compactor.write_figures(now=True)
        self._store.close()

    async def _write(self) -> None:
        while True:
            await asyncio.sleep(_WRITE_FIGURES)
            await asyncio.to_thread(self._compactor.write_figures)

    async def _live(self, receive: Receive, send: Send) -> None:
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                await self.start()
                await send({"type": "lifespan.startup.complete"})
            else:
                await self.stop()
                await send({"type": "lifespan.shutdown.complete"})
                return

    # --- a request

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        exchange = _Exchange(scope, send)
        route = route_of(scope["method"], scope["path"])
        try:
            if not route.api:
                await self._pass(exchange, receive)
                return
            body = await _read(receive, exchange.headers, self._settings.max_body)
        except _TooLarge:
            limit = self._settings.max_body
            await exchange.refuse(route.api, 413, f"the proxy takes requests of up to {limit} bytes")
            return
        except _Gone:
            return
        await _while_there(self._answer(exchange, route, body), receive)

    async def _pass(self, exchange: _Exchange, receive: Receive) -> None:
        """Pass on a request for a path that is none of ours, as a stream in both directions."""
        assert self._upstream is not None
        headers = passed_on(exchange.headers, b"host", b"expect")
        told = _Told(receive)
        body: bytes | AsyncIterator[bytes] = b""
        if header(exchange.headers, b"content-length") or header(exchange.headers, b"transfer-encoding"):
            body = _chunks(told, self._settings.max_body)
        base = self._upstream.base("", exchange.path, exchange.headers)
        response = await exchange.reach("", self._upstream, base, headers, body)
        if response is None:
            return
        # A provider may answer before all was said: then what comes from the client is still the body's.
        if told.all or not body:
            await _while_there(exchange.relay(response), receive)
        else:
            await exchange.relay(response)

    async def _answer(self, exchange: _Exchange, route: Route, body: bytes) -> None:
        assert self._upstream is not None
        base = self._upstream.base(route.api, exchange.path, exchange.headers)
        decision = await self._decide(exchange, route, body, base.host)
        first = await self._sent(exchange, base, body, decision)
        if first is None:
            return
        if decision is None:
            await exchange.relay(first)
            return
        try:
            begun, error = await self._begun(first, decision)
            again = None if error is None else await self._recovered(decision, first.status_code, error)
            if again is None:
                await exchange.relay(first, begun, note=decision.note)
                return
        finally:
            await first.aclose()
        second = await self._sent(exchange, base, body, again)
        if second is not None:
            await exchange.relay(second, note=again.note)

    async def _recovered(self, decision: Decision, status: int, error: Any) -> Decision | None:
        try:
            return await self._in_thread(self._compactor.recovered, decision, status, error)
        except Exception as fault:  # the provider's own answer is better than none
            _LOG.error("a refusal is passed on, after a fault of the proxy: %s", type(fault).__name__)
            return None

    async def _decide(self, exchange: _Exchange, route: Route, body: bytes, host: str) -> Decision | None:
        """What to send; None where nothing can be said of the body."""
        encoding = header(exchange.headers, b"content-encoding").decode("latin-1").lower()

        def look() -> tuple[Any, Decision | None]:
            plain = decoded(body, encoding, self._settings.max_body)
            call = None if plain is None else parse(route, plain, exchange.named)
            return call, None if call is None else self._compactor.quick(call, host)

        try:
            call, decision = look() if len(body) < _LARGE else await self._in_thread(look, pool=self._looks)
            if call is not None and decision is None:
                decision = await self._in_thread(self._compactor.decide, call, host)
        except Exception as error:  # whatever is wrong here, the client's request is not to suffer from it
            _LOG.error("passed on as it came, after a fault of the proxy: %s", type(error).__name__)
            _LOG.debug("the fault", exc_info=error)
            return None
        return decision

    async def _sent(
        self, exchange: _Exchange, base: httpx.URL, body: bytes, decision: Decision | None
    ) -> httpx.Response | None:
        assert self._upstream is not None
        drop = [b"host", b"expect", b"content-length"]
        if decision is not None and decision.body is not None:
            body = decision.body
            drop.append(b"content-encoding")
        headers = passed_on(exchange.headers, *drop)
        headers.append((b"content-length", str(len(body)).encode()))
        api = decision.call.api if decision is not None else ""
        return await exchange.reach(api, self._upstream, base, headers, body)

    async def _begun(self, response: httpx.Response, decision: Decision) -> tuple[_Begun, Any]:
        """The beginning of an answer as far as it had to be read, and what it says if it is a refusal."""
        begun = _Begun(response)
        encoding = response.headers.get("content-encoding", "").lower()
        if response.status_code in REFUSALS:
            await begun.read(_MOST_ERROR)
            plain = decoded(begun.data, encoding, _MOST_ERROR) or b""
            error: Any = plain.decode("utf-8", "replace")
            with suppress(ValueError, RecursionError):
                error = json.loads(error)
            status, judge = response.status_code, self._compactor.is_refusal
            refused = await self._in_thread(judge, decision, status, error, pool=self._looks)
            return begun, error if refused else None
        kind = response.headers.get("content-type", "")
        if response.status_code == 200 and kind.startswith("text/event-stream") and decision.close:
            error = await begun.peek(Peek(encoding))
            judge = self._compactor.is_refusal
            if error is not None and await self._in_thread(judge, decision, 400, error, pool=self._looks):
                return begun, error
        return begun, None

    async def _in_thread(
        self, function: Callable[..., Any], *arguments: Any, pool: ThreadPoolExecutor | None = None
    ) -> Any:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(pool or self._threads, function, *arguments)


class _Begun:
    """The body of an answer, of which the beginning may have been read already, byte for byte."""

    def __init__(self, response: httpx.Response) -> None:
        self._chunks = response.aiter_raw()
        self._waiting: asyncio.Task[bytes | None] | None = None
        self.data = b""
        self._failed: Exception | None = None

    async def _next(self) -> bytes | None:
        return await anext(self._chunks, None)

    async def read(self, most: int) -> None:
        """Read the body, up to `most` bytes and a chunk more."""
        try:
            while len(self.data) < most and (chunk := await self._next()) is not None:
                self.data += chunk
        except httpx.HTTPError as error:
            self._failed = error

    async def peek(self, peek: Peek) -> Any:
        """Read the first events; the error that they say, None where they don't."""
        deadline = asyncio.get_running_loop().time() + _HOLD
        try:
            while True:
                left = deadline - asyncio.get_running_loop().time()
                self._waiting = self._waiting or asyncio.create_task(self._next())
                done, _ = await asyncio.wait((self._waiting,), timeout=max(0.0, left))
                if not done:  # what comes next comes to `rest`
                    return None
                chunk, self._waiting = self._waiting.result(), None
                if chunk is None:
                    return None
                self.data += chunk
                verdict = peek.feed(chunk)
                if verdict != "wait":
                    return peek.error
        except httpx.HTTPError as error:
            self._waiting, self._failed = None, error
            return None
        except asyncio.CancelledError:
            if self._waiting is not None:
                self._waiting.cancel()
            raise

    async def rest(self) -> AsyncIterator[bytes]:
        """The whole body: what was read, and what is still to come."""
        if self.data:
            yield self.data
        if self._failed is not None:
            raise self._failed
        try:
            while True:
                chunk = await (self._waiting or self._next())
                self._waiting = None
                if chunk is None:
                    return
                yield chunk
        finally:
            if self._waiting is not None:
                self._waiting.cancel()


class _Exchange:
    """A request of a client, and the way back to it."""

    def __init__(self, scope: Scope, send: Send) -> None:
        self.headers: Headers = scope["headers"]
        self.path: str = scope["path"]
        self._method: str = scope["method"]
        self._send = send
        query: bytes = scope.get("query_string", b"")
        path: bytes = scope.get("raw_path") or self.path.encode()
        self._target = path + (b"?" + query if query else b"")

    @property
    def named(self) -> dict[str, str]:
        """The headers by name."""
        return {name.decode("latin-1"): value.decode("latin-1") for name, value in self.headers}

    async def reach(
        self,
        api: str,
        upstream: Upstream,
        base: httpx.URL,
        headers: Headers,
        body: bytes | AsyncIterator[bytes],
    ) -> httpx.Response | None:
        """The provider's answer; None where there is none, and the client was told."""
        try:
            return await upstream.send(base, self._target, self._method, headers, body)
        except _TooLarge:
            await self.refuse(api, 413, "the proxy takes no requests as large as this one")
        except _Gone:
            pass
        except httpx.TimeoutException:
            await self.refuse(api, 504, f"{base.host} does not answer the proxy")
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            _LOG.warning("%s cannot be reached: %s", base.host, type(error).__name__)
            await self.refuse(api, 502, f"the proxy cannot reach {base.host} ({type(error).__name__})")
        return None

    async def relay(self, response: httpx.Response, begun: _Begun | None = None, *, note: str = "") -> None:
        """Give the client an answer as it comes, byte for byte.

        Where the provider's connection breaks, so does the client's: nothing marks the body's end.
        """
        headers = passed_on(response.headers.raw)
        if note:
            headers.append((b"x-snapshot", note.encode("latin-1", "replace")))
        start = {"type": "http.response.start", "status": response.status_code, "headers": headers}
        try:
            await self._send(start)
            async for chunk in (begun or _Begun(response)).rest():
                await self._send({"type": "http.response.body", "body": chunk, "more_body": True})
                # What is there already comes without a wait: nobody would hear that the client has gone, and
                # asyncio prints a line for each chunk that is written to nobody.
                await asyncio.sleep(0)
            await self._send({"type": "http.response.body", "body": b"", "more_body": False})
        except httpx.HTTPError as error:
            _LOG.info("the provider's answer broke off: %s", type(error).__name__)
        except OSError:
            pass  # the client has gone
        finally:
            await response.aclose()

    async def refuse(self, api: str, status: int, message: str) -> None:
        """Tell the client of an error of the proxy's own, in the form of its API."""
        body = refusal(api, status, message)
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
        if status == 413:
            headers.append((b"connection", b"close"))
        with suppress(OSError):
            await self._send({"type": "http.response.start", "status": status, "headers": headers})
            await self._send({"type": "http.response.body", "body": body})


async def _read(receive: Receive, headers: Headers, most: int) -> bytes:
    """The whole body of a request.

    Raises:
        _TooLarge: it has more than `most` bytes.
        _Gone: the client left before its end.
    """
    said = header(headers, b"content-length")
    if said.isdigit() and int(said) > most:
        raise _TooLarge
    pieces = [chunk async for chunk in _chunks(receive, most)]
    return b"".join(pieces)


async def _chunks(receive: Receive, most: int) -> AsyncIterator[bytes]:
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise _Gone
        chunk: bytes = message.get("body", b"")
        size += len(chunk)
        if size > most:
            raise _TooLarge
        if chunk:
            yield chunk
        if not message.get("more_body", False):
            return


class _Told:
    """What a client says, and whether that was all."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self.all = False

    async def __call__(self) -> MutableMapping[str, Any]:
        """The next of it."""
        message = await self._receive()
        self.all = not message.get("more_body", False)
        return message


async def _while_there(work: Coroutine[Any, Any, None], receive: Receive) -> None:
    """Do `work` as long as the client is there: who leaves in the middle of an answer takes the provider's
    stream along."""
    task = asyncio.create_task(work)
    gone = asyncio.create_task(_until_gone(receive))
    try:
        await asyncio.wait((task, gone), return_when=asyncio.FIRST_COMPLETED)
    finally:
        for one in (task, gone):
            if not one.done():
                one.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
