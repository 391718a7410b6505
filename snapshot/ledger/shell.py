"""Command lines as lists of simple commands: enough of the shell's grammar to tell what was run, and no more.

What cannot be told (loops, conditions, substitutions) stays in the words of a command, so that nothing is
made up.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

__all__ = ["Simple", "command_line", "simple_commands", "subcommand", "unquoted"]

_LONGEST = 20_000  # characters of a command line that are looked at
_MOST = 200  # simple commands of it
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
    """

    words: tuple[str, ...]
    before: str = ""
    after: str = ""
    writes: tuple[tuple[str, str], ...] = ()

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
    if isinstance(value, str):
        return value
    if not isinstance(value, list):
        if isinstance(value, Mapping):  # a shell action of the hosted tools
            action = cast("Mapping[str, Any]", value)
            return command_line(action.get("command", action.get("commands")))
        return ""
    words = [word for word in cast("list[Any]", value) if isinstance(word, str)]
    # ["bash", "-lc", "…"]: what the shell is told.
    if len(words) > 2 and words[1].startswith("-") and words[0].rsplit("/", 1)[-1] in ("bash", "sh", "zsh"):
        return words[2]
    if any(" " in word for word in words):
        return "\n".join(words)
    return " ".join(words)


def simple_commands(  # noqa: PLR0912 -- a branch for each kind of token
    line: str,
) -> tuple[Simple, ...]:
    """The simple commands of a command line, in order; bodies of here-documents are left out."""
    text = line[:_LONGEST]
    found: list[Simple] = []
    current = _Open()
    before = ""
    ends: list[str] = []
    redirected = ""
    at = 0
    while at < len(text) and len(found) < _MOST:
        match = _TOKEN.match(text, at)
        if match is None:  # unreachable: the last alternative takes any character
            break
        at = match.end()
        kind = match.lastgroup
        if match["here"] is not None:
            ends.append(match["end"].strip("'\""))
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
                found.append(Simple(tuple(current.words), before, operator, tuple(current.writes)))
                before = operator
            elif before in ("", ";"):
                before = operator if found else ""
            current, redirected = _Open(), ""
            if match[0] == "\n" and ends:
                at = _behind(text, at, ends)
                ends = []
    if current.words or current.writes:
        found.append(Simple(tuple(current.words), before, "", tuple(current.writes)))
    elif found and found[-1].after == ";":
        last = found[-1]
        found[-1] = Simple(last.words, last.before, "", last.writes)
    return tuple(found)


def _behind(text: str, at: int, ends: list[str]) -> int:
    """Where the here-documents that begin at `at` are over."""
    for end in ends:
        closing = re.compile(rf"^[ \t]*{re.escape(end)}[ \t]*(?:\n|\Z)", re.MULTILINE).search(text, at)
        at = closing.end() if closing else len(text)
    return at


def unquoted(word: str) -> str:
    """A word without the quotes around it or around its parts."""
    if "'" not in word and '"' not in word and "\\" not in word:
        return word
    return re.sub(r"'([^']*)'|\"((?:\\.|[^\"\\])*)\"|\\(.)", lambda match: "".join(match.groups("")), word)


def subcommand(words: Sequence[str]) -> str:
    """The word of `git -C there commit` that says what is done, "" if there is none."""
    rest = list(words[1:])
    while rest and rest[0].startswith("-"):
        rest = rest[2:] if rest[0] in _VALUED else rest[1:]
    return rest[0] if rest else ""
