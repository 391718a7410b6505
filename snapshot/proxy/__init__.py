"""A local server between a client and its provider that keeps requests within the model's window.

Whatever has a base URL to set needs nothing else: a request goes on as it came, byte for byte, and its answer
comes back so, streams included. Only one that would not fit, or that the provider refuses for its size, is
compacted (`snapshot.compact`, `snapshot.recover`) and sent again, once.

Its own modules: `apis` reads and rebuilds bodies, `identity` tells conversations apart, `store` keeps
archives, `compactor` decides, `forward` and `peek` carry bytes, `app` is the ASGI application, `overview` the
pages for people. It stands on Starlette, uvicorn and httpx (extra `proxy`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from snapshot._lazy import lazy_names

if TYPE_CHECKING:
    from snapshot.proxy.app import create_app
    from snapshot.proxy.settings import ProxySettings

_HOMES = {"ProxySettings": "settings", "create_app": "app"}

__all__ = ["ProxySettings", "create_app"]

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
