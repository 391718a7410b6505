"""LangChain: a middleware for `create_agent` that makes the conversation fit before each call of the model.

    from langchain.agents import create_agent
    from snapshot.integrations.langchain import SnapshotMiddleware

    agent = create_agent("anthropic:claude-opus-4-8", tools, middleware=[SnapshotMiddleware()])

The agent's state keeps the whole conversation; what the model gets is its own messages, the same objects with
their signatures, and the archive in place of the middle. State: an archive for each conversation, in memory;
`SnapshotMiddleware(SqliteArchives(path))` keeps them in a file.
"""

# pyright: basic, reportMissingImports=false
# The types of its package are there only where the extra is.
from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Unpack

from snapshot.compaction import Compaction
from snapshot.compaction.options import Settings
from snapshot.errors import NotOverflow, SnapshotError
from snapshot.integrations.archives import Archives
from snapshot.integrations.keeper import Keeper
from snapshot.transcripts.watched import HostList

try:
    from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
    from langchain.tools import ToolRuntime, tool
    from langchain_core.messages import BaseMessage, convert_to_messages
except ImportError as error:
    raise SnapshotError("LangChain is not installed: pip install 'snapshot-pages[langchain]'") from error

__all__ = ["SnapshotMiddleware", "dumped"]


class SnapshotMiddleware(AgentMiddleware):
    """Compacts before the model is called, recovers once where its size is refused, offers the archive.

    Args:
        archives: where archives are kept; None: in memory.
        model: id of the model, where the agent's own does not say it.
        settings: of each compaction, as `snapshot.compact` takes them.
    """

    def __init__(
        self, archives: Archives | None = None, *, model: str = "", **settings: Unpack[Settings]
    ) -> None:
        super().__init__()
        self.keeper = Keeper(archives, **settings)
        self._model = model
        self.tools = [self._reading()]

    def wrap_model_call(
        self, request: ModelRequest, handler: Callable[[ModelRequest], ModelResponse]
    ) -> ModelResponse:
        """Call the model with a conversation that fits."""
        own, model = self._of(request)
        fitting = _with(request, self.keeper.compact(own, model=model))
        try:
            return handler(fitting)
        except Exception as error:  # the provider's own class, whatever the model is
            try:
                done = self.keeper.recover(own, error, model=model)
            except NotOverflow:
                raise error from None
            return handler(_with(request, done))

    async def awrap_model_call(
        self, request: ModelRequest, handler: Callable[[ModelRequest], Awaitable[ModelResponse]]
    ) -> ModelResponse:
        """Call the model with a conversation that fits, beside the event loop."""
        own, model = self._of(request)
        fitting = _with(request, await self.keeper.acompact(own, model=model))
        try:
            return await handler(fitting)
        except Exception as error:
            try:
                done = await self.keeper.arecover(own, error, model=model)
            except NotOverflow:
                raise error from None
            return await handler(_with(request, done))

    def _of(self, request: ModelRequest) -> tuple[HostList, str]:
        """The host's messages, and the model's id.

        The system's text and the tools stand beside them; the provider's counts of tokens have them.
        """
        return HostList(request.messages, dumped), self._model or _model_of(request.model)

    def _reading(self) -> Any:
        @tool("read_archive")
        def read_archive(
            runtime: ToolRuntime,
            page: int | None = None,
            message: int | None = None,
            run: int | None = None,
            search: str | None = None,
        ) -> str:
            """Exact text of the archive of earlier messages, of which you see pages as images.

            Args:
                page: number of a page, from 1.
                message: number of a message, as in [n] of the live state.
                run: number of a run of random characters, as in ✂7✂ on a page; with `message` where that page
                    stands in a message.
                search: words to find.
            """
            archive = self.keeper.archive(HostList(runtime.state["messages"], dumped))
            if archive is None:
                return "nothing of this conversation is archived: all of it is in view"
            return archive.answer({"page": page, "message": message, "run": run, "search": search})

        return read_archive


def dumped(message: BaseMessage) -> dict[str, Any]:
    """A message as a dictionary. A tool's artifact is the program's own, and no model sees it."""
    return {"type": message.type, "data": message.model_dump(exclude={"artifact"})}


def _with(request: ModelRequest, done: Compaction) -> ModelRequest:
    """The request with the host's own messages, and the archive in the middle's place."""
    if done.unchanged:
        return request
    return request.override(messages=done.splice(make=convert_to_messages, api="openai"))


def _model_of(model: Any) -> str:
    return str(getattr(model, "model_name", "") or getattr(model, "model", ""))
