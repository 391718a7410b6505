"""The ledger, built message by message: calls find their results, and each says by its rule what it means."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from snapshot.ledger.calls import Act, Call, Waiting, arguments_of, operations
from snapshot.ledger.commands import Line, exit_code, outcomes, parsed, unwrapped
from snapshot.ledger.equipment import Equipment
from snapshot.ledger.failures import Failures
from snapshot.ledger.files import Files, patched
from snapshot.ledger.lines import bad, one_line, telling_line
from snapshot.ledger.plans import PlanAct, Plans
from snapshot.ledger.repository import Git
from snapshot.ledger.running import Running, Started
from snapshot.ledger.shell import command_line
from snapshot.ledger.state import CommandRun, Failure, Handle, Ledger, Question
from snapshot.ledger.tools import MEANINGS, Notice, Program, Tool, ToolTable, tool_table
from snapshot.messages import Message, Opaque, Text, ToolCall, ToolResult

__all__ = ["LedgerBuilder", "ledger_of"]

_NAME = 80
_WHAT = 160
_ID = 120
_LINE = 200
_HEAD = 4000  # characters of a result in which a handle, a folder or a setting is looked for
_OWN = 600  # characters in which the harness says whether something ended
_POLLED = 20_000
_UNKNOWN = Tool("none", exit="hidden")
_SENTENCE = re.compile(r"(?<=[.!?:])\s+|\n")
_CODE = re.compile(r"exit code:? ?(-?\d{1,6})\b")
_QUESTION = ("question", "text", "prompt", "header")
_FILE_MEANS = frozenset(("read", "write", "edit", "move", "delete", "patch"))
_PLAN_MEANS = frozenset(word for word in MEANINGS if word.split("-")[-1] in ("plan", "step", "steps"))


def ledger_of(messages: Sequence[Message], *, harness: str = "", tools: ToolTable | None = None) -> Ledger:
    """The live state at the end of a conversation, drawn from its calls and results by program.

    The same messages always give the same ledger; the time it takes is linear in their size.

    Args:
        messages: the whole conversation, from its first message.
        harness: whose conversation it is ("claude-code", "codex", …, or a transcript format), which decides
            where several harnesses have a tool of one name; "" or an unknown name where that is not known.
        tools: what tools mean; the table of the known harnesses if None.
    """
    builder = LedgerBuilder(harness=harness, tools=tools)
    builder.feed(messages)
    return builder.ledger()


class LedgerBuilder:
    """A ledger that grows with its conversation.

    What is fed in pieces gives the same ledger as what is fed at once; each piece costs by its own size.

    Args:
        harness: as for `ledger_of`.
        tools: as for `ledger_of`.
        plans_only: only find out whether there is a plan.
    """

    def __init__(
        self, *, harness: str = "", tools: ToolTable | None = None, plans_only: bool = False
    ) -> None:
        self._plans_only = plans_only
        self._table = tools or tool_table()
        self._harness = harness
        self._number = 0
        self._rules: dict[str, tuple[Tool, ...]] = {}
        self._waiting = Waiting()
        self._plans = Plans(self._table)
        self._files = Files()
        self._git = Git()
        self._running = Running()
        self._runs: dict[tuple[str, str], CommandRun] = {}
        self._unrun: dict[tuple[str, str], Program] = {}
        self._failures = Failures()
        self._questions: dict[int, tuple[Call, tuple[Question, ...]]] = {}
        self._closing: Question | None = None
        self._equipment = Equipment()

    def feed(self, messages: Iterable[Message]) -> None:
        """Take in the messages that follow those taken in before."""
        for message in messages:
            self._number += 1
            if message.role == "assistant":
                self._plans.settle(all_of_them=True)
                self._closing = None
            for part in message.parts:
                match part:
                    case ToolCall():
                        self._closing = None
                        self._called(part)
                    case ToolResult():
                        self._returned(part)
                    case Text(text, False):
                        self._said(message.role, text)
                    case _:
                        pass

    def has_plan(self) -> bool:
        """Whether there is a plan after all that was fed."""
        return bool(self._plans.steps())

    def ledger(self) -> Ledger:
        """The state after all that was fed."""
        questions = [question for _, asked in self._questions.values() for question in asked]
        if self._closing:
            questions.append(self._closing)
        newest = self._files.newest_change
        runs = [replace(run, stale=newest > run.message) for run in self._runs.values()]
        return Ledger(
            messages=self._number,
            plan=self._plans.steps(),
            handles=self._running.handles(),
            failures=self._failures.newest_first(),
            files=self._files.states(),
            runs=tuple(sorted(runs, key=lambda run: -max(run.message, run.again))),
            questions=tuple(questions),
            repository=self._git.repository(),
            settings=self._equipment.settings(),
            loaded=self._equipment.loaded(),
        )

    # --- calls

    def _called(self, part: ToolCall) -> None:
        arguments = arguments_of(part.arguments)
        tool = self._rule(part.name, arguments)
        call = Call(part.name, part.arguments, tool, self._number)
        acts = operations(tool, arguments)
        if self._plans_only and not any(means in _PLAN_MEANS for means, _ in acts):
            acts = []
        for means, values in acts:
            act = Act(means, values)
            if means == "command":
                where = self._word(values, tool, "where")
                act.line = parsed(
                    command_line(self._value(values, tool, "command")), self._table.commands, where
                )
            elif means in _PLAN_MEANS:
                act.plan = PlanAct(means, tool, values, self._number)
                self._plans.call(act.plan)
            elif means == "question":
                asked = tuple(Question(text, self._number) for text in self._asked(values, tool))
                self._questions[id(call)] = (call, asked)
            call.acts.append(act)
        self._waiting.add(part.id, call)

    def _rule(self, name: str, arguments: Mapping[str, Any]) -> Tool:
        rules = self._rules.get(name)
        if rules is None:
            rules = self._rules[name] = self._table.candidates(name, self._harness)
        for rule in rules:
            if not rule.needs or not arguments or any(key in arguments for key in rule.needs):
                return rule
        return self._table.guess(name, arguments) or _UNKNOWN

    def _value(self, arguments: Mapping[str, Any], tool: Tool, key: str) -> Any:
        """The first argument that there is under one of the names that `key` stands for."""
        for name in tool.keys.get(key, self._table.keys.get(key, ())):
            value = arguments.get(name)
            if value not in (None, "", []):
                return value
        return None

    def _words(self, arguments: Mapping[str, Any], tool: Tool, key: str) -> list[str]:
        value = self._value(arguments, tool, key)
        values: list[Any] = cast("list[Any]", value) if isinstance(value, list) else [value]
        return [str(item) for item in values if isinstance(item, str) or type(item) is int]

    def _word(self, arguments: Mapping[str, Any], tool: Tool, key: str) -> str:
        return next(iter(self._words(arguments, tool, key)), "")

    def _asked(self, arguments: Mapping[str, Any], tool: Tool) -> list[str]:
        value = self._value(arguments, tool, "question")
        values: list[Any] = cast("list[Any]", value) if isinstance(value, list) else [value]
        texts: list[Any] = []
        for item in values:
            row = cast("dict[str, Any]", item) if isinstance(item, dict) else {"text": item}
            texts.append(next((row[key] for key in _QUESTION if isinstance(row.get(key), str)), ""))
        return [one_line(text, _LINE) for text in texts if text.strip()]

    # --- results

    def _returned(self, result: ToolResult) -> None:
        text = "\n".join(part.text for part in result.content if isinstance(part, Text))
        call = self._waiting.take(result.call_id)
        for part in result.content:
            if isinstance(part, Opaque) and part.kind == "tool_reference":
                name = arguments_of(part.json).get("tool_name")
                if isinstance(name, str):
                    self._equipment.load("tool", name, self._number)
        if call is None or (self._plans_only and not call.acts):
            return
        output, code = unwrapped(text, self._table)
        commanded = any(act.line for act in call.acts)
        if code is None and commanded:
            code = exit_code(output, self._table)
        refused = call.tool.took is not None and not call.tool.took.search(output[:_OWN])
        failed = result.is_error or bool(code) or refused
        for act in call.acts:
            self._effect(call, act, output, code, failed)
        self._settle(call, output, code, failed)

    def _effect(  # noqa: PLR0912 -- a branch for each meaning
        self, call: Call, act: Act, text: str, code: int | None, failed: bool
    ) -> None:
        """What a call did, now that its result says whether it did it."""
        if act.plan:
            act.plan.done = not failed
            if match := _first(call.tool.starts, text[:_HEAD]):
                act.plan.id = one_line(match["id"] or "", _ID)
            self._plans.settle()
            return
        match act.means:
            case "command":
                self._ran(call, act, text, code, failed=failed)
            case "agent" if not failed:
                self._started(call, act, text)
            case "poll":
                self._polled(call, act, text)
            case "stop":
                self._stopped(call, act, text, failed)
            case "question" if not failed:
                self._questions.pop(id(call), None)
            case "enter" if not failed:
                self._entered(call, text)
            case "leave" if not failed:
                self._left(call.tool, act.arguments)
            case "skill" if not failed:
                self._skilled(call, act, text)
            case "tools" if not failed and call.tool.query:
                query = act.arguments.get("query")
                if isinstance(query, str) and (match := call.tool.query.search(query)):
                    for name in (match["names"] or "").split(","):
                        self._equipment.load("tool", name, self._number)
            case means if means in _FILE_MEANS and not failed:
                self._touched(call, act, text)
            case _:
                pass

    def _touched(self, call: Call, act: Act, text: str) -> None:
        number = call.number
        if act.means == "patch":
            body = self._value(act.arguments, call.tool, "patch") if act.arguments else call.raw
            self._patched(body if isinstance(body, str) else "", number)
            return
        paths = self._words(act.arguments, call.tool, "path")
        for path in paths:
            match act.means:
                case "read":
                    self._files.read(path, number)
                case "delete":
                    self._files.changed(path, "deleted", number)
                case "move":
                    if new := self._word(act.arguments, call.tool, "to"):
                        self._files.moved(path, new, number)
                case means:
                    made = call.tool.created and call.tool.created.search(text[:_OWN])
                    how = "created" if made else "written" if means == "write" else "edited"
                    self._files.changed(path, how, number)

    def _patched(self, patch: str, number: int) -> None:
        for how, path, old in patched(patch):
            if how == "moved":
                self._files.moved(old, path, number)
            else:
                self._files.changed(path, how, number)

    # --- commands and what runs on

    def _ran(self, call: Call, act: Act, text: str, code: int | None, *, failed: bool) -> None:
        if (line := act.line) is None:
            return
        if not failed and (match := _first(call.tool.starts, self._own(text, _HEAD))):
            self._start(call, match, line.shown, line)
            return
        self._finished(line, text, code, failed, shown=call.tool.exit == "shown")
        number = call.number
        for path in line.early if failed else line.perhaps:
            self._files.perhaps(path, number)
        if failed:
            return
        for path in line.writes:
            self._files.changed(path, "written", number)
        for path in line.edits:
            self._files.changed(path, "edited", number)
        for path in line.reads:
            self._files.read(path, number)
        for path in line.deletes:
            self._files.changed(path, "deleted", number)
        for old, new in line.moves:
            self._files.moved(old, new, number)
        if "*** Begin Patch" in call.raw:
            self._patched(command_line(self._value(act.arguments, call.tool, "command")), number)
        self._running.end(line.kills)
        for path in self._git.seen(line.commands, text, self._number):
            self._files.listed(path, self._number)

    def _finished(self, line: Line, text: str, code: int | None, failed: bool, *, shown: bool) -> None:
        for run, verdict in zip(line.runs, outcomes(line, text, code, failed, shown=shown), strict=True):
            if verdict.outcome == "ok":
                self._failures.resolve((f"$ {run.key}",))
                self._forget_unrun(run.program)
            key = (run.key, run.where)
            if verdict.outcome == "unrun" and key in self._runs and key not in self._unrun:
                continue  # what is known of it is still so
            before = self._runs.pop(key, None)
            if verdict.outcome == "unknown" and before and before.outcome != "unknown":
                # What is known of an earlier run is told on, and that there was a later one.
                self._runs[key] = replace(before, again=self._number)
                continue
            if verdict.outcome == "unrun":
                self._unrun[key] = run.program
            self._runs[key] = CommandRun(
                run.kind,
                run.command,
                verdict.outcome,
                self._number,
                verdict.code,
                verdict.line,
                where=run.where,
            )

    def _forget_unrun(self, program: Program) -> None:
        """What was mistyped tells nothing once the program has run as it should."""
        for key in [key for key, other in self._unrun.items() if other is program]:
            del self._unrun[key]
            if self._runs[key].outcome == "unrun":
                del self._runs[key]

    def _own(self, text: str, most: int) -> str:
        """The harness's own words at the start of a result, up to where the output of a command begins."""
        head = text[:most]
        ends = [at for mark in self._table.outputs if (at := head.find(mark)) >= 0]
        return head[: min(ends)] if ends else head

    def _started(self, call: Call, act: Act, text: str) -> None:
        what = one_line(self._word(act.arguments, call.tool, "what"), _WHAT)
        if not call.tool.starts or (call.tool.operation and act.means == "agent"):
            name = self._word(act.arguments, call.tool, "handle")
            if name:
                self._running.start(Handle(call.tool.kind or "task", one_line(name, _ID), what, self._number))
        elif match := _first(call.tool.starts, text[:_HEAD]):
            self._start(call, match, what)

    def _start(self, call: Call, match: re.Match[str], what: str, line: Line | None = None) -> None:
        output = match.groupdict().get("output") or ""
        if not match["id"]:
            return
        handle = Handle(
            call.tool.kind or "task", one_line(match["id"], _ID), what, self._number, one_line(output, _LINE)
        )
        self._running.start(handle, line)

    def _polled(self, call: Call, act: Act, text: str) -> None:
        named = [one_line(word, _ID) for word in self._words(act.arguments, call.tool, "handle")]
        own = self._own(text, _OWN)
        ended: list[str] = []
        for pattern in call.tool.ended:
            if "id" in pattern.groupindex:
                ended += [match["id"] or "" for match in pattern.finditer(text[:_POLLED])]
            elif pattern.search(own):
                ended += named
        self._ended(ended, text)

    def _stopped(self, call: Call, act: Act, text: str, failed: bool) -> None:
        # What is not there to be stopped does not run either.
        if not failed or _first(call.tool.ended, text[:_HEAD]):
            self._running.end(one_line(word, _ID) for word in self._words(act.arguments, call.tool, "handle"))

    def _ended(self, ids: Iterable[str], text: str) -> None:
        """Things that ran in the background are over; of commands, `text` tells the outcome."""
        for started in self._running.end(ids):
            self._over(started, text)

    def _over(self, started: Started, text: str) -> None:
        if started.line is None:
            return
        code = exit_code(text, self._table)
        if code is None and (match := _CODE.search(text[:_OWN])):
            code = int(match[1])
        self._finished(started.line, text, code, bool(code), shown=code is not None)

    # --- errors

    def _settle(self, call: Call, text: str, code: int | None, failed: bool) -> None:
        """Note a failure, or that what failed before has succeeded now."""
        if not failed:
            self._failures.resolve(self._keys(call, failed=False))
            return
        if any(act.means in ("poll", "stop", "question") for act in call.acts):
            return  # what they ask for is gone, or the user declined
        told = telling_line(text, _LINE)
        lines = [act.line for act in call.acts if act.line]
        for line in lines:
            if not line.acts and line.key:
                return  # it only looked, so there is nothing to resolve
            if line.asks and code == 1 and not bad(told):
                return
            if any(
                (run := self._runs.get((one.key, one.where))) and run.outcome in ("failed", "unrun")
                for one in line.runs
            ):
                return  # it is told among the runs
        name = one_line(call.name, _NAME) or "a tool"
        subject = lines[0].shown if lines else one_line(self._subject(call), _WHAT)
        told = told or (f"exit code {code}" if code else "no output")
        failure = Failure(f"{name} {subject}".rstrip(), told, self._number)
        self._failures.add(failure, self._keys(call, failed=True))

    def _keys(self, call: Call, *, failed: bool) -> tuple[str, ...]:
        """By what the call is known when it is tried again; of one that succeeded, all that it proves."""
        keys: list[str] = []
        for act in call.acts:
            if act.line:
                keys += [
                    f"$ {key}" for key in ([act.line.key or act.line.shown] if failed else act.line.sure)
                ]
            elif act.means in _FILE_MEANS and act.means != "patch":
                keys += [f"@ {path}" for path in self._words(act.arguments, call.tool, "path")]
        return tuple(dict.fromkeys(keys)) or (f"{call.name} {call.raw[:2000]}",)

    def _subject(self, call: Call) -> str:
        for act in call.acts:
            for key in ("path", "what") if act.means in _FILE_MEANS else ("what", "path"):
                if word := self._word(act.arguments, call.tool, key):
                    return word
        return call.raw if call.raw not in ("{}", "null") else ""

    # --- words

    def _said(self, role: str, text: str) -> None:
        if role == "assistant":
            self._closing = None
            if text.rstrip().endswith("?"):
                self._closing = Question(
                    one_line(_SENTENCE.split(text[-1000:].rstrip())[-1], _LINE), self._number
                )
            return
        if role not in ("user", "system"):
            return
        for notice in self._table.notices:
            if notice.has in text:
                for match in notice.pattern.finditer(text):
                    self._noticed(notice, match)
        if role == "user" and text.strip() and not text.lstrip().startswith("<"):
            self._closing = None
            # What a tool asked is open until its result comes; what was turned down, until the user speaks.
            self._questions = {
                key: asked for key, asked in self._questions.items() if self._waiting.holds(asked[0])
            }

    def _noticed(self, notice: Notice, match: re.Match[str]) -> None:
        found = match.groupdict()
        match notice.means:
            case "ended":
                self._ended([one_line(found.get("id") or "", _ID)], found.get("summary") or "")
            case "folder":
                self._equipment.folder(found.get("folder") or "", self._number)
            case "enter":
                self._equipment.enter(notice.setting, found.get("value") or notice.value, self._number)
            case _:
                self._equipment.leave(notice.setting)

    # --- settings and skills

    def _entered(self, call: Call, text: str) -> None:
        tool = call.tool
        match = _first(tool.reads, text[:_HEAD])
        value = (match and match.groupdict().get("value")) or tool.value
        if not value:
            starts = (name[:-1] for name in tool.names if name.endswith("*"))
            value = next((call.name[len(start) :] for start in starts if call.name.startswith(start)), "")
        self._equipment.enter(tool.setting, value, self._number)

    def _left(self, tool: Tool, arguments: Mapping[str, Any]) -> None:
        """A setting is no more; of a plan that was approved at that, its title and its file are told."""
        self._equipment.leave(tool.setting)
        plan = self._word(arguments, tool, "text") if "text" in tool.keys else ""
        title = next((line.lstrip("# ") for line in plan.split("\n") if line.strip("# ")), "")
        path = self._word(arguments, tool, "path") if "path" in tool.keys else ""
        title, path = one_line(title, _WHAT), one_line(path, _LINE)
        words = f"{title} ({path})" if title and path else title or path
        self._equipment.enter("approved plan", words, self._number)

    def _skilled(self, call: Call, act: Act, text: str) -> None:
        name = self._word(act.arguments, call.tool, "name")
        match = _first(call.tool.reads, text[:_HEAD]) or _first(call.tool.reads, text[-_HEAD:])
        folder = match.groupdict().get("folder") if match else ""
        self._equipment.load("skill", name, self._number, folder or "")


def _first(patterns: Iterable[re.Pattern[str]], text: str) -> re.Match[str] | None:
    for pattern in patterns:
        if match := pattern.search(text):
            return match
    return None
