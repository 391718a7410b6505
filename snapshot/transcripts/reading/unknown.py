"""What JSON holds that no reader knows, in a few words: it is refused, and never taken for one long text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from snapshot.transcripts.io import jsonl
from snapshot.transcripts.io.json_values import JsonObject, a_type, as_list, as_object, quoted
from snapshot.transcripts.io.source import MISSING, Source

__all__ = ["unread"]

_KEYS = 6  # that are named
_LOOKED = 20  # elements of a list

# Files of known tools that are no conversation, or not one that can be read, by keys that they have.
_KNOWN: tuple[tuple[frozenset[str], str], ...] = (
    (frozenset({"cells", "nbformat"}), "a notebook"),
    (frozenset({"requests", "responderUsername"}), "a chat of Copilot in an editor"),
    (frozenset({"openapi", "paths"}), "a description of an API"),
)


def unread(source: Source) -> str:
    """What an input is if it is JSON: an object or a list, or lines of objects; "" for any other text."""
    document = source.document
    if document is MISSING:
        rows = jsonl.sample(source).rows
        filled = sum(bool(line.strip()) for _, _, line in _first(source))
        if not rows or len(rows) < filled:
            return ""
        return f"JSON Lines of objects {_named(rows)}"
    whole, listed = as_object(document), as_list(document)
    if whole is not None:
        known = next((what for keys, what in _KNOWN if keys <= whole.keys()), "")
        return f"a JSON object {_named([whole])}" + (f" ({known})" if known else "")
    return "" if listed is None else _array(listed)


def _array(listed: list[object]) -> str:
    objects = [one for one in map(as_object, listed[:_LOOKED]) if one is not None]
    if objects:
        return f"a JSON array of {len(listed)} with objects {_named(objects)}"
    return (
        f"a JSON array of {len(listed)}, the first {a_type(listed[0])}," if listed else "an empty JSON array"
    )


def _first(source: Source) -> Iterable[tuple[int, int, str]]:
    for number, line in enumerate(source.lines()):
        if number >= _LOOKED:
            return
        yield line


def _named(objects: Sequence[JsonObject]) -> str:
    keys = list(dict.fromkeys(key for one in objects for key in one))
    if not keys:
        return "without a key"
    more = f" and {len(keys) - _KEYS} more" if len(keys) > _KEYS else ""
    return f"with the keys {', '.join(quoted(key, 40) for key in keys[:_KEYS])}{more}"
