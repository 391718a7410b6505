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
from snapshot.recovery import classify_error

try:
    import litellm
    from litellm.integrations.custom_logger import CustomLogger
except ImportError as error:
    raise SnapshotError("LiteLLM is not installed: pip install 'snapshot-pages[litellm]'") from error

__all__ = ["SnapshotCallback", "callback"]

# Where a call holds its conversation: chats and Anthropic's messages, or Responses.
_LISTS = ("messages", "input")
# The form that it has there, by the beginning of the call's kind; words alone do not tell.
_FORMS = {"anthropic": "anthropic", "aresponses": "openai-responses", "responses": "openai-responses"}
_CHAT = "openai"
_BODY = ("messages", "input", "system", "instructions", "tools")
_REMEMBERED = 1000  # refusals that wait for the call to come again, and calls that went out changed


class SnapshotCallback(CustomLogger):
    """Makes each conversation fit before it goes to a deployment.

    Coroutines of LiteLLM (`acompletion`, `aresponses`, `anthropic_messages`), its router and its proxy call
    it by themselves. A request that the provider refused for its size all the same is made smaller when it
    comes again: from the client, or by the router, which sends it again to the deployments that its
    `context_window_fallbacks` name. LiteLLM's own retries (`num_retries`) never come here, and send the same
    request again. `callback.acompletion(…)` and, for which LiteLLM calls no such hook at all,
    `callback.completion(…)` recover by themselves.

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
        # Of calls that went out with another conversation than came: what the one that came is known by.
        self._asked: dict[str, str] = {}

    async def async_pre_call_deployment_hook(
        self, kwargs: Mapping[str, Any], call_type: Any
    ) -> dict[str, Any] | None:
        """What goes to the deployment in place of `kwargs`; None where it goes as it is."""
        if not any(isinstance(kwargs.get(key), list) and kwargs[key] for key in _LISTS):
            return None
        kind = str(getattr(call_type, "value", call_type) or "")
        form = next((form for start, form in _FORMS.items() if kind.startswith(start)), _CHAT)
        fitted, key = await asyncio.to_thread(self._prepared, kwargs, form)
        if fitted is not None:
            _remember(self._asked, str(kwargs.get("litellm_call_id") or ""), key)
        return fitted

    def _prepared(self, request: Mapping[str, Any], form: str) -> tuple[dict[str, Any] | None, str]:
        """What goes out in place of a request, and the key of its conversation; None where it stays."""
        # The key costs half of a call that changes nothing: it is asked for where it is needed.
        error = self.refused.pop(_key(request), None) if self.refused else None
        fitted = None if error is None else self._fitted(request, error, form)
        if fitted is None:
            fitted = self._fitted(request, None, form)
        return fitted, "" if fitted is None else _key(request)

    async def async_post_call_failure_deployment_hook(
        self,
        request_data: Mapping[str, Any],
        exception: Exception,
        call_type: Any,  # noqa: ARG002
        fallback_depth: int | None = None,  # noqa: ARG002
    ) -> None:
        """Remember what a provider refused, before anybody can send the request again."""
        self._refused(request_data, exception)

    async def async_log_failure_event(
        self,
        kwargs: Mapping[str, Any],
        response_obj: Any,  # noqa: ARG002
        start_time: Any,  # noqa: ARG002
        end_time: Any,  # noqa: ARG002
    ) -> None:
        """The same, where an older LiteLLM has no other way to tell: it does so in the background."""
        if not hasattr(CustomLogger, "async_post_call_failure_deployment_hook"):
            self._refused(kwargs, kwargs.get("exception"))

    def _refused(self, request: Mapping[str, Any], error: object) -> None:
        cause = classify_error(error)
        if isinstance(error, Exception) and (cause.overflow or cause.curable_by_less):
            key = self._asked.get(str(request.get("litellm_call_id") or "")) or _key(request)
            if key:
                _remember(self.refused, key, error)

    def completion(self, **request: Any) -> Any:
        """`litellm.completion(**request)`, with a conversation that fits, sent once more where it did not."""
        try:
            return litellm.completion(**(self._fitted(request, None) or request))
        except Exception as error:  # LiteLLM's classes, or the SDK's
            smaller = self._fitted(request, error)
            if smaller is None:
                raise
            return litellm.completion(**smaller)

    async def acompletion(self, **request: Any) -> Any:
        """`await litellm.acompletion(**request)`, with a conversation that fits, sent once more where it did
        not."""
        try:
            return await litellm.acompletion(
                **(await asyncio.to_thread(self._fitted, request, None) or request)
            )
        except Exception as error:
            smaller = await asyncio.to_thread(self._fitted, request, error)
            if smaller is None:
                raise
            return await litellm.acompletion(**smaller)

    def _fitted(
        self, request: Mapping[str, Any], error: Exception | None, form: str = _CHAT
    ) -> dict[str, Any] | None:
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
        return None if done.unchanged else {**request, **done.splice(api=form)}


def _remember(held: dict[str, Any], key: str, value: object) -> None:
    """Hold a value, and let go of what has been held longest where there are too many."""
    while len(held) >= _REMEMBERED:
        held.pop(next(iter(held)))
    held[key] = value


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
