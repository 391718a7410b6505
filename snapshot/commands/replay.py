"""`snapshot replay`: what a recorded run would have cost under several policies of compaction."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from snapshot.commands._arguments import (
    like_argument,
    load,
    model_argument,
    model_of,
    note_diagnostics,
    positive,
    reading_options,
)
from snapshot.commands._console import DONE, print_json, refuse_overwriting, save, say, tell
from snapshot.commands._progress import progress
from snapshot.commands._sessions import session_argument
from snapshot.commands._table import Column, paragraph, table
from snapshot.errors import SnapshotError

if TYPE_CHECKING:
    from snapshot.replay import Replay

__all__ = ["fill"]


def fill(parser: argparse.ArgumentParser) -> None:
    """Fill the command's parser."""
    parser.description = (
        "Plays a recorded run as the requests that it was, with the model's prompt cache and "
        "prices. Each message of the assistant is the answer to one request, with all before it."
    )
    parser.epilog = (
        "examples: snapshot replay session.jsonl -m claude-opus-4-8 --window 200000; "
        "snapshot replay *.jsonl -m gpt-5.6-sol --window 100000 --policy drop,ours --plot replay.svg"
    )
    session_argument(parser, "transcripts", several=True)
    model_argument(parser, "model to play it with")
    like_argument(parser)
    parser.add_argument("--window", metavar="N", type=positive, default=0, help="context window in tokens")
    parser.add_argument(
        "--policy",
        metavar="NAME,…",
        action="append",
        help="text, drop, summary, ours; repeatable (default: all)",
    )
    parser.add_argument("--target", metavar="T", type=float, help="what to come down to: a share, or tokens")
    parser.add_argument(
        "--threshold", metavar="T", type=float, help="from where on to compact: a share, or tokens"
    )
    parser.add_argument("--tail", metavar="S", type=float, help="share of the target that stays as it is")
    parser.add_argument(
        "--summary-tokens", metavar="N", type=positive, default=2000, help="tokens of a summary (2000)"
    )
    parser.add_argument(
        "--overhead",
        metavar="N",
        type=int,
        help="tokens of tool definitions and the like (default: by the first reported usage)",
    )
    parser.add_argument("--plot", metavar="FILE", type=Path, help="write the saw-tooth, .svg or .png")
    parser.add_argument("--json", action="store_true", help="one JSON object, with a row for each request")
    reading_options(parser)
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    from snapshot.compaction import Options
    from snapshot.replay import POLICIES, Recording, replay
    from snapshot.replay.replay import checked_policy

    refuse_overwriting(arguments.plot, *arguments.sessions)
    names = [name.strip() for given in arguments.policy or () for name in given.split(",") if name.strip()]
    policies = list(dict.fromkeys(map(checked_policy, names))) or list(POLICIES)
    settings = {
        name: getattr(arguments, name)
        for name in ("target", "threshold", "tail", "overhead")
        if getattr(arguments, name) is not None
    }
    options = Options().changed(settings)
    runs: dict[str, list[Replay]] = {}
    for session in arguments.sessions:
        transcript = load(session, arguments.format, arguments)
        model = model_of(arguments.model, transcript, arguments.like)
        recording = Recording.of(transcript, model, overhead=options.overhead)
        if not recording.answers:
            raise SnapshotError(f"{session}: no message of an assistant in it, so no request to replay")
        replays: list[Replay] = []
        with progress(f"replaying {_name(session, runs)}") as show:
            for policy in policies:
                replays.append(
                    replay(
                        recording,
                        policy=policy,
                        window=arguments.window,
                        summary_tokens=arguments.summary_tokens,
                        options=options,
                    )
                )
                show(len(replays), len(policies))
        runs[_name(session, runs)] = replays
        note_diagnostics(transcript)
    if arguments.plot is not None:
        from snapshot.costs.canvas import encoded
        from snapshot.replay.plot import saw_tooth

        save(arguments.plot, encoded(saw_tooth(runs), arguments.plot))
        say(f"{arguments.plot}: written")
    if arguments.json:
        print_json(
            {
                "schema": "snapshot-pages/replay/1",
                "runs": [
                    {"session": name, "policies": [item.as_json() for item in replays]}
                    for name, replays in runs.items()
                ],
            }
        )
    else:
        tell(*_table(runs))
    return DONE


def _name(session: str, taken: Mapping[str, object]) -> str:
    """A short name for a run: the file's, or the whole path where two have the same."""
    name = "standard input" if session == "-" else Path(session).name
    return name if name not in taken else session


_COLUMNS = (
    Column("policy", right=False), Column("USD"), Column("requests"), Column("compactions"), Column("recall"),
    Column("peak"), Column("fresh"), Column("written"), Column("read"), Column("output"),
)  # fmt: skip


def _table(runs: Mapping[str, Sequence[Replay]]) -> list[str]:
    lines: list[str] = []
    for name, replays in runs.items():
        first = replays[0]
        told = (
            f"{name}: {first.model}, a window of {first.window:,} tokens, {first.safe:,} safe for the input"
        )
        lines += [
            *paragraph(told),
            *table(_COLUMNS, [_row(item) for item in replays]),
            *(
                line
                for item in replays
                if item.stopped is not None
                for line in paragraph(
                    f"{item.policy} stops at message {item.stopped + 1}: {item.reason}", indent="  ", first=""
                )
            ),
            "",
        ]
    return [
        *lines,
        *paragraph(
            "Recall: of the exact strings (paths, names, numbers, …) that answers use and that had stood "
            "before, the share that was text in the request. Of what a summary or a page says nothing is "
            "counted."
        ),
    ]


def _row(item: Replay) -> tuple[str, ...]:
    return (
        item.policy,
        "-" if item.usd is None else f"{item.usd:.2f}" if item.usd >= 1 else f"{item.usd:.4f}",
        f"{len(item.requests):,}",
        f"{item.compactions:,}",
        "-" if item.recall is None else f"{item.recall:.3f}",
        f"{item.peak:,}",
        f"{item.fresh:,}",
        f"{item.written:,}",
        f"{item.read:,}",
        f"{item.output:,}",
    )
