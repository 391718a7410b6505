"""The public face: what `help`, completion and type checkers are told."""

from __future__ import annotations

import inspect
import pydoc
import typing
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import fields
from typing import Any, get_args, get_origin, get_type_hints

import pytest

import snapshot
from snapshot.compaction.options import Settings

NAMES = sorted(snapshot.__all__)


def functions_of(value: Any) -> Iterator[tuple[str, Callable[..., Any]]]:
    """The functions that a public name stands for: itself, or the methods and properties of a class."""
    if not inspect.isclass(value):
        yield value.__name__, value
        return
    for name, member in vars(value).items():
        of = member.fget if isinstance(member, property) else getattr(member, "__func__", member)
        if inspect.isfunction(of):
            yield f"{value.__name__}.{name}", of


@pytest.mark.parametrize("name", NAMES)
def test_a_public_name_says_what_it_is(name):
    value = getattr(snapshot, name)
    documented = [(name, value), *((of, part) for of, part in functions_of(value) if "._" not in of)]
    for what, part in documented:
        lines = (inspect.getdoc(part) or "").splitlines()
        assert lines, f"{what} has no docstring"
        first = lines[0]
        # A sentence of its own, which starts with a noun or a verb and not with a question.
        assert first[0].isupper(), what
        assert first.endswith("."), what
        assert len(first.split()) > 3, what
        assert first.split()[0] not in ("What", "How", "Which", "Where", "Who"), what
        assert len(lines) == 1 or not lines[1], what


@pytest.mark.parametrize("name", NAMES)
def test_types_of_a_public_name_can_be_had(name):
    value = getattr(snapshot, name)
    get_type_hints(value)
    for what, function in functions_of(value):
        if what.startswith(f"{name}.__") and not what.endswith("__init__"):
            continue
        hints = get_type_hints(function)
        if not what.endswith("__init__"):
            assert "return" in hints, what
        taken = [one for one in inspect.signature(function).parameters if one not in ("self", "cls")]
        assert set(taken) - set(hints) <= set(get_type_hints(Settings)), what


def as_given(hint: Any) -> Any:
    """The type that a caller may give for a field: any sequence for a tuple, any collection for a set."""
    arguments = [as_given(one) for one in get_args(hint) if one is not ...]
    if get_origin(hint) is tuple:
        return Sequence[arguments[0]]
    if get_origin(hint) is frozenset:
        return Collection[arguments[0]]
    return hint


def test_settings_options_and_signatures_are_the_same():
    """A setting has one name, one type and one default, wherever it is shown."""
    settings = get_type_hints(Settings)
    options = get_type_hints(snapshot.Options)
    assert list(settings) == [item.name for item in fields(snapshot.Options)]
    assert {name: as_given(options[name]) for name in settings} == settings
    default = snapshot.Options()
    for function in (snapshot.compact, snapshot.recover):
        parameters = inspect.signature(function).parameters
        shown = list(parameters)
        assert shown[-len(settings) :] == list(settings)
        assert not any(one.kind is inspect.Parameter.VAR_KEYWORD for one in parameters.values())
        scope = {**vars(typing), **vars(inspect.getmodule(function)), **vars(inspect.getmodule(Settings))}
        for name, hint in settings.items():
            assert parameters[name].kind is inspect.Parameter.KEYWORD_ONLY
            assert parameters[name].default == getattr(default, name)
            assert eval(parameters[name].annotation, scope) == hint


def test_help_shows_every_setting():
    for function in (snapshot.compact, snapshot.recover):
        shown = pydoc.render_doc(function, renderer=pydoc.plaintext)  # pyright: ignore[reportAttributeAccessIssue]
        for name in get_type_hints(Settings):
            assert f"{name}:" in shown.partition("->")[0]
    with pytest.raises(TypeError, match="windw"):
        inspect.signature(snapshot.compact).bind([], model="claude-opus-4-8", windw=1)
