"""The settings file: what stands in where neither the command line nor the session says it.

    # ~/.config/snapshot/settings.toml
    model = "claude-opus-4-8"
    layouts = ["~/layouts"]

It is looked for in `SNAPSHOT_SETTINGS`, else in the user's folder of configuration: `$XDG_CONFIG_HOME` or
`~/.config`, `%APPDATA%` on Windows.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from snapshot.errors import SnapshotError

__all__ = ["VARIABLE", "Settings", "settings", "settings_path"]

VARIABLE = "SNAPSHOT_SETTINGS"
_WHAT = {"model": "the id of a model, as text", "layouts": "a list of folders", "agents": "a file, as text"}


@dataclass(frozen=True, slots=True)
class Settings:
    """What a settings file says.

    Attributes:
        model: id of the model for sessions that name none.
        layouts: folders of layout files, for what SNAPSHOT_LAYOUTS and `--layouts` leave unsaid.
        agents: a file of agents of one's own, for what SNAPSHOT_AGENTS leaves unsaid.
    """

    model: str = ""
    layouts: tuple[str, ...] = ()
    agents: str = ""


def settings_path() -> Path:
    """Where the settings file is, or would be."""
    if told := os.environ.get(VARIABLE):
        return Path(told).expanduser()
    home = os.environ.get("APPDATA") if os.name == "nt" else os.environ.get("XDG_CONFIG_HOME")
    try:
        folder = Path(home).expanduser() if home else Path("~/.config").expanduser()
    except RuntimeError:  # there is no home
        folder = Path(".config")
    return folder / "snapshot" / "settings.toml"


def settings() -> Settings:
    """What the settings file says; nothing where there is none.

    Raises:
        SnapshotError: it cannot be read, is no TOML, or says what it must not; one line.
    """
    path = settings_path()
    try:
        text = path.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        if os.environ.get(VARIABLE):
            raise SnapshotError(f"{path}: no such file, though {VARIABLE} names it") from None
        return Settings()
    except (OSError, ValueError) as error:
        raise SnapshotError(f"{path}: {getattr(error, 'strerror', None) or error}") from error
    import tomllib

    try:
        table = tomllib.loads(text)
    except ValueError as error:
        raise SnapshotError(f"{path}: no TOML: {error}") from error
    return _checked(path, table)


def _checked(path: Path, table: Mapping[str, Any]) -> Settings:
    for key, value in table.items():
        if key not in _WHAT:
            from difflib import get_close_matches

            near = get_close_matches(key, _WHAT, n=1)
            hint = f"did you mean {near[0]!r}? " if near else ""
            raise SnapshotError(f"{path}: unknown setting {key!r}; {hint}there are {', '.join(_WHAT)}")
        texts = value if key == "layouts" and isinstance(value, list) else [value]
        good = isinstance(value, list) == (key == "layouts") and all(isinstance(one, str) for one in texts)
        if not good:
            raise SnapshotError(f"{path}: {key} has to be {_WHAT[key]}")
    folder = path.parent
    return Settings(
        str(table.get("model", "")),
        tuple(_beside(folder, one) for one in table.get("layouts", ())),
        _beside(folder, table["agents"]) if table.get("agents") else "",
    )


def _beside(folder: Path, name: str) -> str:
    """A path that is not absolute is one beside the settings file."""
    return str(folder / Path(name).expanduser())
