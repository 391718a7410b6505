"""The text that the contest has read: prose and code kept here, and exact strings made from a seed."""

from __future__ import annotations

import random
import uuid
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from snapshot.legibility.resized import ASCII

__all__ = ["COLUMNS", "exact_string", "letter_shares", "rows"]

COLUMNS = 88
_SAMPLE = Path(__file__).resolve().parent / "samples" / "reading.txt"
_WORDS = (
    "cache", "token", "render", "frame", "ledger", "shard", "budget", "atlas", "session", "index", "stream",
    "parser", "config", "worker",
)  # fmt: skip
_ENDINGS = ("py", "ts", "rs", "go", "json", "toml", "md", "sh")
_UPPER = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
_BASE64 = _UPPER + _UPPER[:26].lower() + "+/"


def rows(strings: int = 10, seeds: tuple[int, ...] = (11,)) -> tuple[str, ...]:
    """Rows of text: the sample's and, for each seed, exact strings and two rows of ASCII in random order."""
    made = _SAMPLE.read_text(encoding="utf-8").splitlines()
    for seed in seeds:
        rng = random.Random(seed)
        row, kind = "", 0
        first = len(made)
        while len(made) < first + strings:
            string = exact_string(rng, kind)
            kind += 1
            if len(row) + 1 + len(string) > COLUMNS:
                made.append(row)
                row = ""
            row = f"{row} {string}".strip()
        shuffled = list(ASCII[1:])
        for _ in range(2):
            rng.shuffle(shuffled)
            noise = "".join(shuffled[: COLUMNS // 8 * 7])
            made.append(" ".join(noise[at : at + 7] for at in range(0, len(noise), 7)))
    return tuple(made)


@cache
def letter_shares() -> NDArray[np.float64]:
    """How often each printable character but the blank stands in the sample, shape (94,); each once more."""
    text = _SAMPLE.read_text(encoding="utf-8")
    counts = np.array([text.count(char) + 1 for char in ASCII[1:]], np.float64)
    return counts / counts.sum()


def exact_string(rng: random.Random, kind: int) -> str:
    """An exact string, of each kind in turn."""
    first, second, third = rng.sample(_WORDS, 3)
    kinds = (
        "".join(rng.choices("0123456789abcdef", k=12)),
        str(uuid.UUID(int=rng.getrandbits(128))),
        f"src/{first}/{second}_{third}.{rng.choice(_ENDINGS)}:{rng.randrange(10, 2000)}",
        first + second.title() + third.title() + rng.choice(("", "Id", "O0", "I1", "V8")),
        str(rng.randrange(1000, 99_999_999)),
        "".join(rng.choices(_UPPER, k=11)),
        f"{rng.randrange(10)}.{rng.randrange(40)}.{rng.randrange(40)}-rc{rng.randrange(9)}",
        "".join(rng.choices(_BASE64, k=16)),
    )
    return kinds[kind % len(kinds)]
