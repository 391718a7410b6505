"""A layout gets another face: what was set in the former one still reads, and archives are set anew."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from snapshot import compact
from snapshot._resources import locate
from snapshot.compaction.archive import Archive
from snapshot.compaction.pagination import set_anew
from snapshot.legibility.verify import verify
from snapshot.models.catalog import ENVIRONMENT
from snapshot.pages import folder as pages_folder
from snapshot.pages.layout import layout_for, layout_shape
from snapshot.pages.manifest import load_manifest
from snapshot.source.marks import DRAWING
from tests.conversations import long_conversation
from tests.test_cli import run

MODEL = "claude-haiku-4-5"
FORMER = ("drawn-9x16", 1512, 784)


@pytest.fixture
def former(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Makes the standard tier's layout that of an earlier version, until it is called."""
    now = layout_for(MODEL)
    text = (locate("layouts") / "anthropic.toml").read_text(encoding="utf-8")
    new = f'default = {{ face = "{now.face}", width = {now.width}, height = {now.height} }}'
    head, entry = text.rsplit('name = "claude-standard"', 1)
    assert new in entry
    face, width, height = FORMER
    old = f'default = {{ face = "{face}", width = {width}, height = {height} }}'
    (tmp_path / "layouts").mkdir()
    changed = head + 'name = "claude-standard"' + entry.replace(new, old, 1)
    (tmp_path / "layouts" / "anthropic.toml").write_text(changed, encoding="utf-8")
    monkeypatch.setenv(ENVIRONMENT, str(tmp_path / "layouts"))
    assert layout_for(MODEL).face == face
    return lambda: monkeypatch.delenv(ENVIRONMENT)


def test_a_folder_set_in_a_former_face_still_reads(former, tmp_path: Path):
    (tmp_path / "a.txt").write_text("def read(path):\n\treturn 3f1347de\n" * 400, encoding="utf-8")
    run(
        "--layouts", tmp_path / "layouts", "render", tmp_path / "a.txt", "-m", MODEL, "-o", tmp_path / "pages"
    )
    former()
    opened = load_manifest(tmp_path / "pages")
    assert opened.layout.face == FORMER[0] != layout_for(MODEL).face
    assert pages_folder.check(tmp_path / "pages", opened) == []
    assert verify(tmp_path / "pages").passed
    assert run("read", tmp_path / "pages", "--check").returncode == 0


def test_an_archive_of_a_former_face_is_paginated_anew(former):
    before = replace(long_conversation(200), model=MODEL)
    made = compact(before, model=MODEL, trigger="manual").archive
    assert made is not None
    assert made.pages
    stored = made.to_json()
    assert not Archive.from_json(stored).stale, "nothing has changed yet"
    former()
    archive = Archive.from_json(stored)
    assert archive.stale
    anew = set_anew(archive)
    assert anew.pages != archive.pages
    assert (anew.pages[0][0], anew.pages[-1][1]) == (archive.pages[0][0], archive.pages[-1][1])
    assert all(a[1] == b[0] for a, b in zip(anew.pages, anew.pages[1:], strict=False)), "a partition"
    assert anew.messages == made.messages
    # The next turn is compacted with it, its pages drawn in the face of now.
    grown = replace(long_conversation(230), model=MODEL)
    done = compact(grown, model=MODEL, trigger="manual", archive=archive)
    assert done.archive is not None
    assert not done.archive.stale
    assert Archive.from_json(done.archive.to_json()) == done.archive
    overview = pytest.importorskip("snapshot.proxy.overview", exc_type=ImportError)
    assert overview.page_png(archive, 1) is not None
    layout = layout_for(MODEL)
    assert layout_shape(layout.name) == f"{layout.face} {layout.width}x{layout.height} 0 marks {DRAWING}"
    assert layout_shape("no/such") == ""
