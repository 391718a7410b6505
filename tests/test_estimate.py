"""Estimates of how full the window is, and what costs nothing."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from typing import Any

import pytest

from snapshot.compaction import compact
from snapshot.compaction.estimate import Estimator, image_size
from snapshot.compaction.usage import context_usage
from snapshot.messages import File, Image, Message, Usage
from snapshot.models.ids import profile_for
from snapshot.transcripts import from_messages
from tests.compacting import VISION
from tests.conftest import case
from tests.conversations import long_conversation


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


# --- what the provider reported


def reported(*usages: tuple[int, Usage], turns: int = 10) -> list[Message]:
    messages = list(long_conversation(turns).messages)
    for at, usage in usages:
        messages[at] = replace(messages[at], usage=usage)
    return messages


def estimated(messages: list[Message]) -> int:
    return Estimator(profile_for(VISION)).messages(messages)


@pytest.mark.parametrize("factor", [0.5, 0.8, 1.0, 1.5, 2.5, 4.0])
def test_a_report_of_this_request_is_believed(factor):
    """Any factor above the estimate, and half of it below; the estimate of what follows is never lowered."""
    before = estimated(reported()[:20])
    usage = Usage(round(before * factor) + 1, 30)
    messages = reported((20, usage))
    filled = context_usage(messages, profile_for(VISION), overhead=0)
    assert "reported" in filled.basis
    scale = max(1.0, factor)
    assert filled.estimator.scale == pytest.approx(scale, rel=0.01)
    after = estimated(messages[21:])
    assert filled.tokens == pytest.approx(usage.input + usage.output + after * scale, rel=0.01)


def test_usage_never_lowers_the_estimate_of_a_part():
    for factor in (0.5, 0.7, 0.99):
        before = estimated(reported()[:20])
        messages = reported((20, Usage(round(before * factor), 1)))
        for overhead in (0, None):
            filled = context_usage(messages, profile_for(VISION), overhead=overhead)
            assert filled.estimator.scale == 1.0
            assert filled.estimator.messages(messages) >= estimated(messages)
            assert filled.tokens >= estimated(messages[20:])


def test_the_answer_counts_into_the_window():
    """Its tokens as reported; where they are not, as estimated."""
    before = estimated(reported()[:20])
    few, many = (
        context_usage(reported((20, Usage(before, n))), profile_for(VISION), overhead=0) for n in (10, 5010)
    )
    assert many.tokens - few.tokens == 5000
    unknown = context_usage(reported((20, Usage(before, 0))), profile_for(VISION), overhead=0)
    assert unknown.tokens - few.tokens == estimated([reported()[20]]) - 10


def test_overhead_is_of_the_newest_report():
    """Tools that were loaded since the first one are in it, those that went are not."""
    first, newest = estimated(reported()[:4]), estimated(reported()[:20])
    for early, late in ((3000, 9000), (9000, 3000)):
        messages = reported((4, Usage(first + early, 5)), (20, Usage(newest + late, 5)))
        filled = context_usage(messages, profile_for(VISION))
        assert filled.estimator.overhead + filled.estimator.scale * newest == pytest.approx(
            newest + late, abs=newest * 0.02
        )
        assert filled.tokens == newest + late + 5 + filled.tokens - (newest + late + 5)
    alone = context_usage(reported((20, Usage(newest + 9000, 5))), profile_for(VISION))
    assert alone.estimator.overhead == 9000
    assert alone.estimator.scale == 1.0


def test_text_and_overhead_are_told_apart_by_growth():
    """Text that takes twice its estimate beside 4,000 tokens of tools."""
    reports = [(at, Usage(4000 + 2 * estimated(reported()[:at]), 5)) for at in (4, 20)]
    filled = context_usage(reported(*reports), profile_for(VISION))
    assert filled.estimator.scale == pytest.approx(2.0, rel=0.02)
    assert filled.estimator.overhead == pytest.approx(4000, abs=200)


def test_reports_that_cannot_be_of_this_request():
    """A history that was compacted before it was sent; sums over a session, larger than any window."""
    whole = estimated(reported()[:20])
    for usages in (
        [(20, Usage(whole // 10, 5))],
        [(20, Usage(40_000_000, 5))],
        [(4, Usage(900, 5)), (20, Usage(400, 5))],
    ):
        filled = context_usage(reported(*usages), profile_for(VISION), overhead=0)
        assert "so not of it" in filled.basis
        assert filled.tokens == estimated(reported())


def test_reports_that_rise_together_are_believed_far_below_the_estimate():
    """Text of which the vocabulary has much longer tokens than the ratio says."""
    thirds = [(at, Usage(estimated(reported()[:at]) // 4, 5)) for at in (8, 16, 20)]
    filled = context_usage(reported(*thirds), profile_for(VISION), overhead=0)
    assert "reported" in filled.basis
    assert filled.estimator.scale == 1.0


# --- documents


@pytest.fixture(scope="module")
def contracts(tmp_path_factory) -> dict[str, dict[str, Any]]:
    """Case 035."""
    folder = tmp_path_factory.mktemp("documents")
    subprocess.run([sys.executable, case("035") / "make_input.py", folder], check=True)
    return {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in folder.glob("*.json")}


def test_documents_cost_their_pages(contracts):
    done = compact(contracts["one"], model=VISION, window=200_000)
    assert done.report.no_op
    assert 6_000 <= done.report.before <= 30_000
    assert done.request("anthropic")["messages"] == contracts["one"]["messages"]


def test_the_providers_count_of_a_document_wins(contracts):
    done = compact(contracts["used"], model=VISION, window=200_000)
    assert done.report.no_op
    filled = context_usage(from_messages(contracts["used"]).messages, profile_for(VISION))
    assert "reported" in filled.basis
    assert 12_400 <= filled.tokens <= 12_500


@pytest.mark.parametrize(
    ("model", "least", "most"),
    [
        ("claude-opus-4-8", 1500, 6000),
        ("gpt-5.6-sol", 1500, 5000),
        ("gemini-3.8-flash", 560, 560),
        ("gemini-2.5-flash", 258, 258),
    ],
)
def test_a_page_by_the_providers_rule(contracts, model, least, most):
    transcript = from_messages(contracts["one"])
    file = next(part for m in transcript.messages for part in m.parts if isinstance(part, File))
    tokens = Estimator(profile_for(model)).part(file)
    assert 6 * least <= tokens - Estimator(profile_for(model)).text(file.name) <= 6 * most


def test_documents_of_other_kinds():
    estimator = Estimator(profile_for(VISION))
    assert estimator.part(File("a.txt", "text/plain", text="word " * 100)) >= estimator.text("word " * 100)
    assert estimator.part(File("a.docx", "application/x", b"PK\x03\x04" + b"x" * 400_000)) < 100, (
        "sent as words"
    )
    assert 1500 < estimator.part(File("a.mp3", "audio/mpeg", b"ID3" + b"x" * 1_000_000)) < 3000
    away = estimator.part(File("a.pdf", "application/pdf", source="https://e.org/a.pdf"))
    assert 10_000 < away < 100_000
    damaged = estimator.part(File("a.pdf", "application/pdf", b"%PDF" + b"\xff" * 300_000))
    assert damaged == pytest.approx(away, rel=0.01), "ten pages, by its bytes"


def test_sizes_need_no_decoder():
    assert image_size(b"\x89PNG\r\n\x1a\n") is None
    assert Estimator(profile_for(VISION)).image(Image("image/bmp", b"BM")) > 0
