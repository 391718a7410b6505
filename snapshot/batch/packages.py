"""The packages of the extra `batch`, imported where they are used."""

from __future__ import annotations

import logging
import os
from importlib import import_module
from typing import Any

from snapshot.errors import SnapshotError

__all__ = ["arrow", "daft", "filesystems", "parquet", "ray"]

# Daft and Ray report their use to their makers, and print progress of their own: neither is wanted here.
_QUIET = {
    "DO_NOT_TRACK": "true",
    "DAFT_ANALYTICS_ENABLED": "0",
    "DAFT_PROGRESS_BAR": "0",
    "RAY_USAGE_STATS_ENABLED": "0",
}


def arrow() -> Any:
    """The module `pyarrow`.

    Raises:
        SnapshotError: it is not installed.
    """
    return _module("pyarrow", "batch")


def parquet() -> Any:
    """The module `pyarrow.parquet`.

    Raises:
        SnapshotError: it is not installed.
    """
    return _module("pyarrow.parquet", "batch")


def filesystems() -> Any:
    """The module `pyarrow.fs`.

    Raises:
        SnapshotError: it is not installed.
    """
    return _module("pyarrow.fs", "batch")


def daft() -> Any:
    """The module `daft`, which reports nothing to anybody.

    Raises:
        SnapshotError: it is not installed.
    """
    for name in ("daft", "daft_io", "daft_local_execution"):  # what it has to say comes as an error, too
        logging.getLogger(name).setLevel(logging.CRITICAL)
    return _module("daft", "batch")


def ray() -> Any:
    """The module `ray`, which reports nothing to anybody.

    Raises:
        SnapshotError: it is not installed.
    """
    return _module("ray", "ray")


def _module(name: str, extra: str) -> Any:
    for variable, value in _QUIET.items():
        os.environ.setdefault(variable, value)
    try:
        return import_module(name)
    except ImportError as error:
        raise SnapshotError(f"{name} is not installed: pip install 'snapshot-pages[{extra}]'") from error
