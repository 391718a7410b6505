"""What shows that a long command goes on: a line on stderr after half a second, where that is a terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Lock, Timer
from typing import Any, Protocol

__all__ = ["Show", "progress"]

_PATIENCE = 0.5  # seconds; what is done sooner needs no line


class Show(Protocol):
    """Takes what is done, and of how much."""

    def __call__(self, done: int, total: int, /) -> None:
        """Show that `done` of `total` is done."""


@contextmanager
def progress(what: str) -> Iterator[Show]:
    """Show what takes long while the block runs; it gets a function that takes what is done, and of how much.

    Without a call of that function the line only says that it goes on. What draws it is imported once it is
    needed. Nothing is drawn where nobody looks: stderr is no terminal, or one that cannot move its cursor.
    """
    line = _Line(what)
    timer = Timer(_PATIENCE, line.start)
    timer.daemon = True
    if _watched():
        timer.start()
    try:
        yield line.show
    finally:
        timer.cancel()
        line.stop()


def _watched() -> bool:
    try:
        return sys.stderr is not None and sys.stderr.isatty()
    except ValueError:  # it is closed
        return False


class _Line:
    """The line: nothing until `start`, gone after `stop`."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._state: tuple[int, int] | None = None
        self._lock = Lock()
        self._over = False
        self._bar: Any = None
        self._task: Any = None

    def show(self, done: int, total: int, /) -> None:
        """Show that `done` of `total` is done."""
        self._state = (done, total)
        with self._lock:
            if self._bar is not None:
                self._bar.update(self._task, completed=done, total=total)

    def start(self) -> None:
        """Draw the line, and keep it up to date."""
        try:
            from rich.console import Console
            from rich.progress import BarColumn, Progress, SpinnerColumn, TaskProgressColumn, TextColumn
        except ImportError:
            return
        with self._lock, suppress(OSError, ValueError):
            if self._over:
                return
            bar = Progress(
                SpinnerColumn(),
                TextColumn("{task.description}", markup=False),
                BarColumn(bar_width=24),
                TaskProgressColumn(),
                console=Console(stderr=True),
                transient=True,
                redirect_stdout=False,
                redirect_stderr=False,
            )
            done, total = self._state or (0, None)
            self._task = bar.add_task(self._what, completed=done, total=total)
            bar.start()
            self._bar = bar

    def stop(self) -> None:
        """Take the line away."""
        with self._lock, suppress(OSError, ValueError):
            self._over = True
            if self._bar is not None:
                self._bar.stop()
