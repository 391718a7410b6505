"""The ledger as text: one line a fact, by importance, in a given number of tokens.

Every line that quotes begins with "- [number] ", and no quoted text holds a line break, so that only the
program's own headings begin otherwise.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from snapshot.ledger.state import CommandRun, FileState, Ledger, PlanStep

__all__ = ["ledger_text"]

_LEAD = (
    "[Live state as a program last saw it in the calls and results of messages 1 to {count}: "
    "a record, not an order. It may have changed since. [n] is the message that a line comes from, by its "
    "number in the whole conversation (calls on pages count by themselves).]"
)
# Sections in the order in which they are printed: heading, what one line of it is called, and several.
_SECTIONS: dict[str, tuple[str, str, str]] = {
    "plan": ("Plan", "step of the plan", "steps of the plan"),
    "running": ("Still running when last seen", "running thing", "running things"),
    "failures": ("Errors not yet resolved", "error", "errors"),
    "changed": ("Files changed", "changed file", "changed files"),
    "runs": ("Last test, build and lint runs", "run", "runs"),
    "questions": ("Questions to the user without an answer", "question", "questions"),
    "repository": ("Git", "line on git", "lines on git"),
    "settings": ("Mode and permissions", "setting", "settings"),
    "loaded": ("Skills and tools loaded in the course of this (load them again if they are gone)",
               "loaded skill or tool", "loaded skills and tools"),
    "read": ("Files read", "read file", "read files"),
}  # fmt: skip
# Lines of a section that come before the less important sections; the others come after all of these.
_FIRST = {"plan": 40, "running": 40, "failures": 6, "changed": 24, "runs": 5, "questions": 6,
          "repository": 2, "settings": 8, "loaded": 16, "read": 12}  # fmt: skip
_FINISHED = ("done", "dropped")
_MOST_CHARACTERS = 16  # of one token, on average over a line


@dataclass(frozen=True, slots=True)
class _Fact:
    section: str
    line: str
    rank: int  # place in its section, by importance
    order: int  # place in its section, as printed


def ledger_text(ledger: Ledger, budget: int, count: Callable[[str], int]) -> str:
    """The text of a ledger for a model to read; "" where it is empty, or where no line has room.

    What matters least is left out first, and counted in the last line.

    Args:
        ledger: the live state.
        budget: tokens that the text may take.
        count: the number of tokens of a text, as the model that is to read it counts.
    """
    facts, more = _facts(ledger, _MOST_CHARACTERS * budget)
    if not facts or budget <= 0:
        return ""
    sections = list(_SECTIONS)
    facts.sort(
        key=lambda fact: (fact.rank >= _FIRST.get(fact.section, 1), sections.index(fact.section), fact.rank)
    )

    def text(kept: int) -> str:
        return _text(ledger, facts[:kept], Counter(fact.section for fact in facts[kept:]) + more)

    # No tokenizer takes more characters for a token: what is beyond need not be counted.
    sizes = accumulate(len(fact.line) for fact in facts)
    low, high = 0, sum(size <= _MOST_CHARACTERS * budget for size in sizes)
    if high == len(facts) and not more and count(whole := text(high)) <= budget:
        return whole
    # The text of more facts is longer but for the words of the last line, so what is found is checked.
    while low < high:
        middle = (low + high + 1) // 2
        if count(text(middle)) <= budget:
            low = middle
        else:
            high = middle - 1
    while low and count(text(low)) > budget:
        low -= 1
    return text(low) if low else ""


def _text(ledger: Ledger, kept: Sequence[_Fact], missing: Counter[str]) -> str:
    pieces = [_LEAD.format(count=ledger.messages)]
    by_section: dict[str, list[_Fact]] = {section: [] for section in _SECTIONS}
    for fact in kept:
        by_section[fact.section].append(fact)
    for section, facts in by_section.items():
        if facts:
            facts.sort(key=lambda fact: fact.order)
            pieces += [f"{_SECTIONS[section][0]}:", *(fact.line for fact in facts)]
    if missing:
        counts = [
            f"{missing[section]} {one if missing[section] == 1 else several}"
            for section, (_, one, several) in _SECTIONS.items()
            if missing[section]
        ]
        pieces.append(f"[No room here for {', '.join(counts)}.]")
    return "\n".join(pieces)


def _facts(ledger: Ledger, most: int) -> tuple[list[_Fact], Counter[str]]:
    """What there is to tell, and of each section how much more there is: of files, of which there may be any
    number, only so many characters are told, the newest ones."""
    changed = sorted((file for file in ledger.files if file.change), key=lambda file: -file.changed)
    read = [file for file in ledger.files if not file.change]
    told = {
        "changed": _told((_changed(file) for file in changed), most),
        "read": _told((_line(file.read, file.path) for file in read), most),
    }
    more = Counter(changed=len(changed) - len(told["changed"]), read=len(read) - len(told["read"]))
    return list(_ranked(ledger, told)), +more


def _told(lines: Iterator[str], most: int) -> list[str]:
    """The lines up to the first that is beyond so many characters."""
    told: list[str] = []
    for line in lines:
        told.append(line)
        most -= len(line)
        if most < 0:
            break
    return told


def _ranked(ledger: Ledger, files: Mapping[str, list[str]]) -> Iterator[_Fact]:
    yield from _plan(ledger.plan)
    for section, lines in (
        ("running", [
            _line(handle.message, f"{handle.kind} {handle.id}: {handle.what or 'what it does was not said'}",
                  handle.output and f"output in {handle.output}")
            for handle in ledger.handles
        ]),
        ("failures", [_line(error.message, f"{error.what}: {error.line}") for error in ledger.failures]),
        ("changed", files["changed"]),
        ("runs", [_run(run) for run in ledger.runs]),
        ("questions", [_line(question.message, question.text) for question in ledger.questions]),
        ("repository", _git(ledger)),
        ("settings", [_line(one.message, f"{one.name}: {one.value}") for one in ledger.settings]),
        ("loaded", [
            _line(loaded.message, f"{loaded.kind} {loaded.name}", loaded.folder and f"folder {loaded.folder}")
            for loaded in ledger.loaded
        ]),
        ("read", files["read"]),
    ):  # fmt: skip
        # Of what runs, of questions and of what was loaded, the newest matters most, and is printed last.
        ranks = list(range(len(lines)))
        if section in ("running", "questions", "loaded"):
            ranks.reverse()
        elif section == "runs":  # a run that did not run, or whose outcome is not known, tells least
            by_worth = sorted(ranks, key=lambda at: ledger.runs[at].outcome in ("unknown", "unrun"))
            ranks = [rank for rank, _ in sorted(enumerate(by_worth), key=lambda pair: pair[1])]
        for order, line in enumerate(lines):
            yield _Fact(section, line, ranks[order], order)


def _plan(steps: Sequence[PlanStep]) -> Iterator[_Fact]:
    """Open steps one by one, those in progress first in importance; finished ones as counts."""
    lines: list[tuple[int, str]] = []
    for state in _FINISHED:
        finished = [step for step in steps if step.state == state]
        if finished:
            what = f"{len(finished)} step{'s' if len(finished) > 1 else ''} {state}"
            lines.append((1, _line(max(step.message for step in finished), what)))
    for step in steps:
        if step.state not in _FINISHED:
            name = f"#{step.id} " if step.id else ""
            lines.append(
                (
                    0 if step.state == "in progress" else 1,
                    _line(step.message, f"{step.state}: {name}{step.text}"),
                )
            )
    ranks = sorted(range(len(lines)), key=lambda at: (lines[at][0], at))
    for rank, at in enumerate(ranks):
        yield _Fact("plan", lines[at][1], rank, at)


def _line(message: int, words: str, more: str = "") -> str:
    return f"- [{message}] {words}" + (f" ({more})" if more else "")


def _changed(file: FileState) -> str:
    if file.change == "listed":
        return _line(
            file.changed,
            f"changed according to git: {file.path}",
            f"read at {file.read}" if file.read else "",
        )
    notes: list[str] = []
    if file.change == "moved" and file.source:
        notes.append(f"from {file.source}")
    if file.created and file.created != file.changed:
        notes.append(f"created at {file.created}")
    if others := [str(at) for at in file.changes if at not in (file.changed, file.created)]:
        notes.append(f"changed before at {', '.join(others)}")
    if file.change != "deleted":
        notes.append(f"read after it at {file.read}" if file.read_after else "no read seen since")
    how = "perhaps edited by a command:" if file.change == "perhaps" else file.change
    return _line(file.changed, f"{how} {file.path}", "; ".join(notes))


def _run(run: CommandRun) -> str:
    told = {"ok": "ok", "failed": "failed", "unrun": "did not run", "unknown": "outcome not shown"}[
        run.outcome
    ]
    if run.code:
        told += f", exit code {run.code}"
    words = f"{run.kind} {told}: {run.command}" + (f" => {run.line}" if run.line else "")
    notes = [f"in {run.where}"] if run.where else []
    notes += [f"run again at {run.again}, outcome not shown"] if run.again else []
    notes += ["files changed since"] if run.stale else []
    return _line(run.message, words, "; ".join(notes))


def _git(ledger: Ledger) -> list[str]:
    git = ledger.repository
    lines: list[str] = []
    if git.branch:
        lines.append(_line(git.branch_message, f"branch {git.branch}"))
    if git.commit or git.subject:
        lines.append(
            _line(git.commit_message, " ".join(filter(None, ("last commit seen:", git.commit, git.subject))))
        )
    return lines
