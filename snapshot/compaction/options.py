"""Settings of a compaction, each checked when it is given, with defaults that scale with the model's
window."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from difflib import get_close_matches
from inspect import Parameter, signature
from os import PathLike
from typing import Any, Literal, TypedDict, TypeVar, cast, get_args

from snapshot.compaction.summary.prompted import Summarize
from snapshot.errors import SnapshotError
from snapshot.redaction import Redactor

__all__ = ["RUNGS", "Budget", "CacheEconomics", "Options", "Settings", "Trigger", "spell_out_settings"]

RUNGS = ("elide", "images", "snapshot", "summarize")
"""The rungs of the ladder, cheapest first."""

Trigger = Literal["target", "manual", "after-turn", "preflight"]
TRIGGERS: tuple[str, ...] = get_args(Trigger)

# Shares of the window: what an answer takes where nothing is known of it, the most that is kept free for it,
# and what an estimate may be wrong by.
_ANSWER, _LONGEST_ANSWER, _MARGIN = 8, 4, 50


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheEconomics:
    """Prices of the prompt cache, and the requests to come, by which pages must pay for the cache they break.

    Attributes:
        turns: requests that are still to come, as far as the caller knows.
        read: price of a cached token, as a share of the input price.
        write: price of writing a token into the cache, as a share of the input price.
    """

    turns: int
    read: float = 0.1
    write: float = 1.25


class Settings(TypedDict, total=False):
    """The settings that `compact` and `recover` take by name; see `Options` for what each means."""

    window: int
    max_output: int
    like: str
    target: float
    threshold: float | None
    least_gain: float
    tail: float
    rungs: Sequence[str]
    pins: Collection[int]
    protect: Collection[str]
    focus: str
    keep_fields: Sequence[str]
    summarize: Summarize | None
    digest: bool | None
    layout: str | None
    reasoning: bool
    redact: bool | Redactor
    overhead: int | None
    limits: Mapping[str, int]
    cache: CacheEconomics | None
    cache_marks: bool
    ledger_tools: Sequence[str | PathLike[str]]
    threads: int | None
    progress: Callable[[int, int], None] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Settings of a compaction.

    Attributes:
        window: tokens of the model's context window; 0: what the layout file knows.
        max_output: tokens that the answer may take; 0: what the layout file knows, or an eighth of the
            window.
        like: id of the model that stands behind a name that says nothing, as deployments at Azure have; its
            window, billing and layout count, and the gateway that the name has.
        target: what to come down to: a share of the safe input up to 1, or tokens.
        threshold: from where on something is done at all: a share of the safe input up to 1, or tokens; None
            is the target. A conversation that has pages already is compacted again only when a tenth of the
            window is new, or the request is no longer safe.
        least_gain: share of the request that a compaction must free, unless the request is not safe as it is.
        tail: share of the target that stays word for word at the end, at least; seven tenths of it are the
            least share of what is sent. Only what is unsafe shortens it.
        rungs: the rungs to use, of `RUNGS`.
        pins: numbers of messages (from 0) that stay word for word.
        protect: names of tools whose results are never elided.
        focus: what the compaction should keep in view, for summaries and the reading guide.
        keep_fields: names of fields of tool results that must survive.
        summarize: makes a summary; `snapshot.summarizers` has some, which know their model's limits. A
            function of one's own is taken to have those of `model`, unless it is a
            `snapshot.summarizers.Summarizer`.
        digest: whether the offline digest may stand where only a summary would do and none can be made; None:
            as the last resort of `recover`, and not of `compact`.
        layout: name of a layout in place of the model's own; also insists on pages for an unknown reader.
        reasoning: print what the model thought on the pages.
        redact: replace credentials before anything is archived or rendered; or a redactor of one's own.
        overhead: tokens of tool definitions and the like; None: what the tools in the body take, or, where a
            list alone is given, what the provider reported beyond the messages.
        limits: limits in place of the layout file's, by name.
        cache: economics of the prompt cache, if they are to count.
        cache_marks: whether requests to Anthropic mark the last page that will stay as it is for the prompt
            cache, if the provider's number of marks has room beside the caller's own. Without the mark the
            pages are paid again after each compaction. Where no body shows what stands beside the messages,
            two marks are left to tools and system text.
        ledger_tools: files that say what tools of one's own harness mean, see `snapshot.ledger.tools`.
        threads: pages made at once.
        progress: called with the pages that are drawn and their total; what it raises ends the compaction.

    Raises:
        SnapshotError: a value that none of them can have; the message names it and says what it must be.
    """

    window: int = 0
    max_output: int = 0
    like: str = ""
    target: float = 0.5
    threshold: float | None = None
    least_gain: float = 0.05
    tail: float = 0.3
    rungs: tuple[str, ...] = RUNGS
    pins: frozenset[int] = frozenset()
    protect: frozenset[str] = frozenset()
    focus: str = ""
    keep_fields: tuple[str, ...] = ()
    summarize: Summarize | None = None
    digest: bool | None = None
    layout: str | None = None
    reasoning: bool = False
    redact: bool | Redactor = True
    overhead: int | None = None
    limits: Mapping[str, int] = field(default_factory=dict[str, int])
    cache: CacheEconomics | None = None
    cache_marks: bool = True
    ledger_tools: tuple[str | PathLike[str], ...] = ()
    threads: int | None = None
    progress: Callable[[int, int], None] | None = None

    def __post_init__(self) -> None:
        for name in ("rungs", "keep_fields", "ledger_tools"):
            object.__setattr__(self, name, tuple(_several(name, getattr(self, name))))
        for name in ("pins", "protect"):
            object.__setattr__(self, name, frozenset(_several(name, getattr(self, name))))
        self._check_figures()
        for rung in self.rungs:
            if rung not in RUNGS:
                raise SnapshotError(
                    f"unknown rung {rung!r}{_near(rung, RUNGS)}: there are {', '.join(RUNGS)}"
                )
        for name in ("summarize", "progress"):
            value = getattr(self, name)
            if value is not None and not callable(value):
                raise SnapshotError(f"{name} is {value!r}, it must be a function or None")
        if self.digest not in (True, False, None):
            raise SnapshotError(f"digest is {self.digest!r}, it must be True, False or None")
        if self.cache_marks not in (True, False):
            raise SnapshotError(f"cache_marks is {self.cache_marks!r}, it must be True or False")
        redact = cast(Any, self.redact)
        if not isinstance(redact, bool | Redactor):
            raise SnapshotError(f"redact is {redact!r}, it must be True, False or a Redactor")
        for name in ("focus", "like"):
            if not isinstance(value := getattr(self, name), str):
                raise SnapshotError(f"{name} is {value!r}, it must be text")
        self._check_limits()

    def _check_figures(self) -> None:
        for name in ("window", "max_output"):
            _whole(name, getattr(self, name))
        for name in ("overhead", "threads"):
            if getattr(self, name) is not None:
                _whole(name, getattr(self, name))
        _amount("target", self.target)
        if self.threshold is not None:
            _amount("threshold", self.threshold)
        for name in ("tail", "least_gain"):
            _share(name, getattr(self, name))
        for pin in self.pins:
            _whole("a pin", pin)

    def _check_limits(self) -> None:
        from snapshot.models.catalog import LIMITS

        for name, value in self.limits.items():
            if name not in LIMITS:
                raise SnapshotError(
                    f"unknown limit {name!r}{_near(name, LIMITS)}: there are {', '.join(LIMITS)}"
                )
            _whole(f"limit {name}", value)

    def changed(self, settings: Mapping[str, Any]) -> Options:
        """The options with settings by name in place of their own.

        Raises:
            SnapshotError: a name that is no setting, or a value that it cannot have.
        """
        if not settings:
            return self
        known = [item.name for item in fields(self)]
        for name in settings:
            if name not in known:
                raise SnapshotError(
                    f"unknown setting {name!r}{_near(name, known)}: there are {', '.join(known)}"
                )
        return Options(**{**{name: getattr(self, name) for name in known}, **settings})


_F = TypeVar("_F", bound=Callable[..., object])


def spell_out_settings(function: _F) -> _F:
    """Make `help` and `inspect.signature` show each setting of a function that takes `Settings` by name."""
    shown = signature(function)
    given = [one for one in shown.parameters.values() if one.kind is not Parameter.VAR_KEYWORD]
    # As they are written, like the other annotations of a module that does not evaluate its own.
    types = {name: getattr(hint, "__forward_arg__", hint) for name, hint in Settings.__annotations__.items()}
    for item in fields(Options):
        default = item.default if item.default_factory is MISSING else item.default_factory()
        kind = Parameter.KEYWORD_ONLY
        given.append(Parameter(item.name, kind, default=default, annotation=types[item.name]))
    function.__dict__["__signature__"] = shown.replace(parameters=given)
    return function


def checked_trigger(trigger: str) -> None:
    """Raise where `trigger` is none of `Trigger`."""
    if trigger not in TRIGGERS:
        near = _near(trigger, TRIGGERS)
        raise SnapshotError(f"unknown trigger {trigger!r}{near}: there are {', '.join(TRIGGERS)}")


def _near(name: object, known: Collection[str]) -> str:
    near = get_close_matches(str(name), known, n=1)
    return f" (did you mean {near[0]}?)" if near else ""


def _whole(name: str, value: object) -> None:
    if type(value) is not int or value < 0:
        raise SnapshotError(f"{name} is {value!r}, it must be a whole number from 0 on")


def _amount(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
        raise SnapshotError(f"{name} is {value!r}, it must be a share up to 1 or a number of tokens")


def _share(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1:
        raise SnapshotError(f"{name} is {value!r}, it must be a share from 0 to below 1")


def _several(name: str, value: object) -> Collection[Any]:
    if isinstance(value, str) or not isinstance(value, Collection):
        raise SnapshotError(f"{name} is {value!r}, it must be a list")
    return cast("Collection[Any]", value)


@dataclass(frozen=True, slots=True)
class Budget:
    """Tokens that a request may have.

    Attributes:
        window: the model's context window.
        safe: what the input may take, so that the answer and a margin of error fit as well.
        goal: what to come down to.
        threshold: from where on something is done.
        tail: what stays word for word at the end, at least.
    """

    window: int
    safe: int
    goal: int
    threshold: int
    tail: int

    @classmethod
    def of(cls, options: Options, window: int, max_output: int) -> Budget:
        """All from the window: the answer takes up to a quarter, errors of estimate a fiftieth of it."""
        answer = min(max_output or window // _ANSWER, window // _LONGEST_ANSWER)
        safe = max(1, window - answer - window // _MARGIN)
        goal = _tokens(options.target, safe)
        threshold = goal if options.threshold is None else max(goal, _tokens(options.threshold, safe))
        return cls(window, safe, goal, threshold, int(options.tail * goal))


def _tokens(amount: float, safe: int) -> int:
    return int(amount * safe) if amount <= 1 else min(int(amount), safe)
