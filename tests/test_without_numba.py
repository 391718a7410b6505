"""Everything runs without numba, and gives the same bytes; where it would pay, that is said."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys

import pytest

import snapshot
from snapshot.pages import numba_support
from tests.test_cli import EXAMPLE, ROOT, run

# A job of each kind, in a process that has no numba; prints what it gave.
JOBS = """
import hashlib, json, sys
from tests.without_numba import hide
hide()
import snapshot
from snapshot.pages.layout import layout_for
from snapshot.pages.render import Typesetter
from snapshot.source.source import Source
from tests.test_without_numba import TEXT, digest, talk

try:
    import numba
except ImportError:
    pass
else:
    sys.exit("numba is there")
given = {model: digest(snapshot.render(TEXT, model=model)) for model in ("claude-opus-4-8", "gpt-5.6-sol")}
setting = Typesetter(layout_for("claude-fable-5-1"))
given["as if it paid"] = digest(setting.pages(Source(TEXT), compiled=True))
done = snapshot.compact(talk(), model="claude-opus-4-8", window=40_000, trigger="manual")
given["compacted"] = hashlib.sha256(json.dumps(done.request("anthropic")).encode()).hexdigest()
assert "numba" not in sys.modules
print(json.dumps(given))
"""

TEXT = snapshot.source_of(snapshot.load(EXAMPLE)).text * 6 + "ünïcode → 世界 \t\x1b[31m end\n" * 40


def talk() -> list[dict[str, str]]:
    return [
        {"role": "user" if n % 2 == 0 else "assistant", "content": f"{n}: " + "several words of it " * 500}
        for n in range(9)
    ]


def digest(pages: object) -> list[str]:
    return [hashlib.sha256(page.png).hexdigest() for page in pages]  # type: ignore[attr-defined]


def test_every_job_gives_the_same_without_numba():
    done = subprocess.run([sys.executable, "-c", JOBS], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    given = json.loads(done.stdout)
    for model in ("claude-opus-4-8", "gpt-5.6-sol"):
        assert given[model] == digest(snapshot.render(TEXT, model=model))
    from snapshot.pages.layout import layout_for
    from snapshot.pages.render import Typesetter
    from snapshot.source.source import Source

    setting = Typesetter(layout_for("claude-fable-5-1"))
    assert given["as if it paid"] == digest(setting.pages(Source(TEXT), compiled=True))
    smaller = snapshot.compact(talk(), model="claude-opus-4-8", window=40_000, trigger="manual")
    body = json.dumps(smaller.request("anthropic")).encode()
    assert given["compacted"] == hashlib.sha256(body).hexdigest()


@pytest.mark.parametrize(
    ("there", "large", "said"), [(False, True, True), (False, False, False), (True, True, False)]
)
def test_render_says_where_numba_would_pay(there, large, said, tmp_path, monkeypatch):
    monkeypatch.setattr(numba_support, "can_compile", lambda: there)
    monkeypatch.setattr(numba_support, "LARGE", 1000 if large else 12_000_000)
    done = run("render", EXAMPLE, "-o", tmp_path / "p")
    assert ("numba" in done.stderr) == said
