"""What is to be done with a request: nothing, or a compaction that goes on from the conversation's last one.

It is called in threads, never in the event loop. A request that is small in bytes, of a conversation that was
never compacted, is not even read to the end.
"""

from __future__ import annotations

import logging
import time
from collections import OrderedDict
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property, lru_cache
from threading import Lock
from typing import Any

from snapshot import (
    Archive,
    CannotFit,
    Compaction,
    LayoutError,
    ModelProfile,
    Options,
    Redactor,
    SnapshotError,
    Text,
    Transcript,
    classify_error,
    compact,
    recover,
)
from snapshot.compaction.chain import chain_of
from snapshot.compaction.estimate import Estimator
from snapshot.compaction.options import Budget
from snapshot.models.ids import profile_for
from snapshot.models.tokens import text_tokens
from snapshot.proxy.apis import Call
from snapshot.proxy.identity import root_of, session_of
from snapshot.proxy.settings import ProxySettings
from snapshot.proxy.store import Kept, Store

__all__ = ["Compactor", "Decision"]

_LOG = logging.getLogger("snapshot.proxy")

# The densest text there is has about so many bytes to a token: below, a request needs no closer look. What
# should be denser all the same, the provider refuses.
_BYTES_A_TOKEN = 2
# Statuses that say something of the request's size. An error of the server says nothing of it, but for some
# local ones.
REFUSALS = frozenset({400, 413, 422, 429, 500})
# A refusal that names no figures.
_TOO_LONG = {"status": 400, "body": {"error": {"code": "context_length_exceeded", "message": "too long"}}}
_TITLE = 80
_COUNT_EVERY = 1.0  # seconds


@dataclass(frozen=True)
class Decision:
    """What goes to the provider, and what is needed should it refuse.

    Attributes:
        call: the request.
        host: of the provider.
        body: what to send in place of the body that came; None: that.
        done: the compaction behind `body`, None where there is none.
        note: for the client's header, "" for none.
        close: whether the request fills more than half of the window, as far as is known.
    """

    call: Call
    host: str
    body: bytes | None = None
    done: Compaction | None = None
    note: str = ""
    close: bool = True
    kept: Kept | None = None

    @cached_property
    def transcript(self) -> Transcript:
        """The conversation, as the client has it."""
        return self.call.transcript()

    @cached_property
    def chain(self) -> list[str]:
        """The keys of its messages."""
        return chain_of(self.transcript.messages)

    @cached_property
    def root(self) -> str:
        """The key of its beginning."""
        return root_of(self.call)


class Compactor:
    """Decides for all requests of a process.

    Args:
        settings: of the proxy.
        store: where archives are kept.
    """

    def __init__(self, settings: ProxySettings, store: Store) -> None:
        self._settings, self._store = settings, store
        self._figures: dict[tuple[str, str, str, str], dict[str, float]] = {}
        self._lock = Lock()
        self._written = 0.0
        self._beside: OrderedDict[str, int] = OrderedDict()

    # --- before a request goes out

    def quick(self, call: Call, host: str) -> Decision | None:
        """What is clear at first sight: a request that goes on as it came. None: `decide` has to look."""
        decision = Decision(call, host)
        room = self._room(call, host)
        size = call.size // _BYTES_A_TOKEN
        if (room is None or size <= room) and not self._store.knows(decision.root):
            self._count(decision, requests=1)
            return Decision(call, host, close=room is None or 2 * size > room)
        return None

    def decide(self, call: Call, host: str) -> Decision:
        """What goes out in place of a request that may be too large, or that was compacted before."""
        decision = Decision(call, host)
        try:
            kept = self._store.find(decision.root, decision.chain)
            if kept is None and not self._window(call, host):
                return self._counted(decision)
            return self._counted(self._compacted(decision, kept))
        except (SnapshotError, ValueError, RecursionError) as error:
            _LOG.warning("passed on as it came, since it could not be compacted: %s", _line(error))
            return self._counted(Decision(call, host))

    def _compacted(self, plain: Decision, kept: Kept | None) -> Decision:
        call = plain.call
        archive = kept.archive if kept else None

        def made(former: Archive | None) -> Compaction:
            whole = plain.transcript if former is None else _with_middle(plain.transcript, former)
            options = self._options(call, plain.host)
            return compact(whole, model=self._model(call), archive=former, options=options)

        done = made(archive)
        if not done.report.no_op and done.archive is not None:
            stored = self._keep(plain, done.archive, kept)
            if stored is not done.archive:  # another worker has just made it
                done = made(stored)
        elif done.archive is None or archive is None:
            occupied = max(done.report.occupancy, done.report.before)
            return Decision(call, plain.host, close=2 * occupied > done.report.safe)
        return self._sent(plain, done, kept)

    def _keep(self, plain: Decision, archive: Archive, kept: Kept | None, *, again: bool = False) -> Archive:
        self._count(plain, compactions=1)
        _LOG.info("%s: %d messages have become %r", plain.call.model, len(archive.messages), archive)
        return self._store.put(
            plain.root,
            session_of(plain.call, plain.root),
            plain.chain,
            archive,
            origin=kept.origin if kept else "",
            again=again,
        )

    def _sent(self, plain: Decision, done: Compaction, kept: Kept | None) -> Decision:
        report = done.report
        note = f"compacted; tokens={report.after}; pages={report.pages}"
        body = plain.call.rebuilt(done.request(plain.call.api))
        made = Decision(plain.call, plain.host, body=body, done=done, note=note, kept=kept)
        made.__dict__.update(transcript=plain.transcript, chain=plain.chain, root=plain.root)
        return made

    # --- after a refusal

    def is_refusal(self, decision: Decision, status: int, body: Any) -> bool:
        """Whether an answer says that the request is too large, and that less would be taken."""
        window = self._window(decision.call, decision.host) or None
        cause = classify_error({"status": status, "body": body}, window=window)
        return cause.overflow or cause.curable_by_less

    def recovered(self, decision: Decision, status: int, body: Any) -> Decision | None:
        """What to send once more after a refusal; None where nothing smaller can be made."""
        call, host = decision.call, decision.host
        error = {"status": status, "body": body}
        try:
            cause = classify_error(error)
            if cause.kind == "context" and cause.unit == "tokens" and cause.limit:
                known = self._window(call, host)
                if not known or cause.limit < known:
                    self._store.learn(host, call.model, cause.limit)
            if not self._window(call, host):
                return None
            sent = decision.done.transcript if decision.done else decision.transcript
            former = decision.done.archive if decision.done else None
            model, options = self._model(call), self._options(call, host)
            try:
                done = recover(sent, error, model=model, archive=former, options=options)
            except CannotFit:  # by the error's figures, which may be of something else
                if cause.requested is None:
                    raise
                done = recover(sent, _TOO_LONG, model=model, archive=former, options=options)
            if done.report.no_op or done.archive is None:
                return None
            kept = decision.kept
            if kept is None and former is not None:
                kept = self._store.find(decision.root, decision.chain)
            self._keep(decision, done.archive, kept, again=True)
            made = self._sent(decision, done, kept)
        except (SnapshotError, ValueError, RecursionError) as problem:
            _LOG.warning("refused for its size, and could not be made smaller: %s", _line(problem))
            return None
        self._count(decision, refusals=1)
        if decision.done is None:
            self._saved(made)
        return made

    # --- the model

    def _model(self, call: Call) -> str:
        name = self._settings.behind(call.model)
        if name == call.model and "" in self._settings.like and _profile(name) is None:
            return self._settings.like[""]
        return name

    def _window(self, call: Call, host: str) -> int:
        """Tokens of the model's window, 0 where it is not known."""
        profile = _profile(self._model(call))
        known = self._settings.window or max(call.window, profile.window if profile else 0)
        learned = self._store.window(host, call.model)
        return min(known, learned) if known and learned else known or learned

    def _options(self, call: Call, host: str) -> Options:
        return Options(
            window=self._window(call, host),
            max_output=call.max_output,
            target=self._settings.target,
            threshold=self._settings.threshold,
            overhead=self._overhead(call),
            digest=True,
        )

    def _overhead(self, call: Call) -> int:
        """Tokens of what stands beside the messages; the same from call to call, so it is counted once."""
        profile = _profile(self._model(call))
        text = call.beside()
        if not text:
            return 0
        if profile is None:
            return len(text.encode("utf-8", "surrogatepass")) // _BYTES_A_TOKEN
        key = f"{profile.name}\0{text}"
        with self._lock:
            if key in self._beside:
                self._beside.move_to_end(key)
                return self._beside[key]
        tokens = text_tokens(text, profile)
        with self._lock:
            self._beside[key] = tokens
            while len(self._beside) > 64:
                self._beside.popitem(last=False)
        return tokens

    def _room(self, call: Call, host: str) -> int | None:
        """Tokens from which on something is done; None where the model's window is not known."""
        window = self._window(call, host)
        if not window:
            return None
        profile = _profile(self._model(call))
        options = Options(target=self._settings.target, threshold=self._settings.threshold)
        output = call.max_output or (profile.max_output if profile else 0)
        return Budget.of(options, window, output).threshold

    # --- figures

    def _counted(self, decision: Decision) -> Decision:
        self._count(decision, requests=1)
        if decision.done is not None:
            self._saved(decision)
        return decision

    def _saved(self, decision: Decision) -> None:
        """Count what a compacted request saved against the same as text."""
        assert decision.done is not None
        model = self._model(decision.call)
        profile = _profile(model)
        report = decision.done.report
        before = report.before
        if profile is not None:
            overhead = self._overhead(decision.call)
            before = Estimator(profile, overhead=overhead).messages(decision.transcript.messages)
        saved = max(0, before - report.after)
        low, high = _prices(profile, before)
        self._count(
            decision,
            compacted=1,
            before=before,
            after=report.after,
            least_usd=float(saved * low),
            most_usd=float(saved * high),
        )

    def _count(self, decision: Decision, **figures: float) -> None:
        call = decision.call
        if call.route.kind == "count":  # nothing is billed for it
            return
        title = _title(decision) if decision.done is not None else ""
        who = (session_of(call, decision.root), call.api, call.model, title)
        with self._lock:
            counted = self._figures.setdefault(who, {})
            for name, value in figures.items():
                counted[name] = counted.get(name, 0) + value

    def write_figures(self, *, now: bool = False) -> None:
        """Write what was counted since the last time, once a second at most."""
        if not now and time.monotonic() - self._written < _COUNT_EVERY:
            return
        self._written = time.monotonic()
        with self._lock:
            figures, self._figures = self._figures, {}
        try:
            self._store.count(figures)
        except Exception as error:  # figures are not worth a request
            _LOG.warning("figures could not be written: %s", type(error).__name__)


def _with_middle(transcript: Transcript, archive: Archive) -> Transcript:
    """The conversation with the archive's messages in their place: the client may have dropped thoughts."""
    messages = transcript.messages
    if archive.light or archive.boundary > len(messages):
        return transcript
    whole = (*messages[: archive.head], *archive.messages, *messages[archive.boundary :])
    return replace(transcript, messages=whole)


@lru_cache(maxsize=256)
def _profile(model: str) -> ModelProfile | None:
    try:
        return profile_for(model)
    except LayoutError:
        return None


def _prices(profile: ModelProfile | None, prompt: int) -> tuple[Decimal, Decimal]:
    """USD of an input token that is read from the cache, and of a new one; zero where no price is known."""
    if profile is None or profile.price is None:
        return Decimal(0), Decimal(0)
    price = profile.price.at(prompt)
    cached = price.input if price.cache_read is None else price.cache_read
    return cached / 1_000_000, price.input / 1_000_000


def _title(decision: Decision) -> str:
    """The first words of a person in the conversation, without credentials."""
    for message in decision.transcript.messages:
        if message.starts_turn:
            words = " ".join(part.text for part in message.parts if isinstance(part, Text))
            return " ".join(Redactor().text(words[: 40 * _TITLE]).split())[:_TITLE]
    return ""


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:300]
