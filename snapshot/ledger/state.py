"""What a ledger consists of: plain values, each with the number of the message that it was seen in.

Messages are counted from 1 in the whole conversation; 0 stands for "never". All texts are single lines
without control characters.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

__all__ = [
    "Change",
    "CommandRun",
    "Failure",
    "FileState",
    "Handle",
    "Ledger",
    "Loaded",
    "Outcome",
    "PlanStep",
    "Question",
    "Repository",
    "RunKind",
    "Setting",
]

Change: TypeAlias = Literal["created", "written", "edited", "moved", "deleted", "perhaps", "listed", ""]
Outcome: TypeAlias = Literal["ok", "failed", "unrun", "unknown"]
RunKind: TypeAlias = Literal["test", "build", "lint"]


@dataclass(frozen=True, slots=True)
class PlanStep:
    """A step of the newest plan.

    Attributes:
        text: what is to be done, in the plan's own words.
        state: "open", "in progress", "done", "blocked", "dropped", or a word of the harness's own.
        message: where this state was set.
        id: what the harness calls the step, "" where steps have no ids.
    """

    text: str
    state: str
    message: int
    id: str = ""


@dataclass(frozen=True, slots=True)
class FileState:
    """A file that was changed or read.

    Attributes:
        path: as the newest call named it; absolute if any call did so.
        change: the last change, "" if it was only read. "written" where nobody said whether it was new,
            "perhaps" where a command may have changed it, "listed" where only git named it as changed.
        changed: where that change was made.
        created: where the file was created, if that was seen.
        read: where it was read last.
        source: where a moved file was before.
        changes: where it was changed, the newest last; the last few of many.
    """

    path: str
    change: Change = ""
    changed: int = 0
    created: int = 0
    read: int = 0
    source: str = ""
    changes: tuple[int, ...] = ()

    @property
    def message(self) -> int:
        """The message that this file was touched in last."""
        return max(self.changed, self.read)

    @property
    def read_after(self) -> bool:
        """Whether it was read after its last change."""
        return self.read > self.changed


@dataclass(frozen=True, slots=True)
class CommandRun:
    """The last run of a test, build or lint command.

    Attributes:
        kind: what the command is for.
        command: the simple command, without what stands around it on the command line.
        outcome: "unrun" where a path or a program that the command names is not there, so that nothing was
            tried; "unknown" where neither an exit code nor the output tells it.
        message: where the outcome was seen.
        code: the exit code, None where it is not known.
        line: the line of the output that tells the outcome, "" if there is none.
        stale: whether a file was changed after it.
        where: the folder that it ran in, "" where the call does not say.
        again: where the same command was run later without showing its outcome, 0 if it was not.
    """

    kind: RunKind
    command: str
    outcome: Outcome
    message: int
    code: int | None = None
    line: str = ""
    stale: bool = False
    again: int = 0
    where: str = ""


@dataclass(frozen=True, slots=True)
class Failure:
    """A call that failed, and that did not succeed since."""

    what: str
    line: str
    message: int


@dataclass(frozen=True, slots=True)
class Handle:
    """Something that was started and is not known to have ended.

    Attributes:
        kind: "agent", "shell", "job", "process", ….
        id: what the harness calls it: the handle to ask for it or to stop it.
        what: what it does, in the words of the call that started it.
        message: where it was started.
        output: file that its output goes to, "" if none was named.
    """

    kind: str
    id: str
    what: str
    message: int
    output: str = ""


@dataclass(frozen=True, slots=True)
class Question:
    """A question to the user that nobody answered."""

    text: str
    message: int


@dataclass(frozen=True, slots=True)
class Repository:
    """The git branch and the newest commit that were seen; "" and 0 for what was not."""

    branch: str = ""
    branch_message: int = 0
    commit: str = ""
    subject: str = ""
    commit_message: int = 0


@dataclass(frozen=True, slots=True)
class Setting:
    """A mode, a permission, or who is in charge: its name and the value it has."""

    name: str
    value: str
    message: int


@dataclass(frozen=True, slots=True)
class Loaded:
    """A skill or a tool that was loaded in the course of the conversation, with the folder of a skill."""

    kind: Literal["skill", "tool"]
    name: str
    message: int
    folder: str = ""


@dataclass(frozen=True, slots=True)
class Ledger:
    """The live state of a conversation, as calls and results show it.

    Attributes:
        messages: how many messages it was drawn from.
        plan: steps of the newest plan, in its order.
        handles: what still runs, in the order of its start.
        failures: errors not yet resolved, the newest first.
        files: files that were changed or read, those touched last first.
        runs: last run of each test, build and lint command, the newest first.
        questions: open questions to the user, in order.
        repository: branch and last commit.
        settings: modes and permissions.
        loaded: skills and tools, in the order in which they were loaded.
    """

    messages: int = 0
    plan: tuple[PlanStep, ...] = ()
    handles: tuple[Handle, ...] = ()
    failures: tuple[Failure, ...] = ()
    files: tuple[FileState, ...] = ()
    runs: tuple[CommandRun, ...] = ()
    questions: tuple[Question, ...] = ()
    repository: Repository = Repository()
    settings: tuple[Setting, ...] = ()
    loaded: tuple[Loaded, ...] = ()

    @property
    def empty(self) -> bool:
        """Whether there is nothing to tell."""
        return not (
            self.plan
            or self.handles
            or self.failures
            or self.files
            or self.runs
            or self.questions
            or self.repository != Repository()
            or self.settings
            or self.loaded
        )
