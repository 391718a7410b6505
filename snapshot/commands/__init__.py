"""The commands of the command line, a module each: its arguments, and what it prints.

What a command is called, where it is and what it does in a line stands in `COMMANDS`. Its module is imported
when it is chosen, and has a function that fills its parser; what does the work is imported when it runs.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["COMMANDS", "Command"]


class Command(NamedTuple):
    """A command: its module here, the function in it that fills the parser, and a line about it."""

    module: str
    fill: str
    about: str


COMMANDS: dict[str, Command] = {
    "sessions": Command("sessions", "fill", "the sessions that agents keep on this machine, newest first"),
    "view": Command("view", "fill", "a session as pages beside their text, in a browser"),
    "cost": Command("cost", "fill", "what a session costs each model, as text and as pages"),
    "inspect": Command("inspect", "fill", "what is in a session, and what takes the tokens"),
    "render": Command("render", "fill", "a session or text as PNG pages with a manifest"),
    "read": Command("read", "fill", "the text of pages, from their pixels"),
    "verify": Command("verify", "fill", "whether pages can be sent: whole, unresized, legible"),
    "compact": Command(
        "compact", "fill", "a request that fits: head and tail word for word, the middle as pages"
    ),
    "recover": Command(
        "compact", "fill_recover", "a request that fits, after the provider rejected one as too large"
    ),
    "convert": Command("convert", "fill", "a session in another format"),
    "replay": Command("replay", "fill", "what a whole run would cost under several policies"),
    "session": Command(
        "session", "fill", "a record of your own: conversations as trees, with branches and checkpoints"
    ),
    "batch": Command("batch", "fill", "the same for many sessions, on all processors or a cluster"),
    "layouts": Command("layouts", "fill", "what is known of each model: pages, prices, limits, evidence"),
    "trial": Command("trial", "fill", "how well a model reads pages, by asking it"),
    "proxy": Command("proxy", "fill", "a local server in front of a provider, which makes requests fit"),
    "mcp": Command("mcp", "fill", "what pages replaced, word for word, for any MCP client"),
    "claude-code": Command("claude_code", "fill", "hooks for Claude Code: its compactions lose nothing"),
    "completion": Command("completion", "fill", "what makes a shell complete commands, options and ids"),
}
