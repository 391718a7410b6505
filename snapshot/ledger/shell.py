"""Command lines as lists of simple commands: enough of the shell's grammar to tell what was run, and no more.

What cannot be told (loops, conditions, substitutions) stays in the words of a command, so that nothing is
made up.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

__all__ = ["Simple", "command_line", "simple_commands", "subcommand", "unquoted"]

_LONGEST = 20_000  # characters of a command line that are looked at
_MOST = 200  # simple commands of it
_DEEPEST = 3  # subshells that are looked into
_TOKEN = re.compile(
    r"""
      (?P<blank>(?:[ \t\r]|\\\r?\n)+)
    | (?P<comment>(?<![^\s;&|(])\#[^\n]*)
    | (?P<here>\d*<<-?[ \t]*(?P<end>'[^'\n]+'|"[^"\n]+"|[\w.-]+))
    | (?P<redirect>&>>|&>|\d*(?:>>|>\||>&|<&|<<<|<>|>|<)(?!\())
    | (?P<operator>&&|\|\||\|&|;;|[;|&\n])
    | (?P<word>(?:
          '[^']*'? | "(?:\\.|[^"\\])*"? | \\. | `[^`]*`?
        | [$<>]?\((?:[^()']|'[^']*'|\((?:[^()']|'[^']*')*\))*\)?
        | \$\{[^}]*\}? | \)
        | [^\s;&|<>'"\\`()]
      )+)
    | (?P<other>.)
    """,
    re.VERBOSE | re.DOTALL,
)
_ASSIGNED = re.compile(r"[A-Za-z_]\w*\+?=")
# Options before a subcommand that have a value of their own.
_VALUED = frozenset(
    (
        "-C",
        "-c",
        "--git-dir",
        "--work-tree",
        "-f",
        "--file",
        "-n",
        "--namespace",
        "--prefix",
        "--manifest-path",
    )
)
_KEYWORDS = frozenset(
    ("do", "then", "else", "elif", "{", "!", "if", "while", "until", "fi", "done", "}", "esac")
)


@dataclass(frozen=True, slots=True)
class Simple:
    """A simple command of a command line.

    Attributes:
        words: its words as written, without assignments before it and without redirections.
        before: the operator that stands before it, "" at the start.
        after: the operator behind it, "" at the end.
        writes: its redirections to files, each with its operator and its target.
        inner: number of the subshell that it runs in, 0 where it runs in none.
        body: its last here-document, "" if it has none.
    """

    words: tuple[str, ...]
    before: str = ""
    after: str = ""
    writes: tuple[tuple[str, str], ...] = ()
    inner: int = 0
    body: str = ""

    @property
    def text(self) -> str:
        """The command on one line, as written."""
        return " ".join(self.words)


@dataclass(slots=True)
class _Open:
    """The simple command that is being read."""

    words: list[str] = field(default_factory=list[str])
    writes: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])


def command_line(value: Any) -> str:
    """The command line that an argument stands for: a text, a list of words, or a list of lines."""
    if isinstance(value, Mapping):  # a shell action of the hosted tools
        action = cast("Mapping[str, Any]", value)
        value = action.get("command", action.get("commands"))
    if isinstance(value, str):
        return value
    if not isinstance(value, list):
        return ""
    words = [word for word in cast("list[Any]", value) if isinstance(word, str)]
    # ["bash", "-lc", "…"]: what the shell is told.
    if len(words) > 2 and words[1].startswith("-") and words[0].rsplit("/", 1)[-1] in ("bash", "sh", "zsh"):
        return words[2]
    if any(" " in word for word in words):
        return "\n".join(words)
    return " ".join(words)


def simple_commands(line: str) -> tuple[Simple, ...]:
    """The simple commands of a command line, in order."""
    return _numbered(_read(line, 0))


def _read(line: str, depth: int) -> list[Simple]:  # noqa: PLR0912 -- a branch for each kind of token
    """The commands of a line that is `depth` subshells deep."""
    text = line[:_LONGEST]
    found: list[Simple] = []
    current = _Open()
    before = ""
    ends: list[tuple[str, int]] = []  # here-documents that begin behind the line: end, and whose they are
    redirected = ""
    at = 0
    while at < len(text) and len(found) < _MOST:
        match = _TOKEN.match(text, at)
        if match is None:  # unreachable: the last alternative takes any character
            break
        at = match.end()
        kind = match.lastgroup
        if match["here"] is not None:
            ends.append((match["end"].strip("'\""), len(found)))
        elif kind == "redirect":
            redirected = match[0]
        elif kind == "word":
            if redirected:
                if ">" in redirected and not redirected.endswith(">&") and not match[0].startswith("&"):
                    current.writes.append((redirected, unquoted(match[0])))
                redirected = ""
            elif current.words or not (_ASSIGNED.match(match[0]) or match[0] in _KEYWORDS):
                current.words.append(match[0])
        elif kind == "operator":
            operator = ";" if match[0] in ("\n", ";;") else match[0]
            if current.words or current.writes:
                found += _closed(current, before, operator, depth)
                before = operator
            elif before in ("", ";"):
                before = operator if found else ""
            current, redirected = _Open(), ""
            if match[0] == "\n" and ends:
                for end, owner in ends:
                    body, at = _document(text, at, end)
                    if owner < len(found):
                        found[owner] = replace(found[owner], body=body)
                ends = []
    if current.words or current.writes:
        found += _closed(current, before, "", depth)
    elif found and found[-1].after == ";":
        found[-1] = replace(found[-1], after="")
    return found


def _closed(current: _Open, before: str, after: str, depth: int) -> Sequence[Simple]:
    """The command that was read; of a subshell, those in it."""
    whole = Simple(tuple(current.words), before, after, tuple(current.writes))
    first = current.words[0] if len(current.words) == 1 else ""
    if depth >= _DEEPEST or not (first.startswith("(") and first.endswith(")")):
        return (whole,)
    inner = _read(first[1:-1], depth + 1)
    if not inner:
        return (whole,)
    # For now the number of commands that are left in the subshell.
    inside = [replace(command, inner=len(inner) - at) for at, command in enumerate(inner)]
    inside[0] = replace(inside[0], before=before)
    inside[-1] = replace(inside[-1], after=after, writes=(*inside[-1].writes, *current.writes))
    return inside


def _numbered(found: Sequence[Simple]) -> tuple[Simple, ...]:
    """The commands with a number for each subshell, in place of how many of its commands are left."""
    numbered: list[Simple] = []
    number, left = 0, 0
    for command in found:
        number += command.inner > 0 and not left
        left = left - 1 if left else max(0, command.inner - 1)
        numbered.append(replace(command, inner=number) if command.inner else command)
    return tuple(numbered)


def _document(text: str, at: int, end: str) -> tuple[str, int]:
    """A here-document that begins at `at`, and where it is over."""
    closing = re.compile(rf"^[ \t]*{re.escape(end)}[ \t]*(?:\n|\Z)", re.MULTILINE).search(text, at)
    # One that is cut off is no document.
    return (text[at : closing.start()], closing.end()) if closing else ("", len(text))


def unquoted(word: str) -> str:
    """A word without the quotes around it or around its parts."""
    if "'" not in word and '"' not in word and "\\" not in word:
        return word
    return re.sub(r"'([^']*)'|\"((?:\\.|[^\"\\])*)\"|\\(.)", lambda match: "".join(match.groups("")), word)


def subcommand(words: Sequence[str], count: int = 1) -> tuple[str, ...]:
    """The first words that say what is done, as in `git -C there commit -m x`: no options."""
    found: list[str] = []
    rest = list(words[1:])
    while rest and len(found) < count:
        if not rest[0].startswith("-"):
            found.append(rest.pop(0))
        else:
            rest = rest[2:] if rest[0] in _VALUED and not found else rest[1:]
    return tuple(found)
