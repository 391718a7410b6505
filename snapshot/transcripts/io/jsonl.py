"""The rows of a JSON Lines log, whatever a crash has done to it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from itertools import islice

from snapshot.transcripts.io.json_values import JsonObject, a_type, as_list, as_object, parse, parse_at
from snapshot.transcripts.io.source import MISSING, Sample, Source

__all__ = ["rows", "sample"]

Report = Callable[[str, str, str], None]

_SAMPLE_ROWS = 20
_SAMPLE_CHARS = 1 << 17  # of a text
_ROWS_OF_A_LOG = 1 / 3  # of its lines; others may be torn
_SAMPLE_LINES = 60  # some of them may be torn
_RECORD_START = re.compile(r'\{\s*"')
# Every whole record of a coding agent's log has one of these at its top; the objects inside have not.
_RECORD_KEYS = frozenset({"parentId", "parentUuid", "payload", "sessionId", "session_id", "uuid"})


def rows(source: Source) -> Iterator[tuple[str, JsonObject]]:
    """Every row with its place ("line 7"), in order.

    Lines end at LF only: JSON strings may hold other separators. A torn line is a diagnostic of the source,
    and whole records behind the tear are given. An array of rows, or one under `loglines`, reads as lines do.

    Raises:
        TranscriptError: no line is a row.
    """
    good = False
    for where, row in _scan(source, lambda *odd: source.odd.append(odd)):
        good = True
        yield where, row
    if not good:
        raise source.error("not a single line is a JSON object; is this a JSON Lines log?", line=1, at=0)


def sample(source: Source) -> Sample:
    """What `detect` is given; reads only the first lines, beside the try at a whole document."""
    first = islice(_scan(source, lambda _kind, _where, _note: None, _SAMPLE_LINES), _SAMPLE_ROWS)
    found = tuple(row for _, row in first)
    if source.document is not MISSING:
        return Sample(source.document, found)
    size, lines = 0, []
    for _, _, line in source.lines():
        size += len(line)
        if lines and size > _SAMPLE_CHARS:
            break
        lines.append(line)
    filled = sum(not line.isspace() for line in lines[:_SAMPLE_LINES])
    # A text may quote a few rows of a log.
    return Sample(MISSING, found if _ROWS_OF_A_LOG * filled <= len(found) else (), "".join(lines))


def _scan(source: Source, report: Report, most: int | None = None) -> Iterator[tuple[str, JsonObject]]:
    listed = _listed(source.document)
    if listed is None:
        yield from _lines(source, report, most)
        return
    for number, value in enumerate(listed, 1):
        row = as_object(value)
        if row is None:
            report("unknown-row", f"record {number}", f"{a_type(value)} in place of a record; left out")
        else:
            yield f"record {number}", row


def _listed(document: object) -> list[object] | None:
    if document is MISSING:
        return None
    wrapper = as_object(document)
    return as_list(document if wrapper is None else wrapper.get("loglines"))


def _lines(source: Source, report: Report, most: int | None = None) -> Iterator[tuple[str, JsonObject]]:
    for number, at, line in islice(source.lines(), most):
        where = source.line_name(number, at)
        text = line.strip(" \t\r\n")
        if text.startswith("\0") or text.endswith("\0"):  # what a power loss leaves
            text = text.strip("\0 \t\r")
            report("nul-bytes", where, "NUL bytes around the line; skipped")
        if not text:
            continue
        try:
            found = [parse(text)]
        except RecursionError:
            report("too-deep", where, "JSON nested too deeply; the line is left out")
            continue
        except json.JSONDecodeError:
            found = _recover(text, where, report)
        for value in found:
            row = as_object(value)
            if row is None:
                note = f"{a_type(value)} in place of a JSON object; left out"
                report("unknown-row", f"line {number}", note)
            else:
                yield f"line {number}", row


def _recover(text: str, where: str, report: Report) -> list[object]:
    """Whole records in a torn line.

    A failed try costs what the parser read before it gave up, and a count of newlines up to there for
    its message. The budget keeps the sum linear, whatever the line holds.
    """
    found: list[object] = []
    pieces: list[str] = []
    budget = 16 * len(text) + 100_000
    at = kept = 0
    while budget > 0 and (match := _RECORD_START.search(text, at)):
        start = match.start()
        at = start + 1
        try:
            value, end = parse_at(text, start)
        except RecursionError:
            budget -= 10_000
        except json.JSONDecodeError as error:
            read_to = len(text) if error.msg.startswith("Unterminated") else error.pos
            budget -= 50 + read_to - start + read_to // 64
        else:
            at = end
            row = as_object(value)
            if row is not None and "type" in row and not _RECORD_KEYS.isdisjoint(row):
                found.append(row)
                pieces.append(text[kept:start])
                kept = end
    pieces.append(text[kept:])
    rest = "".join(pieces)
    lost = len(rest.encode("utf-8", "replace")) if rest.strip() else 0
    read = f"{len(found)} whole record{'s' if len(found) != 1 else ''} on it read"
    note = f"torn: {lost} bytes that are no whole record are left out; {read}" if lost else read
    report("torn-line", where, note)
    return found
