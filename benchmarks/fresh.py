"""Text that no face was drawn by: rows by seed, and a page as it is sent, with its marks.

Prose and code are those that come with Python (its language reference and its library), so the text is there
on every machine and nothing of it was looked at while letters were drawn; other versions of Python have other
rows. Exact strings and log lines are made by the seed.
"""

from __future__ import annotations

import random
import sysconfig
import textwrap
import uuid
from functools import cache
from pathlib import Path

from benchmarks.reading import COLUMNS, exact_string
from snapshot.source import marks

__all__ = [
    "FRESH_SEEDS",
    "MARKS",
    "SECOND",
    "code_lines",
    "fresh_rows",
    "fresh_transcript",
    "log_line",
    "marked_rows",
    "without_marks",
]

FRESH_SEEDS = (41, 42)
_EXACT, _CODE, _LOG, _PROSE = 14, 8, 3, 7
_MODULES = (
    "argparse", "ast", "base64", "bdb", "calendar", "cmd", "codecs", "configparser", "copy", "csv",
    "datetime", "dis", "doctest", "enum", "filecmp", "fractions", "ftplib", "gettext", "heapq", "imaplib",
    "inspect", "locale", "mailbox", "mimetypes", "netrc", "optparse", "pdb", "pickle", "platform",
    "plistlib", "poplib", "pprint", "queue", "random", "sched", "selectors", "shelve", "shlex", "shutil",
    "smtplib", "socketserver", "statistics", "string", "subprocess", "tarfile", "tempfile", "textwrap",
    "threading", "timeit", "trace", "turtle", "typing", "uuid", "warnings", "weakref", "zipfile",
)  # fmt: skip
_LEVELS = ("INFO", "WARN", "ERROR", "DEBUG")
_DID = ("fetched", "retry", "closed", "queued", "status half-installed", "upload", "checksum of", "evicted")


def fresh_rows(seed: int) -> tuple[str, ...]:
    """32 rows of at most `COLUMNS` characters: exact strings, code, log lines and prose; ASCII."""
    rng = random.Random(f"fresh {seed}")
    exact = _wrapped([_fresh_string(rng, at) for at in range(_EXACT * 6)])[:_EXACT]
    code = [line.strip()[:COLUMNS].strip() for line in code_lines(rng, 400) if len(line.strip()) > 30]
    prose = textwrap.wrap(" ".join(rng.sample(_paragraphs(), 12)), COLUMNS)
    logs = [log_line(rng)[:COLUMNS] for _ in range(_LOG)]
    return (*exact, *code[:_CODE], *logs, *(row for row in prose if len(row) > 40))[
        : _EXACT + _CODE + _LOG + _PROSE
    ]


def fresh_transcript(seed: int, chars: int) -> str:
    """Mixed text as an agent has it: numbered code with indentation, logs, prose, lists of exact strings."""
    rng = random.Random(f"fresh transcript {seed}")
    parts: list[str] = []
    while sum(map(len, parts)) < chars:
        first = rng.randrange(1, 900)
        numbered = (f"{first + at:>6}\t{line}" for at, line in enumerate(code_lines(rng, 25)))
        strings = (f"- {_fresh_string(rng, at)}: {_fresh_string(rng, at + 3)}" for at in range(8))
        parts += (
            "\n".join(numbered),
            rng.choice(_paragraphs()),
            "\n".join(log_line(rng) for _ in range(6)),
            "\n".join(strings),
        )
    return "\n".join(parts)[:chars]


def marked_rows(seed: int, rows: int = 26, columns: int = COLUMNS) -> tuple[str, ...]:
    """The rows of a page of a fresh transcript as the package sets it, marks among the letters."""
    from dataclasses import replace

    from snapshot.pages.layout import layout_for
    from snapshot.pages.render import Typesetter
    from snapshot.source.source import Source

    layout = layout_for(name="claude-standard")
    width, height = layout.cell
    layout = replace(layout, width=columns * width, height=rows * height)
    setting = Typesetter(layout)
    source = Source(fresh_transcript(seed, 3 * rows * columns))
    atlas = setting.atlas(source)
    grid = next(iter(setting.grids(source, atlas)))
    # A character for every cell: the second half of a line's end has one of its own.
    return tuple("".join(said or SECOND for said in atlas.prints(row)) for row in grid.cells)


def without_marks(row: str) -> str:
    """A row as a reader of letters should read it: a blank for every mark."""
    return "".join(char if char.isascii() else " " for char in row)


@cache
def _paragraphs() -> list[str]:
    """Paragraphs of the language reference that are prose for the most part."""
    from pydoc_data.topics import topics

    found = []
    for text in topics.values():
        for paragraph in text.split("\n\n"):
            flat = " ".join(paragraph.split())
            letters = sum(char.isalpha() or char == " " for char in flat)
            if flat.isascii() and 200 < len(flat) < 1500 and letters > 0.9 * len(flat):
                found.append(flat)
    return found


def code_lines(rng: random.Random, lines: int) -> list[str]:
    """Lines of modules of the standard library, 40 in a row of each."""
    folder = Path(sysconfig.get_paths()["stdlib"])
    found: list[str] = []
    for name in rng.sample(_MODULES, len(_MODULES)):
        source = _module(folder / f"{name}.py")
        if len(source) > 100:
            start = rng.randrange(40, len(source) - 40)
            found += [line for line in source[start : start + 40] if len(line) < 110]
        if len(found) >= lines:
            break
    return found[:lines]


@cache
def _module(path: Path) -> tuple[str, ...]:
    if not path.exists():
        return ()
    return tuple(line.rstrip() for line in path.read_text(encoding="utf-8").splitlines() if line.isascii())


def _fresh_string(rng: random.Random, kind: int) -> str:
    """An exact string: those of the contest's own text, and a digest, a version, an address, a name."""
    kinds = (
        "".join(rng.choices("0123456789abcdef", k=40)),
        ".".join(str(rng.randrange(256)) for _ in range(4)) + f":{rng.randrange(1000, 65_535)}",
        f"{rng.randrange(30)}.{rng.randrange(40)}.{rng.randrange(40)}+dfsg-{rng.randrange(9)}~beta2",
        str(uuid.UUID(int=rng.getrandbits(128))).upper(),
    )
    return kinds[kind // 2 % len(kinds)] if kind % 3 == 2 else exact_string(rng, kind)


def log_line(rng: random.Random) -> str:
    day = f"2026-{rng.randrange(1, 13):02}-{rng.randrange(1, 29):02}"
    clock = f"{day} {rng.randrange(24):02}:{rng.randrange(60):02}"
    place = f"{rng.choice(_MODULES)}.{rng.choice(_MODULES)}:{rng.randrange(9, 3000)}"
    said = f"{rng.choice(_LEVELS)} {rng.choice(_DID)} {place}"
    return f"{clock} {said} in {rng.randrange(9000)} ms, id={rng.randrange(10**9)}"


def _wrapped(words: list[str]) -> list[str]:
    rows, row = [], ""
    for word in words:
        if row and len(row) + 1 + len(word) > COLUMNS:
            rows.append(row)
            row = word
        else:
            row = f"{row} {word}".strip()
    return [*rows, row]


MARKS = marks.PAGE_MARKS + marks.PAD + marks.END + marks.AIR
"""The marks that a page may hold, which a reader of letters cannot know."""

SECOND = "\ue0ff"
"""Stands in a row's text for the second cell of a line's end; no mark, and no character of the text."""
