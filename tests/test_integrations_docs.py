"""Every block of docs/integrations.md, run against the fake provider until it compacted."""

from __future__ import annotations

import os
import re
from itertools import pairwise
from pathlib import Path

import pytest

from tests.conversations import told_words
from tests.fake_provider import FakeProvider, Reply, Seen, call, say

pytestmark = pytest.mark.clients

DOCS = Path(__file__).resolve().parents[1] / "docs" / "integrations.md"
BLOCKS = dict(re.findall(r"<!-- run: (\S+) -->\n```python\n(.*?)```", DOCS.read_text("utf-8"), re.DOTALL))
PACKAGES = {
    "anthropic": "anthropic", "litellm": "litellm", "langchain": "langchain_anthropic",
    "openai-agents": "agents", "pydantic-ai": "pydantic_ai",
    "inspect-ai": "inspect_ai", "smolagents": "smolagents",
}  # fmt: skip
CALLS = 45
ENDS = {"inspect-ai": "submit", "smolagents": "final_answer"}


def images(seen: Seen) -> list[str]:
    """The pages in a request, in order."""
    found: list[str] = []

    def walk(value: object) -> None:
        if isinstance(value, dict):
            for key, item in value.items():
                if key in ("data", "url", "image_url") and isinstance(item, str) and len(item) > 1000:
                    found.append(item.rsplit(",", 1)[-1])
                else:
                    walk(item)
        elif isinstance(value, list):
            for item in value:
                walk(item)

    walk(seen.json)
    return found


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A folder with long files, and no keys but those of the fake."""
    for number in range(CALLS + 1):
        (tmp_path / f"f{number}.txt").write_text(told_words(number, 600), "utf-8")
    monkeypatch.chdir(tmp_path)
    for name in list(os.environ):
        if name.endswith(("_API_KEY", "_BASE_URL")):
            monkeypatch.delenv(name)
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.setenv(name, "sk-test")
    monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    monkeypatch.setenv("OPENAI_AGENTS_DISABLE_TRACING", "1")
    return tmp_path


@pytest.mark.filterwarnings("ignore")  # those of the frameworks are theirs
@pytest.mark.parametrize("name", PACKAGES)
def test_a_block_compacts_and_goes_on(name, project, monkeypatch):
    pytest.importorskip(PACKAGES[name])
    asked = 0

    def reply(_: Seen) -> Reply:
        nonlocal asked
        asked += 1
        if asked <= CALLS:
            return call("read", path=f"f{asked}.txt")
        end = ENDS.get(name)
        return say("Done.") if end is None else call(end, answer="Done.")

    with FakeProvider(reply=reply, window=10**9) as fake:
        for variable, url in (
            ("ANTHROPIC_BASE_URL", fake.url),
            ("ANTHROPIC_API_BASE", fake.url),
            ("OPENAI_BASE_URL", f"{fake.url}/v1"),
        ):
            monkeypatch.setenv(variable, url)
        code = BLOCKS[name].replace("200_000", "40_000")
        path = project / "block.py"  # smolagents reads the source of its tools
        path.write_text(code, "utf-8")
        exec(compile(code, str(path), "exec"), {"__name__": "block"})
        requests = [seen for seen in fake.requests if not seen.count]
    assert len(requests) > CALLS
    assert max(seen.tokens for seen in requests) < 40_000
    pages = [images(seen) for seen in requests]
    compactions = sum(one != other for one, other in pairwise(pages))
    assert 2 <= compactions <= len(requests) // 4
    assert pages[-1]
