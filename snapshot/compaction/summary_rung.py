"""The last rung: a summary, or the offline digest, in place of the middle."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from snapshot.compaction.archive import Archive
from snapshot.compaction.assemble import archive_messages
from snapshot.compaction.beside import facts_of, live_state, statements_for
from snapshot.compaction.candidate import Candidate, Step
from snapshot.compaction.context import Context
from snapshot.compaction.image_rung import within_limits, without_images
from snapshot.compaction.summary.clip import clip
from snapshot.compaction.summary.offline import digest
from snapshot.compaction.summary.prompted import Summarize, Summarizer, summarize
from snapshot.compaction.verbatim import fitted

__all__ = ["SummaryRung"]

# Share of the goal that a summary may take, and the least.
_SHARE = 0.25
_LEAST = 256
_NOTHING = "(what was said in these messages left view; the archive has them)"


@dataclass(frozen=True, slots=True)
class SummaryRung:
    """Puts a summary in the middle's place.

    Attributes:
        call: makes the summary; None: the offline digest is taken.
    """

    name: ClassVar[str] = "summarize"
    call: Summarize | None = None

    def apply(self, candidate: Candidate, goal: int) -> Step:
        """The candidate with a summary in place of its middle."""
        context = candidate.context
        if context.reader.blind:
            candidate = without_images(candidate)
        # Pages of the middle that the rung before measured are not part of what is made here.
        bare = replace(candidate, pagination=None, break_even=None, facts=0, facts_left_out=0)
        candidate = fitted(bare, _verbatim_room(context), None)
        if candidate.cut <= context.head:
            done = within_limits(candidate)
            if done.parts or done.messages != context.messages:
                return Step(done, f"{len(done.parts)} large parts clipped")
            return Step(None, "there is nothing between head and tail")
        middle = context.archived[context.head : candidate.cut]
        archive = Archive(context.head, middle, context.format, focus=context.options.focus, summary=_NOTHING)
        archive = replace(archive, statements=statements_for(context, archive), ledger=live_state(context))
        bare = replace(candidate, archive=archive)
        room = context.budget.safe - bare.tokens
        budget = min(max(_LEAST, int(_SHARE * max(goal, context.budget.goal))), max(room, 0))
        if room < _LEAST // 4:  # not even the user's words have room beside what must stay
            return Step(
                within_limits(replace(bare, archive=replace(archive, statements=(), ledger=""))),
                "all but head and tail left view",
            )
        text, note = self._summary(context, archive, int(budget / context.estimator.scale))
        archive = replace(archive, summary=text or _NOTHING)
        done = replace(candidate, archive=archive)
        sheet = facts_of(context, archive, context.messages[candidate.cut :])
        if sheet.text:
            more = replace(
                done,
                archive=replace(archive, facts=sheet.text),
                facts=sheet.count,
                facts_left_out=sheet.left_out,
            )
            done = more if more.tokens <= context.budget.safe else done
        return Step(within_limits(done), note)

    def _summary(self, context: Context, archive: Archive, budget: int) -> tuple[str, str]:
        """The summary in at most `budget` tokens, and what it is."""
        former = context.former
        turn = context.turn_at(archive.head)
        if self.call is None:
            beside = frozenset(item.text for item in archive.statements)
            text = digest(
                archive.messages, budget=budget, reader=context.reader, first_turn=turn, beside=beside
            )
            return text, "an offline digest"
        previous = former.summary if former is not None else ""
        known = len(former.messages) if former is not None and previous else 0
        own = self.call if isinstance(self.call, Summarizer) else Summarizer(self.call)
        longest = own.max_output or budget
        made = summarize(
            archive.messages[known:],
            self.call,
            previous=previous,
            focus=context.options.focus,
            keep_fields=context.options.keep_fields,
            window=own.window or context.budget.window,
            output_tokens=min(budget, longest),
            reader=own.reader or context.reader,
            first_turn=context.turn_at(archive.head + known),
        )
        cut = f"; {made.cut_off} answers ended at the summarizer's limit" if made.cut_off else ""
        # Counted by the summarizer's tokens so far; it has to fit by those of the model that reads it.
        text = clip(made.text, budget, context.reader)
        return text, f"a summary, made in {made.requests} requests{cut}"


def _verbatim_room(context: Context) -> int:
    """Tokens that head and tail may take, so that a short summary has room."""
    frame = context.cost(archive_messages(Archive(0, context.messages[:1], "", summary=_NOTHING)))
    reserve = frame - context.estimator.overhead + _LEAST
    return max(context.budget.safe - reserve, context.budget.safe // 2)
