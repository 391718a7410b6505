"""Estimates of how full the window is, and what costs nothing."""

from __future__ import annotations

import json
from dataclasses import replace

from snapshot.models.ids import profile_for

from snapshot.compaction import compact
from snapshot.compaction.estimate import Estimator, context_usage
from snapshot.messages import Usage
from tests.conftest import case
from tests.conversations import long_conversation
from tests.test_compaction import VISION


def test_occupancy_goes_by_what_was_reported():
    transcript = long_conversation(10)
    messages = list(transcript.messages)
    estimated = Estimator(profile_for(VISION)).messages(messages[:20])
    messages[20] = replace(messages[20], usage=Usage(round(estimated * 1.3), 10))
    filled = context_usage(messages, profile_for(VISION), overhead=0)
    assert filled.tokens > estimated * 1.3
    assert 1.2 < filled.estimator.scale < 1.4
    assert "reported" in filled.basis
    messages[20] = replace(messages[20], usage=Usage(10, 10))
    assert "so not of it" in context_usage(messages, profile_for(VISION), overhead=0).basis
    assert "no usage" in context_usage(transcript.messages, profile_for(VISION)).basis


def test_signatures_cost_nothing():
    """Case 013."""
    raw = json.loads((case("013") / "input.json").read_text(encoding="utf-8"))
    stripped = json.loads(json.dumps(raw))
    for message in stripped:
        if isinstance(message["content"], list):
            for block in message["content"]:
                if "signature" in block:
                    block["signature"] = "c2ln"
    one, other = (compact(item, model=VISION, window=100_000) for item in (raw, stripped))
    assert one.report.before == other.report.before


def test_signed_reasoning_goes_back_as_it_came():
    """Case 013: the blocks of the open tool loop, key for key; none of it on pages."""
    raw = json.loads((case("013") / "input.json").read_text(encoding="utf-8"))
    compaction = compact(raw, model=VISION, window=2000, trigger="manual", tail=0.5)
    sent = compaction.request("anthropic")["messages"]
    for number in (7, 9):
        assert raw[number]["content"] in [message["content"] for message in sent]
    if compaction.archive is not None:
        for message in raw:
            for block in message["content"] if isinstance(message["content"], list) else ():
                for secret in (block.get("signature", ""), block.get("data", "")):
                    for at in range(0, max(0, len(secret) - 8), 8):
                        assert secret[at : at + 8] not in compaction.archive.source.text
