"""Nothing that had room is left out: at the limits of each provider, counted on drawn pages."""

from __future__ import annotations

import re

import pytest

import snapshot
from benchmarks.capacity import ROUTES, capacity
from snapshot.compaction.limits import usable
from snapshot.compaction.page_images import base64_bytes
from snapshot.compaction.pagination import denser
from snapshot.messages import Image
from snapshot.models.catalog import profiles
from snapshot.models.profile import ModelProfile
from snapshot.pages.layout import Layout, layout_for
from snapshot.pages.render import Typesetter
from snapshot.requests.limits import load_of
from tests.test_real_bytes import talk, text_of

READERS = {
    reader.name: reader
    for reader in profiles()
    if reader.vision and reader.window > 30_000
    if layout_for(name=reader.name).capacity / layout_for(name=reader.name).tokens > reader.chars_per_token
}  # of a reader whose pages cost more than their text none are made
FIRST = {reader.provider: reader.name for reader in reversed(READERS.values())}  # of each provider
EVERY = [
    pytest.param(name, marks=() if name in FIRST.values() else pytest.mark.slow, id=name) for name in READERS
]
# Shares of the goal and of the body that are kept for the factsheet, whether they are used or not; and the
# share of a page's rows below which a page is not worth an image.
FACTS, FACTS_IN_BODY, SHORT = 0.08, 0.1, 0.2


def model_of(reader: ModelProfile) -> str:
    return reader.example or re.sub(r"[-*/]+$", "", reader.models[0])


def compacted(layout: Layout, kind: str, pages: int, **settings):
    """A conversation of so many pages, compacted to no less than it must be."""
    conversation = talk(kind, 2 * pages, layout.capacity // 2)
    options = snapshot.Options(tail=0.02, target=1.0)
    return snapshot.compact(conversation, model=model_of(layout.reader), options=options, **settings)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", EVERY)
def test_tokens_at_their_limit(name: str):
    layout = layout_for(name=name)
    done = compacted(
        layout, "dense", 12, window=7 * layout.tokens + 20_000, limits={"images_per_request": 50}
    )
    report, dense = done.report, denser(layout) or layout
    assert report.after <= report.safe
    if report.left_out:
        shorter = min(
            one.billing.tokens(one.width, one.page_height(int(SHORT * one.rows))) for one in (layout, dense)
        )
        assert report.after > report.safe - FACTS * report.goal - shorter - 50


@pytest.mark.parametrize("name", EVERY)
def test_images_at_their_limit(name: str):
    layout = layout_for(name=name)
    most = min(4, layout.reader.limits.get("images_per_request", 4))
    limits = {"images_per_request": most}
    done = compacted(layout, "dense", 12, window=90 * layout.tokens + 60_000, limits=limits, trigger="manual")
    assert done.report.left_out
    assert done.report.images == usable(most) == most


@pytest.mark.sampled(3)
@pytest.mark.parametrize("kind", [pytest.param("dense", marks=pytest.mark.slow), "random"])
@pytest.mark.parametrize("name", EVERY)
def test_bytes_at_their_limit(name: str, kind: str):
    layout = layout_for(name=name)
    sample = capacity(name, layout, text_of(kind, layout.capacity))
    limits = {"request_bytes": 6 * sample.page_bytes, "images_per_request": 50}
    window = 120 * layout.tokens + 60_000
    done = compacted(layout, kind, 14, window=window, limits=limits, trigger="manual")
    archive, room = done.archive, usable(limits["request_bytes"])
    assert archive is not None
    left_out = done.report.left_out
    assert left_out
    body = load_of(done.transcript.messages).measure_bytes()
    assert body <= room
    images = [
        part for message in done.transcript.messages for part in message.parts if isinstance(part, Image)
    ]
    beside = body - sum(base64_bytes(len(image.data)) for image in images)
    kept = FACTS_IN_BODY * room + 6 * len(archive.outline)
    # Neither in its own layout nor in the dense one would the same and a part of a page more have had room.
    for one in (layout, denser(layout) or layout):
        start = max(0, left_out - int(SHORT * one.capacity))
        pages = Typesetter(one).pages(archive.source, start=start, threads=1)
        assert beside + sum(base64_bytes(len(page.png)) for page in pages) + kept > room, one.name


def test_the_table_of_the_docs_counts_what_a_compaction_sends():
    """Six drawn pages stand for all: a body of as many pages as it tells is within the limit, and near it."""
    layout = layout_for("my-gateway/claude-opus-4-8")
    text = text_of("dense", 300_000)
    found = capacity("it", layout, text)
    assert found.binds == "images"
    assert found.most == usable(layout.reader.limits["images_per_request"])
    for model in ROUTES:
        routed = capacity(model, layout_for(model), text)
        assert routed.most <= capacity("direct", layout_for(model.partition("/")[2]), text).most
        assert set(routed.pages) >= {"tokens"}
        limit = layout_for(model).reader.limits.get("request_bytes")
        if limit:
            assert routed.pages["bytes"] * routed.page_bytes <= usable(limit)
            assert (routed.pages["bytes"] + 1) * (routed.page_bytes + 1) > usable(limit)
