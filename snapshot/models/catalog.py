"""Readers: what is known of models as readers of pages, from `layouts/*.toml` and a user's own files.

A layout file holds one provider. Its keys (declared with their bounds in `snapshot.models.schema`):

* `provider`, `as_of` (date of the figures), `sources`; `[rules]`: billing rules that readers share, by name
* `[[readers]]`: one for each kind of model that is billed and sees alike
    * `name`, `title`; `models`: ids as `model_key` writes them, `*` at the end stands for anything; one with
      a `/` is of that host only (`siliconflow/qwen2-5-vl*`)
    * `vision` (true if absent); `detail`: the image detail that requests must ask for, if any
    * `billing`: a rule of `snapshot.models.billing` with its parameters, at that detail; `billing_at`: at
      others
    * `window`: context window in tokens; `max_output`: the longest answer in tokens; absent where not known
    * `price`: USD per million tokens as text: `input`, `cache_write`, `cache_read`, `output`; `steps`: the
      same `above` so many tokens of prompt, for the whole prompt
    * `chars_per_token`: `value` and `basis`, for common ASCII text, and `rates`: the vocabulary that its own
      is like; `tokenizer`: its own, which counts exactly where it is installed
    * `limits`: what the provider refuses, see `schema.Limits`
    * `documents`: how PDF files are billed; `cache`: what the prompt cache does; `prefill`: false where
      requests that end in the assistant's words are refused; `midway_system`: true where messages of the
      system may stand within Anthropic's list
    * `trials`: published trials of how well it reads, see `snapshot.models.trials`; `evidence`: what else is
      known of that, or a sentence that begins with "not measured"
    * `uncertain`, `conflict`: a sentence on figures that are not certain; which of several was taken, and why
    * `layouts`: by name, `default` first: `face` (a file of `fonts/`), `width`, `height` of a full page; the
      answers of `benchmarks.page_size`. `text_columns`: columns that keep lines, in place of flowing text;
      `flow_columns`: columns that flowing text stands in, one after the other.
      `bounds`: `max_side`, the longest side a page may take, and `why`
    * `example`: a model id that stands for the reader where costs are compared
    * `peers`: pages that other tools send, to compare with: `size`, `who`, and `glyphs` on their `cell`, with
      the `box` of a letter where it is smaller than the cell
    * `[[readers.lines]]`: models of the reader that differ: `models`, and their own `window`, `max_output`,
      `price`, `limits`, `billing_at`, `prefill`, `midway_system`, `cache`
    * `extends`: the name of a reader of which everything else is taken that the table does not give

A user's file of the same form adds readers, or replaces one by giving its name again. Its folder is named by
the environment variable SNAPSHOT_LAYOUTS (several: separated as PATH is).
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any

from snapshot._resources import locate
from snapshot._toml import parse_toml
from snapshot.errors import LayoutError
from snapshot.models.profile import ModelProfile, ModelVariant, Peer, Price
from snapshot.models.schema import (
    File,
    Limits,
    LineTable,
    PeerTable,
    PriceTable,
    ReaderTable,
    StepTable,
    convert,
    shown,
)
from snapshot.models.trials import trial_from

__all__ = [
    "ENVIRONMENT",
    "LIMITS",
    "label",
    "layout_files",
    "line_from",
    "place",
    "profiles",
    "read_toml",
    "stamped",
]


ENVIRONMENT = "SNAPSHOT_LAYOUTS"
"""The environment variable that names folders of a user's own layout files."""

LIMITS: tuple[str, ...] = Limits.__struct_fields__
"""The names of all limits."""


def layout_files() -> list[Path]:
    """The layout files: the package's own, then those of the folders that SNAPSHOT_LAYOUTS names.

    Raises:
        LayoutError: the variable names a folder that is not there, or has no layout file.
    """
    files = list(_listed(locate("layouts")))
    for name in filter(None, os.environ.get(ENVIRONMENT, "").split(os.pathsep)):
        own = _listed(Path(name))
        if not own:
            said = name if name.isprintable() else shown(name)
            raise LayoutError(f"{said}: no folder with layout files (*.toml); named by {ENVIRONMENT}")
        files += own
    return files


def _listed(folder: Path) -> tuple[Path, ...]:
    """The TOML files of a folder, by name; a folder is only listed anew when its entries have changed."""
    try:
        changed = folder.stat().st_mtime_ns
    except OSError:
        return ()
    return _files_of(folder, changed)


@cache
def _files_of(folder: Path, changed: int) -> tuple[Path, ...]:  # noqa: ARG001 -- part of the cache's key
    try:
        return tuple(sorted(path for path in folder.iterdir() if path.suffix == ".toml"))
    except OSError:  # it is a file, or may not be read
        return ()


def profiles() -> tuple[ModelProfile, ...]:
    """All readers, in order of files; a later one of the same name takes the place of the former.

    Raises:
        LayoutError: a file breaks the schema; the message names file, table and key.
    """
    return _load(stamped(layout_files()))


def stamped(files: list[Path]) -> tuple[tuple[Path, int], ...]:
    """Files with the time of their last change, to cache what was read of them by.

    Raises:
        LayoutError: one cannot be read.
    """
    try:
        return tuple((path, path.stat().st_mtime_ns) for path in files)
    except OSError as error:
        raise LayoutError(f"{error.filename}: {error.strerror}") from error


def label(path: Path) -> str:
    """The name of a layout file as errors show it."""
    return path.name if path.name.isprintable() else shown(path.name)


def place(path: Path, noun: str, entry: Mapping[str, Any], number: int) -> str:
    """A table of a layout file as errors show it, by its name where that can be shown."""
    name = entry.get("name")
    named = isinstance(name, str) and name.isprintable() and 0 < len(name) <= 80
    return f"{label(path)}, {noun} {name if named else number}"


@cache
def read_toml(path: Path, changed: int) -> Mapping[str, Any]:  # noqa: ARG001 -- part of the cache's key
    """The tables of a TOML file, as it was at the time `changed`.

    Raises:
        LayoutError: it cannot be read, or is no TOML.
    """
    try:
        return parse_toml(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise LayoutError(f"{label(path)}: {error.strerror}") from error
    except RecursionError as error:
        raise LayoutError(f"{label(path)}: nested too deeply") from error
    except ValueError as error:  # no TOML, no UTF-8, or a number of too many digits
        raise LayoutError(f"{label(path)}: {str(error)[:300]}") from error


@cache
def _load(files: tuple[tuple[Path, int], ...]) -> tuple[ModelProfile, ...]:
    found: dict[str, ModelProfile] = {}
    tables: dict[str, Mapping[str, Any]] = {}
    for path, changed in files:
        raw = read_toml(path, changed)
        if "gateways" in raw:
            continue
        file = convert(raw, File, label(path))
        rules: Mapping[str, Any] = raw.get("rules", {})
        for number, entry in enumerate(file.readers, 1):
            where = place(path, "reader", entry, number)
            whole = _extended(_spelled_out(entry, rules, where), tables, where)
            reader = convert(whole, ReaderTable, where)
            tables[reader.name] = whole
            found[reader.name] = _profile(file, reader, where)
    return tuple(found.values())


def _extended(
    entry: Mapping[str, Any], tables: Mapping[str, Mapping[str, Any]], where: str
) -> Mapping[str, Any]:
    """The entry with everything it does not give from the reader it extends."""
    base = entry.get("extends")
    if base is None:
        return entry
    if not isinstance(base, str) or base not in tables:
        near = get_close_matches(str(base)[:80], tables, n=1) if isinstance(base, str) else ()
        raise LayoutError(
            f"{where}: extends {shown(base)}, which is no reader"
            + (f" (did you mean {near[0]}?)" if near else f"; there are {', '.join(tables)}")
        )
    inherited = dict(tables[base])
    if "models" in entry and "lines" not in entry:
        inherited.pop("lines", None)
    return {**inherited, **entry}


def _spelled_out(entry: Mapping[str, Any], rules: Mapping[str, Any], where: str) -> dict[str, Any]:
    """The entry with each rule that it names in place of its name, which holds in its own file only."""

    def rule(value: object, at: str) -> object:
        if isinstance(value, str) and value not in rules:
            there = ", ".join(rules) or "there are none"
            raise LayoutError(f"{where}, {at}: {shown(value)} is not one of [rules]: {there}")
        return rules[value] if isinstance(value, str) else value

    def with_rules(table: Any) -> Any:
        at = table.get("billing_at") if isinstance(table, dict) else None
        if not isinstance(at, dict):
            return table
        return {**table, "billing_at": {key: rule(value, f"billing_at {key}") for key, value in at.items()}}

    spelled = with_rules(dict(entry))
    if "billing" in spelled:
        spelled["billing"] = rule(spelled["billing"], "billing")
    if isinstance(spelled.get("lines"), list):
        spelled["lines"] = [with_rules(line) for line in spelled["lines"]]
    return spelled


def _profile(file: File, table: ReaderTable, where: str) -> ModelProfile:
    if table.vision and table.billing is None:
        raise LayoutError(f"{where}: billing is missing; a reader without vision says vision = false")
    if table.vision and "default" not in table.layouts:
        raise LayoutError(f"{where}: layouts has no default; `python -m benchmarks.solve` finds one")
    return ModelProfile(
        name=table.name,
        title=table.title,
        provider=file.provider,
        models=table.models,
        vision=table.vision,
        billing=table.billing if table.vision else None,
        chars_per_token=table.chars_per_token.value,
        basis=table.chars_per_token.basis,
        as_of=file.as_of,
        detail=table.detail or "",
        window=table.window,
        max_output=table.max_output,
        price=_price(table.price),
        billing_at=table.billing_at,
        tokenizer=table.tokenizer or "",
        rates=table.chars_per_token.rates or "",
        limits=table.limits.given(),
        documents=table.documents,
        prefill=table.prefill,
        midway_system=table.midway_system,
        cache=table.cache,
        bounds=None if table.bounds is None else (table.bounds.max_side, table.bounds.why),
        layouts=table.layouts,
        peers=tuple(map(_peer, table.peers)),
        lines=tuple(map(line_from, table.lines)),
        example=table.example or "",
        uncertain=table.uncertain or "",
        conflict=table.conflict or "",
        evidence=table.evidence,
        trials=tuple(map(trial_from, table.trials)),
        sources=file.sources,
    )


def line_from(table: LineTable) -> ModelVariant:
    """The line of models that a table describes."""
    return ModelVariant(
        models=table.models,
        window=table.window,
        max_output=table.max_output,
        price=_price(table.price),
        limits=table.limits.given(),
        billing_at=table.billing_at,
        prefill=table.prefill,
        midway_system=table.midway_system,
        cache=table.cache,
    )


def _peer(table: PeerTable) -> Peer:
    return Peer(*table.size, table.who, table.glyphs, table.cell, table.box)


def _price(table: PriceTable | None) -> Price | None:
    if table is None:
        return None
    return replace(_amounts(table), steps=tuple((step.above, _amounts(step)) for step in table.steps))


def _amounts(table: PriceTable | StepTable) -> Price:
    texts = (table.cache_write, table.cache_read, table.output)
    write, read, output = (None if text is None else Decimal(text) for text in texts)
    return Price(Decimal(table.input), write, read, output)
