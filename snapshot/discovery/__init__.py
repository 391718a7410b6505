"""The sessions that agents keep on this machine: where they are, and the one that a person means.

What is known of an agent is a table of `agents.toml`. Nothing is ever written; of a session that is
only listed no more is read than its beginning and its end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from snapshot._lazy import lazy_names

if TYPE_CHECKING:
    from snapshot.discovery.agents import Agent, known_agents
    from snapshot.discovery.finder import Found, Place, newest, places, resolve
    from snapshot.discovery.tables import exported

__all__ = ["Agent", "Found", "Place", "exported", "known_agents", "newest", "places", "resolve"]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Agent": "agents",
        "Found": "finder",
        "Place": "finder",
        "known_agents": "agents",
        "exported": "tables",
        "newest": "finder",
        "places": "finder",
        "resolve": "finder",
    },
)
