"""What is known of words, sizes and chapters from before gives what a first look at the whole gives."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.bench_compact import run_of
from snapshot.facts import factsheet, patterns
from snapshot.facts.factsheet import Fact
from snapshot.facts.patterns import find, parts_of, strings_in
from snapshot.facts.ranking import Ranked
from snapshot.messages import Message
from snapshot.models.ids import profile_for
from snapshot.models.profile import ModelProfile
from snapshot.models.tokens import Pieces, text_tokens
from snapshot.replay import Recording
from snapshot.replay.exact_strings import exact_strings, words
from snapshot.replay.form import Form
from snapshot.source import repeats
from snapshot.source.repeats import fold_chapters
from snapshot.source.source import source_of
from snapshot.source.text import Moved, Repeat

# One reader of each vocabulary that texts are estimated by.
READERS = [
    profile_for(name) for name in ("gpt-5.6-sol", "qwen3.5-plus", "claude-opus-4-8", "claude-haiku-4-5")
]

_ODD = "ab0 1\n\t./\\:-_@#%$€,'’\u2009\u00a0…✂([{<>+=é⁋‣\x85\u2028\x1c\x0b"
_TEXTS = st.lists(
    st.one_of(
        st.sampled_from(
            [
                "a_b 3f786850 x", "http://a.b/c?d=1", "$ 20", "10 kB", "12:30:11", "7,410", "1.2.3.4/24",
                "src/a.py:12", "v1.2.3", "a@b.co", "127.0.0.1:80", "fooBar.baz", "--x-y", "cut…",
                "2026-01-02 03:04:05 +0200", "[truncated 3]", "self.pool.size",
            ]
        ),
        st.text(st.sampled_from(_ODD), max_size=12),
    ),
    max_size=12,
).map("".join)  # fmt: skip


@given(_TEXTS, _TEXTS, st.booleans())
def test_words_seen_before_tell_what_they_told_at_first(before: str, text: str, names: bool):
    """Neither what was looked at before nor what stands beside a word changes what is in it."""
    patterns._words.__init__()
    alone = find(text, names=names)
    find(before + "\n" + text, names=not names)
    assert find(text, names=names) == alone
    whole = {fact.text for fact in find(text, names=True)}
    strings_in.cache_clear()
    assert strings_in(text) == whole.union(*map(parts_of, whole))


def test_a_word_is_looked_at_once(monkeypatch: pytest.MonkeyPatch):
    looks: Counter[str] = Counter()
    whole = patterns._strings
    monkeypatch.setattr(patterns, "_strings", lambda text: (looks.update(text.split("\n")), whole(text))[1])
    patterns._words.__init__()
    strings_in.cache_clear()
    texts = [f"see src/part_{number % 7}/module.py and value_{number}" for number in range(60)]
    for text in texts:
        find(text, names=True)
        strings_in(text)
    del looks[""]
    assert looks
    assert set(looks.values()) == {1}


def test_words_that_are_kept_are_few(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(patterns, "_WORDS_KNOWN", 10)
    patterns._words.__init__()
    text = " ".join(f"value_{number}" for number in range(50))
    assert find(text, names=True) == find(text, names=True)
    find(" ".join(f"other_{number}" for number in range(8)), names=True)
    find(" ".join(f"third_{number}" for number in range(8)), names=True)
    assert len(patterns._words._known) <= 10


@given(st.sampled_from(READERS), st.lists(st.text(min_size=1, max_size=8), min_size=1, max_size=8))
def test_pieces_are_counted_as_the_whole(reader: ModelProfile, texts: list[str]):
    pieces = Pieces(reader)
    total = sum(map(pieces.inside, texts))
    total += sum(pieces.between(one[-1], other[0]) for one, other in pairwise(texts))
    tokens = text_tokens("".join(texts), reader)
    assert pieces.room(tokens - 1) < total <= pieces.room(tokens)


_FACTS = st.lists(
    st.builds(
        Fact,
        st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=9).filter(str.strip),
        st.sampled_from(["named", "name", "path"]),
        st.lists(st.integers(0, 99), min_size=1, max_size=5).map(lambda found: tuple(sorted(set(found)))),
    ),
    max_size=9,
)
_PAGES = st.sampled_from([(), ((0, 40), (40, 70)), ((0, 9), (9, 20), (20, 50), (50, 60), (60, 90))])


@given(st.sampled_from(READERS), _FACTS, _PAGES, st.integers(0, 120))
def test_a_sheet_has_as_much_as_its_text_has_room_for(reader: ModelProfile, facts, pages, budget):
    ranked = [Ranked(fact.text, fact.kind, number) for number, fact in enumerate(facts)]
    labels = factsheet._Labels(pages, (), lambda item: facts[item.number].offsets)
    size = factsheet._Size(factsheet._HEAD, labels, budget, reader)
    tokens = [
        text_tokens(factsheet._print(factsheet._HEAD, ranked[:number], labels), reader)
        for number in range(1, len(ranked) + 1)
    ]
    assert tokens == sorted(tokens)  # so that the first without room ends the search
    fitting = sum(count <= budget for count in tokens)
    for _ in range(2):  # what is known by then counts the same
        assert size.count(ranked) == min(fitting, factsheet._at_most(budget, reader))


@given(st.lists(st.integers(0, 300), max_size=9).map(sorted))
def test_offsets_move_together_as_one_by_one(offsets: list[int]):
    moved = Moved([Repeat(10, 15, 10, 40), Repeat(60, 62, 85, 120)])
    assert moved.all(offsets) == [moved(offset) for offset in offsets]


def test_chapters_of_a_source_are_put_together_once(monkeypatch: pytest.MonkeyPatch):
    looks: Counter[int] = Counter()
    whole = repeats._in_chapters
    monkeypatch.setattr(
        repeats,
        "_in_chapters",
        lambda source, starts, runs: (looks.update([len(starts)]), whole(source, starts, runs))[1],
    )
    source = source_of(run_of(60))
    starts = tuple(source.spans[at][0] for at in (0, 20, 40))
    repeats.forget()
    first = fold_chapters(source, starts)
    assert fold_chapters(source, list(starts)) is first
    other = fold_chapters(source, starts[1:])
    assert other == whole(source, starts[1:], runs=False)
    assert dict(looks) == {3: 1, 2: 1}


def test_strings_of_messages_of_a_run_are_those_of_their_words():
    run = run_of(80)
    recording = Recording.of(run, "claude-opus-4-8")
    copies = tuple(Message(one.role, one.parts) for one in run.messages[:9])
    shown = (*copies, *run.messages[9:40])
    text = "\n".join(map(words, shown))
    assert recording.strings_of(shown) == exact_strings(text)
    assert Form((), 0, shown, recording=recording)._strings == Form((), 0, shown)._strings
