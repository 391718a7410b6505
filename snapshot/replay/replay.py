"""Plays a recorded run as the requests that it was: each answer of the model is one, with all before it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from decimal import Decimal
from difflib import get_close_matches
from itertools import pairwise
from typing import Any

from snapshot.compaction import Options
from snapshot.compaction.options import Budget
from snapshot.errors import SnapshotError
from snapshot.messages import Transcript
from snapshot.models.ids import profile_for
from snapshot.replay.form import Form, shared_prefix
from snapshot.replay.policies import Drop, Ours, Policy, Stopped, Summary, Text
from snapshot.replay.prompt_cache import PromptCache
from snapshot.replay.recording import Recording

__all__ = ["POLICIES", "Replay", "Request", "checked_policy", "replay"]

POLICIES: Mapping[str, str] = {
    "text": "everything as text, until it overflows",
    "drop": "the oldest messages dropped, the head kept",
    "summary": "a summary in place of the older messages, written by the same model",
    "ours": "pages in place of the older messages",
}

# Share of the safe input from which on compaction pays, where a caller asks before each request.
_NEARLY_FULL = 0.9


@dataclass(frozen=True, slots=True)
class Request:
    """One request of a replay.

    Attributes:
        message: number of the message that answers it, from 0; of a call for a summary, of the message that
            waits for it.
        kind: "answer", or "summary" for a call that makes one.
        prompt: its input tokens.
        read, written, fresh: of these what was read from the cache, written into it, and neither.
        output: tokens of the answer.
        usd: what it costs; None where no price is known.
        compacted: whether it is the first one behind a compaction.
        pages: pages in it.
        expired: whether the cache had expired.
        used: exact strings in the answer that had stood before.
        recalled: of these the ones that stand as text in the request.
    """

    message: int
    kind: str
    prompt: int
    read: int
    written: int
    fresh: int
    output: int
    usd: Decimal | None
    compacted: bool
    pages: int
    expired: bool
    used: int
    recalled: int


@dataclass(frozen=True, slots=True)
class Replay:
    """A run under one policy.

    Attributes:
        policy: name of the policy, of `POLICIES`.
        model: id of the model.
        window: its context window in tokens.
        safe: tokens that an input may take.
        requests: every request in order.
        stopped: number of the message that no request could be made for, None where the run went through.
        reason: why not, "" where it went through.
    """

    policy: str
    model: str
    window: int
    safe: int
    requests: tuple[Request, ...]
    stopped: int | None = None
    reason: str = ""

    @property
    def compactions(self) -> int:
        """How often the conversation was made smaller."""
        return sum(item.compacted for item in self.requests)

    @property
    def read(self) -> int:
        """Input tokens read from the cache."""
        return sum(item.read for item in self.requests)

    @property
    def written(self) -> int:
        """Input tokens written into the cache at a price of their own."""
        return sum(item.written for item in self.requests)

    @property
    def fresh(self) -> int:
        """Input tokens at the plain price."""
        return sum(item.fresh for item in self.requests)

    @property
    def output(self) -> int:
        """Output tokens."""
        return sum(item.output for item in self.requests)

    @property
    def usd(self) -> Decimal | None:
        """What all requests cost; None where no price is known."""
        total = Decimal(0)
        for item in self.requests:
            if item.usd is None:
                return None
            total += item.usd
        return total

    @property
    def peak(self) -> int:
        """Input tokens of the largest request."""
        return max((item.prompt for item in self.requests), default=0)

    @property
    def recall(self) -> float | None:
        """Continuation recall: of the exact strings that answers use and that had stood before, the share
        that was text in the request; None where none was used."""
        used = sum(item.used for item in self.requests)
        return sum(item.recalled for item in self.requests) / used if used else None

    @property
    def recall_after(self) -> float | None:
        """The same for the requests behind the first compaction only: before it all is text."""
        first = next((i for i, item in enumerate(self.requests) if item.compacted), len(self.requests))
        used = sum(item.used for item in self.requests[first:])
        return sum(item.recalled for item in self.requests[first:]) / used if used else None

    def as_json(self, *, requests: bool = True) -> dict[str, Any]:
        """The replay as a JSON object; USD as numbers."""
        usd = self.usd
        found: dict[str, Any] = {
            "policy": self.policy,
            "model": self.model,
            "window": self.window,
            "safe": self.safe,
            "answers": sum(item.kind == "answer" for item in self.requests),
            "compactions": self.compactions,
            "fresh": self.fresh,
            "written": self.written,
            "read": self.read,
            "output": self.output,
            "usd": None if usd is None else float(usd),
            "peak": self.peak,
            "recall": self.recall,
            "recall_after": self.recall_after,
            "stopped": self.stopped,
            "reason": self.reason,
        }
        if requests:
            found["requests"] = [
                asdict(one) | {"usd": None if one.usd is None else float(one.usd)} for one in self.requests
            ]
        return found


def checked_policy(name: str) -> str:
    """The name itself.

    Raises:
        SnapshotError: there is no such policy.
    """
    if name not in POLICIES:
        near = get_close_matches(name, POLICIES, n=1)
        hint = f" (did you mean {near[0]}?)" if near else ""
        raise SnapshotError(f"unknown policy {name!r}{hint}: there are {', '.join(POLICIES)}")
    return name


def replay(
    run: Transcript | Recording,
    *,
    model: str = "",
    policy: str = "ours",
    window: int = 0,
    overhead: int | None = None,
    summary_tokens: int = 2000,
    options: Options | None = None,
) -> Replay:
    """Play a run under a policy.

    Each message of the assistant is the answer to one request, with all before it. A request reads from the
    prompt cache the longest prefix that it shares with the one before, unless that has expired, and writes
    the rest. Where messages have no time the cache is taken to have lasted.

    Args:
        run: the run; a `Recording` of it saves the measuring where it is played several times.
        model: id of the model to play it with; a recording has its own.
        policy: a name of `POLICIES`.
        window: tokens of the context window; 0: the model's own.
        overhead: tokens of what is sent beside the messages, see `Recording.of`; a recording has its own.
        summary_tokens: tokens of a summary.
        options: settings of a compaction; target, threshold and tail hold for every policy that has them.

    Returns:
        One row for each request. A policy that has no way on stops there, and says why.

    Raises:
        LayoutError: nothing is known of the model.
        SnapshotError: there is no such policy, or no window is known.

    Example:
        >>> run = snapshot.load("session.jsonl")
        >>> replay(run, model="claude-opus-4-8", window=60_000, policy="drop").usd
        Decimal('1.234')
    """
    checked_policy(policy)
    recording = run if isinstance(run, Recording) else Recording.of(run, model, overhead=overhead)
    reader = profile_for(recording.model)
    # Nothing is kept or sent, so there is nothing to redact.
    settings = (options or Options()).changed({"redact": False, "overhead": recording.estimator.overhead})
    if settings.digest is None:  # as `recover` would, where compaction alone finds no way
        settings = settings.changed({"digest": True})
    if (
        settings.threshold is None and policy == "ours"
    ):  # as docs/replay.md advises for calls before each request
        settings = settings.changed({"threshold": _NEARLY_FULL})
    window = window or settings.window or reader.window
    if window <= 0:
        raise SnapshotError(f"the window of {recording.model} is not known: say how many tokens it has")
    settings = settings.changed({"window": window})
    budget = Budget.of(settings, window, settings.max_output or reader.max_output)
    rows, stopped = _played(
        recording,
        _policy(policy, recording, settings, budget, summary_tokens),
        PromptCache.of(reader),
        window,
    )
    number, reason = (None, "") if stopped is None else stopped
    return Replay(policy, recording.model, window, budget.safe, tuple(rows), number, reason)


def _policy(name: str, recording: Recording, options: Options, budget: Budget, summary_tokens: int) -> Policy:
    match name:
        case "text":
            return Text(recording, options, budget)
        case "drop":
            return Drop(recording, options, budget)
        case "summary":
            return Summary(recording, options, budget, summary_tokens=summary_tokens)
        case _:
            return Ours(recording, options, budget)


def _played(
    recording: Recording, policy: Policy, cache: PromptCache, window: int
) -> tuple[list[Request], tuple[int, str] | None]:
    """The requests, and where and why the policy stopped."""
    form = Form((("beside", recording.estimator.overhead),), 0)
    rows: list[Request] = []
    last: tuple[Form, int] | None = None
    for number, gap in _gaps(recording):
        tokens = form.tokens + recording.tokens(form.start, number)
        try:
            changed = policy.form(form, number, tokens)
        except Stopped as stop:
            return rows, (number, str(stop))
        if written := policy.own_call():
            # It is asked for with the whole request at hand, so what that shares with the one before is
            # still read from the cache.
            rows.append(
                _request(recording, cache, form, number, gap=gap, last=last, summary=written, window=window)
            )
            gap = 0.0  # noqa: PLW2901 -- the request itself follows at once
        row = _request(recording, cache, changed, number, gap=gap, last=last)
        rows.append(replace(row, compacted=changed is not form))
        form = changed
        last = form, number
    return rows, None


def _request(
    recording: Recording,
    cache: PromptCache,
    form: Form,
    number: int,
    *,
    gap: float,
    last: tuple[Form, int] | None,
    summary: int = 0,
    window: int = 0,
) -> Request:
    """The request that message `number` answers, or the call for a summary before it."""
    prompt = form.tokens + recording.tokens(form.start, number)
    if summary:  # what the window does not hold is not summarized
        prompt = min(prompt, window - summary)
    shared = 0 if last is None else min(prompt, shared_prefix(recording, last[0], last[1], form, number))
    output = summary or recording.output(number)
    billed = cache.billed(prompt, output, shared=shared, gap=gap, writes=not summary)
    used = frozenset[str]() if summary else recording.used[number]
    recalled = sum(recording.stands(item, form.start, number) or form.says(item) for item in used)
    return Request(
        message=number,
        kind="summary" if summary else "answer",
        prompt=prompt,
        read=billed.read,
        written=billed.written,
        fresh=billed.fresh,
        output=output,
        usd=billed.usd,
        compacted=False,
        pages=form.pages,
        expired=gap > cache.lifetime,
        used=len(used),
        recalled=recalled,
    )


def _gaps(recording: Recording) -> Iterator[tuple[int, float]]:
    """Each answer with the seconds since the one before; 0 where they are not known."""
    answers: Sequence[int] = recording.answers
    if answers:
        yield answers[0], 0.0
    for before, number in pairwise(answers):
        earlier, later = recording.seconds[before], recording.seconds[number]
        yield number, 0.0 if earlier is None or later is None else max(0.0, later - earlier)
