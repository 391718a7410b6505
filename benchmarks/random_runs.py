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
from itertools import pairwise
from pathlib import Path

_WORD = re.compile(r"[A-Za-z0-9+/_-]{8,}")
_LETTERS = string.ascii_lowercase
_CLASSES = "lower", "upper", "digit", "sign"


def main() -> int:
    """Run it from the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--table", action="store_true", help="print the table")
    arguments = parser.parse_args()
    if arguments.table:
        print(table(sorted(Path(sysconfig.get_paths()["stdlib"]).glob("**/*.py"))))
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
