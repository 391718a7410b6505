"""A provider with a proxy before it, for tests of the proxy, and requests to it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fake_provider import FakeProvider
from tests.proxy_server import in_thread

httpx = pytest.importorskip("httpx")
pytest.importorskip("uvicorn")
pytest.importorskip("starlette")

WINDOW = 40_000
FITS, TOO_MUCH = 8, 50  # steps of a conversation


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
