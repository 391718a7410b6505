"""The file of a store: whose it is, what is no store, what stays open, names."""

from __future__ import annotations

import gc
import os
import stat
from pathlib import Path

import pytest

from snapshot.errors import SessionDamaged, SessionError
from snapshot.session import Store
from tests.session_histories import store
from tests.session_model import turn

__all__ = ["store"]  # a fixture: pytest finds it here


def test_files_are_the_users_alone(tmp_path):
    path = tmp_path / "deep" / "er" / "s.sqlite"
    with Store(path, create=True) as store:
        store.create("talk", messages=turn())
        files = list(path.parent.iterdir())
        assert len(files) == 3, "the log stands beside it"
        assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
    assert {stat.S_IMODE(folder.stat().st_mode) for folder in (path.parent, path.parent.parent)} == {0o700}
    path.chmod(0o644)
    Store(path).close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_what_is_not_a_store_is_said_in_one_line(tmp_path):
    with pytest.raises(SessionError, match="no such store"):
        Store(tmp_path / "none")
    with pytest.raises(SessionError, match="is a folder"):
        Store(tmp_path, create=True)
    other = tmp_path / "other.sqlite"
    other.write_bytes(b"this is a text, and no database at all" * 50)
    with pytest.raises(SessionDamaged, match="not a session store"):
        Store(other)
    import sqlite3

    foreign = tmp_path / "foreign.sqlite"
    connection = sqlite3.connect(foreign)
    connection.execute("CREATE TABLE shopping (what TEXT)")
    connection.close()
    with pytest.raises(SessionError, match="but not a session store"):
        Store(foreign, create=True)


def foreign(path: Path, how: str) -> None:
    """A file that is somebody else's."""
    import sqlite3

    if how == "text":
        path.write_bytes(b"this is a text, and no database at all" * 50)
    elif how == "empty":
        path.write_bytes(b"")
    elif how == "header alone":
        path.write_bytes(b"SQLite format 3\0")
    else:
        connection = sqlite3.connect(path, isolation_level=None)
        connection.execute(f"PRAGMA journal_mode = {how}")
        connection.execute("CREATE TABLE shopping (what TEXT)")
        connection.close()


@pytest.mark.filterwarnings("error::ResourceWarning")
@pytest.mark.filterwarnings("error::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("how", ["text", "empty", "header alone", "delete", "wal"])
@pytest.mark.parametrize("options", [{}, {"create": True}, {"write": False}], ids=str)
def test_what_is_not_ours_is_left_as_it_is(tmp_path, how, options):
    """Not its permissions, not a byte, nothing beside it, not through a link; no connection stays open."""
    path, link = tmp_path / "theirs", tmp_path / "link"
    foreign(path, how)
    path.chmod(0o644)
    link.symlink_to(path)
    before = path.read_bytes(), path.stat().st_mode, path.stat().st_mtime_ns
    for name in (path, link):
        with pytest.raises(SessionError):
            Store(name, **options)
    gc.collect()
    assert (path.read_bytes(), path.stat().st_mode, path.stat().st_mtime_ns) == before
    assert sorted(file.name for file in tmp_path.iterdir()) == ["link", "theirs"]


@pytest.mark.skipif(os.name != "posix", reason="devices as POSIX has them")
def test_a_device_is_no_store():
    before = Path(os.devnull).lstat()
    for options in ({}, {"create": True}, {"write": False}):
        with pytest.raises(SessionError, match="is no file"):
            Store(os.devnull, **options)
    after = Path(os.devnull).lstat()
    assert (before.st_ino, before.st_mode) == (after.st_ino, after.st_mode)


@pytest.mark.filterwarnings("error::ResourceWarning")
@pytest.mark.filterwarnings("error::pytest.PytestUnraisableExceptionWarning")
def test_no_connection_stays_open_on_any_error(tmp_path, monkeypatch):
    """Whatever fails while a store is opened: each statement in turn."""
    import sqlite3

    path = tmp_path / "s.sqlite"
    Store(path, create=True).close()
    opened: list[sqlite3.Connection] = []
    real = sqlite3.connect
    for kind in (sqlite3.DatabaseError, sqlite3.OperationalError, KeyboardInterrupt):
        for at in range(3):

            class Failing(sqlite3.Connection):
                done = 0

                def execute(self, *arguments, kind=kind, at=at):
                    Failing.done += 1
                    if Failing.done > at:
                        raise kind("it fails")
                    return super().execute(*arguments)

            def connect(*arguments, **named):
                opened.append(real(*arguments, **named, factory=Failing))
                return opened[-1]

            monkeypatch.setattr(sqlite3, "connect", connect)
            for write in (True, False):
                Failing.done = 0
                with pytest.raises((SessionError, KeyboardInterrupt)):
                    Store(path, write=write)
            monkeypatch.undo()
    assert opened
    for connection in opened:
        with pytest.raises(sqlite3.ProgrammingError, match="closed"):
            connection.cursor()


def test_a_new_store_is_whole_in_its_file(tmp_path):
    """Nothing of it is in a log: on a full disk the log could not be taken in."""
    path = tmp_path / "s.sqlite"
    Store(path, create=True).close()
    alone = tmp_path / "other" / "alone.sqlite"
    alone.parent.mkdir()
    alone.write_bytes(path.read_bytes())
    with Store(alone) as store:
        store.create("talk", messages=turn())
        assert not any(found for _, found in store.check())


@pytest.mark.parametrize("name", ["", "../up", "a b", "-x", "ü", "x" * 81])
def test_names_are_good_as_names_of_files(store, name):
    with pytest.raises(SessionError, match="take letters, digits"):
        store.create(name)
