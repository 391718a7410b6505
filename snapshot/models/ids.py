"""Model ids: what an id names, however a provider, gateway or framework writes it."""

from __future__ import annotations

import re
from dataclasses import replace
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path

from snapshot.errors import LayoutError
from snapshot.models.catalog import layout_files, profiles, stamped
from snapshot.models.gateways import (
    DIRECT,
    LONGEST_ID,
    UNKNOWN,
    Gateway,
    gateway_named,
    gateway_of,
    is_tag,
    via_gateway,
)
from snapshot.models.profile import UNKNOWN as UNKNOWN_MODEL
from snapshot.models.profile import ModelProfile, best_match
from snapshot.models.schema import shown

__all__ = ["id_like", "model_key", "profile_for", "unknown_profile"]

# A tag that names the size of a model, and with it the model: `qwen3:8b` is `qwen3-8b`.
_SIZE = re.compile(r"[a-z]?\d+(?:\.\d+)?(?:x\d+)?b(?![a-z0-9]).*")
# Models that an error names as known.
_NAMED = 5


def profile_for(model: str, *, gateway: str | None = None, like: str | None = None) -> ModelProfile:
    """The reader that a model id names, with the window, prices and limits of its line and its gateway.

    Args:
        model: a model id of any route: `claude-opus-4-8`, `openai:gpt-5.1`, `us.anthropic.claude-opus-4-8`,
            `llama3.1:8b`, …
        gateway: who carries it, where its id does not say so: a name or prefix of a gateway.
        like: the id of the model that stands behind a name that says nothing, as deployments at Azure have.
            The gateway is that of `model` where its id names one, otherwise that of `like`.

    Raises:
        LayoutError: the model is not known, or there is no such gateway.
    """
    _check(model)
    return _profile(model, gateway, like, stamped(layout_files()))


@lru_cache(maxsize=256)
def _profile(
    model: str,
    gateway: str | None,
    like: str | None,
    files: tuple[tuple[Path, int], ...],  # noqa: ARG001 -- what it is known from: part of the cache's key
) -> ModelProfile:
    if like is not None:
        return _like(model, like, gateway)
    by_id, rest = gateway_of(model)
    chosen = by_id if gateway is None else gateway_named(gateway)
    key = model_key(model)
    reader = _reader(model, key)
    if reader is not None:
        return via_gateway(reader.for_variant(key), chosen, key, rest)
    host, colon, behind = model.strip().partition(":")
    if colon and "/" not in host and not is_tag(behind):
        # A framework's name for a host that is not known.
        try:
            return profile_for(f"{host}/{behind}", gateway=gateway)
        except LayoutError:
            pass
    known = sorted({pattern.rstrip("*-") for reader in profiles() for pattern in reader.models})
    near = get_close_matches(key[:80], known, n=1)
    first = [reader.models[0].rstrip("*-") for reader in profiles() if reader.vision]
    at = "" if chosen.name == DIRECT else f" at {chosen.title}"
    raise LayoutError(
        f"no layout is known for model {shown(model)}{at}"
        + (f" (did you mean {near[0]}?)" if near else "")
        + f"; known are {', '.join(first[:_NAMED])} and more (`snapshot layouts`); say which of them it is "
        "like (like, --like), choose a layout (--layout), or give its window (--window) and do without pages"
    )


def unknown_profile(model: str, *, window: int, gateway: str | None = None) -> ModelProfile:
    """A profile for a model of which nothing is known but its window: text only, and its tokens dear.

    Args:
        model: its id.
        window: its context window in tokens.
        gateway: who carries it, where its id does not say so.

    Raises:
        LayoutError: no id or window of a sensible size, or there is no such gateway.
    """
    _check(model)
    if type(window) is not int or not 0 < window <= 10**9:
        raise LayoutError(
            f"window is {shown(window)}, it must be a whole number of tokens from 1 to 1,000,000,000"
        )
    by_id, rest = gateway_of(model)
    chosen = by_id if gateway is None else gateway_named(gateway)
    dearest = min(profiles(), key=lambda reader: reader.chars_per_token)
    plain = ModelProfile(
        name=UNKNOWN_MODEL,
        title=f"nothing is known of {shown(model)}",
        provider="unknown",
        models=(model_key(model),),
        vision=False,
        billing=None,
        chars_per_token=dearest.chars_per_token,
        basis=f"not known; the dearest of those that are known ({dearest.name}) is taken",
        as_of=dearest.as_of,
        window=window,
        rates=dearest.tokenizer or dearest.rates,
        prefill=False,  # what every model takes
        uncertain="nothing is known of this model but the window that was given",
    )
    return replace(via_gateway(plain, chosen, "", rest), window=window)


def id_like(model: str, like: str) -> str:
    """An id that says by itself what `model` with `like` says: `azure/my-deployment` like `gpt-5.1` is
    `azure/gpt-5.1`.

    Raises:
        LayoutError: `like` is not known.
    """
    profile_for(like)
    gateway, _ = gateway_of(model)
    if not model or gateway.name in (DIRECT, UNKNOWN):
        return like
    return f"{gateway.prefixes[0]}/{gateway_of(like)[1]}"


def model_key(model: str) -> str:
    """A model id without what routes add to it: `us.anthropic.claude-opus-4-8-v1:0` → `claude-opus-4-8`.

    Lower case, `-` for `.`, and without: provider prefixes (`vendor/`, `vendor:`, `vendor.`, regions,
    `databricks-`), versions, tags and dates behind `@` or `:`, `[1m]`, `-v1`, `-maas`, `-latest` and the date
    of a snapshot. A tag that names a size stays (`llama3.1:8b` → `llama3-1-8b`).
    """
    key = gateway_of(model)[1].rsplit("/", 1)[-1]
    key, _, tag = key.partition(":")
    key = re.split(r"[@\[]", key, maxsplit=1)[0]
    key = re.sub(r"^(?:[a-z][a-z-]*\.)+", "", key)
    if _SIZE.fullmatch(tag):
        key = f"{key}-{tag}"
    key = re.sub(r"^(?:databricks|global)-", "", key).replace(".", "-")
    return re.sub(r"(?:-v\d+|-maas|-latest|-default|-\d{8}|-\d{4}-\d{2}-\d{2})+$", "", key)


def _check(model: object) -> None:
    if not isinstance(model, str):
        raise LayoutError(f"a model id is text, not {shown(model)}")
    if len(model) > LONGEST_ID:
        raise LayoutError(
            f"no model has an id of {len(model):,} characters; this one begins {shown(model[:40])}"
        )


def _reader(model: str, key: str) -> ModelProfile | None:
    # A host that bills a model in its own way has patterns of its own, with its prefix.
    host = re.split(r"[/:]", model.strip().lower(), maxsplit=1)[0]
    return best_match(
        f"{host}/{key}",
        ((pattern, reader) for reader in profiles() for pattern in reader.models if "/" in pattern),
    ) or best_match(key, ((pattern, reader) for reader in profiles() for pattern in reader.models))


def _like(model: str, like: str, gateway: str | None) -> ModelProfile:
    _check(model)
    known = profile_for(like)  # that it is known, in its own words
    named, rest = gateway_of(model)
    behind, behind_rest = gateway_of(like)
    chosen: Gateway
    if gateway is not None:
        chosen = gateway_named(gateway)
    elif named.name in (DIRECT, UNKNOWN):
        chosen, rest = behind, behind_rest
    else:
        chosen = named
    key = model_key(like)
    reader = _reader(like, key)
    assert reader is not None, known
    return via_gateway(reader.for_variant(key), chosen, key, rest)
