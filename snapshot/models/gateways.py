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

from snapshot.errors import LayoutError
from snapshot.models.catalog import layout_files, line_from, read_toml, stamped
from snapshot.models.profile import ModelProfile, ModelVariant, best_match
from snapshot.models.schema import GatewayFile, GatewayTable, convert

__all__ = ["Gateway", "gateway_named", "gateway_of", "gateways", "via_gateway"]

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
    for path, changed in files:
        raw = read_toml(path, changed)
        if "gateways" not in raw:
            continue
        for number, entry in enumerate(convert(raw, GatewayFile, path.name).gateways, 1):
            name = entry.get("name", number)
            where = f"{path.name}, gateway {name if isinstance(name, str) and name.isprintable() else number}"
            table = convert(entry, GatewayTable, where)
            found[table.name] = Gateway(
                name=table.name,
                title=table.title,
                prefixes=table.prefixes,
                ids=table.ids or "",
                prices=table.prices,
                follow=table.follow,
                limits=table.limits.given(),
                details=table.details,
                text_only=table.text_only,
                lines=tuple(map(line_from, table.lines)),
                surcharges=tuple((item.ids, Decimal(item.factor), item.models) for item in table.surcharges),
                uncertain=table.uncertain or "",
            )
    return tuple(found.values())
