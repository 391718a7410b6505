"""Plans: lists of steps that are written whole, or changed step by step."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from snapshot.ledger.lines import one_line
from snapshot.ledger.state import PlanStep
from snapshot.ledger.tools import Tool, ToolTable

__all__ = ["Plan", "PlanAct", "Plans"]

_TEXT = 240
_WORD = 40
_ID = 40
_MOST = 2000  # steps of a plan that are kept
_SET: Mapping[str, str] = {
    "start-step": "in progress",
    "finish-step": "done",
    "drop-step": "dropped",
    "block-step": "blocked",
    "open-step": "open",
}


@dataclass(slots=True)
class PlanAct:
    """A call that changes a plan, in the order of calls; `done` is None until its result is there."""

    means: str
    tool: Tool
    arguments: Mapping[str, Any]
    number: int
    done: bool | None = None
    id: str = ""


@dataclass(slots=True)
class _Step:
    text: str
    state: str
    number: int
    id: str = ""
    group: str = ""

    def copy(self) -> _Step:
        return _Step(self.text, self.state, self.number, self.id, self.group)


@dataclass(slots=True)
class Plan:
    """The steps of one plan, in order."""

    steps: list[_Step] = field(default_factory=list[_Step])
    by_id: dict[str, _Step] = field(default_factory=dict[str, _Step])
    by_text: dict[str, _Step] = field(default_factory=dict[str, _Step])

    def copy(self) -> Plan:
        """A plan that can be changed on its own."""
        made = Plan()
        for step in self.steps:
            made.add(step.copy())
        return made

    def add(self, step: _Step) -> None:
        """One more step at the end."""
        if len(self.steps) >= _MOST:
            return
        self.steps.append(step)
        if step.id:
            self.by_id[step.id] = step
        self.by_text.setdefault(step.text, step)

    def remove(self, gone: Sequence[_Step]) -> None:
        """The plan without some of its steps."""
        marked = {id(step) for step in gone}
        kept = [step for step in self.steps if id(step) not in marked]
        self.steps, self.by_id, self.by_text = [], {}, {}
        for step in kept:
            self.add(step)


class Plans:
    """Every plan of a conversation; the one that was touched last is the newest."""

    def __init__(self, table: ToolTable) -> None:
        self._table = table
        self._plans: dict[str, Plan] = {}
        self._newest = ""
        self._waiting: deque[PlanAct] = deque()

    def call(self, act: PlanAct) -> None:
        """A call that changes a plan. It counts once its result is there, in the order of the calls."""
        self._waiting.append(act)

    def settle(self, *, all_of_them: bool = False) -> None:
        """Apply the calls at the front that have results, or `all_of_them`, those without as well."""
        while self._waiting and (all_of_them or self._waiting[0].done is not None):
            act = self._waiting.popleft()
            if act.done is not False:
                self._newest = _family(act)
                _apply(self._plans.setdefault(self._newest, Plan()), act, self._table)

    def steps(self) -> tuple[PlanStep, ...]:
        """The steps of the newest plan, calls that still wait for results included."""
        newest, plans = self._newest, dict(self._plans)
        copied: set[str] = set()
        for act in self._waiting:
            if act.done is not False:
                newest = _family(act)
                if newest not in copied:
                    plans[newest] = plans.get(newest, Plan()).copy()
                    copied.add(newest)
                _apply(plans[newest], act, self._table)
        return tuple(
            PlanStep(step.text, step.state, step.number, step.id) for step in plans.get(newest, Plan()).steps
        )


def _family(act: PlanAct) -> str:
    """Calls that change the same plan: those of a harness that write lists, or those that change steps."""
    listed = act.means == "plan" and not act.tool.operation
    return f"{act.tool.harness} {'list' if listed else 'steps'}"


def _keys(tool: Tool, table: ToolTable, key: str) -> tuple[str, ...]:
    return tool.keys.get(key, table.keys.get(key, ()))


def _word(arguments: Mapping[str, Any], keys: Sequence[str]) -> str:
    for key in keys:
        value = arguments.get(key)
        if isinstance(value, str) and value.strip():
            return value
        if type(value) is int:
            return str(value)
    return ""


def _state(value: str, table: ToolTable) -> str:
    word = value.strip().casefold()
    return table.states.get(word) or one_line(word, _WORD) or "open"


def _apply(plan: Plan, act: PlanAct, table: ToolTable) -> None:
    tool, arguments = act.tool, act.arguments
    means = act.means
    if means in ("plan", "append-steps"):
        items = _items(arguments, tool, table)
        if items is None:
            return
        if means == "plan":
            plan.remove(plan.steps)
        group = _word(arguments, _keys(tool, table, "group"))
        for item in items:
            _listed(plan, item, act, table, group)
    elif means == "add-step":
        text = _word(arguments, _keys(tool, table, "text"))
        if text:
            state = _state(_word(arguments, _keys(tool, table, "state")), table)
            plan.add(_Step(one_line(text, _TEXT), state, act.number, act.id))
    elif means == "change-step":
        _change(plan, act, table)
    else:
        chosen = _chosen(plan, arguments, tool, table)
        if means == "remove-step":
            plan.remove(plan.steps if chosen is None else chosen)
        for step in chosen or () if means in _SET else ():
            step.state, step.number = _SET[means], act.number
    if tool.promotes:
        _promote(plan, act.number)


def _items(arguments: Mapping[str, Any], tool: Tool, table: ToolTable) -> list[Any] | None:
    for key in _keys(tool, table, "items"):
        value = arguments.get(key)
        if isinstance(value, list):
            return cast("list[Any]", value)
    return None


def _listed(plan: Plan, item: Any, act: PlanAct, table: ToolTable, group: str) -> None:
    """An item of a whole list: a text, an object with text and state, or a phase with items of its own."""
    tool = act.tool
    if isinstance(item, str):
        if item.strip():
            plan.add(_Step(one_line(item, _TEXT), "open", act.number, group=group))
        return
    if not isinstance(item, dict):
        return
    row = cast("dict[str, Any]", item)
    inner = row.get("items")
    if isinstance(inner, list):
        phase = _word(row, ("phase", "name", "title"))
        for other in cast("list[Any]", inner):
            if isinstance(other, str):
                _listed(plan, other, act, table, phase)
        return
    text = _word(row, _keys(tool, table, "text"))
    if text:
        state = _word(row, _keys(tool, table, "state"))
        if not state and True in (row.get("completed"), row.get("done")):
            state = "done"
        plan.add(_Step(one_line(text, _TEXT), _state(state, table), act.number, group=group))


def _change(plan: Plan, act: PlanAct, table: ToolTable) -> None:
    """One step by its id: its state, its text, or both; a step that was never seen is made."""
    tool, arguments = act.tool, act.arguments
    id_ = one_line(_word(arguments, _keys(tool, table, "step")).lstrip("#"), _ID)
    text = _word(arguments, _keys(tool, table, "text"))
    given = _word(arguments, _keys(tool, table, "state"))
    step = plan.by_id.get(id_)
    if not id_ or not (text or given):
        return
    state = _state(given, table) if given else ""
    if step is None:
        step = _Step("(its text was not seen)", "open", act.number, id_)
        plan.add(step)
    if given and state == "dropped":
        plan.remove([step])
        return
    if text:
        step.text = one_line(text, _TEXT)
    if state:
        step.state = state
    step.number = act.number


def _chosen(plan: Plan, arguments: Mapping[str, Any], tool: Tool, table: ToolTable) -> list[_Step] | None:
    """The steps that a call names by their text or by their phase; None if it names none."""
    text = _word(arguments, _keys(tool, table, "step"))
    group = _word(arguments, _keys(tool, table, "group"))
    if text:
        line = one_line(text, _TEXT)
        found = plan.by_text.get(line) or plan.by_id.get(line)
        return [found] if found else []
    if group:
        return [step for step in plan.steps if step.group == group]
    return None


def _promote(plan: Plan, number: int) -> None:
    """Keep one step in progress: the first that is, else the first open one."""
    busy = [step for step in plan.steps if step.state == "in progress"]
    for step in busy[1:]:
        step.state, step.number = "open", number
    if not busy:
        first = next((step for step in plan.steps if step.state == "open"), None)
        if first:
            first.state, first.number = "in progress", number
