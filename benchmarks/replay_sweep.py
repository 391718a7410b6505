"""Which target, tail and threshold: whole runs replayed with each, by what they cost and what stays as text.

    python -m benchmarks.replay_sweep [RUN...] [--models ID,…] [--share S] [--targets T,…] [--tails T,…]
                                      [--thresholds T,…]

The window has room for the share S of the run's messages (as text, for the reader at hand), so that the run
is compacted several times. A line for each setting: mean USD of all runs as a share of what dropping the
oldest costs (at the defaults, when the window is full), continuation recall behind the first compaction,
compactions a run, and runs that came to a stop.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import snapshot
from benchmarks.continuation import SAFE, default_runs
from snapshot.compaction import Options
from snapshot.replay import Recording, Replay, replay

MODELS = ("claude-opus-4-8", "claude-haiku-4-5", "gpt-5.6-sol", "gemini-3.8-flash", "qwen3.8-max")


def window_of(recording: Recording, share: float) -> int:
    """A window, in whole thousands, with room for a share of the run's messages beside the overhead."""
    size = recording.estimator.overhead + share * recording.tokens(0, len(recording.messages))
    return max(1, round(size / SAFE / 1000)) * 1000


def swept(
    recordings: Sequence[Recording], share: float, settings: Sequence[Options]
) -> Iterator[tuple[Options, list[Replay]]]:
    """Each setting with the replays of all runs under it."""
    for options in settings:
        yield (
            options,
            [
                replay(recording, window=window_of(recording, share), options=options)
                for recording in recordings
            ],
        )


def line(label: str, ours: Sequence[Replay], drop: Sequence[Replay]) -> str:
    """The figures of one setting, its cost as a share of what `drop` costs."""
    # Up to where the shortest of the two came, so that a run that stops is not cheap for it.
    ratios: list[float] = []
    for one, other in zip(ours, drop, strict=True):
        last = min((item.stopped for item in (one, other) if item.stopped is not None), default=1 << 30)
        costs = [
            float(sum(row.usd or 0 for row in item.requests if row.message < last)) for item in (one, other)
        ]
        ratios.append(costs[0] / costs[1] if costs[1] else 1.0)
    recalls = [item.recall_after for item in ours if item.recall_after is not None]
    return (
        f"{label}{_mean(ratios):>10.2f}{_mean(recalls):>8.3f}"
        f"{_mean([item.compactions for item in ours]):>9.1f}{_stops(ours):>7}"
    )


def _label(options: Options) -> str:
    threshold = "none" if options.threshold is None else f"{options.threshold:.2f}"
    return f"{options.target:>7.2f}{options.tail:>6.2f}{threshold:>10}"


HEAD = " target  tail threshold  USD/drop  recall  compact  stops"


def _stops(replays: Sequence[Replay]) -> int:
    return sum(item.stopped is not None for item in replays)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / max(1, len(values))


def main(argv: Sequence[str] | None = None) -> int:
    """Sweep and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("runs", metavar="RUN", nargs="*", type=Path)
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--share", type=float, default=0.5)
    parser.add_argument("--targets", default="0.4,0.5,0.6,0.7")
    parser.add_argument("--tails", default="0.3")
    parser.add_argument("--thresholds", default="none,0.8,0.9,1.0")
    arguments = parser.parse_args(argv)
    settings = [
        Options(
            target=float(target),
            tail=float(tail),
            threshold=None if threshold == "none" else float(threshold),
        )
        for tail, target, threshold in itertools.product(
            arguments.tails.split(","), arguments.targets.split(","), arguments.thresholds.split(",")
        )
    ]
    try:
        transcripts = [snapshot.load(run) for run in arguments.runs or default_runs()]
        for model in arguments.models.split(","):
            recordings = [Recording.of(transcript, model) for transcript in transcripts]
            windows = ", ".join(f"{window_of(recording, arguments.share):,}" for recording in recordings)
            print(f"{model}, windows {windows}\n{HEAD}")
            drop = [
                replay(recording, policy="drop", window=window_of(recording, arguments.share))
                for recording in recordings
            ]
            print(line(f"{'oldest dropped':<23}", drop, drop))
            for options, played in swept(recordings, arguments.share, settings):
                print(line(_label(options), played, drop), flush=True)
            print()
    except snapshot.SnapshotError as error:
        print(f"replay_sweep: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
