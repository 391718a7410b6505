"""The settings file: what it gives, what stands nearer, and mistakes in it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.test_cli import EXAMPLE, run


@pytest.fixture
def settings(tmp_path, monkeypatch) -> Path:
    monkeypatch.delenv("SNAPSHOT_SETTINGS", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("APPDATA", str(tmp_path))
    path = tmp_path / "snapshot" / "settings.toml"
    path.parent.mkdir()
    return path


def test_settings_give_a_model_to_what_names_none(settings, tmp_path):
    settings.write_text('model = "gemini-3-pro"\n', encoding="utf-8")
    (tmp_path / "a.txt").write_text("some words " * 2000, encoding="utf-8")
    pages = tmp_path / "p"
    assert "for gemini-3-pro" in run("render", tmp_path / "a.txt", "-o", pages).stdout
    assert "for gpt-5.6-sol" in run("render", tmp_path / "a.txt", "-m", "gpt-5.6-sol", "-o", pages).stdout
    assert "for claude-opus-4-8" in run("render", EXAMPLE, "-o", pages).stdout
    assert "billed as gemini-3-pro:" in run("cost", tmp_path / "a.txt").stdout


def test_settings_give_layouts_unless_something_nearer_does(settings, tmp_path, monkeypatch):
    own = tmp_path / "own"
    own.mkdir()
    (own / "mine.toml").write_text(
        'provider="x"\nas_of=2026-01-01\nsources=["s"]\n[[readers]]\nextends="gemini-3"\nname="house"\n'
        'title="House"\nmodels=["house-1"]\n',
        encoding="utf-8",
    )
    monkeypatch.delenv("SNAPSHOT_LAYOUTS", raising=False)
    run("layouts", "house-1", check=2)
    settings.write_text('layouts = ["../own"]\n', encoding="utf-8")
    assert "house" in run("layouts", "house-1").stdout
    assert "SNAPSHOT_LAYOUTS" not in os.environ
    monkeypatch.setenv("SNAPSHOT_LAYOUTS", str(tmp_path / "snapshot"))
    run("layouts", "house-1", check=2)
    assert "house" in run("layouts", "house-1", "--layouts", str(own)).stdout


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("model = ", "no TOML"),
        ("model = 3", "model has to be the id of a model"),
        ('layouts = "x"', "layouts has to be a list of folders"),
        ("layouts = [3]", "layouts has to be a list of folders"),
        ('modell = "x"', "did you mean 'model'"),
        ("\udcff", "settings.toml"),
    ],
)
def test_bad_settings_are_one_line(text, problem, settings):
    settings.write_bytes(text.encode("utf-8", "surrogateescape"))
    done = run("layouts", check=2)
    assert problem in done.stderr
    assert done.stderr.count("\n") == 1
    assert str(settings) in done.stderr
    run("--help")


def test_settings_that_are_named_have_to_be_there(settings, monkeypatch, tmp_path):
    settings.unlink(missing_ok=True)
    run("layouts")
    monkeypatch.setenv("SNAPSHOT_SETTINGS", str(tmp_path / "none.toml"))
    assert "no such file" in run("layouts", check=2).stderr
