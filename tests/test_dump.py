"""Writers: what is written reads back the same but for the losses that are told."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snapshot.errors import SnapshotError
from snapshot.messages import Message, Reasoning, Text, ToolCall, ToolResult, Transcript
from snapshot.transcripts import READ_ONLY, dump, load
from snapshot.transcripts.registry import FORMATS
from snapshot.transcripts.round_trip import instant
from snapshot.transcripts.writing.units import joined, settled
from tests.conftest import HERE, examples
from tests.transcript_samples import SESSION, log
from tests.transcript_strategies import alike, conversations, transcripts

WRITTEN = [name for name in FORMATS if name not in READ_ONLY]
STRUCTURED = [name for name in WRITTEN if name != "text"]
# Formats that hold results only in the order of the calls; the first three know calls by nothing else.
ORDERED = ("chatgpt-export", "sharegpt", "chatml", "ai-sdk")
# Formats in which what the assistant says in a row is one.
JOINING = ("chatgpt-export", "codex", "gemini", "openai-responses")
WORDS_ALONE = ("markdown",)
# Plain words in these are any API's messages.
AMBIGUOUS = ("inspect-ai", "openai-chat")


def again(transcript: Transcript, name: str) -> tuple[Transcript, list[str]]:
    """The transcript written and read, and the kinds of what was lost."""
    dumped = dump(transcript, name)
    return load(dumped.data, format=name), [loss.kind for loss in dumped.losses]


@pytest.mark.parametrize("name", STRUCTURED)
@settings(max_examples=examples(15))
@given(data=st.data())
def test_what_a_format_holds_comes_back_exactly(name, data):
    transcript = data.draw(conversations(ids=name not in ORDERED, calls=name not in WORDS_ALONE))
    back, lost = again(transcript, name)
    assert lost == []
    assert alike(back) == alike(transcript)
    assert {o.kind for o in back.diagnostics} <= {"blank-text"}
    assert load(dump(transcript, name).data).format == name or name in AMBIGUOUS


@pytest.mark.parametrize("name", STRUCTURED)
@settings(max_examples=examples(15))
@given(transcript=transcripts)
def test_every_difference_is_told(name, transcript):
    assert_told(name, transcript)


@pytest.mark.slow
@pytest.mark.parametrize("name", STRUCTURED)
@settings(max_examples=examples(200))
@given(transcript=transcripts)
def test_every_difference_is_told_in_many(name, transcript):
    assert_told(name, transcript)


def assert_told(name: str, transcript: Transcript) -> None:
    """Messages without a loss read back the same, in order; what was read once is held without one."""
    dumped = dump(transcript, name)
    if not dumped.data:
        return  # not a word: a file of it counts as empty
    back = load(dumped.data, format=name)
    told = {loss.where for loss in dumped.losses}
    wanted = settled(transcript)
    if name in JOINING:
        wanted = joined(wanted, lambda *_: None)
    plain = alike(Transcript(tuple(m for _, m in wanted), ""), ids=name not in ORDERED)
    kept = [some for some, (number, _) in zip(plain, wanted, strict=True) if number not in told]
    found = iter(alike(back, ids=name not in ORDERED))
    assert all(some in found for some in kept)
    if not told:
        assert len(back.messages) == len(kept)
        assert back.model == transcript.model
        for (_, message), read in zip(wanted, back.messages, strict=True):
            assert instant(message.time) == instant(read.time)
            assert message.usage == read.usage
            assert message.id in ("", read.id)
    second, lost = again(back, name)
    assert lost == []
    assert second.messages == back.messages
    assert second.model == back.model


@given(transcript=transcripts)
def test_text_is_written_for_people(transcript):
    dumped = dump(transcript, "text")
    for message in transcript.messages:
        for part in message.parts:
            if isinstance(part, Text) and part.text.strip():
                assert part.text in dumped.data.decode()
    assert {loss.where for loss in dumped.losses if loss.where} in (
        set(),
        set(range(1, len(transcript.messages) + 1)),
    )


@pytest.mark.parametrize("text", ["# Title\r\n\0x", "\ufeffmarked", "tab\t\u2028"])
def test_a_document_is_written_as_it_is(text):
    document = Transcript((Message("user", (Text(text),)),), "text")
    dumped = dump(document, "text")
    assert not dumped.losses
    assert load(dumped.data, format="text").messages == document.messages


SIGNED = Message("assistant", (Reasoning("why", "c2ln"), Text("so"), ToolCall("c", "Read", '{"a": 1}')), "m1")
FAILED = Message("tool", (ToolResult("c", (Text("no such file"),), is_error=True),))


def test_losses_say_what_where_and_what_stands_for_it():
    transcript = Transcript((Message("user", (Text("go"),)), SIGNED, FAILED), "anthropic", "m")
    dumped = dump(transcript, "openai-chat")
    assert [(loss.kind, loss.where) for loss in dumped.losses] == [("signature", 2), ("error", 3)]
    messages = json.loads(dumped.data)["messages"]
    assert messages[1]["reasoning_content"] == "why"
    assert messages[1]["tool_calls"][0]["function"]["arguments"] == '{"a": 1}'
    assert messages[2]["content"] == "[error] no such file"
    assert [(loss.kind, loss.where) for loss in dump(transcript, "anthropic").losses] == [("spelling", 2)]


def test_keys_that_the_conversation_does_not_know_go_back_as_they_came():
    block = {"type": "text", "text": "hi", "cache_control": {"type": "ephemeral"}}
    data = json.dumps({"messages": [{"role": "user", "content": [block]}]}).encode()
    assert json.loads(dump(load(data), "anthropic").data)["messages"][0]["content"] == [block]
    row = json.loads(dump(load(data), "claude-session").data)
    assert row["message"]["content"] == [block]


def test_what_is_for_one_api_alone_is_told_where_another_is_written():
    call = {"functionCall": {"id": "a", "name": "f", "args": {}}, "thoughtSignature": "c2ln"}
    gemini = load(
        json.dumps([{"role": "user", "parts": [{"text": "go"}]}, {"role": "model", "parts": [call]}]).encode()
    )
    assert json.loads(dump(gemini, "gemini").data)["contents"][1]["parts"] == [call]
    assert not dump(gemini, "gemini").losses
    assert [(loss.kind, loss.where) for loss in dump(gemini, "anthropic").losses] == [("keys", 2)]


@pytest.mark.parametrize("name", WRITTEN)
@pytest.mark.parametrize("depth", [150, 400, 900])
def test_deep_values_are_written_or_refused(name, depth):
    deep: object = 1
    for _ in range(depth):
        deep = [deep]
    use = {"type": "tool_use", "id": "c", "name": "f", "input": {"a": deep}}
    transcript = load(json.dumps([{"role": "assistant", "content": [use]}]).encode())
    assert isinstance(transcript.messages[0].parts[0], ToolCall)
    try:
        dumped = dump(transcript, name)
    except SnapshotError:
        with pytest.raises(SnapshotError, match="nested too deeply"):
            dump(transcript, name)
    else:
        load(dumped.data, format=name)


def test_a_session_is_a_tree_of_one_branch():
    dumped = dump(load(log(*SESSION)), "claude-session")
    rows = [row for row in map(json.loads, dumped.data.splitlines()) if "message" in row]
    assert [row["parentUuid"] for row in rows] == [None, *(row["uuid"] for row in rows[:-1])]
    assert len({row["sessionId"] for row in rows}) == 1
    assert alike(load(dumped.data)) == alike(load(log(*SESSION)))


@cache
def salvaged(path: Path) -> Transcript:
    return load(path, salvage=True)


@pytest.mark.parametrize("name", WRITTEN)
def test_every_case_converts(name):
    """What broke other tools converts to every format, and a second time without a loss."""
    for path in [*sorted(HERE.glob("cases/*/input.*"))]:
        if path.parent.name.startswith(("031", "039")):  # no conversation
            continue
        transcript = salvaged(path)
        back, lost = again(transcript, name)
        if not lost:
            assert alike(back) == alike(transcript)
        if name != "text":
            second, lost = again(back, name)
            assert (second.messages, lost) == (back.messages, [])


def test_the_real_ones_convert(real):
    facts = {"id", "time", "usage", "call-id", "model"}
    said = {"signature", "error", "order", "joined", "blanks", "spelling"}
    for path in sorted(real.glob("*.json*")):
        transcript = load(path)
        for name in set(STRUCTURED) - {"markdown"}:
            back, lost = again(transcript, name)
            assert len(back.messages) == len(transcript.messages)
            assert set(lost) <= facts | said
            if set(lost) <= facts - {"call-id"}:
                assert alike(back) == alike(transcript)


@pytest.mark.parametrize("name", WRITTEN)
def test_a_conversation_of_nobody(name):
    dumped = dump(Transcript((), "hand-made"), name)
    if name in ("text", "chatml", "markdown"):
        assert dumped.data == b""
        assert [loss.kind for loss in dumped.losses] == ["message"]
    else:
        assert load(dumped.data, format=name).messages == ()


def test_rows_beside_the_conversation_stay_in_a_file_of_the_same_form():
    session = load(log(*SESSION))
    assert session.extra_rows
    assert load(dump(session, "claude-session").data).extra_rows == session.extra_rows
    kinds = [loss.kind for loss in dump(session, "claude-stream").losses]
    assert kinds.count("aside") == len(session.extra_rows)


def test_unknown_formats_are_named():
    with pytest.raises(SnapshotError, match="did you mean 'gemini'"):
        dump(Transcript((), "text"), "gemni")
