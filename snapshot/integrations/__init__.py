"""Compaction inside agents that others wrote: LiteLLM, LangChain, Claude Code.

Each module needs the package that it is for, which an extra of the same name installs; importing this one
needs none. What stays between two calls is the archives of conversations: `Archives` keeps them in memory,
`SqliteArchives` in a file that several processes share. `HostList` is a framework's own messages, each of
which is made plain data once.
"""

from __future__ import annotations

from snapshot.integrations.archives import Archives, SqliteArchives
from snapshot.integrations.keeper import Keeper
from snapshot.transcripts.watched import HostList

__all__ = ["Archives", "HostList", "Keeper", "SqliteArchives"]
