"""What stays word for word: head and tail, made to leave room for what stands for the middle.

The tail is a promise, so it is shortened only where the request would not be safe, group by group. Where the
last group or the head alone is too large, its largest parts become pages in the place where they stand, their
first and last lines and their exact strings beside them as text; for a reader without vision they are
clipped.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, cast

from snapshot.compaction.archive import PagedPart
from snapshot.compaction.candidate import Candidate
from snapshot.compaction.context import Context
from snapshot.compaction.image_rung import without
from snapshot.compaction.limits import bytes_left, usable
from snapshot.compaction.paginate import paginate
from snapshot.compaction.pagination import Pagination
from snapshot.compaction.places import is_place, place
from snapshot.compaction.replaced import LARGE_TEXT, attachments, result_text, with_parts
from snapshot.compaction.summary.clip import boundary, clip, one_line
from snapshot.facts.factsheet import factsheet
from snapshot.facts.patterns import find
from snapshot.facts.run_list import RunList, run_list
from snapshot.messages import File, Image, Message, Part, Text, ToolCall, ToolResult
from snapshot.pages.layout import Layout, layout_ways
from snapshot.parts.exact_json import decode, encode
from snapshot.source.marks import first_marks, notes_on
from snapshot.source.run_marks import VERSION

__all__ = ["fitted"]

# Characters of first and last lines that stay as text, and parts too small to be replaced.
_EDGE = 600
_SMALLEST = 4 * _EDGE
_BULK = 2_000  # tokens of a part for which alone the tail is not shortened
# Tokens of exact strings beside a part on pages, and of what is said of the marks on these.
_FACTS, _NOTES = 400, 200
_LONGEST_ARGUMENT = 400
# Lines of a large part that are told as text, and their length.
_MOST_LINES, _LINE = 10, 200
_LEAST_NAME, _BULKY_WORDS = 4, 4000
_ERROR = re.compile(r"\b(?:ERROR|FATAL|PANIC|CRITICAL|Traceback|Exception|panic:|fatal:|error:)")
_END = "[end of the large text]"


@dataclass(frozen=True, slots=True)
class _Large:
    """A part that may be replaced: where it stands, its text, and its tokens."""

    message: int
    part: int
    text: str
    tokens: int


def fitted(candidate: Candidate, room: int, layout: Layout | None) -> Candidate:
    """The candidate with head and tail in at most `room` tokens, if there is a way.

    Args:
        candidate: a request whose middle is not replaced yet.
        room: tokens for head and tail, and for what is sent beside the messages.
        layout: the reader's layout; None for a reader that gets no pages.
    """
    context = candidate.context
    cut = candidate.cut
    wanted = context.after[cut]
    if _rest_tokens(candidate, cut) <= room:
        return candidate
    candidate = _without_documents(candidate, room, before=context.last_cut)
    excess = _rest_tokens(candidate, cut) - room
    if excess <= 0:
        return candidate
    notes = list(candidate.notes)
    # One part that is most of the tail is no reason to give the tail away.
    bulk = [
        large for large in _large_parts(candidate) if large.tokens >= max(_BULK, context.budget.tail // 2)
    ]
    if _saved(bulk, context, layout) >= excess:
        return _with_large_parts(candidate, excess, layout)
    while _rest_tokens(candidate, cut) > room and context.later_cut(cut) != cut:
        cut = context.later_cut(cut)
    if cut != candidate.cut:
        notes.append(f"the tail has {context.after[cut]:,} tokens, not {wanted:,}: more would not be safe")
    candidate = replace(candidate, cut=cut, notes=tuple(notes))
    candidate = _without_documents(candidate, room, before=len(candidate.messages))
    excess = _rest_tokens(candidate, cut) - room
    return candidate if excess <= 0 else _with_large_parts(candidate, excess, layout)


def _without_documents(candidate: Candidate, room: int, *, before: int) -> Candidate:
    """The candidate without the oldest documents of head and tail that are too dear, of those before a
    message."""
    context = candidate.context
    excess = _rest_tokens(candidate, candidate.cut) - room
    numbers = (*range(context.head), *range(candidate.cut, len(candidate.messages)))
    gone: list[int] = []
    position = 0
    for number in numbers:
        for item in attachments((candidate.messages[number],)):
            if isinstance(item, File) and number < before and excess > 0:
                gone.append(position)
                excess -= context.estimator.part(item)
            position += 1
    return without(candidate, gone, why="there is no room for it")


def _rest_tokens(candidate: Candidate, cut: int) -> int:
    """Tokens of head, tail, and what is sent beside the messages."""
    context = candidate.context
    if candidate.messages is context.messages:
        return context.estimator.overhead + sum(context.costs[: context.head]) + context.after[cut]
    return context.cost((*candidate.messages[: context.head], *candidate.messages[cut:]))


def _large_parts(candidate: Candidate) -> list[_Large]:
    """Parts of head and tail that are worth replacing, the largest first."""
    context = candidate.context
    found: list[_Large] = []
    for at in (*range(context.head), *range(candidate.cut, len(candidate.messages))):
        for number, part in enumerate(candidate.messages[at].parts):
            text = _text_of(part)
            if len(text) > _SMALLEST:
                found.append(_Large(at, number, text, context.estimator.text(text)))
    return sorted(found, key=lambda large: -large.tokens)


def _text_of(part: Part) -> str:
    match part:
        case Text(text):
            return "" if text.startswith(LARGE_TEXT) else text
        case ToolResult():
            return result_text(part)
        case ToolCall(arguments=arguments):
            return arguments
        case File(text=text):
            return text
        case _:
            return ""


def _with_large_parts(candidate: Candidate, excess: int, layout: Layout | None) -> Candidate:
    """The candidate with its largest parts replaced until `excess` tokens are saved."""
    context = candidate.context
    parts: list[PagedPart] = []
    paginations: list[Pagination] = []
    notes = list(candidate.notes)
    chosen: list[_Large] = []
    for large in _large_parts(candidate):
        if _saved(chosen, context, layout) >= excess:
            break
        chosen.append(large)
    if not chosen:
        return candidate
    total = sum(large.tokens for large in chosen)
    # What all of them may take together; each has a share by its size.
    budget = max(0, total - excess)
    # Of the body, half is for them: pages of the middle may stand beside.
    body = bytes_left(context, (*candidate.head, *candidate.tail))
    messages = list(candidate.messages)
    chosen.sort(key=lambda large: (large.message, large.part))
    for number in range(
        len(chosen) - 1, -1, -1
    ):  # from the end, so that the places before stay what they are
        large = chosen[number]
        share = budget * large.tokens // total
        most_bytes = None if body is None else max(0, body // 2 * large.tokens // total)
        mark = place(len(candidate.parts) + number)
        holder = _holder(candidate, large)
        drawn = layout if holder is not None else None
        stand_in = _stand_in(context, large, share, drawn, mark, most_bytes=most_bytes)
        messages = _put(messages, large, stand_in.shown, holder)
        parts.append(stand_in.part)
        paginations.append(stand_in.pagination)
        notes.append(f"{messages[large.message].role} message {large.message + 1}: {stand_in.note}")
    return replace(
        candidate,
        messages=tuple(messages),
        parts=(*candidate.parts, *reversed(parts)),
        part_paginations=(*candidate.part_paginations, *reversed(paginations)),
        notes=tuple(notes),
    )


def _holder(candidate: Candidate, large: _Large) -> int | None:
    """Number of the message that pages of a part can stand in: an image is sent in a result, or in what a
    user says. None where no such message is sent behind it."""
    messages = candidate.messages
    part = messages[large.message].parts[large.part]
    spoken = messages[large.message].role in ("user", "tool") and not isinstance(part, ToolCall)
    if spoken or isinstance(part, ToolResult):
        return large.message
    head, cut = candidate.context.head, candidate.cut
    for at in range(large.message + 1, len(messages)):
        results = [item.call_id for item in messages[at].parts if isinstance(item, ToolResult)]
        fits = part.id in results if isinstance(part, ToolCall) else messages[at].role == "user"
        if fits and not head <= at < cut:
            return at
    return None


def _saved(chosen: Sequence[_Large], context: Context, layout: Layout | None) -> int:
    """What is saved where the chosen parts are replaced; pages by what full ones hold."""
    total = sum(large.tokens for large in chosen)
    shown = len(chosen) * _beside_tokens(context)
    if layout is not None:
        shown += sum(-(-len(large.text) // layout.capacity) for large in chosen) * layout.tokens
    return total - shown


def _beside_tokens(context: Context) -> int:
    """What stands as text beside the pages of a part."""
    return context.estimator.text("x" * 2 * _EDGE) + 2 * _FACTS + _NOTES


@dataclass(frozen=True, slots=True)
class _StandIn:
    """What stands for a large part: the content that is shown, the part as it is archived, its pages, a
    note."""

    shown: list[Text | Image]
    part: PagedPart
    pagination: Pagination
    note: str


def _stand_in(
    context: Context,
    large: _Large,
    budget: int,
    layout: Layout | None,
    mark: Image,
    *,
    most_bytes: int | None,
) -> _StandIn:
    """The stand-in of a large part in about `budget` tokens, its pages in so many bytes."""
    # A secret on a page is as bad as one in the archive: the text of pages is the redacted one.
    text = _archived_text(context, large)
    part = PagedPart(large.message, large.part, text)
    room = 0 if layout is None else _images_left(context)
    if layout is not None and room > 0:
        most = max(0, budget - _beside_tokens(context))
        marked = _with_run_marks(context, part)
        pagination = paginate(
            replace(marked.printed, repeats=(), runs=()),  # set as it is printed, in offsets of that
            layout,
            most_pages=room,
            most_tokens=most,
            most_bytes=most_bytes,
            threads=context.options.threads,
        )
        if pagination.pages:
            pagination = replace(pagination, printed=marked.printed)
            pagination = replace(pagination, left_out=pagination.spans[0][0])
            part = replace(
                marked,
                pages=pagination.spans,
                printed_pages=pagination.printed_spans if marked.runs else (),
                tiers=pagination.tiers,
                starts=pagination.starts,
            )
            left = f", {pagination.left_out:,} left out" if pagination.left_out else ""
            note = f"{len(text):,} characters stand on {len(part.pages)} pages in their place{left}"
            return _StandIn(_paged(context, part, pagination, mark), part, pagination, note)
    words = clip(text, max(48, int(budget / context.estimator.scale)), context.reader)
    words = words or text[: boundary(text, _EDGE // 4)]
    lead = f"{LARGE_TEXT}{len(text)} characters, of which the first and the last follow; kept in the archive]"
    note = f"of {len(text):,} characters the first and the last are shown"
    return _StandIn([Text(f"{lead}\n{words}")], part, Pagination(()), note)


def _with_run_marks(context: Context, part: PagedPart) -> PagedPart:
    """The part with marks in place of runs of random characters, if it has any; one that was sent without
    marks before goes on so."""
    former = () if context.former is None else context.former.parts
    if any(one.pages and not one.runs and one.text == part.text for one in former):
        return part
    marked = replace(part, runs=VERSION)
    return marked if marked.printed.runs else part


def _images_left(context: Context) -> int:
    most = context.limits.get("images_per_request")
    per_message = context.limits.get("images_per_message", 1 << 30)
    return min(1 << 30 if most is None else usable(most) // 2, per_message)


def _archived_text(context: Context, large: _Large) -> str:
    parts = context.archived[large.message].parts
    return _text_of(parts[large.part]) if large.part < len(parts) else large.text


def _paged(context: Context, part: PagedPart, pagination: Pagination, mark: Image) -> list[Text | Image]:
    """First lines, pages, exact strings and last lines of a part."""
    text = part.text
    start, stop = _edges(text)
    lead = (
        f"{LARGE_TEXT}{len(text)} characters. Its beginning and its end follow as text, all of it as "
        f"{len(part.pages)} page images between them; the archive has it word for word]\n{text[:start]}"
    )
    if pagination.left_out:
        lead += f"\n[left out here: {pagination.left_out} characters before the first page]"
    lead += f"\n[{_notes(part)}]"
    facts = _facts(context, part, text[:start] + text[stop:])
    lines = _telling_lines(text[start:stop], _spoken_of(context, part))
    if lines:
        facts = "Lines of it that name what is spoken of, or an error:\n" + "\n".join(lines) + f"\n{facts}"
    return [Text(lead), *([mark] * len(part.pages)), Text(f"{facts}{_END} It ends:\n{text[stop:]}")]


def _notes(part: PagedPart) -> str:
    """How its pages are read, and what the marks on them mean."""
    printed, ways = part.printed, {*layout_ways(part.tiers)}
    first, *_ = part.listed
    marks = first_marks(printed.text[first[0] :], runs=bool(part.runs))
    notes = notes_on({*marks, *ways, *([] if ways == {"lines"} else ["rows"])})
    return f"{notes} Give `message` {part.message + 1} as well." if "runs" in marks else notes


def _facts(context: Context, part: PagedPart, beside: str) -> str:
    """Exact strings on its pages, and runs of random characters that these have only marks of."""
    budget = int(_FACTS / context.estimator.scale)

    def listed(beside: Sequence[str], budget: int) -> RunList:
        if not part.runs:
            return RunList()
        return run_list(part.source, part.pages, tail=beside, budget=budget, reader=context.reader)

    runs = listed([beside], budget // 2)
    sheet = factsheet(
        part.source,
        (),
        tail=beside,
        budget=budget - runs.tokens,
        reader=context.reader,
        exclude=part.printed.runs,
    )
    if runs.left_out:
        runs = listed([beside, sheet.text], budget - sheet.tokens)
    return "".join(f"{item}\n" for item in (sheet.text, runs.text) if item)


def _spoken_of(context: Context, part: PagedPart) -> frozenset[str]:
    """Exact strings in what users say in the tail, and beside the part: what is asked for in it."""
    said: list[str] = []
    for at in range(max(0, part.message - 1), len(context.messages)):
        message = context.archived[at]
        if message.role == "user":
            said += [
                item.text
                for number, item in enumerate(message.parts)
                if isinstance(item, Text)
                and (at, number) != (part.message, part.part)
                and len(item.text) < _BULKY_WORDS
            ]
    return frozenset(fact.text for fact in find("\n".join(said), names=True) if len(fact.text) >= _LEAST_NAME)


def _telling_lines(text: str, names: frozenset[str]) -> list[str]:
    """Lines that hold one of the names; and lines that tell of an error, where they are few."""
    named = [line for name in names for line in _lines_with(text, re.compile(re.escape(name)))]
    errors = _lines_with(text, _ERROR)
    lines = [*named[:_MOST_LINES], *(errors if len(errors) <= _MOST_LINES else errors[-2:])]
    return list(dict.fromkeys(one_line(line, _LINE) for line in lines))[:_MOST_LINES]


def _lines_with(text: str, pattern: re.Pattern[str]) -> list[str]:
    """The lines in which a pattern occurs, one more than would be shown at most."""
    lines: list[str] = []
    end = -1
    for match in pattern.finditer(text):
        if match.start() < end:
            continue
        start = text.rfind("\n", 0, match.start()) + 1
        end = text.find("\n", match.end())
        end = len(text) if end < 0 else end
        lines.append(text[max(start, match.start() - _LINE) : min(end, match.end() + _LINE)])
        if len(lines) > _MOST_LINES:
            break
    return lines


def _edges(text: str) -> tuple[int, int]:
    """Where the first lines that stay end, and where the last ones begin."""
    start = text.rfind("\n", 0, _EDGE)
    start = start if start > _EDGE // 3 else boundary(text, _EDGE)
    stop = text.find("\n", len(text) - _EDGE) + 1
    stop = stop if 0 < stop < len(text) - _EDGE // 3 else boundary(text, len(text) - _EDGE)
    return start, stop


def _put(
    messages: list[Message], large: _Large, shown: list[Text | Image], holder: int | None
) -> list[Message]:
    """The messages with `shown` in place of a part, or in `holder`, where its message cannot hold it."""
    out = list(messages)
    message = out[large.message]
    part = message.parts[large.part]
    before, after = message.parts[: large.part], message.parts[large.part + 1 :]
    match part:
        case Text() | File():
            if holder in (None, large.message) or not any(map(is_place, shown)):
                out[large.message] = with_parts(message, (*before, *shown, *after))
            else:
                line = f"{LARGE_TEXT}{len(large.text)} characters; shown in the next message of the user]"
                out[large.message] = with_parts(message, (*before, Text(line), *after))
                out[holder] = with_parts(out[holder], (*shown, *out[holder].parts))
        case ToolResult(content=content):
            kept = tuple(item for item in content if not isinstance(item, Text))
            out[large.message] = with_parts(
                message, (*before, replace(part, content=(*shown, *kept)), *after)
            )
        case ToolCall():
            line = f"{LARGE_TEXT}{len(large.text)} characters of arguments; shown with the result]"
            call = replace(part, arguments=_short_arguments(part.arguments, line))
            out[large.message] = with_parts(message, (*before, call, *after))
            if holder is not None:
                out[holder] = _with_result(out[holder], part.id, shown)
        case _:
            pass
    return out


def _with_result(message: Message, call_id: str, shown: list[Text | Image]) -> Message:
    """The message with what stands for a call's arguments at the beginning of its result."""
    parts = list(message.parts)
    for number, part in enumerate(parts):
        if isinstance(part, ToolResult) and part.call_id == call_id:
            lead = Text("[arguments of this call]")
            parts[number] = replace(part, content=(lead, *shown, *part.content))
            break
    return with_parts(message, parts)


def _short_arguments(arguments: str, line: str) -> str:
    """The arguments as a JSON object, long texts in it replaced by a line."""
    try:
        values = decode(arguments)
    except (ValueError, RecursionError):
        values = None
    if not isinstance(values, dict):
        return json.dumps({"arguments": line})
    short = dict(_shortened(cast("dict[str, Any]", values), line))
    text = encode(short, partial(json.dumps, ensure_ascii=False))
    return text if len(text) <= _SMALLEST else json.dumps({"arguments": line})


def _shortened(values: dict[str, Any], line: str) -> Iterator[tuple[str, Any]]:
    for name, value in values.items():
        long = len(value if isinstance(value, str) else json.dumps(value)) > _LONGEST_ARGUMENT
        yield name, line if long else value
