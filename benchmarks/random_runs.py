"""Runs of random characters in text: the table that tells them from words, and what finding them is worth.

    python -m benchmarks.random_runs --table      # the table anew, from the standard library's source
    python -m benchmarks.random_runs [FILE...]     # share of characters, pages and tokens with and without

Without FILE these are the real runs beside the checkout, or else those in tests/data.
"""

from __future__ import annotations

import argparse
import math
import re
import string
import sysconfig
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from random import Random
from time import process_time

import snapshot
from benchmarks.measure import transcripts
from snapshot.messages import Message, Text, ToolCall, ToolResult, Transcript
from snapshot.pages.layout import layout_for
from snapshot.pages.render import Typesetter
from snapshot.source.random_runs import random_runs
from snapshot.source.repeats import fold_repeats
from snapshot.source.source import source_of

_WORD = re.compile(r"[A-Za-z0-9+/_-]{8,}")
_LETTERS = string.ascii_lowercase
MODELS = "claude-opus-4-8", "gemini-3.8-flash"
_PROSE = re.findall(
    r"\w+", "the parser reads a line and the tests then fail because of an index out of range"
)
_CLASSES = "lower", "upper", "digit", "sign"


@dataclass(frozen=True, slots=True)
class Worth:
    """What marks in place of random characters change in one text and layout.

    Attributes:
        name: of the text.
        model: whose pages they are.
        chars: characters of source text.
        random: share of them that are of runs.
        tokens: of the pages per 1,000 characters, without marks and with them.
        png_bytes: the same, of their files.
        share_of_time: CPU seconds that finding the runs takes, as a share of those of rendering.
    """

    name: str
    model: str
    chars: int
    random: float
    tokens: tuple[float, float]
    png_bytes: tuple[float, float]
    share_of_time: float


def worth(name: str, transcript: Transcript, model: str) -> Worth:
    """Set a transcript with marks and without."""
    source = source_of(transcript)
    size = len(source.text)
    runs = random_runs(source.text)
    look = min(_seconds(lambda: random_runs(source.text)) for _ in range(5))
    spent: list[float] = []
    tokens: list[float] = []
    png_bytes: list[float] = []
    for marks in (False, True):
        folded = fold_repeats(source, runs=marks)
        setting = Typesetter(layout_for(model))
        start = process_time()
        pages = list(setting.pages(folded, threads=1))
        spent.append(process_time() - start)
        tokens.append(1000 * sum(page.tokens for page in pages) / size)
        png_bytes.append(1000 * sum(len(page.png) for page in pages) / size)
    random_chars = sum(run.stop - run.start for run in runs)
    return Worth(
        name,
        model,
        size,
        random_chars / size,
        (tokens[0], tokens[1]),
        (png_bytes[0], png_bytes[1]),
        look / spent[0],
    )


def _seconds(call: Callable[[], object]) -> float:
    start = process_time()
    call()
    return process_time() - start


def made_up(count: int = 60, *, seed: int = 5) -> Transcript:
    """Results that each have a digest and a key in prose: a sixth of the text is random."""
    rng = Random(seed)
    messages: list[Message] = []
    for number in range(count):
        prose = "\n".join(" ".join(rng.choices(_PROSE, k=12)) for _ in range(25))
        key = "".join(rng.choices(string.ascii_letters + string.digits + "+/", k=180))
        text = f"{rng.randbytes(64).hex()}  file{number}.bin\nkey {key} end\n{prose}"
        call = ToolCall(f"c{number}", "Bash", f'{{"command": "sha512sum file{number}.bin"}}')
        messages.append(Message("assistant", (call,)))
        messages.append(Message("tool", (ToolResult(f"c{number}", (Text(text),)),)))
    return Transcript(tuple(messages), "anthropic")


def main() -> int:
    """Run it from the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("runs", metavar="FILE", nargs="*", type=Path, help="transcripts")
    parser.add_argument("--table", action="store_true", help="print the table")
    arguments = parser.parse_args()
    if arguments.table:
        print(table(sorted(Path(sysconfig.get_paths()["stdlib"]).glob("**/*.py"))))
        return 0
    texts = [(path.name, snapshot.load(path)) for path in arguments.runs or transcripts()]
    print("| text | model | characters | random | tokens per 1,000 | bytes per 1,000 | time |")
    print("|---|---|--:|--:|--:|--:|--:|")
    for name, transcript in (*texts, ("made up", made_up())):
        for model in MODELS:
            row = worth(name, transcript, model)
            print(
                f"| {name} | {model} | {row.chars:,} | {row.random:.1%} "
                f"| {row.tokens[0]:.0f} → {row.tokens[1]:.0f} "
                f"| {row.png_bytes[0]:,.0f} → {row.png_bytes[1]:,.0f} | {row.share_of_time:.1%} |"
            )
    return 0


def table(paths: list[Path]) -> str:
    """The table of `snapshot/source/random_runs.toml`, counted in source files."""
    pairs: Counter[tuple[str, str]] = Counter()
    steps: Counter[tuple[str, str]] = Counter()
    for path in paths:
        if "site-packages" in path.parts:
            continue
        for word in _WORD.findall(path.read_text("utf-8", "replace")):
            kinds = [_class(char) for char in word]
            steps.update(pairwise(kinds))
            small = word.lower()
            pairs.update(pair for pair in pairwise(small) if "".join(pair).isalpha())
    lines = ["[letters]"]
    for one in _LETTERS:
        total = sum(pairs[one, other] for other in _LETTERS) + 13
        shares = [(pairs[one, other] + 0.5) / total for other in _LETTERS]
        lines.append(f'{one} = "{" ".join(str(round(-10 * math.log(share))) for share in shares)}"')
    lines.append("\n[classes]")
    for one in _CLASSES:
        total = sum(steps[one, other] for other in _CLASSES) + 2
        shares = [(steps[one, other] + 0.5) / total for other in _CLASSES]
        lines.append(f'{one} = "{" ".join(str(round(-10 * math.log(share))) for share in shares)}"')
    return "\n".join(lines)


def _class(char: str) -> str:
    return "digit" if char.isdigit() else "lower" if char.islower() else "upper" if char.isupper() else "sign"


if __name__ == "__main__":
    raise SystemExit(main())
