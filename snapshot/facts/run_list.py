"""Runs of random characters as text beside pages that have only their marks: the likely needed ones first."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from snapshot.facts.survey import survey_of
from snapshot.models.profile import ModelProfile
from snapshot.models.tokens import text_tokens
from snapshot.source.run_marks import numbered_runs
from snapshot.source.text import Source

__all__ = ["RunList", "run_list"]

_HEAD = "Runs of random characters, by their numbers on the pages:"
# What the length of a run counts for against its use: it is divided by the root of length and this.
_AROUND = 64


@dataclass(frozen=True, slots=True)
class RunList:
    """The list.

    Attributes:
        text: what travels beside the pages; "" where there is nothing to say or no room.
        count: runs in it.
        left_out: runs on the pages that are only in the archive.
        tokens: estimated tokens of `text`.
    """

    text: str = ""
    count: int = 0
    left_out: int = 0
    tokens: int = 0


def run_list(
    source: Source,
    pages: Sequence[tuple[int, int]],
    *,
    tail: Iterable[str],
    budget: int,
    reader: ModelProfile,
) -> RunList:
    """The runs of `source` whose marks stand on its pages.

    They are ranked as other exact strings are, by who used them, how often and how lately.

    Args:
        source: the source text as it was written.
        pages: half-open spans of it on the pages, in order.
        tail: what the request has as text besides: a run that stands there is not listed.
        budget: estimated tokens that the list may take.
        reader: whose tokens they are.
    """
    first, last = (pages[0][0], pages[-1][1]) if pages else (0, 0)
    places: dict[int, list[int]] = {}
    runs = numbered_runs(source)
    for run in runs:
        if first <= run.start and run.stop <= last:
            places.setdefault(run.number, []).append(run.start)
    if not places:
        return RunList()
    texts = {run.number: source.text[run.start : run.stop] for run in runs if run.number in places}
    beside = "\n".join(tail)
    wanted = [number for number in places if texts[number] not in beside]
    known = {texts[number]: at for at, number in enumerate(wanted)}
    offsets = np.array([offset for number in wanted for offset in places[number]], np.int64)
    numbers = np.repeat(np.arange(len(wanted)), [len(places[number]) for number in wanted])
    with survey_of(source) as survey:
        once = survey.uses.once(offsets, numbers)
        worth = survey.uses.scores(offsets[once], numbers[once], known).tolist()
    ranked = sorted(
        range(len(wanted)),
        key=lambda at: (
            -worth[at] / (len(texts[wanted[at]]) + _AROUND) ** 0.5,
            -places[wanted[at]][-1],
            wanted[at],
        ),
    )
    lines = [_HEAD]
    tokens = text_tokens(_HEAD, reader)
    chosen: list[tuple[int, str]] = []
    for at in ranked:
        line = f"{wanted[at]}: {_quoted(texts[wanted[at]])}"
        more = text_tokens("\n" + line, reader)
        if tokens + more <= budget:
            chosen.append((wanted[at], line))
            tokens += more
    lines += [line for _, line in sorted(chosen)]
    if not chosen:
        return RunList(left_out=len(wanted))
    text = "\n".join(lines)
    return RunList(text, len(chosen), len(wanted) - len(chosen), text_tokens(text, reader))


def _quoted(text: str) -> str:
    """The text, in quotes and with escapes where it would break the line."""
    return text if len(text.splitlines()) == 1 else json.dumps(text, ensure_ascii=False)
