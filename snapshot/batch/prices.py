"""Prices for a whole batch, in the form of LiteLLM's public cost map: a JSON object of models.

The installed package carries the map as a file, which is read as such: nothing of the package is imported,
and nothing is fetched.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from importlib.util import find_spec
from pathlib import Path
from typing import Any, cast

from snapshot.errors import SnapshotError

__all__ = ["PriceTable", "litellm_prices", "price_in", "read_prices"]

_MAP = "model_prices_and_context_window_backup.json"
_KEYS = (
    "input_cost_per_token",
    "cache_creation_input_token_cost",
    "cache_read_input_token_cost",
    "output_cost_per_token",
)
_MILLION = Decimal(1_000_000)


@dataclass(frozen=True, slots=True)
class PriceTable:
    """Prices by model.

    Attributes:
        name: where they come from, with a date.
        prices: for each model id USD per million tokens of input, written to the cache, read from it, and of
            output, as decimal text; None where there is none. Prices are those of short prompts.
    """

    name: str
    prices: Mapping[str, tuple[str | None, ...]]


def read_prices(path: str | Path) -> PriceTable:
    """The prices in a JSON file: `{"MODEL": {"input_cost_per_token": 5e-06, …}, …}`, in USD.

    Raises:
        SnapshotError: it cannot be read, or has no model with a price in it.
    """
    path = Path(path)
    try:
        data = path.read_bytes()
        changed = _day(path)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise SnapshotError(f"{path}: {reason}; name a JSON file of prices") from error
    return PriceTable(f"{path.name} of {changed}", _prices(data, str(path)))


def litellm_prices() -> PriceTable:
    """The prices of the installed LiteLLM, by its name, version and the day it was installed.

    Raises:
        SnapshotError: it is not installed, or its map is not where it was.
    """
    from importlib.metadata import version

    found = find_spec("litellm")
    if found is None or not found.submodule_search_locations:
        raise SnapshotError("--prices litellm: it is not installed: pip install 'snapshot-pages[litellm]'")
    path = Path(found.submodule_search_locations[0]) / _MAP
    try:
        data = path.read_bytes()
        name = f"litellm {version('litellm')}, installed {_day(path)}"
    except OSError as error:
        raise SnapshotError(f"--prices litellm: {path}: {error.strerror}; name a file of prices") from error
    return PriceTable(name, _prices(data, str(path)))


def price_in(prices: Mapping[str, Sequence[str | None]], model: str) -> Sequence[str | None] | None:
    """The price of a model by its id, or by the id without the route before its last `/`; None if unknown."""
    return prices.get(model) or prices.get(model.rpartition("/")[2])


def _day(path: Path) -> str:
    return datetime.fromtimestamp(path.stat().st_mtime, UTC).date().isoformat()


def _prices(data: bytes, path: str) -> dict[str, tuple[str | None, ...]]:
    try:
        table = json.loads(data, parse_float=Decimal, parse_int=Decimal)
    except (ValueError, RecursionError) as error:
        raise SnapshotError(f"{path}: no JSON ({error}); name a JSON file of prices") from error
    if not isinstance(table, dict):
        raise SnapshotError(f"{path}: no object of models")
    found: dict[str, tuple[str | None, ...]] = {}
    for model, entry in cast("dict[str, Any]", table).items():
        values = cast("dict[str, Any]", entry) if isinstance(entry, dict) else {}
        if isinstance(values.get(_KEYS[0]), Decimal) and values[_KEYS[0]] > 0:
            found[model] = tuple(_per_million(values.get(key)) for key in _KEYS)
    if not found:
        raise SnapshotError(f"{path}: no model with an input_cost_per_token in it")
    return found


def _per_million(value: object) -> str | None:
    return f"{(value * _MILLION).normalize():f}" if isinstance(value, Decimal) else None
