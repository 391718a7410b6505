"""TOML files that are read at every start: parsed once, and kept as JSON under the digest of their text."""

from __future__ import annotations

from datetime import date
from typing import Any

from snapshot._cache import digest, keep, kept

__all__ = ["parse_toml"]

_FORM = b"toml 1"  # another number where what an entry looks like changes


def parse_toml(text: str) -> dict[str, Any]:
    """The tables of a TOML document.

    Raises:
        tomllib.TOMLDecodeError: it is none.
        RecursionError: it is nested too deeply.
        ValueError: a number has too many digits.
    """
    import msgspec

    data = text.encode("utf-8", "surrogatepass")
    name = digest((_FORM, data))
    entry = kept(name)
    if entry is not None:
        return _restored(msgspec.json.decode(entry))
    table = _parsed(text)
    # JSON knows no dates: those at the top, where files have them, are named; what has others is not kept.
    days = [key for key, value in table.items() if type(value) is date]
    try:
        entry = msgspec.json.encode({"days": days, "table": table})
        if _restored(msgspec.json.decode(entry)) == table:
            keep(name, entry)
    except (ValueError, TypeError, OverflowError, RecursionError):
        pass  # what JSON cannot hold
    return table


def _parsed(text: str) -> dict[str, Any]:
    import tomllib

    return tomllib.loads(text)


def _restored(entry: Any) -> dict[str, Any]:
    table = entry["table"]
    for key in entry["days"]:
        table[key] = date.fromisoformat(table[key])
    return table
