"""Pages of a long run are set of the end of its text: they, and all that is said of them, are as if set of
the whole."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snapshot.compaction import compact, window
from snapshot.compaction.history import forget
from snapshot.messages import Message, Text, ToolCall, ToolResult, Transcript
from snapshot.replay.exact_strings import _EXACT, _SHORTEST, exact_strings
from snapshot.source.source import source_of

_WHOLE = 1 << 40
# What may stand in the text, before a window and in it, beside words: runs of random characters, clusters.
_RANDOM, _CLUSTERS = "random", "किताब 👩\u200d🚀 "


def _run(messages: int, also: str, at: int) -> Transcript:
    """A run in which blocks of lines are said again, with something else from a message on."""
    chance = random.Random(messages)
    found = [Message("user", (Text("Mend the importer."),))]
    for step in range(messages // 2):
        rows = [f"    value_{chance.randrange(40)} = read_row({row})  # as before\n" for row in range(60)]
        rows[:12] = [f"line {row} of the file's licence, in step {step // 9}\n" for row in range(12)]
        more = f"{chance.randbytes(48).hex()}\n" if also == _RANDOM else also
        body = "".join(rows) + more * (2 * step >= at)
        call = ToolCall(f"c{step}", "read", f'{{"path": "src/part_{step}/module.py"}}')
        found += [
            Message("assistant", (Text(f"Now part {step}."), call)),
            Message("tool", (ToolResult(f"c{step}", (Text(body),)),)),
        ]
    return Transcript(tuple(found), "anthropic")


def _compacted(run: Transcript) -> Iterator[tuple[object, ...]]:
    """What comes of a run that is compacted again and again while it grows."""
    forget()
    archive = None
    for stop in range(31, len(run.messages) + 1, 10):
        whole = Transcript(run.messages[:stop], run.format)
        done = compact(
            whole, model="claude-haiku-4-5", window=24_000, archive=archive, trigger="manual", digest=True
        )
        archive = done.archive
        assert archive is not None
        yield archive.to_json(), done.request("anthropic"), done.report, archive.in_view.start


@pytest.mark.parametrize(
    ("also", "at", "moves"),
    [("", 0, True), (_RANDOM, 0, False), (_RANDOM, 60, True), (_CLUSTERS, 0, False), (_CLUSTERS, 60, True)],
)
def test_pages_of_a_window_are_those_of_the_whole(also, at, moves, monkeypatch: pytest.MonkeyPatch):
    run = _run(120, also, at)
    monkeypatch.setattr(window, "_STEP", _WHOLE)
    whole = list(_compacted(run))
    monkeypatch.setattr(window, "_STEP", 4_000)
    found = list(_compacted(run))
    assert [one[:3] for one in found] == [one[:3] for one in whole]
    assert not any(start for *_, start in whole)
    # The window moves, unless what stands before it decides what is printed in it.
    assert (len({start for *_, start in found}) > 2) is moves


def test_sources_of_one_lineage_go_on_from_each_other():
    messages = _run(60, "", 0).messages
    sources = [source_of(Transcript(messages[:stop], "anthropic")) for stop in (20, 40, 41)]
    assert len({source.lineage for source in sources}) == 1
    assert all(sources[2].text.startswith(source.text) for source in sources)
    assert source_of(Transcript(messages[:20], "anthropic"), repeats=True).lineage is None


@given(st.text(st.sampled_from("aB1_-./:\\\"'<) \t\n\x1c\u3000\u00e9") | st.characters(), max_size=60))
def test_exact_strings_of_words_are_those_of_the_text(text: str):
    whole = {item.rstrip(".") for item in _EXACT.findall(text) if len(item) >= _SHORTEST}
    assert exact_strings(text) == whole
