"""Inputs that nobody meant: real files cut, doubled, spliced and bent, documents with wrong values in them.

`seeds` gives whole files of a format, `bent` a damaged one; `Seen.look` reads it in every way there is. The
long form is `SNAPSHOT_FUZZ=10000 python -m pytest tests/test_fuzz.py -m slow`.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import cache
from random import Random
from typing import Any

from hypothesis import strategies as st

from snapshot.errors import SnapshotError
from snapshot.messages import Text, ToolResult, Transcript
from snapshot.transcripts import READ_ONLY, conversations, detect, dump, load
from tests.conftest import HERE
from tests.harness_samples import SAMPLES
from tests.transcript_samples import EXAMPLE, JUNK
from tests.transcript_strategies import transcripts

_LARGEST = 6000  # bytes of a seed: what breaks a reader is short
_TOKEN = re.compile(
    rb'"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*|true|false|null|[\[\]{},:]|<\|?[^>\n]{1,20}>|^#+ |[*_`]{2,3}'
)
_VALUE = re.compile(rb'(?:"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*|true|false|null|\[\]|\{\})(?=\s*[],}])')
_JUNK = (
    b"null", b"[]", b"{}", b'""', b"0", b"-1", b"1e999", b"NaN", b"true", b"[[[[[[[[", b'{"type":"text"}',
    b'"\\ud800"', b'"tool"', b'"assistant"', b"9" * 5000, b"[" * 3000, b'{"a":' * 3000, b'"id"',
    b'"data:image/png;base64,AAAA"',
)  # fmt: skip
_ODD = (
    "\0", "\ufeff", "\u2028", "\u0085", "\x0b", "\x1b[2J", "\u202e", "\u200b", "\U0001f98a", "e\u0301" * 40,
    "\r", "\r\n", "\\ud83d", "\\u0000", "\uffff",
)  # fmt: skip
_BYTES = (
    b"\xff\xfe", b"\xed\xa0\x80", b"\xc3", b"\x80", b"\xf4\x90\x80\x80", b"\x1f\x8b\x08\0",
    b"\x28\xb5\x2f\xfd",
)  # fmt: skip


@cache
def seeds(name: str) -> tuple[bytes, ...]:
    """Small whole files of the format: cases of it as they are, and excerpts of real runs written in it."""
    if name in READ_ONLY:
        return SAMPLES[name]
    found: list[bytes] = []
    for path in sorted(HERE.glob("cases/*/input.*")):
        data = path.read_bytes()
        try:
            transcript = load(data, salvage=True)
        except SnapshotError:  # JSON that is no conversation
            continue
        if transcript.format == name or (name == "text" and path.suffix not in (".json", ".jsonl")):
            found.append(data[: 2 * _LARGEST])
        elif len(data) <= _LARGEST // 2:
            found.append(dump(transcript, name).data)
    for path in (EXAMPLE, HERE / "data" / "excerpt.atif.json"):
        if path.suffix == ".jsonl" and name == "claude-stream":
            found.append(b"".join(path.read_bytes().splitlines(keepends=True)[:12])[: 2 * _LARGEST])
        found.append(dump(_excerpt(load(path)), name).data)
    return tuple(data for data in found if data)


def _excerpt(transcript: Transcript) -> Transcript:
    """The first messages, no text of them longer than a few lines."""

    def short(part: Any) -> Any:
        if isinstance(part, Text):
            return Text(part.text[:200])
        return (
            replace(part, content=tuple(map(short, part.content))) if isinstance(part, ToolResult) else part
        )

    kept = (replace(m, parts=tuple(map(short, m.parts)), raw=()) for m in transcript.messages[:8])
    return replace(transcript, messages=tuple(kept))


def bent(random: Random, files: tuple[bytes, ...]) -> bytes:
    """One of the files after one to five accidents."""
    data = random.choice(files)
    for _ in range(random.choice((1, 1, 2, 3, 5))):
        data = random.choice(_ACCIDENTS)(random, data, files)
    return data


def _span(random: Random, data: bytes) -> tuple[int, int]:
    start = random.randint(0, len(data))
    return start, min(len(data), start + random.choice((1, 2, 8, 40, 400)))


def _flip(random: Random, data: bytes, _files: tuple[bytes, ...]) -> bytes:
    if not data:
        return data
    at = random.randrange(len(data))
    return data[:at] + bytes((data[at] ^ 1 << random.randrange(8),)) + data[at + 1 :]


def _delete(random: Random, data: bytes, _files: tuple[bytes, ...]) -> bytes:
    start, stop = _span(random, data)
    return data[:start] + data[stop:]


def _double(random: Random, data: bytes, _files: tuple[bytes, ...]) -> bytes:
    start, stop = _span(random, data)
    return data[:stop] + data[start:stop] * random.choice((1, 1, 3, 50)) + data[stop:]


def _cut(random: Random, data: bytes, _files: tuple[bytes, ...]) -> bytes:
    start, _ = _span(random, data)
    return data[start:] if random.random() < 0.2 else data[:start]


def _splice(random: Random, data: bytes, files: tuple[bytes, ...]) -> bytes:
    other = random.choice(files)
    start, stop = _span(random, other)
    at = random.randint(0, len(data))
    return data[:at] + (other[start:stop] if random.random() < 0.7 else other[start:])


def _tokens(random: Random, data: bytes, _files: tuple[bytes, ...]) -> bytes:
    sort = _VALUE if random.random() < 0.6 else _TOKEN  # values alone: the document stays one
    found = [match.span() for match in sort.finditer(data)]
    if len(found) < 2:
        return data
    (a, b), (c, d) = sorted(random.sample(found, 2))
    if random.random() < 0.5:
        return data[:a] + data[c:d] + data[b:c] + data[a:b] + data[d:]
    return data[:a] + random.choice(_JUNK) + data[b:]


def _insert(random: Random, data: bytes, _files: tuple[bytes, ...]) -> bytes:
    at = random.randint(0, len(data))
    odd = random.choice(_ODD).encode() if random.random() < 0.7 else random.choice(_BYTES)
    return data[:at] + odd + data[at:]


def _line(random: Random, data: bytes, _files: tuple[bytes, ...]) -> bytes:
    lines = data.splitlines(keepends=True)
    if len(lines) < 2:
        return data
    a, b = random.sample(range(len(lines)), 2)
    if random.random() < 0.5:
        lines[a], lines[b] = lines[b], lines[a]
    else:
        lines[a] = lines[b].rstrip(b"\n") if random.random() < 0.5 else lines[b]
    return b"".join(lines)


_ACCIDENTS = (
    _flip,
    _delete,
    _double,
    _cut,
    _splice,
    _tokens,
    _tokens,
    _tokens,
    _tokens,
    _tokens,
    _tokens,
    _insert,
    _line,
)


@dataclass(slots=True)
class Seen:
    """How many inputs were read, and how many refused."""

    counts: Counter[str] = field(default_factory=Counter)

    def look(self, data: bytes, name: str, random: Random) -> None:
        """Read `data` as the format, and now and then in the other ways there are.

        Anything but a transcript or one clear line is raised, with the input.
        """
        try:
            self.counts[_outcome(lambda: load(data, format=name, salvage=random.random() < 0.5))] += 1
            if random.random() < 0.3:
                _outcome(lambda: load(data))
                _outcome(lambda: detect(data))
            if random.random() < 0.2:
                _outcome(
                    lambda: [
                        load(data, conversation=c.id, format=name)
                        for c in conversations(data, format=name)[:3]
                    ]
                )
            if random.random() < 0.05:
                _outcome(lambda: dump(load(data, format=name, as_sent=True), name))
        except Exception as error:
            error.add_note(f"as {name}: {data!r}")
            raise


def _outcome(look: Any) -> str:
    try:
        look()
    except SnapshotError as error:
        told = str(error)
        assert told
        assert "\n" not in told, told
        assert len(told) < 1000, told
        return "refused"
    return "read"


@st.composite
def documents(draw: st.DrawFn, name: str) -> bytes:
    """A file of the format with wrong values in the place of right ones, sometimes cut and bent as well."""
    data = draw(st.sampled_from(SAMPLES[name])) if name in SAMPLES else dump(draw(transcripts), name).data
    random = draw(st.randoms(use_true_random=False))
    try:
        values = (
            [json.loads(line) for line in data.splitlines()]
            if data[:1] == b"{" and b"\n" in data[:-1]
            else []
        )
    except ValueError:
        values = []
    if not values:
        try:
            values = [json.loads(data)]
        except ValueError:
            return bent(random, (data or b"\n", *seeds(name)))
    for _ in range(draw(st.integers(1, 3))):
        _replace(random, values, draw(JUNK))
    data = b"\n".join(json.dumps(value).encode() for value in values)
    return bent(random, (data, *seeds(name))) if draw(st.integers(0, 3)) == 0 else data


def _replace(random: Random, value: Any, junk: Any) -> None:
    """Put `junk` in the place of something within a list or object, or take that away."""
    while True:
        keys = list(value) if isinstance(value, dict) else list(range(len(value)))
        if not keys:
            return
        key = random.choice(keys)
        inner = value[key]
        if isinstance(inner, dict | list) and inner and random.random() < 0.8:
            value = inner
        elif random.random() < 0.25:
            del value[key]
            return
        else:
            value[key] = junk
            return
