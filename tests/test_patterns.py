"""Regular expressions: every supported Python matches them alike."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from snapshot._lazy import _Uncompiled
from snapshot.errors import SnapshotError
from tests.test_architecture import MODULES, PACKAGE


def repeats_a_group_possessively(pattern: str | bytes, flags: int = 0) -> bool:
    """Whether a possessive quantifier stands behind more than one character or class.

    Python 3.11.0 to 3.11.4 then keep what a repetition consumed that failed (gh-106052): `(?>(?:ab)*)` is the
    spelling of `(?:ab)*+` that all understand.
    """
    from re import _constants, _parser  # type: ignore[attr-defined]

    single = (_constants.LITERAL, _constants.NOT_LITERAL, _constants.IN, _constants.ANY)

    def sequences(node: Any) -> Iterator[Any]:
        if isinstance(node, _parser.SubPattern):
            yield node
        if isinstance(node, _parser.SubPattern | list | tuple):
            for part in node:
                yield from sequences(part)

    return any(
        operation is _constants.POSSESSIVE_REPEAT
        and (len(argument[2]) != 1 or argument[2][0][0] not in single)
        for sequence in sequences(_parser.parse(pattern, flags))
        for operation, argument in sequence
    )


# As it is spelled: for patterns made inside functions, which no module holds.
SPELLED = re.compile(r"(?<!\\)(?:\\\\)*\)(?:[*+?]|\{\d*,?\d*\})\+(?!\])")


def patterns_of(value: Any, depth: int = 4) -> Iterator[Any]:
    """The regular expressions in a value: itself, in collections and in the fields of objects."""
    if isinstance(value, re.Pattern | _Uncompiled):
        yield value
    elif depth and isinstance(value, dict):
        yield from patterns_of([*value, *value.values()], depth)
    elif depth and isinstance(value, tuple | list | set | frozenset):
        for one in value:
            yield from patterns_of(one, depth - 1)
    elif depth and (fields := getattr(type(value), "__dataclass_fields__", None)):
        yield from patterns_of([getattr(value, name, None) for name in fields], depth)


def strings_of(path: Path) -> Iterator[str]:
    """The string literals of a file; a formatted one without what is put into it."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.JoinedStr):
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else "…" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


@pytest.mark.parametrize(
    ("pattern", "bad"),
    [
        (r"(?:ab?c)++", True), (r"(?:\s|xy){0,40}+y", True), (r"x(?:a(?:b\d)*+)?", True),
        (r"(?=(?:ab)?+)", True),
        (r"[ab]++c", False), (r"\d{2,}+", False), (r"(?>(?:ab?c)+)", False), (r"(?>[a-z]*+x)", False),
        (r"(a|b)+", False), (r"\)*+", False), (r"[)]++", False),
    ],
)  # fmt: skip
def test_the_checks_know_the_bad_form(pattern, bad):
    assert repeats_a_group_possessively(pattern) is bad
    assert bool(SPELLED.search(pattern)) is bad


def test_no_pattern_repeats_a_group_possessively():
    compiled: dict[re.Pattern[Any], str] = {}
    for name, path in MODULES.items():
        # No framework is loaded for an integration that has no pattern of its own.
        framework = name.startswith("snapshot.integrations.") and "compile" not in path.read_text("utf-8")
        if name == "snapshot.__main__" or framework:
            continue
        try:
            module = importlib.import_module(name)
        except (ImportError, SnapshotError):  # of an extra that is not installed
            continue
        compiled |= dict.fromkeys(patterns_of(list(vars(module).values())), name)
    assert len(compiled) > 100
    bad = [
        (name, one.pattern)
        for one, name in compiled.items()
        if repeats_a_group_possessively(one.pattern, one.flags)
    ]
    # Patterns that are made inside functions, and those that are data.
    bad += [
        (name, text) for name, path in MODULES.items() for text in strings_of(path) if SPELLED.search(text)
    ]
    data = [path for path in PACKAGE.rglob("*.toml") if "layouts" not in path.parts]
    bad += [
        (path.name, hit[0]) for path in data for hit in SPELLED.finditer(path.read_text(encoding="utf-8"))
    ]
    assert bad == []
