"""A disk that is full, or fails once, at any step: the new is there whole, or what stood before."""

from __future__ import annotations

import errno
import json
import os
import resource
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from cli import main
from snapshot.integrations.claude_code import change
from snapshot.session import Store
from tests.test_compact_command import MODEL, talk

SHORT = Path(__file__).parent / "data" / "example.claude-stream.jsonl"


class Disk:
    """Counts what needs room; from step `full` on nothing has any, or only that step fails, once.

    A full disk still takes new names for files that are there, and takes files away.
    """

    def __init__(self, patch: pytest.MonkeyPatch, full: int, *, lasting: bool) -> None:
        self.step, self.full, self.lasting, self.failed = 0, full, lasting, False
        self._catch(patch, os, "fsync")
        self._catch(patch, os, "link")
        self._catch(patch, os, "open", wanted=lambda _path, flags, *_, **__: bool(flags & os.O_CREAT))
        self._catch(patch, Path, "mkdir")
        self._catch(patch, os, "fdopen", wanted=lambda _handle, mode="r", *_, **__: "w" in mode)
        if not lasting:
            self._catch(patch, Path, "replace")

    def _catch(self, patch: pytest.MonkeyPatch, owner: Any, name: str, wanted: Any = None) -> None:
        real = getattr(owner, name)

        def counted(*args: Any, **kwargs: Any) -> Any:
            if wanted is None or wanted(*args, **kwargs):
                self.step += 1
                if self.step > self.full if self.lasting else self.step == self.full + 1:
                    self.failed = True
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return real(*args, **kwargs)

        patch.setattr(owner, name, counted)


def tree(folder: Path) -> dict[str, bytes | None]:
    """All that is in a folder: files by their content, folders as None."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in sorted(folder.rglob("*"))
    }


def longer(folder: Path) -> Path:
    """A transcript that is compacted into pages, in a folder beside."""
    path = folder.with_name("long.json")
    path.write_text(json.dumps({"messages": talk(0, 40)}), encoding="utf-8")
    return path


def other(folder: Path) -> Path:
    path = folder.with_name("other.json")
    path.write_text(json.dumps({"messages": talk(30, 70)}), encoding="utf-8")
    return path


def render(folder: Path, *, first: bool = False) -> int:
    more = ["--layout", "claude-standard"] if first else []
    return main(["render", str(SHORT), "-m", MODEL, "-o", str(folder / "a" / "pages"), *more])


def compact(folder: Path, *, first: bool = False) -> int:
    session = other(folder) if first else longer(folder)
    return main(
        ["compact", str(session), "-m", MODEL, "--window", "30000", "-o", str(folder / "request.json")]
    )


def convert(folder: Path, *, first: bool = False) -> int:
    session = other(folder) if first else longer(folder)
    return main(["convert", str(session), "--to", "openai-chat", "-o", str(folder / "chat.json.gz")])


def view(folder: Path, *, first: bool = False) -> int:
    model = "gpt-5.6-sol" if first else MODEL
    return main(["view", str(SHORT), "-m", model, "-o", str(folder / "view.html")])


def install(folder: Path, *, first: bool = False) -> int:
    settings = folder / ".claude" / "settings.json"
    if first:
        settings.parent.mkdir(parents=True, exist_ok=True)
        settings.write_text('{"model": "opus"}', encoding="utf-8")
        return 0
    from snapshot.errors import SnapshotError

    found = change(settings, install=True)
    assert found is not None
    try:
        found.write()
    except SnapshotError:
        return 2
    return 0


WRITERS = {each.__name__: each for each in (render, compact, convert, view, install)}


@pytest.mark.parametrize(
    ("over", "lasting"), [(False, True), (True, False)], ids=["new, full", "over a former one, fails once"]
)
@pytest.mark.parametrize("writer", WRITERS)
def test_whole_or_as_before(writer, over, lasting, tmp_path, capsys):
    """Each step of a run fails in turn, until none is left to fail."""
    write = WRITERS[writer]

    former = tmp_path / "former" / "out"
    former.mkdir(parents=True)
    assert not over or write(former, first=True) == 0

    def begun(name: str) -> Path:
        return Path(shutil.copytree(former, tmp_path / name / "out"))

    whole = begun("whole")
    before = tree(whole)
    assert write(whole) == 0
    done = tree(whole)
    assert done != before
    failures = 0
    for full in range(200):
        folder = begun(str(full))
        with pytest.MonkeyPatch.context() as patch:
            disk = Disk(patch, full, lasting=lasting)
            capsys.readouterr()
            code = write(folder)
        assert "Traceback" not in capsys.readouterr().err
        assert tree(folder) == (done if code == 0 else before), (full, code)
        failures += code != 0
        if not disk.failed:
            break
    else:
        pytest.fail("it never came to its end")
    assert failures >= 3  # that many steps there are at least: each was tried


def test_a_view_that_has_no_room_leaves_no_file(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.MonkeyPatch.context() as patch:

        class Full:
            def __enter__(self):
                return self

            def __exit__(self, *_):
                return None

            def write(self, _data: bytes) -> None:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        patch.setattr(os, "fdopen", lambda handle, *_: os.close(handle) or Full())
        assert main(["view", str(SHORT), "-m", MODEL]) == 2
    assert not list(tmp_path.glob("snapshot-*"))
    assert "No space left" in capsys.readouterr().err


def limited(size: int, *arguments: object) -> subprocess.CompletedProcess[str]:
    """A command whose files may have so many bytes."""
    return subprocess.run(
        [sys.executable, "-m", "snapshot", *map(str, arguments)],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size)),
        capture_output=True, text=True, cwd=Path(__file__).parents[1],
    )  # fmt: skip


@pytest.mark.skipif(os.name != "posix", reason="limits of a process are POSIX's")
def test_a_store_has_all_of_an_import_or_nothing_of_it(tmp_path):
    """SQLite writes by itself: here the system gives no room, at sizes from nothing to enough."""
    ended = set()
    for size in (0, 60_000, 1_000_000):
        path = tmp_path / f"{size}.db"
        result = limited(size, "session", "import", SHORT, "--as", "run", "--store", path)
        assert "Traceback" not in result.stderr
        ended.add(result.returncode)
        assert (result.returncode == 0) == ("run: " in result.stdout)
        if result.returncode:
            assert str(path) in result.stderr  # it is named, and the same command goes on from there
            assert (
                limited(1 << 30, "session", "import", SHORT, "--as", "run", "--store", path).returncode == 0
            )
        with Store(path, write=False) as store:
            (found,) = store.conversations()
            assert found.messages == 30
        assert not list(tmp_path.glob("*.part"))
    assert ended == {0, 2}


def test_a_transcript_without_room_is_told_and_the_store_has_it(tmp_path, monkeypatch, capsys):
    """A run that says it failed would be repeated, and its messages would stand twice."""
    store = tmp_path / "s.db"

    def full(*_args: object, **_kwargs: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("snapshot.session.transcript_file.write_atomic", full)
    assert main(["session", "import", str(SHORT), "--as", "run", "--store", str(store)]) == 0
    assert "the store has all of it" in capsys.readouterr().err
    more = tmp_path / "more.json"
    more.write_text(json.dumps([{"role": "user", "content": "Go on."}]), encoding="utf-8")
    assert main(["session", "append", "run", str(more), "--store", str(store)]) == 0
    assert "the store has all of it" in capsys.readouterr().err
    with Store(store, write=False) as opened:
        assert opened.conversations()[0].messages == 31
