"""One JSON transcript for each conversation and agent, beside the store, from which a run resumes.

It holds what is sent: the newest checkpoint's lead, the messages behind it with their ids, and the labels
among them. It is replaced in one step at the end of each turn, so it always shows a whole one. One message is
one line, so that of a file which was cut the lines before the cut can still be read.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from secrets import token_hex
from typing import Any

from snapshot._files import write_atomic
from snapshot.errors import SessionDamaged, SessionError
from snapshot.messages import Diagnostic, Message
from snapshot.serialization import from_json, to_json
from snapshot.session.database import private_folder
from snapshot.session.tree import Label, misplaced, problems
from snapshot.session.view import Projection, View

__all__ = ["SCHEMA", "SUFFIX", "Run", "load_run", "run_of", "save_run"]

SCHEMA = "snapshot-pages/run/1"
SUFFIX = ".transcripts"
"""Of the folder beside the store: `sessions.transcripts/CONVERSATION/AGENT.json`."""

_OPEN = ', "messages": ['
# Without a checkpoint, the newest messages are written: what a turn costs must not grow with the history.
_MOST = 2000


@dataclass(frozen=True, slots=True)
class Run:
    """An agent's conversation, as far as it is sent.

    Attributes:
        conversation, agent: whose it is.
        sent: what is sent.
        labels: those whose message is in it.
        damage: what was found wrong when it was loaded; if anything was, it is read-only.
    """

    conversation: str
    agent: str
    sent: Projection
    labels: tuple[Label, ...] = ()
    damage: tuple[Diagnostic, ...] = ()

    def cut(self, tokens: int, *, model: str = "") -> Run:
        """The newest messages that fit, from the start of a turn on; within the last one if it must be.

        `model` is who will read it, its own if none is named. The lead stays if there is room for it and all
        messages; system messages stay in any case. Never is a result kept without its call. Labels of what
        is cut are dropped.
        """
        from snapshot.compaction.estimate import Estimator
        from snapshot.models.ids import profile_for

        estimator = Estimator(profile_for(model or self.sent.model))
        lead, kept = self.sent.lead, self.sent.kept
        if estimator.messages((*lead, *(message for _, message in kept))) <= tokens:
            return self
        rules = tuple(message for message in lead if message.role == "system")
        system = [pair for pair in kept if pair[1].role == "system"]
        rest = [pair for pair in kept if pair[1].role != "system"]
        left = tokens - estimator.messages((*rules, *(message for _, message in system)))
        turn = group = len(rest)
        for number in range(len(rest) - 1, -1, -1):
            message = rest[number][1]
            left -= estimator.message(message)
            if left < 0:
                break
            if message.role == "user":
                turn = number
            if message.role != "tool":
                group = number
        newest = (*system, *rest[turn if turn < len(rest) else group :])
        there = {node for node, _ in newest}
        return replace(
            self,
            sent=replace(self.sent, lead=rules, kept=newest, checkpoint="", made_for=""),
            labels=tuple(label for label in self.labels if label.node in there),
        )

    def to_json(self) -> str:
        """The file's text."""
        sent = self.sent
        head = {
            "schema": SCHEMA,
            "conversation": self.conversation,
            "agent": self.agent,
            "model": sent.model,
            "format": sent.format,
            "checkpoint": sent.checkpoint,
            "made_for": sent.made_for,
            "labels": [[label.name, label.node, label.note] for label in self.labels],
        }
        lines = [json.dumps({"lead": True, **to_json(message)}) for message in sent.lead]
        lines += [json.dumps({"node": node, **to_json(message)}) for node, message in sent.kept]
        return json.dumps(head)[:-1] + _OPEN + "\n" + ",\n".join(lines) + "\n]}\n"

    def repaired(self) -> Run:
        """The run with a result for each call, and none without."""
        from snapshot.compaction.boundaries import repair

        own: dict[str, str] = {}
        tagged: list[Message] = []
        for node, message in self.sent.kept:
            unique = node if node and node not in own else token_hex(6)
            own[unique] = message.id
            tagged.append(replace(message, id=unique))
        kept = tuple(
            (message.id if message.id in own else token_hex(6), replace(message, id=own.get(message.id, "")))
            for message in repair(tagged)[0]
        )
        there = {node for node, _ in kept}
        labels = tuple(label for label in self.labels if label.node in there)
        return replace(self, sent=replace(self.sent, kept=kept), labels=labels, damage=())


def run_of(view: View) -> Run:
    """What is sent of the current branch of a history."""
    sent = view.project(most=_MOST)
    there = set(sent.ids)
    labels = tuple(label for label in view.labels() if label.node in there)
    return Run(view.name, view.agent, sent, labels, tuple(view.damage))


def save_run(view: View) -> Path:
    """Write the transcript of a history beside its store, by atomic replacement; the file."""
    folder = view.rows.database.path.with_suffix(SUFFIX) / view.name
    try:
        private_folder(folder)
        write_atomic(folder, f"{view.agent}.json", run_of(view).to_json().encode("ascii"), replace=True)
    except OSError as error:
        raise SessionError(f"{folder}: cannot be written to ({error.strerror})") from error
    return folder / f"{view.agent}.json"


def load_run(path: Path) -> Run:
    """The run in a file; what of it can be read, where it is damaged.

    Raises:
        SessionDamaged: nothing of it can be read.
        SessionError: it is no such file.
    """
    try:
        text = path.read_bytes().decode("utf-8", "replace")
    except OSError as error:
        raise SessionError(f"{path}: cannot be read ({error.strerror})") from error
    damage: list[Diagnostic] = []
    try:
        value = json.loads(text)
        found = value["messages"]
    except (ValueError, KeyError, TypeError, RecursionError):
        value, found = _cut_off(path, text, damage)
    schema = value.get("schema") if isinstance(value, dict) else None
    if not isinstance(schema, str) or not schema.startswith(SCHEMA.rpartition("/")[0] + "/"):
        raise SessionError(f"{path}: not a transcript of a run; its schema is {schema!r}")
    if schema != SCHEMA:
        damage.append(
            Diagnostic("newer-schema", path.name, f"schema {schema!r}, this version writes {SCHEMA!r}")
        )
    lead: list[Message] = []
    kept: list[tuple[str, Message]] = []
    for number, item in enumerate(found, 1):
        where = f"message {number}"
        try:
            message = from_json(item)
            wrong = next(misplaced(message), "")
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            damage.append(Diagnostic("unreadable", where, f"left out: {error!r}"))
            continue
        if wrong:
            damage.append(Diagnostic("impossible-role", where, wrong))
        elif item.get("lead"):
            lead.append(message)
        else:
            kept.append((str(item.get("node", "")), message))
    damage += [
        Diagnostic("duplicate-id", node, "two messages have this id")
        for node, count in Counter(node for node, _ in kept).items()
        if count > 1
    ]
    damage += problems(kept)
    words = {key: str(value.get(key, "")) for key in ("model", "format", "checkpoint", "made_for")}
    sent = Projection(
        words["model"], words["format"], tuple(lead), tuple(kept), words["checkpoint"], words["made_for"]
    )
    there = set(sent.ids)
    labels = tuple(Label(*map(str, item)) for item in value.get("labels", ()) if len(item) == 3)
    return Run(
        str(value.get("conversation", "")),
        str(value.get("agent", "")),
        sent,
        tuple(label for label in labels if label.node in there),
        tuple(damage),
    )


def _cut_off(path: Path, text: str, damage: list[Diagnostic]) -> tuple[dict[str, Any], list[Any]]:
    """Head and messages of a file that is no JSON as a whole, line by line."""
    first, *lines = text.split("\n")
    try:
        head = json.loads(first.removesuffix(_OPEN) + "}")
    except (ValueError, RecursionError) as error:
        raise SessionDamaged(f"{path}: nothing of it can be read ({error})") from error
    found: list[Any] = []
    for number, line in enumerate(lines, 2):
        if line in ("", "]}"):
            continue
        try:
            found.append(json.loads(line.removesuffix(",")))
        except (ValueError, RecursionError):
            damage.append(Diagnostic("garbage", f"line {number}", "is cut off, or no JSON; left out"))
    if lines[-2:] != ["]}", ""]:
        damage.append(Diagnostic("truncated", f"line {len(lines) + 1}", "the file ends before its end"))
    return head, found
