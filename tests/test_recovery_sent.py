"""What `recover` takes a refused request for, where it is given the whole history and an archive."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import snapshot
from snapshot.compaction.compact import profile_of
from snapshot.compaction.options import Options
from snapshot.errors import CannotFit
from snapshot.recovery.recover import _Sent
from tests.conftest import examples
from tests.conversations import told_words

MODEL, WINDOW = "claude-opus-4-8", 20_000
RUNGS: dict[str, dict[str, Any]] = {
    "digest": {"rungs": ("summarize",), "digest": True},
    "summary": {"rungs": ("summarize",), "summarize": lambda _prompt: "What was done so far. " * 400},
    "elided": {"rungs": ("elide",)},
    "elided and digest": {"rungs": ("elide", "summarize"), "digest": True},
    "pages": {},
}


def run_of(sizes: list[int]) -> list[dict[str, Any]]:
    """A task, and calls with results of so many words, one batch of three among them."""
    said: list[dict[str, Any]] = [{"role": "user", "content": "Do the task."}]
    for number, size in enumerate(sizes):
        ids = [f"toolu_{number}_{call}" for call in range(3 if number % 4 == 3 else 1)]
        calls = [
            {"type": "tool_use", "id": one, "name": "Read", "input": {"path": f"{number % 3}.py"}}
            for one in ids
        ]
        results = [
            {"type": "tool_result", "tool_use_id": one, "content": told_words(one, size)} for one in ids
        ]
        said += [{"role": "assistant", "content": calls}, {"role": "user", "content": results}]
    return said


@pytest.mark.sampled(2)
@pytest.mark.parametrize("how", RUNGS)
@settings(max_examples=examples(12))
@given(sizes=st.lists(st.sampled_from([10, 200, 900, 4000]), min_size=8, max_size=30))
def test_it_is_what_the_archive_left_with_all_that_stands_for_the_rest(how, sizes):
    history = run_of(sizes)
    try:
        done = snapshot.compact(history, model=MODEL, window=WINDOW, threads=1, **RUNGS[how])
    except CannotFit:
        return
    if done.archive is None:
        return
    options = Options(window=WINDOW)
    reader = profile_of(MODEL, options)
    of_history = _Sent.of(history, done.archive, (), reader, options)
    of_request = _Sent.of(done.transcript, done.archive, (), reader, options)
    assert of_history.tokens() == pytest.approx(of_request.tokens(), rel=0.02)
    assert of_history.as_whole().tokens() > of_history.tokens()


@pytest.mark.parametrize("how", [how for how in RUNGS if how != "elided"])
def test_what_comes_back_is_smaller_than_what_was_refused(how):
    history = run_of([900] * 14)
    done = snapshot.compact(history, model=MODEL, window=WINDOW, threads=1, **RUNGS[how])
    assert done.archive is not None
    counted = done.report.after + 1500
    error = {
        "type": "error",
        "error": {
            "type": "invalid_request_error",
            "message": f"prompt is too long: {counted} tokens > {counted - 1000} maximum",
        },
    }
    again = snapshot.recover(history, error, model=MODEL, window=WINDOW, archive=done.archive)
    assert again.report.after < done.report.after
