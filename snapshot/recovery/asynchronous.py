"""`arecover`: recovery beside an event loop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Unpack

from snapshot.compaction.archive import Archive
from snapshot.compaction.asynchronous import beside_the_loop
from snapshot.compaction.options import Options, Settings, spell_out_settings
from snapshot.compaction.result import Compaction
from snapshot.messages import Transcript
from snapshot.recovery.recover import recover

__all__ = ["arecover"]


@spell_out_settings
async def arecover(
    conversation: Transcript | Sequence[Any] | Mapping[str, Any],
    error: object,
    *,
    model: str,
    archive: Archive | None = None,
    draft: Transcript | Sequence[Any] = (),
    provider: str = "",
    options: Options | None = None,
    **settings: Unpack[Settings],
) -> Compaction:
    """Recover as `snapshot.recover` does, in a thread, so that the event loop goes on.

    Arguments and errors are those of `snapshot.recover`; for the rest see `snapshot.acompact`.
    """
    call = partial(recover, conversation, error, model=model, archive=archive, draft=draft, provider=provider)
    return await beside_the_loop(call, (options or Options()).changed(settings))
