"""Readers: laws over any bytes, any JSON, and generated conversations."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from snapshot.errors import TranscriptError
from snapshot.messages import (
    Opaque,
    Text,
    ToolCall,
    ToolResult,
)
from snapshot.transcripts import conversations, detect, load
from snapshot.transcripts.registry import FORMATS
from tests.conftest import examples
from tests.transcript_samples import (
    FRAMES,
    JUNK,
    TURNS,
    numbered,
)
from tests.transcript_writers import WRITERS

# --- laws


@given(st.one_of(st.binary(max_size=300), st.text(max_size=200).map(str.encode)))
def test_any_bytes_give_a_transcript_or_an_error(data):
    for name in [None, *FORMATS]:
        try:
            transcript = load(data, format=name)
        except TranscriptError:
            continue
        assert transcript.format == (name or transcript.format)
        assert transcript.format in FORMATS


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", FRAMES)
@given(values=st.lists(JUNK, min_size=1, max_size=6))
@example(values=[float("inf"), [float("nan"), {"a": float("-inf")}], 1e308])
def test_no_shape_of_json_raises(name, values):
    """Wrong types everywhere: each is read by a rule or kept, never a traceback, never a loss in silence."""
    data = FRAMES[name](values)
    transcript = load(data, format=name)
    assert transcript == load(data, format=name)
    assert detect(data)[-1].format == "text"
    for listed in conversations(data, format=name):
        load(data, format=name, conversation=listed.id, as_sent=True)
    if name in ("anthropic", "openai-chat"):
        strays = [value for value in values if not isinstance(value, dict)]
        kept = [m.parts[0] for m in transcript.messages if m.role == "system" and m.parts]
        kept_json = [part.json for part in kept if isinstance(part, Opaque)]
        for value in strays:
            assert json.dumps(named(value), ensure_ascii=False, separators=(",", ":")) in kept_json


def named(value: Any) -> Any:
    """JSON with the names of numbers that JSON has not, as every file of ours has them."""
    if isinstance(value, float) and not math.isfinite(value):
        return json.dumps(value)
    if isinstance(value, list):
        return [named(item) for item in value]
    return {key: named(item) for key, item in value.items()} if isinstance(value, dict) else value


@pytest.mark.parametrize("name", WRITERS)
@settings(max_examples=examples(40))
@given(turns=TURNS)
def test_every_word_once_and_in_order(name, turns):
    """A conversation written in any format reads back as itself, whether the format is named or found."""
    expected: list[tuple[str, tuple[Any, ...]]] = []
    for ask, reply, calls in numbered(turns):
        expected.append(("user", (Text(ask),)))
        made = ((ref, call, args) for ref, call, args, _ in calls)
        expected.append(("assistant", (Text(reply), *made)))
        if calls:
            expected.append(("tool", tuple(ToolResult(ref, (Text(out),)) for ref, _, _, out in calls)))
    data = WRITERS[name](turns)
    for transcript in (load(data), load(data, format=name)):
        assert {o.kind for o in transcript.diagnostics} <= {"blank-text"}
        assert [
            (
                m.role,
                tuple(
                    (p.id, p.name, json.loads(p.arguments)) if isinstance(p, ToolCall) else p for p in m.parts
                ),
            )
            for m in transcript.messages
        ] == expected


def test_importing_readers_is_light():
    """Neither NumPy nor a single reader comes before something is read."""
    code = (
        "import sys, snapshot.transcripts as t\n"
        "late = {'numpy', 'numba', 'freetype', 'difflib', 'snapshot.transcripts.atif'}\n"
        "assert not late & set(sys.modules)\n"
        "print(t.load(b'hi').format)"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=Path(__file__).parents[1]
    )
    assert (run.stdout, run.stderr) == ("text\n", "")
