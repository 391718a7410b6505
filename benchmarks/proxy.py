"""Time that the proxy adds to the first byte of an answer when there is nothing to do, beside a plain
pass-through that reads nothing, in the same run: `python -m benchmarks.proxy`.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.fake_provider import FakeProvider
from tests.proxied import body_of, steps_of
from tests.proxy_server import free_port, in_process

_PLAIN = """
import sys, httpx, uvicorn
from starlette.applications import Starlette
from starlette.responses import StreamingResponse
from starlette.routing import Route

client = httpx.AsyncClient(timeout=None, trust_env=False)

async def forward(request):
    headers = [(k, v) for k, v in request.headers.raw if k not in (b"host", b"content-length")]
    made = httpx.Request(request.method, sys.argv[1] + request.url.path, headers=headers,
                         content=await request.body())
    answer = await client.send(made, stream=True)
    kept = {k: v for k, v in answer.headers.items() if k not in ("transfer-encoding", "content-length")}
    return StreamingResponse(answer.aiter_raw(), answer.status_code, kept)

app = Starlette(routes=[Route("/{path:path}", forward, methods=["GET", "POST"])])
uvicorn.run(app, port=int(sys.argv[2]), access_log=False, log_level="critical")
"""


@contextlib.contextmanager
def plain(upstream: str) -> Iterator[str]:
    """A pass-through that reads nothing, in a process of its own; its URL."""
    port = free_port()
    process = subprocess.Popen([sys.executable, "-c", _PLAIN, upstream, str(port)])
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(10)


async def first_bytes(urls: dict[str, str], body: Any, rounds: int) -> dict[str, list[float]]:
    """Seconds to the first byte of the answer by way of each URL, in turns."""
    import httpx

    times: dict[str, list[float]] = {name: [] for name in urls}
    async with httpx.AsyncClient(trust_env=False, timeout=30) as client:
        for number in range(rounds + 10):
            for name, url in urls.items():
                began = time.perf_counter()
                async with client.stream("POST", url + "/v1/messages", json=body) as answer:
                    chunks = answer.aiter_raw()
                    await anext(chunks)
                    took = time.perf_counter() - began
                    async for _ in chunks:
                        pass
                if number >= 10:
                    times[name].append(took)
    return times


def main() -> None:
    """Print medians, what is added, and the ratio, for requests of several sizes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=200)
    rounds = parser.parse_args().rounds
    with (
        tempfile.TemporaryDirectory() as folder,
        FakeProvider(keep=10) as fake,
        plain(fake.url) as pass_through,
        in_process("--upstream", fake.url, "--store", str(Path(folder) / "p.sqlite")) as (proxy, _),
    ):
        time.sleep(2)
        urls = {"direct": fake.url, "pass-through": pass_through, "proxy": proxy}
        print(
            "kB of request | direct ms | pass-through ms | proxy ms | proxy adds to pass-through ms | ratio"
        )
        for steps in (1, 30, 100, 300):
            body = body_of("anthropic", steps_of("anthropic", steps), stream=True)
            found = asyncio.run(first_bytes(urls, body, rounds))
            direct, other, own = (statistics.median(found[name]) * 1000 for name in urls)
            size = steps * 3.2
            added = f"{own - other:+.2f}"
            print(f"{size:6.0f} | {direct:.2f} | {other:.2f} | {own:.2f} | {added} | {own / other:.2f}")


if __name__ == "__main__":
    main()
