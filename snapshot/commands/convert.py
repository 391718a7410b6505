"""`snapshot convert`: a transcript in another format, with a list of what that format cannot hold."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from snapshot.commands._arguments import load, note_diagnostics, reading_options
from snapshot.commands._console import (
    DONE,
    print_json,
    refuse_overwriting,
    save,
    say,
    tell,
    to_stdout,
    write_data,
)
from snapshot.commands._sessions import session_argument
from snapshot.commands._table import paragraph
from snapshot.errors import SnapshotError

if TYPE_CHECKING:
    from snapshot.transcripts import Dumped

__all__ = ["account", "fill"]

_PLACES = 4  # messages that a line names


def fill(parser: argparse.ArgumentParser) -> None:
    """Fill the command's parser."""
    parser.description = (
        "Writes a transcript in another format, and says what that format cannot hold. Nothing "
        "is repaired: `compact` makes requests that a provider accepts."
    )
    parser.epilog = (
        "examples: snapshot convert session.jsonl --to openai-chat -o chat.json; "
        "snapshot convert - --to text < chat.json"
    )
    session_argument(parser)
    parser.add_argument("--to", metavar="FORMAT", required=True, help="the format to write: " + _listed())
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        type=Path,
        help="file to write; .gz and .zst are compressed (stdout)",
    )
    reading_options(parser)
    parser.add_argument("--json", action="store_true", help="the account as one JSON object; needs -o")
    parser.set_defaults(run=_run)


def _listed() -> str:
    from snapshot.transcripts.registry import FORMATS, READ_ONLY

    return ", ".join(name for name in FORMATS if name not in READ_ONLY)


def _run(arguments: argparse.Namespace) -> int:
    from snapshot.transcripts import dump
    from snapshot.transcripts.resuming import resumption

    output: Path | None = arguments.output
    piped = output is None or to_stdout(output)
    if arguments.json and piped:
        raise SnapshotError("--json needs -o FILE: standard output would hold the transcript as well")
    refuse_overwriting(output, arguments.session)
    transcript = load(arguments.session, arguments.format, arguments)
    dumped = dump(transcript, arguments.to)
    if output is None:
        write_data(dumped.data)
    else:
        save(output, _packed(dumped.data, output))
    note_diagnostics(transcript)
    if arguments.json:
        losses = [
            {"kind": loss.kind, "message": loss.where or None, "what": loss.what} for loss in dumped.losses
        ]
        counts = {"messages": len(transcript.messages), "bytes": len(dumped.data)}
        print_json(
            {"file": str(output), "from": transcript.format, "to": arguments.to, **counts, "losses": losses}
        )
        return DONE
    note = say if piped else tell
    if not piped:
        tell(f"{output}: {len(transcript.messages):,} messages, from {transcript.format} to {arguments.to}")
    for line in account(dumped, arguments.to):
        note(line)
    found = resumption(arguments.to, dumped.data, "" if piped else str(output))
    if found is not None:
        note(str(found))
    return DONE


def account(dumped: Dumped, target: str) -> list[str]:
    """The losses by sort, the most frequent first."""
    if not dumped.losses:
        return []
    lines = [f"what {target} cannot hold:"]
    for loss, count in sorted(dumped.grouped(), key=lambda pair: -pair[1]):
        same = (other.where for other in dumped.losses if (other.kind, other.what) == (loss.kind, loss.what))
        numbers = [str(number) for number in dict.fromkeys(same) if number]
        places = ", ".join(numbers[:_PLACES]) + (", …" if len(numbers) > _PLACES else "")
        where = f" (message{'s' * (len(numbers) > 1)} {places})" if numbers else ""
        lines += paragraph(f"{loss.what}{where}", indent=" " * 9, first=f"{count:7,}  ")
    return lines


def _packed(data: bytes, output: Path) -> bytes:
    if output.suffix == ".gz":
        import gzip

        return gzip.compress(data, mtime=0)
    if output.suffix == ".zst":
        from snapshot.transcripts.io.unpack import zstd_module

        zstd = zstd_module()
        if zstd is None:
            raise SnapshotError(
                f"{output}: this Python cannot write .zst: pip install 'snapshot-pages[zstd]', or name a .gz"
            )
        return zstd.compress(data)
    return data
