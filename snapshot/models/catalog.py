"""Readers: what is known of models as readers of pages, from `layouts/*.toml` and a user's own files.

A layout file holds one provider. Its keys:

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
    * `chars_per_token`: `value` and `basis`, for ASCII text; `tokenizer`: a vocabulary that counts exactly
    * `limits`: what the provider refuses, see `snapshot.requests.limits`; `prefill`: false where a request
      may not end in words of the assistant
    * `documents`: what a page of a PDF costs: `page_text` tokens, and an image of `page_size` pixels by the
      billing rule, or of `page_tokens`; see `snapshot.models.profile.DocumentPricing`
    * `trials`: published trials of how well it reads, see `snapshot.models.trials`; `evidence`: what else is
      known of that, or a sentence that begins with "not measured"
    * `uncertain`, `conflict`: a sentence on figures that are not certain; which of several was taken, and why
    * `layouts`: by name, `default` first: `face` (a file of `fonts/`), `width`, `height` of a full page; the
      answers of `benchmarks.page_size`. `text_columns`: columns that keep lines, in place of flowing text.
      `bounds`: `max_side`, the longest side a page may take, and `why`
    * `example`: a model id that stands for the reader where costs are compared
    * `peers`: pages that other tools send, to compare with: `size`, `who`, and `glyphs` on their `cell`
    * `[[readers.lines]]`: models of the reader that differ: `models`, and their own `window`, `max_output`,
      `price`, `limits`, `billing_at`
    * `extends`: the name of a reader of which everything else is taken that the table does not give

A user's file of the same form adds readers, or replaces one by giving its name again. Its folder is named by
the environment variable SNAPSHOT_LAYOUTS (several: separated as PATH is).
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any

from snapshot._resources import locate
from snapshot.errors import LayoutError
from snapshot.models.billing import BillingRule, rule_from
from snapshot.models.profile import DocumentPricing, ModelProfile, ModelVariant, PageShape, Peer, Price
from snapshot.models.schema import Key, check, money
from snapshot.models.trials import trial_from

__all__ = [
    "ENVIRONMENT",
    "LIMITS",
    "layout_files",
    "line_from",
    "profiles",
    "read_toml",
    "stamped",
]


ENVIRONMENT = "SNAPSHOT_LAYOUTS"
"""The environment variable that names folders of a user's own layout files."""

LIMITS = {
    "images_per_request": Key("count"),
    "images_per_message": Key("count"),
    "image_bytes": Key("count"),
    "request_bytes": Key("count"),
    "max_side": Key("count"),
    "many_images": Key("count"),
    "max_side_many": Key("count"),
    "max_aspect": Key("count"),
    "max_patches": Key("count"),
    "max_pixels": Key("count"),
    "documents_per_request": Key("count"),
    "pdf_pages": Key("count"),
    "document_bytes": Key("count"),
}
"""Names of limits; `snapshot.requests.limits` says what each means, and measures it."""

_FILE = {
    "provider": Key("text", required=True),
    "as_of": Key("date", required=True),
    "sources": Key("texts", required=True),
    "rules": Key("table"),
    "readers": Key("tables", required=True),
}
_LINE = {
    "models": Key("texts", required=True),
    "window": Key("count"),
    "max_output": Key("count"),
    "price": Key("table"),
    "limits": Key("table"),
    "billing_at": Key("table"),
    "prefill": Key("flag"),
}
_READER = {
    "name": Key("text", required=True),
    "title": Key("text", required=True),
    "example": Key("text"),
    **_LINE,
    "extends": Key("text"),
    "vision": Key("flag"),
    "detail": Key("text"),
    "billing": Key("rule"),
    "documents": Key("table"),
    "chars_per_token": Key("table", required=True),
    "tokenizer": Key("text", values=("o200k_base", "qwen3", "llama3", "claude-new", "claude-old")),
    "uncertain": Key("text"),
    "conflict": Key("text"),
    "evidence": Key("texts"),
    "trials": Key("tables"),
    "bounds": Key("table"),
    "peers": Key("tables"),
    "layouts": Key("table"),
    "lines": Key("tables"),
}
_STEP = {
    "input": Key("money", required=True),
    "cache_write": Key("money"),
    "cache_read": Key("money"),
    "output": Key("money"),
}
_PRICE = {**_STEP, "steps": Key("tables")}
_RATIO = {"value": Key("number", required=True), "basis": Key("text", required=True)}
_SHAPE = {
    "face": Key("text", required=True),
    "width": Key("count", required=True),
    "height": Key("count", required=True),
    "text_columns": Key("count"),
}
_DOCUMENTS = {"page_text": Key("count"), "page_tokens": Key("count"), "page_size": Key("size")}
_BOUNDS = {"max_side": Key("count", required=True), "why": Key("text", required=True)}
_PEER = {
    "size": Key("size", required=True),
    "who": Key("text", required=True),
    "glyphs": Key("text"),
    "cell": Key("size"),
}


def layout_files() -> list[Path]:
    """The layout files: the package's own, then those of the folders that SNAPSHOT_LAYOUTS names.

    Raises:
        LayoutError: the variable names a folder that is not there, or has no layout file.
    """
    files = sorted(locate("layouts").glob("*.toml"))
    for name in filter(None, os.environ.get(ENVIRONMENT, "").split(os.pathsep)):
        own = sorted(Path(name).glob("*.toml"))
        if not own:
            raise LayoutError(f"{name}: no folder with layout files (*.toml); named by {ENVIRONMENT}")
        files += own
    return files


def profiles() -> tuple[ModelProfile, ...]:
    """All readers, in order of files; a later one of the same name takes the place of the former.

    Raises:
        LayoutError: a file breaks the schema; the message names file, table and key.
    """
    return _load(stamped(layout_files()))


def stamped(files: list[Path]) -> tuple[tuple[Path, int], ...]:
    """Files with the time of their last change, to cache what was read of them by."""
    return tuple((path, path.stat().st_mtime_ns) for path in files)


@cache
def _load(files: tuple[tuple[Path, int], ...]) -> tuple[ModelProfile, ...]:
    found: dict[str, ModelProfile] = {}
    tables: dict[str, Mapping[str, Any]] = {}
    for path, _ in files:
        table = read_toml(path)
        if "gateways" in table:
            continue
        check(table, _FILE, path.name)
        for number, entry in enumerate(table["readers"], 1):
            where = f"{path.name}, reader {entry.get('name', number)}"
            whole = _extended(entry, tables, where)
            check(whole, _READER, where)
            tables[whole["name"]] = {**whole, "_rules": table.get("rules", {})}
            found[whole["name"]] = _reader(table, whole, where)
    return tuple(found.values())


def read_toml(path: Path) -> dict[str, Any]:
    """The tables of a TOML file.

    Raises:
        LayoutError: it is no TOML.
    """
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise LayoutError(f"{path.name}: {error}") from error


def _extended(
    entry: Mapping[str, Any], tables: Mapping[str, Mapping[str, Any]], where: str
) -> Mapping[str, Any]:
    """The entry with everything it does not give from the reader it extends."""
    base = entry.get("extends")
    if base is None:
        return entry
    if base not in tables:
        near = get_close_matches(str(base), tables, n=1)
        raise LayoutError(
            f"{where}: extends {base!r}, which is no reader"
            + (f" (did you mean {near[0]}?)" if near else f"; there are {', '.join(tables)}")
        )
    inherited = dict(tables[base])
    rules = inherited.pop("_rules")
    # Rules of the other file are named there only: written out, they need no name.
    if isinstance(inherited.get("billing"), str):
        inherited["billing"] = rules[inherited["billing"]]
    for holder in (inherited, *inherited.get("lines", ())):
        at = holder.get("billing_at", {})
        if any(isinstance(rule, str) for rule in at.values()):
            holder["billing_at"] = {k: rules[v] if isinstance(v, str) else v for k, v in at.items()}
    if "models" in entry and "lines" not in entry:
        inherited.pop("lines", None)
    return {**inherited, **entry}


def _reader(file: Mapping[str, Any], entry: Mapping[str, Any], where: str) -> ModelProfile:
    vision = entry.get("vision", True)
    if vision and "billing" not in entry:
        raise LayoutError(f"{where}: billing is missing; a reader without vision says vision = false")
    rules = file.get("rules", {})
    ratio = check(entry["chars_per_token"], _RATIO, f"{where}, chars_per_token")
    bounds = check(entry["bounds"], _BOUNDS, f"{where}, bounds") if "bounds" in entry else None
    peers = [check(peer, _PEER, f"{where}, peers") for peer in entry.get("peers", ())]
    shapes = {
        name: check(shape, _SHAPE, f"{where}, layout {name}")
        for name, shape in entry.get("layouts", {}).items()
    }
    if vision and "default" not in shapes:
        raise LayoutError(f"{where}: layouts has no default; `python -m benchmarks.solve` finds one")
    own = line_from(entry, rules, where)
    return ModelProfile(
        name=entry["name"],
        title=entry["title"],
        provider=file["provider"],
        models=own.models,
        vision=vision,
        billing=_rule(entry["billing"], rules, f"{where}, billing") if vision else None,
        chars_per_token=float(ratio["value"]),
        basis=ratio["basis"],
        as_of=file["as_of"],
        detail=entry.get("detail", ""),
        window=own.window,
        max_output=own.max_output,
        price=own.price,
        billing_at=own.billing_at,
        tokenizer=entry.get("tokenizer", ""),
        limits=own.limits,
        bounds=None if bounds is None else (bounds["max_side"], bounds["why"]),
        layouts={name: PageShape(**shape) for name, shape in shapes.items()},
        peers=tuple(
            Peer(
                width=peer["size"][0],
                height=peer["size"][1],
                who=peer["who"],
                glyphs=peer.get("glyphs", ""),
                cell=tuple(peer["cell"]) if "cell" in peer else None,
            )
            for peer in peers
        ),
        lines=tuple(
            line_from(check(line, _LINE, f"{where}, line {number}"), rules, f"{where}, line {number}")
            for number, line in enumerate(entry.get("lines", ()), 1)
        ),
        example=entry.get("example", ""),
        uncertain=entry.get("uncertain", ""),
        conflict=entry.get("conflict", ""),
        evidence=tuple(entry.get("evidence", ())),
        trials=tuple(
            trial_from(trial, f"{where}, trial {number}")
            for number, trial in enumerate(entry.get("trials", ()), 1)
        ),
        sources=tuple(file["sources"]),
        documents=_documents(entry.get("documents", {}), f"{where}, documents"),
        prefill=own.prefill is not False,
    )


def line_from(table: Mapping[str, Any], rules: Mapping[str, Any], where: str) -> ModelVariant:
    """The line of models that a checked table describes."""
    return ModelVariant(
        models=tuple(table["models"]),
        window=table.get("window", 0),
        max_output=table.get("max_output", 0),
        price=_price(table["price"], f"{where}, price") if "price" in table else None,
        limits=dict(check(table.get("limits", {}), LIMITS, f"{where}, limits")),
        billing_at={
            detail: _rule(rule, rules, f"{where}, billing_at {detail}")
            for detail, rule in table.get("billing_at", {}).items()
        },
        prefill=table.get("prefill"),
    )


def _documents(table: Mapping[str, Any], where: str) -> DocumentPricing:
    check(table, _DOCUMENTS, where)
    size = {"page_size": tuple(table["page_size"])} if "page_size" in table else {}
    return DocumentPricing(**{**table, **size})


def _rule(rule: str | Mapping[str, Any], rules: Mapping[str, Any], where: str) -> BillingRule:
    if isinstance(rule, str):
        if rule not in rules:
            raise LayoutError(
                f"{where}: {rule!r} is not one of [rules]: {', '.join(rules) or 'there are none'}"
            )
        return rule_from(rules[rule], where)
    return rule_from(rule, where)


def _price(table: Mapping[str, Any], where: str) -> Price:
    check(table, _PRICE, where)
    steps = [
        check(step, {**_STEP, "above": Key("count", required=True)}, f"{where}, steps")
        for step in table.get("steps", ())
    ]
    return replace(_amounts(table), steps=tuple((step["above"], _amounts(step)) for step in steps))


def _amounts(table: Mapping[str, Any]) -> Price:
    return Price(
        Decimal(table["input"]),
        money(table.get("cache_write")),
        money(table.get("cache_read")),
        money(table.get("output")),
    )
