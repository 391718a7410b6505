"""Credentials out of what is archived and rendered: each is replaced by one stable mark.

A mark names the kind and counts by first appearance, `[secret: github-token 1]`; the same secret has the same
mark everywhere, so that a reader can still tell that two things are equal. The forms are data,
`redaction.toml` beside this file (`snapshot.redaction.rules` reads it). Private keys are found by their frame
(`snapshot.redaction.private_keys`); what hides a secret is taken out first (`snapshot.redaction.views`).
Numbers are given in order of the text, and never change when the conversation grows at its end.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from snapshot.messages import (
    File,
    Image,
    Message,
    Opaque,
    Part,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
    Transcript,
)
from snapshot.redaction.finder import Hit, RuleSet, hits_of
from snapshot.redaction.rules import own_rules, read_rules
from snapshot.redaction.views import View, decoded, unescaped

__all__ = ["Redactor"]

_MARK = re.compile(r"\[secret: ([a-z0-9-]{1,40}) (\d{1,9})\]")
_LONG_RUN = re.compile(r"[A-Za-z0-9+/_~-]{16,}+")
_MOST_ROUNDS = 8
_P = TypeVar("_P", bound=Part)


class Redactor:
    """Replaces secrets by marks, over one conversation.

    Use one for one conversation, or a new one each time: the marks come out the same. Marks that are
    already there stay, and their numbers are not given again.

    Args:
        rules: a TOML file of rules of one's own, or several; they come before the package's
            (`snapshot.redaction.rules` says how they are written).

    Attributes:
        counts: how many different secrets were replaced, by kind.

    Raises:
        RuleError: a file of rules cannot be read, or is wrong.
    """

    def __init__(self, rules: str | Path | Iterable[str | Path] = ()) -> None:
        paths = (rules,) if isinstance(rules, str | Path) else tuple(rules)
        self._rules = (
            RuleSet((*(rule for path in paths for rule in read_rules(path)), *own_rules()))
            if paths
            else _own()
        )
        self.counts: dict[str, int] = {}
        self._marks: dict[str, str] = {}  # by what is the same in every spelling of a secret
        self._highest: dict[str, int] = {}
        self._known: dict[str, tuple[str, str, int]] = {}  # long run of a value: value, kind, its offset

    def text(self, text: str) -> str:
        """The text with a mark for each secret."""
        if "[secret: " in text:
            for kind, number in _MARK.findall(text):
                self._highest[kind] = max(self._highest.get(kind, 0), int(number))
        for _ in range(_MOST_ROUNDS):  # a mark is an edge, beside which another secret may come to light
            hits = self._hits(text)
            if not hits:
                break
            pieces, at = [], 0
            for hit in hits:
                pieces += [text[at : hit.start], self._mark(hit.kind, text[hit.start : hit.stop])]
                at = hit.stop
            text = "".join([*pieces, text[at:]])
        return text

    def json(self, text: str) -> str:
        """JSON text with a mark for each secret, still valid if it was; layout and numbers as they were."""
        redacted = self.text(text)
        if redacted == text and "\\" not in text:
            return text
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            return redacted
        # Escapes can hide a secret from a look at the text, and a bare number cannot become a mark.
        try:
            after = json.loads(redacted)
        except (ValueError, RecursionError):
            redacted, after = "", value
        try:
            clean = self._value(self._value(after))  # twice: what the first look learns, the second finds
        except RecursionError:
            return redacted or text
        return redacted if redacted and clean == after else json.dumps(clean, ensure_ascii=False)

    def transcript(self, transcript: Transcript) -> Transcript:
        """The transcript with a mark for each secret in its messages, in order.

        Messages without any are the same objects; those with some lose `raw`, and a reasoning that had one
        its signature, which would no longer fit.
        """
        messages = tuple(self.message(message) for message in transcript.messages)
        if all(new is old for new, old in zip(messages, transcript.messages, strict=True)):
            return transcript
        return replace(transcript, messages=messages)

    def message(self, message: Message) -> Message:
        """The message that follows those before, with a mark for each secret; itself where it has none."""
        parts = tuple(self._part(part) for part in message.parts)
        if all(new is old for new, old in zip(parts, message.parts, strict=True)):
            return message
        return replace(message, parts=parts, raw=())

    def _part(self, part: _P) -> _P:
        changes: dict[str, Any] = {}
        match part:
            case Text(text=text):
                changes = {"text": self.text(text)}
            case Reasoning(text=text):
                changes = {"text": self.text(text)}
                if changes["text"] != text:
                    changes["signature"] = None
            case ToolCall(arguments=arguments):
                changes = {"arguments": self.json(arguments)}
            case ToolResult(content=content):
                inner = tuple(self._part(item) for item in content)
                same = all(new is old for new, old in zip(inner, content, strict=True))
                changes = {} if same else {"content": inner}
            case File(text=text, source=source):
                changes = {"text": self.text(text), "source": self.text(source)}
            case Image(source=source):
                changes = {"source": self.text(source)}
            case Opaque(json=body):
                changes = {"json": self.json(body)}
        return replace(part, **changes) if any(getattr(part, k) != v for k, v in changes.items()) else part

    def _value(self, value: Any) -> Any:
        """A decoded JSON value, redacted."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list):
            return [self._value(item) for item in value]
        if isinstance(value, dict):
            return {self.text(key): self._named(key, item) for key, item in value.items()}
        return value

    def _named(self, key: str, item: Any) -> Any:
        """The value of a key, which may be what tells that it is a secret."""
        if isinstance(item, str):
            before = f'{key}: "'
            said = self.text(f'{before}{item}"')
            if said.startswith(before) and said.endswith('"'):
                item = said[len(before) : -1]
        return self._value(item)

    def _hits(self, text: str) -> list[Hit]:
        """What is to be replaced, in order and apart."""
        hits = list(hits_of(text, self._rules))
        view = unescaped(text)
        if view is not None:
            hits += _mapped(hits_of(view.text, self._rules), view)
        for outer in (None, view) if view is not None else (None,):
            inner = decoded(text if outer is None else outer.text)
            if inner is not None:
                found = _mapped(hits_of(inner.text, self._rules), inner)
                hits += found if outer is None else _mapped(found, outer)
        hits = _apart(_outside_marks(hits, text))
        for hit in hits:
            if hit.contextual:
                self._remember(hit.kind, _plain(text[hit.start : hit.stop]))
        if self._known and (again := list(self._again(text))):
            hits = _apart(hits + again)
        return hits

    def _remember(self, kind: str, value: str) -> None:
        """Keep a value that is known only by where it stood, if it is long enough to be nothing else."""
        run = max(_LONG_RUN.finditer(value), key=lambda found: len(found[0]), default=None)
        if run:
            self._known.setdefault(run[0], (value, kind, run.start()))

    def _again(self, text: str) -> Iterator[Hit]:
        """Where values stand that are known from elsewhere: one look-up for each long run of letters."""
        for run in _LONG_RUN.finditer(text):
            if known := self._known.get(run[0]):
                value, kind, offset = known
                start = run.start() - offset
                if start >= 0 and text.startswith(value, start):
                    yield Hit(start, start + len(value), 0, kind, False)

    def _mark(self, kind: str, secret: str) -> str:
        same = re.sub(r"\\+[nrt]|[\s\\]|-----[A-Z ]+-----", "", _plain(secret))
        if same not in self._marks:
            number = self._highest[kind] = self._highest.get(kind, 0) + 1
            self._marks[same] = f"[secret: {kind} {number}]"
            self.counts[kind] = self.counts.get(kind, 0) + 1
        return self._marks[same]


@cache
def _own() -> RuleSet:
    return RuleSet(own_rules())


def _plain(secret: str) -> str:
    """A secret without what is in between: the same in every spelling."""
    view = unescaped(secret)
    return secret if view is None else view.text


def _mapped(hits: Iterable[Hit], view: View) -> list[Hit]:
    """Hits in a view, where they stand in what it is a view of."""
    mapped: list[Hit] = []
    for hit in hits:
        start, stop = view.span(hit.start, hit.stop)
        mapped.append(hit._replace(start=start, stop=stop))
    return mapped


def _outside_marks(hits: list[Hit], text: str) -> list[Hit]:
    """Those of `hits` that touch no mark of an earlier run."""
    if "[secret: " not in text:
        return hits
    marks = [mark.span() for mark in _MARK.finditer(text)]
    stops = [stop for _, stop in marks]
    kept: list[Hit] = []
    for hit in hits:
        at = bisect_left(stops, hit.start + 1)  # the first mark that ends behind the hit's start
        if at == len(marks) or marks[at][0] >= hit.stop:
            kept.append(hit)
    return kept


def _apart(hits: list[Hit]) -> list[Hit]:
    """Hits in order; those that overlap become one, of the kind that stands first in the table."""
    result: list[Hit] = []
    for hit in sorted(hits):
        if result and hit.start < result[-1].stop:
            last = result[-1]
            first = min(last, hit, key=lambda one: one.order)
            result[-1] = first._replace(start=last.start, stop=max(last.stop, hit.stop))
        else:
            result.append(hit)
    return result
