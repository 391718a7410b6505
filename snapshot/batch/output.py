"""Parts made into the file that was asked for: Parquet, JSON Lines or CSV, a row group at a time."""

from __future__ import annotations

import base64
import csv
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from snapshot._files import reason
from snapshot.batch.folders import Folder
from snapshot.batch.packages import arrow, parquet
from snapshot.batch.parts import fingerprint_in
from snapshot.batch.schemas import columns_of, schema_of
from snapshot.errors import OutputError

__all__ = ["SUFFIXES", "assemble", "clear", "parts_in"]

SUFFIXES = (".parquet", ".jsonl", ".csv")
"""What a file of rows can be; any other output is a folder of Parquet parts."""
_GROUP = 16 << 20  # bytes of a row group
_ROWS = 1024


def parts_in(folder: Folder) -> list[str]:
    """Names of the files in a folder that have the name of a part."""
    return [name for name in folder.names() if name.startswith("part-") and name.endswith(".parquet")]


def clear(folder: Folder, names: Sequence[str]) -> None:
    """Remove from a folder the parts that are not among `names`, and what a killed run left half written.

    Raises:
        OutputError: one of `names` is not there.
    """
    there = parts_in(folder)
    folder.remove(name for name in set(there) - set(names) if fingerprint_in(folder, name) is not None)
    folder.clear("part-*.parquet")
    if gone := set(names) - set(there):
        raise OutputError(
            f"{folder}: {len(gone):,} parts are gone, another run may write there; the same command again "
            "makes them"
        )


def assemble(action: str, folder: Folder, names: Sequence[str], beside: Folder, name: str) -> None:
    """Write the rows of the parts, in their order, as the one file `name` in `beside`; whole or not at all.

    Raises:
        OutputError: the file cannot be written.
    """
    write = {".parquet": _parquet, ".jsonl": _jsonl, ".csv": _csv}[Path(name).suffix]
    try:
        beside.clear(name)
        with beside.replaced(name) as path:
            write(action, _batches(folder, names), path)
    except OSError as error:
        raise OutputError(f"{beside.at(name)}: cannot be written to ({reason(error)})") from error


def _batches(folder: Folder, names: Sequence[str]) -> Iterator[Any]:
    for name in names:
        with folder.open(name) as opened, parquet().ParquetFile(opened) as file:
            for group in range(file.num_row_groups):  # they are small by themselves
                yield from file.read_row_group(group).to_batches(_ROWS)


def _parquet(action: str, batches: Iterator[Any], path: Path) -> None:

    schema = schema_of(action)
    with parquet().ParquetWriter(path, schema, compression="zstd") as writer:
        held: list[Any] = []
        size = 0
        for batch in batches:
            held.append(batch)
            size += batch.nbytes
            if size >= _GROUP:
                writer.write_table(arrow().Table.from_batches(held).cast(schema).combine_chunks())
                held, size = [], 0
        if held:
            writer.write_table(arrow().Table.from_batches(held).cast(schema).combine_chunks())


def _jsonl(_action: str, batches: Iterator[Any], path: Path) -> None:
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for batch in batches:
            for row in batch.to_pylist():
                file.write(json.dumps(row, ensure_ascii=False, default=_base64) + "\n")


def _csv(action: str, batches: Iterator[Any], path: Path) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([column.name for column in columns_of(action)])
        for batch in batches:
            for row in batch.to_pylist():
                writer.writerow(
                    [_base64(value) if isinstance(value, bytes) else value for value in row.values()]
                )


def _base64(value: Any) -> str:
    return base64.b64encode(value).decode("ascii")
