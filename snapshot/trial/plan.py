"""The plan of a trial: which pages are asked what, in which order, and what that can cost.

A plan follows from a model, a seed and the arms alone. Arms are letters in it, dealt by the seed; which is
which stands in a key whose hash the plan holds, so that who scores need not know it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from hashlib import sha256
from random import Random
from typing import Literal, TypeAlias

from snapshot._version import __version__
from snapshot.errors import SnapshotError
from snapshot.models.profile import ModelProfile, Price
from snapshot.models.tokens import text_tokens
from snapshot.pages.layout import Layout
from snapshot.trial.arms import Arm, first_arms
from snapshot.trial.prompts import ANSWER_TOKENS, COPY_TOKENS, copying, questions
from snapshot.trial.texts import TrialText, trial_text

__all__ = ["FIRST_PAGES", "Call", "Plan", "What", "plan_of"]

What: TypeAlias = Literal["text", "questions", "copy"]

FIRST_PAGES = 2
"""Pages of each arm in the first stage: 48 exact strings."""
_PAGES = 8
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_SURE = Decimal("1.5")
"""What predicted input tokens are taken for at most, until an arm's first bill is known."""
_TOLD = 16  # output tokens of the call that has no page
_FEWEST = 3000  # characters below which a text does not become shorter
_FULLEST = 0.94  # share of a page's cells that a text is made for at first
_MILLION = Decimal(1_000_000)


@dataclass(frozen=True, slots=True)
class Call:
    """A call of the plan: questions about a page, or the copy of a passage; "text" has the words alone, so
    that what they are billed is known."""

    arm: str
    page: int
    what: What

    @property
    def id(self) -> str:
        """A name that is the call's own within its plan."""
        return f"{self.arm}{self.page}-{self.what}"

    @property
    def max_tokens(self) -> int:
        """The longest answer that is asked for."""
        return {"text": _TOLD, "questions": ANSWER_TOKENS, "copy": COPY_TOKENS}[self.what]


@dataclass(frozen=True)
class Plan:
    """A trial as it will be.

    Attributes:
        model: id of the model. layout: its own page, with its reader.
        seed: of the texts and of the letters.
        arms: each by its letter.
        pages: pages of each arm. stage: 1 ends after the first stage, 0 goes through.
        price: USD per million tokens of input and output.
        reasoning: how much the model is to think, in the API's word.
        scale: what longest answers are multiplied by, for models that think before they answer.
        chars: what each text was made for, in characters.
    """

    model: str
    layout: Layout
    seed: int
    arms: dict[str, Arm]
    pages: int
    stage: int
    price: Price
    reasoning: str = ""
    scale: int = 1
    chars: tuple[int, ...] = ()
    texts: tuple[TrialText, ...] = field(default=(), repr=False)

    @property
    def reader(self) -> ModelProfile:
        """What is known of the model."""
        return self.layout.reader

    @cached_property
    def key(self) -> dict[str, dict[str, object]]:
        """What is behind each letter."""
        return {
            letter: {
                "name": arm.name,
                "face": arm.glyphs,
                "cell": list(arm.layout.cell),
                "columns": arm.columns,
                "page": [arm.layout.width, arm.layout.height],
                "text_columns": arm.layout.text_columns,
                "flow_columns": arm.layout.flow_columns,
                "resized": arm.resized,
            }
            for letter, arm in self.arms.items()
        }

    @cached_property
    def first(self) -> frozenset[str]:
        """Letters of the arms of the first stage."""
        chosen = {arm.name for arm in first_arms(list(self.arms.values()))}
        return frozenset(letter for letter, arm in self.arms.items() if arm.name in chosen)

    def calls(self) -> Iterator[Call]:
        """All calls, in order: the words alone, the first stage page by page, then the rest."""
        yield Call(min(self.arms), 1, "text")
        letters = sorted(self.arms)
        first = [letter for letter in letters if letter in self.first]
        early = [(letter, page) for page in range(1, min(FIRST_PAGES, self.pages) + 1) for letter in first]
        late = [(letter, page) for page in range(1, self.pages + 1) for letter in letters]
        done = set(early)
        for letter, page in (
            [*early, *(item for item in late if item not in done)] if not self.stage else early
        ):
            yield Call(letter, page, "questions")
            yield Call(letter, page, "copy")

    def text(self, page: int) -> TrialText:
        """The text of a page, from 1."""
        return self.texts[page - 1]

    def prompt(self, call: Call) -> str:
        """The words of a call."""
        guide, text = self.arms[call.arm].guide, self.text(call.page)
        return copying(guide, text) if call.what == "copy" else questions(guide, text.questions)

    @cached_property
    def _page_tokens(self) -> dict[tuple[str, int], tuple[int, ...]]:
        return {
            (letter, page): arm.tokens(self.text(page).source)
            for letter, arm in self.arms.items()
            for page in range(1, self.pages + 1)
        }

    def image_tokens(self, call: Call) -> int:
        """Tokens that the pages of a call are billed, by the reader's rule."""
        return 0 if call.what == "text" else sum(self._page_tokens[call.arm, call.page])

    def tokens(self, call: Call) -> int:
        """Input tokens of a call, as far as they can be told before."""
        return text_tokens(self.prompt(call), self.reader) + self.image_tokens(call)

    def longest(self, call: Call) -> int:
        """The longest answer that is asked for, in tokens."""
        return call.max_tokens * (1 if call.what == "text" else self.scale)

    def most(self, call: Call, factor: Decimal = _SURE) -> Decimal:
        """The most that a call may cost in USD: `factor` times the input tokens, and the longest answer."""
        return self.usd(int(self.tokens(call) * factor) + 1, self.longest(call))

    def usd(self, input_tokens: int, output_tokens: int) -> Decimal:
        """The price of so many tokens, none of them from a cache."""
        price = self.price.at(input_tokens)
        assert price.output is not None
        return (price.input * input_tokens + price.output * output_tokens) / _MILLION

    def described(self) -> dict[str, object]:
        """The plan as it is kept in its folder: without the key, but with its hash."""
        return {
            "schema": "snapshot-pages/trial/1",
            "version": __version__,
            "model": self.model,
            "reader": self.reader.name,
            "seed": self.seed,
            "pages": self.pages,
            "stage": self.stage,
            "chars": list(self.chars),
            "reasoning": self.reasoning,
            "scale": self.scale,
            "price": [str(self.price.input), str(self.price.output)],
            "letters": sorted(self.arms),
            "texts": [sha256(text.source.text.encode()).hexdigest() for text in self.texts],
            "key_sha256": sha256(self.sealed()).hexdigest(),
        }

    def sealed(self) -> bytes:
        """The key as it is kept: its hash stands in the plan."""
        salt = sha256(f"key of trial {self.seed} {self.model}".encode()).hexdigest()
        return json.dumps({"salt": salt, "arms": self.key}, indent=1, sort_keys=True).encode()


def plan_of(
    model: str,
    layout: Layout,
    arms: Sequence[Arm],
    *,
    seed: int = 1,
    pages: int = _PAGES,
    stage: int = 0,
    price: Price | None = None,
    reasoning: str = "",
    scale: int = 1,
) -> Plan:
    """Lay out a trial.

    Args:
        model: id of the model, as its API knows it.
        layout: the model's own page, whose size the arms share.
        arms: what is compared.
        seed: of texts and letters: never the same twice, or a model may know a text.
        pages: of each arm.
        stage: 1 for the first stage alone: 2 pages of 3 arms.
        price: USD per million tokens; the reader's own by default.
        reasoning: how much the model is to think, in the API's word; "" leaves it to the API.
        scale: times the usual longest answer that answers may have, for reasoning.

    Raises:
        SnapshotError: no price is known, or there are too many arms.
    """
    price = price or layout.reader.price
    if price is None or price.output is None:
        raise SnapshotError(
            f"no price is known of {model}: give one with --price IN,OUT (USD per million tokens), "
            "0,0 for a server of your own"
        )
    arms = tuple({arm.name: arm for arm in arms}.values())
    if not 1 <= len(arms) <= len(_LETTERS):
        raise SnapshotError(f"a trial has 1 to {len(_LETTERS)} arms, not {len(arms)}")
    chars, texts = _texts(seed, pages, arms)
    letters = list(_LETTERS[: len(arms)])
    Random(f"letters of trial {seed}").shuffle(letters)
    return Plan(
        model, layout, seed, dict(zip(letters, arms, strict=True)), pages, stage, price, reasoning, scale,
        chars, texts,
    )  # fmt: skip


def _texts(seed: int, pages: int, arms: Sequence[Arm]) -> tuple[tuple[int, ...], tuple[TrialText, ...]]:
    """Texts that fit on a page of each arm that is to have them on one, with what each was made for."""
    whole = [arm for arm in arms if arm.whole_page]
    chars = int(min(arm.layout.capacity for arm in whole or arms) * _FULLEST)
    chars = min(chars, 40_000)
    sizes: list[int] = []
    texts: list[TrialText] = []
    for page in range(1, pages + 1):
        while True:
            text = trial_text(seed, page, chars)
            if all(len(arm.tokens(text.source)) == 1 for arm in whole):
                break
            if chars < _FEWEST:
                break  # so small a page does not hold what is planted: its arm has it on two
            chars = int(chars * 0.97)
        sizes.append(chars)
        texts.append(text)
    return tuple(sizes), tuple(texts)
