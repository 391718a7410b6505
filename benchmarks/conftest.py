"""Benchmarks run alone: several at once would measure each other."""

from __future__ import annotations

import pytest


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """No worker processes where the folder of benchmarks is asked for."""
    return 0
