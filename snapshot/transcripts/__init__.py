"""Transcripts from files, bytes and lists of messages, and back.

`load` and `from_messages` go by the content, `dump` writes any format. A format is one module of
`snapshot.transcripts.formats` with `NAME`, `detect(sample)`, and `read(source)` or `threads(source)`; its
writer stands beside it as `NAME_writer`; `registry` lists them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from snapshot._lazy import lazy_names

if TYPE_CHECKING:
    from snapshot.transcripts.convert import Dumped, Loss, dump
    from snapshot.transcripts.loading import conversations, detect, from_messages, load, with_rows
    from snapshot.transcripts.reading.threads import Conversation, Detection
    from snapshot.transcripts.registry import FORMATS, READ_ONLY

__all__ = [
    "FORMATS",
    "READ_ONLY",
    "Conversation",
    "Detection",
    "Dumped",
    "Loss",
    "conversations",
    "detect",
    "dump",
    "from_messages",
    "load",
    "with_rows",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "FORMATS": "registry",
        "READ_ONLY": "registry",
        "Conversation": "reading.threads",
        "Detection": "reading.threads",
        "Dumped": "convert",
        "Loss": "convert",
        "conversations": "loading",
        "detect": "loading",
        "dump": "convert",
        "from_messages": "loading",
        "load": "loading",
        "with_rows": "loading",
    },
)
