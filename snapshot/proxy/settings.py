"""What a proxy is started with."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from urllib.parse import urlsplit

from snapshot import SnapshotError

__all__ = ["UPSTREAMS", "ProxySettings", "default_store"]

UPSTREAMS: Mapping[str, str] = {
    "anthropic": "https://api.anthropic.com",
    "openai": "https://api.openai.com",
    "gemini": "https://generativelanguage.googleapis.com",
}
"""Where a request goes, by the form of its path and headers, unless one is told otherwise."""

_VARIABLE = "SNAPSHOT_PROXY_SETTINGS"


def default_store() -> Path:
    """The file for archives where none is named: in the user's folder for state."""
    state = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(state) / "snapshot" / "proxy.sqlite"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxySettings:
    """Settings of a proxy.

    Attributes:
        store: path of the SQLite file for archives.
        upstreams: base URL for each of `UPSTREAMS`; the client's path is put behind it.
        upstream: one base URL for all requests, "" to choose by form.
        window: tokens of the model's window; 0: what the layout files know.
        threshold: from where on a request is compacted: a share of what is safe up to 1, or tokens.
        target: what it comes down to, likewise.
        like: for names that say nothing, as deployments have, the model that stands behind them; "" is for
            every name that is not known.
        max_body: bytes of a request that is read; a larger one is refused.
        keep_days: days that an archive is kept after its last use.
        public: whether the pages for people are shown to other machines.

    Raises:
        SnapshotError: a URL that is none.
    """

    store: str
    upstreams: Mapping[str, str] = field(default_factory=lambda: dict(UPSTREAMS))
    upstream: str = ""
    window: int = 0
    threshold: float = 1.0
    target: float = 0.5
    like: Mapping[str, str] = field(default_factory=dict[str, str])
    max_body: int = 64 << 20
    keep_days: int = 30
    public: bool = False

    def __post_init__(self) -> None:
        for url in (*self.upstreams.values(), *filter(None, [self.upstream])):
            parts = urlsplit(url)
            if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
                raise SnapshotError(f"{url!r} is no base URL: https://HOST, with a path if there is one")

    def behind(self, model: str) -> str:
        """The model that stands behind a name."""
        return self.like.get(model, model)

    def export(self) -> None:
        """Leave the settings to the processes that are started from here."""
        os.environ[_VARIABLE] = json.dumps(asdict(self))

    @classmethod
    def exported(cls) -> ProxySettings:
        """The settings that the process which started this one has left."""
        given = json.loads(os.environ[_VARIABLE])
        return cls(**{item.name: given[item.name] for item in fields(cls)})
