"""Gateways: who carries a model. The cells of pages follow the model, price and limits follow the gateway.

`layouts/gateways.toml` holds them; a user's file may add some (`[[gateways]]` in place of `[[readers]]`):

* `as_of`, `sources`
* `[[gateways]]`
    * `name`, `title`; `prefixes`: what stands before the first `/` of an id; `ids`: a regular expression that
      a whole id of this gateway matches
    * `prices`: "list" (the maker's) or "none" (not known); `limits`: in place of the maker's
    * `details`: image details that it passes on; all if absent
    * `follow`: the prefix only leads to another: what comes behind it decides
    * `text_only`: models that have no vision here, as patterns
    * `[[gateways.lines]]`: models that differ here, as the lines of a reader do
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
from snapshot.models.catalog import label, layout_files, line_from, place, read_toml, stamped
from snapshot.models.profile import ModelProfile, ModelVariant, best_match
from snapshot.models.schema import GatewayFile, GatewayTable, convert, shown

__all__ = [
    "DIRECT",
    "LONGEST_ID",
    "UNKNOWN",
    "Gateway",
    "gateway_named",
    "gateway_of",
    "gateways",
    "is_tag",
    "via_gateway",
]

DIRECT, UNKNOWN = "direct", "unknown"
LONGEST_ID = 300
"""Characters of the longest id that is looked at; no model's is half as long."""

_TAG = re.compile(r"(?:latest|instruct|text|free|batch|cloud|v?\d.*)?")


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
    near = get_close_matches(name[:80], names, n=1)
    raise LayoutError(
        f"no gateway {shown(name)}"
        + (f" (did you mean {near[0]}?)" if near else "")
        + f"; there are {', '.join(names)}"
    )


def gateway_of(model: str) -> tuple[Gateway, str]:
    """The gateway that a model id names, and the id behind its prefix.

    A prefix decides first, before the first `/`, or before a `:` as frameworks write it (`openai:gpt-5.1`);
    then the form of the id; an id without a prefix, or with its maker's, is the maker's own.
    """
    route = model.strip().lower()[:LONGEST_ID]
    if route.startswith("arn:"):
        route = route.rsplit("/", 1)[-1]
    known = gateways()
    direct = gateway_named(DIRECT)
    while True:
        head, rest = _split(route, known)
        gateway = next((item for item in known if head in item.prefixes), None)
        if gateway is None or (gateway is direct and _prefixed(rest, known) is None):
            break
        if gateway is not direct and not gateway.follow:
            return gateway, rest
        route = rest
    for item in known:
        if item.ids and re.fullmatch(item.ids, route):
            return item, route
    if not head or gateway is direct:
        return direct, rest
    return gateway_named(UNKNOWN), rest


def is_tag(text: str) -> bool:
    """Whether what stands behind a colon is a version or a tag of a model, and not a model."""
    return _TAG.fullmatch(text) is not None


def _prefixed(route: str, known: tuple[Gateway, ...]) -> Gateway | None:
    """The gateway whose prefix an id begins with, makers' own prefixes aside."""
    head, _ = _split(route, known)
    return next((item for item in known if item.name != DIRECT and head in item.prefixes), None)


def _split(route: str, known: tuple[Gateway, ...]) -> tuple[str, str]:
    """What stands before the first separator of an id, or "", and what stands behind it."""
    head, colon, rest = route.partition(":")
    if colon and "/" not in head and not is_tag(rest) and any(head in item.prefixes for item in known):
        return head, rest
    head, slash, rest = route.partition("/")
    return (head, rest) if slash else ("", route)


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
    limits = {**reader.limits, **gateway.limits}
    if gateway.name == UNKNOWN:
        limits = {name: min(value, reader.limits.get(name, value)) for name, value in limits.items()}
        reader = replace(reader, midway_system=False)
    text_only = best_match(key, ((model, True) for model in gateway.text_only))
    passed = gateway.details or tuple(reader.billing_at)
    carried = replace(
        reader,
        price=price,
        limits=limits,
        vision=reader.vision and not text_only,
        billing_at={detail: rule for detail, rule in reader.billing_at.items() if detail in passed},
        route=gateway.name,
    )
    return carried if line is None else carried.changed_by(line)


@cache
def _load(files: tuple[tuple[Path, int], ...]) -> tuple[Gateway, ...]:
    found: dict[str, Gateway] = {}
    for path, changed in files:
        raw = read_toml(path, changed)
        if "gateways" not in raw:
            continue
        for number, entry in enumerate(convert(raw, GatewayFile, label(path)).gateways, 1):
            table = convert(entry, GatewayTable, place(path, "gateway", entry, number))
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
