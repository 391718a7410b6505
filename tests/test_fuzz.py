"""Any input gives a transcript or one clear error: no other exception, no hang, no flood of memory."""

from __future__ import annotations

import os
import re
import signal
import sys
import time
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snapshot.transcripts.registry import FORMATS
from tests.conftest import examples
from tests.fuzzing import Seen, bent, documents, seeds

LONG = int(os.environ.get("SNAPSHOT_FUZZ", "0"))
_PATIENCE = 60  # seconds for one input of a few thousand bytes: a hang, not a slow machine
_MEMORY = 400 << 20  # bytes that inputs of some kilobytes may take, all readers and caches included


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", FORMATS)
def test_bent_files(name):
    random, seen = Random(f"bent {name}"), Seen()
    for _ in range(60):
        seen.look(bent(random, seeds(name)), name, random)
    assert sum(seen.counts.values()) == 60


@pytest.mark.parametrize("name", FORMATS)
@settings(max_examples=examples(12))
@given(data=st.data())
def test_documents_with_wrong_values(name, data):
    Seen().look(data.draw(documents(name)), name, Random(0))


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("value", [b"{}", b"[1]", b"7"])
def test_words_of_a_format_that_are_no_words(name, value):
    """Types, roles and states decide how a thing is read, so each is once another value than a string."""
    word = re.compile(rb'("(?:type|role|state|from|sender|source|content_type|subtype)"\s*:\s*)"[^"]*"')
    seen = Seen()
    for data in seeds(name)[-3:]:
        for match in list(word.finditer(data))[:40]:
            seen.look(data[: match.start()] + match[1] + value + data[match.end() :], name, Random(0))


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGALRM"), reason="a hang is told by an alarm")
@pytest.mark.parametrize("name", FORMATS)
def test_many_bent_files(name, capsys):
    import resource

    def hang(*_: object) -> None:
        raise AssertionError(f"no answer in {_PATIENCE} seconds")

    unit = 1 if sys.platform == "darwin" else 1024
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    former = signal.signal(signal.SIGALRM, hang)
    count, done, slowest, seen = LONG or 2500, 0, 0.0, Seen()
    random, files = Random(f"many bent {name}"), seeds(name)
    try:
        while done < count:
            data = bent(random, files)
            signal.alarm(_PATIENCE)
            start = time.perf_counter()
            seen.look(data, name, random)
            slowest = max(slowest, time.perf_counter() - start)
            done += 1
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, former)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit - before
    with capsys.disabled():
        print(
            f"\n{name}: {done:,} mutated inputs, {seen.counts['read']:,} read, "
            f"{seen.counts['refused']:,} refused; slowest {slowest:.2f} s, memory grew by {grown >> 20} MB"
        )
    assert sum(seen.counts.values()) == count
    assert grown < _MEMORY
