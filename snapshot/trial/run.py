"""Carrying out a trial: call by call, within its budget, and from where it was stopped.

Nothing is sent before it is certain that it can be paid: what was spent, what lost calls may have cost, and
the most that the next one may cost together stay within the budget.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

from snapshot._files import exclusive, write_atomic
from snapshot.errors import SnapshotError
from snapshot.trial.journal import Journal, Record
from snapshot.trial.plan import FIRST_PAGES, Call, Plan
from snapshot.trial.scoring import recall_of
from snapshot.trial.sending import NotSent, Prompt, Reply, Sender, Unknown

__all__ = ["HOPELESS", "Progress", "opened", "run", "stored_plan"]

HOPELESS = 0.6
"""Recall of exact strings on the first pages below which an arm is given up."""
_ATTEMPTS = 5
_FIRST_WAIT, _LONGEST_WAIT = 2.0, 60.0
_MARGIN = Decimal("1.05")


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a trial is.

    Attributes:
        ended: "done", or "budget" where the next call might not be paid for.
        made: calls answered. planned: all calls, without those of arms that were given up.
        dropped: letters of arms that were given up. lost: calls that nobody knows the answer of.
        spent: USD, with the most that lost calls may have cost.
        needs: USD that the next call may cost, where the budget has no room for it.
    """

    ended: Literal["done", "budget"]
    made: int
    planned: int
    dropped: tuple[str, ...]
    lost: int
    spent: Decimal
    needs: Decimal = Decimal()


def run(
    plan: Plan,
    sender: Sender,
    folder: Path,
    *,
    budget: Decimal,
    sleep: Callable[[float], None] = time.sleep,
    seen: Callable[[Call, Record], None] | None = None,
) -> Progress:
    """Make the calls of a plan that its folder has no answer to, in order.

    Args:
        plan: what to ask.
        sender: what carries the calls.
        folder: where the trial is kept; made if it is not there.
        budget: USD that all calls of the folder may cost together, earlier runs included.
        sleep: waits so many seconds.
        seen: is told of each answer.

    Raises:
        SnapshotError: the folder holds another trial or is in use, or the provider wants no such calls.
    """
    with opened(plan, folder) as journal:
        drawn = _Drawn(plan, folder)
        runner = _Runner(plan, sender, journal, drawn, budget=budget, sleep=sleep)
        for call in plan.calls():
            if call.arm in runner.dropped() and not _is_first(plan, call):
                continue
            if drawn.id(call) in journal.answers:
                continue
            needs = runner.make(call)
            if needs is not None:
                return runner.progress("budget", needs)
            if seen is not None:
                seen(call, journal.answers[drawn.id(call)])
        return runner.progress("done")


def _is_first(plan: Plan, call: Call) -> bool:
    return call.what == "text" or (call.arm in plan.first and call.page <= FIRST_PAGES)


class _Drawn:
    """The pages of a plan, drawn once and kept in its folder, and the ids of calls with them."""

    def __init__(self, plan: Plan, folder: Path) -> None:
        self._plan, self._folder = plan, folder
        self._known: dict[tuple[str, int], tuple[bytes, ...]] = {}
        (folder / "pages").mkdir(exist_ok=True)

    def pages(self, call: Call) -> tuple[bytes, ...]:
        if call.what == "text":
            return ()
        place = call.arm, call.page
        if place not in self._known:
            drawn = self._plan.arms[call.arm].pages(self._plan.text(call.page).source)
            self._known[place] = tuple(page.png for page in drawn)
            for number, data in enumerate(self._known[place], 1):
                write_atomic(self._folder / "pages", f"{call.arm}{call.page}-{number}.png", data)
        return self._known[place]

    def id(self, call: Call) -> str:
        """The hash of pages, prompt, arm and seed."""
        plan = self._plan
        digest = sha256(f"{plan.model}\n{plan.seed}\n{call.id}\n{plan.longest(call)}\n".encode())
        digest.update(plan.prompt(call).encode())
        for page in self.pages(call):
            digest.update(sha256(page).digest())
        return f"{call.id}-{digest.hexdigest()[:16]}"


class _Runner:
    def __init__(
        self, plan: Plan, sender: Sender, journal: Journal, drawn: _Drawn, *, budget: Decimal, sleep: Any
    ) -> None:
        self._plan, self._sender, self._journal = plan, sender, journal
        self._drawn, self._budget, self._sleep = drawn, budget, sleep

    def dropped(self) -> frozenset[str]:
        """Letters of arms that are hopeless by their first pages."""
        answers = list(self._journal.answers.values())
        found: set[str] = set()
        for letter in self._plan.arms:
            records = [one for one in answers if one.arm == letter and one.what == "questions"]
            first = [one for one in records if one.page <= FIRST_PAGES]
            if len(first) == FIRST_PAGES and recall_of(self._plan.texts, first) < HOPELESS:
                found.add(letter)
        return frozenset(found)

    def progress(self, ended: Literal["done", "budget"], needs: Decimal = Decimal()) -> Progress:
        dropped = self.dropped()
        answered = {(one.arm, one.page, one.what) for one in self._journal.answers.values()}
        made = left = 0
        for call in self._plan.calls():
            if (call.arm, call.page, call.what) in answered:
                made += 1
            else:
                left += call.arm not in dropped or _is_first(self._plan, call)
        return Progress(
            ended, made, made + left, tuple(sorted(dropped)), self._journal.lost,
            self._journal.spent, needs,
        )  # fmt: skip

    def _factor(self, call: Call) -> Decimal:
        """What predicted input tokens are multiplied by to be on the safe side: by bills, once there are any
        of the arm."""
        bills = [
            Decimal(one.input) / one.predicted
            for one in self._journal.answers.values()
            if one.arm == call.arm and one.what != "text" and one.input
        ]
        return max(Decimal(1), *bills) * _MARGIN if bills else Decimal("1.5")

    def make(self, call: Call) -> Decimal | None:
        """Make a call; USD that it may cost where the budget has no room for it."""
        plan, journal = self._plan, self._journal
        prompt = Prompt(
            plan.model, self._drawn.pages(call), plan.prompt(call), plan.longest(call),
            plan.reader.detail, plan.reasoning,
        )  # fmt: skip
        wait = _FIRST_WAIT
        for number in range(1, _ATTEMPTS + 1):
            most = plan.most(call, self._factor(call))
            if journal.spent + most > self._budget:
                return most
            attempt = journal.sent(self._drawn.id(call), most)
            try:
                reply = self._sender(prompt)
            except NotSent as error:
                journal.not_sent(attempt, str(error))
                if not error.again or number == _ATTEMPTS:
                    raise
                self._sleep(min(_LONGEST_WAIT, wait if error.wait is None else max(0.0, error.wait)))
            except Unknown:
                # It may have been billed, so its price stays held; the next attempt needs room beside it.
                if number == _ATTEMPTS:
                    raise
                self._sleep(wait)
            else:
                journal.answered(attempt, self._record(call, reply))
                return None
            wait *= 2
        raise AssertionError("each attempt ends in an answer or an error")

    def _record(self, call: Call, reply: Reply) -> Record:
        plan, predicted = self._plan, self._plan.tokens(call)
        # What an API does not say is taken for the most that it can be.
        read = int(predicted * self._factor(call)) if reply.input is None else reply.input
        written = plan.longest(call) if reply.output is None else reply.output
        return Record(
            call=self._drawn.id(call), arm=call.arm, page=call.page, what=call.what, stop=reply.stop,
            text=reply.text, input=reply.input, output=reply.output, predicted=predicted,
            image_tokens=plan.image_tokens(call), usd=plan.usd(read, written), id=reply.id,
        )  # fmt: skip


# --- the folder


@contextmanager
def opened(plan: Plan, folder: Path) -> Generator[Journal, None, None]:
    """The journal of a trial's folder, held against other processes; plan and key are kept beside it.

    Raises:
        SnapshotError: the folder holds another trial, is in use, or cannot be written to.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with exclusive(folder):
            begun = {**plan.described(), "begun": datetime.now(UTC).date().isoformat()}
            data = json.dumps(begun, indent=1).encode() + b"\n"
            known = folder / "plan.json"
            if known.exists():
                _check_same(folder, stored_plan(folder), plan.described())
            elif any(not item.name.startswith(".") for item in folder.iterdir()):
                raise SnapshotError(f"{folder}: is not empty and holds no trial; name another folder")
            else:
                write_atomic(folder, "plan.json", data)
            write_atomic(folder, "key.json", plan.sealed())
            yield Journal(folder)
    except BlockingIOError:
        raise SnapshotError(f"{folder}: another process runs this trial") from None
    except OSError as error:
        raise SnapshotError(f"{folder}: cannot be written to ({error.strerror})") from error


def _check_same(folder: Path, stored: Mapping[str, Any], own: Mapping[str, Any]) -> None:
    # A first stage may be followed by all of it.
    free = {"stage", "version"}
    other = [name for name, value in own.items() if name not in free and stored.get(name) != value]
    if other:
        raise SnapshotError(
            f"{folder}: holds a trial with another {', '.join(other).replace('_sha256', '')}; "
            "name another folder, or give the options that it was begun with"
        )


def stored_plan(folder: Path) -> dict[str, Any]:
    """What a folder's plan says.

    Raises:
        SnapshotError: there is none, or it cannot be read.
    """
    try:
        found = json.loads((folder / "plan.json").read_bytes())
    except OSError as error:
        raise SnapshotError(f"{folder}: holds no trial ({error.strerror})") from error
    except (ValueError, RecursionError) as error:
        raise SnapshotError(f"{folder}/plan.json: not a plan ({error})") from error
    if not isinstance(found, dict) or found.get("schema") != "snapshot-pages/trial/1":  # pyright: ignore
        raise SnapshotError(f"{folder}/plan.json: not a plan of this version")
    return found  # pyright: ignore[reportUnknownVariableType]
