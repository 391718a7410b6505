"""The floor plan of docs/architecture.md: rooms that stand above each other, no circles, nothing loose."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import snapshot

PACKAGE = Path(snapshot.__file__).parent
# What may stand at the top of the package beside its rooms.
GROUND_FLOOR = {"messages", "serialization", "errors", "inspection"}
MOST_EDGES = 158


def modules() -> dict[str, Path]:
    """Every module of the package by its dotted name."""
    found = {}
    for path in PACKAGE.rglob("*.py"):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    found.pop("snapshot.cli", None)
    return found


MODULES = modules()


def imported(path: Path) -> Iterator[str]:
    """The package's modules that a file imports, inside functions and for types as well."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "snapshot":
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                yield whole if whole in MODULES else str(node.module)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in MODULES)


def room(module: str) -> str:
    """The room of a module: `billing` and `formats` are rooms within rooms; a loose module is its own."""
    parts = module.split(".")[1:]
    if not parts:
        return "snapshot"
    inner = ".".join(parts[:-1]) if MODULES[module].name != "__init__.py" else ".".join(parts)
    return inner or parts[0]


def floor(module: str) -> str:
    """The room at the top of the package that a module is in; a loose module is its own."""
    return module.split(".")[1] if "." in module else module


@cache
def edges() -> set[tuple[str, str]]:
    """Which module imports which other one."""
    return {
        (module, other) for module, path in MODULES.items() for other in imported(path) if other != module
    }


def circles(arrows: set[tuple[str, str]]) -> list[list[str]]:
    """The strongly connected components of more than one node (Tarjan's algorithm)."""
    after: dict[str, set[str]] = {}
    for start, end in arrows:
        after.setdefault(start, set()).add(end)
    order: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(node: str) -> None:
        order[node] = low[node] = len(order)
        stack.append(node)
        for end in sorted(after.get(node, ())):
            if end not in order:
                visit(end)
                low[node] = min(low[node], low[end])
            elif end in stack:
                low[node] = min(low[node], order[end])
        if low[node] == order[node]:
            component = []
            while True:
                component.append(stack.pop())
                if component[-1] == node:
                    break
            if len(component) > 1:
                found.append(sorted(component))

    for node in sorted(after):
        if node not in order:
            visit(node)
    return found


def is_face(module: str) -> bool:
    """Whether a module is the face of a package, whose lazy or re-exported names are no dependency."""
    return MODULES[module].name == "__init__.py"


def test_nothing_is_loose():
    loose = {path.stem for path in PACKAGE.glob("*.py")}
    assert {name for name in loose if not name.startswith("_")} - {"cli"} == GROUND_FLOOR


def test_no_circle_between_files():
    assert not circles({(a, b) for a, b in edges() if not is_face(a)})


def test_no_circle_between_rooms():
    arrows = {(room(a), room(b)) for a, b in edges() if a != "snapshot" and not is_face(a)}
    assert not circles({(a, b) for a, b in arrows if a != b})


def test_few_edges_between_rooms():
    arrows = {(floor(a), floor(b)) for a, b in edges() if a != "snapshot" and not is_face(a)}
    # Private modules serve all rooms and are none.
    between = {(a, b) for a, b in arrows if a != b and not a.startswith("_") and not b.startswith("_")}
    between = {(a, b) for a, b in between if b != "snapshot"}
    assert len(between) <= MOST_EDGES, len(between)
