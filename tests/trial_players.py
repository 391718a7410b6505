"""Models for trials that need none: they know the texts of a plan, and answer as they are told to."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from io import BytesIO
from random import Random

import numpy as np
import PIL.Image
import pytest
from numpy.typing import NDArray

from snapshot.models.profile import Price
from snapshot.pages.layout import layout_for
from snapshot.pages.readback import PageReader
from snapshot.pages.render import Typesetter
from snapshot.source.source import Source
from snapshot.trial.arms import arm_of
from snapshot.trial.plan import Plan, plan_of
from snapshot.trial.sending import Prompt, Reply
from snapshot.trial.texts import EXACT, TrialText

MODEL = "claude-haiku-4-5"
MUCH = Decimal(100)  # dollars: more than any of these trials may cost


def small_plan(
    *names: str, pages: int = 2, seed: int = 7, price: Price | None = None, stage: int = 0
) -> Plan:
    """A plan of few small calls."""
    layout = layout_for(MODEL)
    arms = [arm_of(name, layout) for name in names or ("drawn-7x13", "fira-9x16")]
    return plan_of(MODEL, layout, arms, pages=pages, seed=seed, price=price, stage=stage)


@pytest.fixture(scope="module")
def plan() -> Plan:
    return small_plan()


def text_of(plan: Plan, words: str) -> TrialText:
    """The text that a prompt asks about."""
    for text in plan.texts:
        asked = all(question.asks in words for question in text.questions)
        if asked or f'"passage {text.passage_key} begins"' in words:
            return text
    raise AssertionError(words)


def answer(
    text: TrialText, words: str, right: float = 1.0, abstain: float = 0.0, random: Random | None = None
) -> str:
    """What a model says that reads such a share of exact strings, and says null of another."""
    random = random or Random(0)
    if "Copy what stands" in words:
        return text.passage
    said: dict[str, str | None] = {}
    for question in text.questions:
        value = question.answer
        if question.kind in EXACT and value is not None and random.random() >= right:
            value = None if random.random() < abstain else value[:-1] + ("0" if value[-1] != "0" else "1")
        said[str(question.number)] = value
    return json.dumps(said)


READER_FACE = "fira-8x16"


def exact_reader(page: NDArray[np.uint8], cell: tuple[int, int]) -> str:
    """An offline reader that knows the face: what a page, or a column of one, says row by row."""
    layout = layout_for(MODEL)
    layout = replace(
        layout,
        face=READER_FACE,
        cell=cell,
        width=page.shape[1],
        height=page.shape[0],
        text_columns=0,
        flow_columns=1,
    )
    file = BytesIO()
    PIL.Image.fromarray(page).save(file, "PNG")
    reader = PageReader(layout, Typesetter(layout).atlas(Source("│")))
    return reader.cells(file.getvalue()).page_text


class Player:
    """A model that answers by `plan`: all right, or with the share that `right` gives for an arm's name."""

    def __init__(
        self, plan: Plan, right: Callable[[str], float] = lambda _: 1.0, abstain: float = 0.0
    ) -> None:
        self._plan, self._right, self._abstain = plan, right, abstain
        self._random = Random(3)
        self._arms: dict[tuple[bytes, ...], str] = {}
        self.prompts: list[Prompt] = []

    def arm(self, images: tuple[bytes, ...]) -> str:
        if images and images not in self._arms:
            for arm in self._plan.arms.values():
                for text in self._plan.texts:
                    self._arms[tuple(page.png for page in arm.pages(text.source))] = arm.name
        return self._arms[images] if images else ""

    def __call__(self, prompt: Prompt) -> Reply:
        self.prompts.append(prompt)
        text = text_of(self._plan, prompt.text)
        share = self._right(self.arm(prompt.images)) if prompt.images else 1.0
        said = answer(text, prompt.text, share, self._abstain, self._random)
        read = len(prompt.text) // 4 + 1000 * len(prompt.images)
        return Reply(said, "end", read, min(prompt.max_tokens, len(said) // 3), f"r{len(self.prompts)}")
