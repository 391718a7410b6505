"""Times as ISO 8601, whatever a file has them in."""

from __future__ import annotations

from datetime import UTC, datetime

from snapshot.transcripts.io.json_values import as_text

__all__ = ["NO_TIME", "iso_time", "known_time"]

NO_TIME = "1970-01-01T00:00:00.000Z"
"""What the writers put where a tool reads no row without a time, and none is known; read as none."""


_MILLISECONDS = 1e11  # a time of more seconds than that is in the year 5138


def iso_time(value: object) -> str:
    """Seconds or milliseconds since 1970 as ISO 8601 with milliseconds; anything else as its text."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not value:
        return as_text(value) if value else ""
    seconds = value / 1000 if abs(value) > _MILLISECONDS else value
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    except (OverflowError, ValueError, OSError):
        return as_text(value)


def known_time(value: object) -> str:
    """A time as text; "" for none, and for `NO_TIME`."""
    time = as_text(value)
    return "" if time == NO_TIME else time
