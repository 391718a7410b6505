"""Fixtures shared by the tests: settings that stay open, and the data the tests read."""

from __future__ import annotations

import atexit
import gc
import importlib.util
import json
import math
import os
import random
import shutil
import tempfile
import time

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before NumPy: threads that wait for each other are slow
if os.environ.get("SNAPSHOT_TEST_WITHOUT_NUMBA"):
    from tests.without_numba import hide

    hide()
# What is kept from run to run lies where it is in nobody's way.
os.environ["SNAPSHOT_CACHE"] = tempfile.mkdtemp(prefix="snapshot-tests-")
# Processes that tests start, and the next run, need not compile the package and the tests again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
os.environ.pop("COLUMNS", None)  # what is printed is not folded to the terminal that the tests run in

from collections import Counter
from collections.abc import Generator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from PIL import Image

from snapshot.pages.layout import Layout, layout_for
from snapshot.pages.readback import PageReader, ReadPage
from snapshot.pages.render import Page, Typesetter
from snapshot.raster.atlas import atlas_for
from snapshot.raster.face import load_face
from snapshot.raster.glyph_text import INKS
from snapshot.source.marks import END, PAD, PAGE_MARKS
from snapshot.source.source import Source

atexit.register(shutil.rmtree, os.environ["SNAPSHOT_CACHE"], ignore_errors=True)


def _has_numba() -> bool:
    try:
        return importlib.util.find_spec("numba") is not None
    except ModuleNotFoundError:  # it is hidden
        return False


needs_numba = pytest.mark.skipif(not _has_numba(), reason="numba is not installed, or hidden")

# The default run tries the same examples on every machine, so that what lands is what was tried. They are two
# thirds of what a test names: CI tries all of them with examples of its own.
_EXAMPLES = 60
settings.register_profile(
    "default",
    deadline=None,
    derandomize=True,
    max_examples=_EXAMPLES * 2 // 3,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
# Other examples at each run, or those of `--hypothesis-seed`; and more of them. That too many were too
# large or did not fit is bad luck, and no fault.
settings.register_profile(
    "random",
    settings.get_profile("default"),
    derandomize=False,
    max_examples=_EXAMPLES,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
)
settings.register_profile("long", settings.get_profile("random"), max_examples=300)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


# Seconds after which what is left is skipped: in an order by the seed, so that all have their turn in time.
_SECONDS = float(os.environ.get("SNAPSHOT_TEST_SECONDS", "inf"))
_begun: list[float] = []  # when the first test did


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Thousands of tests are made at once and stay: the collector of garbage is not to look through them,
    and through what they keep not every second."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(5_000, 20, 50)
        gc.enable()


@pytest.hookimpl(tryfirst=True)  # before tests are chosen by their marks
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    seen: Counter[str] = Counter()
    for item in items:
        if (mark := item.get_closest_marker("sampled")) is not None:
            name = item.nodeid.partition("[")[0]
            if seen[name] % mark.args[0]:
                item.add_marker(pytest.mark.slow)
            seen[name] += 1
    if math.isfinite(_SECONDS):
        random.Random(str(config.getoption("--hypothesis-seed", None))).shuffle(items)


def pytest_runtest_setup() -> None:
    _begun[:] = _begun or [time.monotonic()]
    if time.monotonic() - _begun[0] > _SECONDS:
        pytest.skip("its turn did not come in the time that there is")


def examples(count: int) -> int:
    """Examples of a test that names `count`: fewer in the default run, more in the longer one."""
    return max(1, count * settings().max_examples // _EXAMPLES)


HERE = Path(__file__).parent
LAYOUTS = (
    "claude-high", "claude-high/dense", "claude-fable", "claude-fable/dense", "claude-standard",
    "claude-standard/dense", "gemini-3", "gemini-3/dense", "gpt-patch", "gpt-patch/dense",
    "claude-standard/lines", "gemini-3/lines",
)  # fmt: skip
# Real runs: one is in the repository, others may lie beside it.
_BESIDE = HERE.parents[1] / "shared" / "transcripts"
_RUNS = (HERE / "data" / "ytt-start.claude-stream.jsonl", *sorted(_BESIDE.glob("*.*.json*")))
REAL = tuple(path.name for path in _RUNS)


def small_window(run: str) -> int:
    """A context window in tokens that a real run outgrows and is compacted into with pages."""
    if run == _RUNS[0].name:
        return 36_000
    return 62_000 if run.startswith("kombu") else 60_000


def small(columns: int, rows: int, name: str = "claude-standard") -> Layout:
    """A layout with pages of so many cells: everything happens at its edges."""
    layout = layout_for(name=name)
    if layout.text_columns and columns < 43:
        layout = replace(layout, text_columns=1)
    elif layout.text_columns and columns < 66:
        layout = replace(layout, text_columns=2)
    return replace(layout, width=columns * layout.cell[0], height=rows * layout.cell[1])


def read_back(setting: Typesetter, source: Source, pages: list[Page]) -> list[ReadPage]:
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
def real(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files of `REAL`."""
    folder = tmp_path_factory.mktemp("real")
    for path in _RUNS:
        shutil.copyfile(path, folder / path.name)
    return folder


def small_face(path: Path, cell: tuple[int, int]) -> None:
    """A face file at `path` for any cell: ASCII and marks of the 8×16 face, shrunk, as drawn glyphs."""
    face = load_face("fira-8x16")
    atlas = atlas_for(face)
    lines = []
    taken: set[bytes] = set()
    codes = [*range(33, 127), *map(ord, PAGE_MARKS), ord(PAD), ord(END)]
    for code in codes:
        number = {ord(PAD): atlas.pad, ord(END): atlas.end}.get(code, int(atlas.glyphs[code]))
        grey = Image.fromarray(atlas.ink[number] * np.uint8(85)).resize(cell, Image.Resampling.BOX)
        ink = (np.asarray(grey).astype(int) * 3 + 127) // 255
        # No two characters share pixels, however small they are.
        for at in range(ink.size):
            if ink.any() and ink.tobytes() not in taken:
                break
            ink = ink.copy()
            ink.reshape(-1)[-1 - at] = 3 - ink.reshape(-1)[-1 - at]
        taken.add(ink.tobytes())
        lines += [f"= U+{code:04X}", *("".join(INKS[level] for level in row) for row in ink)]
    path.with_suffix(".txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    path.write_text(
        f'title = "small"\npath = "{face.path}"\naxes = [500]\npixel_size = [{cell[0]}, {cell[0]}]\n'
        f'hinting = "light"\ncell = [{cell[0]}, {cell[1]}]\nbaseline = {cell[1] * 3 // 4}\nlevels = 4\n'
        f'drawn = "{path.stem}.txt"\n',
        encoding="utf-8",
    )
