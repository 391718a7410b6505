"""Policies of compaction, each a class that makes the next request smaller once it has grown too large."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar, Protocol

from snapshot.compaction import Archive, Options, compact
from snapshot.compaction.options import Budget
from snapshot.errors import CannotFit, SummarizerRequired
from snapshot.replay.form import Form, Unit, units_of
from snapshot.replay.recording import Recording

__all__ = ["Drop", "Ours", "Policy", "Stopped", "Summary", "Text"]

# A call that found nothing to do is not made again until so large a share of the window is new.
_WAIT = 50


class Stopped(Exception):
    """A policy has no way to make the next request small enough; the message says why."""


class Policy(Protocol):
    """A policy of compaction."""

    name: ClassVar[str]

    def form(self, form: Form, stop: int, tokens: int) -> Form:
        """The form of the request that message `stop` answers; `form` itself where it stays as it is.

        Args:
            form: the form of the request before.
            stop: number of the message that is to come.
            tokens: what the request would take in the same form.

        Raises:
            Stopped: there is no form in which the request may be sent.
        """
        ...

    def own_call(self) -> int:
        """Tokens that a model wrote to make the newest form, from the whole request before; 0: no call."""
        ...


@dataclass
class _Base:
    recording: Recording
    options: Options
    budget: Budget

    def own_call(self) -> int:
        return 0

    @property
    def _threshold(self) -> int:
        """Where nothing else is said, a policy waits until the window is full."""
        return self.budget.safe if self.options.threshold is None else self.budget.threshold

    def _head(self) -> list[Unit]:
        """What leads each request: what is sent beside the messages, and the head."""
        estimator = self.recording.estimator
        return [
            ("beside", estimator.overhead),
            *units_of(self.recording.messages[: self.recording.head], estimator),
        ]

    def _checked(self, form: Form, stop: int) -> Form:
        tokens = form.tokens + self.recording.tokens(form.start, stop)
        if tokens > self.budget.safe:
            raise Stopped(
                f"the newest messages alone take {tokens:,} tokens where {self.budget.safe:,} are safe"
            )
        return form


class Text(_Base):
    """Everything stays as text, until it overflows."""

    name: ClassVar[str] = "text"

    def form(self, form: Form, stop: int, tokens: int) -> Form:
        """The form as it is."""
        del stop
        if tokens > self.budget.safe:
            raise Stopped(f"the request takes {tokens:,} tokens where {self.budget.safe:,} are safe")
        return form


class Drop(_Base):
    """The oldest messages behind the head are dropped, down to the target."""

    name: ClassVar[str] = "drop"

    def form(self, form: Form, stop: int, tokens: int) -> Form:
        """The newest messages that the target has room for, behind the head."""
        if tokens <= self._threshold:
            return form
        head = tuple(self._head())
        room = self.budget.goal - sum(tokens for _, tokens in head)
        start = self.recording.cut(room, stop, max(form.start, self.recording.head))
        return self._checked(Form(head, start, self.recording.messages[: self.recording.head]), stop)


@dataclass
class Summary(_Base):
    """A summary replaces all but the head and a tail; the model that is compacted for writes it.

    The tail is the share of the target that ours keeps. What the summary says is not known, so no exact
    string counts as standing in it.
    """

    name: ClassVar[str] = "summary"
    summary_tokens: int = 2000
    _made: int = 0
    _new: int = 0

    def form(self, form: Form, stop: int, tokens: int) -> Form:
        """Head, summary and tail."""
        self._new = 0
        if tokens <= self._threshold:
            return form
        recording = self.recording
        start = recording.cut(self.budget.tail, stop, max(form.start, recording.head))
        self._made += 1
        units = (*self._head(), (("summary", self._made), self.summary_tokens))
        smaller = self._checked(Form(units, start, recording.messages[: recording.head]), stop)
        self._new = self.summary_tokens
        return smaller

    def own_call(self) -> int:
        """The tokens of the newest summary."""
        return self._new


@dataclass
class Ours(_Base):
    """The run is compacted as a harness would: before a request, from the archive of the time before."""

    name: ClassVar[str] = "ours"
    _archive: Archive | None = None
    _next: int = field(default=0)

    def form(self, form: Form, stop: int, tokens: int) -> Form:
        """What `compact` makes of the run so far; it is called only where there is something to do."""
        if tokens <= self.budget.threshold or (tokens < self._next and tokens <= self.budget.safe):
            return form
        recording = self.recording
        so_far = replace(recording.transcript, messages=recording.messages[:stop])
        try:
            done = compact(so_far, model=recording.model, archive=self._archive, options=self.options)
        except (CannotFit, SummarizerRequired) as error:
            raise Stopped(str(error)) from error
        report = done.report
        if report.no_op:
            self._next = tokens + self.budget.window // _WAIT
            return form
        self._archive, self._next = done.archive, 0
        messages = done.transcript.messages
        return Form(
            (("beside", recording.estimator.overhead), *units_of(messages, recording.estimator)),
            stop,
            messages,
            report.pages,
            recording,
        )
