"""A trial's findings as rows of a layout file, in one TOML file that may be contributed as it is."""

from __future__ import annotations

import json
from collections.abc import Iterator
from hashlib import sha256

from snapshot.models.ids import model_key
from snapshot.models.schema import TrialTable
from snapshot.trial.journal import NAME
from snapshot.trial.results import ArmResult, Results, counted
from snapshot.trial.scoring import Mark
from snapshot.trial.texts import Kind

__all__ = ["rows_of", "toml_of"]

_KNOWN = frozenset(TrialTable.__struct_fields__)


def rows_of(results: Results, *, source: str = "") -> list[dict[str, object]]:
    """The rows, in the keys that layout files know: for each arm what it is "exact", "hashes", "questions"
    and "gist" of.

    Args:
        results: what a trial found.
        source: who made it.
    """
    who = f"{source + ', ' if source else ''}snapshot trial, seed {results.plan['seed']}"
    month = str(results.plan.get("begun", ""))[:7] or "unknown"
    rows: list[dict[str, object]] = []
    for arm in results.arms:
        for what, marks in _parts(arm):
            right, of = counted(marks)
            if not of:
                continue
            row: dict[str, object] = {
                "model": model_key(results.model),
                "cell": list(arm.cell),
                "glyphs": _glyphs(arm),
                "face": arm.face,
                "columns": arm.columns,
                "page": list(arm.page),
                "what": what,
                "right": right,
                "of": of,
                "wrong": counted(marks, "wrong")[0],
                "null": counted(marks, "null")[0],
                "as_of": month,
                "source": who,
            }
            rows.append({name: value for name, value in row.items() if name in _KNOWN})
    return rows


def _glyphs(arm: ArmResult) -> str:
    said = [arm.face]
    if arm.text_columns:
        said.append("lines kept")
    if arm.flow_columns > 1:
        said.append(f"{arm.flow_columns} columns of text")
    if arm.resized:
        said.append("resized by the provider")
    return ", ".join(said)


def _parts(arm: ArmResult) -> Iterator[tuple[str, list[Mark]]]:
    yield "exact", arm.others
    yield "hashes", arm.hashes
    yield "questions", arm.structure
    yield "gist", arm.gist


def toml_of(results: Results, *, source: str = "") -> str:
    """The rows, and beside them all that the trial counted, as one TOML file."""
    lines = [
        f"# A trial of {results.model} as a reader of pages. `trials` is in the form of a layout file;",
        "# what stands below it is what the rows were drawn from.",
        "trials = [",
        *(f"  {_table(row)}," for row in rows_of(results, source=source)),
        "]",
        "",
        "[trial]",
    ]
    plan = results.plan
    facts: dict[str, object] = {
        "schema": plan["schema"], "version": plan.get("version", ""), "model": results.model,
        "reader": plan.get("reader", ""), "seed": plan["seed"], "pages": plan["pages"],
        "begun": plan.get("begun", ""), "reasoning": plan.get("reasoning", ""), "source": source,
        "calls": results.calls, "lost": results.lost, "usd": str(results.spent),
        "key_sha256": plan["key_sha256"], "calls_sha256": _hash(results),
    }  # fmt: skip
    lines += [f"{name} = {_value(value)}" for name, value in facts.items()]
    for arm in results.arms:
        lines += ["", "[[trial.arms]]"]
        lines += [f"{name} = {_value(value)}" for name, value in _counts(arm).items()]
    return "\n".join(lines) + "\n"


def _hash(results: Results) -> str:
    path = results.folder / NAME
    return sha256(path.read_bytes()).hexdigest() if path.exists() else ""


def _counts(arm: ArmResult) -> dict[str, object]:
    found: dict[str, object] = {
        "letter": arm.letter, "name": arm.name, "face": arm.face, "cell": list(arm.cell),
        "columns": arm.columns, "page": list(arm.page), "resized": arm.resized,
    }  # fmt: skip
    kinds: list[Kind] = list(dict.fromkeys(mark.kind for mark in arm.marks))
    for kind in sorted(kinds):
        marks = arm.of(kind)
        outcomes = {mark.outcome: counted(marks, mark.outcome)[0] for mark in marks}
        found[str(kind)] = {name.replace(" ", "_"): outcomes[name] for name in sorted(outcomes)}
    copies = arm.copies
    found["copy"] = {
        "passages": len(copies), "chars": sum(one.chars for one in copies),
        "errors": sum(one.errors for one in copies), "unread": sum(one.unread for one in copies),
        "refused": sum(one.outcome == "refused" for one in copies),
        "cut_off": sum(one.outcome == "cut off" for one in copies),
    }  # fmt: skip
    if arm.bill is not None:
        found["input_billed"], found["input_predicted"] = arm.bill.billed, arm.bill.predicted
        found["pages_predicted"] = arm.bill.pages_predicted
        if arm.bill.pages_billed is not None:
            found["pages_billed"] = arm.bill.pages_billed
    return found


def _table(row: dict[str, object]) -> str:
    return "{ " + ", ".join(f"{name} = {_value(value)}" for name, value in row.items()) + " }"


def _value(value: object) -> str:
    """A value as TOML writes it: numbers, lists and texts are written as in JSON."""
    return _table(value) if isinstance(value, dict) else json.dumps(value, ensure_ascii=False)  # pyright: ignore
