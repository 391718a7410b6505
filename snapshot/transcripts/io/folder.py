"""Sessions that are kept in several files: what a folder holds, as one file or one document."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from snapshot.transcripts.io.json_values import escaped, parse

__all__ = ["TooMany", "session_in"]

# Files that hold a whole session, in folders of their own.
_WHOLE = ("api_conversation_history.json", "events.jsonl", ".aider.chat.history.md")
_MOST = 200_000  # files


class TooMany(ValueError):
    """A folder with more files than a session has."""


def session_in(folder: Path) -> Path | bytes | None:
    """The session in a folder: a file in it, or one JSON document made of its files; None: nothing known.

    Raises:
        OSError: a file cannot be read.
        TooMany: more than 200,000 files.
    """
    for name in (*_WHOLE, f"{folder.name}.messages.json"):
        if (folder / name).is_file():
            return folder / name
    if (folder / "message").is_dir() and (folder / "part").is_dir():
        sessions = [_opencode(folder, one) for one in _sorted(folder / "message", "*/")]
        return _packed(sessions) if sessions else None
    if folder.parent.name == "message" and (folder.parent.parent / "part").is_dir():
        return _packed(_opencode(folder.parent.parent, folder))
    for events in (folder / "events", folder):
        files = _sorted(events, "*.json") if events.is_dir() else []
        if any(re.fullmatch(r"(?:event-)?\d+.*", file.stem) for file in files[:3]):
            state = _value(folder / "base_state.json") if (folder / "base_state.json").is_file() else {}
            return _packed({"state": state, "events": [_value(file) for file in files]})
    return None


def _opencode(storage: Path, session: Path) -> object:
    infos = list((storage / "session").glob(f"*/{session.name}.json"))
    messages: list[object] = []
    for file in _sorted(session, "*.json"):
        parts = [_value(part) for part in _sorted(storage / "part" / file.stem, "*.json")]
        messages.append({"info": _value(file), "parts": parts})
    return {"info": _value(infos[0]) if infos else {"id": session.name}, "messages": messages}


def _sorted(folder: Path, pattern: str) -> list[Path]:
    """The files in the order of the numbers and names that they have."""
    found = list(islice(folder.glob(pattern), _MOST + 1))
    if len(found) > _MOST:
        raise TooMany(f"it holds more than {_MOST:,} files")
    return sorted(found, key=lambda file: (next(_numbers(file.stem), 0), file.name))


def _numbers(text: str) -> Iterator[int]:
    """The number that a file of events is named by: short enough to be one."""
    match = re.match(r"(?:event-)?(\d{1,15})(?:-|$)", text)
    if match:
        yield int(match[1])


def _value(file: Path) -> object:
    """What a file holds; one that is damaged is told as such, and the others are read."""
    try:
        return parse(file.read_text(encoding="utf-8", errors="replace"))
    except (json.JSONDecodeError, RecursionError):
        return {"type": "unreadable file", "name": file.name}


def _packed(document: object) -> bytes:
    return escaped(document).encode()
