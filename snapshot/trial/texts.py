"""The text of a trial's page: a conversation made by a seed, with strings planted all over it.

No text is used twice: each page of each seed has its own. 24 exact strings stand in it, each beside a plain
word that it is asked for by; then lines whose form is asked for, statements of the talk, and words that stand
nowhere. Strings look like no credential, and none stands without a sentence around it: filters of providers
refuse such pages.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from random import Random
from typing import Literal, TypeAlias

from snapshot.messages import Message, Text, ToolCall, ToolResult, Transcript
from snapshot.source.source import Source, source_of

__all__ = ["ABSENT", "EXACT", "GIST", "STRUCTURE", "Kind", "Question", "TrialText", "trial_text"]

Kind: TypeAlias = Literal["hex", "sha1", "uuid", "path", "name", "number", "structure", "gist", "absent"]

EXACT: dict[Kind, int] = {"hex": 6, "sha1": 3, "uuid": 3, "path": 4, "name": 4, "number": 4}
"""How many exact strings of each kind are planted in a page's text."""
STRUCTURE: Kind = "structure"
GIST: Kind = "gist"
ABSENT: Kind = "absent"

_PASSAGE = 1500
"""Characters of the stretch that is to be copied, about; a quarter of a text that is short."""

_KEYS = (
    "harbour", "walnut", "lantern", "meadow", "copper", "saddle", "orchard", "thimble", "glacier", "velvet",
    "anchor", "pebble", "sparrow", "timber", "marble", "clover", "canyon", "ribbon", "basalt", "juniper",
    "kettle", "paddle", "quarry", "tulip", "summit", "barrel", "hazel", "falcon", "ginger", "island",
    "jacket", "ladder", "magnet", "nectar", "oyster", "pepper", "quiver", "raisin", "salmon", "teapot",
    "turnip", "violin", "wagon", "willow", "zephyr", "almond", "beacon", "candle", "dragon", "ember",
    "fiddle", "garden", "hammer", "indigo", "jigsaw", "lemon", "mitten", "needle", "olive", "pocket",
    "rocket", "silver", "tunnel", "walrus", "yarrow", "acorn", "badger", "cactus", "donkey",
)  # fmt: skip
_NOUNS = (
    "queue", "worker", "index", "cache", "batch", "ledger", "window", "session", "parser", "router",
    "packet", "bucket", "shard", "cursor",
)  # fmt: skip
_VERBS = (
    "drain", "merge", "close", "reopen", "flush", "count", "attach", "rotate", "resume", "publish",
    "collect", "verify", "expand",
)  # fmt: skip
_HOSTS = (
    "api", "edge", "store", "mail", "build", "stage", "relay", "proxy",
)  # fmt: skip
_STATES = (
    "ok", "late", "queued", "done", "skipped",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Question:
    """A question about a page.

    Attributes:
        number: its number in the prompt, from 1.
        kind: what is asked for.
        asks: the question.
        answer: what is right; None where it stands nowhere.
        place: where in the text the answer stands, from 0 to 1.
    """

    number: int
    kind: Kind
    asks: str
    answer: str | None
    place: float


@dataclass(frozen=True)
class TrialText:
    """A page's text, and what is asked of it.

    Attributes:
        transcript: the conversation.
        questions: all questions, in the order of the prompt.
        passage: the lines that are to be copied, without those that begin and end them.
        passage_key: the word by which they are named.
    """

    transcript: Transcript
    questions: tuple[Question, ...]
    passage: str
    passage_key: str

    @cached_property
    def source(self) -> Source:
        """The text that pages are made of."""
        return source_of(self.transcript)


def trial_text(seed: int, page: int, chars: int) -> TrialText:
    """The text of a page of a trial, of about so many characters (no less than it takes for what is planted).

    Args:
        seed: of the trial.
        page: its number, from 1.
        chars: characters of source text.
    """
    return _Maker(Random(f"trial {seed}, page {page}"), chars).made()


@dataclass(frozen=True, slots=True)
class _Planted:
    """A line, or two that follow each other, and the question about it."""

    kind: Kind
    lines: tuple[str, ...]
    asks: str
    answer: str


class _Maker:
    def __init__(self, random: Random, chars: int) -> None:
        self._random, self._chars = random, chars
        self._keys = list(_KEYS)
        random.shuffle(self._keys)
        self._clock = random.randrange(20_000, 60_000)
        self._line = random.randrange(100, 400)

    def made(self) -> TrialText:
        planted = [self._planted(kind) for kind, count in EXACT.items() for _ in range(count)]
        planted += [*self._structure(), *self._gist()]
        self._random.shuffle(planted)
        passage_key, passage = self._key(), self._passage()
        around = sum(len("\n".join(item.lines)) + 1 for item in planted) + len(passage) + 400
        blocks = list(self._blocks(max(0, self._chars - around)))
        at = self._random.randrange(len(blocks) + 1)
        whole = [f"passage {passage_key} begins", *passage.split("\n"), f"passage {passage_key} ends"]
        self._plant(blocks, planted)
        blocks.insert(at, ("read_notes", whole))
        transcript = Transcript(tuple(_messages(blocks)), "trial")
        text = source_of(transcript).text
        asked: list[tuple[Kind, str, str | None, float]] = [
            (item.kind, item.asks, item.answer, text.index(item.lines[0]) / len(text)) for item in planted
        ]
        nowhere = f"the identifier that build {self._key()} finished as"
        asked.append((ABSENT, nowhere, None, 0.0))
        nowhere = f"the file and line at which the failure of {self._key()} was raised"
        asked.append((ABSENT, nowhere, None, 0.0))
        self._random.shuffle(asked)
        questions = tuple(Question(number, *item) for number, item in enumerate(asked, 1))
        return TrialText(transcript, questions, passage, passage_key)

    def _plant(self, blocks: list[tuple[str, list[str]]], planted: list[_Planted]) -> None:
        """Put each item behind a line, evenly over the text."""
        places = [(number, line) for number, (_, lines) in enumerate(blocks) for line in range(len(lines))]
        step = len(places) / len(planted)
        # From the end on, so that places before stay what they are.
        for at in reversed(range(len(planted))):
            number, line = places[int((at + 0.5) * step)]
            blocks[number][1][line + 1 : line + 1] = planted[at].lines

    def _key(self) -> str:
        return self._keys.pop()

    def _digits(self, count: int, alphabet: str = "0123456789abcdef") -> str:
        return "".join(self._random.choice(alphabet) for _ in range(count))

    def _word(self) -> str:
        return f"{self._random.choice(_VERBS)}_{self._random.choice(_NOUNS)}"

    def _planted(self, kind: Kind) -> _Planted:
        key, random = self._key(), self._random
        if kind == "hex":
            value = self._digits(12)
            return _Planted(kind, (f"build {key} finished as {value}",),
                            f"the identifier that build {key} finished as", value)  # fmt: skip
        if kind == "sha1":
            value = self._digits(40)
            return _Planted(kind, (f"the change about {key} is commit {value}",),
                            f"the full commit of the change about {key}", value)  # fmt: skip
        if kind == "uuid":
            value = "-".join(map(self._digits, (8, 4, 4, 4, 12)))
            return _Planted(kind, (f"request {key} has the id {value}",), f"the id of request {key}", value)
        if kind == "path":
            value = f"src/{random.choice(_NOUNS)}/{self._word()}.py:{random.randrange(11, 980)}"
            return _Planted(kind, (f"the failure of {key} was raised at {value}",),
                            f"the file and line at which the failure of {key} was raised", value)  # fmt: skip
        if kind == "name":
            parts = [random.choice(_NOUNS).title(), random.choice(_NOUNS).title(), random.choice("ABFHIKQ")]
            value = random.choice(_VERBS) + "".join(parts)
            return _Planted(kind, (f"the handler of {key} is {value} now",),
                            f"the name of the handler of {key}", value)  # fmt: skip
        value = str(random.randrange(1, 10)) + self._digits(random.randrange(6, 10), "0123456789")
        return _Planted(
            kind, (f"the counter {key} stands at {value}",), f"what the counter {key} stands at", value
        )

    def _structure(self) -> Iterator[_Planted]:
        random = self._random
        key, indent = self._key(), random.randrange(2, 10) * 2
        yield _Planted(STRUCTURE, (f"{self._number()}\t{' ' * indent}store_{key}(total)",),
                       f"how many blanks stand between the tab and the word store_{key}",
                       str(indent))  # fmt: skip
        key, number = self._key(), self._number()
        yield _Planted(STRUCTURE, (f"{number}\tdef {key}_totals(rows):",),
                       f"the line number at the definition of {key}_totals", str(number))  # fmt: skip
        key, last = self._key(), self._digits(5, "0123456789")
        after = self._row(self._word(), self._digits(5, "0123456789"))
        yield _Planted(STRUCTURE, (self._row(key, last), after),
                       f"the last field of the row that begins with {key}", last)  # fmt: skip
        key, first = self._key(), f"{self._word()}_{random.randrange(10, 99)}"
        before = self._row(key, self._digits(5, "0123456789"))
        asks = f"the first field of the row right after the one that begins with {key}"
        yield _Planted(STRUCTURE, (before, self._row(first, "0")), asks, first)

    def _row(self, first: str, last: str) -> str:
        return f"{first} | 0.{self._digits(3, '0123456789')} | {self._random.choice(_STATES)} | {last}"

    def _gist(self) -> Iterator[_Planted]:
        key, other = self._key(), self._key()
        said = f"After some talk the team took {key} for the store and turned {other} down."
        asks = f"which of {' and '.join(sorted((key, other)))} did the team turn down"
        yield _Planted(GIST, (said,), asks, other)
        key = self._key()
        yield _Planted(GIST, (f"Against the plan, {key} was not put live on Friday.",),
                       f"was {key} put live on Friday (yes or no)", "no")  # fmt: skip
        key = self._key()
        yield _Planted(GIST, (f"The suite of {key} failed twice, and passed after the clock was frozen.",),
                       f"did the suite of {key} pass in the end (yes or no)", "yes")  # fmt: skip
        key, causes = self._key(), ["the disk", "the network", "the clock"]
        self._random.shuffle(causes)
        said = f"What stopped {key} was {causes[0]}, and neither {causes[1]} nor {causes[2]}."
        asks = f"what stopped {key}: disk, network or clock"
        yield _Planted(GIST, (said,), asks, causes[0].removeprefix("the "))

    # --- what stands around

    def _number(self) -> int:
        self._line += self._random.randrange(1, 4)
        return self._line

    def _blocks(self, chars: int) -> Iterator[tuple[str, list[str]]]:
        """Calls and the lines of their results, until so many characters are there; three at the least."""
        kinds = (
            ("tail_log", self._log),
            ("read_file", self._code),
            ("list_rows", self._table),
            ("", self._prose),
        )
        made = count = 0
        while made < chars or count < 3:
            name, line = kinds[count % len(kinds)]
            lines = [line() for _ in range(self._random.randrange(5, 9) if not name else 18)]
            yield name, lines
            made += sum(len(item) + 1 for item in lines) + 70
            count += 1

    def _log(self) -> str:
        self._clock += self._random.randrange(1, 9)
        hour, minute, second = self._clock // 3600, self._clock // 60 % 60, self._clock % 60
        host = f"{self._random.choice(_HOSTS)}-{self._random.randrange(1, 30)}"
        took = self._random.randrange(3, 9000)
        what, state = self._word(), self._random.choice(_STATES)
        return f"{hour:02}:{minute:02}:{second:02} {host} {what} took {took} ms, {state}"

    def _code(self) -> str:
        depth = self._random.choice((4, 8, 8, 12))
        name, value = self._word(), self._random.choice(_NOUNS)
        form = self._random.choice(
            (
                "{n} = self.{v}.get({k})",
                "if {v} is None:",
                "return {n}({v}, limit={k})",
                "for item in {n}({v}):",
            )
        )
        body = form.format(n=name, v=value, k=self._random.randrange(2, 400))
        return f"{self._number()}\t{' ' * depth}{body}"

    def _table(self) -> str:
        return self._row(self._word(), self._digits(self._random.randrange(3, 6), "123456789"))

    def _prose(self) -> str:
        one, two, three = (self._random.choice(_NOUNS) for _ in range(3))
        verb = self._random.choice(_VERBS)
        return self._random.choice((
            f"The {one} has to {verb} before the {two} does, or the {three} is counted twice.",
            f"I looked at how the {one} and the {two} {verb}; the {three} is not the cause.",
            f"Once the {one} can {verb}, we come back to the {two} and leave the {three} as it is.",
        ))  # fmt: skip

    def _passage(self) -> str:
        makers, lines, size = (self._log, self._code, self._prose, self._table), list[str](), 0
        while size < min(_PASSAGE, self._chars // 4):
            lines.append(makers[len(lines) // 4 % len(makers)]())
            size += len(lines[-1]) + 1
        return "\n".join(lines)


def _messages(blocks: list[tuple[str, list[str]]]) -> Iterator[Message]:
    yield Message("user", (Text("Find out why the nightly run is slow, and say what you see on the way."),))
    for number, (name, lines) in enumerate(blocks, 1):
        text = "\n".join(lines)
        if not name:
            yield Message("assistant", (Text(text),))
            continue
        call = ToolCall(f"call_{number}", name, f'{{"part": {number}}}')
        yield Message("assistant", (call,))
        yield Message("tool", (ToolResult(f"call_{number}", (Text(text),)),))
