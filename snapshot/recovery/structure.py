"""Reads errors whose wording is in no rule: by their words of size, and by the figures with their units.

A sentence counts that names a part of the request and says that it is too large, or what its maximum is. What
it names decides the kind; the numbers of the whole text are the limit, or what was sent, by the words around
them. The words are data: `overflow.toml`, table `structure`.

Units are read as they are written: a MB is 1,000,000 bytes, a MiB is 1,048,576.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Reading", "Structure"]

_LONGEST = 8192  # characters of an error that are read
_SEGMENT = 100  # characters before a number in which a word may say what it is
_SMALLEST_WINDOW = 16  # tokens: what is smaller is no window
_LEAST_LIMIT = 1024  # bytes: what is smaller and has no unit is something else
_LEAST_BYTES = 100_000  # a number without a unit that counts bytes, not images or pages
_SENTENCE = re.compile(r"(?<=[.!?;。；])\s+|[\r\n]+")
# "context window exceeds limit(2013)": a code, not a figure.
_CODE_BEFORE, _CODE_AFTER = re.compile(r"\w\($"), re.compile(r"\)\W{0,8}$")
_PARTS = re.compile(r"[_\-.\s]+|(?<=[a-z])(?=[A-Z])")
_BYTES = {"k": 10**3, "m": 10**6, "g": 10**9, "ki": 2**10, "mi": 2**20, "gi": 2**30}
_NUMBER = re.compile(
    r"""(?<![\w.,/\#@-])(?<!\d:)
    (?P<number>\d{1,3}(?:[,_'’\u00a0\u202f]\d{3}){1,4}(?:\.\d{1,6})?|\d{1,3}(?:\.\d{3}){2,4}|\d{1,15}(?:\.\d{1,6})?)
    (?:(?P<thousands>[kK])(?=[\s-]?(?:tokens?|context)\b)|(?P<millions>M)(?=[\s-]?(?:tokens?|context)\b))?
    (?:[\s-]?(?P<scale>[kKmMgG]i?)(?:[bB]|(?:ega|ilo|iga)?bytes?)\b
      |[\s-]?(?P<bytes>bytes?)\b
      |[\s-]?(?:\w{1,12}[\s-])?(?P<unit>tokens?|characters?|chars|images?(?:\(s\))?|photos?|pictures?|pages?|documents?|pdfs?
        |files?|attachments?|messages?|pixels?|px)\b)?
    (?![\w/]|\.\d)""",
    re.VERBOSE | re.IGNORECASE | re.ASCII,  # a Chinese word may stand right before a number
)
_UNITS = {
    "char": "characters", "character": "characters", "photo": "images", "picture": "images",
    "pdf": "documents", "file": "documents", "attachment": "documents", "px": "pixels",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Reading:
    """What the structure of an error says.

    Attributes:
        kind: as in the table `kinds` of the rule file.
        figures: numbers by the field of `ErrorClass`: "limit", "requested", "prompt", "output", "excess".
        unit: of the figures, "" if there are none.
        key: name of the limit: see `ErrorClass.limit_key`.
    """

    kind: str
    figures: Mapping[str, int] = field(default_factory=dict[str, int])
    unit: str = ""
    key: str = ""


@dataclass(frozen=True, slots=True)
class _Figure:
    """A number of the text: its value, its unit and its role, "" where they are not known."""

    value: int
    unit: str
    role: str


@dataclass(frozen=True, slots=True)
class Structure:
    """The words of the table `structure`, compiled.

    Attributes:
        words: a pattern by its name.
        subjects: what a sentence may speak of, in the order in which they are tried: kind, pattern, units of
            its figures, and whether it must be said to be too large.
    """

    words: Mapping[str, re.Pattern[str]]
    subjects: tuple[tuple[str, re.Pattern[str], tuple[str, ...], bool], ...]

    @classmethod
    def of(cls, table: Mapping[str, Any]) -> Structure:
        """The structure that the table of the rule file describes."""
        flags = re.IGNORECASE
        return cls(
            words={name: re.compile(pattern, flags) for name, pattern in table["words"].items()},
            subjects=tuple(
                (
                    subject["kind"],
                    re.compile(subject["pattern"], flags),
                    tuple(subject["units"]),
                    subject.get("weak", False),
                )
                for subject in table["subjects"]
            ),
        )

    def read(self, texts: list[str], codes: list[str], *, strict: bool = False) -> Reading | None:
        """What `texts` and `codes` say of a size and a limit, None if they say nothing of them.

        Args:
            texts: what the error says.
            codes: its codes and types: each is read as a sentence of its own.
            strict: only a text that names a figure counts.
        """
        text = "\n".join(texts)[:_LONGEST]
        figures = list(self._figures(text))
        if strict and not any(figure.role for figure in figures):
            return None
        sentences = [part for part in _SENTENCE.split(text) if part]
        spoken = [part for part in sentences if not self.words["advice"].match(part)] or sentences
        spoken += [" ".join(_PARTS.split(code)) for code in codes if code not in texts]
        for sentence in spoken:
            if not self._complains(sentence) or self.words["foreign"].search(sentence):
                continue
            if self.words["rate"].search(sentence):
                return Reading("rate limit")
            if kind := self._kind(sentence, figures):
                return self._reading(kind, sentence, text, figures)
        return None

    def _complains(self, sentence: str) -> bool:
        """Whether the sentence says that something is too large, or what its maximum is."""
        return any(self.words[name].search(sentence) for name in ("complaint", "bound"))

    def _kind(self, sentence: str, figures: list[_Figure]) -> str:
        """The kind of what the sentence speaks of, "" if it is no part of a request."""
        if self.words["output"].search(sentence):
            rest = self.words["output"].sub(" ", sentence)
            return "output" if self.words["prompt"].search(rest) else "max_tokens"
        units = {figure.unit for figure in figures if figure.role}
        largest = max((figure.value for figure in figures if figure.unit == "bytes"), default=0)
        too_large = self.words["complaint"].search(sentence) is not None
        for kind, pattern, _, weak in self.subjects:
            if not pattern.search(sentence) or (weak and not too_large):
                continue
            if kind == "bytes" and 0 < largest < _LEAST_LIMIT:
                continue  # a key, a frame
            if kind == "bytes" and "tokens" in units:
                return "context"  # "request body too large, max size: 8000 tokens"
            if kind == "context" and "bytes" in units and "tokens" not in units:
                return "bytes"  # "the prompt is too large (5.5 MB request; 5.0 MB limit)"
            if kind == "context" and "characters" in units and "tokens" not in units:
                return "string length"
            if kind == "context" and not units.isdisjoint(("images", "documents")) and "tokens" not in units:
                continue
            return kind
        return ""

    def _reading(self, kind: str, sentence: str, text: str, figures: list[_Figure]) -> Reading:
        allowed = next((units for name, _, units, _ in self.subjects if name == kind), ("tokens",))
        told = [_with_unit(figure, kind, sentence) for figure in figures if figure.role]
        told = [figure for figure in told if figure.unit in allowed]
        unit = next((figure.unit for figure in told if figure.role == "limit"), "")
        unit = unit or next((figure.unit for figure in told), "")
        found = _by_role(kind, [figure for figure in told if figure.unit == unit])
        limit = found.get("limit")
        if unit == "tokens" and kind != "max_tokens" and limit is not None and limit < _SMALLEST_WINDOW:
            found = {}
        per_message = self.words["per_message"].search(sentence) is not None
        many = self.words["many"].search(text) is not None
        return Reading(kind, found, unit if found else "", limit_key(kind, unit, per_message, many))

    def _figures(self, text: str) -> Iterator[_Figure]:
        """The numbers of a text, with what the words around each say of it."""
        last, told = 0, ""
        for match in _NUMBER.finditer(text):
            before = text[max(last, match.start() - _SEGMENT) : match.start()]
            before = re.split(r"[.!?]\s|\n", before)[-1]
            after = text[match.end() : match.end() + 24]
            last = match.end()
            if self.words["status"].match(text[match.start() : match.end() + 24]):
                continue
            if _CODE_BEFORE.search(before) and _CODE_AFTER.match(text, match.end()):
                continue
            rest = text[match.end("number") : match.end() + 32]
            unit, role = _unit(match), self._role(before, after, rest)
            # "requires 1027 pages (only 1024 available)": what has no unit is of the sort named before.
            told = unit or told if role else told
            yield _Figure(_value(match), unit or told, role)

    def _role(self, before: str, after: str, rest: str) -> str:
        """What a number is: "limit", "requested", "prompt", "output", "excess", or "" if nothing tells.

        Args:
            before: the words before it, back to the last number.
            after: the words behind it and its unit.
            rest: its unit and the words behind that.
        """
        words = self.words
        for share in ("output", "prompt"):
            if words[f"{share}_before"].search(before) or words[f"{share}_after"].match(rest):
                bounded = words["limit_after"].match(after) or words["limit_near"].search(before)
                return "limit" if bounded else share
        sure = (
            ("excess", words["excess_before"].search(before)),
            ("limit", words["limit_adjacent"].search(before)),
            ("limit", words["limit_after"].match(after)),
            ("requested", words["requested_after"].match(after)),
        )
        for role, found in sure:
            if found:
                return role
        limit, requested = (_last(words[name], before) for name in ("limit_before", "requested_before"))
        if limit < 0 and requested < 0:
            return "requested" if words["part_before"].search(before) else ""
        return "limit" if limit >= requested else "requested"


def limit_key(kind: str, unit: str, per_message: bool = False, many: bool = False) -> str:
    """Name of the limit that an error of this kind and unit is about, "" if it has none.

    Args:
        kind: of the error.
        unit: of its figures.
        per_message: the error speaks of one message, not of the whole request.
        many: the error speaks of requests with many images.
    """
    images = {
        "images": "images_per_message" if per_message else "images_per_request",
        "bytes": "image_bytes",
        "pixels": "max_side_many" if many else "max_side",
        "patches": "max_patches",
    }
    documents = {"pages": "pdf_pages", "documents": "documents", "bytes": "document_bytes"}
    return {
        "context": "window",
        "output": "window",
        "silent": "window",
        "stop reason": "window",
        "max_tokens": "max_output",
        "bytes": "request_bytes",
        "string length": "string_characters",
        "message count": "messages",
        "images": images.get(unit, ""),
        "documents": documents.get(unit, ""),
    }.get(kind, "")


def _by_role(kind: str, figures: list[_Figure]) -> dict[str, int]:
    """The numbers by what they are. Of several limits the first counts, of several sizes the largest."""
    of: dict[str, list[int]] = {}
    for figure in figures:
        of.setdefault(figure.role, []).append(figure.value)
    found = {role: of[role][0] for role in ("limit", "excess") if role in of}
    prompt, output = max(of.get("prompt", [0])), max(of.get("output", [0]))
    sizes = [*of.get("requested", []), *((output,) if kind == "max_tokens" else (prompt,)), 0]
    if kind == "output" and prompt and output:
        found |= {"prompt": prompt, "output": output}
        sizes.append(prompt + output)
    # What is within the limit is a share of what was sent, or of another request.
    if max(sizes) > found.get("limit", 0):
        found["requested"] = max(sizes)
    return found


def _last(pattern: re.Pattern[str], text: str) -> int:
    """Where the last match of `pattern` ends, -1 if there is none."""
    end = -1
    for match in pattern.finditer(text):
        end = match.end()
    return end


def _value(match: re.Match[str]) -> int:
    written = match["number"]
    if match["scale"]:
        number = float(re.sub(r"[,_'’\u00a0\u202f]", "", written)) if written.count(".") < 2 else 0.0
        return round(number * _BYTES[match["scale"].lower()])
    if re.fullmatch(r"\d{1,3}(?:\.\d{3})+", written):
        written = written.replace(".", "")
    number = float(re.sub(r"[^\d.]", "", written))
    return round(number * (1000 if match["thousands"] else 10**6 if match["millions"] else 1))


def _unit(match: re.Match[str]) -> str:
    if match["scale"] or match["bytes"]:
        return "bytes"
    word = (match["unit"] or "").lower().split("(")[0].rstrip("s")
    return _UNITS.get(word, f"{word}s" if word else "")


def _with_unit(figure: _Figure, kind: str, sentence: str) -> _Figure:
    """`figure` with the unit that goes without saying."""
    if figure.unit:
        return figure
    if kind == "bytes" and figure.value < _LEAST_LIMIT:
        return figure
    if kind in ("images", "documents"):
        unit = kind
        if figure.value >= _LEAST_BYTES:
            unit = "bytes"
        elif kind == "images" and re.search(
            r"dimension|width|height|side|resolution", sentence, re.IGNORECASE
        ):
            unit = "pixels"
        elif kind == "documents" and re.search(r"pages?\b", sentence, re.IGNORECASE):
            unit = "pages"
    else:
        unit = {"bytes": "bytes", "string length": "characters", "message count": "messages"}.get(
            kind, "tokens"
        )
    return _Figure(figure.value, unit, figure.role)
