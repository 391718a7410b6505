"""What is installed is what works: the wheel, in an environment of its own, from a foreign folder."""

from __future__ import annotations

import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

from tests.conftest import HERE

ROOT = HERE.parent


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-cache-dir", "-w", folder, ROOT],
        check=True,
    )
    return next(folder.glob("*.whl"))


@pytest.mark.slow
def test_the_wheel_holds_one_import_package(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0] for name in names if ".dist-info" not in name} == {"snapshot"}
    for wanted in (
        "cli.py",
        "py.typed",
        "pages/manifest.schema.json",
        "typeset/graphemes.txt",
        "layouts/anthropic.toml",
        "fonts/drawn-8x16.txt",
        "fonts/emoji-names.txt",
        "fonts/noto-world.toml",
        "fonts/drawn-7x13.toml",
        "view/view.html",
        "view/view.css",
        "view/pages.js",
        "view/resample.js",
        "view/room.js",
        "view/search.js",
    ):
        assert f"snapshot/{wanted}" in names


@pytest.mark.slow
def test_the_installed_command_renders(wheel, tmp_path):
    home = tmp_path / "env"
    venv.create(home, system_site_packages=False, with_pip=True)
    scripts = home / ("Scripts" if sys.platform == "win32" else "bin")
    subprocess.run([scripts / "python", "-m", "pip", "install", "-q", wheel], check=True)
    example = HERE / "data" / "example.claude-stream.jsonl"
    done = subprocess.run(
        [scripts / "snapshot", "render", example, "-o", "pages"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "% saved" in done.stdout
    subprocess.run(
        [scripts / "snapshot", "read", "pages", "--check"], cwd=tmp_path, capture_output=True, check=True
    )
