"""How often a long run's prompt cache breaks, and what stays of its pages: whole runs one after the other.

    python -m benchmarks.prefix [RUN...] [--models ID,…] [--windows N,…] [--times N] [--each] [--json]

The runs are made one long conversation, several times over, each time with other ids and with every fourth
word changed, so that nothing is told twice that is not told twice in the runs themselves. It is compacted
before every request as docs/replay.md advises. Between two compactions with pages is counted:

- pages that stay: the newer request has the page, byte for byte, and in the same order
- the prefix: how much of the former frame (lead, pages, what stands beside them) begins the newer one
- a break: the prefix ends before the last page but one, which is all that need ever be set anew
- the jump: pages fewer than before; what is left out; pages that are dense

The default runs are those of `benchmarks.continuation`.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from difflib import SequenceMatcher
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import Any
from zlib import crc32

import snapshot
from benchmarks.continuation import default_runs
from snapshot.compaction import Options
from snapshot.compaction.options import Budget
from snapshot.compaction.result import Compaction
from snapshot.errors import CannotFit, SummarizerRequired
from snapshot.messages import Image, Message, Part, Text, ToolCall, ToolResult, Transcript
from snapshot.models.ids import profile_for
from snapshot.replay import Recording
from snapshot.replay.exact_strings import words

MODELS = ("claude-opus-4-8", "gemini-3.8-flash", "gpt-5.6-sol")
WINDOWS = (60_000, 100_000, 200_000)
_WRITE, _READ = 1.25, 0.1
_WORD = re.compile(r"(?<![\\A-Za-z])[A-Za-z]{5,}")


@dataclass(frozen=True)
class Step:
    """A compaction of a long run, beside the one before.

    Attributes:
        message: number of the message that is to come.
        before, after, safe: tokens of the request before and after it, and what is safe.
        tail: share of the tokens after that is word for word at the end.
        pages, dense: pages in the request, and those that are dense.
        left_out: characters of the middle that no page shows.
        kept: pages of the compaction before that the request has, byte for byte and in order.
        prefix: pages of the compaction before that the common prefix reaches over.
        former: pages of the compaction before.
        shared: tokens of the frame's common prefix, as a share of the former frame.
        same: tokens of that prefix.
        paid: what all input up to it costs, in tokens at the plain price: 1.25 to write, 0.1 to read.
        recall: of the exact strings of the next answers that had stood before, the share that is text.
    """

    message: int
    before: int
    after: int
    safe: int
    tail: float
    pages: int
    dense: int
    left_out: int
    kept: int = 0
    prefix: int = 0
    former: int = 0
    shared: float = 0.0
    same: int = 0
    paid: int = 0
    recall: float | None = None

    @property
    def breaks(self) -> bool:
        """Whether more is set anew than what follows the last page but one."""
        return self.former > 1 and self.prefix < self.former - 1


def long_run(runs: Sequence[Transcript], times: int) -> Transcript:
    """One conversation of several, each `times` times with ids of its own."""
    messages: list[Message] = []
    for again in range(times):
        for number, run in enumerate(runs):
            for message in run.messages:
                if message.role == "system" and messages:
                    continue
                messages.append(_renamed(message, f"r{again}_{number}_", again))
    return Transcript(tuple(messages), runs[0].format)


def _renamed(message: Message, lead: str, again: int) -> Message:
    def own(part: Part) -> Part:
        match part:
            case Text(text):
                return Text(_changed(text, again))
            case ToolCall():
                return replace(part, id=lead + part.id, arguments=_changed(part.arguments, again))
            case ToolResult():
                content = tuple(
                    Text(_changed(p.text, again)) if isinstance(p, Text) else p for p in part.content
                )
                return replace(part, call_id=lead + part.call_id, content=content)
            case _:
                return part

    return replace(message, parts=tuple(map(own, message.parts)), raw=(), usage=None)


def _changed(text: str, again: int) -> str:
    """The text with every fourth of its longer words another one, the same everywhere."""
    if not again:
        return text
    return _WORD.sub(lambda m: m[0] + "aeiou"[again % 5] * (crc32(m[0].encode()) % 4 == 0), text)


def steps(run: Transcript, *, model: str, window: int, most: int = 0, **settings: Any) -> list[Step]:
    """Every compaction of a run that is compacted before each request.

    Args:
        run: the whole run.
        model: id of the model.
        window: tokens of its window.
        most: compactions after which it ends; 0: all.
        settings: of `snapshot.compact`.
    """
    recording = Recording.of(run, model, overhead=0)
    options = Options(**{"window": window, "redact": False, "digest": True, "threshold": 0.9, **settings})
    budget = Budget.of(options, window, profile_for(model).max_output)
    found: list[Step] = []
    done: Compaction | None = None
    base, start, wait, before, paid = 0, 0, 0, 0, 0.0
    for number in recording.answers:
        tokens = base + recording.tokens(start, number)
        if (tokens <= budget.threshold or tokens < wait) and tokens <= budget.safe:
            paid += _WRITE * (tokens - before) + _READ * before
            before = tokens
            continue
        so_far = replace(run, messages=recording.messages[:number])
        archive = done.archive if done is not None else None
        try:
            made = snapshot.compact(so_far, model=model, archive=archive, options=options)
        except (CannotFit, SummarizerRequired) as error:
            print(f"stops at message {number}: {error}", file=sys.stderr)
            break
        if made.report.no_op:
            wait = tokens + window // 50
            paid += _WRITE * (tokens - before) + _READ * before
            before = tokens
            continue
        step = _step(number, made, done, recording)
        paid += _WRITE * (step.after - step.same) + _READ * step.same
        found.append(replace(step, paid=round(paid)))
        done, base, start, wait, before = made, step.after, number, 0, step.after
        if most and len(found) >= most:
            break
    return found


def _frame(done: Compaction) -> list[tuple[Any, int]]:
    """What identifies each part of the head and of the frame with the archive, and its tokens."""
    report = done.report
    messages = done.transcript.messages[: len(done.transcript.messages) - report.tail]
    estimator = done._context.estimator  # pyright: ignore[reportPrivateUsage, reportOptionalMemberAccess]
    parts = [part for message in messages for part in message.parts]
    return [
        (sha256(part.data).digest() if isinstance(part, Image) else part, estimator.part(part))
        for part in parts
    ]


def _step(number: int, made: Compaction, former: Compaction | None, recording: Recording) -> Step:
    report = made.report
    step = Step(
        number,
        report.before,
        report.after,
        report.safe,
        round(report.tail_tokens / report.after, 3),
        report.pages,
        report.dense_pages,
        report.left_out,
        recall=_recall(number, made, recording),
    )
    if former is None:
        return step
    new, old = _frame(made), _frame(former)
    new_pages = [key for key, _ in new if isinstance(key, bytes)]
    old_pages = [key for key, _ in old if isinstance(key, bytes)]
    matcher = SequenceMatcher(None, old_pages, new_pages, autojunk=False)
    common = 0
    for (one, _), (other, _) in zip(old, new, strict=False):
        if one != other:
            break
        common += 1
    shared = sum(tokens for _, tokens in old[:common])
    return replace(
        step,
        kept=sum(block.size for block in matcher.get_matching_blocks()),
        prefix=sum(isinstance(key, bytes) for key, _ in old[:common]),
        former=len(old_pages),
        same=shared,
        shared=round(shared / max(1, sum(tokens for _, tokens in old)), 3),
    )


def _recall(number: int, made: Compaction, recording: Recording) -> float | None:
    """Of the exact strings of the next 24 messages that had stood before, the share that is text."""
    text = "\n".join(map(words, made.transcript.messages))
    used = {
        item
        for at in range(number, min(number + 24, len(recording.messages)))
        if recording.messages[at].role == "assistant"
        for item in recording.strings[at]
        if recording.stands(item, 0, number)
    }
    return round(sum(item in text for item in used) / len(used), 3) if used else None


def summary(found: Sequence[Step]) -> dict[str, float]:
    """The figures of a run in one line."""
    later = [step for step in found if step.former]
    former = sum(max(0, step.former - 1) for step in later)
    recalls = [step.recall for step in found if step.recall is not None]
    jumps = [one.pages - other.pages for one, other in pairwise(found)]
    return {
        "compactions": len(found),
        "breaks": sum(step.breaks for step in later),
        "kept": sum(min(step.kept, step.former - 1) for step in later) / max(1, former),
        "prefix": sum(min(step.prefix, step.former - 1) for step in later) / max(1, former),
        "shared": sum(step.shared for step in later) / max(1, len(later)),
        "share": sum(step.after / step.before for step in found) / max(1, len(found)),
        "tail": min((step.tail for step in found), default=0.0),
        "recall": sum(recalls) / max(1, len(recalls)),
        "jump": max(jumps, default=0),
        "left_out": found[-1].left_out if found else 0,
        "paid": found[-1].paid / found[-1].message if found else 0,
    }


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, and print a line for each model and window."""
    parser = argparse.ArgumentParser(prog="benchmarks.prefix", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("runs", metavar="RUN", nargs="*", type=Path)
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--windows", default=",".join(map(str, WINDOWS)))
    parser.add_argument("--times", type=int, default=2, help="how often the runs follow each other")
    parser.add_argument("--most", type=int, default=0, help="compactions after which a run ends")
    parser.add_argument("--each", action="store_true", help="a line for each compaction")
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    arguments = parser.parse_args(argv)
    run = long_run(list(map(snapshot.load, arguments.runs or default_runs())), arguments.times)
    if not arguments.json:
        print(f"{len(run.messages):,} messages")
        print(
            f"{'model':<18}{'window':>9}{'times':>6}{'breaks':>7}{'kept':>6}{'prefix':>7}{'shared':>7}"
            f"{'share':>6}{'tail':>6}{'recall':>7}{'jump':>5}{'left out':>10}{'paid':>7}"
        )
    for model in arguments.models.split(","):
        for window in map(int, arguments.windows.split(",")):
            found = steps(run, model=model, window=window, most=arguments.most)
            figures = summary(found)
            if arguments.json:
                rows = [asdict(step) for step in found]
                print(json.dumps({"model": model, "window": window, **figures, "steps": rows}))
                continue
            if arguments.each:
                for step in found:
                    print("  ", asdict(step), step.breaks)
            print(
                f"{model:<18}{window:>9,}{figures['compactions']:>6}{figures['breaks']:>7}"
                f"{figures['kept']:>6.2f}{figures['prefix']:>7.2f}{figures['shared']:>7.2f}"
                f"{figures['share']:>6.2f}{figures['tail']:>6.2f}{figures['recall']:>7.3f}"
                f"{figures['jump']:>5}{figures['left_out']:>10,}"
                f"{figures['paid']:>7,.0f}",
                flush=True,
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
