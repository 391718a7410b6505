"""What the next request still knows: a measure of a compaction on real agent runs, without a model.

    python -m benchmarks.continuation [RUN...] [--model ID] [--target T] [--tail T] [--json]

Each run is cut at 30, 50, 70 and 85 % of its messages, as if its window were full there: the request is a
quarter above what is safe. What stands before the cut is compacted. Of the exact strings (paths, names,
hashes, numbers, flags, URLs) that the agent then uses in its next 24 messages, those that had stood before
are looked up in the compacted request: a string stands there as text, on a page only, or nowhere ("gone").

Beside it stand the two simplest ways: the newest 20 or 30 % of the tokens word for word, the oldest dropped.
Without RUN these are the real runs beside the checkout, or else those in tests/data.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import snapshot
from snapshot.compaction.estimate import Estimator
from snapshot.messages import Message, Transcript
from snapshot.replay.exact_strings import exact_strings, kind_of, words

ROOT = Path(__file__).resolve().parents[1]
REAL = ROOT.parent / "shared" / "transcripts"
EXAMPLES = ROOT / "tests" / "data"
CUTS = (0.3, 0.5, 0.7, 0.85)
NEXT = 24
# Characters before a cut that are worth a compaction.
SMALLEST = 28_000
# The request is this share above what is safe: shares of the window that are safe, and of that share.
SAFE, FULL = 0.73, 0.8
BASELINES = (0.2, 0.3)
_HUGE = 10_000_000


@dataclass(frozen=True, slots=True)
class Cut:
    """A compaction at one cut, or what a baseline keeps there.

    Attributes:
        run: the run's name.
        where: share of the messages before the cut.
        way: "ours", or the baseline's name.
        before, after: tokens of the request.
        pages: pages in it.
        tail: messages that stayed word for word at the end.
        tail_tokens: their tokens.
        text, page, gone: exact strings that the agent goes on to use, by where they stand.
        gone_strings: those that stand nowhere.
        kinds: the same counts by kind.
        refused: why nothing could be made, "" if something was.
    """

    run: str
    where: float
    way: str
    before: int = 0
    after: int = 0
    pages: int = 0
    tail: int = 0
    tail_tokens: int = 0
    text: int = 0
    page: int = 0
    gone: int = 0
    gone_strings: tuple[str, ...] = ()
    kinds: dict[str, int] = field(default_factory=dict[str, int])
    refused: str = ""

    @property
    def recall(self) -> float:
        """Share of the strings that stand as text; nothing stands in a request that was refused."""
        return 0.0 if self.refused else self.text / max(1, self.text + self.page + self.gone)

    @property
    def share(self) -> float:
        """Tokens after over tokens before."""
        return self.after / max(1, self.before)

    @property
    def tail_share(self) -> float:
        """Share of the tokens after that is word for word at the end."""
        return self.tail_tokens / max(1, self.after)


def default_runs() -> list[Path]:
    """The real runs beside the checkout, or those in tests/data."""
    folder = REAL if REAL.is_dir() else EXAMPLES
    return sorted([*folder.glob("*.jsonl"), *folder.glob("*.atif.json")])


def cuts_of(run: str, transcript: Transcript, *, model: str, **settings: Any) -> Iterator[Cut]:
    """Every cut of a run, ours first, then the baselines."""
    messages = transcript.messages
    said = [words(message) for message in messages]
    for where in CUTS:
        cut = int(len(messages) * where)
        while cut < len(messages) and messages[cut].role == "tool":
            cut += 1
        if sum(map(len, said[:cut])) < SMALLEST:
            continue
        before = "\n".join(said[:cut])
        used = {
            item
            for message, text in zip(messages[cut : cut + NEXT], said[cut : cut + NEXT], strict=True)
            if message.role == "assistant"
            for item in exact_strings(text)
            if item in before
        }
        first = replace(transcript, messages=messages[:cut])
        yield _ours(Cut(run, where, "ours"), first, used, model, settings)
        yield from _baselines(Cut(run, where, ""), first, said, used, model)


def _ours(blank: Cut, first: Transcript, used: set[str], model: str, settings: dict[str, Any]) -> Cut:
    size = snapshot.compact(first, model=model, window=_HUGE).report.before
    window = int(size / SAFE * FULL)
    try:
        done = snapshot.compact(first, model=model, window=window, **settings)
    except snapshot.SnapshotError as error:
        return replace(blank, before=size, refused=f"{type(error).__name__}: {error}")
    report = done.report
    pages = ""
    if done.archive is not None:
        shown = [done.archive.page(number) for number in range(1, done.archive.page_count + 1)]
        pages = "".join(shown)
    counted = _placed(blank, used, "\n".join(map(words, done.transcript.messages)), pages)
    return replace(
        counted,
        before=report.before,
        after=report.after,
        pages=report.pages,
        tail=report.tail,
        tail_tokens=report.tail_tokens,
    )


def _baselines(
    blank: Cut, first: Transcript, said: Sequence[str], used: set[str], model: str
) -> Iterator[Cut]:
    """The newest messages that have a share of the tokens, word for word; everything older dropped."""
    from snapshot.compaction.usage import context_usage
    from snapshot.models.ids import profile_for

    usage = context_usage(first.messages, profile_for(model))
    estimator: Estimator = usage.estimator
    costs = [estimator.message(message) for message in first.messages]
    before = estimator.overhead + sum(costs)
    for share in BASELINES:
        start, tokens = len(costs), 0
        while start > 0 and tokens + costs[start - 1] <= share * before:
            start -= 1
            tokens += costs[start]
        kept: Sequence[Message] = first.messages[start:]
        counted = _placed(blank, used, "\n".join(said[start : len(first.messages)]), "")
        yield replace(
            counted,
            way=f"newest {share:.0%}",
            before=before,
            after=estimator.overhead + tokens,
            tail=len(kept),
            tail_tokens=tokens,
        )


def _placed(blank: Cut, used: set[str], text: str, pages: str) -> Cut:
    """The counts of where each string stands."""
    places = {item: "text" if item in text else "page" if item in pages else "gone" for item in sorted(used)}
    count = Counter(places.values())
    kinds = Counter(f"{kind_of(item)} {place}" for item, place in places.items())
    gone = tuple(item for item, place in places.items() if place == "gone")
    return replace(
        blank,
        text=count["text"],
        page=count["page"],
        gone=count["gone"],
        gone_strings=gone,
        kinds=dict(sorted(kinds.items())),
    )


def means(cuts: Sequence[Cut]) -> dict[str, dict[str, float]]:
    """For each way the mean of each figure over its cuts; a refused one has recall 0 and counts nowhere
    else."""
    found: dict[str, dict[str, float]] = {}
    for way in dict.fromkeys(cut.way for cut in cuts):
        of_way = [cut for cut in cuts if cut.way == way]
        made = [cut for cut in of_way if not cut.refused]
        found[way] = {
            "cuts": len(of_way),
            "recall": _mean([cut.recall for cut in of_way]),
            "share": _mean([cut.share for cut in made]),
            "tail_share": _mean([cut.tail_share for cut in made]),
            "least_tail_share": min((cut.tail_share for cut in made), default=0.0),
            "text": sum(cut.text for cut in of_way),
            "page": sum(cut.page for cut in of_way),
            "gone": sum(cut.gone for cut in of_way),
            "refused": len(of_way) - len(made),
        }
    return found


def _mean(values: Sequence[float]) -> float:
    return sum(values) / max(1, len(values))


def _lines(cuts: Sequence[Cut]) -> Iterator[str]:
    head = f"{'run':<26}{'cut':>5}  {'way':<11}{'before':>9}{'after':>9}{'share':>7}{'tail':>6}{'pages':>6}"
    yield f"{head}{'text':>6}{'page':>6}{'gone':>6}{'recall':>8}"
    for cut in cuts:
        lead = f"{cut.run[:25]:<26}{cut.where:>5.2f}  {cut.way:<11}{cut.before:>9,}"
        if cut.refused:
            yield f"{lead}  refused: {cut.refused[:100]}"
            continue
        yield (
            f"{lead}{cut.after:>9,}{cut.share:>7.2f}{cut.tail_share:>6.2f}{cut.pages:>6}"
            f"{cut.text:>6}{cut.page:>6}{cut.gone:>6}{cut.recall:>8.2f}"
        )
    yield ""
    head = f"{'mean of':<12}{'cuts':>5}{'recall':>8}{'share':>7}{'tail':>6}{'least':>7}"
    yield f"{head}{'text':>6}{'page':>6}{'gone':>6}{'refused':>9}"
    for way, mean in means(cuts).items():
        yield (
            f"{way:<12}{mean['cuts']:>5}{mean['recall']:>8.3f}{mean['share']:>7.3f}{mean['tail_share']:>6.2f}"
            f"{mean['least_tail_share']:>7.2f}{mean['text']:>6}{mean['page']:>6}{mean['gone']:>6}{mean['refused']:>9}"
        )


def main(argv: Sequence[str] | None = None) -> int:
    """Measure the runs and print the table."""
    parser = argparse.ArgumentParser(
        prog="benchmarks.continuation", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("runs", metavar="RUN", nargs="*", type=Path)
    parser.add_argument("--model", default="claude-opus-4-8")
    parser.add_argument("--target", type=float)
    parser.add_argument("--tail", type=float)
    parser.add_argument("--json", action="store_true", help="one JSON object")
    arguments = parser.parse_args(argv)
    settings = {
        name: value
        for name, value in (("target", arguments.target), ("tail", arguments.tail))
        if value is not None
    }
    cuts: list[Cut] = []
    try:
        snapshot.Options().changed(settings)
        for run in arguments.runs or default_runs():
            cuts += cuts_of(run.name, snapshot.load(run), model=arguments.model, **settings)
    except snapshot.SnapshotError as error:
        print(f"continuation: {error}", file=sys.stderr)
        return 2
    if arguments.json:
        rows = [
            asdict(cut) | {"recall": cut.recall, "share": cut.share, "tail_share": cut.tail_share}
            for cut in cuts
        ]
        print(json.dumps({"model": arguments.model, "cuts": rows, "means": means(cuts)}, indent=1))
    else:
        print("\n".join(_lines(cuts)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
