"""What is sent and what comes back: the types between a trial and whatever carries its calls.

A sender is any function from a `Prompt` to a `Reply`. What is an outcome (an answer, a refusal, an answer cut
off) is a reply; what is none is an error: `NotSent` where nothing can have been billed, `Unknown` where it
may."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from snapshot.errors import SnapshotError

__all__ = ["NotSent", "Prompt", "Reply", "Sender", "Stop", "Unknown"]

Stop: TypeAlias = Literal["end", "length", "refusal"]


@dataclass(frozen=True, slots=True)
class Prompt:
    """One call.

    Attributes:
        model: id of the model.
        images: PNG files, which stand before the text.
        text: what is asked.
        max_tokens: the most that the answer may have, reasoning included.
        detail: image detail to ask for, "" for none.
        reasoning: how much the model is to think, in the API's own word; "" says nothing of it.
    """

    model: str
    images: tuple[bytes, ...] = field(repr=False)
    text: str
    max_tokens: int
    detail: str = ""
    reasoning: str = ""


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model answered.

    Attributes:
        text: its words; of a refusal, the reason if one was given.
        stop: "end", "length" for an answer cut off, or "refusal".
        input, output: tokens billed, reasoning among the output; None where the API says nothing.
        id: the provider's id of the request.
    """

    text: str
    stop: Stop = "end"
    input: int | None = None
    output: int | None = None
    id: str = ""


Sender: TypeAlias = Callable[[Prompt], Reply]


class NotSent(SnapshotError):
    """The provider took no call: it is busy, or wants none such. Nothing was billed.

    Attributes:
        again: whether the same call may be made later.
        wait: seconds that the provider asks to wait for, if it does.
    """

    def __init__(self, what: str, *, again: bool, wait: float | None = None) -> None:
        self.again, self.wait = again, wait
        super().__init__(what)


class Unknown(SnapshotError):
    """A call was made, and nobody knows what became of it: it may have been billed."""
