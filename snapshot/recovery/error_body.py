"""What an error says, in whatever form it comes: exception, mapping, JSON, event stream, plain text.

Nothing is imported to look at an exception, and nothing is fetched: attributes are read as they are there.
Only the keys that error bodies use are followed (`overflow.toml`, table `body`), since some bodies
repeat the request, and a conversation may well speak of errors.
"""

from __future__ import annotations

import ast
import html
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

__all__ = ["ErrorFacts", "exceptions_of", "extract"]

_DEEPEST = 16  # levels of bodies within bodies: gateways wrap gateways
_MOST_NODES = 400
_LONGEST_TEXT = 1 << 16  # characters of one text that rules look at
_LONGEST_JSON = 1 << 23
_LONGEST_CODE = 100
_SUCCESS = range(200, 300)
_LONGEST_REPR = 1 << 14  # characters of a Python dictionary, as it is printed, that are parsed
_MOST_BRACKETS = 400
_MOST_STARTS = 4
_WRAPPED = re.compile(r"\n[ \t]+")  # a terminal broke the line
_HTML = re.compile(r"\s{0,20}<(?:!doctype|html|head|center|title|body)\b", re.IGNORECASE)
_LONGEST_HTML = 1 << 15


@dataclass(slots=True)
class ErrorFacts:
    """What was found, from the outside in.

    Attributes:
        keys: the table `body` of the rule file.
        status_line: how a text that begins with an HTTP status is written.
        status: HTTP status, 0 if none is told; an error's own code inside a success counts.
        texts: messages, each once.
        codes: codes, types and stop reasons, as they stand.
        figures: numbers that the body gives in fields of their own, by name of the verdict's field.
        input, output: tokens that a response reports, None if it does not.
        hints: names that tell the provider: of a module, of a host.
        classes: names of the exception's class and of those that it descends from.
    """

    keys: Mapping[str, Any]
    status_line: re.Pattern[str]
    status: int = 0
    texts: list[str] = field(default_factory=list)
    codes: list[str] = field(default_factory=list)
    figures: dict[str, int] = field(default_factory=dict)
    input: int | None = None
    output: int | None = None
    hints: list[str] = field(default_factory=list)
    classes: set[str] = field(default_factory=set)
    nodes: int = 0

    @property
    def all(self) -> str:
        """Everything that rules search, one thing a line."""
        return "\n".join([*self.texts, *self.codes])

    def see_status(self, value: object) -> bool:
        """Take `value` as the HTTP status, if it can be one and none is known; tell whether it can."""
        if isinstance(value, str) and re.fullmatch(r"[1-5]\d\d", value):
            value = int(value)
        if not isinstance(value, int) or isinstance(value, bool) or not 100 <= value <= 599:
            return False
        if not self.status or self.status in _SUCCESS:
            self.status = int(value)
        return True

    def see_code(self, value: object) -> None:
        """Keep a code that is a short word."""
        if isinstance(value, int) and not isinstance(value, bool):
            value = str(value) if abs(value) < 10**9 else ""
        if isinstance(value, str) and 0 < len(value) <= _LONGEST_CODE and value not in self.codes:
            self.codes.append(value)

    def see_text(self, text: str, depth: int) -> None:
        """Read a text: as JSON or a stream of events if it is one, with JSON inside it if it has some."""
        text = text.strip().lstrip("\ufeff")
        if not text or depth > _DEEPEST or self.nodes > _MOST_NODES:
            return
        self.nodes += 1
        if _HTML.match(text):
            self.see_text(plain_of(text), depth + 1)
            return
        if match := self.status_line.match(text[:200]):
            self.see_status(match["status"] or match["status2"])
            if text[match.end() :].strip() in ("", "(no body)") and match["status"]:
                return  # how SDKs write an answer without a body
        if not self._see_json(text, depth) and not self._see_events(text, depth):
            self._keep(text)

    def _see_json(self, text: str, depth: int) -> bool:
        """Read a text that is JSON, or ends in JSON after some words; tell whether it is one."""
        if text[0] in '{["':
            found, value = _json(text)
            if not found and text[0] == "{":
                found, value = _printed(text)
            if found:
                self.see(value, depth + 1)
                return True
        if text.startswith("data:") or "\ndata:" in text[:2000]:
            return False
        start = -1
        for _ in range(_MOST_STARTS):  # the first braces may belong to the words
            start = text.find("{", start + 1, 2000)
            if start < 0:
                return False
            value, length = _begun(text[start:])
            if length:
                break
        else:
            return False
        before = text[:start].strip()  # names of classes mostly: codes, rather than what is said
        self.see_code(before) if len(before) <= _LONGEST_CODE else self._keep(before)
        self.see(value, depth + 1)
        rest = text[start + length :]
        if "{" in rest:  # a gateway that tried several providers says what each said
            self.see_text(rest, depth + 1)
        return True

    def _see_events(self, text: str, depth: int) -> bool:
        """Read a text that is a stream of events, or lines of JSON; tell whether it is one."""
        lines = [line for line in text[:_LONGEST_JSON].splitlines() if line.startswith(("data:", "{"))]
        events = [_json(line.removeprefix("data:").strip()) for line in lines[-_MOST_NODES:]]
        if not any(found for found, _ in events):
            return False
        for _, value in events:
            self.see(value, depth + 1)
        return True

    def see(self, value: object, depth: int = 0) -> None:
        """Read a value of an error body."""
        if isinstance(value, bytes | bytearray | memoryview):
            value = bytes(value).decode("utf-8", "replace")
        if isinstance(value, str):
            return self.see_text(value, depth)
        if depth > _DEEPEST or self.nodes > _MOST_NODES:
            return None
        self.nodes += 1
        if isinstance(value, Mapping):
            self._see_mapping(value, depth)
        elif isinstance(value, Sequence):
            for item in value[:20]:
                self.see(item, depth + 1)
        return None

    def _see_mapping(self, body: Mapping[Any, Any], depth: int) -> None:
        keys = self.keys
        for key in keys["status"]:
            if not self.see_status(body.get(key)) and key == "code":
                self.see_code(body.get(key))
        for key in keys["code"]:
            if not isinstance(body.get(key), int):
                self.see_code(body.get(key))
        # "text" is an error's only where it stands alone: inside, it is what a model wrote.
        for key in (*keys["text"], "text") if depth == 0 else keys["text"]:
            if isinstance(text := body.get(key), str | bytes):
                self.see(text, depth + 1)
        for key in keys["sentence"]:  # a name mostly, and now and then all that is said
            if isinstance(text := body.get(key), str) and " " in text.strip():
                self.see(text, depth + 1)
        for key, name in keys["figures"].items():
            if (number := _count(body.get(key))) is not None:
                self.figures.setdefault(name, number)
        self._see_usage(body)
        for key in keys["nested"]:
            if isinstance(value := body.get(key), Mapping | list | tuple):
                self.see(value, depth + 1)

    def _see_usage(self, body: Mapping[Any, Any]) -> None:
        for usage in (body, *(body.get(key) for key in self.keys["usage"])):
            if not isinstance(usage, Mapping):
                continue
            for name in ("input", "output"):
                counts = [count for key in self.keys[name] if (count := _count(usage.get(key))) is not None]
                if counts and getattr(self, name) is None:
                    setattr(self, name, sum(counts))

    def _keep(self, text: str) -> None:
        text = _WRAPPED.sub(" ", text[:_LONGEST_TEXT])
        if text and text not in self.texts:
            self.texts.append(text)


def extract(error: object, said: ErrorFacts) -> ErrorFacts:
    """`said`, filled with what `error` says: one exception without its causes, or any other value."""
    if not isinstance(error, BaseException):
        return _extract_value(error, said)
    said.classes |= {owner.__name__ for owner in type(error).__mro__}
    said.hints += [type(error).__module__, str(_get(error, "llm_provider") or "")]
    response = _get(error, "response")
    for owner in (error, response):
        for name in ("status_code", "status", "http_status", "code"):
            value = _get(owner, name)
            if not said.see_status(value) and owner is error and not callable(value):
                said.see_code(value)
        url = str(_get(_get(owner, "request"), "url") or _get(owner, "url") or "")
        said.hints.append(url.partition("://")[2].partition("/")[0])
    said.see_code(_get(error, "type"))
    for name in ("body", "details", "detail", "errors"):
        said.see(_get(error, name))
    if isinstance(response, Mapping):
        said.see(response)
    elif not said.texts and _get(response, "_content_consumed") is not False:
        said.see(_get(response, "text"))  # not of a response that would fetch it now
    args = _get(error, "args")
    if not said.texts and isinstance(args, tuple):
        for value in args[:4]:
            said.see(value)
    for text in (_get(error, "message"), _str(error)):
        if not said.texts:
            said.see(text)
    return said


def _extract_value(error: object, said: ErrorFacts) -> ErrorFacts:
    """`said`, filled with a body in any form, or with the object of an SDK or an HTTP library."""
    if error is None or isinstance(
        error, str | bytes | bytearray | memoryview | Mapping | list | tuple | int | float
    ):
        said.see(error)
        return said
    if isinstance(error, type):
        return said
    for name in ("status_code", "status", "http_status"):
        said.see_status(_get(error, name))
    url = str(_get(_get(error, "request"), "url") or _get(error, "url") or "")
    said.hints.append(url.partition("://")[2].partition("/")[0])
    dump = _get(error, "model_dump")
    if callable(dump):
        try:
            said.see(dump())
        except Exception:  # a stranger's code: whatever it raises, there is nothing to read
            return said
    elif _get(error, "_content_consumed") is not False:  # not of a response that would fetch it now
        for name in ("body", "text", "content", "error", "details", "detail", "message"):
            value = _get(error, name)
            if not said.texts and isinstance(value, str | bytes | Mapping):
                said.see(value)
    return said


def plain_of(page: str) -> str:
    """The words of a page of HTML, a line for each element, without scripts, styles and tags."""
    page = page[:_LONGEST_HTML]
    lower, words, at = page.lower(), list[str](), 0
    while (start := page.find("<", at)) >= 0:
        words.append(page[at:start])
        close = ">"
        for opening, closing in (("<!--", "-->"), ("<script", "</script"), ("<style", "</style")):
            if lower.startswith(opening, start):
                close = closing
        end = lower.find(close, start + 1)
        if end < 0:  # cut off: what follows is no text
            break
        at = end if close.startswith("</") else end + len(close)
    else:
        words.append(page[at:])
    lines = (" ".join(line.split()) for line in html.unescape("\n".join(words)).splitlines())
    return "\n".join(dict.fromkeys(line for line in lines if line))


def exceptions_of(error: BaseException) -> Iterator[BaseException]:
    """`error`, what it groups, and what caused it, nearest first."""
    queue, seen = [error], set[int]()
    while queue and len(seen) < 32:
        current = queue.pop(0)
        if id(current) in seen:
            continue
        seen.add(id(current))
        yield current
        if isinstance(current, BaseExceptionGroup):
            queue += current.exceptions
        if current.__cause__ is not None:
            queue.append(current.__cause__)


def _get(owner: object, name: str) -> Any:
    """An attribute, None if it is not there or cannot be had."""
    try:
        return getattr(owner, name, None)
    except Exception:  # properties of foreign classes raise what they like
        return None


def _str(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:
        return ""


def _json(text: str) -> tuple[bool, object]:
    """Whether `text` is JSON, and the value."""
    if len(text) > _LONGEST_JSON:
        return False, None
    try:
        return True, json.loads(text)
    except (ValueError, RecursionError):
        return False, None


def _begun(text: str) -> tuple[Mapping[Any, Any], int]:
    """The object that `text` begins with, as JSON or printed by Python, and its length, 0 for none."""
    if len(text) > _LONGEST_JSON:
        return {}, 0
    try:
        value, length = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        found, value = _printed(text)
        length = text.rfind("}", 0, _LONGEST_REPR) + 1 if found else 0
    return (value, length) if isinstance(value, Mapping) and value else ({}, 0)


def _printed(text: str) -> tuple[bool, object]:
    """Whether `text`, up to its last brace, is a dictionary as Python prints it, and the value."""
    end = text.rfind("}", 0, _LONGEST_REPR)
    text = text[: end + 1]
    if end < 0 or "'" not in text or text.count("{") + text.count("[") + text.count("(") > _MOST_BRACKETS:
        return False, None
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        return False, None
    return isinstance(value, dict), value


def _count(value: object) -> int | None:
    """A count of something, None for what is none."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10**15 else None
