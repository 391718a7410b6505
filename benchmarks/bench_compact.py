"""Compaction at three sizes: the cost grows with the number of messages.

python -m pytest benchmarks/bench_compact.py
"""

from __future__ import annotations

import pytest

from snapshot.compaction import compact
from tests.conversations import long_conversation


@pytest.mark.benchmark(group="compact")
@pytest.mark.parametrize("messages", [100, 1000, 10_000])
def test_compact(benchmark, messages):
    conversation = long_conversation(messages // 4)
    done = benchmark.pedantic(
        lambda: compact(conversation, model="claude-opus-4-8", window=200_000, trigger="manual"), rounds=2
    )
    benchmark.extra_info["pages"] = done.report.pages
    assert done.report.after < done.report.before
