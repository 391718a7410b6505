"""Running totals over a conversation: what each message takes is found once, and summed for good.

A conversation grows at its end, and a harness asks about it before every request. So a tally follows its
messages: what it has seen already is recognised as the same objects and stays, the rest is measured. The sums
are those that measuring all of it anew would give.
"""

from __future__ import annotations

from array import array
from typing import NamedTuple

import numpy as np

from snapshot.compaction.alike import shared
from snapshot.compaction.archived import OPENING
from snapshot.compaction.body import message_bytes
from snapshot.compaction.estimate import measured
from snapshot.messages import File, Image, Message, Text, ToolResult
from snapshot.models.profile import ModelProfile

__all__ = ["Report", "Tally"]

# What a message costs beside its words, see `snapshot.compaction.estimate`.
_PLAIN_FRAME = 6


class Report(NamedTuple):
    """A usage that the provider reported.

    Attributes:
        at: number of the message that answered the request.
        input, output: its tokens.
        text: estimated tokens of the text before the message, at scale 1.
        shown: tokens of the images before it, which no scale touches.
        documents: tokens of the documents, in `text`: a guess by the page, so nothing to doubt a report by.
    """

    at: int
    input: int
    output: int
    text: int
    shown: int
    documents: int

    @property
    def estimate(self) -> int:
        """Estimated tokens of all before the message."""
        return self.text + self.shown


class Tally:
    """Totals of a conversation's messages for one reader.

    Attributes:
        reader: whose tokens are counted.
        messages: what was counted.
        reports: usages that the provider reported in them.
        attachments: number of the message and the image or document itself, in order.
        openings: numbers of the user's messages in which a text opens an archive.
        turns: numbers of the messages in which a turn starts.
    """

    def __init__(self, reader: ModelProfile) -> None:
        self.reader = reader
        self.messages: tuple[Message, ...] = ()
        self.reports: list[Report] = []
        self.attachments: list[tuple[int, Image | File]] = []
        self.openings: list[int] = []
        self.turns: list[int] = []
        # One item for each message: its frames, what is fixed, and where its texts end in `_texts`.
        self._frames, self._fixed, self._stops = array("q"), array("q"), array("q")
        self._texts = array("q")
        # Sums up to each message, one item more than messages.
        self._plain, self._shown, self._documents, self._bytes = (array("q", [0]) for _ in range(4))
        self._scaled: tuple[float, list[int]] | None = None

    def follow(self, messages: tuple[Message, ...]) -> None:
        """Count these messages: those that are new, where the others are the same objects as before."""
        if messages is self.messages:
            return
        known = shared(self.messages, messages)
        if known < len(self.messages):
            self._rewind(known)
        self.messages = messages[:known]  # should a message be one that cannot be measured
        for at in range(known, len(messages)):
            self._take(at, messages[at])
        if len(messages) != known or self._scaled is None:
            self._scaled = None
        self.messages = messages

    def _rewind(self, size: int) -> None:
        texts = self._stops[size - 1] if size else 0
        for values in (self._frames, self._fixed, self._stops):
            del values[size:]
        for sums in (self._plain, self._shown, self._documents, self._bytes):
            del sums[size + 1 :]
        del self._texts[texts:]
        while self.reports and self.reports[-1].at >= size:
            self.reports.pop()
        while self.attachments and self.attachments[-1][0] >= size:
            self.attachments.pop()
        for places in (self.openings, self.turns):
            while places and places[-1] >= size:
                places.pop()
        self._scaled = None

    def _take(self, at: int, message: Message) -> None:
        frames, fixed, shown, documents = 1, 0, 0, 0
        texts: list[int] = []
        attached: list[Image | File] = []
        for part in message.parts:
            size = measured(part, self.reader)
            frames += size.frames
            fixed += size.fixed
            texts += size.texts
            if isinstance(part, Image | File):
                attached.append(part)
            elif isinstance(part, ToolResult):
                attached += [item for item in part.content if isinstance(item, Image | File)]
        for item in attached:
            frames_of, texts_of, fixed_of = measured(item, self.reader)
            tokens = frames_of * _PLAIN_FRAME + sum(texts_of) + fixed_of
            if isinstance(item, Image):
                shown += tokens
            else:
                documents += tokens
        plain, images, in_documents = self._plain[-1], self._shown[-1], self._documents[-1]
        usage = message.usage
        if usage is not None and usage.input > 0:
            self.reports.append(Report(at, usage.input, usage.output, plain - images, images, in_documents))
        self._frames.append(frames)
        self._fixed.append(fixed)
        self._texts.extend(texts)
        self._stops.append(len(self._texts))
        self._plain.append(plain + frames * _PLAIN_FRAME + fixed + sum(texts))
        self._shown.append(images + shown)
        self._documents.append(in_documents + documents)
        self._bytes.append(self._bytes[-1] + message_bytes(message))
        self.attachments += [(at, item) for item in attached]
        if message.role == "user":
            if any(isinstance(part, Text) and part.text.startswith(OPENING) for part in message.parts):
                self.openings.append(at)
            if message.starts_turn:
                self.turns.append(at)

    def plain_tokens(self, start: int = 0) -> int:
        """Estimated tokens of the messages from `start` on, without correction."""
        return self._plain[-1] - self._plain[start]

    def shown_tokens(self, start: int = 0) -> int:
        """Tokens of the images in the messages from `start` on."""
        return self._shown[-1] - self._shown[start]

    def body_bytes(self) -> int:
        """About the bytes of all messages in a request, see `snapshot.compaction.body.body_bytes`."""
        return self._bytes[-1]

    def bytes_of(self, at: int) -> int:
        """About the bytes of a message."""
        return self._bytes[at + 1] - self._bytes[at]

    def total(self, scale: float) -> int:
        """Estimated tokens of all messages at a scale of text."""
        return self._plain[-1] if scale == 1 else sum(self.costs(scale))

    def costs(self, scale: float) -> list[int]:
        """Estimated tokens of each message at a scale of text; not to be changed."""
        if self._scaled is None or self._scaled[0] != scale:
            self._scaled = scale, self._costs(scale)
        return self._scaled[1]

    def _costs(self, scale: float) -> list[int]:
        if not self._frames:
            return []
        # Halves are rounded to the even number, as Python does.
        texts = np.rint(np.frombuffer(self._texts, np.int64) * scale).astype(np.int64)
        sums = np.concatenate((np.zeros(1, np.int64), np.cumsum(texts)))
        stops = np.frombuffer(self._stops, np.int64)
        said = np.diff(sums[stops], prepend=0)
        frames = np.frombuffer(self._frames, np.int64) * round(_PLAIN_FRAME * scale)
        costs: list[int] = (said + frames + np.frombuffer(self._fixed, np.int64)).tolist()
        return costs
