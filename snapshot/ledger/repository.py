"""The git branch and the last commit, as git's own output names them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from snapshot.ledger.lines import one_line
from snapshot.ledger.shell import Simple, unquoted
from snapshot.ledger.state import Repository

__all__ = ["Git"]

_SUBJECT = 160
_COMMITTED = re.compile(
    r"^\[(?P<branch>[^\]\s]{1,200})(?: \([^)]*\))? (?P<hash>[0-9a-f]{7,64})\] (?P<subject>[^\n]*)", re.M
)
_SWITCHED = re.compile(
    r"^(?:Switched to (?:a new )?branch|Reset branch|Already on) '(?P<branch>[^'\n]{1,200})'", re.M
)
_ON = re.compile(r"^On branch (?P<branch>\S{1,200})$", re.M)
_SHORT = re.compile(
    r"^## (?:No commits yet on )?(?P<branch>[^\s.]\S{0,199}?)(?:\.\.\.\S+)?(?: \[[^\]\n]*\])?$", re.M
)
_STARRED = re.compile(r"^\* (?P<branch>[^\s(]\S{0,199})(?:\s|$)", re.M)
_DETACHED = re.compile(r"^HEAD (?:is now|detached) at (?P<hash>[0-9a-f]{7,64})", re.M)
_NAME = re.compile(r"[\w./-]{1,200}")
_LOGGED = re.compile(
    r"^(?:\* )?(?P<hash>[0-9a-f]{7,64}) (?:\((?P<refs>[^)\n]*)\) )?(?P<subject>\S[^\n]*)"
    r"|^commit (?P<full>[0-9a-f]{40,64})(?: \([^)\n]*\))?\n"
    r"(?:[A-Z]\w+:[^\n]*\n){1,6}\s*\n {4}(?P<message>[^\n]+)",
    re.M,
)
_STATUS = re.compile(
    r"(?:^(?:[MARCTU][ MTD]|[ ][MT]|\?\?)|\A[MT]) (?:[^\n\"]{1,400} -> )?(?P<path>[^\s\"][^\n\"]{0,400})$",
    re.M,
)
_STAT = re.compile(r"^ ?(?P<path>[^\s|][^|\n]{0,400}?) +\| +(?:\d+ [+-]+|Bin [^\n]*)$", re.M)
# Options after which a log still begins with the newest commit of the branch.
_PLAIN = re.compile(
    r"--oneline|-n|-?\d+|-n\d+|--max-count=\d+|--decorate(?:=\w+)?|--no-decorate|--stat|--no-color|--graph|-p"
)


@dataclass(slots=True)
class Git:
    """What is known of the repository; told of each command line that succeeded."""

    branch: str = ""
    branch_message: int = 0
    commit: str = ""
    subject: str = ""
    commit_message: int = 0

    def repository(self) -> Repository:
        """What is known now."""
        return Repository(self.branch, self.branch_message, self.commit, self.subject, self.commit_message)

    def seen(  # noqa: PLR0912 -- a branch for each command of git
        self, commands: Sequence[Simple], output: str, number: int
    ) -> list[str]:
        """Take what a successful command line says: its commands, its output, the message it came in.

        Returns:
            Files that git names as changed.
        """
        listed: list[str] = []
        calls = [(_words(command), command) for command in commands if _is_git(command)]
        if not calls:
            return listed
        text = output[:20_000]
        for words, command in calls:
            verb = words[0] if words else ""
            last = command is commands[-1]
            if verb in ("checkout", "switch"):
                self._branched(_SWITCHED.search(text), number)
            elif verb == "status":
                self._branched(_ON.search(text) or _SHORT.search(text), number)
                if any(re.match(r"-\w*s|--short|--porcelain", word) for word in words):
                    listed += [match["path"] for match in _STATUS.finditer(text)]
            elif verb == "diff" and "--stat" in words:
                listed += [
                    match["path"] for match in _STAT.finditer(text) if not match["path"].startswith("...")
                ]
            elif verb == "branch":
                if "--show-current" in words:
                    self._named(text, number, alone=len(commands) == 1, last=last)
                else:
                    self._branched(_STARRED.search(text), number)
            elif verb == "rev-parse" and "--abbrev-ref" in words:
                self._named(text, number, alone=len(commands) == 1, last=last)
            elif verb == "commit" and "--dry-run" not in words:
                self._committed(words, text, number)
            elif verb == "log" and all(_PLAIN.fullmatch(word) for word in words[1:]):
                self._logged(text, number)
        if match := _DETACHED.search(text):
            self.branch, self.branch_message = f"(detached at {match['hash']})", number
        return listed

    def _branched(self, match: re.Match[str] | None, number: int) -> None:
        if match:
            self.branch, self.branch_message = one_line(match["branch"], _SUBJECT), number

    def _named(self, text: str, number: int, *, alone: bool, last: bool) -> None:
        """A branch whose name is all that is printed."""
        lines = [line.strip() for line in text.strip().split("\n")]
        if (alone and len(lines) == 1) or last:
            name = lines[-1]
            if _NAME.fullmatch(name) and name != "HEAD":
                self.branch, self.branch_message = name, number

    def _committed(self, words: Sequence[str], text: str, number: int) -> None:
        if match := _COMMITTED.search(text):
            self.commit, self.subject, self.commit_message = (
                match["hash"],
                one_line(match["subject"], _SUBJECT),
                number,
            )
            if match["branch"] not in ("detached", "HEAD"):
                self.branch, self.branch_message = match["branch"], number
            return
        # A quiet commit says nothing; its subject stands in the call.
        for flag, following in pairwise(words):
            if re.fullmatch(r"-[a-z]*m|--message", flag):
                subject = unquoted(following).strip().split("\n")[0]
                if subject and "$(" not in subject:
                    self.commit, self.subject, self.commit_message = "", one_line(subject, _SUBJECT), number
                return

    def _logged(self, text: str, number: int) -> None:
        if match := _LOGGED.search(text):
            subject = match["subject"] or match["message"] or ""
            self.commit = match["hash"] or match["full"][:12]
            self.subject, self.commit_message = one_line(subject, _SUBJECT), number
            if match["refs"] and (head := re.match(r"HEAD -> ([^,\s]{1,200})", match["refs"])):
                self.branch, self.branch_message = head[1], number


def _is_git(command: Simple) -> bool:
    return bool(command.words) and command.words[0].rsplit("/", 1)[-1] == "git"


def _words(command: Simple) -> list[str]:
    """The words behind `git` and its own options."""
    words = list(command.words[1:])
    while words and words[0].startswith("-"):
        words = words[2:] if words[0] in ("-C", "-c", "--git-dir", "--work-tree") else words[1:]
    return words
