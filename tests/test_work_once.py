"""Work is done once: how often each character is folded, segmented, encoded and counted in one compaction."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import snapshot
from snapshot.compaction import Archive
from snapshot.compaction.elide_rung import Results
from snapshot.compaction.history import forget
from snapshot.compaction.summary.outline import Outline
from snapshot.ledger import LedgerBuilder, files
from snapshot.messages import Message, Text, ToolCall, ToolResult, Transcript
from snapshot.models import tokens
from snapshot.parts import characters
from snapshot.source import known_lines
from snapshot.source.source import source_of
from snapshot.typeset import clusters, fold, pagetext
from tests.conftest import HERE


def counting(monkeypatch: pytest.MonkeyPatch, module: ModuleType, name: str, counts: Counter[str]) -> None:
    """Count the characters of the first argument of a function, wherever the package has imported it."""
    whole: Callable[..., Any] = getattr(module, name)

    def counted(text: str, *arguments: Any, **named: Any) -> Any:
        counts[name] += len(text)
        return whole(text, *arguments, **named)

    for other in [value for key, value in sys.modules.items() if key.startswith("snapshot")]:
        for key, value in list(vars(other).items()):
            if value is whole:
                monkeypatch.setattr(other, key, counted)


def test_a_compaction_looks_at_each_character_twice_at_most(monkeypatch: pytest.MonkeyPatch):
    run: Path = HERE / "data" / "ytt-start.claude-stream.jsonl"
    transcript = snapshot.load(run)
    snapshot.compact(
        transcript, model="claude-opus-4-8", window=30_000, digest=True
    )  # everything is imported
    tokens._KNOWN.__init__()  # and nothing is known
    chars = len(source_of(transcript).text)
    counts: Counter[str] = Counter()
    for module, name in (
        (fold, "fold"), (clusters, "continuations"), (pagetext, "encode"), (tokens, "_counted"),
    ):  # fmt: skip
        counting(monkeypatch, module, name, counts)
    # Another tail than before, so that no page of the first run is known. Pages are set once to be measured
    # and drawn, whatever room is asked for; here the denser cells are measured as well.
    done = snapshot.compact(transcript, model="claude-opus-4-8", window=30_000, tail=0.2, digest=True)
    assert done.report.pages
    for name, count in counts.items():
        assert count <= (2.8 if name == "encode" else 2.1) * chars, name


def run_of(steps: int) -> Transcript:
    """An agent's run: files that are read, some again and again with the same text, and commands."""
    messages = [Message("user", (Text("Mend the importer, and keep docs/NOTES.md as it is."),))]
    for step in range(steps):
        path = f"/repo/src/part_{step % 7 if step % 3 else step}/module.py"
        body = "\n".join(f"    value_{step // 2}_{row} = read_row({row})  # as before" for row in range(20))
        messages += [
            Message(
                "assistant",
                (
                    Text(f"Now part {step}, `value_{step}_1`."),
                    ToolCall(f"r{step}", "read_file", f'{{"path": "{path}"}}'),
                    ToolCall(f"c{step}", "bash", f'{{"command": "pytest -q tests/test_{step}.py"}}'),
                ),
            ),
            Message(
                "tool",
                (ToolResult(f"r{step}", (Text(body),)), ToolResult(f"c{step}", (Text("3 passed"),))),
            ),
        ]
    return Transcript(tuple(messages), "openai-chat")


def compacted_again_and_again(run: Transcript, every: int) -> int:
    """Play a run as a host would: compacted every so many messages, each time from the archive before; how
    often."""
    archive: Archive | None = None
    times = 0
    for stop in range(2 * every + 1, len(run.messages), every):
        so_far = Transcript(run.messages[:stop], run.format)
        done = snapshot.compact(
            so_far, model="claude-opus-4-8", window=16_000, archive=archive, trigger="manual", digest=True
        )
        archive = done.archive
        times += not done.report.no_op
    assert archive is not None
    assert archive.outline  # the oldest has left view
    return times


def test_a_run_that_is_compacted_again_and_again_is_looked_at_once(monkeypatch: pytest.MonkeyPatch):
    run = run_of(120)
    forget()
    counts: Counter[str] = Counter()
    counting(monkeypatch, known_lines, "_split", counts)  # in the whole package
    for owner, name in ((Outline, "feed"), (LedgerBuilder, "feed"), (Results, "_elide")):
        counting_calls(monkeypatch, owner, name, counts)
    rows: list[str] = []
    joined = files._row
    monkeypatch.setattr(files, "_row", lambda path, same: rows.append(path) or joined(path, same))
    times = compacted_again_and_again(run, 10)
    messages, chars = len(run.messages), len(source_of(run).text)
    assert times > 15
    assert 0 < counts["_split"] <= 1.5 * chars  # lines, for what is said once; short texts are not kept
    assert 0 < counts["Outline.feed"] <= messages  # what left view
    assert 0 < counts["LedgerBuilder.feed"] <= 2 * messages  # the live state, and plans in what left view
    # A result is superseded once, and once more where the same text or call comes again, or is quoted.
    assert 0 < counts["Results._elide"] <= 2 * messages
    assert 0 < len(rows) <= messages  # a file is looked at where a call touched it


def counting_calls(monkeypatch: pytest.MonkeyPatch, owner: type, name: str, counts: Counter[str]) -> None:
    """Count the calls of a method, or of one that takes messages, the messages."""
    whole: Callable[..., Any] = getattr(owner, name)

    def counted(self: object, *arguments: Any) -> Any:
        counts[f"{owner.__name__}.{name}"] += len(arguments[0]) if name == "feed" else 1
        return whole(self, *arguments)

    monkeypatch.setattr(owner, name, counted)


def test_what_is_known_gives_what_a_first_look_gives():
    run = run_of(60)
    archive: Archive | None = None
    fresh: Archive | None = None
    for stop in range(21, len(run.messages), 14):
        so_far = Transcript(run.messages[:stop], run.format)
        settings: dict[str, Any] = {"window": 16_000, "trigger": "manual", "digest": True}
        done = snapshot.compact(so_far, model="claude-opus-4-8", archive=archive, **settings)
        forget()
        again = snapshot.compact(so_far, model="claude-opus-4-8", archive=fresh, **settings)
        assert (done.archive and done.archive.to_json()) == (again.archive and again.archive.to_json())
        assert done.transcript.messages == again.transcript.messages
        archive = done.archive
        if again.archive is not None:
            fresh = Archive.from_json(again.archive.to_json())


def test_the_base64_of_pages_is_not_gone_through(monkeypatch: pytest.MonkeyPatch):
    own = [
        {"role": message.role, "content": "\n".join(f"{message.parts[0]} {row}" for row in range(200))}
        for message in run_of(30).messages
        if message.role != "tool"
    ]
    own = [{**item, "role": "user" if number % 2 == 0 else "assistant"} for number, item in enumerate(own)]
    done = snapshot.compact(own, model="claude-opus-4-8", window=40_000, trigger="manual")
    assert done.report.pages
    searched: list[int] = []

    class Pattern:
        def search(self, text: str) -> object:
            searched.append(len(text))
            return pattern.search(text)

        def sub(self, new: Any, text: str) -> str:
            return pattern.sub(new, text)

    pattern = characters.UNSENDABLE
    monkeypatch.setattr(characters, "UNSENDABLE", Pattern())
    spliced = done.splice()
    pages = sum(len(str(item)) for item in spliced)
    assert sum(searched) < pages / 10
