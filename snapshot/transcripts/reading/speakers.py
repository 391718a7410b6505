"""Who speaks in a message of the user's: a person, a person to the harness, or the harness itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from snapshot.messages import Origin, Part, Role, Text
from snapshot.transcripts.io.harness import Rules
from snapshot.transcripts.io.json_values import JsonObject, as_list, as_object

__all__ = ["Run", "asked", "runs_of"]

_LOOKED = 20  # blocks of a message that are enough for a title


@dataclass(frozen=True, slots=True)
class Run:
    """What one speaker says in a message.

    `raw` is the message as it came, or the half of it that this speaker has; `kinds` are those of the
    harness's words in it.
    """

    role: Role
    origin: Origin
    parts: tuple[Part, ...]
    raw: Sequence[JsonObject] | None
    kinds: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Said:
    """A part, or a piece of one: its kind as in `Piece`, the block it came in, whether it is all of that."""

    part: Part
    kind: str
    block: int
    whole: bool

    @property
    def speaker(self) -> tuple[Role, Origin]:
        if self.kind == "given":
            return "system", "user"
        return ("system", "harness") if self.kind else ("user", "")


def asked(content: object, rules: Rules) -> str:
    """The first words of a person's to the model in the content of a message, "" if there are none."""
    blocks = [content] if isinstance(content, str) else as_list(content) or []
    for block in blocks[:_LOOKED]:
        text = block if isinstance(block, str) else (as_object(block) or {}).get("text")
        for piece in rules.pieces(text) if isinstance(text, str) else ():
            if not piece.kind and piece.text.strip():
                return piece.text
    return ""


def runs_of(parts: Sequence[Part], raw: Sequence[JsonObject] | None, rules: Rules) -> list[Run]:
    """The message in runs of one speaker each; none where all of it is a person's, word for word."""
    said = _said(parts, rules)
    if all(one.whole and not one.kind for one in said):
        return []
    person: tuple[Role, Origin] = ("user", "")
    own = [n for n, one in enumerate(said) if one.speaker == person]
    if own:  # a person's words are one message, whatever the harness put between them
        within = said[own[0] : own[-1] + 1]
        between = [one for one in within if one.speaker != person]
        said = [*said[: own[0]], *(said[n] for n in own), *between, *said[own[-1] + 1 :]]
    groups = [(speaker, list(group)) for speaker, group in groupby(said, lambda one: one.speaker)]
    blocks = _blocks_of(parts, raw)
    made: list[Run] = []
    for (role, origin), group in groups:
        half = raw
        if len(groups) > 1:
            half = None if blocks is None or not raw else [{**raw[0], "content": _content(blocks, group)}]
        kinds = tuple(one.kind for one in group if origin == "harness")
        made.append(Run(role, origin, tuple(one.part for one in group), half, kinds))
    return made


def _said(parts: Sequence[Part], rules: Rules) -> list[_Said]:
    """The parts, texts cut where the speaker changes; what is no text goes with a person's words."""
    found: list[_Said] = []
    for number, part in enumerate(parts):
        if not isinstance(part, Text):
            found.append(_Said(part, "", number, True))
            continue
        pieces = rules.pieces(part.text)
        if len(pieces) == 1 and pieces[0].text == part.text:
            found.append(_Said(part, pieces[0].kind, number, True))
        else:
            found += (_Said(Text(piece.text), piece.kind, number, False) for piece in pieces)
    return found


def _blocks_of(parts: Sequence[Part], raw: Sequence[JsonObject] | None) -> list[object] | None:
    """The blocks of the one object that the parts came in, one for each; None where it is not so."""
    if not raw or len(raw) != 1:
        return None
    content = raw[0].get("content")
    blocks: list[object] | None = [content] if isinstance(content, str) else as_list(content)
    return blocks if blocks is not None and len(blocks) == len(parts) else None


def _content(blocks: Sequence[object], group: Sequence[_Said]) -> list[object]:
    content: list[object] = []
    for one in group:
        block = blocks[one.block]
        if isinstance(block, str) or not one.whole:
            words = one.part.text if isinstance(one.part, Text) else ""
            block = {**(as_object(block) or {"type": "text"}), "text": words}
        content.append(block)
    return content
