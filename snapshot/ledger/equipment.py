"""What the agent works with: modes and permissions, skills and tools that were loaded."""

from __future__ import annotations

from typing import Literal

from snapshot.ledger.lines import one_line
from snapshot.ledger.state import Loaded, Setting

__all__ = ["Equipment"]

_NAME = 120
_VALUE = 300


class Equipment:
    """Settings by name, and what was loaded, in the order of the last time."""

    def __init__(self) -> None:
        self._settings: dict[str, Setting] = {}
        self._loaded: dict[tuple[str, str], Loaded] = {}
        self._without_folder = ""

    def enter(self, setting: str, value: str, number: int) -> None:
        """A setting has this value now; the message that it first had it in is kept."""
        word = one_line(value, _VALUE)
        before = self._settings.get(setting)
        if setting and word and not (before and before.value == word):
            self._settings.pop(setting, None)
            self._settings[setting] = Setting(setting, word, number)

    def leave(self, setting: str) -> None:
        """A setting is no more."""
        self._settings.pop(setting, None)

    def load(self, kind: Literal["skill", "tool"], name: str, number: int, folder: str = "") -> None:
        """A skill or a tool was loaded; a folder that was seen before is kept."""
        line = one_line(name, _NAME)
        if not line:
            return
        before = self._loaded.pop((kind, line), None)
        where = one_line(folder, _VALUE) or (before.folder if before else "")
        self._loaded[kind, line] = Loaded(kind, line, number, where)
        if kind == "skill":
            self._without_folder = "" if where else line

    def folder(self, folder: str, number: int) -> None:
        """The folder of the skill that was loaded last, told in a message of its own."""
        if name := self._without_folder:
            self.load("skill", name, number, folder)

    def settings(self) -> tuple[Setting, ...]:
        """The settings that hold."""
        return tuple(self._settings.values())

    def loaded(self) -> tuple[Loaded, ...]:
        """Skills and tools."""
        return tuple(self._loaded.values())
