"""Sessions in other files: trees of pi, and the transcript beside the store from which a run resumes."""

from __future__ import annotations

import json
import stat

import pytest

from snapshot.compaction.estimate import Estimator
from snapshot.errors import SessionDamaged, SessionError
from snapshot.messages import Message, Text
from snapshot.models.ids import profile_for
from snapshot.requests import APIS, request
from snapshot.requests.check import check
from snapshot.session import Checkpoint, load_run, save_run
from snapshot.session.pi import is_pi, read_pi, write_pi
from tests.conftest import case
from tests.conversations import long_conversation
from tests.session_histories import MODEL, store
from tests.session_model import answer, calling, result, turn, user

__all__ = ["store"]  # a fixture: pytest finds it here

PI = (case("022") / "input.jsonl").read_bytes()


# --- case 022: a tree with two compactions


def short(*ids: str) -> tuple[str, ...]:
    return tuple(f"a00000{one}" for one in ids)


def words(messages) -> list[str]:
    return [part.text for message in messages for part in message.parts if isinstance(part, Text)]


def test_each_leaf_is_projected_by_the_newest_compaction_on_its_own_path(store):
    assert is_pi(PI)
    assert read_pi(store, PI, "shop") == []
    history = store.history("shop")
    active = history.project()
    assert active.ids == short("02", "03", "04", "05", "0e", "0f", "10")
    assert active.checkpoint == ""
    newest = history.project(at="a000000d")
    assert newest.ids == short("09", "0a", "0c", "0d")
    assert words(newest.lead) == ["Coupon field added, one code per order, discount shown in the total."]
    assert not [
        text for text in words(newest.transcript.messages) if text == "Coupon field added after the address."
    ]
    older = history.project(at="a000000a")
    assert older.ids == short("06", "07", "09", "0a")
    assert words(older.lead) == ["Coupon field added after the address."]
    assert history.project(at="a0000007").ids == short("02", "03", "04", "05", "06", "07")
    assert history.project(at="a0000007").lead == ()
    assert {branch.leaf for branch in history.branches()} == {"a0000011", "a000000d"}
    assert [(label.name, label.node) for label in history.labels()] == [("gift cards work", "a0000010")]
    assert [found for _, found in store.check()] == [[], []]
    for at in ("", "a000000d", "a000000a", "a0000007"):
        for api in APIS:
            assert check(request(history.project(at=at).transcript, api), api) == []


def test_importing_and_exporting_keeps_every_entry_and_its_id(store):
    read_pi(store, PI, "shop")
    lines = write_pi(store.history("shop")).splitlines()
    assert [json.loads(line) for line in lines] == [json.loads(line) for line in PI.splitlines()]


def test_what_is_added_to_a_tree_of_pi_is_written_behind_it(store):
    read_pi(store, PI, "shop")
    history = store.history("shop")
    history.append([user("More."), calling("x", "y"), result("x"), result("y"), answer("Done.")])
    history.commit(history.plan(), Checkpoint("summary", "", (user("All of it."),), MODEL))
    written = write_pi(history)
    assert written.startswith(write_pi(store.history("shop"))[:2000])
    read_pi(store, written, "again")
    again = store.history("again")
    assert again.project() == history.project()
    assert [message.parts for _, message in again.path()] == [message.parts for _, message in history.path()]


def test_entries_out_of_order_are_kept_and_named(store):
    entries = [json.loads(line) for line in PI.splitlines()]
    del entries[4]  # the result
    entries[4]["parentId"] = "a0000003"
    del entries[-2]  # what the label names
    entries.append(
        {"type": "message", "id": "ff", "parentId": "zz", "message": {"role": "toolResult", "content": 3}}
    )
    data = "\n".join(map(json.dumps, entries)).encode() + b'\n{"torn'
    found = read_pi(store, data, "shop")
    assert {item.kind for item in found} == {"open-call", "torn-line", "not-sent", "missing-parent"}
    assert [found for _, found in store.check()] == [[], []]
    kept = [json.loads(line) for line in write_pi(store.history("shop")).splitlines()]
    assert kept == entries


# --- transcripts beside the store


def test_a_run_resumes_from_its_file(store, tmp_path):
    history = store.create(
        "talk", "scout", model=MODEL, messages=[Message("system", (Text("Be brief."),)), *turn("one", 2)]
    )
    history.label("start")
    path = save_run(history)
    assert path == tmp_path / "s.transcripts" / "talk" / "scout.json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert {stat.S_IMODE(folder.stat().st_mode) for folder in path.parents[:2]} == {0o700}
    run = load_run(path)
    assert run.damage == ()
    assert run.sent == history.project()
    assert run.labels == history.labels()
    assert json.loads(path.read_text())["schema"] == "snapshot-pages/run/1"


def test_a_run_with_a_checkpoint_has_its_pages(store):
    history = store.create("long", model=MODEL, format="anthropic", messages=long_conversation(60).messages)
    assert history.compact(window=8000).checkpoint
    assert load_run(save_run(history)).sent == history.project()


@pytest.mark.parametrize("tokens", [*range(40, 1200, 60), 100_000])
def test_a_cut_run_keeps_the_newest_that_fit_and_no_orphan(store, tokens):
    messages = [
        Message("system", (Text("Be brief."),)),
        *turn("one", 2),
        *turn("two", 3),
        *turn("three " * 200, 1),
        *turn("four", 2),
    ]
    history = store.create("talk", model=MODEL, messages=messages)
    for name, at in (("early", 1), ("late", -1)):
        history.label(name, at=history.path()[at][0])
    save_run(history)
    estimator = Estimator(profile_for(MODEL))
    cut = load_run(save_run(history)).cut(tokens)
    kept = [message for _, message in cut.sent.kept]
    assert kept[:1] == messages[:1]
    assert kept[1:] == messages[len(messages) - len(kept) + 1 :]
    assert len(kept) < 2 or kept[1].role != "tool"
    assert len(kept) == 1 or estimator.messages(kept) <= tokens
    assert [label.name for label in cut.labels] == [
        name for name, at in (("early", 1), ("late", -1)) if messages[at] in kept[1:]
    ]
    for api in APIS:
        assert check(request(cut.sent.transcript, api), api) == []


def test_every_cut_off_file_gives_what_is_whole_in_it(store):
    history = store.create("talk", model=MODEL, messages=[*turn("one", 2), *turn("two", 1)])
    path = save_run(history)
    data, whole = path.read_bytes(), load_run(path).sent.kept
    most = 0
    for size in [*range(0, len(data) - 2, 7), len(data) - 2]:
        path.write_bytes(data[:size])
        try:
            run = load_run(path)
        except SessionError:
            assert most == 0
            continue
        assert run.damage
        assert run.sent.kept == whole[: len(run.sent.kept)]
        assert len(run.sent.kept) >= most
        most = len(run.sent.kept)
        assert path.read_bytes() == data[:size], "nothing is rewritten"
    assert most == len(whole)


def test_damaged_runs_say_what_is_wrong_and_are_repaired(store):
    history = store.create("talk", model=MODEL, messages=[*turn("one", 2), *turn("two", 1)])
    path = save_run(history)
    head, *lines = path.read_text().splitlines()
    value = json.loads("\n".join([head, *lines]))
    del value["messages"][2]  # the results of the first calls
    value["messages"][4]["node"] = value["messages"][3]["node"]
    value["messages"][0]["role"] = "narrator"
    value["messages"].append(
        {"node": "n", "role": "tool", "parts": [{"is": "ToolResult", "call_id": "none"}]}
    )
    value["messages"].append({"parts": 3})
    path.write_text(json.dumps(value))
    run = load_run(path)
    kinds = {item.kind for item in run.damage}
    assert kinds == {"open-call", "duplicate-id", "impossible-role", "orphan-result", "unreadable"}
    path.write_text(run.repaired().to_json())
    assert load_run(path).damage == ()
    path.write_text(json.dumps(value | {"schema": "snapshot-pages/run/7", "messages": []}))
    assert [item.kind for item in load_run(path).damage] == ["newer-schema"]
    for text, error in (("[", SessionDamaged), ('{"messages": []}', SessionError)):
        path.write_text(text)
        with pytest.raises(error):
            load_run(path)


# --- labels of pi


def entries(*rows: dict) -> bytes:
    said = [
        {"type": "message", "id": name, "parentId": parent, "message": {"role": "user", "content": name}}
        for name, parent in (("a", None), ("b", "a"), ("c", "b"))
    ]
    header = {"type": "session", "version": 3, "id": "s"}
    return "\n".join(map(json.dumps, (header, *said, *rows))).encode()


def labelled(target: str, label: str | None, *, name: str, parent: str) -> dict:
    return {"type": "label", "id": name, "parentId": parent, "targetId": target, "label": label}


@pytest.mark.parametrize(
    ("labels", "wanted"),
    [
        ([("a", "one")], {"one": "a"}),
        ([("a", "one"), ("a", "two")], {"two": "a"}),
        ([("a", "one"), ("a", None)], {}),
        ([("a", "one"), ("b", "two"), ("a", "")], {"two": "b"}),
        ([("a", "same"), ("b", "same")], {"same": "a", "same 2": "b"}),
        ([("a", "one"), ("gone", "two")], {"one": "a"}),
    ],
)
def test_labels_of_pi_name_entries_and_can_be_taken_away(store, labels, wanted):
    rows = [
        labelled(target, label, name=f"l{n}", parent=f"l{n - 1}" if n else "c")
        for n, (target, label) in enumerate(labels)
    ]
    assert read_pi(store, entries(*rows), "s") == []
    assert {label.name: label.node for label in store.history("s").labels()} == wanted
    # What came goes back as it came, and nothing is added to it.
    assert write_pi(store.history("s")).splitlines() == entries(*rows).splitlines()


def test_labels_and_the_end_of_the_branch_are_written_for_pi(store):
    read_pi(store, entries(labelled("a", "one", name="l", parent="c")), "s")
    history = store.history("s")
    history.label("new", at="b")
    history.set_branch("back", at="b")
    history.switch("back")
    read_pi(store, write_pi(history), "again")
    again = store.history("again")
    assert {label.name: label.node for label in again.labels()} == {"one": "a", "new": "b"}
    assert words(message for _, message in again.path()) == ["a", "b"]
    plain = store.create("plain", model=MODEL, messages=[*turn("one"), *turn("two")])
    plain.retry(plain.path()[0][0])
    read_pi(store, write_pi(plain), "plain-again")
    assert words(message for _, message in store.history("plain-again").path()) == ["one"]
