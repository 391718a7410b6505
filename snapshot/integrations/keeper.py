"""Compaction call by call: a host gives its whole conversation each time, and its archive is kept."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from typing import Any, TypeAlias, Unpack, cast

from snapshot.compaction import Archive, Compaction
from snapshot.compaction.archived import CLOSING, OPENING
from snapshot.compaction.chain import chain_of
from snapshot.compaction.compact import Correction, compacted, transcript_of
from snapshot.compaction.history import histories
from snapshot.compaction.options import Options, Settings, Trigger, checked_trigger
from snapshot.errors import ArchiveError
from snapshot.integrations.archives import Archives
from snapshot.messages import Message, Text, Transcript
from snapshot.recovery import recover

__all__ = ["Keeper"]

Conversation: TypeAlias = "Sequence[Any] | Mapping[str, Any]"

# Of the input that is safe, from where on something is done: a loop asks before each call.
_THRESHOLD = 0.9


class Keeper:
    """Makes the conversations of a host fit, each going on from its own archive.

    The host's own list stays as it is: it gives all of it at every call, and sends `done.splice()`.

    Args:
        archives: where archives are kept; None: in memory.
        settings: of each compaction, as `snapshot.compact` takes them; the threshold is 0.9 if not given.
    """

    def __init__(self, archives: Archives | None = None, **settings: Unpack[Settings]) -> None:
        self.archives = archives if archives is not None else Archives()
        self._settings: Settings = {"threshold": _THRESHOLD, **settings}

    def compact(
        self,
        conversation: Conversation,
        *,
        model: str,
        trigger: Trigger = "target",
        **more: Unpack[Settings],
    ) -> Compaction:
        """What `snapshot.compact` gives, from the archive of this conversation on.

        Args:
            conversation: an API's whole list of messages, or the body that holds it; a framework's as a
                `HostList`.
            model: id of the model that will read it.
            trigger: as for `snapshot.compact`; "manual" for hosts that say themselves when.
            more: settings for this call alone.
        """
        checked_trigger(trigger)
        given = _Given.of(conversation)
        work = partial(
            compacted,
            conversation,
            model=model,
            trigger=trigger,
            draft=(),
            options=Options().changed(self._with(more)),
            correction=Correction(),
            transcript=given.transcript,
        )
        return self._done(given, work)

    def recover(
        self, conversation: Conversation, error: object, *, model: str, **more: Unpack[Settings]
    ) -> Compaction:
        """What `snapshot.recover` gives, from the archive of this conversation on.

        Raises:
            NotOverflow: the error says something else: let it pass.
        """
        given = _Given.of(conversation)
        return self._done(given, partial(recover, conversation, error, model=model, **self._with(more)))

    async def acompact(
        self,
        conversation: Conversation,
        *,
        model: str,
        trigger: Trigger = "target",
        **more: Unpack[Settings],
    ) -> Compaction:
        """Compact in a thread, so that the event loop goes on."""
        work = partial(self.compact, conversation, model=model, trigger=trigger, **more)
        return await asyncio.to_thread(work)

    async def arecover(
        self, conversation: Conversation, error: object, *, model: str, **more: Unpack[Settings]
    ) -> Compaction:
        """Recover in a thread, so that the event loop goes on."""
        return await asyncio.to_thread(partial(self.recover, conversation, error, model=model, **more))

    def archive(self, conversation: Conversation) -> Archive | None:
        """The archive that a conversation goes on from, None where nothing of it was replaced."""
        return self._found(_Given.of(conversation))

    def _with(self, more: Settings) -> Settings:
        return cast(Settings, {**self._settings, **more})

    def _found(self, given: _Given) -> Archive | None:
        return self.archives.find(given.keys) or self.archives.find(given.frame)

    def _done(self, given: _Given, work: Callable[..., Compaction]) -> Compaction:
        """What `work(archive=…)` gives, its archive kept where it is a new one."""
        try:
            done = work(archive=self._found(given))
        except ArchiveError:  # the host changed what the archive stood for: it is text like any other
            done = work(archive=None)
        if done.archive is not None and not done.report.no_op and (edits := done.edits):
            covered = done.covered
            if covered:
                self.archives.keep(given.keys[covered - 1], done.archive)
            for key in _frame_of([new for edit in edits for new in edit.messages]).keys:
                self.archives.keep(key, done.archive)
        return done


@dataclass(frozen=True, slots=True)
class _Given:
    """A conversation, and its keys.

    Attributes:
        transcript: what it says.
        keys: of its beginnings, each that of the messages up to one.
        frame: of the archive that it shows, for hosts that keep what they sent; () for none.
    """

    transcript: Transcript
    keys: list[str]
    frame: list[str]

    @classmethod
    def of(cls, conversation: Conversation) -> _Given:
        transcript = transcript_of(conversation)
        messages = transcript.messages
        with histories.of(messages) as history:
            frame = history.built("frame", _Frame, messages)
        return cls(transcript, chain_of(messages), frame.keys)


class _Frame:
    """The texts of the last archive among messages: those that lead its pages, and that stand behind them."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def feed(self, messages: Sequence[Message]) -> None:
        """Take in the messages that follow; an archive stands where the user speaks."""
        for message in messages:
            if message.role == "user":
                for part in message.parts:
                    if isinstance(part, Text) and part.text.startswith(OPENING + "\n"):
                        self.texts = [part.text]
                    elif self.texts and isinstance(part, Text) and part.text.startswith(CLOSING + "\n"):
                        self.texts.append(part.text)

    @property
    def keys(self) -> list[str]:
        """The key that the archive is kept under, where there is one."""
        digest = sha256("".join(self.texts).encode("utf-8", "surrogatepass"))
        return [f"frame:{digest.hexdigest()}"] if self.texts else []


def _frame_of(messages: Sequence[Message]) -> _Frame:
    frame = _Frame()
    frame.feed(messages)
    return frame
