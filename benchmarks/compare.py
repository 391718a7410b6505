"""Two stored results beside each other.

    python -m benchmarks.compare OLD NEW

Where both come from one machine the rates say what changed; where not, only the ratios within a run do.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from benchmarks.speed import SCHEMA


def load(path: Path) -> dict[str, Any]:
    """A stored result. Exits with a line where the file holds none."""
    result = json.loads(path.read_text(encoding="utf-8"))
    if result.get("schema") != SCHEMA:
        sys.exit(f"{path}: schema is {result.get('schema')!r}, this version reads {SCHEMA!r}")
    return result


def table(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    """A line for each row that both have."""
    before = {(row["stage"], row["variant"], row["chars"]): row for row in old["rows"]}
    lines = [
        f"{'stage':16}{'variant':46}{'characters':>12}{'old CPU s':>11}{'new CPU s':>11}{'speed':>8}    ratio"
    ]
    for row in new["rows"]:
        former = before.get((row["stage"], row["variant"], row["chars"]))
        if former is None:
            continue
        text = (
            f"{row['stage']:16}{row['variant']:46}{row['chars']:>12,}{former['cpu']:11.4f}{row['cpu']:11.4f}"
        )
        text += f"{former['cpu'] / row['cpu']:7.2f}×"
        if row["ratio"] is not None and former["ratio"] is not None:
            text += f"{former['ratio']:9.2f} → {row['ratio']:.2f} {row['against']}"
        lines.append(text)
    return lines


def main() -> None:
    """Print the comparison."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.compare", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    arguments = parser.parse_args()
    old, new = load(arguments.old), load(arguments.new)
    if old["machine"] != new["machine"]:
        print("not the same machine or software: compare the ratios only")
        for key in old["machine"]:
            if old["machine"][key] != new["machine"].get(key):
                print(f"  {key}: {old['machine'][key]} → {new['machine'].get(key)}")
    print(*table(old, new), sep="\n")


if __name__ == "__main__":
    main()
