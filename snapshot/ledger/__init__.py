"""The ledger: the live state of a conversation, drawn from calls and results by program, with no model.

What an agent must know to go on after a cut: its plan, what still runs, errors, changed files, last test
runs, open questions, branch and commit, mode, skills and tools. `ledger_of` draws it from messages,
`LedgerBuilder` from messages as they come; `ledger_text` prints it in a number of tokens. What a tool means
is data: see `snapshot.ledger.tools`.
"""

from snapshot.ledger.builder import LedgerBuilder, ledger_of
from snapshot.ledger.printed import ledger_text
from snapshot.ledger.state import (
    CommandRun,
    Failure,
    FileState,
    Handle,
    Ledger,
    Loaded,
    PlanStep,
    Question,
    Repository,
    Setting,
)
from snapshot.ledger.tools import ToolTable, tool_table

__all__ = [
    "CommandRun",
    "Failure",
    "FileState",
    "Handle",
    "Ledger",
    "LedgerBuilder",
    "Loaded",
    "PlanStep",
    "Question",
    "Repository",
    "Setting",
    "ToolTable",
    "ledger_of",
    "ledger_text",
    "tool_table",
]
