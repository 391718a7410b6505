"""Requests to the provider and answers from it, without what belongs to one connection only."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from http.cookiejar import CookieJar, DefaultCookiePolicy

import httpx

from snapshot.proxy.settings import ProxySettings

__all__ = ["Headers", "Upstream", "header", "passed_on"]

Headers = list[tuple[bytes, bytes]]

# RFC 9110, 7.6.1, and what older clients send.
_HOP_BY_HOP = frozenset(
    {
        b"connection", b"keep-alive", b"proxy-authenticate", b"proxy-authorization", b"proxy-connection",
        b"te", b"trailer", b"transfer-encoding", b"upgrade",
    }
)  # fmt: skip
_TIMEOUT = httpx.Timeout(None, connect=20.0)  # a model may think for as long as it likes


class Upstream:
    """The providers, with connections that are kept open. It follows no redirects and keeps no cookies."""

    def __init__(self, settings: ProxySettings) -> None:
        self._settings = settings
        self._bases = {name: httpx.URL(url) for name, url in settings.upstreams.items()}
        self._all = httpx.URL(settings.upstream) if settings.upstream else None
        self._client = httpx.AsyncClient(
            timeout=_TIMEOUT,
            follow_redirects=False,
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=200, keepalive_expiry=30),
        )

    async def close(self) -> None:
        """Close all connections."""
        await self._client.aclose()

    def base(self, api: str, path: str, headers: Headers) -> httpx.URL:
        """The base URL for a request: by its API, or, for other paths, by how it names its key."""
        if self._all is not None:
            return self._all
        if api:
            return self._bases["openai" if api.startswith("openai") else api]
        if header(headers, b"x-api-key") or header(headers, b"anthropic-version"):
            return self._bases["anthropic"]
        if header(headers, b"x-goog-api-key") or path.startswith(("/v1beta", "/upload/v1beta")):
            return self._bases["gemini"]
        return self._bases["openai"]

    async def send(
        self,
        base: httpx.URL,
        target: bytes,
        method: str,
        headers: Headers,
        body: bytes | AsyncIterator[bytes],
    ) -> httpx.Response:
        """Send a request; its answer, of which the body is still to come.

        Args:
            base: where to; `target`, path and query as they came, is put behind it.
            method, headers, body: of the request.
        """
        url = base.copy_with(raw_path=base.raw_path.rstrip(b"/") + target)
        request = httpx.Request(
            method, url, headers=headers, content=body, extensions={"timeout": _TIMEOUT.as_dict()}
        )
        return await self._client.send(request, stream=True)


def passed_on(headers: Iterable[tuple[bytes, bytes]], *drop: bytes) -> Headers:
    """Headers without those that belong to one connection, and those to drop, named in lower case."""
    given = list(headers)
    named = {
        name.strip().lower()
        for key, value in given
        if key.lower() == b"connection"
        for name in value.split(b",")
    }
    left_out = _HOP_BY_HOP | named | frozenset(drop)
    return [(key, value) for key, value in given if key.lower() not in left_out]


def header(headers: Iterable[tuple[bytes, bytes]], name: bytes) -> bytes:
    """The value of a header, named in lower case; b"" where it is not there."""
    return next((value for key, value in headers if key.lower() == name), b"")
