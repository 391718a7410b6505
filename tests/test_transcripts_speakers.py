"""Who speaks: a person, a harness in the user's name, words sent mid-turn (cases 033 and 038); and trees."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snapshot.errors import TranscriptError
from snapshot.messages import Image, Message, Text
from snapshot.requests import request
from snapshot.requests.check import check
from snapshot.serialization import from_json, to_json
from snapshot.transcripts import conversations, load
from snapshot.transcripts.io.harness import Piece, rules_for
from tests.conftest import case
from tests.test_cli import run
from tests.transcript_samples import kinds, log, notes, packed, said, session

CLAUDE = rules_for("claude-session")


def users(transcript):
    return [m for m in transcript.messages if m.role == "user"]


def words(transcript):
    return ["".join(p.text for p in m.parts if isinstance(p, Text)) for m in users(transcript)]


# --- the harness is not the user


def test_case_038_four_requests_among_sixteen_messages():
    path = case("038") / "input.jsonl"
    transcript = load(path)
    assert words(transcript) == [
        "/port the billing worker to the new queue; never delete a queue",
        "Use 7 retries, not 5.",
        "Why does <system-reminder> appear in my log? Quote one: <system-reminder>x</system-reminder>",
        "Now the tests.",
    ]
    given_to_harness = [m for m in transcript.messages if m.origin == "user"]
    assert [said(type(transcript)((m,), "")) for m in given_to_harness] == [["/model opus"], ["! ls out"]]
    harness = [m for m in transcript.messages if m.origin == "harness"]
    assert (len(harness), {m.role for m in harness}) == (11, {"system"})
    assert "3 command, 7 notice, 2 reminder" in notes(transcript, "harness-words")[0]
    assert conversations(path)[0].title.startswith("/port the billing worker")
    sent = request(transcript, "anthropic")["messages"]
    rows = [json.loads(line) for line in path.read_bytes().splitlines()]
    texts = [t for row in rows if row["type"] == "user" for t in _texts(row["message"]["content"])]
    assert [t for m in sent if m["role"] == "user" for t in _texts(m["content"])] == texts
    assert not check(request(transcript, "anthropic"), "anthropic")


def _texts(content: Any) -> list[str]:
    return [content] if isinstance(content, str) else [b["text"] for b in content if b["type"] == "text"]


COMMAND = (
    "<command-message>x</command-message><command-name>/x</command-name>"
    "<command-args>say </command-args> twice</command-args>"
)
STOPPED = "[Request interrupted by user for tool use]"
TOKENS = ["<system-reminder>", "</system-reminder>", "\n", "a ", "<bash-stdout>", "</bash-stdout>"]
REMINDER = "<system-reminder>\nBe brief.\n</system-reminder>"


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("Just words.\n ", [Piece("Just words.\n ")]),
        (REMINDER, [Piece(REMINDER, "reminder")]),
        (f"{REMINDER}\n\nDo it.", [Piece(REMINDER, "reminder"), Piece("Do it.")]),
        (f"Do it.\n{REMINDER}\n", [Piece("Do it."), Piece(REMINDER, "reminder")]),
        (f"{REMINDER}{REMINDER}", [Piece(REMINDER, "reminder")] * 2),
        (f"What is {REMINDER}?", [Piece(f"What is {REMINDER}?")]),
        (f"As in {REMINDER}", [Piece(f"As in {REMINDER}")]),
        (f"{REMINDER} is odd.", [Piece(f"{REMINDER} is odd.")]),
        ("<system-reminder> is what?", [Piece("<system-reminder> is what?")]),
        ("<b>bold</b>", [Piece("<b>bold</b>")]),
        (STOPPED, [Piece(STOPPED, "notice")]),
        ("<command-name>/clear</command-name>", [Piece("/clear", "given")]),
        (COMMAND, [Piece("/x say </command-args> twice")]),
    ],
)
def test_pieces_of_a_text(text, pieces):
    assert CLAUDE.pieces(text) == pieces


@given(
    st.lists(
        st.sampled_from(
            ["<system-reminder>", "</system-reminder>", "\n", "a ", "<bash-stdout>", "</bash-stdout>"]
        )
    )
)
def test_no_word_is_lost_in_pieces(tokens):
    text = "".join(tokens)
    assert "".join("".join(piece.text.split()) for piece in CLAUDE.pieces(text)) == "".join(text.split())


@pytest.mark.parametrize(
    "token", [REMINDER, "<system-reminder>", "</system-reminder>", " ", "\n<bash-stdout>", "<command-name>"]
)
def test_pieces_take_linear_time(token):
    for text in (token * 20_000, token * 20_000 + "word", "word" + token * 20_000):
        start = time.perf_counter()
        CLAUDE.pieces(text)
        assert time.perf_counter() - start < 3


def test_a_caller_names_wrappers_of_its_own(tmp_path):
    rules = tmp_path / "own.toml"
    rules.write_text('[[harness]]\nformats = ["*"]\ntags.notice = ["our-bot"]\n')
    data = packed(
        [{"role": "user", "content": "<our-bot>tick</our-bot>"}, {"role": "user", "content": "Hi."}]
    )
    assert len(users(load(data))) == 2
    told = load(data, harness=rules)
    assert (words(told), told.messages[0].origin) == (["Hi."], "harness")
    for text in (
        "x = 1",
        "[[harness]]\ntags = 3",
        "[[harness]]\ntags.odd = []",
        "[[harness]]\nwhat = 1",
        "[",
        '[[harness]]\nstarts.notice = ["("]',
        "[[harness]]\nframes = [1]",
        "harness = [1]",
    ):
        rules.write_text(text)
        with pytest.raises(TranscriptError, match=r"own\.toml") as caught:
            load(data, harness=rules)
        assert "\n" not in str(caught.value)
    with pytest.raises(TranscriptError, match="cannot be read"):
        load(data, harness=tmp_path / "gone.toml")


def test_an_origin_is_stored_only_where_it_is_set():
    plain, made = Message("user", (Text("a"),)), Message("system", (Text("b"),), origin="harness")
    assert "origin" not in to_json(plain)
    assert from_json(to_json(made)).origin == "harness"
    with pytest.raises(ValueError, match="origin"):
        from_json({"role": "user", "parts": [], "origin": "nobody"})


# --- words sent while a turn runs


def test_case_033_words_sent_mid_turn():
    path = case("033") / "input.jsonl"
    transcript = load(path)
    assert words(transcript) == [
        "Move the importer to the new queue.",
        "Leave the migrations folder alone, and retry 7 times, not 5.",
        "The chart should look like this sketch.",
        "And keep the log of the old queue.",
        "Go on.",
    ]
    assert [len([p for p in m.parts if isinstance(p, Image)]) for m in users(transcript)] == [0, 0, 1, 0, 0]
    assert [m.role for m in transcript.messages[:5]] == ["user", "assistant", "tool", "user", "assistant"]
    assert "Forget what I said" not in str(transcript.messages)
    notice = next(m for m in transcript.messages if "task-notification" in str(m.parts))
    assert (notice.role, notice.origin) == ("system", "harness")
    assert "1 attachment, 7 queue-operation" in notes(transcript, "bookkeeping")[0]
    for api in ("anthropic", "openai", "openai-responses", "gemini"):
        assert not check(request(transcript, api), api)
    assert json.loads(run("inspect", path, "--json").stdout)["inspection"]["roles"]["user"] == 5


def queued(uuid: str, parent: str, prompt: object, **more: Any) -> dict[str, Any]:
    attachment = {"type": "queued_command", "commandMode": "prompt", "prompt": prompt} | more
    return {
        "type": "attachment",
        "uuid": uuid,
        "parentUuid": parent,
        "sessionId": "s",
        "attachment": attachment,
    }


def queue(operation: str, content: str, **more: Any) -> dict[str, Any]:
    return {"type": "queue-operation", "operation": operation, "content": content, "sessionId": "s"} | more


def row(kind: str, text: object, uuid: str, parent: str | None) -> dict[str, Any]:
    return session(kind, text, uuid, parentUuid=parent, id=f"m{uuid}" if kind == "assistant" else None)


def test_words_with_a_row_of_their_own_count_once():
    taken = queue("remove", "Faster.", reason="absorbed_mid_turn")
    own = log(
        row("user", "Go.", "1", None),
        queue("enqueue", "Faster."),
        taken,
        queued("2", "1", "Faster."),
        row("user", "Faster.", "3", "2"),
        row("assistant", "Yes.", "4", "3"),
    )
    assert words(load(own)) == ["Go.", "Faster."]
    twice = log(
        row("user", "Go.", "1", None),
        queued("2", "1", "Faster."),
        row("assistant", "Yes.", "3", "2"),
        queued("4", "3", "Faster."),
        row("assistant", "Yes!", "5", "4"),
    )
    assert words(load(twice)) == ["Go.", "Faster.", "Faster."]
    back = log(
        row("user", "Go.", "1", None),
        queue("enqueue", "Faster."),
        queue("popAll", "Faster."),
        row("assistant", "Yes.", "2", "1"),
    )
    assert words(load(back)) == ["Go."]
    program = log(
        row("user", "Go.", "1", None), queued("2", "1", "3 files changed", origin={"kind": "watcher"})
    )
    assert [(m.role, m.origin) for m in load(program).messages] == [("user", ""), ("system", "harness")]


# --- trees


def chain(count: int) -> list[dict[str, Any]]:
    return [
        row(("user", "assistant")[n % 2], f"t{n}", str(n), str(n - 1) if n else None) for n in range(count)
    ]


def test_circles_and_rows_that_are_their_own_parents():
    data = log(row("user", "a", "1", "2"), row("assistant", "b", "2", "1"), row("user", "c", "3", "3"))
    transcript = load(data)
    assert (said(transcript), kinds(transcript)) == (["a", "b", "c"], {"circle": 1})
    header = {"type": "session", "version": 3, "id": "s", "cwd": "/"}

    def told(ref: str, parent: str | None) -> dict[str, Any]:
        return {"type": "message", "id": ref, "parentId": parent, "message": {"role": "user", "content": ref}}

    pi = load(log(header, told("1", "2"), told("2", "1"), told("3", "3"), told("5", "4"), told("6", "5")))
    assert said(pi) == ["1", "2", "3", "5", "6"]
    assert kinds(pi) == {"circle": 2, "no-parent": 1}


def test_the_main_thread_is_whole_whatever_the_last_row_repeats():
    rows = chain(6)
    for last in rows:
        transcript = load(log(*rows, last))
        assert said(transcript) == [f"t{n}" for n in range(6)]
        assert kinds(transcript) == {"repeated-row": 1}
    rewritten = load(log(*rows, row("user", "t2, anew", "2", "1")))
    assert said(rewritten) == [*(f"t{n}" for n in range(6)), "t2, anew"]
    assert kinds(rewritten) == {"rewritten-row": 1}
    gap = load(log(*rows[:2], *rows[3:]))
    assert (said(gap), kinds(gap)) == (["t0", "t1", "t3", "t4", "t5"], {"no-parent": 1})
    assert said(load(log(*reversed(rows)))) == [f"t{n}" for n in reversed(range(6))]


@pytest.mark.parametrize("shape", ["chain", "sidechain", "backwards", "comb"])
def test_trees_take_linear_time(shape):
    rows = chain(3000)
    if shape == "sidechain":
        rows = [one | {"isSidechain": True} for one in rows]
    elif shape == "backwards":
        rows.reverse()
    elif shape == "comb":
        rows = [row("user", "root", "-1", None)]
        for n in range(1499):
            rows += row("user", "left", f"b{n}", f"{n - 1}"), row("user", "kept", f"{n}", f"{n - 1}")
    start = time.process_time()
    listed = conversations(log(*rows))
    transcript = load(log(*rows), conversation=listed[-1].id)
    assert time.process_time() - start < 4  # seconds; it took minutes
    assert len(transcript.messages) == (1500 if shape == "comb" else 3000)
    assert len(listed) == (1500 if shape == "comb" else 1)


def test_a_gap_in_an_export_is_bridged_where_the_rest_has_one_end():
    def node(ref: str, parent: str | None) -> dict[str, Any]:
        content = {"content_type": "text", "parts": [ref]}
        return {"id": ref, "parent": parent, "message": {"author": {"role": "user"}, "content": content}}

    mapping = {ref: node(ref, parent) for ref, parent in (("a", None), ("b", "a"), ("d", "c"), ("e", "d"))}
    transcript = load(packed([{"title": "t", "mapping": mapping, "current_node": "e"}]))
    assert (said(transcript), kinds(transcript)) == (["a", "b", "d", "e"], {"no-parent": 1})
    mapping = {"a": node("a", "b"), "b": node("b", "a")}
    transcript = load(packed([{"title": "t", "mapping": mapping, "current_node": "a"}]))
    assert (said(transcript), kinds(transcript)) == (["b", "a"], {"circle": 1})
