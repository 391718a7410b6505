"""What hostile or merely large input costs at three sizes, each ten times the one before: it is to be linear.

    python -m benchmarks.growth                     # at full size: some minutes, and 4 GB of memory
    python -m benchmarks.growth --short --check     # at a tenth of it; an error where one grows faster

Seconds are of the processor, of one run each in a process of its own; "grows" is the time for ten times as
much over ten times the time before it: 1 is linear, and what starts up costs more where there is little to
do, so that less is usual. The sizes are those at which earlier versions took minutes.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from random import Random

from snapshot.compaction.compact import compact
from snapshot.errors import SnapshotError
from snapshot.inspection import inspect
from snapshot.messages import Message, Text, ToolCall, ToolResult, Transcript
from snapshot.models.ids import profile_for
from snapshot.redaction import Redactor
from snapshot.requests import APIS, request
from snapshot.source.source import source_of
from snapshot.transcripts import load

MOST = 4.0
"""Growth above which `--check` fails: the square would be 10, and a busy machine alone may make it 2."""
_NOTHING = 0.2  # seconds: what is done in less is no measure, nor the step to where there is something to do


@dataclass(frozen=True, slots=True)
class Case:
    """A kind of input.

    Attributes:
        name: what it is of.
        size: the largest; the others are a tenth and a hundredth of it.
        make: the input of a size, made before the clock starts.
        work: what is done with it.
    """

    name: str
    size: int
    make: Callable[[int], object]
    work: Callable[[object], object]


def _claude_chain(size: int) -> bytes:
    rows = []
    for number in range(size):
        role = ("user", "assistant")[number % 2]
        row = {"type": role, "uuid": str(number), "parentUuid": str(number - 1) if number else None}
        rows.append(json.dumps(row | {"sessionId": "s", "message": {"role": role, "content": "x"}}))
    return "\n".join(rows).encode()


def _pi_chain(size: int) -> bytes:
    rows = [json.dumps({"type": "session", "version": 3, "id": "s", "cwd": "/"})]
    for number in range(size):
        row = {"type": "message", "id": str(number), "parentId": str(number - 1) if number else None}
        role = ("user", "assistant")[number % 2]
        rows.append(json.dumps(row | {"message": {"role": role, "content": [{"type": "text", "text": "x"}]}}))
    return "\n".join(rows).encode()


def _chatgpt_chain(size: int) -> bytes:
    mapping = {}
    for number in range(size):
        said = {"author": {"role": ("user", "assistant")[number % 2]}, "content": {"parts": ["x"]}}
        said["content"]["content_type"] = "text"  # type: ignore[assignment]
        mapping[str(number)] = {
            "id": str(number),
            "parent": str(number - 1) if number else None,
            "children": [str(number + 1)] if number < size - 1 else [],
            "message": {"id": str(number), **said},
        }
    return json.dumps([{"title": "t", "mapping": mapping, "current_node": str(size - 1)}]).encode()


def _messages(size: int) -> bytes:
    pair = '{"role":"user","content":"hello there"},{"role":"assistant","content":"ok"}'
    return f"[{','.join([pair] * (size // 2))}]".encode()


def _read_again(size: int) -> bytes:
    """Forty files of which parts are read again and again, a line changed now and then."""
    random = Random(3)
    files = [
        [f"value_{name}_{row} = read_row({row})  # as before" for row in range(60)] for name in range(40)
    ]
    said = [{"role": "user", "content": "Mend the importer."}]
    for step in range(size // 2):
        lines = random.choice(files)
        if random.random() < 0.3:
            lines[random.randrange(60)] = f"changed_{step} = 1  # it is new"
        first = random.randrange(40)
        said.append({"role": "assistant", "content": f"Part {step}."})
        said.append({"role": "user", "content": "\n".join(lines[first : first + 20])})
    return json.dumps(said).encode()


def _line(size: int) -> bytes:
    return b'[{"role":"user","content":"' + b"abc def " * (size // 8) + b'"}]'


def _plain_line(size: int) -> bytes:
    return b"abc def " * (size // 8)


def _calls(size: int) -> Transcript:
    """A conversation whose one call has arguments that are nested so deeply."""
    messages = (
        Message("user", (Text("Go."),)),
        Message("assistant", (ToolCall("t", "f", '{"a":' * size + "1" + "}" * size),)),
        Message("tool", (ToolResult("t", (Text("[" * size),)),)),
        Message("user", (Text("Go on."),)),
    )
    return Transcript(messages, "anthropic")


def _all_requests(transcript: object) -> object:
    assert isinstance(transcript, Transcript)
    clean = Redactor().transcript(transcript)
    compact(clean, model="claude-opus-4-8", window=20_000, digest=True, trigger="manual")
    return [request(clean, api) for api in APIS], source_of(clean).text


def _named(model: object) -> object:
    try:
        return profile_for(str(model))
    except SnapshotError as error:
        return str(error)


def _loaded(data: object) -> object:
    assert isinstance(data, bytes)
    return load(data)


def _inspected(data: object) -> object:
    assert isinstance(data, bytes)
    return inspect(load(data), model="claude-opus-4-8")


def _compacted(data: object) -> object:
    assert isinstance(data, bytes)
    return compact(load(data), model="claude-opus-4-8", window=100_000, digest=True, trigger="manual")


CASES = (
    Case("parents in a row, Claude Code: load", 300_000, _claude_chain, _loaded),
    Case("parents in a row, pi: load", 300_000, _pi_chain, _loaded),
    Case("parents in a row, ChatGPT: load", 300_000, _chatgpt_chain, _loaded),
    Case("messages: load", 1_000_000, _messages, _loaded),
    Case("messages: load and inspect", 1_000_000, _messages, _inspected),
    Case("messages: load and compact", 300_000, _messages, _compacted),
    Case("messages that say the same again: load and compact", 30_000, _read_again, _compacted),
    Case("characters in a line of JSON: load", 300_000_000, _line, _loaded),
    Case("characters in a line of JSON: load and inspect", 300_000_000, _line, _inspected),
    Case("characters in a line of text: load", 300_000_000, _plain_line, _loaded),
    Case("levels in a call's arguments: redact, compact, write", 100_000, _calls, _all_requests),
    Case("characters in a model's name: profile_for", 1_000_000, lambda size: "a-1." * (size // 4), _named),
)


def _measured(case: Case, size: int) -> float:
    """Seconds of the processor, in a process of its own: what one case leaves behind is no other's."""
    context = multiprocessing.get_context("fork" if sys.platform != "win32" else "spawn")
    receive, send = context.Pipe(duplex=False)

    def run() -> None:
        given = case.make(size)
        begun = time.process_time()
        case.work(given)
        send.send(time.process_time() - begun)

    process = context.Process(target=run)
    process.start()
    send.close()
    try:
        return receive.recv()
    except EOFError:
        raise SystemExit(f"{case.name}: nothing came of {size:,}") from None
    finally:
        process.join()


def rows(cases: tuple[Case, ...], share: int) -> Iterator[tuple[str, list[int], list[float]]]:
    """Of each case its name, its three sizes and their seconds; the largest is its size over `share`."""
    for case in cases:
        case.work(case.make(100))  # so that nobody's first use is counted
        sizes = [case.size // share // part for part in (100, 10, 1)]
        yield case.name, sizes, [_measured(case, size) for size in sizes]


def growths(seconds: list[float]) -> list[float]:
    """By how much more than ten each of the times is over the one before; 0 where that is no measure."""
    return [later / before / 10 if before >= _NOTHING else 0.0 for before, later in pairwise(seconds)]


def main(arguments: list[str] | None = None) -> int:
    """Print the table; 1 where `--check` finds what is not linear."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("--short", action="store_true", help="a tenth of the sizes")
    parser.add_argument("--check", action="store_true", help=f"fail where one grows by more than {MOST}")
    parser.add_argument("--only", default="", help="cases with these words in their name")
    options = parser.parse_args(arguments)
    cases = tuple(case for case in CASES if options.only in case.name)
    bad = []
    for name, sizes, seconds in rows(cases, 10 if options.short else 1):
        grown = growths(seconds)
        took = "  ".join(f"{size:>11,} {each:8.2f} s" for size, each in zip(sizes, seconds, strict=True))
        print(f"{name:<54}{took}  grows {max(grown):.2f}", flush=True)
        bad += [name] * (max(grown) > MOST)
    if options.check and bad:
        print("not linear: " + "; ".join(bad), file=sys.stderr)
    return int(options.check and bool(bad))


if __name__ == "__main__":
    raise SystemExit(main())
