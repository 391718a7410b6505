"""Sessions: the whole record of conversations as trees, which compaction never touches.

from snapshot.session import Store

with Store(".snapshot/sessions.sqlite", create=True) as store:
    history = store.create("shop", model="claude-opus-4-8")
    history.append(turn)                        # a turn, in one transaction
    history.compact(window=200_000)             # adds a checkpoint; the messages stay
    history.project().transcript                # what to send
    history.fork(answer_id); history.retry(); history.edit(message_id, "...")
"""

from snapshot.session.checkpoint import Checkpoint, Prepared
from snapshot.session.controller import Background, Live, Turn
from snapshot.session.history import History, Plan
from snapshot.session.salvage import salvage
from snapshot.session.store import Conversation, Store
from snapshot.session.transcript_file import Run, load_run, save_run
from snapshot.session.tree import Branch, Label, Node
from snapshot.session.view import Projection

__all__ = [
    "Background",
    "Branch",
    "Checkpoint",
    "Conversation",
    "History",
    "Label",
    "Live",
    "Node",
    "Plan",
    "Prepared",
    "Projection",
    "Run",
    "Store",
    "Turn",
    "load_run",
    "salvage",
    "save_run",
]
