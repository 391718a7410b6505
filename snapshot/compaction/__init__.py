"""Conversations that fit: head and tail word for word, the middle as pages or a summary.

`compact` is the one way in. It is pure: no network, no clock, no chance. What it changes is the next request;
the conversation that it is given stays as it is.
"""

from snapshot.compaction.archive import Archive
from snapshot.compaction.asynchronous import acompact
from snapshot.compaction.compact import compact
from snapshot.compaction.options import CacheEconomics, Options
from snapshot.compaction.report import Report, RungReport
from snapshot.compaction.result import Compaction
from snapshot.compaction.splice import Edit

__all__ = [
    "Archive",
    "CacheEconomics",
    "Compaction",
    "Edit",
    "Options",
    "Report",
    "RungReport",
    "acompact",
    "compact",
]
