"""aider's log, `.aider.chat.history.md`: runs one behind the other, each under a heading with its time.

Source: the input and output of aider in its public repository, looked up 2026-11. A line `#### …` is the
user's, `> …` is what the program showed, everything else the assistant's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

from snapshot.messages import Origin, Role, Text, Transcript, Usage
from snapshot.transcripts.formats.markdown import outside_fences
from snapshot.transcripts.io.source import Sample, Source
from snapshot.transcripts.reading.build import Builder
from snapshot.transcripts.reading.threads import Conversation, Detection, Thread, title_of

NAME = "aider"

_START = re.compile(r"# aider chat started at (?P<time>.+?)\s*$")
_MARK = re.compile(r"^(?:# aider chat started at |####(?: |$))", re.MULTILINE)
_MODEL = re.compile(r"(?:Main )?[Mm]odel: (?P<model>\S+)(?: with|$)")
_TOKENS = re.compile(r"Tokens: (?P<sent>[\d.,]+[kM]?) sent.*?, (?P<received>[\d.,]+[kM]?) received")
_TIMES = {"k": 1_000, "M": 1_000_000}


@dataclass(slots=True)
class _Run:
    """A run: the time and line of its heading, and its lines with their numbers from 1."""

    time: str
    line: int
    lines: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Turn:
    line: int
    speaker: str  # "user", "shown" for what the program showed, "assistant"
    text: str


def detect(sample: Sample) -> Detection | None:
    """How sure it is that this is such a log: a run's heading, before anything else."""
    lines = sample.text.splitlines()
    first = next((line for line in lines if line.strip()), "")
    if not _START.match(first):
        return None
    runs = sum(bool(_START.match(line)) for line in lines)
    return Detection(NAME, 0.98, f"{runs} headings of runs, the first at the start")


def threads(source: Source) -> Sequence[Thread]:
    """A thread for each run in which something was said; the main one is the last."""
    text = source.text()
    if not _MARK.search(text):
        raise source.error("no turn in it: expected `# aider chat started at …` and lines behind it")
    runs = [(run, turns) for run in _runs(text) if (turns := list(_turns(run)))]
    if not runs:
        raise source.error("no turn in it: expected `# aider chat started at …` and lines behind it")
    made: list[Thread] = []
    for number, (run, turns) in enumerate(runs, 1):
        words = next((t.text for t in turns if t.speaker == "user" and not t.text.startswith("/")), "")
        count = sum(turn.speaker != "shown" for turn in turns)
        time = run.time.replace(" ", "T", 1)
        main = number == len(runs)
        read = partial(_read, source, turns, time)
        made.append(Thread(Conversation(f"run-{number}", title_of(words), count, time, main), read))
    return made


def _runs(text: str) -> Iterator[_Run]:
    run: _Run | None = None
    for number, line in enumerate(text.replace("\r\n", "\n").split("\n"), 1):
        match = _START.match(line)
        if match:
            if run is not None:
                yield run
            run = _Run(match["time"], number)
        elif run is not None:
            run.lines.append(line)
        elif line.strip():
            run = _Run("", number, [line])  # a log that was cut at its start
    if run is not None:
        yield run


def _turns(run: _Run) -> Iterator[_Turn]:
    """The turns. In a fence every line is the assistant's; one that is never closed is none."""
    marked = set(outside_fences(run.lines))
    speaker, start, held = "", 0, list[str]()

    def turn() -> Iterator[_Turn]:
        text = "\n".join(held).strip("\n").rstrip()
        if text.strip() or (speaker == "user" and held):
            yield _Turn(run.line + 1 + start, speaker, text)

    for number, line in enumerate(run.lines):
        said = _line(line) if number in marked else ("assistant", line)
        if not line.strip():
            held.append("")
            continue
        if said[0] != speaker:
            yield from turn()
            speaker, start, held = said[0], number, []
        held.append(said[1])
    yield from turn()


def _line(line: str) -> tuple[str, str]:
    if line.startswith("####") and line[4:5] in ("", " "):
        return "user", line[5:].rstrip()
    if line.startswith(">") and line[1:2] in ("", " "):
        return "shown", line[2:].rstrip()
    return "assistant", line


def _read(source: Source, turns: Sequence[_Turn], time: str) -> Transcript:
    builder = Builder(source)
    model = ""
    for turn in turns:
        role: Role = "system"
        origin: Origin = "harness"
        if turn.speaker == "assistant":
            role, origin = "assistant", ""
        elif turn.speaker == "user":  # commands are given to the program, not to the model
            role, origin = ("system", "user") if turn.text.startswith(("/", "!")) else ("user", "")
        elif found := _MODEL.search(turn.text):
            model = found["model"]
        parts = [Text(turn.text)] if turn.text else []
        builder.add(role, parts, where=f"line {turn.line}", time=time, origin=origin)
        if turn.speaker == "shown" and (counts := _TOKENS.search(turn.text)):
            builder.count(Usage(_number(counts["sent"]), _number(counts["received"])))
    return builder.finish(NAME, model)


def _number(text: str) -> int:
    """The number behind "5.1k" or "1,200"."""
    factor = _TIMES.get(text[-1:], 1)
    try:
        return round(float(text.rstrip("kM").replace(",", "")) * factor)
    except (ValueError, OverflowError):
        return 0
