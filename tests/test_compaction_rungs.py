"""Where a conversation is cut, what each rung takes, and what triggers a compaction."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

import snapshot
from snapshot.compaction import CacheEconomics, Compaction, boundaries, compact, elide_rung
from snapshot.compaction.statements import Statement, chosen
from snapshot.errors import ArchiveError, CannotFit, SnapshotError, SummarizerRequired
from snapshot.messages import Image, Message, Text, ToolCall, ToolResult, Transcript
from snapshot.requests import request
from snapshot.requests.check import check
from tests.compacting import BLIND, MODELS, VISION, texts
from tests.conftest import case
from tests.conversations import SMALL_PNG, conversations, image_parts, long_conversation, png

# --- boundaries and repairs


@given(conversations())
def test_groups_partition_and_are_closed(conversation):
    messages, _ = boundaries.repair(conversation.messages)
    found = boundaries.groups(messages)
    assert [group.start for group in found] == [0, *(group.stop for group in found)][: len(found)]
    assert (found[-1].stop if found else 0) == len(messages)
    assert not any(group.open for group in found[:-1])


@given(conversations())
def test_repairing_twice_is_repairing_once(conversation):
    messages, _ = boundaries.repair(conversation.messages)
    again, repairs = boundaries.repair(messages)
    assert again == messages
    assert (repairs.orphans, repairs.unanswered, repairs.empty) == ((), 0, 0)


@pytest.mark.parametrize("tail", [0.0, 0.2, 0.9])
def test_one_huge_turn_is_cut_between_groups(tail):
    """Case 019: the request stays, the boundary stands before an assistant message, one pass is enough."""
    messages = [Message("user", (Text("Never touch conftest.py. Find the slow test."),))]
    for step in range(150):
        call = ToolCall(f"c{step}", "Bash", json.dumps({"command": f"pytest t{step}"}))
        messages.append(Message("assistant", (call,)))
        messages.append(
            Message("tool", (ToolResult(f"c{step}", (Text(f"step {step}\n" + "passed in 0.1 s\n" * 200),)),))
        )
    transcript = Transcript(tuple(messages), "anthropic")
    compaction = compact(transcript, model=VISION, window=60_000, tail=tail)
    assert compaction.report.after <= compaction.report.safe
    assert check(compaction.request("anthropic"), "anthropic") == []
    assert "Never touch conftest.py." in json.dumps(compaction.request("anthropic"))
    assert compaction.archive is not None
    assert transcript.messages[compaction.archive.boundary].role == "assistant"
    again = compact(compaction.transcript, model=VISION, window=60_000, tail=tail, archive=compaction.archive)
    assert again.report.no_op
    grown = replace(transcript, messages=(*messages, *messages[1:41]))
    later = compact(grown, model=VISION, window=60_000, tail=tail, archive=compaction.archive)
    assert later.archive is not None
    assert later.archive.boundary >= compaction.archive.boundary


def test_nothing_is_compacted_while_a_call_is_open():
    transcript = long_conversation(20)
    call = Message("assistant", (ToolCall("open", "Bash", "{}"),))
    compaction = compact(
        replace(transcript, messages=(*transcript.messages, call)),
        model=VISION,
        window=3000,
        trigger="manual",
    )
    assert "call is open" in compaction.report.no_op
    assert compaction.transcript.messages[-1] == call


# --- rungs


def test_elide_takes_what_is_superseded_and_nothing_else():
    body = "value = 1\n" * 100

    def step(number: int, text: str, *, path: str = "a.py", is_error: bool = False) -> list[Message]:
        call = ToolCall(f"c{number}", "Read", json.dumps({"path": path}))
        return [
            Message("assistant", (call,)),
            Message("tool", (ToolResult(f"c{number}", (Text(text),), is_error),)),
        ]

    quoted = "the_only_line_of_its_kind = compute(42)\n" + body
    messages = (
        *step(0, "old\n" + body),
        *step(1, "error\n" + body, is_error=True),
        *step(2, quoted, path="b.py"),
        *step(3, "new\n" + body),
        *step(4, "other\n" + body, path="b.py"),
        Message("assistant", (Text("See:\nthe_only_line_of_its_kind = compute(42)"),)),
        *step(5, "last\n" + body, path="a.py"),
    )
    lighter = elide_rung.elide(messages, 0, 10)
    assert lighter.count == 2
    gone = [
        at for at, (one, other) in enumerate(zip(messages, lighter.messages, strict=True)) if one != other
    ]
    assert gone == [1, 7]
    assert "elided: 1004 characters" in texts(lighter.messages)[0]
    assert elide_rung.elide(messages, 0, 10, protect={"Read"}).count == 0
    assert elide_rung.elide(messages, 2, 6).count == 0


def test_free_rungs_alone_keep_an_archive():
    transcript = long_conversation(6)
    pictures = Message("user", (Text("Look."), *[Image("image/png", png(900, 900))] * 3))
    transcript = replace(transcript, messages=(*transcript.messages[:4], pictures, *transcript.messages[4:]))
    compaction = compact(transcript, model=VISION, window=6000, target=0.5, rungs=("images",))
    assert not image_parts(compaction.transcript.messages)
    assert "900x900 px" in "".join(texts(compaction.transcript.messages))
    assert compaction.archive is not None
    assert len(image_parts(tuple(item.original for item in compaction.archive.changed))) == 3
    assert compaction.archive.restore(compaction.transcript).messages == transcript.messages
    with pytest.raises(ArchiveError, match="another conversation"):
        compaction.archive.restore(long_conversation(1))


def test_a_short_middle_is_not_worth_a_page():
    """Case 018, for every reader and trigger."""
    raw = json.loads(
        (Path(__file__).parent / "cases" / "018-not-worth-a-page" / "input.json").read_text(encoding="utf-8")
    )
    for model in (*MODELS.values(), BLIND):
        for trigger in ("target", "manual", "after-turn", "preflight"):
            for _ in range(3):
                draft = raw[-1:] if trigger == "preflight" else []
                given_now = raw[: len(raw) - len(draft)]
                compaction = compact(given_now, model=model, trigger=trigger, window=128_000, draft=draft)
                assert compaction.report.no_op
                assert compaction.archive is None
                assert compaction.transcript.messages == snapshot.load(json.dumps(raw).encode()).messages
    with pytest.raises((CannotFit, SummarizerRequired)):
        compact(raw, model=VISION, window=100)


def test_the_users_words_stay_word_for_word():
    """Case 020."""
    raw = json.loads((case("020") / "input.json").read_text(encoding="utf-8"))
    rules = raw[2]["content"]
    compaction = compact(raw, model=VISION, window=6000, trigger="manual", tail=0.05)
    body = json.dumps(compaction.request("anthropic"), ensure_ascii=False)
    assert json.dumps(rules, ensure_ascii=False)[1:-1] in body
    assert compaction.archive is not None
    assert rules in compaction.archive.source.text


def test_pins_stay_word_for_word():
    transcript = long_conversation(60)
    compaction = compact(transcript, model=VISION, window=12_000, trigger="manual", pins=frozenset({4}))
    assert any(
        "[assistant, pinned, word for word, 15 characters]\nFile 0 is fine." in text
        for text in texts(compaction.transcript.messages)
    )


@pytest.mark.sampled(2)
@pytest.mark.parametrize("limit", [100, 50, 20, 10, 5, 1, 0])
def test_images_never_exceed_the_limit(limit):
    """Case 016: the caller's images count first, the oldest make room, what is left out is said in place."""
    transcript = long_conversation(300, size=1500)
    pictures = [Message("user", (Text(f"Shot {i}."), Image("image/png", SMALL_PNG))) for i in range(30)]
    transcript = replace(transcript, messages=(*transcript.messages, *pictures))
    try:
        compaction = compact(
            transcript,
            model="claude-sonnet-4-5",
            window=400_000,
            limits={"images_per_request": limit},
            digest=True,
        )
    except CannotFit:
        assert limit == 0
        return
    images = len(image_parts(compaction.transcript.messages))
    assert images <= limit
    assert images == compaction.report.images
    body = compaction.request("anthropic")
    assert check(body, "anthropic", limits={"images_per_request": limit}) == []
    if compaction.report.left_out:
        assert f"{compaction.report.left_out} characters of the oldest messages" in json.dumps(body)


def test_foveation_comes_before_leaving_out():
    transcript = long_conversation(200, size=1500)
    plain = {"model": "claude-sonnet-4-5", "window": 400_000, "trigger": "manual", "tail": 0.0}
    free = compact(transcript, **plain)  # type: ignore[arg-type]
    assert free.report.pages > 8
    tight = compact(transcript, limits={"images_per_request": free.report.pages - 1}, **plain)  # type: ignore[arg-type]
    assert tight.report.dense_pages > 0
    assert tight.report.left_out == 0
    tighter = compact(transcript, limits={"images_per_request": free.report.pages // 2}, **plain)  # type: ignore[arg-type]
    assert tighter.report.left_out > 0
    assert tighter.archive is not None
    assert tighter.archive.text(0, tighter.report.left_out)


def test_the_cache_gate():
    transcript = long_conversation(120)
    paying = compact(
        transcript, model=VISION, window=200_000, trigger="manual", cache=CacheEconomics(turns=500)
    )
    assert paying.report.break_even is not None
    assert paying.report.break_even > 1
    waiting = compact(
        transcript, model=VISION, window=200_000, trigger="manual",
        cache=CacheEconomics(turns=paying.report.break_even - 1),
    )  # fmt: skip
    assert "pays only after" in waiting.report.no_op


# --- triggers


def test_manual_compacts_one_turn_and_needs_news():
    short = Transcript(long_conversation(1).messages, "anthropic")
    assert "nothing to compact" in compact(short, model=VISION, trigger="manual").report.no_op
    steps = [message for message in long_conversation(60).messages if message.role != "user"]
    one = Transcript((steps[0], Message("user", (Text("Look at all files."),)), *steps[1:]), "anthropic")
    assert compact(one, model=VISION, window=12_000, trigger="manual").report.pages
    transcript = long_conversation(60)
    first = compact(transcript, model=VISION, window=12_000, trigger="manual")
    assert first.archive is not None
    more = replace(
        first.transcript, messages=(*first.transcript.messages, *long_conversation(61).messages[-4:])
    )
    second = compact(more, model=VISION, window=12_000, trigger="manual", archive=first.archive)
    assert second.archive is not None
    assert second.archive.boundary >= first.archive.boundary


def test_after_a_turn_only_when_stable():
    transcript = long_conversation(60)
    assert not compact(transcript, model=VISION, window=12_000, trigger="after-turn").report.no_op
    running = replace(transcript, messages=transcript.messages[:-1])
    assert (
        compact(running, model=VISION, window=12_000, trigger="after-turn").report.no_op
        == "the turn is not over"
    )


def test_preflight_counts_the_draft():
    transcript = long_conversation(6)
    draft = [Message("user", (Text("word " * 3000),))]
    compaction = compact(transcript, model=VISION, window=12_000, trigger="preflight", draft=draft)
    assert compaction.transcript.messages[-1] == draft[0]
    fits = compact(transcript, model=VISION, window=50_000, trigger="preflight", draft=draft)
    assert "may go out as it is" in fits.report.no_op
    assert fits.transcript.messages == (*transcript.messages, *draft)
    without = compact(transcript, model=VISION, window=50_000, trigger="preflight")
    assert "may go out as it is" in without.report.no_op
    with pytest.raises(CannotFit) as caught:
        compact(transcript, model=VISION, window=200, trigger="preflight", draft=draft, digest=True)
    assert caught.value.smallest > caught.value.limit


# --- settings, words of the user, orphans


def test_bad_settings_are_one_line():
    wrong: tuple[tuple[dict[str, Any], str], ...] = (
        ({"rungs": ("melt",)}, "unknown rung"),
        ({"target": 0}, "target is 0"),
        ({"tail": 1.0}, "tail is 1"),
    )
    for changes, problem in wrong:
        with pytest.raises(SnapshotError, match=problem):
            compact(long_conversation(2), model=VISION, **changes)


def test_request_is_the_api_body():
    compaction = compact(long_conversation(3), model=VISION)
    assert compaction.request("anthropic") == request(compaction.transcript, "anthropic")


def test_words_said_again_and_again_leave_room_for_instructions():
    """ "Go on." is said once beside the pages, however often the user said it; what is shown stays."""
    messages: list[Message] = []
    for number in range(240):
        said = f"Rule {number // 30}: keep file {number}.py as it is." if number % 30 == 0 else "Go on."
        messages.append(Message("user", (Text(said),)))
        messages.append(Message("assistant", (Text(f"Step {number}. " + "It is done as asked. " * 40),)))
    former: Compaction | None = None
    for size in (200, 320, 480):
        done = compact(
            Transcript(tuple(messages[:size]), "anthropic"),
            model=VISION,
            window=30_000,
            archive=former.archive if former else None,
            trigger="manual",
        )
        assert done.archive is not None
        said = [item.text for item in done.archive.statements]
        assert said.count("Go on.") <= 3  # one for each compaction at most
        rules = {
            message.parts[0] for message in messages[2 : done.archive.boundary] if message.role == "user"
        }
        assert {rule.text for rule in rules if isinstance(rule, Text)} <= set(said)
        former = done


def test_a_withdrawn_order_that_is_given_again_stands_last():
    words = ["Use tabs.", "Use spaces.", "Use tabs."]
    statements = [Statement(at * 10, f"user, turn {at}", text) for at, text in enumerate(words)]
    assert [item.offset for item in chosen(statements, [5, 5, 5], 100)] == [10, 20]
    shown = frozenset({0, 10})
    assert [item.offset for item in chosen(statements, [5, 5, 5], 100, shown)] == [0, 10, 20]


def test_results_without_a_call_are_named():
    lost = Message("tool", (ToolResult("toolu_lost", (Text("seventeen letters"),)),))
    transcript = long_conversation(60)
    broken = replace(transcript, messages=(*transcript.messages[:5], lost, *transcript.messages[5:]))
    for window in (20_000, 10**6):
        report = compact(broken, model=VISION, window=window).report
        assert report.orphans == 1
        (named,) = report.orphans_named
        assert "message 6" in named
        assert "toolu_lost" in named
        assert "17 characters" in named
        assert named in str(report)
