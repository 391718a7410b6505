"""Bytes are those of drawn pages: nothing that had room is left out, and no limit is exceeded."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import snapshot
from snapshot.compaction import page_images, pagination
from snapshot.compaction.page_images import Stretch, base64_bytes, most_bytes
from snapshot.compaction.paginate import paginate
from snapshot.messages import Image, Message, Text, ToolCall, ToolResult, Transcript
from snapshot.models.gateways import gateways
from snapshot.pages.layout import layout_for, layout_names
from snapshot.pages.render import Typesetter
from snapshot.requests.check import check
from snapshot.source.source import Source
from tests.conftest import LAYOUTS, examples, small
from tests.conversations import long_conversation

MODELS = {
    "anthropic": "claude-opus-4-8",
    "gemini": "gemini-3-pro",
    "openai": "gpt-5.6-sol",
    "openai-responses": "gpt-5.6-sol",
}
KINDS = ("random", "dense", "blank", "mixed")


def text_of(kind: str, size: int, seed: int = 0) -> str:
    """About `size` characters: of no pattern, of a log, or of nearly nothing but line ends."""
    random = Random(seed)
    if kind == "random":
        lines = (base64.b64encode(random.randbytes(45)).decode() for _ in range(size // 66))
        return "\n".join(" ".join(line[at : at + 12] for at in range(0, 60, 12)) for line in lines)
    if kind == "dense":
        numbers = range(seed * size, seed * size + size // 55)
        return "\n".join(f"2026-12-01 10:{n % 60:02} worker {n % 7} handled job {n} of 9" for n in numbers)
    if kind == "blank":
        return "\n".join(" " * random.randint(0, 60) + "." for _ in range(size // 30))
    return "\n".join(text_of(one, size // 3, seed) for one in KINDS[:3])


def talk(kind: str, results: int, size: int, seed: int = 0) -> Transcript:
    messages = [Message("user", (Text("Find the fault."),))]
    for number in range(results):
        call = ToolCall(f"c{number}", "Bash", json.dumps({"command": f"cat part-{number}"}))
        result = ToolResult(f"c{number}", (Text(text_of(kind, size, seed + number)),))
        messages += [Message("assistant", (call,)), Message("tool", (result,))]
    return Transcript(tuple(messages), "anthropic")


def body_of(request: dict[str, object]) -> int:
    return len(json.dumps(request, ensure_ascii=False, separators=(",", ":")).encode())


def sent(found: pagination.Pagination) -> list[int]:
    """The bytes of all pages in base64, drawn anew by the renderer itself."""
    sizes: list[int] = []
    for stretch in found.stretches:
        drawn = Typesetter(stretch.layout).pages(
            found.printed, start=stretch.pages[0].start, stop=stretch.pages[-1].stop, threads=1
        )
        sizes += [base64_bytes(len(page.png)) for page in drawn]
    return sizes


# --- what a page can have


@pytest.mark.parametrize("name", LAYOUTS)
def test_no_page_has_more_bytes_than_is_reckoned_with(name: str):
    """Not even one of glyphs that never repeat in an order."""
    layout = layout_for(name=name)
    signs = [chr(code) for code in (*range(33, 127), *range(0x3B1, 0x3C9), *range(0x410, 0x44F))]
    source = Source("".join(Random(3).choices(signs, k=layout.capacity)))
    for page in Typesetter(layout).pages(source, threads=1):
        assert base64_bytes(len(page.png)) <= most_bytes(layout)


def test_no_page_is_larger_than_any_provider_takes_of_an_image():
    for name in layout_names():
        layout = layout_for(name=name)
        limits = [layout.reader.limits, *(gateway.limits for gateway in gateways())]
        allowed = [most for each in limits if (most := each.get("image_bytes"))]
        assert not allowed or most_bytes(layout) <= min(allowed)


def test_a_limit_on_an_image_that_no_page_keeps_is_not_exceeded():
    conversation = talk("random", 30, 8_000)
    done = snapshot.compact(
        conversation, model="claude-opus-4-8", window=60_000, digest=True, limits={"image_bytes": 20_000}
    )
    images = [part for m in done.transcript.messages for part in m.parts if isinstance(part, Image)]
    assert done.report.after <= done.report.safe
    assert all(base64_bytes(len(image.data)) <= 20_000 for image in images)


# --- what pages are kept


@settings(max_examples=examples(10))
@given(st.sampled_from(KINDS), st.integers(0, 99), st.floats(0.05, 1.2), st.booleans())
def test_pages_keep_within_their_bytes_and_leave_out_no_more(kind, seed, share, repeats):
    layout = layout_for(name="claude-standard")
    text = text_of(kind, 40_000, seed)
    source = Source(text, (), ((0, len(text)),))
    free = paginate(source, layout, most_pages=1000, most_tokens=10**9, repeats=repeats)
    assert not free.left_out
    room = int(share * sum(sent(free)))
    found = paginate(
        source, layout, most_pages=1000, most_tokens=10**9, most_bytes=room, repeats=repeats, threads=1
    )
    sizes = sent(found)
    assert sum(sizes) <= room
    if found.pages:
        assert found.spans[0][0] == found.left_out
        assert found.spans[-1][1] == len(text)
        assert all(one[1] == other[0] for one, other in pairwise(found.spans))
    if found.left_out:
        # Not even half of the page that comes before would have had room.
        dense = layout_for(name="claude-standard/dense")
        start = max(0, found.left_out - dense.capacity // 2)
        before = Typesetter(dense).pages(source, start=start, stop=found.left_out, threads=1)
        assert sum(sizes) + sum(base64_bytes(len(page.png)) for page in before) > 0.9 * room
    if share >= 1:
        assert not found.left_out
        assert not found.dense


@pytest.mark.parametrize("api", MODELS)
@pytest.mark.parametrize("kind", ["random", "dense", "blank"])
def test_a_body_at_its_limit(api: str, kind: str):
    """Near the limit, never over it: the request as it is sent is counted."""
    conversation = talk(kind, 20, 4_000)
    settings = snapshot.Options(tail=0.02)
    whole = snapshot.compact(conversation, model=MODELS[api], trigger="manual", options=settings)
    size = body_of(whole.request(api))
    for share in (1.2, 0.5):
        limits = {"request_bytes": int(share * size)}
        done = snapshot.compact(
            conversation, model=MODELS[api], trigger="manual", options=settings, limits=limits
        )
        request = done.request(api)
        body = body_of(request)
        assert body <= limits["request_bytes"]
        assert check(request, api, limits=limits) == []
        if done.report.left_out:
            # Not used are the margin, what was kept for the factsheet, and less than the shortest page.
            assert body > 0.65 * limits["request_bytes"]
        elif share > 1:
            assert done.report.pages == whole.report.pages


@pytest.mark.parametrize("most", [1, 3, 8, 21, 40])
def test_images_at_their_limit(most: int):
    conversation = talk("random", 30, 6_000)
    limits = {"images_per_request": most}
    done = snapshot.compact(conversation, model="claude-haiku-4-5", trigger="manual", limits=limits)
    assert 1 <= done.report.images <= most
    if done.report.left_out:
        assert done.report.images == most - most // 20


@pytest.mark.slow
@pytest.mark.parametrize("model", ["claude-fable-5-1", "claude-opus-4-8", "gemini-3-pro"])
def test_a_provider_s_own_limit(model: str):
    """Random text that would have more bytes than the provider takes."""
    api = "gemini" if model.startswith("gemini") else "anthropic"
    conversation = talk("random", 500, 6_500)
    done = snapshot.compact(conversation, model=model, window=2_000_000)
    limit = layout_for(model).reader.limits["request_bytes"]
    body = body_of(done.request(api))
    assert body <= limit
    assert done.report.left_out
    assert body > 0.9 * limit


# --- a shorter page


@pytest.mark.parametrize("model", ["claude-opus-4-8", "claude-haiku-4-5", "gpt-5.6-sol"])
@pytest.mark.parametrize("tokens", [500, 1_000, 2_000, 3_000, 6_000])
def test_what_is_left_of_the_room_is_for_a_shorter_page(model: str, tokens: int):
    text = text_of("dense", 200_000)
    source = Source(text, (), ((0, len(text)),))
    layout = layout_for(model)
    found = paginate(source, layout, most_pages=50, most_tokens=tokens)
    assert 0 < found.left_out < len(text)
    assert found.fits
    assert found.tokens <= tokens
    assert found.tokens > 0.5 * tokens - layout.tokens / 8
    if found.pages[0].tokens < layout.tokens and len(found.starts) > 1:
        assert text[found.left_out - 1] == "\n", "a shorter page begins with a line"
    assert [span[1] for span in found.spans][-1] == len(text)


def test_a_small_window_has_room_for_half_a_page():
    """As a page of Claude's takes most of a window of 8,000 tokens."""
    done = snapshot.compact(long_conversation(200), model="claude-opus-4-8", window=8_000, max_output=1_000)
    assert done.archive is not None
    assert done.report.after <= done.report.safe
    assert 0 < done.archive.prices[0] < layout_for("claude-opus-4-8").tokens
    stored = snapshot.Archive.from_json(done.archive.to_json())
    options = snapshot.Options(window=8_000, max_output=1_000)
    again = snapshot.compact(done.transcript, model="claude-opus-4-8", archive=stored, options=options)
    assert again.report.no_op
    assert again.transcript == done.transcript


# --- drawn once


SIGNS = st.sampled_from([*"ab.  \n\n", "\r", "漢", "👩‍🚀", "e\u0301", "\x1b[31m", "\u202e", "🇩🇪"])


@settings(max_examples=examples(25))
@given(
    st.lists(SIGNS, min_size=50, max_size=1500).map("".join),
    st.sampled_from(["claude-standard", "gemini-3/lines", "gpt-patch/dense"]),
    st.integers(0, 40),
)
def test_pages_drawn_apart_are_those_of_the_whole(text, name, start):
    layout = replace(small(46, 4, name), name=f"small/{name}")
    source = Source(text)
    wanted = [page.png for page in Typesetter(layout).pages(source, start=start, threads=1)]
    stretch = Stretch(layout, Typesetter(layout).measure(source, start, len(text)))
    sizes = [
        page_images.page_sizes(source, stretch, number, number + 1)
        for number in range(len(stretch.pages) - 1, -1, -1)
    ]
    assert [size for (size,) in reversed(sizes)] == [len(png) for png in wanted]
    assert list(page_images.page_images(source, stretch, threads=1)) == wanted


def test_what_was_counted_is_not_drawn_again(monkeypatch: pytest.MonkeyPatch):
    drawn: list[tuple[int, int]] = []

    class Counting(Typesetter):
        def pages(self, *arguments, **settings):
            for page in super().pages(*arguments, **settings):
                drawn.append((page.start, page.stop))
                yield page

    monkeypatch.setattr(page_images, "Typesetter", Counting)
    conversation = talk("random", 50, 6_000, seed=1000)
    limits = {"request_bytes": 1_500_000}
    done = snapshot.compact(conversation, model="claude-haiku-4-5", trigger="manual", limits=limits)
    assert done.archive is not None
    assert done.archive.sizes
    # The last one, which is shorter, may be weighed once for each way to set what is before it.
    kept = set(done.archive.printed_pages[:-1])
    assert sum(span in kept for span in drawn) == len(kept)
    before = len(drawn)
    snapshot.compact(done.transcript, model="claude-haiku-4-5", archive=done.archive, limits=limits)
    assert len(drawn) == before
