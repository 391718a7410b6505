"""What a harness pays for calling `compact` before every request.

    python -m pytest benchmarks/bench_compact.py        # all of it, by pytest-benchmark
    python -m benchmarks.bench_compact [--most N]       # a table, see below
    python -m benchmarks.bench_compact --profile NAME   # where the time of one row goes

With nothing to do a call should take less than a millisecond per thousand messages, and going on from an
archive should cost by what is new, not by how long the history is. Each row of the table is the work of one
kind of call: milliseconds of processor time, the same per thousand messages, and as a multiple of the row of
the same kind with the fewest messages. Processor time and not the clock's, for machines that are busy; the
first line says how busy this one was.

    first            nothing is known of the run: it is compacted, with pages
    idle-transcript  the same transcript again, with nothing to do
    idle-list        the same list of an API's dictionaries again, with nothing to do
    turn-list        the list with one more call and result, with nothing to do
    archive-idle     the run with its archive, with nothing to do
    archive-turn     the run with one more turn and its archive, with nothing to do
    archive-again    the run with its archive and what is new, compacted again
    archive-next     the same, longer at each call, from the archive of the call before
    splice           the caller's list with what changed in it, from the archive, with nothing to do
    request          the body of a request with nothing to do

`--replay` and `--memory` are rows of their own: a run played with pages (`snapshot replay`), and a first
compaction in a process of its own, with the most memory that it takes. `--write FILE` keeps what was measured
as JSON, `benchmarks/results/compact.json` is such a file.
"""

from __future__ import annotations

import argparse
import cProfile
import json
import os
import pstats
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import snapshot
from benchmarks.processes import process
from snapshot.compaction import Archive, compact
from snapshot.compaction.history import forget
from snapshot.messages import Message, Text, ToolCall, ToolResult, Transcript

MODEL = "claude-opus-4-8"
SIZES = (1_000, 10_000, 100_000)
# Messages that are new since the archive was made.
NEW = 40
WINDOW = 200_000
_HUGE = 1 << 40
_ROUNDS = 3


def run_of(messages: int) -> Transcript:
    """An agent's run of so many messages: calls and their results, of ordinary sizes."""
    found = [Message("user", (Text("Mend the importer, and keep docs/NOTES.md as it is."),))]
    for step in range(messages // 2):
        call = ToolCall(f"c{step}", "read", f'{{"path": "src/part_{step}/module.py"}}')
        body = "\n".join(f"    value_{step}_{row} = read_row({row})  # as before" for row in range(20))
        found += [
            Message("assistant", (Text(f"Now part {step}."), call)),
            Message("tool", (ToolResult(f"c{step}", (Text(body),)),)),
        ]
    return Transcript(tuple(found[:messages]), "openai-chat")


def as_dictionaries(transcript: Transcript) -> list[dict[str, Any]]:
    """The same in the form of OpenAI's API."""
    return snapshot.request(transcript, "openai")["messages"]


def nothing_to_do(conversation: Transcript | Sequence[Any]) -> Callable[[], object]:
    """A call that has nothing to do."""
    return lambda: compact(conversation, model=MODEL, window=_HUGE)


def archived(messages: int) -> tuple[Transcript, Archive, int]:
    """A run with the archive of all but its newest messages, and the window that both are for."""
    run = run_of(messages + NEW + 1)
    first = replace(run, messages=run.messages[: messages + 1])
    done = compact(first, model=MODEL, window=WINDOW, digest=True)
    assert done.archive is not None
    return run, done.archive, WINDOW


def going_on(made: tuple[Transcript, Archive, int], *, trigger: str) -> Callable[[], object]:
    """A call with the archive: one that finds nothing to do ("target"), or one that compacts again."""
    run, archive, size = made
    if trigger == "target":
        size *= 2  # room for what is new, however full the archive has left the window
    settings: dict[str, Any] = {"trigger": trigger, "digest": True}
    return lambda: compact(run, model=MODEL, archive=archive, window=size, **settings)


def growing(conversation: Transcript | list[Any], *, from_size: int, **settings: Any) -> Callable[[], object]:
    """A call after which the conversation is longer by one call and its result at each call."""
    whole = conversation.messages if isinstance(conversation, Transcript) else conversation
    size = from_size

    def call() -> object:
        nonlocal size
        size += 2
        so_far: Any = whole[:size]
        if isinstance(conversation, Transcript):
            so_far = replace(conversation, messages=so_far)
        return compact(so_far, model=MODEL, **settings)

    return call


def first(run: Transcript) -> Callable[[], object]:
    """A call that knows nothing of the run."""

    def call() -> object:
        forget()
        return compact(run, model=MODEL, window=WINDOW, digest=True)

    return call


def rows(most: int) -> Mapping[str, tuple[int, Callable[[], Callable[[], object]]]]:
    """Each row of the table: messages, and what prepares the call."""
    found: dict[str, tuple[int, Callable[[], Callable[[], object]]]] = {}
    sizes = [size for size in SIZES if size <= most]
    kinds: dict[str, Callable[[int], Callable[[], object]]] = {
        "first": lambda size: first(run_of(size + 1)),
        "idle-transcript": lambda size: nothing_to_do(run_of(size)),
        "idle-list": lambda size: nothing_to_do(as_dictionaries(run_of(size))),
        "turn-list": lambda size: growing(
            as_dictionaries(run_of(size + NEW + 1)), from_size=size + 1, window=_HUGE
        ),
        "archive-idle": lambda size: going_on(archived(size), trigger="target"),
        "archive-turn": _archive_turn,
        "archive-again": lambda size: going_on(archived(size), trigger="manual"),
        "archive-next": next_ones,
        "splice": spliced,
        "request": lambda size: requested(as_dictionaries(run_of(size))),
    }
    for kind, prepare in kinds.items():
        for size in sizes:
            found[f"{kind}-{size}"] = size, lambda prepare=prepare, size=size: prepare(size)
    return found


def next_ones(size: int) -> Callable[[], object]:
    """A call that compacts again what has become longer since the call before, from that one's archive."""
    run = run_of(size + 1 + NEW * (_ROUNDS + 2))
    stop, archive = size + 1, None

    def call() -> object:
        nonlocal stop, archive
        so_far = replace(run, messages=run.messages[:stop])
        done = compact(so_far, model=MODEL, archive=archive, window=WINDOW, digest=True, trigger="manual")
        stop, archive = stop + NEW, done.archive
        return done

    call()
    return call


def spliced(size: int) -> Callable[[], object]:
    """The caller's list with an archive in it; nothing is to be done."""
    run, archive, window = archived(size)
    done = compact(as_dictionaries(run), model=MODEL, archive=archive, window=2 * window, digest=True)
    return done.splice


def requested(conversation: list[dict[str, Any]]) -> Callable[[], object]:
    """The body of a request; nothing is to be done."""
    done = compact(conversation, model=MODEL, window=_HUGE)
    return lambda: done.request("openai")


def replayed(size: int) -> Callable[[], object]:
    """A run played with pages, in a window that it fills many times over."""
    from snapshot.replay import replay

    run = run_of(size)

    def call() -> object:
        forget()
        return replay(run, model=MODEL, policy="ours", window=WINDOW)

    return call


_ALONE = """
import sys
from benchmarks.bench_compact import MODEL, WINDOW, compact, run_of
compact(run_of(int(sys.argv[1]) + 1), model=MODEL, window=WINDOW, digest=True)
"""


def _archive_turn(size: int) -> Callable[[], object]:
    run, archive, window = archived(size)
    return growing(run, from_size=size + 1, archive=archive, window=2 * window, digest=True)


@pytest.mark.benchmark(group="nothing to do")
@pytest.mark.parametrize("size", SIZES[:2])
@pytest.mark.parametrize("form", [lambda run: run, as_dictionaries], ids=["transcript", "dictionaries"])
def test_nothing_to_do(benchmark, form, size):
    done = benchmark.pedantic(nothing_to_do(form(run_of(size))), rounds=3, warmup_rounds=1)
    assert done.report.no_op


@pytest.mark.benchmark(group="going on")
@pytest.mark.parametrize("trigger", ["target", "manual"])
@pytest.mark.parametrize("size", SIZES[:2])
def test_going_on_from_an_archive(benchmark, size, trigger):
    done = benchmark.pedantic(going_on(archived(size), trigger=trigger), rounds=2, warmup_rounds=1)
    assert done.archive is not None
    assert bool(done.report.no_op) == (trigger == "target")


@pytest.mark.benchmark(group="compact")
@pytest.mark.parametrize("size", [100, *SIZES[:2]])
def test_compact(benchmark, size):
    run = run_of(size)
    # It ends with a call, and nothing is compacted while one is open.
    run = replace(run, messages=run.messages[:-1])
    done = benchmark.pedantic(
        lambda: compact(run, model=MODEL, window=200_000, trigger="manual", digest=True), rounds=2
    )
    benchmark.extra_info["pages"] = done.report.pages
    assert done.report.after < done.report.before


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table, or the profile of one row."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--most", type=int, default=SIZES[-1], help="messages of the longest run")
    parser.add_argument("--profile", metavar="NAME", help="a row of the table")
    parser.add_argument("--only", metavar="KIND", action="append", help="only rows of this kind")
    parser.add_argument("--replay", type=int, metavar="N", action="append", default=[], help="messages")
    parser.add_argument("--memory", type=int, metavar="N", action="append", default=[], help="messages")
    parser.add_argument("--write", metavar="FILE", help="keep what was measured as JSON")
    arguments = parser.parse_args(argv)
    table = rows(arguments.most)
    if arguments.only:
        table = {name: row for name, row in table.items() if name.rpartition("-")[0] in arguments.only}
    if arguments.profile:
        if arguments.profile not in table:
            print(f"bench_compact: no row {arguments.profile}: there are {', '.join(table)}", file=sys.stderr)
            return 2
        call = table[arguments.profile][1]()
        call()
        profile = cProfile.Profile()
        profile.runcall(call)
        pstats.Stats(profile).strip_dirs().sort_stats("cumulative").print_stats(30)
        return 0
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg()) if hasattr(os, "getloadavg") else "unknown"
    print(f"load {load} on {os.cpu_count()} processors; least of {_ROUNDS} rounds")
    print(f"{'row':<24}{'CPU ms':>10}{'per 1,000':>12}{'multiple':>10}")
    least: dict[str, float] = {}
    kept: list[dict[str, Any]] = []
    for name, (size, prepare) in table.items():
        call = prepare()
        call()
        best = min(_timed(call) for _ in range(_ROUNDS))
        base = least.setdefault(name.rpartition("-")[0], best)
        print(f"{name:<24}{best:>10.2f}{best / size * 1000:>12.3f}{best / base:>10.1f}", flush=True)
        kept.append({"row": name, "messages": size, "cpu_ms": round(best, 2)})
    for size in arguments.replay:
        best = _timed(replayed(size))
        print(f"{f'replay-{size}':<24}{best:>10.0f}{best / size * 1000:>12.0f}", flush=True)
        kept.append({"row": f"replay-{size}", "messages": size, "cpu_ms": round(best)})
    for size in arguments.memory:
        cpu, _, peak = process(["-c", _ALONE, str(size)], 1)
        print(f"{f'memory-{size}':<24}{cpu * 1000:>10.0f}   {peak:.0f} MB at the peak", flush=True)
        kept.append(
            {"row": f"memory-{size}", "messages": size, "cpu_ms": round(cpu * 1000), "mb": round(peak)}
        )
    if arguments.write:
        Path(arguments.write).write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    return 0


def _timed(call: Callable[[], object]) -> float:
    began = time.process_time()
    call()
    return (time.process_time() - began) * 1000


if __name__ == "__main__":
    sys.exit(main())
