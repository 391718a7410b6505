"""Pages are measured once for rooms of any size; what leaves view on the way over many compactions is never
lost, and the request says what it was."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from snapshot.compaction import Archive, compact
from snapshot.compaction.paginate import Paginator
from snapshot.compaction.pagination import Pagination
from snapshot.errors import CannotFit
from snapshot.messages import Message, Text, Transcript
from snapshot.pages.layout import layout_for
from snapshot.source.source import Source, source_of
from tests.conftest import examples
from tests.test_chapters import pages_of, run_of

MODELS = ("claude-haiku-4-5", "claude-opus-4-8", "gpt-5.4", "gemini-3.8-flash", "grok-4.3")
LAYOUT = "claude-haiku-4-5"
# Six compactions take seconds: what fails is shown as it was found.
AS_FOUND = (Phase.explicit, Phase.reuse, Phase.generate)
LEFT_VIEW = re.compile(r"(\d+) characters of the oldest messages left view \(messages (\d+) to (\d+)\)")


def said(pagination: Pagination) -> tuple[object, ...]:
    """What pages are, but for what nobody has counted."""
    return (
        pagination.spans,
        pagination.printed_spans,
        pagination.tiers,
        pagination.starts,
        pagination.chapters,
        pagination.left_out,
        [page.tokens for page in pagination.pages],
        pagination.printed.text if pagination.pages else "",
    )


def text_of(messages: Sequence[Message]) -> Source:
    return source_of(Transcript(tuple(messages), "archive"))


rooms = st.tuples(st.integers(1, 40), st.integers(0, 60_000), st.none() | st.integers(20_000, 900_000))


@settings(max_examples=examples(12), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.integers(6, 30),
    st.integers(0, 6),
    st.lists(rooms, min_size=2, max_size=4),
    st.integers(0, 24),
    st.booleans(),
)
def test_rooms_of_any_size_are_given_what_each_alone_would_be(size, seed, wanted, room, again):
    messages = run_of(size, seed)[1:]
    layout = layout_for(LAYOUT)
    before = Paginator(text_of(messages[: len(messages) // 2]), layout, room=room, repeats=True)
    former = before.within(most_pages=40, most_tokens=60_000) if again else None
    source = text_of(messages)

    def fresh(text: Source) -> Paginator:
        return Paginator(text, layout, room=room, former=former, repeats=True)

    kept = fresh(source)
    for pages, tokens, most in wanted:
        place = {"most_pages": pages, "most_tokens": tokens, "most_bytes": most, "goal_tokens": tokens // 2}
        assert said(kept.within(**place)) == said(fresh(source).within(**place))


steps = st.tuples(
    st.sampled_from(MODELS),
    st.integers(30_000, 90_000),
    st.sampled_from([0.1, 0.2, 0.3, 0.5]),
    st.integers(2, 24),
)


@settings(max_examples=examples(5), deadline=None, phases=AS_FOUND)
@given(st.lists(steps, min_size=6, max_size=6), st.integers(0, 6))
def test_no_message_is_lost_over_six_compactions(taken, seed):
    """Whatever the window, the tail's share and the model of each; each archive as it was stored."""
    messages = run_of(80, seed)
    stop, archive, replaced = 20, None, 0
    for model, window, tail, more in taken:
        stop = min(len(messages), stop + 2 * (more // 2))
        whole = Transcript(messages[:stop], "anthropic")
        try:
            done = compact(
                whole, model=model, window=window, tail=tail, archive=archive, trigger="manual", digest=True
            )
        except CannotFit:
            continue
        made = done.archive
        if made is None:
            continue
        made = Archive.from_json(made.to_json())
        assert made.restore(done.transcript).messages == whole.messages
        assert made.boundary >= replaced  # it never moves back
        replaced = made.boundary
        # Every character of the middle is on one page, or among those that left view, which are counted.
        assert made.source.text == text_of(messages[made.head : made.boundary]).text
        if made.pages:
            assert made.pages[0][0] == done.report.left_out
            assert made.pages[-1][1] == len(made.source.text)
            assert all(one[1] == other[0] for one, other in pairwise(made.pages))
            gone = [at for at, span in enumerate(made.source.spans) if span[1] <= done.report.left_out]
            for at in gone[:: max(1, len(gone) // 3)]:
                _, _, words = text_of([messages[made.head + at]]).text.partition("\n")
                assert made.message(made.head + at + 1).endswith(words)  # a call has another number
        archive = made


@pytest.mark.parametrize("model", ["claude-haiku-4-5", "gpt-5.4"])
def test_pages_leave_seldom_and_the_request_says_which_messages_did(model):
    messages = run_of(150)
    archive: Archive | None = None
    left: list[int] = []
    for size in range(12, len(messages) + 1, 4):
        so_far = Transcript(messages[:size], "anthropic")
        done = compact(so_far, model=model, window=30_000, archive=archive, threshold=0.9)
        if done.report.no_op:
            continue
        assert done.archive is not None
        assert done.report.tail_tokens >= 0.2 * done.report.after
        if left and done.report.left_out > left[-1]:
            text = "\n".join(p.text for m in done.transcript.messages for p in m.parts if isinstance(p, Text))
            match = re.search(
                r"(\d+) characters of the oldest messages left view \(messages (\d+) to (\d+)\)", text
            )
            assert match is not None
            gone, first, last = map(int, match.groups())
            spans = done.archive.source.spans
            assert gone == done.report.left_out
            assert first == done.archive.head + 1
            assert spans[last - first][0] < gone
            assert last - first + 1 == len(spans) or spans[last - first + 1][0] >= gone
            assert pages_of(done)
        left.append(done.report.left_out)
        archive = done.archive
    breaks = sum(one != other for one, other in pairwise(left))
    assert 2 <= breaks <= 0.4 * len(left), left  # not at each, though little is saved
