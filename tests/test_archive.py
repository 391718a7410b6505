"""Archives: stored, damaged, searched, and gone on from."""

from __future__ import annotations

import base64
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import snapshot
from snapshot.compaction import Archive, compact
from snapshot.compaction.archive import CLOSING, OPENING
from snapshot.errors import ArchiveError
from snapshot.messages import Message, Text, ToolCall, ToolResult
from snapshot.requests import APIS
from snapshot.requests.check import check
from tests.compacting import MODELS, VISION, shrink, texts
from tests.conftest import examples
from tests.conversations import conversations, long_conversation


@settings(
    max_examples=examples(30), suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow]
)
@given(conversations())
def test_an_archive_survives_storing(conversation):
    compaction = shrink(conversation)
    assume(compaction is not None and compaction.archive is not None)
    assert compaction is not None
    assert compaction.archive is not None
    stored = Archive.from_json(compaction.archive.to_json())
    assert stored == compaction.archive
    assert stored.id == compaction.archive.id


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"schema": "snapshot-pages/archive/99"}', "flip"])
def test_a_damaged_archive_is_one_line(damage):
    compaction = compact(long_conversation(60), model=VISION, window=12_000, trigger="manual")
    assert compaction.archive is not None
    text = compaction.archive.to_json()
    with pytest.raises(ArchiveError) as caught:
        Archive.from_json(text.replace("line 1 of", "line 2 of") if damage == "flip" else damage)
    assert "\n" not in str(caught.value)


def test_an_archive_answers():
    compaction = compact(
        long_conversation(200), model=VISION, window=30_000, max_output=4_000, trigger="manual"
    )
    archive = compaction.archive
    assert archive is not None
    assert archive.page(1) == archive.text(*archive.pages[0])
    assert archive.message(archive.head + 1).startswith("⁋")
    assert archive.answer({"message": archive.boundary}) == archive.message(archive.boundary)
    assert "".join(map(archive.message, range(archive.head + 1, archive.boundary + 1))) == archive.source.text
    beyond = archive.answer({"message": archive.boundary + 1})
    assert beyond.startswith(f"the archive has messages {archive.head + 1} to {archive.boundary}, not")
    (found, *_) = archive.search("VALUE_9 =")
    assert archive.source.text[found.start : found.stop].lower() == "value_9 ="
    assert found.page == archive.page_at(found.start) > 0
    assert archive.answer({"page": 1}) == archive.page(1)
    assert archive.answer({"page": 99}).startswith("the archive has pages 1 to")
    assert archive.answer({"search": "no such words"}) == "not found"
    for api in APIS:
        assert "read_archive" in json.dumps(archive.tool(api))


def test_a_message_longer_than_the_window_is_cut_and_says_so():
    """A call of the tool must not bring back what the compaction took away."""
    words = " ".join(f"w{number}" for number in range(40_000))
    conversation = long_conversation(30)
    conversation = replace(
        conversation,
        messages=(*conversation.messages[:2], Message("user", (Text(words),)), *conversation.messages[2:]),
    )
    archive = compact(conversation, model=VISION, window=60_000, trigger="manual").archive
    assert archive is not None
    answer = archive.answer({"message": 3})
    text, _, rest = answer.rpartition("\n")
    assert archive.message(3).startswith(text)
    assert len(answer) < 41_000 < len(archive.message(3))
    assert rest == f"[{len(archive.message(3)) - len(text)} more characters: search, or ask for pages]"


def test_a_line_of_the_live_state_is_found_by_its_number():
    """What an agent doubts it can look up: [n] is the message that the line comes from."""
    run = snapshot.load(Path(__file__).parent / "data" / "ytt-start.claude-stream.jsonl")
    for window in (24_000, 30_000, 40_000):
        archive = snapshot.compact(run, model=VISION, window=window, trigger="manual").archive
        assert archive is not None
        lines = re.findall(r"^- \[(\d+)\] (?:.* )?(\S+\.\w+)", archive.ledger, flags=re.MULTILINE)
        archived = [(int(n), file) for n, file in lines if archive.head < int(n) <= archive.boundary]
        assert archived
        for number, file in archived:
            assert file.rpartition("/")[2] in archive.answer({"message": number})


@given(conversations(most=20), st.sampled_from(APIS))
@settings(
    max_examples=examples(30), suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow]
)
def test_a_compacted_list_of_an_api_goes_on(conversation, api):
    """A harness that keeps the compacted request as its history can give it back, with the archive."""
    first = shrink(conversation, model=MODELS[api])
    assume(first is not None and first.archive is not None and bool(first.archive.pages))
    assert first is not None
    assert first.archive is not None
    from snapshot.transcripts import from_messages

    back = from_messages(first.request(api))
    restored = first.archive.restore(back)
    assert [text for text in texts(restored.messages) if OPENING in text or CLOSING in text] == []
    assert len(restored.messages) >= len(first.archive.messages)


def _nameless(turns: int, *, start: int = 0) -> list[dict[str, Any]]:
    """Contents of Gemini whose calls have no ids, each with a signature that has to go back."""
    contents: list[dict[str, Any]] = []
    for turn in range(start, start + turns):
        said = [f"{turn} {n} reads the ledger line by line" for n in range(40)]
        signed = {"thoughtSignature": base64.b64encode(f"signed {turn}".encode()).decode()}
        call = {"functionCall": {"name": "Read", "args": {"path": f"{turn}.py"}}, **signed}
        answer = {"functionResponse": {"name": "Read", "response": {"output": "\n".join(said)}}}
        contents += [
            {"role": "user", "parts": [{"text": f"Request {turn}"}]},
            {"role": "model", "parts": [call]},
            {"role": "user", "parts": [answer]},
            {"role": "model", "parts": [{"text": f"Done {turn}."}]},
        ]
    return contents


@pytest.mark.parametrize("spliced", [False, True])
def test_calls_without_ids_go_back_with_their_signatures(spliced):
    """The compacted list goes on: its calls are counted anew, those of the archive were counted before."""
    history = _nameless(60)
    archive = None
    for turn in range(60, 100, 8):
        done = compact(history, model="gemini-3.8-flash", window=20_000, max_output=2_000, archive=archive)
        archive = done.archive
        sent = done.request("gemini")["contents"]
        assert not check({"contents": sent}, "gemini")
        assert sent[-12:] == history[-12:]
        kept = done.splice()
        assert all(one is other for one, other in zip(kept[-12:], history[-12:], strict=True))
        history = [*(kept if spliced else sent), *_nameless(8, start=turn)]
    assert archive is not None
    assert archive.pages
    whole = archive.restore(done.transcript)  # pyright: ignore[reportPossiblyUnboundVariable]
    calls = [part for message in whole.messages for part in message.parts if isinstance(part, ToolCall)]
    assert len({call.id for call in calls}) == len(calls) == 60 + 8 * 4
    told = [part for message in whole.messages for part in message.parts if isinstance(part, ToolResult)]
    assert [call.id for call in calls] == [result.call_id for result in told]
    said = [item.text.split()[0] for result in told for item in result.content if isinstance(item, Text)]
    assert said == [str(turn) for turn in range(60 + 8 * 4)]
