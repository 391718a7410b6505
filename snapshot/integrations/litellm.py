"""LiteLLM: a callback that makes conversations fit, for the library and for the proxy's configuration.

    import litellm
    from snapshot.integrations.litellm import SnapshotCallback

    litellm.callbacks.append(SnapshotCallback())
    await litellm.acompletion(model="anthropic/claude-opus-4-8", messages=messages)

or, where a fleet calls LiteLLM's proxy, in its `config.yaml`:

    litellm_settings:
      callbacks: ["snapshot.integrations.litellm.callback"]

State: an archive for each conversation, in memory; `SnapshotCallback(SqliteArchives(path))` keeps them in a
file, and `callback` does so where SNAPSHOT_ARCHIVES names one. The caller's own messages are never changed.
"""

# pyright: basic, reportMissingImports=false
# The types of its package are there only where the extra is.
from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from typing import Any, Unpack

from snapshot.compaction.chain import chain_of
from snapshot.compaction.compact import transcript_of
from snapshot.compaction.options import Settings
from snapshot.errors import LayoutError, NotOverflow, SnapshotError, TranscriptError
from snapshot.integrations.archives import Archives, SqliteArchives
from snapshot.integrations.keeper import Keeper

try:
    import litellm
    from litellm.integrations.custom_logger import CustomLogger
except ImportError as error:
    raise SnapshotError("LiteLLM is not installed: pip install 'snapshot-pages[litellm]'") from error

__all__ = ["SnapshotCallback", "callback"]

# Where a call holds its conversation: chats and Anthropic's messages, or Responses.
_LISTS = ("messages", "input")
_BODY = ("messages", "input", "system", "instructions", "tools")
_REMEMBERED = 1000  # refusals that wait for the call to come again


class SnapshotCallback(CustomLogger):
    """Makes each conversation fit before it goes to a deployment.

    Coroutines of LiteLLM (`acompletion`, `aresponses`, `anthropic_messages`) and its proxy call it by
    themselves. A request that the provider refused for its size all the same is made smaller when it comes
    again, by a retry of the router or of the client. LiteLLM calls no such hook for `completion`: use
    `callback.completion(…)` in its place, which also recovers by itself.

    Args:
        archives: where archives are kept; None: in memory.
        settings: of each compaction, as `snapshot.compact` takes them.

    Attributes:
        refused: what providers said to conversations that have not come again yet.
    """

    def __init__(self, archives: Archives | None = None, **settings: Unpack[Settings]) -> None:
        super().__init__()
        self.keeper = Keeper(archives, **settings)
        self.refused: dict[str, Exception] = {}

    async def async_pre_call_deployment_hook(
        self,
        kwargs: Mapping[str, Any],
        call_type: Any,  # noqa: ARG002 - LiteLLM names it
    ) -> dict[str, Any] | None:
        """What goes to the deployment in place of `kwargs`; None where it goes as it is."""
        if not any(isinstance(kwargs.get(key), list) and kwargs[key] for key in _LISTS):
            return None
        # The key of a conversation costs by its length: it is asked for where something was refused.
        error = self.refused.pop(_key(kwargs), None) if self.refused else None
        return await asyncio.to_thread(self._fitted, kwargs, error)

    async def async_log_failure_event(
        self,
        kwargs: Mapping[str, Any],
        response_obj: Any,  # noqa: ARG002
        start_time: Any,  # noqa: ARG002
        end_time: Any,  # noqa: ARG002
    ) -> None:
        """Remember what a provider refused, until the request comes again."""
        error = kwargs.get("exception")
        original = kwargs.get("additional_args", {}).get("complete_input_dict") or kwargs
        key = _key(kwargs) or _key(original)
        if key and isinstance(error, Exception):
            while len(self.refused) >= _REMEMBERED:
                self.refused.pop(next(iter(self.refused)))
            self.refused[key] = error

    def completion(self, **request: Any) -> Any:
        """`litellm.completion(**request)`, with a conversation that fits."""
        try:
            return litellm.completion(**(self._fitted(request, None) or request))
        except Exception as error:  # LiteLLM's classes, or the SDK's
            smaller = self._fitted(request, error)
            if smaller is None:
                raise
            return litellm.completion(**smaller)

    def _fitted(self, request: Mapping[str, Any], error: Exception | None) -> dict[str, Any] | None:
        """The request with a conversation that fits; None where it stays as it is."""
        model = str(request.get("model") or "")
        body = {key: request[key] for key in _BODY if request.get(key)}
        try:
            if error is None:
                done = self.keeper.compact(body, model=model)
            else:
                done = self.keeper.recover(body, error, model=model)
        except (LayoutError, NotOverflow):  # nothing is known of the model; a refusal of another kind
            return None
        return None if done.unchanged else {**request, **done.splice()}


def _key(request: Mapping[str, Any]) -> str:
    """What tells a request's conversation from others; "" where it has none."""
    listed = next((request[key] for key in _LISTS if isinstance(request.get(key), list)), None)
    try:
        keys = chain_of(transcript_of(listed).messages) if listed else []
    except TranscriptError:
        return ""
    return keys[-1] if keys else ""


callback = SnapshotCallback(
    SqliteArchives(os.environ["SNAPSHOT_ARCHIVES"]) if os.environ.get("SNAPSHOT_ARCHIVES") else None
)
"""For the configuration of LiteLLM's proxy, which names it."""
