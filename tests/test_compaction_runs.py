"""Real conversations, and a history that grows: what fits, and which pages stay."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import snapshot
from snapshot.compaction import Compaction, compact
from snapshot.messages import Image
from snapshot.models.ids import profile_for
from snapshot.requests import APIS
from snapshot.requests.check import check
from tests.compacting import MODELS, VISION
from tests.conftest import REAL, small_window
from tests.conversations import long_conversation


@pytest.mark.sampled(3)
@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("file", REAL)
def test_real_transcripts_fit(real: Path, file, api):
    transcript = snapshot.load(real / file)
    model = MODELS[api]
    compaction = compact(transcript, model=model, window=small_window(file))
    report = compaction.report
    assert report.after <= report.safe
    assert report.after < report.before
    assert check(compaction.request(api), api, limits=profile_for(model).limits) == []


@pytest.mark.parametrize("file", REAL)
def test_a_real_run_grows_and_keeps_its_pages(real: Path, file):
    """With a small window: what is gone on with is said with the same pages, byte for byte. It is set anew
    only where it has no room as it is, or refers to what left view."""
    transcript = snapshot.load(real / file)
    former: Compaction | None = None
    gone_on = 0
    for share in (0.4, 0.6, 0.8, 1.0):
        grown = replace(transcript, messages=transcript.messages[: int(len(transcript.messages) * share)])
        archive = former.archive if former else None
        later = compact(grown, model=VISION, window=small_window(file), archive=archive)
        assert later.report.after <= later.report.safe
        if former is not None and former.report.pages > 1:
            assert former.archive is not None
            assert later.archive is not None
            old = dict(zip(former.archive.pages, _pages(former), strict=True))
            new = dict(zip(later.archive.pages, _pages(later), strict=True))
            if later.archive.listed[0] == former.archive.listed[0]:
                gone_on += 1
                assert [new.get(span) == old[span] for span in list(old)[:-1]] == [True] * (len(old) - 1)
            else:
                denser = sum(name.endswith("/dense") for name in later.archive.tiers)
                assert later.report.left_out or denser
            assert later.report.middle >= former.report.middle
        former = later
    assert gone_on or file == REAL[0]


def _pages(compaction: Compaction) -> list[bytes]:
    """The pages in a request, without the caller's own images."""
    assert compaction.archive is not None
    message = compaction.transcript.messages[compaction.archive.head]
    return [part.data for part in message.parts if isinstance(part, Image)]


def test_the_full_history_is_sent_with_its_pages():
    """Given the full history and an archive, what is to be sent has the pages, also where nothing is new."""
    transcript = long_conversation(60)
    first = compact(transcript, model=VISION, window=12_000, trigger="manual")
    assert first.archive is not None
    for trigger in ("manual", "target"):
        again = compact(transcript, model=VISION, window=12_000, trigger=trigger, archive=first.archive)
        assert again.transcript.messages == first.transcript.messages
        assert again.report.before == pytest.approx(first.report.after, rel=0.01)
    whole = compact(transcript, model=VISION, window=500_000, archive=first.archive)
    assert whole.report.no_op
    assert _pages(whole) == _pages(first)
