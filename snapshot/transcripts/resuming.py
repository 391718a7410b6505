"""Where a written session must lie, and under which name, so that its tool goes on with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from snapshot.transcripts.io.json_values import as_object, as_text, parse
from snapshot.transcripts.reading.times import NO_TIME
from snapshot.transcripts.registry import RESUMABLE

__all__ = ["Resumption", "resumption"]


@dataclass(frozen=True, slots=True)
class Resumption:
    """How a tool finds a session.

    Attributes:
        name: of the file; the tool looks for no other one.
        folder: that the file must lie in, for a person; "" where any will do.
        command: that goes on with it.
    """

    name: str
    folder: str
    command: str

    def __str__(self) -> str:
        place = f"name it {self.name} and put it into {self.folder}, then: " if self.folder else ""
        return f"to go on with it: {place}{self.command}"


def resumption(format: str, data: bytes, path: str = "") -> Resumption | None:  # noqa: A002 - as in `load`
    """How the session in `data`, as `dump` gives it, is resumed; None for formats that no tool resumes.

    Args:
        path: of the file, for tools that are given it.
    """
    if format not in RESUMABLE:
        return None
    rows = [as_object(parse(line.decode())) or {} for line in (data.split(b"\n", 1)[0], _last(data)) if line]
    head, last = rows[0], rows[-1]
    if format == "claude-session":
        session = as_text(last.get("sessionId"))
        folder = "~/.claude/projects/FOLDER (the project's path, a - for each sign but letters and digits)"
        return Resumption(f"{session}.jsonl", folder, f"claude --resume {session}")
    if format == "codex":
        return _of_codex(as_object(head.get("payload")) or {})
    session = as_text(head.get("id"))
    name = path or f"{session}.jsonl"
    return Resumption(name, "", f"pi --session {name} (or omp)")


def _of_codex(meta: dict[str, Any]) -> Resumption:
    session, time = as_text(meta.get("id")), as_text(meta.get("timestamp")) or NO_TIME
    day, _, clock = time.partition("T")
    name = f"rollout-{day}T{clock[:8].replace(':', '-')}-{session}.jsonl"
    return Resumption(name, f"~/.codex/sessions/{day.replace('-', '/')}", f"codex resume {session}")


def _last(data: bytes) -> bytes:
    return data.rstrip(b"\n").rsplit(b"\n", 1)[-1]
