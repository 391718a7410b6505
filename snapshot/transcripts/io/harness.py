"""Words of a harness in the user's name, told from a person's by data: `harness.toml` and a caller's file.

`rules_for` gives the rules of a format, `Rules.pieces` cuts a text into what a person said and what a
program did. The work is linear in the text, whatever stands in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from os import PathLike, fspath
from pathlib import Path
from typing import Any, cast

from snapshot._resources import locate
from snapshot._toml import parse_toml
from snapshot.errors import TranscriptError

__all__ = ["NONE", "Piece", "Rules", "read_rules", "rules_for"]

_KINDS = ("notice", "reminder", "hook", "command", "context")
_TABLES = ("name", "formats", "tags", "starts", "texts", "frames", "queue", "notes")
_TAG = re.compile(r"<([A-Za-z][\w.-]*)(?: [^<>\n]{0,200})?>")
_SHOWN = re.compile(r"\{([^{}]+)\}")


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a text, and who said it.

    Attributes:
        text: the words; of a command as the person gave it.
        kind: "" for a person's words, "given" for a command of a person to the harness, else the kind of
            the harness's words.
    """

    text: str
    kind: str = ""


@dataclass(frozen=True, slots=True)
class _Frame:
    """Tags around what a person gave."""

    begins: str
    tags: frozenset[str]
    shown: str
    command: bool

    def filled(self, held: Mapping[str, str]) -> str:
        """What the person gave, from what stands in each tag."""
        return _SHOWN.sub(lambda name: held.get(name[1], "").strip(), self.shown).strip()


@dataclass(frozen=True, slots=True)
class Rules:
    """How the words of a harness are told.

    Attributes:
        tags: kind of the words in a tag, by the tag's name.
        starts, texts: kinds, with the patterns of how such a text begins, and of such a text as a whole.
        frames: wrappers of a person's own words.
        notes: what a row says of itself where its words are the harness's: a subtype, a source.
        person: modes and origins of queued words that are a person's.
        taken: why a row may leave the queue that is then the user's message.
    """

    tags: Mapping[str, str]
    starts: tuple[tuple[str, re.Pattern[str]], ...] = ()
    texts: tuple[tuple[str, re.Pattern[str]], ...] = ()
    frames: tuple[_Frame, ...] = ()
    notes: frozenset[str] = frozenset()
    person: frozenset[str] = frozenset()
    taken: frozenset[str] = frozenset()

    def then(self, more: Rules) -> Rules:
        """These rules, and `more` where these say nothing."""
        return Rules(
            {**more.tags, **self.tags},
            self.starts + more.starts,
            self.texts + more.texts,
            self.frames + more.frames,
            self.notes | more.notes,
            self.person | more.person,
            self.taken | more.taken,
        )

    def pieces(self, text: str) -> list[Piece]:
        """The text in pieces, in order: blocks of the harness, a person's words, blocks of the harness.

        A text that is a person's alone is one piece, unchanged to the last blank.
        """
        core = text.strip()
        if not core or not (self.tags or self.starts or self.texts or self.frames):
            return [Piece(text)]
        for kind, pattern in self.starts:
            if pattern.match(core):
                return [Piece(text, kind)]
        for kind, pattern in self.texts:
            if pattern.fullmatch(core):
                return [Piece(text, kind)]
        if "<" not in core:
            return [Piece(text)]
        before, rest = self._leading(text)
        rest, after = self._trailing(rest)
        said = self._framed(rest) if rest.strip() else []
        return [*before, *said, *reversed(after)] or [Piece(text)]

    def is_all(self, text: str) -> bool:
        """Whether nobody but the harness speaks in `text`."""
        return all(piece.kind not in ("", "given") for piece in self.pieces(text))

    def _leading(self, text: str) -> tuple[list[Piece], str]:
        """Blocks at the start, each up to a line's end or to the next one, and what follows them."""
        found: list[Piece] = []
        at = 0
        while True:
            start = _skip(text, at)
            match = _TAG.match(text, start)
            kind = self.tags.get(match[1]) if match else None
            if match is None or kind is None:
                break
            end = _closed(text, match)
            if end < 0 or not (_line_ends(text, end) or self._block_at(text, end)):
                break
            found.append(Piece(text[start:end], kind))
            at = end
        return found, text[_skip(text, at) :] if found else text

    def _block_at(self, text: str, at: int) -> bool:
        match = _TAG.match(text, at)
        return match is not None and match[1] in self.tags

    def _trailing(self, text: str) -> tuple[str, list[Piece]]:
        """What stands before the blocks at the end, and these, the last first; each begins a line."""
        found: list[Piece] = []
        stop = len(text)
        while True:
            end = _skip_back(text, stop)
            opened = text.rfind("</", 0, end) if text[end - 1 : end] == ">" else -1
            name = text[opened + 2 : end - 1] if opened >= 0 else ""
            kind = self.tags.get(name)
            start = text.rfind(f"<{name}", 0, end) if kind else -1
            match = _TAG.match(text, start, end) if start >= 0 else None
            if kind is None or match is None or match[1] != name or _closed(text, match) != end:
                break
            line = text.rfind("\n", 0, start) + 1
            if _skip(text, line) < start:
                break
            found.append(Piece(text[start:end], kind))
            stop = start
        return (text[: _skip_back(text, stop)] if found else text), found

    def _framed(self, text: str) -> list[Piece]:
        match = _TAG.match(text, _skip(text, 0))
        for frame in self.frames:
            held = _held(text, frame.tags) if match and match[1] == frame.begins else None
            if held and (shown := frame.filled(held)):
                return [Piece(shown, "given" if frame.command else "")]
        return [Piece(text)]


NONE = Rules({})


def _skip(text: str, at: int) -> int:
    """Where the next character that is no blank stands."""
    while at < len(text) and text[at].isspace():
        at += 1
    return at


def _skip_back(text: str, at: int) -> int:
    """Behind the last character before `at` that is no blank."""
    while at and text[at - 1].isspace():
        at -= 1
    return at


def _closed(text: str, opening: re.Match[str]) -> int:
    """Behind the end of the tag that opens there; -1 if it is never closed."""
    end = text.find(f"</{opening[1]}>", opening.end())
    return -1 if end < 0 else end + len(opening[1]) + 3


def _line_ends(text: str, at: int) -> bool:
    line = text.find("\n", at)
    return not text[at : line if line >= 0 else len(text)].strip()


def _held(text: str, tags: frozenset[str]) -> dict[str, str] | None:
    """What stands in each tag of a text that is nothing but such tags; None where it is more."""
    held: dict[str, str] = {}
    at = _skip(text, 0)
    while at < len(text):
        match = _TAG.match(text, at)
        if match is None or match[1] not in tags or match[1] in held:
            return None
        closing = f"</{match[1]}>"
        end = text.find(closing, match.end())
        while end >= 0:  # words in it may name the tag: it ends where the text, or another tag, goes on
            at = _skip(text, end + len(closing))
            follows = _TAG.match(text, at)
            if at == len(text) or (follows and follows[1] in tags and follows[1] not in held):
                break
            end = text.find(closing, end + 1)
        if end < 0:
            return None
        held[match[1]] = text[match.end() : end]
    return held


@cache
def _built_in() -> tuple[tuple[frozenset[str], Rules], ...]:
    path = locate("transcripts/io/harness.toml")
    return tuple(_tables(parse_toml(path.read_text(encoding="utf-8")), path))


def rules_for(name: str, more: Sequence[tuple[frozenset[str], Rules]] = ()) -> Rules:
    """The rules of the format `name`; those in `more`, of a caller, stand before the built-in ones."""
    found = NONE
    for formats, rules in (*more, *_built_in()):
        if name in formats or "*" in formats:
            found = found.then(rules)
    return found


def read_rules(path: str | PathLike[str]) -> tuple[tuple[frozenset[str], Rules], ...]:
    """The rules in a caller's file, each with the formats it is for ("*": all).

    Raises:
        TranscriptError: no such file, or not of the form of `harness.toml`; says where.
    """
    import tomllib

    name = fspath(path)
    try:
        return tuple(_tables(tomllib.loads(Path(name).read_text(encoding="utf-8")), Path(name)))
    except (OSError, UnicodeDecodeError) as error:
        raise TranscriptError(
            f"cannot be read ({getattr(error, 'strerror', None) or error})", path=name
        ) from None
    except tomllib.TOMLDecodeError as error:
        raise TranscriptError(f"not valid TOML: {error}", path=name) from None


def _tables(document: dict[str, Any], path: Path) -> Iterator[tuple[frozenset[str], Rules]]:
    listed = document.get("harness")
    if not isinstance(listed, list) or set(document) != {"harness"}:
        raise TranscriptError("expected tables [[harness]] and nothing else", path=str(path))
    for number, table in enumerate(cast("list[Any]", listed), 1):

        def wrong(what: str, place: int = number) -> TranscriptError:
            return TranscriptError(f"harness {place}: {what}", path=str(path))

        if not isinstance(table, dict):
            raise wrong("not a table")
        if unknown := sorted(set(cast("dict[str, Any]", table)) - set(_TABLES)):
            raise wrong(f"unknown key {unknown[0]!r}; known: {', '.join(_TABLES)}")
        yield _table(cast("dict[str, Any]", table), wrong)


def _table(table: dict[str, Any], wrong: Any) -> tuple[frozenset[str], Rules]:
    def words(value: Any, key: str) -> tuple[str, ...]:
        if not isinstance(value, list) or not all(isinstance(one, str) for one in cast("list[Any]", value)):
            raise wrong(f"{key} is no list of strings")
        return tuple(cast("list[str]", value))

    def by_kind(key: str) -> list[tuple[str, str]]:
        found = table.get(key, {})
        if not isinstance(found, dict) or not set(cast("dict[str, Any]", found)) <= set(_KINDS):
            raise wrong(f"{key} is no table of the kinds {', '.join(_KINDS)}")
        kinds = cast("dict[str, Any]", found)
        return [(kind, one) for kind, value in kinds.items() for one in words(value, f"{key}.{kind}")]

    def patterns(key: str) -> tuple[tuple[str, re.Pattern[str]], ...]:
        try:
            return tuple((kind, re.compile(one, re.DOTALL)) for kind, one in by_kind(key))
        except re.error as error:
            raise wrong(f"{key}: not a regular expression: {error}") from None

    frames: list[_Frame] = []
    for frame in table.get("frames", []):
        shape = {"begins": str, "tags": list, "shown": str, "command": bool}
        known = isinstance(frame, dict) and {"begins", "tags", "shown"} <= frame.keys() <= shape.keys()
        if not known or not all(isinstance(value, shape[key]) for key, value in frame.items()):
            raise wrong("frames: expected begins, tags, shown and perhaps command")
        tags = frozenset(words(frame["tags"], "frames.tags"))
        frames.append(_Frame(frame["begins"], tags, frame["shown"], frame.get("command", False)))
    queue = table.get("queue", {})
    if not isinstance(queue, dict) or not set(cast("dict[str, Any]", queue)) <= {"person", "taken"}:
        raise wrong("queue: expected person and taken")
    rules = Rules(
        {one: kind for kind, one in by_kind("tags")},
        patterns("starts"),
        patterns("texts"),
        tuple(frames),
        frozenset(words(table.get("notes", []), "notes")),
        frozenset(words(queue.get("person", []), "queue.person")),
        frozenset(words(queue.get("taken", []), "queue.taken")),
    )
    return frozenset(words(table.get("formats", []), "formats")), rules
