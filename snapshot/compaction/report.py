"""What a compaction did, in figures and in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

__all__ = ["Report", "RungReport"]


@dataclass(frozen=True, slots=True)
class RungReport:
    """One step of the ladder: its name, the tokens it freed, and what it did or why it did nothing."""

    name: str
    freed: int
    note: str


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Report:
    """The account of a compaction: what it did, in figures and in words.

    Attributes:
        before, after: estimated tokens of the request, by one estimator.
        occupancy: how full the window was, and `basis`: where that figure comes from.
        window, safe, goal: the model's window, what the input may take, what was aimed at.
        no_op: why nothing was done, "" if something was.
        rungs: what each rung freed.
        head, middle, tail: numbers of messages in each part.
        tail_tokens: tokens of the tail, which is word for word.
        notes: what was shortened, dropped or put on pages of its own, a sentence each.
        pages, page_tokens: pages in the request and what they cost.
        images: all images in the request.
        dense_pages: pages set in the denser layout.
        left_out: characters of the middle that no page in the request shows; they are in the archive.
        facts, facts_left_out: exact strings that travel as text, and those there was no room for.
        orphans, unanswered, empty: repairs of the conversation.
        orphans_named: results that are not sent since no call before them waits for them, a sentence each.
        redactions: credentials replaced, by kind.
        folded: characters that no page shows, by kind of fold.
        code_points: characters that pages show as code points, for want of a glyph, by script or kind.
        break_even: requests after which the pages are cheaper, counting the prompt cache; None if not asked.
    """

    before: int
    after: int
    occupancy: int
    basis: str
    window: int
    safe: int
    goal: int
    no_op: str = ""
    rungs: tuple[RungReport, ...] = ()
    head: int = 0
    middle: int = 0
    tail: int = 0
    tail_tokens: int = 0
    notes: tuple[str, ...] = ()
    pages: int = 0
    page_tokens: int = 0
    images: int = 0
    dense_pages: int = 0
    left_out: int = 0
    facts: int = 0
    facts_left_out: int = 0
    orphans: int = 0
    orphans_named: tuple[str, ...] = ()
    unanswered: int = 0
    empty: int = 0
    redactions: Mapping[str, int] = field(default_factory=dict[str, int])
    folded: Mapping[str, int] = field(default_factory=dict[str, int])
    code_points: Mapping[str, int] = field(default_factory=dict[str, int])
    break_even: int | None = None

    def as_json(self) -> dict[str, Any]:
        """The report as a JSON object."""
        return {"schema": "snapshot-pages/report/1", **asdict(self)}

    def __repr__(self) -> str:
        return f"<Report: {self.no_op or f'{self.before:,} to {self.after:,} tokens, {self.pages} pages'}>"

    def __str__(self) -> str:
        lines = [
            f"window     {self.window:,} tokens, {self.safe:,} safe for the input, goal {self.goal:,}",
            f"occupancy  {self.occupancy:,} tokens ({self.basis})",
        ]
        lines += [f"{rung.name:<10} frees {rung.freed:,}: {rung.note}" for rung in self.rungs]
        tail = f"tail {self.tail} ({self.tail_tokens:,} tokens)" if self.tail_tokens else f"tail {self.tail}"
        lines.append(f"messages   head {self.head}, middle {self.middle}, {tail}")
        lines += [f"note       {note}" for note in self.notes]
        if self.pages:
            dense = f", {self.dense_pages} of them dense" if self.dense_pages else ""
            lines.append(
                f"pages      {self.pages}{dense}, {self.page_tokens:,} tokens; {self.images} images in all"
            )
            lines.append(f"facts      {self.facts} as text, {self.facts_left_out} left out for want of room")
        if self.left_out:
            lines.append(
                f"left out   {self.left_out:,} characters of the oldest middle; the archive has them"
            )
        lines += [f"orphan     {named}" for named in self.orphans_named]
        if self.orphans > len(self.orphans_named):
            lines.append(f"orphans    {self.orphans - len(self.orphans_named):,} more")
        if self.unanswered:
            lines.append(f"unanswered {self.unanswered:,}")
        for label, counts in (
            ("redacted", self.redactions),
            ("folded", self.folded),
            ("as codes", self.code_points),
        ):
            if counts:
                lines.append(
                    f"{label:<10} " + ", ".join(f"{count:,} {kind}" for kind, count in counts.items())
                )
        if self.break_even is not None:
            lines.append(f"cache      pays from {self.break_even} further requests on")
        lines.append(
            (self.no_op and f"unchanged  {self.no_op}") or f"tokens     {self.before:,} → {self.after:,}"
        )
        return "\n".join(lines)
