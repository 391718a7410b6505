"""Files that simple commands touch, each where its words say so plainly."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from snapshot.ledger.files import patched
from snapshot.ledger.scripts import Written, written_by_calls, written_by_python
from snapshot.ledger.shell import Simple, unquoted
from snapshot.ledger.tools import Commands

__all__ = ["Touched", "within"]

_PATTERN = re.compile(r"[*?$`\n{}]")
_NOWHERE = re.compile(r"/dev/|&|\$|\d+$|-$")
_FILE = re.compile(r"\.\w{1,12}$")


def within(where: str, path: str) -> str:
    """A path as seen from where the line began; as it is where that cannot be told."""
    if not where or path.startswith(("/", "~")) or "$" in path or path == "-":
        return path
    return posixpath.normpath(posixpath.join(where, path))


@dataclass(slots=True)
class Touched:
    """Files that the commands of a line touch, which run in the folder `where`."""

    where: str = ""
    writes: list[str] = field(default_factory=list[str])
    edits: list[str] = field(default_factory=list[str])
    perhaps: list[str] = field(default_factory=list[str])
    reads: list[str] = field(default_factory=list[str])
    deletes: list[str] = field(default_factory=list[str])
    moves: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])

    def redirected(self, simple: Simple) -> None:
        """Add what the redirections of a command write."""
        for mode, target in simple.writes:
            if not _NOWHERE.match(target):
                (self.edits if ">>" in mode else self.writes).append(within(self.where, target))

    def by(  # noqa: PLR0912 -- a branch for each program
        self, head: str, words: Sequence[str], body: str, known: Commands
    ) -> None:
        """Add what a simple command does to files; `body` is its here-document."""
        operands = [unquoted(word) for word in words[1:] if not word.startswith("-")]
        named = [word for word in operands if word and not _PATTERN.search(word)]
        files = [within(self.where, word) for word in named]
        if head in known.readers:
            self.reads += [within(self.where, word) for word in named if not word.isdigit()]
        elif head == "sed":
            # The first operand is the script, unless an option gives it.
            scripted = any(re.match(r"-[ef]|--expression|--file", word) for word in words)
            named = named if scripted else [word for word in operands[1:] if word in named]
            files = [within(self.where, word) for word in named]
            if any(re.match(r"-[nEr]*i|--in-place", word) for word in words):
                self.edits += files
            elif any(re.match(r"-[Er]*n", word) for word in words):
                self.reads += files
        elif head == "tee":
            (self.edits if any(word in ("-a", "--append") for word in words) else self.writes).extend(files)
        elif head in ("rm", "unlink"):
            if not any(re.match(r"-\w*[rR]|--recursive", word) for word in words):
                self.deletes += files
        elif head == "mv" and len(operands) == 2 and len(files) == 2:
            self.moves.append((files[0], files[1]))
        elif head == "git" and len(files) == 3 and named[0] == "mv":
            self.moves.append((files[1], files[2]))
        elif head == "cp" and len(operands) == 2 and len(files) == 2:
            self._copied(named[0], named[1])
        elif head == "dd":
            self.writes += [within(self.where, word[3:]) for word in named if word[:3] == "of="]
        elif head == "patch" or (head == "git" and operands[:1] == ["apply"]):
            self._patched(body, words)
        else:
            self._changed(head, words, body, known)

    def _copied(self, old: str, new: str) -> None:
        """What a copy makes: into a folder it has its old name; which of the two it is must be plain."""
        name = posixpath.basename(old)
        if new.endswith("/"):
            self.writes.append(within(self.where, new + name))
        elif _FILE.search(new) and _FILE.search(old):
            self.writes.append(within(self.where, new))

    def _patched(self, diff: str, words: Sequence[str]) -> None:
        if any(word in ("--dry-run", "--check", "--stat", "-R", "--reverse") for word in words):
            return
        for how, new, old in patched(diff):
            path = within(self.where, new)
            match how:
                case "created":
                    self.writes.append(path)
                case "deleted":
                    self.deletes.append(path)
                case "moved":
                    self.moves.append((within(self.where, old), path))
                case _:
                    self.edits.append(path)

    def _changed(self, head: str, words: Sequence[str], body: str, known: Commands) -> None:
        """What a program of the table changes: files that it is given, or those that its script writes."""
        text = " ".join((head, *words[1:]))
        for rule in known.changes:
            if not rule.pattern.match(f"{text}\n{body}"):
                continue
            if rule.script is None:
                self._note(_operands(words, rule.valued), sure=rule.sure)
                return
            script, arguments = _script(words, body, rule.script)
            calls = rule.calls
            self._scripted(written_by_calls(script, calls) if calls else written_by_python(script, arguments))
            return

    def _note(self, named: Sequence[str], *, sure: bool) -> None:
        files = [within(self.where, word) for word in named if _FILE.search(word)]
        (self.edits if sure else self.perhaps).extend(files)

    def _scripted(self, found: Written) -> None:
        for path in found.sure:
            if not _NOWHERE.match(path):
                (self.edits if path in found.read else self.writes).append(within(self.where, path))
        self.perhaps += [within(self.where, path) for path in found.perhaps if not _NOWHERE.match(path)]


def _operands(words: Sequence[str], valued: re.Pattern[str] | None) -> list[str]:
    """The operands of a command, without the values of its options."""
    found: list[str] = []
    before = ""
    for word in words[1:]:
        value = valued is not None and valued.fullmatch(before)
        before = word
        if not value and not word.startswith("-") and not _PATTERN.search(plain := unquoted(word)):
            found.append(plain)
    return found


def _script(words: Sequence[str], body: str, option: re.Pattern[str]) -> tuple[str, list[str]]:
    """The script that an interpreter is given by an option or as its input, and the arguments behind it."""
    for at, word in enumerate(words[1:], 1):
        if option.fullmatch(word):
            script = unquoted(words[at + 1]) if at + 1 < len(words) else ""
            if words[at + 1 : at + 2] and words[at + 1].startswith('"'):
                script = re.sub(r'\\(["$`\\])', r"\1", script)
            return script, [unquoted(word) for word in words[at + 2 :]]
        if word == "-":
            return body, [unquoted(word) for word in words[at + 1 :]]
        if not word.startswith("-"):
            return "", []  # a file of which nothing is known
    return body, []
