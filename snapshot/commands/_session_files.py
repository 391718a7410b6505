"""Commands of `snapshot session` that read or write other files: import, append, export, check, salvage."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from snapshot.commands._arguments import load, note_diagnostics, reading_options
from snapshot.commands._console import (
    DONE,
    FAILED,
    print_json,
    refuse_overwriting,
    save,
    say,
    tell,
    to_stdout,
    write_data,
)
from snapshot.commands._session_tree import conversation, counted, note_reader, opened, where, which
from snapshot.errors import SessionDamaged, SnapshotError

if TYPE_CHECKING:
    from snapshot.messages import Diagnostic, Message, Transcript
    from snapshot.session import History

__all__ = ["COMMANDS"]

_SHOWN = 20  # lines of damage or repairs


# --- import, append


def _add_import(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file", metavar="FILE", help="a transcript, a pi session, or a run's JSON; - is stdin"
    )
    parser.add_argument(
        "--as", dest="name", metavar="NAME", default="", help="its name; NAME/AGENT (FILE's name)"
    )
    parser.add_argument(
        "-m",
        "--model",
        metavar="ID",
        default="",
        help="model that is spoken with (default: the transcript's)",
    )
    reading_options(parser)
    parser.set_defaults(run=_import)


def _import(arguments: argparse.Namespace) -> int:
    from snapshot.session import Store
    from snapshot.session.pi import is_pi, read_pi

    stem = "session" if arguments.file == "-" else Path(arguments.file).name.split(".")[0]
    name, agent = conversation(
        arguments.name or re.sub(r"[^A-Za-z0-9._-]+", "-", stem).strip("-._") or "session"
    )
    data = _bytes(arguments.file)
    chosen = arguments.conversation or arguments.as_sent
    tree = is_pi(data) and arguments.format in (None, "pi") and not chosen
    transcript = None if tree else _transcript(arguments, data)
    with Store(arguments.store, create=True) as store:
        if transcript is None:
            for diagnostic in read_pi(store, data, name, agent):
                say(f"note: {diagnostic.where}: {diagnostic.note}")
            history = store.history(name, agent)
            if arguments.model:
                history.set_model(arguments.model)
        else:
            note_diagnostics(transcript)
            messages = _sound(transcript)
            model = arguments.model or transcript.model
            history = store.create(name, agent, model=model, format=transcript.format, messages=messages)
        _save_beside(history)
        found = next(item for item in store.conversations() if (item.name, item.agent) == (name, agent))
    if arguments.json:
        print_json({"schema": "snapshot-pages/session/1", "store": str(arguments.store), **asdict(found)})
    else:
        tell(
            f"{name if agent == 'main' else f'{name}/{agent}'}: {counted(found.messages, 'message')} "
            f"from {found.format}, {counted(found.branches, 'branch')}, in {arguments.store}"
        )
    return DONE


def _save_beside(history: History) -> None:
    """Write the transcript of a history beside its store. The store has it all: a failure is only told."""
    from snapshot.errors import SessionError
    from snapshot.session import save_run

    try:
        save_run(history)
    except SessionError as error:
        say(f"note: {error}; the store has all of it, and the next change writes this file anew")


def _bytes(file: str) -> bytes:
    """A file's content, nothing where it cannot be read: that is said by who reads it next."""
    try:
        return Path(file).read_bytes()
    except OSError:
        return b""


def _transcript(arguments: argparse.Namespace, data: bytes) -> Transcript:
    """The transcript of any format; of a run's JSON, what it sends."""
    from snapshot.session.transcript_file import SCHEMA, load_run

    if arguments.format is None and data.startswith(f'{{"schema": "{SCHEMA.rpartition("/")[0]}/'.encode()):
        run = load_run(Path(arguments.file))
        for diagnostic in run.damage:
            say(f"note: {diagnostic.where}: {diagnostic.note}")
        return run.sent.transcript
    return load(arguments.file, arguments.format, arguments)


def _sound(transcript: Transcript) -> tuple[Message, ...]:
    """Messages that make a conversation; what had to be repaired for it is said."""
    from snapshot.compaction.boundaries import repair

    messages, repairs = repair(transcript.messages)
    for count, what in (
        (len(repairs.orphans), "results without a call left out"),
        (repairs.unanswered, "calls without a result have one now that says so"),
        (repairs.empty, "empty messages left out"),
    ):
        if count:
            say(f"note: {count} {what}")
    return messages


def _add_append(parser: argparse.ArgumentParser) -> None:
    which(parser)
    parser.add_argument("file", metavar="FILE", help="a transcript with the messages to add; - is stdin")
    parser.add_argument("--branch", metavar="NAME", default="", help="a branch (default: the current one)")
    parser.add_argument(
        "--from", dest="format", metavar="FORMAT", help="the transcript's format (default: by its content)"
    )
    parser.set_defaults(run=_append)


def _append(arguments: argparse.Namespace) -> int:
    transcript = load(arguments.file, arguments.format)
    note_diagnostics(transcript)
    with opened(arguments, write=True) as (_, history):
        branch = history.append(transcript.messages, branch=arguments.branch, format=transcript.format)
        _save_beside(history)
    if arguments.json:
        print_json({"schema": "snapshot-pages/branch/1", **asdict(branch)})
    else:
        tell(f"{counted(len(transcript.messages), 'message')} added; {branch.name} ends with {branch.leaf}")
    return DONE


# --- export


def _add_export(parser: argparse.ArgumentParser) -> None:
    which(parser)
    where(parser)
    parser.add_argument("-o", "--output", metavar="FILE", type=Path, help="file to write (standard output)")
    parser.add_argument(
        "--to",
        metavar="FORMAT",
        default="",
        help="the format to write; pi holds the whole tree (default: the one it came in, or anthropic)",
    )
    parser.add_argument("--sent", action="store_true", help="what is sent: checkpoint and kept messages")
    parser.set_defaults(run=_export)


def _export(arguments: argparse.Namespace) -> int:
    from snapshot.messages import Transcript
    from snapshot.session.pi import write_pi
    from snapshot.transcripts import dump

    piped = arguments.output is None or to_stdout(arguments.output)
    refuse_overwriting(arguments.output, arguments.store)
    if arguments.json and piped:
        raise SnapshotError("--json needs -o FILE: standard output would hold the conversation as well")
    with opened(arguments, write=False) as (_, history):
        target = arguments.to or history.format or "anthropic"
        losses: list[tuple[str, int]] = []
        branch = arguments.branch or arguments.at
        if target == "pi" and not branch and not arguments.sent:
            data, count = write_pi(history), sum(node.kind == "message" for node in history.rows.nodes())
        else:
            if arguments.sent:
                projection = history.project(arguments.branch, at=arguments.at)
                note_reader(projection)
                transcript = projection.transcript
            else:
                messages = tuple(message for _, message in history.path(arguments.branch, at=arguments.at))
                transcript = Transcript(messages, history.format, history.branch(arguments.branch).model)
            dumped = dump(transcript, target)
            data, count = dumped.data, len(transcript.messages)
            losses = [(loss.what, many) for loss, many in dumped.grouped()]
    if arguments.output is None:
        write_data(data)
    else:
        save(arguments.output, data)
    if arguments.json:
        kept = [{"what": what, "count": many} for what, many in losses]
        print_json({"file": str(arguments.output), "format": target, "messages": count, "losses": kept})
        return DONE
    note: Callable[[str], None] = say if piped else tell
    if not piped:
        tell(f"{arguments.output}: {counted(count, 'message')} as {target}")
    for what, many in losses:
        note(f"note: {many:,} × {what}")
    return DONE


# --- check, salvage


def _add_check(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file", metavar="FILE", type=Path, nargs="?", help="a store, or a run's JSON (the store)"
    )
    parser.set_defaults(run=_check)


def _check(arguments: argparse.Namespace) -> int:
    path = arguments.file or arguments.store
    found, histories = _damage_of(path)
    if arguments.json:
        damage = [{"in": name, **asdict(item)} for name, item in found]
        print_json({"schema": "snapshot-pages/check/1", "file": str(path), "damage": damage})
    elif not found:
        tell(f"{path}: sound, {counted(histories, 'history')}")
    else:
        _list([f"{name} {item.where}".strip() + f": {item.kind}: {item.note}" for name, item in found])
        faults = counted(len(found), "fault")
        say(f"snapshot: {path}: {faults}; `snapshot session salvage` writes a repaired copy")
    return FAILED if found else DONE


def _damage_of(path: Path) -> tuple[list[tuple[str, Diagnostic]], int]:
    """What is wrong with a file, and how many histories are in it."""
    from snapshot.messages import Diagnostic
    from snapshot.session import Store, load_run

    try:
        if _is_run(path):
            run = load_run(path)
            return [(f"{run.conversation}/{run.agent}", item) for item in run.damage], 1
        with Store(path, write=False) as store:
            found = store.check()
        return [(name, item) for name, items in found for item in items], len(found) - 1
    except SessionDamaged as error:
        return [("", Diagnostic("damaged", "file", str(error)))], 0


def _add_salvage(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file", metavar="FILE", type=Path, nargs="?", help="a store, or a run's JSON (the store)"
    )
    parser.add_argument("-o", "--output", metavar="NEW", type=Path, required=True, help="a new file")
    parser.set_defaults(run=_salvage)


def _salvage(arguments: argparse.Namespace) -> int:
    from snapshot.session import load_run, salvage

    path, output = arguments.file or arguments.store, arguments.output
    if to_stdout(output):
        raise SnapshotError("-o -: the repaired copy is a file to work with; name a new one")
    if _is_run(path):
        if os.path.lexists(output):
            raise SnapshotError(f"{output}: is there already; name a new file")
        run = load_run(path)
        save(output, run.repaired().to_json().encode("ascii"))
        repaired = list(run.damage)
    else:
        repaired = salvage(path, output)
    if arguments.json:
        rows = [asdict(item) for item in repaired]
        print_json({"schema": "snapshot-pages/salvage/1", "file": str(output), "repaired": rows})
    else:
        _list([f"{item.where}: {item.note}" for item in repaired])
        tell(f"{output}: a copy with {counted(len(repaired), 'repair')}; {path} is as it was")
    return DONE


def _is_run(path: Path) -> bool:
    """Whether a file is meant to be JSON; a store never starts so."""
    try:
        with path.open("rb") as file:
            return file.read(16).lstrip()[:1] in (b"{", b"[")
    except OSError:
        return False


def _list(lines: Sequence[str]) -> None:
    for line in lines[:_SHOWN]:
        tell(line)
    if len(lines) > _SHOWN:
        tell(f"and {len(lines) - _SHOWN} more; --json has all")


COMMANDS: dict[str, tuple[Callable[[argparse.ArgumentParser], None], str]] = {
    "import": (_add_import, "take a transcript in as a conversation; a pi session with its whole tree"),
    "append": (_add_append, "add the messages of a transcript to a branch, in one transaction"),
    "export": (_add_export, "write a branch as a transcript of any format"),
    "check": (_add_check, "say what is damaged; changes nothing"),
    "salvage": (_add_salvage, "write what can be read of a damaged file to a new one"),
}
