"""Damaged stores are shown as far as they can be, never written to, and repaired in a copy."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snapshot.errors import SessionDamaged, SessionError
from snapshot.requests import APIS, request
from snapshot.requests.check import check
from snapshot.session import Store, salvage
from tests.conftest import examples
from tests.conversations import long_conversation
from tests.session_model import answer, calling, turn, user

MODEL = "claude-opus-4-8"


def make(path: Path) -> None:
    """A store with two conversations; one has a fork, a checkpoint, a label, calls."""
    with Store(path, create=True) as store:
        messages = [*turn("one", 2), *turn("two", 1), *turn("three")]
        history = store.create("talk", model=MODEL, messages=messages)
        history.label("start", at=history.path()[0][0])
        history.fork(history.path()[3][0], "side")
        history.append(turn("aside", 1))
        history.switch("main")
        store.create("other", messages=turn("else"))
        long = store.create("long", model=MODEL, format="anthropic", messages=long_conversation(60).messages)
        assert long.compact(window=8000).checkpoint


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("whole") / "s.sqlite"
    make(path)
    return path


@pytest.fixture
def path(whole, tmp_path) -> Path:
    copy = tmp_path / "s.sqlite"
    copy.write_bytes(whole.read_bytes())
    return copy


# What is done to a message in the middle of "talk", or to a call with two results.
FIFTH = "(SELECT seq FROM nodes WHERE conversation = 1 ORDER BY seq LIMIT 1 OFFSET 4)"
SECOND = "(SELECT seq FROM nodes WHERE conversation = 1 ORDER BY seq LIMIT 1 OFFSET 1)"
BODY = "UPDATE nodes SET body ="
DAMAGES = {
    "missing-parent": f"DELETE FROM nodes WHERE seq = {FIFTH}",
    "cycle": f"UPDATE nodes SET parent = seq + 2 WHERE seq = {FIFTH}",
    "itself": f"UPDATE nodes SET parent = seq WHERE seq = {FIFTH}",
    "garbage": f"UPDATE nodes SET body = '{{\"role\": \"us' WHERE seq = {FIFTH}",
    "empty": f"UPDATE nodes SET body = '' WHERE seq = {SECOND}",
    "another": f"UPDATE nodes SET body = '[1, 2]' WHERE seq = {FIFTH}",
    "impossible-role": f"UPDATE nodes SET role = 'narrator' WHERE seq = {FIFTH}",
    "role-in-body": f"UPDATE nodes SET body = replace(body, '\"user\"', '\"wizard\"') WHERE seq = {FIFTH}",
    "calls-of-a-user": f"{BODY} replace(body, '\"assistant\"', '\"user\"') WHERE seq = {SECOND}",
    "no-results": f"UPDATE nodes SET body = '{{\"role\": \"tool\", \"parts\": []}}' WHERE seq = {SECOND} + 1",
    "unknown-kind": f"UPDATE nodes SET kind = 'riddle' WHERE seq = {FIFTH}",
    "depth": f"UPDATE nodes SET depth = 77 WHERE seq = {FIFTH}",
    "leaf": "UPDATE branches SET leaf = 9999 WHERE conversation = 1 AND name = 'main'",
}  # fmt: skip
QUIET = {
    "jump": f"UPDATE nodes SET jump = seq WHERE seq = {FIFTH}",
    "archive": "UPDATE archives SET data = x'0102'",
    "page": "UPDATE blobs SET data = x'0102'",
    "kept": f"{BODY} replace(body, 'first_kept\": \"', 'first_kept\": \"no') WHERE kind = 'checkpoint'",
}  # fmt: skip


def spoil(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in statements:
            assert connection.execute(statement).rowcount > 0


def duplicated(path: Path) -> None:
    """Two nodes with one id, as a file without its index could have them."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute(
            "UPDATE sqlite_master SET sql = replace(sql, 'UNIQUE (conversation, id)', 'CHECK (1)') "
            "WHERE name = 'nodes'"
        )
        connection.execute("DELETE FROM sqlite_master WHERE name = 'sqlite_autoindex_nodes_1'")
    spoil(path, f"UPDATE nodes SET id = (SELECT id FROM nodes WHERE seq = {SECOND}) WHERE seq = {FIFTH}")


def show(path: Path, name: str) -> Iterator[list]:
    """What every branch of a conversation shows."""
    with Store(path, write=False) as store:
        history = store.history(name)
        for branch in history.branches():
            if branch.leaf:
                yield [message for _, message in history.path(branch.name)]


@pytest.mark.parametrize("how", [*DAMAGES, "duplicate-id"])
def test_a_damaged_history_is_shown_and_not_written_to(how, path):
    if how == "duplicate-id":
        duplicated(path)
    else:
        spoil(path, DAMAGES[how])
    before = path.read_bytes()
    with Store(path) as store:
        history = store.history("talk")
        try:
            shown = [message for _, message in history.path()]
        except SessionDamaged:
            assert how == "leaf"
            shown = [message for _, message in history.path("side")]
        assert len(shown) >= 3
        assert history.damage
        for api in APIS:
            projection = history.project("side") if how == "leaf" else history.project()
            assert check(request(projection.transcript, api), api) == []
        for do in (
            lambda: history.append(turn()),
            history.retry,
            lambda: history.set_branch("new"),
            lambda: history.compact(window=2000),
            lambda: store.duplicate(history, "copy"),
        ):
            with pytest.raises((SessionDamaged, SessionError)):
                do()
        other = store.history("other")
        assert not other.damage
    assert path.read_bytes() == before
    with Store(path) as store:
        store.history("other").append(turn("goes on"))


def repaired(path: Path, *, derived: bool = False) -> Path:
    """A repaired copy, in which nothing is wrong any more; the file itself is as it was."""
    before, copy = path.read_bytes(), path.parent / "new" / "copy.sqlite"
    copy.unlink(missing_ok=True)
    assert bool(salvage(path, copy)) != derived
    assert path.read_bytes() == before
    assert [name.name for name in copy.parent.iterdir()] == ["copy.sqlite"]
    assert copy.stat().st_mode & 0o777 == 0o600
    with Store(copy) as store:
        assert not any(found for _, found in store.check())
        for item in store.conversations():
            history = store.history(item.name, item.agent)
            for api in APIS:
                assert check(request(history.project().transcript, api), api) == []
            history.append(turn("goes on"))
    return copy


@pytest.mark.parametrize("how", [*DAMAGES, *QUIET, "duplicate-id"])
def test_what_is_damaged_is_found_and_repaired_in_a_copy(how, path):
    if how == "duplicate-id":
        duplicated(path)
    else:
        spoil(path, {**DAMAGES, **QUIET}[how])
    with Store(path, write=False) as store:
        assert any(found for _, found in store.check())
    # What follows from the rest is made anew, and nothing was lost.
    copy = repaired(path, derived=how in ("jump", "depth", "impossible-role"))
    there = [message for branch in show(copy, "talk") for message in branch]
    assert sum(message == user("three") for message in there) == 1


def test_a_whole_store_is_copied_as_it_is(path):
    copy = path.with_name("copy.sqlite")
    assert salvage(path, copy) == []
    for name in ("talk", "other", "long"):
        assert list(show(copy, name)) == list(show(path, name))
    with Store(path) as old, Store(copy) as new:
        assert sorted(map(str, old.conversations())) == sorted(map(str, new.conversations()))
        for name in ("talk", "other", "long"):
            was, now = old.history(name), new.history(name)
            assert (was.project(), was.labels()) == (now.project(), now.labels())
            assert [(b.name, b.leaf) for b in was.branches()] == [(b.name, b.leaf) for b in now.branches()]
    with pytest.raises(SessionError, match="is there already"):
        salvage(path, copy)


def test_an_open_call_in_the_middle_is_damage_and_at_the_end_is_not(path):
    with Store(path) as store:
        store.history("other").append([user("Look."), calling("a")])
        assert not any(found for _, found in store.check())
        history = store.history("other")
        with store.database.writing():
            leaf = history.rows.branch("main")[1]
            history.rows.put_branch("main", history.rows.put_message(leaf, answer()), model="")
        history = store.history("other")
        assert len(history.path()) == 5
        assert [diagnostic.kind for diagnostic in history.damage] == ["open-call"]
    repaired(path)


def test_a_newer_schema_is_read_and_not_written(path):
    spoil_version(path, 7)
    before = path.read_bytes()
    with Store(path) as store:
        assert "version 7" in store.read_only
        assert len(store.history("talk").path()) == 10
        with pytest.raises(SessionDamaged, match="its schema is version 7, this version writes 1"):
            store.history("talk").append(turn())
        with pytest.raises(SessionDamaged):
            store.create("more")
    assert path.read_bytes() == before


def spoil_version(path: Path, version: int) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(f"PRAGMA user_version = {version}")


# --- bytes


def holes(data: bytes, chance: random.Random) -> bytes:
    """Some pages overwritten, but not the first, which says what file it is."""
    changed = bytearray(data)
    for _ in range(chance.randint(1, 3)):
        at = 4096 * chance.randrange(1, len(data) // 4096)
        changed[at : at + 4096] = chance.randbytes(4096)
    return bytes(changed)


def shorter(data: bytes, chance: random.Random) -> bytes:
    return data[: chance.randrange(1, len(data))]


@contextmanager
def in_one_line() -> Iterator[None]:
    """What cannot be had is said in one line."""
    try:
        yield
    except SessionError as error:
        lines = str(error).splitlines()
    else:
        lines = ["it worked"]
    assert len(lines) == 1


@pytest.mark.parametrize("spoiled", [holes, shorter])
@settings(max_examples=examples(20))
@given(seed=st.integers(0, 1 << 32))
def test_a_file_with_damaged_bytes_gives_what_it_can_or_one_line(whole, spoiled, seed, tmp_path_factory):
    folder = tmp_path_factory.mktemp("bytes")
    path = folder / "s.sqlite"
    path.write_bytes(spoiled(whole.read_bytes(), random.Random(seed)))
    before = path.read_bytes()
    with in_one_line():
        list(show(path, "talk"))
    with in_one_line(), Store(path, write=False) as store:
        store.check()
    with in_one_line():
        salvage(path, folder / "copy.sqlite")
        with Store(folder / "copy.sqlite") as store:
            assert not any(damage for _, damage in store.check())
    assert [file.name for file in folder.glob(".*")] == []
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("column", "value"),
    [
        *(
            (column, value)
            for column in ("parent", "depth", "jump", "checkpoint")
            for value in ("'x'", "1.5", "x'00'")
        ),
        *((column, "x'00ff'") for column in ("id", "kind", "role", "time", "body")),
    ],
)
def test_values_of_another_type_are_damage(path, column, value):
    """SQLite's columns take values of any type."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(f"UPDATE nodes SET {column} = {value} WHERE seq = {FIFTH}")
    with Store(path, write=False) as store, in_one_line():
        assert any(found for _, found in store.check())
    with Store(path) as store, in_one_line():
        history = store.history("talk")
        assert history.damage
        list(show(path, "talk"))
    with in_one_line():
        repaired(path, derived=column in ("jump", "depth", "checkpoint"))


def test_a_damaged_name_in_the_schema_is_told(path):
    """SQLite quotes it, and its words are no UTF-8."""
    data = path.read_bytes()
    at = data.index(b"tablelabels")
    path.write_bytes(data[: at + 8] + b"\xd9" + data[at + 9 :])
    with pytest.raises(SessionDamaged, match=r"damaged .* `snapshot session salvage`") as told:
        Store(path)
    assert "\n" not in str(told.value)
