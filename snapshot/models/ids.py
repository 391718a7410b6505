"""Model ids: what an id names, however a provider or gateway writes it."""

from __future__ import annotations

import re
from difflib import get_close_matches

from snapshot.errors import LayoutError
from snapshot.models.catalog import profiles
from snapshot.models.gateways import gateway_named, gateway_of, via_gateway
from snapshot.models.profile import ModelProfile, best_match

__all__ = ["model_key", "profile_for"]


def profile_for(model: str, *, gateway: str | None = None) -> ModelProfile:
    """The reader that a model id names, with the window, prices and limits of its line and its gateway.

    Args:
        model: a model id of any route.
        gateway: who carries it, where its id does not say so: a name or prefix of a gateway.

    Raises:
        LayoutError: the model is not known, or there is no such gateway.
    """
    by_id, rest = gateway_of(model)
    chosen = by_id if gateway is None else gateway_named(gateway)
    key = model_key(model)
    # A host that bills a model in its own way has patterns of its own, with its prefix.
    host = model.strip().lower().partition("/")[0]
    reader = best_match(
        f"{host}/{key}",
        ((pattern, reader) for reader in profiles() for pattern in reader.models if "/" in pattern),
    ) or best_match(key, ((pattern, reader) for reader in profiles() for pattern in reader.models))
    if reader is not None:
        return via_gateway(reader.for_variant(key), chosen, key, rest)
    known = sorted({pattern.rstrip("*-") for reader in profiles() for pattern in reader.models})
    near = get_close_matches(key, known, n=1)
    first = [reader.models[0].rstrip("*-") for reader in profiles() if reader.vision]
    at = "" if chosen.name == "direct" else f" at {chosen.title}"
    raise LayoutError(
        f"no layout is known for model {model!r}{at}"
        + (f" (did you mean {near[0]}?)" if near else "")
        + f"; known are {', '.join(first)} and more (`snapshot layouts`); or choose a layout with --layout"
    )


def model_key(model: str) -> str:
    """A model id without what routes add to it: `us.anthropic.claude-opus-4-8-v1:0` → `claude-opus-4-8`.

    Lower case, `-` for `.`, and without: provider prefixes (`vendor/`, `vendor.`, regions, `databricks-`),
    versions and dates behind `@` or `:`, `[1m]`, `-v1`, `-maas`, `-latest` and the date of a snapshot.
    """
    key = model.strip().lower().rsplit("/", 1)[-1]
    key = re.split(r"[@:\[]", key, maxsplit=1)[0]
    key = re.sub(r"^(?:[a-z][a-z-]*\.)+", "", key)
    key = re.sub(r"^(?:databricks|global)-", "", key).replace(".", "-")
    return re.sub(r"(?:-v\d+|-maas|-latest|-default|-\d{8}|-\d{4}-\d{2}-\d{2})+$", "", key)
