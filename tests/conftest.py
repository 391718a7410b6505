"""Fixtures shared by the tests: settings that stay open, and the data the tests read."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from snapshot.layout import Layout, layout_for
from snapshot.legibility.readback import PageReader, ReadPage
from snapshot.pages import Page, Setting
from snapshot.source import Source

settings.register_profile(
    "default", deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow]
)
# CI tries the same examples at every run, so that what lands is what was tried; new ones are tried by people.
settings.register_profile("ci", settings.get_profile("default"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "default")

HERE = Path(__file__).parent
LAYOUTS = (
    "claude-high", "claude-high/dense", "claude-standard", "claude-standard/dense",
    "gemini-3", "gemini-3/dense", "gpt-patch", "gpt-patch/dense", "claude-standard/lines", "gemini-3/lines",
)  # fmt: skip
REAL = ("httpx.atif.json", "kombu.claude-stream.jsonl", "ytt.claude-stream.jsonl")


def small(columns: int, rows: int, name: str = "claude-standard") -> Layout:
    """A layout with pages of so many cells: everything happens at its edges."""
    layout = layout_for(name=name)
    if layout.text_columns and columns < 43:
        layout = replace(layout, text_columns=1)
    elif layout.text_columns and columns < 66:
        layout = replace(layout, text_columns=2)
    return replace(layout, width=columns * layout.cell[0], height=rows * layout.cell[1])


def read_back(setting: Setting, source: Source, pages: list[Page]) -> list[ReadPage]:
    """What each page says, from its pixels."""
    reader = PageReader(setting.layout, setting.atlas(source))
    return [reader.read(page.png) for page in pages]


def case(name: str) -> Path:
    """Folder of a case, by its number."""
    return next((HERE / "cases").glob(f"{name}-*"))


def tool_results(messages: list[dict[str, Any]]) -> list[str]:
    """The texts of all tool results in Anthropic or OpenAI messages."""
    found = []
    for message in messages:
        blocks = message["content"] if isinstance(message["content"], list) else [message]
        found += [
            block["content"]
            for block in blocks
            if isinstance(block, dict)
            and (block.get("type") == "tool_result" or block.get("role") == "tool")
            and isinstance(block["content"], str)
        ]
    return found


def case_results(name: str) -> list[str]:
    """The texts of the tool results of a case's `input.json`."""
    return tool_results(json.loads((case(name) / "input.json").read_text(encoding="utf-8")))


@pytest.fixture(scope="session")
def real() -> Path:
    """The folder of real transcripts, kept beside the repository and not in it."""
    folder = HERE.parents[1] / "shared" / "transcripts"
    if not folder.is_dir():
        pytest.skip("real transcripts are not in the repository, and not beside it here")
    return folder
