"""Faults found from outside that no other test holds: readers that change, refusal after refusal, long chats,
results that only look alike, compactions that only elide."""

from __future__ import annotations

import json
from typing import Any

import pytest

import snapshot
from snapshot.compaction import Compaction, elide_rung
from snapshot.compaction.estimate import Estimator
from snapshot.messages import (
    File,
    Image,
    Message,
    Opaque,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
    Transcript,
)
from snapshot.models.ids import profile_for
from snapshot.recovery import recover
from snapshot.requests import APIS, request
from snapshot.requests.check import check
from snapshot.transcripts import from_messages
from tests.conversations import image_parts, long_conversation, png

CLAUDE = "claude-opus-4-8"
READERS = {
    CLAUDE: "anthropic",
    "gpt-5.6-sol": "openai-responses",
    "gemini-3.8-flash": "gemini",
    "deepseek-chat": "openai-chat",
}


def runs_of(runs: range, *, alike: bool) -> list[Message]:
    """One command run again and again; its output the same, or another failure each time."""
    messages: list[Message] = []
    for run in runs:
        failed = "test_a" if alike else f"test_{run}"
        lines = [
            f"tests/test_x.py::{failed} line {line} of the traceback, as pytest prints it"
            for line in range(30)
        ]
        call = ToolCall(f"t{run}", "Bash", json.dumps({"command": "pytest -q"}))
        messages += [
            Message("assistant", (call,)),
            Message("tool", (ToolResult(f"t{run}", (Text("\n".join(lines)),)),)),
            Message("assistant", (Text(f"Run {run} is looked at."),)),
            Message("user", (Text(f"Again, number {run}."),)),
        ]
    return messages


def said(messages: tuple[Message, ...]) -> str:
    """All words, those of results among them."""
    found = []
    for message in messages:
        for part in message.parts:
            inner = part.content if isinstance(part, ToolResult) else (part,)
            found += [item.text for item in inner if isinstance(item, Text)]
    return "\n".join(found)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("first", READERS)
@pytest.mark.parametrize("then", READERS)
@pytest.mark.parametrize("trigger", ["target", "manual"])
def test_another_reader_gets_pages_of_its_own_or_none(first, then, trigger):
    """An archive is gone on with for whoever reads next: pages are set again, and the blind get no image."""
    transcript = long_conversation(150)
    picture = Message("user", (Text("Look."), Image("image/png", png(300, 200))))
    transcript = Transcript((picture, *transcript.messages[1:]), "anthropic")
    settings: dict[str, Any] = {"window": 16_000, "digest": True, "trigger": "manual"}
    one = snapshot.compact(transcript, model=first, **settings)
    assert one.archive is not None
    two = snapshot.compact(one.transcript, model=then, archive=one.archive, **settings | {"trigger": trigger})
    reader = profile_for(then)
    assert two.report.after <= two.report.safe
    body = two.request(READERS[then])
    assert check(body, READERS[then], limits=reader.limits) == []
    images = image_parts(two.transcript.messages)
    # The summary that stood for a reader without eyes serves one that has them.
    assert bool(images) == (reader.vision and profile_for(first).vision)
    assert two.archive is not None
    assert {name.partition("/")[0] for name in two.archive.tiers} <= {reader.name}
    for image in images[:-1]:
        assert image.data
    assert two.archive.restore(two.transcript).messages == transcript.messages


@pytest.mark.parametrize("factor", [0.8, 1.0, 1.4])
def test_refusal_after_refusal_is_answered(factor):
    """The full history each time, and the archive of the time before: each limit is kept."""
    estimator = Estimator(profile_for(CLAUDE))

    def counted(messages: tuple[Message, ...]) -> int:
        return round(estimator.messages(messages) * factor) + 400

    transcript, archive = long_conversation(160), None
    sent = transcript.messages
    for limit in (40_000, 27_000, 18_000, 12_000, 8_000):
        real = counted(sent)
        if real <= limit:
            continue
        error = {"error": {"message": f"prompt is too long: {real} tokens > {limit} maximum"}}
        done = recover(transcript, error, model=CLAUDE, archive=archive, digest=True)
        assert counted(done.transcript.messages) <= limit
        assert check(done.request("anthropic"), "anthropic") == []
        assert done.archive is not None
        assert done.archive.restore(done.transcript).messages == transcript.messages
        sent, archive = done.transcript.messages, done.archive
    assert counted(sent) <= 8_000


@pytest.mark.parametrize("length", [60, 300, 400])
def test_a_long_chat_shrinks(length):
    """A user's words as text beside the pages have a bound: a chat of nothing else becomes shorter too."""
    messages = []
    for turn in range(600):
        asked = f"Question {turn}: " + " ".join(f"word{turn * 31 + n}" for n in range(length // 8))
        answered = f"Answer {turn}: " + " ".join(f"said{turn * 17 + n}" for n in range(40))
        messages += [Message("user", (Text(asked[:length]),)), Message("assistant", (Text(answered),))]
    transcript = Transcript((*messages, Message("user", (Text("And now?"),))), "anthropic")
    done = snapshot.compact(transcript, model=CLAUDE, window=60_000)
    assert done.archive is not None
    assert done.archive.pages
    assert done.report.after <= done.report.safe
    assert done.report.after * 2 < done.report.before
    assert done.archive.restore(done.transcript).messages == transcript.messages


@pytest.mark.parametrize("model", READERS)
def test_a_digest_alone_works_for_every_reader(model):
    done = snapshot.compact(
        long_conversation(150),
        model=model,
        window=16_000,
        digest=True,
        rungs=("summarize",),
        trigger="manual",
    )
    assert done.report.after < done.report.before
    assert done.report.after <= done.report.safe
    assert not image_parts(done.transcript.messages)
    assert check(done.request(READERS[model]), READERS[model]) == []


def test_only_the_same_output_came_again():
    """Of one command's many failures each is another thing: of equal ones alone a line says it came again."""
    for alike in (True, False):
        messages = (Message("user", (Text("Fix the tests."),)), *runs_of(range(24), alike=alike))
        lines = elide_rung.elide(messages, 0, len(messages)).messages
        assert said(lines).count("the same came again") == (23 if alike else 0)
        done = snapshot.compact(Transcript(messages, "anthropic"), model=CLAUDE, window=12_000)
        assert done.archive is not None
        held = json.dumps(request(done.transcript, "anthropic")) + done.archive.to_json()
        assert all(f"test_{run} line 7" in held for run in range(24)) or alike
        assert done.archive.restore(done.transcript).messages == messages


@pytest.mark.parametrize("full", [True, False])
def test_a_second_compaction_that_only_elides_keeps_what_it_elides(full):
    start = Message("user", (Text("Fix the tests."),))
    unlike = [
        Message(m.role, tuple(_marked(part, number) for part in m.parts))
        for number, m in enumerate(runs_of(range(16), alike=True))
    ]
    first = Transcript((start, *unlike[:32]), "anthropic")
    whole = Transcript((start, *unlike), "anthropic")
    settings: dict[str, Any] = {"model": CLAUDE, "window": 12_000, "rungs": ("elide",), "target": 0.1}
    one = _elided(first, settings)
    base = first.messages if full else one.transcript.messages
    two = _elided(Transcript((*base, *unlike[32:]), "anthropic"), settings | {"archive": one.archive})
    assert two.archive is not None
    assert two.report.pages == 0
    assert two.archive.restore(two.transcript).messages == whole.messages
    held = json.dumps(request(two.transcript, "anthropic")) + two.archive.to_json()
    assert all(f"unique-{number}." in held for number in range(1, 64, 4))


@pytest.mark.parametrize("model", READERS)
@pytest.mark.parametrize("beside", ["empty", "error", "blank"])
def test_a_line_in_a_batch_is_told_in_what_an_api_gives_back(model, beside):
    """Beside a result that became a line others are spelled as the API has them: what left comes back."""
    other = ToolResult(
        "b", {"empty": (), "error": (Text("no such file"),), "blank": (Text(""),)}[beside], beside == "error"
    )
    calls = (ToolCall("a", "Read", '{"path": "a.py"}'), ToolCall("b", "Bash", '{"command": "rm x"}'))
    batch = (
        Message("assistant", calls),
        Message("tool", (ToolResult("a", (Text("unique-first. " + "value = 1\n" * 200),)), other)),
        Message("assistant", (Text("Again."), ToolCall("c", "Read", '{"path": "a.py"}'))),
        Message("tool", (ToolResult("c", (Text("unique-second. " + "value = 2\n" * 200),)),)),
    )
    start, end = Message("user", (Text("Fix the tests."),)), Message("user", (Text("And now?"),))
    transcript = Transcript((start, *batch, Message("assistant", (Text("Done."),)), end), "anthropic")
    settings: dict[str, Any] = {"window": 6000, "rungs": ("elide",), "target": 0.1, "trigger": "manual"}
    one = snapshot.compact(transcript, model=model, **settings)
    assert one.archive is not None
    assert one.archive.changed
    back = from_messages(one.request(READERS[model]))
    restored = said(one.archive.restore(back).messages)
    assert "unique-first." in restored
    assert "unique-second." in restored


@pytest.mark.parametrize("model", READERS)
@pytest.mark.parametrize("first", ["", "\0\ud800"], ids=["plain", "not to be sent"])
def test_large_arguments_come_back_from_what_an_api_gives_back(model, first):
    """APIs spell the arguments of a call anew, and no request holds NUL or half a surrogate pair."""
    long = first + " ".join(f"w{number * 7919 % 65521:x}" for number in range(7000))
    arguments = json.dumps({"n": 1, "path": f"{first}a.txt", "content": long}, ensure_ascii=False, indent=1)
    call = Message("assistant", (ToolCall("large", "files.write", arguments),))
    result = Message("tool", (ToolResult("large", (Text(f"{first}Written."),)),))
    end = (Message("assistant", (Text("Written."),)), Message("user", (Text("And now?"),)))
    talk = (*long_conversation(40).messages, Message("user", (Text(f"Never {first} on Friday."),)))
    transcript = Transcript((*talk, call, result, *end), "anthropic")
    one = snapshot.compact(transcript, model=model, window=24_000, digest=True)
    assert one.archive is not None
    assert [part.text for part in one.archive.parts] == [arguments]
    back = one.archive.restore(from_messages(one.request(READERS[model])))
    calls = [part for message in back.messages for part in message.parts if isinstance(part, ToolCall)]
    assert calls[-1].arguments == arguments


@pytest.mark.parametrize("model", READERS)
@pytest.mark.parametrize("is_error", [False, True])
def test_a_large_result_comes_back_from_what_an_api_gives_back(model, is_error):
    """Its pages stand where the API takes images, and its words in one text: it is known all the same."""
    long = "unique-large. " + " ".join(f"w{number * 7919 % 65521:x}" for number in range(7000))
    call = Message("assistant", (Text("Reading."), ToolCall("large", "Read", '{"path": "large.txt"}')))
    result = Message("tool", (ToolResult("large", (Text(long),), is_error),))
    end = (Message("assistant", (Text("Read."),)), Message("user", (Text("And now?"),)))
    transcript = Transcript((*long_conversation(40).messages, call, result, *end), "anthropic")
    one = snapshot.compact(transcript, model=model, window=24_000, digest=True)
    assert one.archive is not None
    assert [part.text for part in one.archive.parts] == [long]
    back = one.archive.restore(from_messages(one.request(READERS[model])))
    assert said(back.messages) == said(transcript.messages)


@pytest.mark.parametrize("model", READERS)
@pytest.mark.parametrize("place", ["asked", "made"])
def test_what_an_api_leaves_out_or_puts_in_words_hides_nothing(place, model):
    """Thoughts and parts that an API does not take stand beside a large part: it is known all the same."""
    long = " ".join(f"w{number * 7919 % 65521:x}" for number in range(7000))
    write = ToolCall("large", "Write", json.dumps({"path": "a.txt", "content": long}))
    odd = Opaque("hologram", '{"type": "hologram", "light": "green"}')
    ends = {
        "asked": (
            Message("user", (odd, Text("unique. " + long), File("notes.txt", "text/plain", text="some"))),
        ),
        "made": (
            Message("assistant", (Reasoning("Write it down.", signature="c2ln"), Text("I write."), write)),
            Message("tool", (ToolResult("large", (Text("Written."),)),)),
        ),
    }
    transcript = Transcript((*long_conversation(20).messages, *ends[place]), "anthropic")
    one = snapshot.compact(transcript, model=model, window=24_000, digest=True)
    assert one.archive is not None
    assert len(one.archive.parts) == 1
    back = one.archive.restore(from_messages(one.request(READERS[model])))
    assert back.messages[-len(ends[place]) :] == ends[place]


def _marked(part: Any, number: int) -> Any:
    if isinstance(part, ToolResult):
        (text,) = part.content
        assert isinstance(text, Text)
        return ToolResult(part.call_id, (Text(f"unique-{number}. {text.text}"),))
    return part


def _elided(transcript: Transcript, settings: dict[str, Any]) -> Compaction:
    done = snapshot.compact(transcript, **settings)
    assert [rung.name for rung in done.report.rungs if rung.freed] == ["elide"]
    return done


def test_what_a_library_gives_back_is_told_in_a_line():
    done = snapshot.compact(long_conversation(150), model=CLAUDE, window=16_000)
    for item in (done, done.report, done.archive, snapshot.Transcript((), "text")):
        assert "\n" not in repr(item)
        assert len(repr(item)) < 300
    for api in APIS:
        assert done.request(api)
