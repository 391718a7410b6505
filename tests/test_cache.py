"""What is kept from run to run: never stale, never torn, never another user's, and never needed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from snapshot import _cache, _toml
from snapshot._lazy import lazy_pattern
from snapshot._resources import locate
from snapshot.raster import atlas as atlas_module
from snapshot.raster import atlas_file
from snapshot.raster.atlas import Atlas, atlas_for
from snapshot.raster.face import Face, load_face
from snapshot.transcripts.io.jsonl import sample
from snapshot.transcripts.io.source import Source
from snapshot.transcripts.loading import _possible, _reader
from snapshot.transcripts.registry import FORMATS, FROM_TEXT
from snapshot.typeset.shaped import ShapedCluster
from tests.harness_samples import SAMPLES
from tests.transcript_samples import EXAMPLE

_PACKAGE = Path(_cache.__file__).parent


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(_cache.ENVIRONMENT, str(tmp_path / "kept"))
    return tmp_path / "kept"


def fresh(face: Face, needed: str = "") -> Atlas:
    """The atlas as a new process has it."""
    for cached in (atlas_for, atlas_module._base, atlas_module._base_builder):
        cached.cache_clear()
    return atlas_for(face, tuple(map(ShapedCluster, needed)))


def same(one: Atlas, other: Atlas) -> bool:
    arrays = (
        (one.ink, other.ink),
        (one.codes, other.codes),
        (one.cells, other.cells),
        (one.glyphs, other.glyphs),
    )
    rest = [(at.blank, at.pad, at.end, at.extra, dict(at.units), at.face) for at in (one, other)]
    directions = [b"" if at.directions is None else at.directions.tobytes() for at in (one, other)]
    return (
        all(map(np.array_equal, *zip(*arrays, strict=True)))
        and rest[0] == rest[1]
        and len({*directions}) == 1
    )


def test_an_entry_comes_back(folder: Path) -> None:
    assert _cache.kept("name") is None
    _cache.keep("name", b"content")
    assert _cache.kept("name") == b"content"
    assert [path.name for path in folder.iterdir()] == ["name"]
    assert os.name != "posix" or folder.stat().st_mode & 0o777 == 0o700


@given(cut=st.integers(0, 70), flip=st.integers(0, 70))
def test_a_torn_or_damaged_entry_counts_as_absent(tmp_path_factory, cut: int, flip: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        where = tmp_path_factory.mktemp("kept")
        patch.setenv(_cache.ENVIRONMENT, str(where))
        _cache.keep("name", b"what was worked out, and is kept")
        data = (where / "name").read_bytes()
        (where / "name").write_bytes(data[:cut])
        assert cut >= len(data) or _cache.kept("name") is None
        damaged = bytearray(data)
        damaged[flip % len(data)] ^= 1
        (where / "name").write_bytes(damaged)
        assert _cache.kept("name") is None


def test_digests_tell_parts_apart() -> None:
    assert _cache.digest((b"ab", b"c")) != _cache.digest((b"a", b"bc"))


@pytest.mark.skipif(os.name != "posix", reason="owners are POSIX")
def test_what_others_may_write_is_not_trusted(folder: Path) -> None:
    _cache.keep("name", b"content")
    (folder / "name").chmod(0o666)
    assert _cache.kept("name") is None
    folder.chmod(0o777)
    _cache.keep("other", b"content")
    assert not (folder / "other").exists()
    (folder / "link").symlink_to(folder / "name")
    (folder / "name").chmod(0o600)
    assert _cache.kept("link") is None


@pytest.mark.parametrize("value", ["", "off"])
def test_it_can_be_switched_off(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(_cache.ENVIRONMENT, value)
    assert _cache.folder() is None
    _cache.keep("name", b"content")
    assert _cache.kept("name") is None


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="the XDG specification is for others")
def test_the_folder_is_where_the_specification_has_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv(_cache.ENVIRONMENT)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert _cache.folder() == tmp_path / "snapshot-pages"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert _cache.folder() == tmp_path / "home" / ".cache" / "snapshot-pages"


def test_a_place_that_is_no_folder_does_no_harm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv(_cache.ENVIRONMENT, str(tmp_path / "file" / "kept"))
    _cache.keep("name", b"content")
    assert _cache.kept("name") is None
    assert same(fresh(load_face("drawn-7x13")), fresh(load_face("drawn-7x13")))


def test_it_does_not_grow_for_ever(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(_cache._MOST + 2):
        _cache.keep(f"{number}", b"content")
    assert len([*folder.iterdir()]) <= _cache._MOST
    monkeypatch.setattr(_cache, "_FULL", 10_000)
    for number in range(8):
        _cache.keep(f"large{number}", bytes(3000))
    assert sum(path.stat().st_size for path in folder.iterdir()) <= 10_000


def test_threads_and_processes_may_write_at_once(folder: Path) -> None:
    data = bytes(range(256)) * 4000
    code = (
        "import sys; from snapshot import _cache; data = bytes(range(256)) * 4000\n"
        "for _ in range(40): _cache.keep('name', data); assert _cache.kept('name') == data"
    )
    others = [subprocess.Popen([sys.executable, "-c", code], cwd=_PACKAGE.parent) for _ in range(2)]
    threads = [threading.Thread(target=_cache.keep, args=("name", data)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [other.wait(60) for other in others] == [0, 0]
    assert _cache.kept("name") == data
    assert [path.name for path in folder.iterdir()] == ["name"]


@pytest.mark.parametrize(
    "path", sorted([*locate("layouts").glob("*.toml"), *_PACKAGE.rglob("*.toml")]), ids=str
)
def test_tables_from_an_entry_are_those_of_the_file(path: Path, folder: Path) -> None:
    text = path.read_text(encoding="utf-8")
    first = _toml.parse_toml(text)
    assert len([*folder.iterdir()]) == 1
    again = _toml.parse_toml(text)
    assert first == again
    assert repr(first) == repr(again)  # types, and the order of keys


@pytest.mark.parametrize("value", ["1979-05-27T07:32:00Z", "07:32:00", "nan", "inf", "[1979-05-27]"])
def test_tables_that_json_does_not_hold_are_parsed_each_time(value: str, folder: Path) -> None:
    text = f"key = {value}\nlist = [1.0, 1, true]"
    assert repr(_toml.parse_toml(text)) == repr(_toml.parse_toml(text))
    assert not folder.exists()


@pytest.mark.usefixtures("folder")
def test_a_changed_layout_file_is_read_anew() -> None:
    text = locate("layouts").joinpath("anthropic.toml").read_text(encoding="utf-8")
    changed = text.replace('provider = "', 'provider = "Another ', 1)
    assert _toml.parse_toml(text)["provider"] != _toml.parse_toml(changed)["provider"]
    assert _toml.parse_toml(changed)["provider"].startswith("Another ")


@pytest.mark.parametrize("name", ["drawn-9x16", "drawn-6x11", "fira-8x16"])
def test_glyphs_from_an_entry_are_those_that_are_drawn(
    name: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    face, needed = load_face(name), "漢字ไ１ｱбÿ"
    drawn = fresh(face), fresh(face, needed)
    assert sum(path.stat().st_size > drawn[0].ink.nbytes for path in folder.iterdir()) == 1
    # With an entry no glyph of its own is drawn again.
    monkeypatch.setattr(atlas_module, "_drawn_anew", lambda _: pytest.fail("drawn again"))
    assert same(drawn[0], fresh(face))
    assert same(drawn[1], fresh(face, needed))


def test_an_entry_is_of_one_face_one_code_and_one_library(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    face = load_face("drawn-7x13")
    names = {atlas_file._name(face), atlas_file._name(replace(face, levels=2))}
    drawn = tmp_path / "drawn.txt"
    assert face.drawn is not None
    drawn.write_bytes(face.drawn.read_bytes() + b"; a comment\n")
    names.add(atlas_file._name(replace(face, drawn=drawn)))
    for patched, value in (("_LIBRARIES", ("__init__.py",)), ("DRAWN_BY", ("errors.py",))):
        with monkeypatch.context() as patch:
            patch.setattr(atlas_file, patched, value)
            atlas_file._drawing.cache_clear()
            names.add(atlas_file._name(face))
    with monkeypatch.context() as patch:
        patch.setenv("FREETYPE_PROPERTIES", "cff:no-stem-darkening=1")
        atlas_file._drawing.cache_clear()
        names.add(atlas_file._name(face))
    atlas_file._drawing.cache_clear()
    assert len(names) == 6
    assert "" not in names


def test_where_the_library_is_not_known_nothing_is_kept(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(atlas_file, "_LIBRARIES", ("no such library",))
    atlas_file._drawing.cache_clear()
    assert atlas_file._name(load_face("drawn-7x13")) == ""
    fresh(load_face("drawn-7x13"))
    atlas_file._drawing.cache_clear()
    assert not any(path.stat().st_size > 100_000 for path in folder.glob("*"))


def test_all_code_that_draws_a_face_is_in_the_name() -> None:
    """Every module of the package that the atlas imports is named, or draws none of a face's own glyphs."""
    from tests.test_architecture import MODULES, imported

    others = {
        "errors.py", "_cache.py", "_resources.py", "_toml.py",  # messages and files
        "raster/fallback.py",  # glyphs of helpers, which are drawn anew in each run
        "typeset/bidi.py",  # worked out from code points in each run
    }  # fmt: skip
    reached = set()
    for name in ("raster/atlas.py", "raster/face.py", "raster/freetype_face.py", "raster/glyph_text.py"):
        for module in imported(_PACKAGE / name):
            reached.add(MODULES[module].relative_to(_PACKAGE).as_posix())
    assert reached - others - {"source/__init__.py"} <= {*atlas_file.DRAWN_BY}


def test_a_pattern_is_compiled_at_its_first_use_and_is_then_as_any_other() -> None:
    lazy, usual = lazy_pattern("(?P<word>a)b", re.IGNORECASE), re.compile("(?P<word>a)b", re.IGNORECASE)
    assert "search" not in vars(lazy)
    assert lazy.search("xAB")
    assert "search" in vars(lazy)
    assert (lazy.pattern, lazy.flags, lazy.groupindex) == (usual.pattern, usual.flags, usual.groupindex)
    assert lazy.sub("-", "ab aB") == usual.sub("-", "ab aB")
    with pytest.raises(re.error):
        lazy_pattern("(").search("")
    with pytest.raises(AttributeError):
        getattr(lazy, "no such thing")


def test_only_readers_of_what_the_input_may_be_are_asked() -> None:
    """Readers that are not asked would all have said no."""
    written = [data for several in SAMPLES.values() for data in several]
    written += [path.read_bytes() for path in EXAMPLE.parent.glob("*.json*")]
    written += [b"## User\n\nhello\n\n## Assistant\n\nyes\n", b"<|im_start|>user\nhello<|im_end|>\n"]
    assert len(written) > 12
    for data in (b"prose, and nothing else\n", b'{"a": 1}', b'{"a": 1}\n{"b": 2}\n', b"[]", *written):
        found = sample(Source.open(data))
        possible = {*_possible(found)}
        assert "text" in possible
        assert not [name for name in FORMATS if name not in possible and _reader(name).detect(found)]
    assert {*_possible(sample(Source.open(b"prose\n")))} == {*FROM_TEXT}
