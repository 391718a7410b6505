"""Sessions are found where each agent keeps them, by its variables, and named by path, id or folder."""

from __future__ import annotations

import json
import os
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest

import snapshot
from snapshot.discovery import Place, exported, known_agents, newest, places, resolve
from snapshot.discovery.agents import agent_of
from snapshot.discovery.heads import Head
from snapshot.errors import SnapshotError
from snapshot.transcripts import FORMATS
from tests.harness_documents import OPENCODE
from tests.harness_samples import (
    AIDER,
    COPILOT_CLI,
    GEMINI_CLI_DOCUMENT,
    GEMINI_CLI_LINES,
    GOOSE_LINES,
    QWEN_CODE,
)
from tests.test_cli import EXAMPLE, listing, run
from tests.transcript_samples import SESSION as ROWS
from tests.transcript_samples import log, packed

SESSION = log(*ROWS)
VARIABLES = {
    "CLAUDE_CONFIG_DIR", "CODEX_HOME", "PI_CODING_AGENT_DIR", "PI_CODING_AGENT_SESSION_DIR", "XDG_DATA_HOME",
    "GEMINI_CLI_HOME", "QWEN_RUNTIME_DIR", "QWEN_HOME", "COPILOT_HOME", "GOOSE_PATH_ROOT", "XDG_CONFIG_HOME",
    "OPENHANDS_CONVERSATIONS_DIR", "OPENHANDS_PERSISTENCE_DIR", "CLINE_SESSION_DATA_DIR", "CLINE_DATA_DIR",
    "CLINE_DIR", "SNAPSHOT_AGENTS", "SNAPSHOT_SETTINGS",
}  # fmt: skip
ID = "0199f3a1-7c1e-7d54-9a01-5a6b7c8d9e0f"
CODEX = log(
    {"timestamp": "2026-11-01T08:00:00Z", "type": "session_meta", "payload": {"id": ID, "cwd": "/srv/shop"}},
    {"timestamp": "2026-11-01T08:00:01Z", "type": "turn_context", "payload": {"model": "gpt-5.6-sol"}},
    {
        "timestamp": "2026-11-01T08:00:02Z",
        "type": "response_item",
        "payload": {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]},
    },
)
PI = log(
    {"type": "session", "version": 3, "id": "pi-1", "timestamp": "2026-11-01T08:00:00Z", "cwd": "/srv/pi"},
    {
        "type": "message", "id": "a", "parentId": None, "timestamp": "2026-11-01T08:00:00Z",
        "message": {"role": "user", "content": [{"type": "text", "text": "hi"}]},
    },
)  # fmt: skip

# Each agent: its variables with the folder they are set to, and files with what they hold.
KEPT: dict[str, tuple[dict[str, str], dict[str, bytes]]] = {
    "claude-code": ({}, {".claude/projects/-srv-shop/11111111-2222.jsonl": SESSION}),
    "claude-code elsewhere": ({"CLAUDE_CONFIG_DIR": "cc"}, {"cc/projects/-srv/3333.jsonl": SESSION}),
    "codex": ({}, {f".codex/sessions/2026/11/01/rollout-2026-11-01T08-00-00-{ID}.jsonl": CODEX}),
    "codex elsewhere": (
        {"CODEX_HOME": "cx"},
        {f"cx/archived_sessions/rollout-2026-11-01T08-00-00-{ID}.jsonl": CODEX},
    ),
    "pi": ({}, {".pi/agent/sessions/--srv-pi--/2026-11-01_pi-1.jsonl": PI}),
    "pi elsewhere": ({"PI_CODING_AGENT_SESSION_DIR": "own"}, {"own/2026_pi-2.jsonl": PI}),
    "omp": ({}, {".omp/agent/sessions/--srv--/2026_omp-1.jsonl": PI}),
    "gemini-cli": ({}, {".gemini/tmp/abc/chats/session-2026-1.json": GEMINI_CLI_DOCUMENT}),
    "gemini-cli elsewhere": (
        {"GEMINI_CLI_HOME": "g"},
        {"g/.gemini/tmp/abc/chats/session-2026-2.jsonl": GEMINI_CLI_LINES},
    ),
    "qwen-code": ({"QWEN_HOME": "q"}, {"q/projects/-srv/chats/44.jsonl": QWEN_CODE}),
    "copilot-cli": ({"COPILOT_HOME": "co"}, {"co/session-state/55-66/events.jsonl": COPILOT_CLI}),
    "goose": ({"XDG_DATA_HOME": "data"}, {"data/goose/sessions/20261101_1.jsonl": GOOSE_LINES}),
    "goose elsewhere": ({"GOOSE_PATH_ROOT": "go"}, {"go/data/sessions/20261101_2.jsonl": GOOSE_LINES}),
}


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    """A home without a session, for each test."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    return tmp_path


def resolved(name: str | Path) -> Place:
    found = resolve(str(name))
    assert found is not None
    return found


def put(home: Path, name: str, data: bytes, age: float = 0) -> Path:
    path = home / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    moment = time.time() - age
    os.utime(path, (moment, moment))
    return path


def claude(home: Path, name: str, cwd: str = "/srv/shop", age: float = 0) -> Path:
    rows = SESSION.replace(b'"sessionId"', b'"cwd": "%s", "sessionId"' % cwd.encode(), 1)
    return put(home, f".claude/projects/-srv-shop/{name}.jsonl", rows, age)


@pytest.mark.parametrize("case", KEPT)
def test_sessions_are_found_where_each_agent_keeps_them(case, home, monkeypatch):
    variables, files = KEPT[case]
    for name, folder in variables.items():
        monkeypatch.setenv(name, str(home / folder))
    for name, data in files.items():
        put(home, name, data)
    (found,) = newest()
    agent = case.split(" ")[0]
    assert found.place.agent.name == agent
    assert found.size == len(next(iter(files.values())))
    assert found.tokens > 0
    assert found.place.id in next(iter(files))
    transcript = snapshot.load(found.place.name)
    assert transcript.format == found.place.agent.format
    listed = json.loads(run("sessions", agent, "--json").stdout)["sessions"]
    assert [one["path"] for one in listed] == [found.place.name]
    # What the beginning says is what reading the whole says.
    assert found.model in ("", transcript.model) or transcript.model == ""


def test_no_sessions_is_no_error():
    assert newest() == []
    done = run("sessions")
    assert (done.stdout, done.stderr.count("\n")) == ("", 1)
    assert json.loads(run("sessions", "--json").stdout)["sessions"] == []
    assert "claude-code" in run("sessions", "--agents").stdout


def test_head_of_a_codex_session(home):
    put(home, f".codex/sessions/2026/11/01/rollout-x-{ID}.jsonl", CODEX)
    (found,) = newest()
    assert (found.place.id, found.project, found.model) == (ID, "/srv/shop", "gpt-5.6-sol")


def test_opencode_in_files(home):
    document = OPENCODE
    key = document["info"]["id"]
    for message in document["messages"]:
        info = message["info"]
        put(home, f".local/share/opencode/storage/message/{key}/{info['id']}.json", json.dumps(info).encode())
        for part in message["parts"]:
            put(
                home,
                f".local/share/opencode/storage/part/{info['id']}/{part['id']}.json",
                json.dumps(part).encode(),
            )
    put(
        home,
        f".local/share/opencode/storage/session/p/{key}.json",
        json.dumps(document["info"] | {"directory": "/srv/open"}).encode(),
    )
    if not key.startswith("ses_"):
        pytest.skip("the sample's id is none of opencode's")
    (found,) = newest("opencode")
    assert (found.place.id, found.project) == (key, "/srv/open")
    assert len(snapshot.load(found.place.name).messages) == len(snapshot.load(packed(OPENCODE)).messages)


@pytest.fixture
def database(home) -> Path:
    document = OPENCODE
    path = home / ".local/share/opencode/opencode.db"
    path.parent.mkdir(parents=True)
    with closing(sqlite3.connect(path)) as store, store:
        store.execute(
            "CREATE TABLE session (id TEXT, title TEXT, directory TEXT, revert TEXT, "
            "time_created INT, time_updated INT)"
        )
        store.execute("CREATE TABLE message (id TEXT, session_id TEXT, time_created INT, data TEXT)")
        store.execute(
            "CREATE TABLE part (id TEXT, message_id TEXT, session_id TEXT, time_created INT, data TEXT)"
        )
        now = int(time.time() * 1000)
        for key in ("ses_one", "ses_two"):
            revert = json.dumps(document["info"].get("revert"))
            store.execute(
                "INSERT INTO session VALUES (?, ?, ?, ?, ?, ?)", (key, "T", "/srv/open", revert, now, now)
            )
            for n, message in enumerate(document["messages"]):
                info = {k: v for k, v in message["info"].items() if k not in ("id", "sessionID")}
                name = message["info"]["id"]
                store.execute("INSERT INTO message VALUES (?, ?, ?, ?)", (name, key, n, json.dumps(info)))
                for m, part in enumerate(message["parts"]):
                    held = {k: v for k, v in part.items() if k not in ("id", "messageID", "sessionID")}
                    store.execute(
                        "INSERT INTO part VALUES (?, ?, ?, ?, ?)",
                        (f"{name}-{m:03}", name, key, m, json.dumps(held)),
                    )
    return path


def test_opencode_in_a_database(database):
    before = database.read_bytes()
    found = newest("opencode")
    assert sorted(one.place.id for one in found) == ["ses_one", "ses_two"]
    assert {one.project for one in found} == {"/srv/open"}
    assert all(one.size > 100 for one in found)
    data = exported(found[0].place.name)
    assert data is not None
    whole, sample = snapshot.load(data), snapshot.load(packed(OPENCODE))
    assert [message.parts for message in whole.messages] == [message.parts for message in sample.messages]
    told = json.loads(run("inspect", "ses_one", "--json").stdout)
    assert told["format"] == "opencode"
    run("convert", "ses_two", "--to", "text", "-o", "out.txt")
    assert database.read_bytes() == before
    assert "no session 'ses_x'" in run("inspect", f"{database}#ses_x", check=2).stderr


def test_a_damaged_database_has_no_sessions(database):
    database.write_bytes(b"no database at all" * 100)
    assert places("opencode") == []


# --- choosing


def test_newest_first_and_as_many_as_asked_for(home):
    for number in range(30):
        claude(home, f"session-{number:02}", age=60 * number)
    found = json.loads(run("sessions", "--json").stdout)
    assert [one["id"] for one in found["sessions"]] == [f"session-{n:02}" for n in range(20)]
    assert found["found"] == 30
    assert len(json.loads(run("sessions", "-n", "3", "--json").stdout)["sessions"]) == 3
    assert len(json.loads(run("sessions", "--all", "--json").stdout)["sessions"]) == 30
    done = run("sessions")
    assert done.stdout.splitlines()[0].split()[:2] == ["id", "agent"]
    assert "20 of 30" in done.stderr


def test_a_session_by_the_beginning_of_its_id(home):
    path = claude(home, "abcd1234-0000")
    claude(home, "abce9999-0000")
    assert resolved("abcd").name == str(path)
    done = run("inspect", "abcd")
    assert str(path).replace(str(home), "~") in done.stderr
    assert "claude-session" in done.stdout
    for short in ("abc", "abcx"):  # too short to be one, and of none
        done = run("inspect", short, check=2)
        assert "no such file" in done.stderr.lower()
        assert done.stderr.count("\n") == 1


def test_an_id_that_several_have_is_told(home):
    claude(home, "abcd1234-0000")
    put(home, ".codex/sessions/2026/11/01/rollout-x-abcd1234-0000-0000-0000-000000000000.jsonl", CODEX)
    done = run("inspect", "abcd1234", check=2)
    assert "2 sessions have such an id" in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_file_of_that_name_goes_before_an_id(home):
    claude(home, "abcd1234")
    Path("abcd1234").write_text("words of a file", encoding="utf-8")
    assert resolve("abcd1234") is None
    assert "text" in run("inspect", "abcd1234").stdout


def test_the_latest_of_all_and_of_an_agent(home):
    claude(home, "older", age=100)
    newest_of_all = put(home, f".codex/sessions/2026/11/01/rollout-x-{ID}.jsonl", CODEX)
    assert str(newest_of_all).replace(str(home), "~") in run("inspect", "--latest").stderr
    for agent in ("claude-code", "claude", "Claude Code"):
        assert "older" in run("inspect", "--latest", agent).stderr
    assert "did you mean 'codex'" in run("inspect", "--latest", "kodex", check=2).stderr
    assert "no session of goose" in run("inspect", "--latest", "goose", check=2).stderr
    assert "both SESSION" in run("inspect", str(newest_of_all), "--latest", check=2).stderr


def test_a_folder_means_its_newest_session(home):
    project = home / "work" / "shop"
    (project / "src").mkdir(parents=True)
    claude(home, "other", cwd="/srv/other")
    newer = claude(home, "newer", cwd=str(project), age=50)
    claude(home, "older", cwd=str(project), age=100)
    assert resolved(str(project)).name == str(newer)
    assert resolved(str(home / ".claude/projects/-srv-shop")).id == "other"
    assert resolved(str(home / "work")).name == str(newer)
    with pytest.raises(SnapshotError, match="no session of an agent"):
        resolve(str(project / "src"))
    listed = json.loads(run("sessions", "--project", project, "--json").stdout)["sessions"]
    assert [one["id"] for one in listed] == ["newer", "older"]


def test_a_folder_of_pages_is_one(home):
    run("render", EXAMPLE, "-o", home / "pages")
    claude(home, "a-session", cwd=str(home / "pages"))
    assert resolve(str(home / "pages")) is None


def test_without_a_session_and_a_terminal_one_line_says_what_to_name():
    for command in ("inspect", "render", "compact", "cost", "replay"):
        done = run(command, check=2)
        assert "name a SESSION" in done.stderr
        assert done.stderr.count("\n") == 1


def test_what_is_named_is_written_nowhere(home):
    path = claude(home, "kept", age=1000)
    before = path.stat()
    run("sessions")
    run("cost", "--latest", "-m", "claude-opus-4-8")
    assert path.stat() == before or (path.stat().st_mtime, path.stat().st_size) == (
        before.st_mtime,
        before.st_size,
    )
    assert set(listing(path.parent)) == {"kept.jsonl"}


# --- agents


def test_every_agent_has_a_format_that_is_read():
    names = [agent.name for agent in known_agents()]
    assert len(names) == len(set(names)) >= 12
    assert {agent.format for agent in known_agents()} <= set(FORMATS)


def test_an_agent_is_data(home, monkeypatch):
    put(home, "mine/one.log.jsonl", EXAMPLE.read_bytes())
    table = home / "agents.toml"
    table.write_text(
        f'[mine]\nformat = "claude-stream"\nroots = ["{home.as_posix()}/mine"]\nsessions = ["*.jsonl"]\n',
        "utf-8",
    )
    monkeypatch.setenv("SNAPSHOT_AGENTS", str(table))
    (found,) = newest()
    assert (found.place.agent.name, found.place.id, found.model) == ("mine", "one", "claude-opus-4-8")
    monkeypatch.delenv("SNAPSHOT_AGENTS")
    settings = put(home, "settings.toml", f'agents = "{table.as_posix()}"\n'.encode())
    monkeypatch.setenv("SNAPSHOT_SETTINGS", str(settings))
    assert "mine" in run("sessions").stdout
    assert "SNAPSHOT_AGENTS" not in os.environ


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[a", "agents are TOML"),
        ('a = "b"', "is no table"),
        ('[a]\nformat = "pi"', "roots is missing"),
        ('[a]\nformat = "pi"\nroots = "x"\nsessions = []', "a list of strings"),
        ('[a]\nformat = "pi"\nroots = []\nsesions = []', "did you mean 'sessions'"),
        ('[a]\nformat = "pi"\nroots = []\nsessions = []\nid = "("', "no regular expression"),
        ('[a]\nformat = "pi"\nroots = []\nsessions = []\nid = "x"', "one group"),
    ],
)
def test_a_wrong_file_of_agents_is_one_line(text, problem, home, monkeypatch):
    monkeypatch.setenv("SNAPSHOT_AGENTS", str(put(home, "a.toml", text.encode())))
    done = run("sessions", check=2)
    assert problem in done.stderr
    assert done.stderr.count("\n") == 1


def test_roots_follow_variables_as_a_shell_does(monkeypatch):
    monkeypatch.setenv("QWEN_HOME", "/q")
    assert agent_of("qwen-code").folders() == (Path("/q/projects"),)
    monkeypatch.setenv("QWEN_RUNTIME_DIR", "/r")
    assert agent_of("qwen-code").folders() == (Path("/r/projects"),)
    monkeypatch.setenv("QWEN_RUNTIME_DIR", "")
    assert agent_of("qwen-code").folders() == (Path("/q/projects"),)


def test_aider_in_this_folder():
    Path(".aider.chat.history.md").write_bytes(AIDER)
    (found,) = newest("aider")
    assert snapshot.load(found.place.name).format == "aider"


def test_of_thousands_of_sessions_only_the_listed_ones_are_opened(home, monkeypatch):
    from snapshot.discovery import finder

    folder = home / ".claude/projects/-srv-shop"
    folder.mkdir(parents=True)
    for number in range(2000):
        (folder / f"{number:08}-x.jsonl").write_bytes(SESSION[:200])
    opened = []
    monkeypatch.setattr(finder, "head_of", lambda path, _: opened.append(path) or Head("", "", 0.0))
    assert len(newest(count=20)) == len(opened) == 20
    assert resolved("00001234").id == "00001234-x"
    assert len(opened) == 20
