"""What a list of exact strings need not tell: names that every model spells right, and numbers of lines.

The names are data: those of the common languages, methods of their plain types among them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

__all__ = ["is_hyphened", "news_in", "places_of_number"]

# What a string is worth, of what it would be otherwise: a name that everybody has, and one that is made of
# plain words. Agents use them as often as others, so they are not worth nothing (`benchmarks.continuation`).
_NAMED, _MADE = 0.7, 0.6

_TABLE = """
    /dev/stdin /dev/stdout /dev/stderr /usr/bin/env __init__ __init__.py __main__ __name__
    __version__ README.md LICENSE.md CHANGELOG.md CONTRIBUTING.md pyproject.toml package.json setup.py
    setup.cfg requirements.txt conftest.py go.mod go.sum tsconfig.json
    ArithmeticError AssertionError AttributeError BaseException BlockingIOError BrokenPipeError BufferError
    BytesWarning ChildProcessError ConnectionAbortedError ConnectionError ConnectionRefusedError
    ConnectionResetError DeprecationWarning EOFError EnvironmentError FileExistsError FileNotFoundError
    FloatingPointError FutureWarning GeneratorExit IOError ImportError ImportWarning IndentationError
    IndexError InterruptedError IsADirectoryError KeyError KeyboardInterrupt LookupError MemoryError
    ModuleNotFoundError NameError NotADirectoryError NotImplementedError OSError OverflowError
    PendingDeprecationWarning PermissionError ProcessLookupError RecursionError ReferenceError ResourceWarning
    RuntimeError RuntimeWarning StopAsyncIteration StopIteration SyntaxError SyntaxWarning SystemError
    SystemExit TabError TimeoutError TypeError UnboundLocalError UnicodeDecodeError UnicodeEncodeError
    UnicodeError UnicodeWarning UserWarning ValueError ZeroDivisionError
    TracebackType MagicMock NotImplemented
    collections.abc typing.Any typing.Callable typing.Iterator typing.Iterable typing.Optional unittest.mock
    pytest.raises pytest.mark.parametrize datetime.timedelta datetime.datetime json.dumps json.loads os.path
    os.path.join os.environ sys.argv sys.path sys.exit
    RangeError URIError EvalError console.log console.error JSON.parse JSON.stringify Object.keys
    module.exports process.env
    fmt.Errorf fmt.Sprintf fmt.Println fmt.Printf errors.New strings.Builder strings.HasPrefix strconv.Atoi
    NullPointerException IllegalArgumentException IllegalStateException RuntimeException System.out.println
"""
_NAMES = frozenset(_TABLE.split())
# Methods of plain types, which any name of words has before them.
_METHODS = (
    "add|append|clear|copy|count|decode|discard|encode|endswith|extend|find|format|get|index|insert|items|join"
    "|keys|lower|lstrip|partition|pop|push|read|remove|replace|reverse|rstrip|setdefault|sort|split|splitlines"
    "|startswith|strip|title|update|upper|values|write"
)
_PLAIN = re.compile(rf"(?:self|this)\.[a-z]+|(?:(?:self|this)\.)?[a-z]+\.(?:{_METHODS})")
_HYPHENED = re.compile(r"[a-z]{2,}(?:-[a-z]{2,})+")
_CODE_BEFORE = frozenset("\"'`=:/<>[({.$@-_\\,")
_CODE_BEHIND = frozenset("\"'`=:/>]}_$@\\(")
# A number at the start of a line, as listings have it; behind a file's name; in a range of lines.
_LISTED = re.compile(r"[ \t]*\d+(?:[\t:→|]|-(?!\d)|[ ]{2})")
_RANGED = re.compile(r"\d+(?:,\d+|,\$)?p\b")
_RANGES = re.compile(
    r"(?:\d,|\.[A-Za-z]{1,5}:|(?:offset|limit|view_range|\w*(?:[lL]ines?|[sS]tart))[\"']?[=:‣ \[]{1,3})$"
)


def news_in(name: str, text: str, places: Iterable[int]) -> float:
    """The share of a string's worth that is left as a model may spell it right without being told.

    A plain word with a hyphen is one of a language's, unless it stands once as code has it; `places` are
    where it stands in the text.
    """
    share = _known(name)
    if share < 1 or not is_hyphened(name):
        return share
    size = len(name)
    coded = any(
        text[at - 1 : at] in _CODE_BEFORE or text[at + size : at + size + 1] in _CODE_BEHIND for at in places
    )
    return 1.0 if coded else _MADE


def is_hyphened(name: str) -> bool:
    """Whether a string is made of plain words and hyphens."""
    return bool(_HYPHENED.fullmatch(name))


@lru_cache(maxsize=1 << 14)
def _known(name: str) -> float:
    if name in _NAMES:
        return _NAMED
    return _MADE if _PLAIN.fullmatch(name) else 1.0


def places_of_number(text: str, places: Iterable[int]) -> tuple[int, ...]:
    """The places where a bare number is no line's, which is another after the next edit."""
    return tuple(at for at in places if not _is_line(text, at))


def _is_line(text: str, start: int) -> bool:
    line = text.rfind("\n", max(0, start - 12), start) + 1
    if line and not text[line:start].strip() and _LISTED.match(text, line):
        return True
    return bool(_RANGED.match(text, start) or _RANGES.search(text[max(0, start - 16) : start]))
