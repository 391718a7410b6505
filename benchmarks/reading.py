"""The text that the contest has read: prose and code kept here, and exact strings made from a seed."""

from __future__ import annotations

import random
import uuid
from pathlib import Path

from snapshot.legibility.glyphs import ASCII

__all__ = ["COLUMNS", "rows"]

COLUMNS = 88
_SAMPLE = Path(__file__).resolve().parent / "samples" / "reading.txt"
_WORDS = (
    "cache", "token", "render", "frame", "ledger", "shard", "budget", "atlas", "session", "index", "stream",
    "parser", "config", "worker",
)  # fmt: skip
_ENDINGS = ("py", "ts", "rs", "go", "json", "toml", "md", "sh")
_UPPER = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
_BASE64 = _UPPER + _UPPER[:26].lower() + "+/"


def rows(strings: int = 14, seed: int = 11) -> tuple[str, ...]:
    """Rows of text: the sample's, so many of exact strings, and one of all of ASCII in random order."""
    rng = random.Random(seed)
    made, row, kind = [], "", 0
    while len(made) < strings:
        string = _string(rng, kind)
        kind += 1
        if len(row) + 1 + len(string) > COLUMNS:
            made.append(row)
            row = ""
        row = f"{row} {string}".strip()
    shuffled = list(ASCII[1:] * 2)
    rng.shuffle(shuffled)
    noise = "".join(shuffled)
    half = COLUMNS // 8
    chunks = [noise[at : at + 7] for at in range(0, len(noise), 7)][: 2 * half]
    return (
        *_SAMPLE.read_text(encoding="utf-8").splitlines(),
        *made,
        " ".join(chunks[:half]),
        " ".join(chunks[half:]),
    )


def _string(rng: random.Random, kind: int) -> str:
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
