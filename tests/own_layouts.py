"""A layout file of one's own, for tests."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from snapshot.models.catalog import ENVIRONMENT


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], object]:
    """Writes a layout file of one's own, which holds from then on."""
    monkeypatch.setenv(ENVIRONMENT, str(tmp_path / "layouts"))
    (tmp_path / "layouts").mkdir()
    return lambda text: (tmp_path / "layouts" / "mine.toml").write_text(text, encoding="utf-8")
