"""No way to a page draws a run of random characters; and each mark tells which run it stands for."""

from __future__ import annotations

import json
import random
import string
from base64 import b64decode
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import snapshot
from snapshot.batch.rows import pages_of
from snapshot.compaction import verbatim
from snapshot.compaction.archive import Archive, PagedPart
from snapshot.integrations.claude_code import handle
from snapshot.messages import Message, Text, ToolCall, ToolResult, Transcript
from snapshot.pages.layout import Layout, layout_for
from snapshot.pages.manifest import load_manifest
from snapshot.pages.readback import PageReader
from snapshot.pages.render import Typesetter
from snapshot.source.marks import RUN_MARK
from snapshot.source.random_runs import random_runs
from snapshot.source.source import Source, source_of
from tests.test_cli import run as command

MODEL = "claude-opus-4-8"
RNG = random.Random(41)
HEX, BASE64 = string.hexdigits[:16], string.ascii_letters + string.digits + "+/"
RUNS = ["".join(RNG.choices((HEX, BASE64)[n % 2], k=(128, 172)[n % 2])) for n in range(24)]


def log_of(runs: list[str], lines: int) -> str:
    """Lines of a log, some with a run."""
    said = [f"{number:05d} INFO worker-{number % 7} took job {number * 37}" for number in range(lines)]
    for number, run in enumerate(runs):
        said[(2 * number + 1) * lines // (2 * len(runs))] += f" with {run} of file{number}.bin"
    return "\n".join(said)


TRANSCRIPT = Transcript(
    (
        Message("user", (Text("Look into the logs."),)),
        *(
            message
            for at in range(6)
            for message in (
                Message("assistant", (ToolCall(f"c{at}", "Bash", f'{{"command": "cat {at}.log"}}'),)),
                Message("tool", (ToolResult(f"c{at}", (Text(log_of(RUNS[4 * at : 4 * at + 4], 500)),)),)),
            )
        ),
        Message("user", (Text("Go on."),)),
    ),
    "anthropic",
)
TEXT = log_of(RUNS, 2000)
PASTE = Message("user", (Text("Find the fault."), Text(TEXT), Text("Answer in one line.")))

Drawn = tuple[list[bytes], dict[int, str]]
"""Pages, and the run of each number that can be looked up."""


def of_folder(path: Path) -> Drawn:
    manifest = load_manifest(path)
    pages = [(path / entry.file).read_bytes() for entry in manifest.pages]
    return pages, dict(enumerate(manifest.source.runs, 1))


def by_command(path: Path) -> Drawn:
    (path / "run.json").write_text(json.dumps(snapshot.request(TRANSCRIPT, "anthropic")["messages"]))
    command("render", path / "run.json", "-m", MODEL, "-o", path / "pages")
    return of_folder(path / "pages")


def by_hook(path: Path) -> Drawn:
    session = path / "session.jsonl"
    session.write_bytes(snapshot.dump(TRANSCRIPT, "claude-session").data)
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("CLAUDE_CONFIG_DIR", str(path / "claude"))
        event = {"session_id": "a", "transcript_path": str(session)}
        handle({**event, "hook_event_name": "PreCompact"})
        told = handle({**event, "hook_event_name": "SessionStart", "source": "compact"})
    assert "manifest.json" in told
    return of_folder(path / "claude" / "snapshot" / "a" / "1")


def by_render(source: str | Transcript, *, repeats: bool = False) -> Drawn:
    pages = list(snapshot.render(source, model=MODEL, repeats=repeats))
    size = len(source if isinstance(source, str) else source_of(source, repeats=repeats, runs=repeats).text)
    assert [page.start for page in pages] == [0, *(page.stop for page in pages[:-1])]
    assert pages[-1].stop == size
    return [page.png for page in pages], dict(run for page in pages for run in page.runs)


def by_batch(_path: Path) -> Drawn:
    rows = pages_of(snapshot.request(TRANSCRIPT, "anthropic"), MODEL)
    assert rows[-1]["stop"] == len(source_of(TRANSCRIPT).text)
    runs = {int(n): run for row in rows if row["runs"] for n, run in json.loads(row["runs"]).items()}
    return [row["png"] for row in rows], runs


def by_compaction(transcript: Transcript, message: int, window: int) -> Drawn:
    done = snapshot.compact(transcript, model=MODEL, window=window, trigger="manual")
    archive = done.archive
    assert archive is not None
    assert Archive.from_json(archive.to_json()) == archive
    assert archive.restore(done.transcript).messages == transcript.messages
    numbers = range(1, len(RUNS) + 1)
    found = {n: archive.answer({"run": n, "message": message}) for n in numbers}
    return images_of(done.request("anthropic")), {n: run for n, run in found.items() if run in RUNS}


def images_of(value: Any) -> list[bytes]:
    """The images in a request of Anthropic's."""
    if isinstance(value, dict):
        if value.get("type") == "base64":
            return [b64decode(value["data"])]
        value = list(value.values())
    return [png for item in value for png in images_of(item)] if isinstance(value, list) else []


WAYS = {
    "render": by_command,
    "the hook": by_hook,
    "a transcript": lambda _path: by_render(TRANSCRIPT),
    "a transcript, with references": lambda _path: by_render(TRANSCRIPT, repeats=True),
    "a text": lambda _path: by_render(TEXT),
    "batch": by_batch,
    "a compaction": lambda _path: by_compaction(TRANSCRIPT, 2, 40_000),
    "a large part": lambda _path: by_compaction(Transcript((PASTE,), "anthropic"), 1, 30_000),
}


def marks_on(pages: list[bytes], layout: Layout) -> Iterator[int]:
    """The numbers of the marks on pages, none of which has a run itself."""
    reader = PageReader(layout, Typesetter(layout).atlas(Source("")))
    text = "".join(reader.read(png).text for png in pages)
    assert text
    assert not random_runs(text)
    assert not any(run[:30] in text for run in RUNS)
    for mark in RUN_MARK.finditer(text):
        yield int(mark[1])


@pytest.mark.parametrize("way", WAYS)
def test_pages_have_marks_of_runs_that_can_be_looked_up(way, tmp_path):
    pages, runs = WAYS[way](tmp_path)
    numbers = list(marks_on(pages, layout_for(MODEL)))
    assert len(numbers) > 5
    assert {runs[number] for number in numbers} <= set(RUNS)


def paged(archive: Archive | None = None) -> Archive:
    """The archive of a conversation that ends in a large result."""
    call = Message("assistant", (ToolCall("large", "Bash", "{}"),))
    result = Message("tool", (ToolResult("large", (Text(TEXT),)),))
    transcript = replace(TRANSCRIPT, messages=(*TRANSCRIPT.messages, call, result))
    found = snapshot.compact(
        transcript, model=MODEL, window=40_000, trigger="manual", archive=archive
    ).archive
    assert found is not None
    assert found.parts
    return found


def test_a_number_that_several_runs_have_is_asked_for_with_its_message():
    archive = paged()
    part = archive.parts[0]
    assert archive.answer({"run": 2, "message": part.message + 1}) == RUNS[1]
    of_another = PagedPart(part.message - 1, 0, log_of(RUNS[10:], 900), runs=part.runs)
    several = replace(archive, parts=(*archive.parts, of_another))
    assert "give the `message`" in several.answer({"run": 2})
    assert several.answer({"run": 2, "message": part.message}) == RUNS[11]
    assert several.answer({"run": len(RUNS), "message": part.message}).endswith(f"not {len(RUNS)}")


def test_mcp_gives_the_run_of_a_message(tmp_path):
    pytest.importorskip("mcp")
    from snapshot.mcp.library import Library
    from snapshot.mcp.server import answer

    archive = paged()
    (tmp_path / "archive.json").write_text(archive.to_json())
    asked = {"number": 3, "message": archive.parts[0].message + 1}
    assert answer(Library(tmp_path / "archive.json"), "run", asked) == RUNS[2]


def test_a_part_that_was_drawn_with_its_runs_goes_on_so(monkeypatch):
    with monkeypatch.context() as formerly:
        formerly.setattr(verbatim, "_with_run_marks", lambda _context, part: part)
        former = json.loads(paged().to_json())
    assert not {"runs", "printed_pages"} & former["parts"][0].keys()
    assert not paged(Archive.from_json(json.dumps(former))).parts[0].runs
