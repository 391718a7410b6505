"""Work is done once: how often each character is folded, segmented, encoded and counted in one compaction."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import snapshot
from snapshot.models import tokens
from snapshot.source.source import source_of
from snapshot.typeset import clusters, fold, pagetext
from tests.conftest import HERE


def counting(monkeypatch: pytest.MonkeyPatch, module: ModuleType, name: str, counts: Counter[str]) -> None:
    """Count the characters of the first argument of a function, wherever the package has imported it."""
    whole: Callable[..., Any] = getattr(module, name)

    def counted(text: str, *arguments: Any, **named: Any) -> Any:
        counts[name] += len(text)
        return whole(text, *arguments, **named)

    for other in [value for key, value in sys.modules.items() if key.startswith("snapshot")]:
        for key, value in list(vars(other).items()):
            if value is whole:
                monkeypatch.setattr(other, key, counted)


def test_a_compaction_looks_at_each_character_twice_at_most(monkeypatch: pytest.MonkeyPatch):
    run: Path = HERE / "data" / "ytt-start.claude-stream.jsonl"
    transcript = snapshot.load(run)
    snapshot.compact(
        transcript, model="claude-opus-4-8", window=30_000, digest=True
    )  # everything is imported
    tokens._KNOWN.__init__()  # and nothing is known
    chars = len(source_of(transcript).text)
    counts: Counter[str] = Counter()
    for module, name in (
        (fold, "fold"), (clusters, "continuations"), (pagetext, "encode"), (tokens, "_counted"),
    ):  # fmt: skip
        counting(monkeypatch, module, name, counts)
    # Another tail than before, so that no page of the first run is known. Pages are set to be measured and
    # once more to be drawn; here the denser cells are measured as well.
    done = snapshot.compact(transcript, model="claude-opus-4-8", window=30_000, tail=0.2, digest=True)
    assert done.report.pages
    for name, count in counts.items():
        assert count <= (3.1 if name == "encode" else 2.1) * chars, name
