"""Recognises a provider's error: is the request too large, by which measure, and by how much?

What providers say is data, `snapshot/recovery/overflow.toml`; this is the engine. A rule of that file has:

* `kind`: one of the table `kinds`
* conditions, all of which must hold: `pattern` (searched in everything the error says, without regard to
  case), `codes` (one of them is a code of the error), `status` (the HTTP status is one of them; 0 stands for
  none told), `provider` (a part of its name, as the caller or the exception gives it), `bodyless` (the error
  says nothing but its status), `sole` (it has no second text)
* `classes`: a class of the exception, or one that it descends from, has one of these names, and no rule
  before says more
* `structure`: the words of size and the figures of the error say its kind, by `structure.py`; with "figures"
  only if it names some
* `unit` of the figures; `less`: sending less is a cure although the kind says nothing of it

In a pattern, `{limit}`, `{requested}`, `{prompt}`, `{output}` and `{excess}` stand for a number, with or
without thousands separators, and say what it is; a digit behind the name tells two of one sort apart, which
are added. `{n}` is a number that is of no interest.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from snapshot._toml import parse_toml
from snapshot.recovery.error_body import ErrorFacts, exceptions_of, extract
from snapshot.recovery.structure import Reading, Structure, limit_key

__all__ = ["ErrorClass", "classify_error"]

_FIGURES = ("limit", "requested", "prompt", "output", "excess")
# No space as separator: "limit 400 500 Internal Server Error" is no half a million.
_NUMBER = r"(?:\d{1,3}(?:[,._'’\u00a0\u202f]\d{3}){1,4}|\d{1,15})(?!\d)"
_UNDECIDED = ("other", "wrapper")
_LONGEST_GIST = 300
_OUT_OF_TOKENS = frozenset({"length", "max_tokens", "max_output_tokens", "MAX_TOKENS"})
_FILLED = 0.99
_NEARLY_FULL = 0.8  # estimates may be that much too low
_DIGITS = "HTTP 0123456789"  # what the words of an error come to that says nothing but its status


@dataclass(frozen=True, slots=True)
class ErrorClass:
    """The class of a provider's error: what it says, and with which figures.

    Attributes:
        overflow: the request is too large, and a smaller one would be taken.
        kind: "context", "output" (prompt and max_tokens together), "bytes", "string length", "message
            count", "stop reason", "silent" are overflow; "images", "documents", "rate limit", "quota",
            "billing", "capacity", "auth", "content filter", "no vision", "max_tokens", "wrapper", "other" are
            not.
        limit, requested: the figures that the error names, None where it names none.
        text: the error's first words, on one line.
        unit: of the figures: "tokens", "bytes", "characters", "images", "pixels", "patches", "pages",
            "documents", "messages".
        prompt: the prompt's share of `requested`, where the error tells it from the output's.
        excess: by how much the request is too large, where the error says so or it follows.
        status: the HTTP status, 0 if none was told.
        curable_by_less: a request with less in it may pass: overflow, too many or too large images or
            documents, a rate or quota that this one request exceeds by itself, and an error that says
            nothing while the window is as good as full (see `sent` of `classify_error`).
        limit_key: name of the limit that was exceeded, "" where the error does not tell. Those that a layout
            file may have: "request_bytes", "image_bytes", "images_per_request", "images_per_message",
            "max_side" (pixels), "max_side_many" (the same, of requests with many images), "max_patches".
            Others: "window" (tokens), "max_output" (tokens of the answer), "pdf_pages", "documents",
            "document_bytes", "messages", "string_characters". A limit on the bytes of "image content" may be
            one on all images together: where each is smaller, it is.
        output: tokens of answer that were asked for, where the error tells.
    """

    overflow: bool
    kind: str
    limit: int | None
    requested: int | None
    text: str
    unit: str = ""
    prompt: int | None = None
    excess: int | None = None
    status: int = 0
    curable_by_less: bool = False
    limit_key: str = ""
    output: int | None = None

    @property
    def output_alone(self) -> bool:
        """Whether lowering max_tokens may be cure enough: the prompt by itself would fit."""
        if self.prompt is not None and self.limit is not None:
            return self.overflow and self.prompt < self.limit
        return self.kind == "output" and self.excess is None

    @property
    def curable_by_smaller_output(self) -> bool:
        """Whether the same prompt may pass with a smaller max_tokens (at most `limit` for that kind)."""
        return self.kind == "max_tokens" or self.output_alone

    @property
    def cause_unknown(self) -> bool:
        """Whether the error names no cause at all: whatever is done about it is a guess."""
        return self.kind in _UNDECIDED

    def __str__(self) -> str:
        named = [f"{self.requested:,} {self.unit}".rstrip() if self.requested is not None else ""]
        named.append(f"limit {self.limit:,}" if self.limit is not None else "")
        figures = ", ".join(part for part in named if part)
        return self.kind + (f" ({figures})" if figures else "") + (f": {self.text}" if self.text else "")


@dataclass(frozen=True, slots=True)
class _Rule:
    kind: str
    pattern: re.Pattern[str] | None
    codes: frozenset[str]
    classes: frozenset[str]
    status: frozenset[int]
    provider: tuple[str, ...]
    bodyless: bool
    sole: bool
    structure: str
    unit: str
    less: bool


@dataclass(frozen=True, slots=True)
class _Table:
    body: Mapping[str, Any]
    status_line: re.Pattern[str]
    kinds: Mapping[str, Mapping[str, bool]]
    rules: tuple[_Rule, ...]
    structure: Structure


def classify_error(
    error: object, *, provider: str = "", window: int | None = None, sent: int | None = None
) -> ErrorClass:
    """The class of an error: what it says of the request that it answers.

    Args:
        error: an exception of any SDK, with its causes; a mapping with status and body, or the body alone;
            an event of a stream, or a whole response that ended oddly; text or bytes of any of these.
        provider: who sent it, as far as the caller knows; a few errors mean something only there.
        window: tokens of the model's window. With it, a response that reports more input than that, or
            that filled it and wrote nothing, is recognised as a silent overflow.
        sent: the caller's estimate of the prompt's tokens. With it, a server that reports less than half
            of them read is recognised as one that cut the prompt silently; and a refusal that names no cause
            is taken to be curable by less where nearly all of the window was sent.

    Never raises: what cannot be understood is of the kind "other".
    """
    first: ErrorClass | None = None
    for layer in exceptions_of(error) if isinstance(error, BaseException) else (error,):
        table = _table()
        said = extract(layer, ErrorFacts(table.body, table.status_line))
        verdict = _silent(said, window, sent) or _judge(said, table, provider)
        if verdict.kind not in _UNDECIDED:
            return verdict
        if first is None or (verdict.kind == "wrapper" and first.kind == "other"):
            first = verdict
    assert first is not None
    opaque = first.cause_unknown and first.status in (0, 400, 413, 422, 500)
    if opaque and window and sent and sent >= window * _NEARLY_FULL and not first.text.strip(_DIGITS):
        return replace(first, curable_by_less=True)
    return first


def _judge(said: ErrorFacts, table: _Table, provider: str) -> ErrorClass:
    text = said.all
    who = " ".join([provider, *said.hints]).lower()
    for rule in table.rules:
        if rule.status and said.status not in rule.status and not (said.status < 400 and 0 in rule.status):
            continue
        if rule.provider and not any(name in who for name in rule.provider):
            continue
        if rule.codes and rule.codes.isdisjoint(said.codes):
            continue
        if rule.classes and rule.classes.isdisjoint(said.classes):
            continue
        if (rule.bodyless and text) or (rule.sole and len(said.texts) > 1):
            continue
        match = rule.pattern.search(text) if rule.pattern else None
        if rule.pattern and not match:
            continue
        if rule.structure:
            reading = table.structure.read(said.texts, said.codes, strict=rule.structure == "figures")
            if reading is None:
                continue
            figures = (
                {**said.figures, **reading.figures} if reading.unit in ("tokens", "") else reading.figures
            )
            return _verdict(said, reading.kind, figures, reading.unit or "tokens", key=reading.key)
        figures = _figures(match, said) if rule.unit or match else {}
        kind, key = rule.kind, ""
        if rule.unit and not figures.keys() >= {"limit", "requested"} and "excess" not in figures:
            # The words are known, and others beside them may name figures, or the answer's share.
            reading = table.structure.read(said.texts, []) or Reading("")
            bare = figures.keys().isdisjoint(("limit", "requested"))
            if reading.unit == rule.unit and (bare or reading.figures.get("limit") == figures.get("limit")):
                figures, key = {**reading.figures, **figures}, reading.key
            if (kind, reading.kind) == ("context", "output") and bare:
                kind = reading.kind
        return _verdict(said, kind, figures, rule.unit, less=rule.less, key=key)
    return _verdict(said, "other", {}, "")


def _figures(match: re.Match[str] | None, said: ErrorFacts) -> dict[str, int]:
    """The figures of a match, and those of the body where the words name none; zero is no figure."""
    found: dict[str, int] = {}
    for name, digits in (match.groupdict() if match else {}).items():
        if digits is not None:
            key = name.rstrip("0123456789")
            found[key] = found.get(key, 0) + int(re.sub(r"\D", "", digits))
    if "requested" not in found and "prompt" in found and "output" in found:
        found["requested"] = found["prompt"] + found["output"]
    return {name: value for name, value in {**said.figures, **found}.items() if value}


def _verdict(
    said: ErrorFacts,
    kind: str,
    figures: Mapping[str, int],
    unit: str,
    *,
    less: bool = False,
    key: str = "",
) -> ErrorClass:
    meaning = _table().kinds[kind]
    limit, requested = figures.get("limit"), figures.get("requested")
    excess = figures.get("excess")
    if excess is None and limit is not None and requested is not None and requested > limit:
        excess = requested - limit
    overflow = meaning.get("overflow", False)
    # A rate that this one request exceeds never clears by waiting.
    alone = kind == "rate limit" and excess is not None
    named = limit is not None or requested is not None or excess is not None
    return ErrorClass(
        overflow=overflow,
        kind=kind,
        limit=limit,
        requested=requested,
        text=_gist(said),
        unit=unit if named else "",
        prompt=figures.get("prompt"),
        excess=excess,
        status=said.status,
        curable_by_less=overflow or meaning.get("less", False) or less or alone,
        limit_key=key or limit_key(kind, unit, many="many-image" in said.all),
        output=figures.get("output"),
    )


def _silent(said: ErrorFacts, window: int | None, sent: int | None) -> ErrorClass | None:
    """A success that cannot be one: more input than the window, or a window filled and nothing written."""
    if said.status >= 400 or said.input is None:
        return None
    figures = {"requested": said.input} | ({"limit": window} if window else {})
    full = said.input > 0 if window is None else said.input >= window * _FILLED
    mute = not said.output and said.output is not None and not _OUT_OF_TOKENS.isdisjoint(said.codes)
    if (mute and full) or (window is not None and said.input > window):
        return _verdict(said, "silent", figures, "tokens")
    if sent is not None and 0 < said.input < sent / 2:  # what was read is what the window held
        return _verdict(said, "silent", {"requested": sent, "limit": said.input}, "tokens")
    return None


def _gist(said: ErrorFacts) -> str:
    said_or_status = " ".join(said.texts or said.codes) or (f"HTTP {said.status}" if said.status else "")
    words = " ".join(said_or_status[: 4 * _LONGEST_GIST].split())
    return words if len(words) <= _LONGEST_GIST else words[: _LONGEST_GIST - 1] + "…"


@cache
def _table() -> _Table:
    table = parse_toml(Path(__file__).with_name("overflow.toml").read_text(encoding="utf-8"))
    return _Table(
        body=table["body"],
        status_line=re.compile(table["status_line"]["pattern"]),
        kinds=table["kinds"],
        rules=tuple(
            _Rule(
                kind=rule["kind"],
                pattern=_compiled(rule["pattern"]) if "pattern" in rule else None,
                codes=frozenset(rule.get("codes", ())),
                classes=frozenset(rule.get("classes", ())),
                status=frozenset(rule.get("status", ())),
                provider=tuple(rule.get("provider", ())),
                bodyless=rule.get("bodyless", False),
                sole=rule.get("sole", False),
                structure=rule.get("structure", ""),
                unit=rule.get("unit", ""),
                less=rule.get("less", False),
            )
            for rule in table["rules"]
        ),
        structure=Structure.of(table["structure"]),
    )


def _compiled(pattern: str) -> re.Pattern[str]:
    names = "|".join(_FIGURES)
    pattern = re.sub(rf"\{{((?:{names})\d?)\}}", lambda name: f"(?P<{name[1]}>{_NUMBER})", pattern)
    return re.compile(pattern.replace("{n}", _NUMBER), re.IGNORECASE | re.MULTILINE)
