"""Gateways: who carries a model. The shape of pages follows the model, price and limits follow the gateway.

`layouts/gateways.toml` holds them; a user's file may add some (`[[gateways]]` in place of `[[readers]]`):

* `as_of`, `sources`
* `[[gateways]]`
    * `name`, `title`; `prefixes`: what stands before the first `/` of an id; `ids`: a regular expression that
      a whole id of this gateway matches
    * `prices`: "list" (the maker's) or "none" (not known); `limits`: in place of the maker's
    * `details`: image details that it passes on; all if absent
    * `follow`: the prefix only leads to another: what comes behind it decides
    * `text_only`: models that have no vision here, as patterns
    * `[[gateways.lines]]`: models that differ here: `models`, `window`, `max_output`, `price`
    * `[[gateways.surcharges]]`: `ids` (a regular expression for the id behind the prefix), `factor`, and
      `models` it holds for (all if absent)
    * `uncertain`: a sentence on figures that are not certain

What is answered where something is not known:

* a model that is not known at a gateway that is: no layout (the error names the gateway), but where the
  caller names one, the gateway's limits hold for it, and there is no price;
* a model that is known at a gateway that is not (`host/claude-opus-4-8`): the model's own layout, under the
  strictest limits that any known gateway has (the entry `unknown`), and no price.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from difflib import get_close_matches
from functools import cache
from pathlib import Path

from snapshot.models.profile import ModelProfile, ModelVariant, best_match

from snapshot.errors import LayoutError
from snapshot.models.catalog import LIMITS, layout_files, line_from, read_toml, stamped
from snapshot.models.schema import Key, check

__all__ = ["Gateway", "via_gateway", "gateway_named", "gateway_of", "gateways"]

_FILE = {
    "as_of": Key("date", required=True),
    "sources": Key("texts", required=True),
    "gateways": Key("tables", required=True),
}
_GATEWAY = {
    "name": Key("text", required=True),
    "title": Key("text", required=True),
    "prefixes": Key("texts", required=True),
    "ids": Key("pattern"),
    "prices": Key("text", required=False, values=("list", "none")),
    "follow": Key("flag"),
    "limits": Key("table"),
    "details": Key("texts"),
    "text_only": Key("texts"),
    "lines": Key("tables"),
    "surcharges": Key("tables"),
    "uncertain": Key("text"),
}
_LINE = {
    "models": Key("texts", required=True),
    "window": Key("count"),
    "max_output": Key("count"),
    "price": Key("table"),
}
_SURCHARGE = {
    "ids": Key("pattern", required=True),
    "factor": Key("money", required=True),
    "models": Key("texts"),
}
_DIRECT, _UNKNOWN = "direct", "unknown"


@dataclass(frozen=True, slots=True)
class Gateway:
    """A gateway; the fields are those of the file."""

    name: str
    title: str
    prefixes: tuple[str, ...]
    ids: str
    prices: str
    follow: bool
    limits: Mapping[str, int]
    details: tuple[str, ...]
    text_only: tuple[str, ...]
    lines: tuple[ModelVariant, ...]
    surcharges: tuple[tuple[str, Decimal, tuple[str, ...]], ...]
    uncertain: str


def gateways() -> tuple[Gateway, ...]:
    """All gateways, in order of files; a later one of the same name takes the place of the former.

    Raises:
        LayoutError: a file breaks the schema.
    """
    return _load(stamped(layout_files()))


def gateway_named(name: str) -> Gateway:
    """The gateway of this name, or with this prefix.

    Raises:
        LayoutError: there is none.
    """
    for gateway in gateways():
        if name == gateway.name or name in gateway.prefixes:
            return gateway
    names = [gateway.name for gateway in gateways()]
    near = get_close_matches(name, names, n=1)
    raise LayoutError(
        f"no gateway {name!r}"
        + (f" (did you mean {near[0]}?)" if near else "")
        + f"; there are {', '.join(names)}"
    )


def gateway_of(model: str) -> tuple[Gateway, str]:
    """The gateway that a model id names, and the id behind its prefix.

    A prefix decides first, then the form of the id; an id without a prefix, or with its maker's, is the
    maker's own.
    """
    route = model.strip().lower()
    known = gateways()
    head, slash, rest = route.partition("/")
    for gateway in known:
        if slash and gateway.name != _DIRECT and head in gateway.prefixes:
            return gateway_of(rest) if gateway.follow else (gateway, rest)
    for gateway in known:
        if gateway.ids and re.fullmatch(gateway.ids, route):
            return gateway, route
    direct = gateway_named(_DIRECT)
    if not slash or head in direct.prefixes:
        return direct, rest or route
    return gateway_named(_UNKNOWN), rest


def via_gateway(reader: ModelProfile, gateway: Gateway, key: str, rest: str) -> ModelProfile:
    """`reader` as `gateway` carries the model with this key.

    Args:
        reader: with the figures of its own provider.
        gateway: who carries it.
        key: the model, as `model_key` writes it; "" where it is not known.
        rest: the id behind the gateway's prefix.
    """
    line = best_match(key, ((pattern, line) for line in gateway.lines for pattern in line.models))
    price = reader.price if gateway.prices == "list" and key else None
    for ids, factor, models in gateway.surcharges:
        applies = best_match(key, ((model, True) for model in models)) if models else True
        if price is not None and applies and re.fullmatch(ids, rest):
            price = price.times(factor)
            break
    if line is not None and line.price is not None:
        price = line.price
    limits = {**reader.limits, **gateway.limits}
    if gateway.name == _UNKNOWN:
        limits = {name: min(value, reader.limits.get(name, value)) for name, value in limits.items()}
    text_only = best_match(key, ((model, True) for model in gateway.text_only))
    passed = gateway.details or tuple(reader.billing_at)
    return replace(
        reader,
        window=(line.window if line else 0) or reader.window,
        max_output=(line.max_output if line else 0) or reader.max_output,
        price=price,
        limits=limits,
        vision=reader.vision and not text_only,
        billing_at={detail: rule for detail, rule in reader.billing_at.items() if detail in passed},
        route=gateway.name,
    )


@cache
def _load(files: tuple[tuple[Path, int], ...]) -> tuple[Gateway, ...]:
    found: dict[str, Gateway] = {}
    for path, _ in files:
        table = read_toml(path)
        if "gateways" not in table:
            continue
        check(table, _FILE, path.name)
        for number, entry in enumerate(table["gateways"], 1):
            where = f"{path.name}, gateway {entry.get('name', number)}"
            check(entry, _GATEWAY, where)
            surcharges = [
                check(item, _SURCHARGE, f"{where}, surcharges") for item in entry.get("surcharges", ())
            ]
            found[entry["name"]] = Gateway(
                name=entry["name"],
                title=entry["title"],
                prefixes=tuple(entry["prefixes"]),
                ids=entry.get("ids", ""),
                prices=entry.get("prices", "none"),
                follow=entry.get("follow", False),
                limits=dict(check(entry.get("limits", {}), LIMITS, f"{where}, limits")),
                details=tuple(entry.get("details", ())),
                text_only=tuple(entry.get("text_only", ())),
                lines=tuple(
                    line_from(check(line, _LINE, f"{where}, line {at}"), {}, f"{where}, line {at}")
                    for at, line in enumerate(entry.get("lines", ()), 1)
                ),
                surcharges=tuple(
                    (item["ids"], Decimal(item["factor"]), tuple(item.get("models", ())))
                    for item in surcharges
                ),
                uncertain=entry.get("uncertain", ""),
            )
    return tuple(found.values())
