"""Compaction call by call: a host gives its whole conversation each time, and its archive is kept."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias, Unpack, cast

from snapshot.compaction import Archive, Compaction, compact
from snapshot.compaction.options import Settings
from snapshot.integrations.archives import Archives, prefix_keys
from snapshot.recovery import recover
from snapshot.transcripts.io.json_values import plain

__all__ = ["Keeper"]

Conversation: TypeAlias = "Sequence[Any] | Mapping[str, Any]"

_LISTS = ("messages", "input", "contents")
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

    def compact(self, conversation: Conversation, *, model: str, **more: Unpack[Settings]) -> Compaction:
        """What `snapshot.compact` gives, from the archive of this conversation on.

        Args:
            conversation: an API's or a framework's whole list of messages, or the body that holds it.
            model: id of the model that will read it.
            more: settings for this call alone.
        """
        given = _Given.of(conversation)
        done = compact(conversation, model=model, archive=self._found(given), **self._with(more))
        return self._kept(given, done)

    def recover(
        self, conversation: Conversation, error: object, *, model: str, **more: Unpack[Settings]
    ) -> Compaction:
        """What `snapshot.recover` gives, from the archive of this conversation on.

        Raises:
            NotOverflow: the error says something else: let it pass.
        """
        given = _Given.of(conversation)
        done = recover(conversation, error, model=model, archive=self._found(given), **self._with(more))
        return self._kept(given, done)

    async def acompact(
        self, conversation: Conversation, *, model: str, **more: Unpack[Settings]
    ) -> Compaction:
        """Compact in a thread, so that the event loop goes on."""
        return await asyncio.to_thread(partial(self.compact, conversation, model=model, **more))

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
        return self.archives.find(given.keys)

    def _kept(self, given: _Given, done: Compaction) -> Compaction:
        """The compaction, its archive kept where it is a new one."""
        edits = done.edits
        covered = max((edit.stop for edit in edits), default=0)
        if done.archive is not None and not done.report.no_op and covered:
            self.archives.keep(given.keys[covered - 1], done.archive)
        return done


@dataclass(frozen=True, slots=True)
class _Given:
    """The keys of a conversation's beginnings, each that of the list up to a message."""

    keys: list[str]

    @classmethod
    def of(cls, conversation: Conversation) -> _Given:
        body = conversation
        if isinstance(body, Mapping):
            listed: Any = next((body[key] for key in _LISTS if isinstance(body.get(key), list | tuple)), [])
        else:
            listed = list(body)
        return cls(prefix_keys(cast("list[Any]", plain(listed))))
