"""`snapshot mcp`: an archive's exact text for any client of the Model Context Protocol."""

from __future__ import annotations

import argparse
from pathlib import Path

from snapshot.commands._console import DONE, UNUSABLE, say

__all__ = ["fill"]


def fill(parser: argparse.ArgumentParser) -> None:
    """Fill the command's parser."""
    parser.description = (
        "A server of the Model Context Protocol over standard input and output, with the tools search, page "
        "and message over the exact text of archives."
    )
    parser.epilog = "example: claude mcp add archive -- snapshot mcp request.archive.json"
    parser.add_argument(
        "path",
        metavar="PATH",
        type=Path,
        help="an archive, a folder of archives or of pages, a sessions' file or a proxy's store",
    )
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    try:
        from snapshot.mcp.server import serve
    except ImportError as error:
        say(f"snapshot: the MCP server needs a package ({error.name}): pip install 'snapshot-pages[mcp]'")
        return UNUSABLE
    serve(arguments.path)
    return DONE
