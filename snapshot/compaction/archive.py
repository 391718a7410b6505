"""The archive, as a caller has it: what was replaced, a tool that reads it, and the way back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from typing import Any, cast

from snapshot.compaction.archived import CLOSING, OPENING, Archived, Changed, Found, PagedPart, Refusal
from snapshot.errors import ArchiveError
from snapshot.messages import Transcript

__all__ = ["CLOSING", "OPENING", "Archive", "Changed", "Found", "PagedPart", "Refusal"]

_ASKED = "`page`, `message`, `run` or `search`"
_MOST_CHARACTERS = 40_000  # of one answer: a message may be longer than the window
_APIS = ("anthropic", "openai", "openai-responses", "gemini")


class Archive(Archived):
    """The part of a conversation that a compaction replaced, to be kept beside it.

    Its fields are those of `Archived`.
    """

    def tool(self, api: str) -> dict[str, Any]:
        """A tool definition for `api`, with which a model asks for exact text; `answer` serves it."""
        name = "read_archive"
        description = (
            "Exact text of the archive of earlier messages, of which you see pages as images. Give `page` "
            "for the text of a page, `message` for that of a message by its number in the live state, "
            "`run` for a run of random characters by its number on a page (and `message` where that page "
            "stands in a message), or `search` to find words."
        )
        schema = {
            "type": "object",
            "properties": {
                "page": {"type": "integer", "description": "number of a page, from 1"},
                "message": {"type": "integer", "description": "number of a message, as in [n]"},
                "run": {"type": "integer", "description": "number of a run, as in ✂7✂"},
                "search": {"type": "string", "description": "words to find"},
            },
        }
        if api == "anthropic":
            return {"name": name, "description": description, "input_schema": schema}
        if api == "gemini":
            return {
                "functionDeclarations": [{"name": name, "description": description, "parameters": schema}]
            }
        if api == "openai-responses":
            return {"type": "function", "name": name, "description": description, "parameters": schema}
        if api in ("openai", "openai-chat"):
            function = {"name": name, "description": description, "parameters": schema}
            return {"type": "function", "function": function}
        raise ArchiveError(f"no tool definition for {api!r}: known are {', '.join(_APIS)}")

    def answer(self, arguments: Mapping[str, Any] | str) -> str:
        """The result of a call of `tool`; a wrong call gets a sentence that says what is right.

        Args:
            arguments: of the call, as an object or, as OpenAI has it, as JSON text.
        """
        try:
            given: Any = json.loads(arguments or "{}") if isinstance(arguments, str) else arguments
            if not isinstance(given, Mapping):
                return f"give an object with {_ASKED}"
            values = cast("Mapping[str, Any]", given)
            message = None if values.get("message") is None else int(values["message"])
            asked = {"page": self.page, "run": partial(self.run, message=message), "message": self.message}
            for name, exact in asked.items():
                if values.get(name) is not None:
                    text = exact(int(values[name]))
                    return text if name == "page" else _cut(text, "search, or ask for pages")
            if values.get("search"):
                places = self.search(str(values["search"]))
                return "\n".join(f"page {item.page}: {item.text}" for item in places) or "not found"
        except (ArchiveError, ValueError, TypeError, OverflowError, RecursionError) as error:
            return str(error)
        return f"give {_ASKED}"

    # --- undoing

    def restore(self, transcript: Transcript) -> Transcript:
        """The conversation with what was archived in place of its pages, summary or marks.

        The whole history is given back as it is.

        Raises:
            ArchiveError: the archive is of another conversation.
        """
        from snapshot.compaction.restoring import restored

        return restored(self, transcript)


def _cut(text: str, rest: str) -> str:
    """The text, or its beginning and how to get the rest, where it is too long for an answer."""
    more = len(text) - _MOST_CHARACTERS
    return f"{text[:-more]}\n[{more} more characters: {rest}]" if more > 0 else text
