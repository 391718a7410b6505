"""`snapshot view`: folders and requests, what is redacted, where the file goes, and what is refused."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from snapshot.compaction import compact
from snapshot.messages import Message, Text
from snapshot.requests import request
from snapshot.view.document import html_of
from snapshot.view.folder_view import view_of_folder
from tests.conversations import long_conversation
from tests.test_cli import run
from tests.view_samples import MIXED, MODEL, checked_document, parsed

# Every line is another one: what stood before would be a reference.
TALK = "".join(f"{n} {line}" for n, line in enumerate((MIXED * 300).splitlines(keepends=True)))


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    home = tmp_path_factory.mktemp("view")
    (home / "a.txt").write_text(TALK, encoding="utf-8")
    run("render", home / "a.txt", "-m", "gpt-5.6-sol", "-o", home / "a.pages")
    return home / "a.pages"


def test_a_folder_is_shown_as_it_was_rendered(folder):
    view = view_of_folder(folder)
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    assert [page.png for page in view.pages] == [
        (folder / entry["file"]).read_bytes() for entry in manifest["pages"]
    ]
    assert view.figures.tokens_before == manifest["totals"]["text_tokens"]
    assert view.figures.tokens_after == manifest["totals"]["tokens"]
    assert "".join(page.text for page in view.pages) == TALK
    checked_document(view)


def test_another_model_sees_pages_as_its_provider_leaves_them(folder, tmp_path):
    wide = tmp_path / "wide"
    run("render", folder.parent / "a.txt", "--layout", "gpt-patch/lines", "-o", wide)
    view = view_of_folder(wide, model="gpt-4o")
    assert all(max(page.seen) < max(page.width, page.height) for page in view.pages[:-1])
    assert "pages are resized by the provider" in view.notes[0]
    document, _ = parsed(view)
    assert 'id="resize"' in document
    assert 'id="resize"' not in html_of(view_of_folder(folder))


def test_a_page_that_is_gone_or_changed_is_told(folder, tmp_path):
    broken = Path(shutil.copytree(folder, tmp_path / "pages"))
    first, second = sorted(broken.glob("page-*.png"))[:2]
    first.unlink()
    second.write_bytes(second.read_bytes()[:500])
    view = view_of_folder(broken)
    assert "No such file" in view.pages[0].note
    assert "not a PNG image that can be opened" in view.pages[1].note
    checked_document(view)


SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


def test_credentials_are_nowhere_in_the_file(tmp_path):
    talk = long_conversation(20, size=2000)
    said = Message("user", (Text(f"Use {SECRET} for it."),))
    talk = replace(talk, messages=(talk.messages[0], said, *talk.messages[1:], said))
    (tmp_path / "s.json").write_text(json.dumps(request(talk, "anthropic")), encoding="utf-8")
    done = run("view", tmp_path / "s.json", "-o", tmp_path / "s.html", "-m", MODEL)
    text = (tmp_path / "s.html").read_text(encoding="utf-8")
    assert SECRET not in text
    assert text.count("[secret: github-token 1]") >= 2
    assert "credentials redacted" in done.stderr
    # A request sends the head and the tail word for word: its view does not.
    run("compact", tmp_path / "s.json", "-m", MODEL, "--manual", "-o", tmp_path / "r.json")
    assert SECRET in (tmp_path / "r.json").read_text(encoding="utf-8")
    run("view", tmp_path / "r.json", "-o", tmp_path / "r.html")
    assert SECRET not in (tmp_path / "r.html").read_text(encoding="utf-8")
    run("view", tmp_path / "s.json", "-o", tmp_path / "n.html", "-m", MODEL, "--no-redaction")
    assert SECRET in (tmp_path / "n.html").read_text(encoding="utf-8")


def test_the_command_writes_one_file(folder, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", lambda url: opened.append(url) or True)
    done = run("view", folder)
    path = Path(done.stdout.split(": ")[0])
    assert path.parent == tmp_path
    assert path.name.startswith("snapshot-a.pages-")
    assert path.stat().st_mode & 0o077 == 0
    assert not opened, "nobody sits at a terminal here"
    document = path.read_bytes()
    assert run("view", folder, "-o", "-").stdout.encode() == document
    run("view", folder, "-o", tmp_path / "b.html")
    assert (tmp_path / "b.html").read_bytes() == document
    found = json.loads(run("view", folder, "--json", "-o", tmp_path / "b.html").stdout)
    assert (found["schema"], found["opened"], found["model"]) == (
        "snapshot-pages/view/1",
        False,
        "gpt-5.6-sol",
    )
    assert found["tokens_after"] < found["tokens_before"]


def test_a_browser_is_opened_where_somebody_sits(folder, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("snapshot.commands.view._somebody_is_there", lambda: True)
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", lambda url: opened.append(url) or True)
    run("view", folder, "--no-open")
    run("view", folder, "-o", tmp_path / "c.html")
    assert not opened
    run("view", folder)
    assert len(opened) == 1
    assert opened[0].startswith("file:///")


def test_a_session_of_an_unknown_model_is_shown_for_the_default(tmp_path):
    talk = {"model": "no-such-model-9", **request(long_conversation(20, size=2000), "anthropic")}
    row = {
        "type": "assistant",
        "message": {"role": "assistant", "model": "no-such-model-9", "content": "Hi."},
    }
    (tmp_path / "s.jsonl").write_text(
        "\n".join(json.dumps(item) for item in (*map(_row, talk["messages"]), row)), encoding="utf-8"
    )
    done = run("view", tmp_path / "s.jsonl", "--json", "-o", tmp_path / "s.html")
    assert json.loads(done.stdout)["model"] == MODEL
    assert "nothing is known of no-such-model-9: shown for claude-opus-4-8" in done.stderr


def _row(message: dict[str, Any]) -> dict[str, Any]:
    return {"type": message["role"], "message": message}


def test_a_request_finds_its_archive(tmp_path):
    example = Path(__file__).parent / "data" / "ytt-start.claude-stream.jsonl"
    run("compact", example, "-m", MODEL, "--manual", "-o", tmp_path / "r.json")
    beside = json.loads(run("view", tmp_path / "r.json", "--json", "-o", tmp_path / "r.html").stdout)
    alone = json.loads(run("view", tmp_path / "r.archive.json", "--json", "-o", tmp_path / "a.html").stdout)
    whole = json.loads(run("view", example, "-m", MODEL, "--json", "-o", tmp_path / "s.html").stdout)
    assert beside["pages"] == alone["pages"] == whole["pages"] == 2
    assert beside["model"] == MODEL, "a model of the pages' own kind"
    (tmp_path / "r.archive.json").rename(tmp_path / "other")
    named = run(
        "view", tmp_path / "r.json", "--archive", tmp_path / "other", "--json", "-o", tmp_path / "n.html"
    )
    assert json.loads(named.stdout) == {**beside, "file": str(tmp_path / "n.html")}


@pytest.mark.parametrize("key", ["tiers", "pages"])
def test_an_archive_that_contradicts_itself_is_one_line(tmp_path, key):
    done = compact(long_conversation(20, size=2000), model=MODEL, trigger="manual")
    assert done.archive is not None
    value = json.loads(done.archive.to_json())
    value[key] = value[key][:-1]
    (tmp_path / "a.json").write_text(json.dumps(value), encoding="utf-8")
    failed = run("view", tmp_path / "a.json", "-o", tmp_path / "a.html", check=2)
    assert failed.stderr.count("\n") == 1
    assert "the archive is damaged" in failed.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "problem"),
    [
        (["none.jsonl"], 2, "none.jsonl"),
        ([".", "-o", "x.html"], 2, "."),
        (["s.json", "-m", "no-such-model"], 2, "no-such-model"),
        (["s.json", "-o", "s.json"], 2, "s.json: is what is read; name another file to write to"),
        (["s.json", "--archive", "s.json", "-o", "x.html"], 2, "archive"),
        (["s.json", "--json", "-o", "-"], 2, "--json needs -o FILE"),
        (["s.json", "-m", "deepseek-chat", "--window", "4000"], 4, "-m MODEL"),
    ],
)
def test_bad_usage_is_one_line(tmp_path, monkeypatch, arguments, code, problem):
    monkeypatch.chdir(tmp_path)
    talk = long_conversation(40)
    (tmp_path / "s.json").write_text(json.dumps(request(talk, "anthropic")), encoding="utf-8")
    before = (tmp_path / "s.json").read_bytes()
    done = run("view", *arguments, check=code)
    assert problem in done.stderr
    assert done.stderr.count("\n") == 1
    assert not done.stdout
    assert (tmp_path / "s.json").read_bytes() == before
