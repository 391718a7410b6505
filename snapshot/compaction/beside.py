"""What stands as text beside pages or a summary: the user's words, exact strings, the live state."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from snapshot.compaction.archive import Archive
from snapshot.compaction.context import Context
from snapshot.compaction.statements import Spoken, Statement, chosen, statements_of
from snapshot.compaction.summary.clip import clip
from snapshot.compaction.summary.kept_fields import resources_of
from snapshot.facts.factsheet import factsheet
from snapshot.facts.run_list import RunList, run_list
from snapshot.messages import Message, Text, ToolCall, ToolResult
from snapshot.models.profile import ModelProfile

__all__ = ["Beside", "facts_of", "live_state", "statements_for", "words_of"]

# Shares of the goal that each may take, and the request that is live by itself.
STATEMENTS, FACTS, LEDGER, LIVE = 0.15, 0.08, 0.06, 0.3
# The share of the room for exact strings that runs of random characters may take first.
RUNS_OF_FACTS = 0.2
_ESCAPE = re.compile(r"\\[nrt\"]")


@dataclass(frozen=True, slots=True)
class Beside:
    """The exact strings beside pages or a summary: the text, how many there are, and those without room."""

    text: str = ""
    count: int = 0
    left_out: int = 0


def statements_for(context: Context, archive: Archive) -> tuple[Statement, ...]:
    """The user's words in the middle, as far as there is room; those that stand there already first of
    all. The request that is live, where the tail is all work on it, stands there in any case."""
    spoken = context.history.built("spoken", Spoken, archive.messages)
    former, live = context.former, _live(context, archive, spoken)
    shown = {item.offset: item for item in former.statements} if former is not None else {}
    found = statements_of(
        archive.messages,
        archive.source.spans,
        first_turn=context.turn_at(archive.head),
        pins=frozenset(pin - archive.head for pin in context.options.pins),
        live=live,
        shown=shown,
        spoken=spoken,
    )
    if live is not None and archive.head + live not in context.options.pins:
        at, most = archive.source.spans[live][0], int(LIVE * context.budget.goal / context.estimator.scale)
        found = tuple(_shortened(item, most, context.reader) if item.offset == at else item for item in found)
    costs = [context.estimator.text(item.printed()) for item in found]
    return chosen(found, costs, int(STATEMENTS * context.budget.goal), frozenset(shown))


def _live(context: Context, archive: Archive, spoken: Spoken) -> int | None:
    """Number of the message in the middle with the user's last request; None where the user speaks later."""
    if any(message.starts_turn for message in context.messages[archive.boundary :]):
        return None
    return spoken.turns[-1] if spoken.turns else None


def _shortened(item: Statement, most: int, reader: ModelProfile) -> Statement:
    """The statement, or its beginning and end where it takes more than `most` tokens."""
    text = clip(item.text, most, reader)
    return item if text == item.text or not item.whole else replace(item, text=text, whole=False)


def facts_of(
    context: Context, archive: Archive, tail: Sequence[Message], *, most: int | None = None
) -> Beside:
    """The factsheet of what the archive's pages or its summary stand for, without what is text besides; in at
    most `most` tokens, where that is less than its share."""
    room = FACTS * context.budget.goal
    text = [*words_of(context.messages[: context.head]), *words_of(tail), archive.ledger, archive.summary]
    text += (item.text for item in archive.statements)
    budget = int((room if most is None else min(room, most)) / context.estimator.scale)
    # Runs whose marks stand on the pages have a part of the room, and what the others leave of it.
    runs = _runs_of(context, archive, text, int(RUNS_OF_FACTS * budget))
    sheet = factsheet(
        archive.source,
        archive.pages,
        tail=text,
        budget=budget - runs.tokens,
        reader=context.reader,
        keep=[value for _, value in resources_of(archive.messages, context.options.keep_fields)],
        referred=archive.referred if archive.pages else (),
        exclude=archive.in_view.source.runs if archive.pages else (),
    )
    if runs.left_out:
        runs = _runs_of(context, archive, [*text, sheet.text], budget - sheet.tokens)
    said = "\n".join(filter(None, (sheet.text, runs.text)))
    return Beside(said, len(sheet.facts) + runs.count, sheet.left_out + runs.left_out)


def _runs_of(context: Context, archive: Archive, beside: Sequence[str], budget: int) -> RunList:
    """The runs of random characters that the archive's pages have only marks of."""
    if not archive.runs or not archive.pages or not archive.in_view.source.runs:
        return RunList()
    return run_list(archive.source, archive.pages, tail=beside, budget=budget, reader=context.reader)


def live_state(context: Context) -> str:
    """The live state at the end of the conversation, with credentials redacted."""
    from snapshot.ledger import LedgerBuilder, ledger_of, ledger_text, tool_table

    own, harness = context.options.ledger_tools, context.format
    if own:  # files that may have changed
        ledger = ledger_of(context.archived, harness=harness, tools=tool_table(own))
    else:
        key = "ledger", harness
        ledger = context.history.built(key, lambda: LedgerBuilder(harness=harness), context.archived).ledger()
    budget = int(LEDGER * context.budget.goal)
    return ledger_text(ledger, budget, context.estimator.text)


def words_of(messages: Sequence[Message]) -> list[str]:
    """All text of messages, for what is there as text; arguments without the escapes of JSON."""
    found: list[str] = []
    for message in messages:
        for part in message.parts:
            inner = part.content if isinstance(part, ToolResult) else (part,)
            found += [item.text for item in inner if isinstance(item, Text)]
            if isinstance(part, ToolCall):
                found.append(_ESCAPE.sub(" ", part.arguments))
    return found


def with_statements(context: Context, archive: Archive) -> Archive:
    """The archive with the user's words beside it."""
    return replace(archive, statements=statements_for(context, archive))
