"""A conversation in use: turns that are written when they are over, and compaction beside them.

While a compaction runs, what would change its branch is refused; a message that is sent waits for its end. If
it fails, or is cancelled, that message is not sent and comes back as it was. A turn that is not over is in
memory alone, so a crash leaves the turn before it; nothing is compacted meanwhile.

Other processes are not held up by any of this: what they change makes the compaction stale, and a turn that
was begun before they added to the branch becomes a branch of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, replace
from threading import RLock, Thread
from typing import Any

from snapshot.errors import NotSent, SessionBusy, SessionError
from snapshot.messages import Message, Transcript
from snapshot.session.checkpoint import Prepared
from snapshot.session.history import History, Plan
from snapshot.session.store import Store
from snapshot.session.transcript_file import save_run
from snapshot.session.tree import Branch
from snapshot.session.view import Projection

__all__ = ["Background", "Live", "Turn"]


class _Cancelled(Exception):
    """Ends the drawing of pages."""


class Background:
    """A compaction that runs beside its conversation.

    Attributes:
        progress: pages drawn, and all of them as far as that is known.
    """

    def __init__(self, live: Live, plan: Plan) -> None:
        self._live, self._plan = live, plan
        self._future: Future[Prepared] = Future()
        self._committing = False
        self.progress = (0, 0)

    @property
    def running(self) -> bool:
        """Whether it goes on."""
        return not self._future.done()

    def cancel(self) -> bool:
        """Give up; nothing will be written. False if it is too late for that."""
        with self._live._lock:
            if self._committing or self._future.done():
                return False
            self._live._end(self, SessionError("the compaction was cancelled; nothing was written"))
            return True

    def result(self, timeout: float | None = None) -> Prepared:
        """Wait for its end.

        Raises:
            TimeoutError: it goes on still.
            StaleCompaction: somebody else has changed the branch meanwhile.
            SnapshotError: what compaction raises, or that it was cancelled.
        """
        return self._future.result(timeout)

    def _run(self, settings: dict[str, Any], tell: Callable[[int, int], None] | None) -> None:
        """What its thread does, with a connection of its own."""

        def progress(done: int, total: int) -> None:
            if self._future.done():
                raise _Cancelled
            self.progress = done, total
            if tell is not None:
                tell(done, total)

        try:
            with Store(self._live.history.rows.database.path) as store:
                history = store.history(self._live.history.name, self._live.history.agent)
                prepared = history.prepare(self._plan, progress=progress, **settings)
                with self._live._lock:
                    if self._future.done():
                        return
                    self._committing = True
                if prepared.checkpoint is not None:
                    history.commit(self._plan, prepared.checkpoint)
                    self._live._save(history)
        except _Cancelled:
            return
        except BaseException as error:  # it is the caller's, whatever it is
            self._live._end(self, error)
        else:
            self._live._end(self, prepared)


@dataclass(frozen=True, slots=True)
class _Waiting:
    draft: Message
    branch: str
    future: Future[Turn]


class Turn:
    """A turn that is going on: a message of the user's and what has come since. Written by `finish`.

    Attributes:
        messages: what there is of it.
        branch: the branch it was begun on, and is written to if nobody else has added to it since.
    """

    def __init__(self, live: Live, draft: Message, branch: str, leaf: str | None) -> None:
        self._live, self.branch = live, branch
        self.messages: list[Message] = [draft]
        # What it follows; None until it is looked at, where the turn was begun by a compaction's thread.
        self._leaf = leaf

    def transcript(self) -> Transcript:
        """What to send now: the branch as it is stored, and this turn."""
        history = self._live.history
        if self._leaf is None:
            self._leaf = history.branch(self.branch).leaf
        if self._leaf:  # what others have added since is not what this turn answers
            stored = history.project(self.branch, at=self._leaf)
        else:
            stored = Projection(history.branch(self.branch).model, history.format)
        now = tuple(("", message) for message in self.messages)
        return replace(stored, kept=(*stored.kept, *now)).transcript

    def add(self, message: Message) -> None:
        """Add an answer, or results of calls."""
        self.messages.append(message)

    def finish(self) -> Branch:
        """Write the turn, in one transaction, and the agent's transcript beside the store.

        Where another process has added to the branch since the turn was begun, it goes on a new branch, as
        a sibling of what the model never saw; this conversation goes on there.

        Raises:
            SessionError: it is no whole turn; it goes on.
        """
        self._refuse_over()
        branch = self._live.history.append(self.messages, branch=self.branch, after=self._leaf)
        if branch.name != self.branch:
            self._live._own = branch.name
        self._live._turn = None
        self._live._save(self._live.history)
        return branch

    def abandon(self) -> None:
        """Forget the turn."""
        self._refuse_over()
        self._live._turn = None

    def _refuse_over(self) -> None:
        if self._live._turn is not self:
            raise SessionError("the turn is over already")


class Live:
    """An agent's conversation in use. Its methods are for one thread, the one that opened `history`.

    Attributes:
        history: what is stored.
        draft: what the user is writing; it may change at any time, whatever runs.
        unsaved: why the transcript beside the store is not up to date, "" if it is.
    """

    def __init__(self, history: History) -> None:
        self.history = history
        self.draft: Message | None = None
        self.unsaved = ""
        self._lock = RLock()
        self._compaction: Background | None = None
        self._turn: Turn | None = None
        self._waiting: _Waiting | None = None
        self._approvals = 0
        self._own = ""  # branch that a turn had to make, on which this conversation goes on

    @property
    def branch(self) -> str:
        """Name of the branch that is spoken on: the current one, or that which a turn had to make."""
        return self._own or self.history.current

    # --- turns

    def send(self, message: Message | None = None) -> Future[Turn]:
        """Begin a turn with a message, or with the draft; while a compaction runs, once it is over.

        The future has the turn, or raises `NotSent` with the message as it was if the compaction failed;
        the draft is back in its place then.

        Raises:
            SessionBusy: a turn is going on, or another message waits already.
        """
        with self._lock:
            if self._turn is not None or self._waiting is not None:
                why = "a turn is going on" if self._turn is not None else "another message waits already"
                raise SessionBusy(f"not sent: {why}")
            draft = message if message is not None else self.draft
            if draft is None:
                raise SessionError("there is nothing to send")
            if message is None:
                self.draft = None
            waiting = _Waiting(deepcopy(draft), self.branch, Future())
            if self._compaction is not None:
                self._waiting = waiting
            else:
                self._begin(waiting, self.history.branch(waiting.branch).leaf)
            return waiting.future

    @contextmanager
    def approval(self) -> Iterator[None]:
        """While somebody is asked for leave: nothing is compacted."""
        with self._lock:
            self._refuse_while_compacting("asked for an approval")
            self._approvals += 1
        try:
            yield
        finally:
            with self._lock:
                self._approvals -= 1

    # --- compaction

    def compact(self, *, progress: Callable[[int, int], None] | None = None, **settings: Any) -> Background:
        """Start to compact the branch that is spoken on; `settings` as for `History.prepare`.

        Raises:
            SessionBusy: a turn, an approval or an open call forbids it, or one runs already.
        """
        with self._lock:
            self._refuse_while_compacting("compacted again")
            if self._turn is not None:
                raise SessionBusy("not compacted: a turn is going on")
            if self._approvals:
                raise SessionBusy("not compacted: an approval is pending")
            self._compaction = background = Background(self, self.history.plan(self.branch))
        Thread(target=background._run, args=(settings, progress), daemon=True).start()
        return background

    # --- what changes the branch

    def retry(self, at: str = "") -> Branch:
        """See `History.retry`."""
        return self._undisturbed("retried", lambda: self.history.retry(at, branch=self.branch))

    def edit(self, at: str, new: str | Message) -> Branch:
        """See `History.edit`."""
        return self._undisturbed("edited", lambda: self.history.edit(at, new, branch=self.branch))

    def fork(self, at: str, name: str = "") -> Branch:
        """See `History.fork`."""
        return self._undisturbed("forked", lambda: self.history.fork(at, name), moves=True)

    def switch(self, branch: str) -> Branch:
        """See `History.switch`."""
        return self._undisturbed("switched", lambda: self.history.switch(branch), moves=True)

    def rewind(self, label: str, synthesis: str = "") -> Branch:
        """See `History.rewind`."""
        return self._undisturbed("rewound", lambda: self.history.rewind(label, synthesis, branch=self.branch))

    def set_model(self, model: str) -> Branch:
        """See `History.set_model`."""
        return self._undisturbed(
            "switched to another model", lambda: self.history.set_model(model, branch=self.branch)
        )

    # --- inside

    def _refuse_while_compacting(self, what: str) -> None:
        if self._compaction is not None:
            raise SessionBusy(f"not {what}: a compaction is running; wait for its end, or cancel it")

    def _undisturbed(self, what: str, do: Callable[[], Branch], *, moves: bool = False) -> Branch:
        """Do what changes the branch, or with `moves` which branch is the current one."""
        with self._lock:
            self._refuse_while_compacting(what)
            if self._turn is not None:
                raise SessionBusy(f"not {what}: a turn is going on")
            branch = do()
            if moves:
                self._own = ""
        self._save(self.history)
        return branch

    def _save(self, history: History) -> None:
        """Write the transcript beside the store. The store has it all, so that a failure is only noted."""
        try:
            save_run(history)
            self.unsaved = ""
        except SessionError as error:
            self.unsaved = str(error)

    def _begin(self, waiting: _Waiting, leaf: str | None) -> None:
        self._turn = Turn(self, waiting.draft, waiting.branch, leaf)
        waiting.future.set_result(self._turn)

    def _end(self, background: Background, outcome: Prepared | BaseException) -> None:
        """A compaction is over: the message that waited goes on, or comes back."""
        with self._lock:
            if background._future.done():
                return
            self._compaction = None
            waiting, self._waiting = self._waiting, None
            if isinstance(outcome, Prepared):
                background._future.set_result(outcome)
                if waiting is not None:
                    self._begin(waiting, None)  # in another thread, which must not use this connection
            else:
                background._future.set_exception(outcome)
                if waiting is not None:
                    self.draft = self.draft or waiting.draft
                    waiting.future.set_exception(NotSent(f"not sent: {outcome}", draft=waiting.draft))
