"""The tail is a share of what is sent, also where pages do not come near the goal."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from snapshot.compaction.compact import compact
from snapshot.compaction.options import Options

PROSE = "the request of a user went through after its middle was set as pages because nothing else fits"


def run(seed: int, groups: int) -> list[dict[str, Any]]:
    """A run of one turn, in prose, which has many characters a token: pages save the least of it."""
    random = Random(seed)
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Read all of the reports."}]
    for number in range(groups):
        text = " ".join(random.choices(PROSE.split(), k=random.randint(40, 400)))
        call = {"type": "tool_use", "id": f"c{number}", "name": "read", "input": {"report": number}}
        messages += [
            {"role": "assistant", "content": [call]},
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": f"c{number}", "content": f"{number}: {text}"}
                ],
            },
        ]
    return messages


@pytest.mark.parametrize("model", ["claude-opus-4-8", "claude-haiku-4-5", "gpt-5.6-sol", "grok-4.7"])
@pytest.mark.parametrize("full", [0.9, 1.2])
@pytest.mark.parametrize("seed", range(3))
def test_a_fifth_of_what_is_sent_is_word_for_word(model, full, seed):
    messages = run(seed, 60)
    size = compact(messages, model=model, window=10_000_000).report.before
    window = int(size / full / 0.73)
    report = compact(messages, model=model, window=window).report
    assert report.pages
    assert report.tail_tokens >= 0.2 * report.after


def test_where_pages_reach_the_goal_the_tail_is_what_was_asked_for():
    messages = run(0, 60)
    size = compact(messages, model="gemini-3.8-flash", window=10_000_000).report.before
    report = compact(messages, model="gemini-3.8-flash", window=int(size / 0.9 / 0.73)).report
    largest = 900
    assert report.pages
    assert report.after < report.goal
    assert report.tail_tokens <= Options().tail * report.goal + largest


def test_a_wide_window_does_not_make_the_tail_the_whole_conversation():
    """What stands beside pages is a share of the goal, and never more than the conversation."""
    done = compact(run(0, 60), model="gpt-5.6-sol", window=1_000_000, trigger="manual")
    assert done.report.pages
    assert done.report.tail_tokens < 0.3 * done.report.after
