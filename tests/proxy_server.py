"""A proxy for tests: in a thread of this process, or in processes of its own."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

__all__ = ["free_port", "in_process", "in_thread", "told"]


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


@contextlib.contextmanager
def in_thread(*, port: int = 0, **settings: Any) -> Iterator[str]:
    """A proxy with these settings in a thread; its URL."""
    import uvicorn

    from snapshot.proxy import ProxySettings, create_app

    app = create_app(ProxySettings(**settings))
    port = port or free_port()
    config = uvicorn.Config(
        app, host="127.0.0.1", port=port, log_config=None, access_log=False, server_header=False,
        date_header=False, ws="none",
    )  # fmt: skip
    server = uvicorn.Server(config)
    thread = threading.Thread(target=lambda: asyncio.run(server.serve()), daemon=True)
    thread.start()
    deadline = time.monotonic() + 20
    while not server.started and time.monotonic() < deadline:
        time.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join(20)


@contextlib.contextmanager
def in_process(
    *arguments: str, port: int = 0, log: Path | None = None
) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """`snapshot proxy` with these arguments in a process; its URL and the process."""
    port = port or free_port()
    command = [sys.executable, "-m", "snapshot", "proxy", "--port", str(port), *arguments]
    with contextlib.ExitStack() as stack:
        out: Any = subprocess.DEVNULL if log is None else stack.enter_context(log.open("ab"))
        process = subprocess.Popen(command, stdout=out, stderr=out, env={**os.environ})
        url = f"http://127.0.0.1:{port}"
        try:
            _wait(url, process)
            yield url, process
        finally:
            process.terminate()
            process.wait(20)


def _wait(url: str, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        assert process.poll() is None, "the proxy ended"
        try:
            with urllib.request.urlopen(url + "/_snapshot/style.css", timeout=1):
                return
        except OSError:
            time.sleep(0.05)
    raise TimeoutError("the proxy did not start")


def told(number: int, size: int = 2000) -> str:
    """Text of some length that is the same for the same number, and code-like."""
    lines = (f"def step_{number}_{at}(value):  # line {at}\n    return value + {at}\n" for at in range(size))
    return "".join(lines)[:size]
