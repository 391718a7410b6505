"""What is found in an input before it is read: its format, and the conversations in it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from snapshot.messages import Text
from snapshot.transcripts.io.json_values import as_list, as_object, quoted

if TYPE_CHECKING:
    from snapshot.messages import Transcript
    from snapshot.transcripts.io.source import Source

__all__ = ["Conversation", "Detection", "Thread", "choose", "first_words", "one_thread", "title_of"]

_TITLE = 72  # characters
# Where the formats hold what is said; the first few blocks are enough for a title.
_WORDS = ("content", "message", "parts", "text", "value", "data", "kwargs")
_WITHIN = 10
_NAMED = 5  # conversations that an error names; `conversations` gives them all


@dataclass(frozen=True, slots=True)
class Detection:
    """A format that an input may have.

    Attributes:
        format: its name in `FORMATS`.
        confidence: how sure the reader is, from 0 to 1; of equals the first in `FORMATS` is meant.
        reason: what in the content says so, in a few words for a person.
    """

    format: str
    confidence: float
    reason: str


@dataclass(frozen=True, slots=True)
class Conversation:
    """One of the conversations in an input.

    Attributes:
        id: what chooses it; the file's own id where it has one, else a number or a word for it.
        title: the file's name for it, or its first words; may be empty.
        messages: how many the file counts in it; a transcript may split or join some.
        time: when it was last said something in, ISO 8601 or as the file has it; "" if unknown.
        main: whether it is the one that is meant when nobody chooses: the main thread beside those of
            subagents, the branch that was left last.
    """

    id: str
    title: str = ""
    messages: int = 0
    time: str = ""
    main: bool = False


@dataclass(frozen=True, slots=True)
class Thread:
    """A conversation, and the way to read it; one that is not listed is there for who knows its id."""

    conversation: Conversation
    read: Callable[[], Transcript]
    listed: bool = True


def one_thread(transcript: Transcript) -> tuple[Thread]:
    """The thread of a conversation that stands alone."""
    messages = transcript.messages
    first = next((p.text for m in messages if m.role == "user" for p in m.parts if isinstance(p, Text)), "")
    time = next((m.time for m in reversed(messages) if m.time), "")
    return (
        Thread(Conversation("main", title_of(first), len(messages), time, main=True), lambda: transcript),
    )


def title_of(words: str) -> str:
    """The first line of `words` as a title."""
    line = next((line for line in words[:1000].splitlines() if line.strip()), "")
    return " ".join(line.split())[:_TITLE]


def first_words(value: object, levels: int = 4) -> str:
    """The first text in a message, its content or its blocks, in whatever format."""
    if isinstance(value, str) or not levels:
        return value if isinstance(value, str) else ""
    block = as_object(value)
    inner = [block.get(key) for key in _WORDS] if block is not None else as_list(value) or []
    return next(filter(None, (first_words(one, levels - 1) for one in inner[:_WITHIN])), "")


def choose(source: Source, threads: Sequence[Thread], wanted: str | None) -> Thread:
    """The thread of the conversation `wanted`: by its id, or by the start of one id alone.

    Without a wish it is the only one, or the main one; several of equal rank are not guessed at.

    Raises:
        TranscriptError: nothing to read, no such conversation, or several and no wish.
    """
    if not threads:
        raise source.error("there is no conversation in it; nothing to read")
    listed = [thread for thread in threads if thread.listed]
    if wanted is None:
        main = [thread for thread in threads if thread.conversation.main]
        meant = main if main or len(listed) > 1 else listed
        if len(meant) == 1:
            return meant[0]
        raise source.error(
            f"it holds {len(meant or listed)} conversations; choose one by its id (`conversation=`): "
            + _named(meant or listed)
        )
    exact = [thread for thread in threads if thread.conversation.id == wanted]
    found = exact or [t for t in listed if wanted and t.conversation.id.startswith(wanted)]
    if exact or len(found) == 1:
        return found[0]
    if found:
        raise source.error(f"several conversations start with {quoted(wanted)}: {_named(found)}")
    from difflib import get_close_matches

    near = get_close_matches(wanted, [t.conversation.id for t in listed], n=1)
    hint = f"did you mean {quoted(near[0])}?" if near else f"it holds {_named(listed)}"
    raise source.error(f"no conversation {quoted(wanted)} in it; {hint}")


def _named(threads: Sequence[Thread]) -> str:
    """The newest of them, by id and title."""
    newest = sorted(threads, key=lambda thread: thread.conversation.time, reverse=True)[:_NAMED]
    told = [
        thread.conversation.id
        + (f" ({quoted(thread.conversation.title, 40)})" if thread.conversation.title else "")
        for thread in newest
    ]
    more = len(threads) - len(told)
    return ", ".join(told) + (f" and {more} more" if more else "")
