"""LiteLLM's own proxy with the configuration of docs/integrations.md: refusals, both paths, a restart.

`SNAPSHOT_LITELLM` names the program, of an environment that has this package as well:

    python -m venv litellm && litellm/bin/pip install . 'litellm[proxy]==1.99.4'
    SNAPSHOT_LITELLM=litellm/bin/litellm python -m pytest -m "clients and slow" tests/test_litellm_proxy.py
"""

from __future__ import annotations

import os
import re
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from snapshot.requests.check import check
from tests.conversations import told_words
from tests.fake_provider import FakeProvider, Seen, call, think
from tests.proxied import pages_in
from tests.proxy_server import free_port

PROGRAM = os.environ.get("SNAPSHOT_LITELLM", "")
pytestmark = [
    pytest.mark.clients,
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.skipif(not PROGRAM, reason="SNAPSHOT_LITELLM names no litellm with its extra proxy"),
]

DOCS = (Path(__file__).resolve().parents[1] / "docs" / "integrations.md").read_text("utf-8")
CONFIG = re.findall(r"<!-- run: litellm-proxy -->\n```yaml\n(.*?)```", DOCS, re.DOTALL)[0]
WINDOW, CALLS = 12_000, 27  # far below what the layouts know of the model: only refusals say so
SECONDS = 120


@contextmanager
def serving(folder: Path, upstream: str) -> Iterator[str]:
    """LiteLLM's proxy in a process of its own; its URL."""
    (folder / "config.yaml").write_text(CONFIG, "utf-8")
    port = free_port()
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "ANTHROPIC_API_BASE": upstream,
        "ANTHROPIC_API_KEY": "sk-test",
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "SNAPSHOT_ARCHIVES": str(folder / "archives.sqlite"),
    }
    command = [PROGRAM, "--config", "config.yaml", "--host", "127.0.0.1", "--port", str(port)]
    with (folder / "log").open("ab") as log:
        process = subprocess.Popen(command, cwd=folder, env=environment, stdout=log, stderr=log)
    url = f"http://127.0.0.1:{port}"
    try:
        deadline = time.monotonic() + SECONDS
        while True:
            try:
                with urllib.request.urlopen(f"{url}/health/liveliness", timeout=1):
                    break
            except OSError:
                ended = process.poll() is not None or time.monotonic() > deadline
                assert not ended, (folder / "log").read_text("utf-8")[-2000:]
                time.sleep(0.2)
        yield url
    finally:
        process.terminate()
        process.wait(30)


def chat(url: str) -> Callable[[list[Any], int], None]:
    """A step of a loop by OpenAI's SDK: an answer, and the results of its calls."""
    import openai

    client = openai.OpenAI(base_url=url, api_key="sk-none", max_retries=0)
    parameters = {"type": "object", "properties": {"path": {"type": "string"}}}
    tools: Any = [{"type": "function", "function": {"name": "read", "parameters": parameters}}]

    def step(messages: list[Any], number: int) -> None:
        answer = client.chat.completions.create(
            model="claude", messages=messages, tools=tools, max_tokens=1000
        )
        message = answer.choices[0].message
        messages.append(message.model_dump(exclude_none=True))
        for made in message.tool_calls or ():
            words = told_words(number, 500)
            messages.append({"role": "tool", "tool_call_id": made.id, "content": words})

    return step


def messages(url: str) -> Callable[[list[Any], int], None]:
    """The same by Anthropic's SDK and path."""
    import anthropic

    client = anthropic.Anthropic(base_url=url, api_key="sk-none", max_retries=0)
    tools: Any = [{"name": "read", "input_schema": {"type": "object", "properties": {"path": {}}}}]

    def step(messages: list[Any], number: int) -> None:
        answer = client.messages.create(model="claude", messages=messages, tools=tools, max_tokens=1000)
        messages.append({"role": "assistant", "content": answer.content})
        words = told_words(number, 500)
        results = [
            {"type": "tool_result", "tool_use_id": block.id, "content": words}
            for block in answer.content
            if block.type == "tool_use"
        ]
        messages.append({"role": "user", "content": results})

    return step


def reply(seen: Seen) -> Any:
    return think("Let me see.", call("read", path=f"f{seen.number}.py"))


@pytest.mark.parametrize("client", [chat, messages])
def test_refused_requests_come_again_smaller(client: Callable[[str], Any], tmp_path: Path) -> None:
    said: list[Any] = [{"role": "user", "content": "Read all files."}]
    with FakeProvider(reply, window=WINDOW) as fake:
        with serving(tmp_path, fake.url) as url:
            step = client(url)
            for number in range(CALLS):
                step(said, number)
        before = fake.requests[-1]
        with serving(tmp_path, fake.url) as url:
            client(url)(said, CALLS)
        requests = fake.requests
    assert len(said) == 2 * CALLS + 3
    refused = [at for at, seen in enumerate(requests) if seen.tokens > WINDOW]
    assert len(refused) >= 2
    assert max(refused) < len(requests) - 3
    for at in refused:
        again = requests[at + 1]
        assert again.tokens < 0.8 * requests[at].tokens
        assert pages_in(again.json)
    assert all(check(seen.json, "anthropic") == [] for seen in requests)
    # Pages stand still but for what was refused, a restart included.
    pages = [pages_in(seen.json) for seen in requests]
    changed = [at for at, (one, other) in enumerate(pairwise(pages)) if one != other]
    assert set(changed) <= set(refused)
    assert pages_in(requests[-1].json) == pages_in(before.json)
