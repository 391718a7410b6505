"""Commands of `snapshot session` that look at a tree, or move about in it."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING

from snapshot.commands._console import CANNOT_FIT, DONE, NEEDS_SUMMARIZER, print_json, say, tell
from snapshot.commands._table import folded
from snapshot.errors import CannotFit, SummarizerRequired

if TYPE_CHECKING:
    from snapshot.messages import Message
    from snapshot.session import History, Projection, Store

__all__ = ["COMMANDS", "conversation", "counted", "note_reader", "opened", "where", "which"]


@contextmanager
def opened(arguments: argparse.Namespace, *, write: bool) -> Iterator[tuple[Store, History]]:
    """The store, and the history that the command names; why it is read-only is said."""
    from snapshot.session import Store

    with Store(arguments.store, write=write) as store:
        history = store.history(*conversation(arguments.conversation))
        yield store, history
        if history.damage:
            say(f"snapshot: {arguments.conversation} is read-only: {history.read_only}")


def conversation(name: str) -> tuple[str, str]:
    """Conversation and agent of `NAME` or `NAME/AGENT`."""
    first, _, agent = name.partition("/")
    return first, agent or "main"


def which(parser: argparse.ArgumentParser) -> None:
    """Add the argument that names a conversation."""
    parser.add_argument("conversation", metavar="CONVERSATION", help="its name; NAME/AGENT for another agent")


def where(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that name a path in it."""
    parser.add_argument("--branch", metavar="NAME", default="", help="a branch (default: the current one)")
    parser.add_argument("--at", metavar="ID", default="", help="the path to this message instead")


# --- list


def _add_list(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(run=_list)


def _list(arguments: argparse.Namespace) -> int:
    from snapshot.session import Store

    with Store(arguments.store, write=False) as store:
        found = store.conversations()
        if store.read_only and "schema" in store.read_only:
            say(f"snapshot: {arguments.store}: read-only: {store.read_only}")
    if arguments.json:
        print_json({"schema": "snapshot-pages/sessions/1", "conversations": [asdict(item) for item in found]})
        return DONE
    names = [item.name if item.agent == "main" else f"{item.name}/{item.agent}" for item in found]
    width = max(map(len, names), default=0)
    for name, item in zip(names, found, strict=True):
        parts = [counted(item.messages, "message"), counted(item.branches, "branch")]
        parts += [counted(item.checkpoints, "checkpoint")] if item.checkpoints else []
        line = f"{name:<{width}}  {', '.join(parts)}; on {item.branch}; {item.changed or item.created}"
        tell(*folded(line))
    return DONE


def counted(number: int, noun: str) -> str:
    """A number and what it counts."""
    plural = f"{noun}es" if noun.endswith("ch") else f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{number:,} {noun if number == 1 else plural}"


# --- show


def _add_show(parser: argparse.ArgumentParser) -> None:
    which(parser)
    parser.add_argument("message", metavar="ID", nargs="?", default="", help="show this message whole")
    where(parser)
    parser.add_argument("--sent", action="store_true", help="what is sent: checkpoint and kept messages")
    parser.set_defaults(run=_show)


def _show(arguments: argparse.Namespace) -> int:
    from snapshot.serialization import to_json
    from snapshot.session.tree_text import summary

    with opened(arguments, write=False) as (_, history):
        found: tuple[tuple[str, Message], ...]
        if arguments.message:
            node = history.rows.find(arguments.message)
            found = ((node.id, _held(history, arguments.message)),)
        elif arguments.sent:
            projection = history.project(arguments.branch, at=arguments.at)
            found = (*(("", message) for message in projection.lead), *projection.kept)
            note_reader(projection)
        else:
            found = history.path(arguments.branch, at=arguments.at)
        damage = [asdict(item) for item in history.damage]
    if arguments.json:
        messages = [{"node": node or None, **to_json(message)} for node, message in found]
        print_json({"schema": "snapshot-pages/messages/1", "messages": messages, "damage": damage})
    elif arguments.message:
        tell(*_whole(found[0][1]).split("\n"))
    else:
        for node, message in found:
            tell(f"{node or '-':<12}  {message.role:<9}  {summary(message)}")
    return DONE


def note_reader(projection: Projection) -> None:
    """Say so where pages go to a model that nothing is known of."""
    from snapshot.errors import LayoutError
    from snapshot.models.ids import profile_for

    made_for, model = projection.made_for, projection.model
    if made_for and made_for != model:
        try:
            profile_for(model)
        except LayoutError:
            say(f"note: the pages are for {made_for}; nothing is known of {model!r}: name a model with -m")


def _held(history: History, node_id: str) -> Message:
    """The message of a node; of a checkpoint, what leads the request."""
    from snapshot.messages import Message, Text

    node = history.rows.find(node_id)
    if node.kind == "checkpoint":
        lead = history.rows.checkpoint(node).lead
        return Message("user", tuple(part for message in lead for part in message.parts))
    if node.kind == "event":
        return Message("system", (Text(history.rows.body(node)),))
    return history.rows.message(node)


def _whole(message: Message) -> str:
    """A message as text."""
    from snapshot.messages import Transcript
    from snapshot.source.source import source_of

    text = source_of(Transcript((message,), ""), reasoning=True).text
    return text.rstrip()


# --- tree


def _add_tree(parser: argparse.ArgumentParser) -> None:
    which(parser)
    parser.add_argument("--all", action="store_true", help="every message, also those within a turn")
    parser.set_defaults(run=_tree)


def _tree(arguments: argparse.Namespace) -> int:
    from snapshot.session.tree_text import draw

    with opened(arguments, write=False) as (_, history):
        lines = list(draw(history, every=arguments.all))
        branches = history.branches()
        current = history.current
        labels = history.labels()
        nodes = list(history.rows.nodes()) if arguments.json else []
        parents = {node.seq: node.id for node in nodes}
    if arguments.json:
        print_json(
            {
                "schema": "snapshot-pages/tree/1",
                "current": current,
                "branches": [asdict(branch) for branch in branches],
                "labels": [asdict(label) for label in labels],
                "nodes": [
                    {
                        "id": node.id,
                        "parent": parents.get(node.parent or 0),
                        "kind": node.kind,
                        "role": node.role,
                    }
                    for node in nodes
                ],
            }
        )
        return DONE
    for line in lines:
        if line.node is None:
            tell(f"{line.frame}{counted(line.count, 'more message')}")
            continue
        what = line.node.role if line.node.kind == "message" else line.node.kind
        marks = [f"({', '.join(line.names)})"] if line.names else []
        marks += [f"[{label}]" for label in line.labels]
        marks += ["◀ here"] if line.current else []
        tell(" ".join([f"{line.frame}{line.node.id}", f"{what}:", line.words, *marks]))
    return DONE


# --- branch, fork, duplicate


def _add_branch(parser: argparse.ArgumentParser) -> None:
    which(parser)
    parser.add_argument("name", metavar="NAME", nargs="?", help="switch to this branch, or make it")
    parser.add_argument("--at", metavar="ID", default="", help="have it end there: go back, or elsewhere")
    parser.set_defaults(run=_branch)


def _branch(arguments: argparse.Namespace) -> int:
    with opened(arguments, write=arguments.name is not None) as (_, history):
        if arguments.name is not None:
            there = {branch.name for branch in history.branches()}
            if arguments.at or arguments.name not in there:
                history.set_branch(arguments.name, at=arguments.at)
            history.switch(arguments.name)
            _save(history)
        current = history.current
        branches = history.branches()
    if arguments.json:
        rows = [asdict(branch) for branch in branches]
        print_json({"schema": "snapshot-pages/branches/1", "current": current, "branches": rows})
        return DONE
    for branch in branches:
        model = f", {branch.model}" if branch.model else ""
        tell(f"{'*' if branch.name == current else ' '} {branch.name}  {branch.leaf or 'empty'}{model}")
    return DONE


def _add_fork(parser: argparse.ArgumentParser) -> None:
    which(parser)
    parser.add_argument("message", metavar="ID", help="a finished answer of the assistant")
    parser.add_argument("name", metavar="NAME", nargs="?", default="", help="the new branch (fork-1, …)")
    parser.set_defaults(run=_fork)


def _fork(arguments: argparse.Namespace) -> int:
    with opened(arguments, write=True) as (_, history):
        branch = history.fork(arguments.message, arguments.name)
        _save(history)
    if arguments.json:
        print_json({"schema": "snapshot-pages/branch/1", **asdict(branch)})
    else:
        tell(f"branch {branch.name} goes on from {branch.leaf}, and is the current one")
    return DONE


def _add_duplicate(parser: argparse.ArgumentParser) -> None:
    which(parser)
    parser.add_argument("new", metavar="NEW", help="name of the copy; NAME/AGENT for another agent")
    parser.add_argument("--branch", metavar="NAME", default="", help="the branch to copy (the current one)")
    parser.set_defaults(run=_duplicate)


def _duplicate(arguments: argparse.Namespace) -> int:
    with opened(arguments, write=True) as (store, history):
        name, agent = conversation(arguments.new)
        copy = store.duplicate(history, name, agent=agent, branch=arguments.branch)
        _save(copy)
        count = len(copy.path())
    if arguments.json:
        print_json({"schema": "snapshot-pages/copy/1", "name": name, "agent": agent, "messages": count})
    else:
        tell(f"{arguments.new}: a copy of {counted(count, 'message')}, under new ids")
    return DONE


# --- compact


def _add_compact(parser: argparse.ArgumentParser) -> None:
    from snapshot.commands.compact import add_settings

    which(parser)
    parser.add_argument("--branch", metavar="NAME", default="", help="a branch (default: the current one)")
    parser.add_argument(
        "-m", "--model", metavar="ID", default="", help="model that will read it (default: the branch's)"
    )
    add_settings(parser)
    parser.add_argument("--dry-run", action="store_true", help="only say what each rung would free")
    parser.set_defaults(run=_compact)


def _compact(arguments: argparse.Namespace) -> int:
    from snapshot.commands.compact import settings_of

    with opened(arguments, write=not arguments.dry_run) as (_, history):
        plan = history.plan(arguments.branch)
        try:
            prepared = history.prepare(
                plan,
                model=arguments.model,
                trigger="manual" if arguments.manual else "target",
                **settings_of(arguments),
            )
        except CannotFit as error:
            say(f"snapshot: {error}")
            return CANNOT_FIT
        except SummarizerRequired as error:
            say(f"snapshot: {error}")
            return NEEDS_SUMMARIZER
        leaf = ""
        if prepared.checkpoint is not None and not arguments.dry_run:
            leaf = history.commit(plan, prepared.checkpoint).leaf
            _save(history)
    if arguments.json:
        print_json(prepared.report.as_json() | {"checkpoint": leaf or None})
    else:
        for line in str(prepared.report).split("\n"):
            tell(*folded(line))
        if leaf and prepared.checkpoint is not None:
            tell(f"checkpoint {leaf}: kept word for word from {prepared.checkpoint.first_kept or 'here'} on")
    return DONE


def _save(history: History) -> None:
    from snapshot.session import save_run

    save_run(history)


COMMANDS: dict[str, tuple[Callable[[argparse.ArgumentParser], None], str]] = {
    "list": (_add_list, "list the conversations, the one that changed last first"),
    "show": (_add_show, "show the messages of a branch in a line each, or one of them whole"),
    "tree": (_add_tree, "draw the tree with its branches, checkpoints and labels"),
    "branch": (_add_branch, "list branches, switch to one, make one, or move one"),
    "fork": (_add_fork, "go on from an answer of the assistant on a branch of its own"),
    "duplicate": (_add_duplicate, "copy a branch into a conversation of its own"),
    "compact": (_add_compact, "add a checkpoint, from which less is sent; the record stays"),
}
