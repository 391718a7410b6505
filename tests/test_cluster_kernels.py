"""The compiled kernels of clusters and of right-to-left rows give what NumPy gives, to the byte of a page."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from snapshot.pages import prepared as pages_prepared
from snapshot.pages.layout import layout_for
from snapshot.pages.numba_support import can_compile
from snapshot.pages.render import Typesetter
from snapshot.source.codepoints import code_points
from snapshot.source.source import Source
from snapshot.typeset import bidi, compiled, shaped
from snapshot.typeset.cluster_table import LONGEST_KEY, ClusterTable
from snapshot.typeset.shaped import clusters_of, segment
from tests.conftest import needs_numba, read_back
from tests.test_cli import ROOT
from tests.test_clusters import OF_EACH

pytestmark = needs_numba

SCRIPTS = """
विश्वविद्यालय क्षत्रिय क्‍ष বাংলা தமிழ் తెలుగు ಕನ್ನಡ ന്റെ ශ්‍රී ภาษาไทย น้ำ ລາວ ខ្មែរ မြန်မာ བོད་ 한글
السلام لا إله (12.5%) می‌خواهم مُحَمَّدٌ עולם בְּרֵאשִׁית 2024-05-06 file.py $5,00 ⟦x⟧ ⁋ ‣
👩‍👩‍👧‍👦 🧑🏽‍💻 🏳️‍🌈 🇵🇹🇯🇵🇺 🏴󠁧󠁢󠁳󠁣󠁴󠁿 1️⃣ #️⃣ ❤︎ ⚠️
"""
ODD = [
    "\u1112\u119e\u11ab",
    "か\u3099",
    "e\u0301",
    "q\u0307\u0323",
    "s\u0336",
    "Z" + "\u0351\u036b\u0343\u0319" * 3,
]
WORDS = [*SCRIPTS.split(), *ODD]
JOINERS = [
    *"\u0301\u200d\u200c\ufe0f\ufe0e\u20e3\u094d\u0652\u05b0\u1161\u11a8\u0e31\u0600 \n",
    "\U0001f3fd",
    "\U0001f1f5",
]
MIXED = st.lists(
    st.sampled_from(WORDS) | st.sampled_from(JOINERS) | st.sampled_from(OF_EACH) | st.characters(),
    max_size=40,
).map("".join)


@given(st.lists(MIXED, min_size=1, max_size=3))
def test_segments_are_those_of_numpy(texts):
    """Where they are, and by number too where the table knows them."""
    table = ClusterTable()
    for text in texts:
        codes = code_points(text)
        special = np.flatnonzero(codes > 127)
        found = compiled.segmented(codes, table)
        is_continuation = shaped.continuations(codes, special) if special.size else None
        clusters = clusters_of(codes, special, is_continuation)
        assert (found.is_continuation is None) == (is_continuation is None)
        assert np.array_equal(found.is_continuation, is_continuation)  # type: ignore[arg-type]
        for one, other in zip(found.clusters, clusters, strict=True):
            assert np.array_equal(one, other)
        numbers = table.numbered(text, codes, clusters)
        assert ((found.numbers == numbers) | (found.numbers < 0)).all()
        # And all that have a key are found from now on.
        again = compiled.segmented(codes, table).numbers
        assert np.array_equal(again, np.where(clusters.lengths > LONGEST_KEY, -1, numbers))


@given(
    st.sampled_from([range(9), (0, 1, 2, 3, 4, 5, 8), (1, 2, 3, 4, 5), (1, 2, 5, 6, 7, 8)]),
    st.integers(1, 4),
    st.integers(1, 60),
    st.data(),
)
def test_rows_are_turned_as_by_numpy(kinds, rows, columns, data):
    cell = st.sampled_from([*kinds])
    cells = data.draw(
        st.lists(st.lists(cell, min_size=columns, max_size=columns), min_size=rows, max_size=rows)
    )
    classes = np.array(cells, np.uint8)
    for one, other in zip(compiled.turned(classes), bidi.turned(classes), strict=True):
        assert np.array_equal(one, other)


def pages_of(text: str, name: str, *, kernels: bool) -> list[bytes]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shaped, "_compiled", [compiled.segmented] if kernels else [])
        patch.setattr(bidi, "_way", [compiled.turned if kernels else bidi.turned])
        pages_prepared._lately.clear()
        pages_prepared._alive.clear()
        setting = Typesetter(layout_for(name=name))
        return [
            page.png for page in setting.pages(Source(text), threads=1, compress="fast", compiled=kernels)
        ]


@given(MIXED, st.sampled_from(["claude-high", "claude-standard", "gemini-3/lines", "claude-high/columns"]))
def test_pages_of_any_mixture_are_the_same(text, name):
    assert pages_of(text, name, kernels=True) == pages_of(text, name, kernels=False)


def test_the_kernels_are_at_work(monkeypatch):
    """Once they are loaded, every text with clusters goes through them, and a page reads back."""
    assert can_compile()
    calls: list[str] = []
    for name in ("segmented", "turned"):
        whole = getattr(compiled, name)
        monkeypatch.setattr(
            compiled, name, lambda *given, _n=name, _w=whole: (calls.append(_n), _w(*given))[1]
        )
    monkeypatch.setattr(shaped, "_compiled", [])
    monkeypatch.setattr(bidi, "_way", [bidi.turned])
    compiled.load()
    calls.clear()
    setting, source = Typesetter(layout_for(name="claude-high")), Source("क्षत्रिय السلام עולם e\u0301 " * 50)
    pages = list(setting.pages(source, threads=1))
    assert {*calls} == {"segmented", "turned"}
    assert "".join(page.text for page in read_back(setting, source, pages)) == source.text


SIGNATURES = """
from snapshot.pages.layout import layout_for
from snapshot.pages.numba_support import can_compile
from snapshot.pages.render import Typesetter
from snapshot.source.source import Source
assert can_compile()
from snapshot.raster.kernels import pack_rows
from snapshot.typeset.cluster_kernels import find_clusters, turn_rows
from snapshot.typeset.kernels import set_plain
for text in ("plain text " * 400, "क्षत्रिय السلام " * 400):
    list(Typesetter(layout_for(name="claude-high")).pages(Source(text), threads=1, compiled=True))
print([len(kernel.signatures) for kernel in (set_plain, pack_rows, find_clusters, turn_rows)])
"""


def test_each_kernel_is_compiled_for_one_type():
    """What warms them up has the types that texts have: others would be compiled with the first page."""
    command = [sys.executable, "-c", SIGNATURES]
    command = [sys.executable, "-c", SIGNATURES]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.split("\n")[0] == "[1, 1, 1, 1]"


def test_a_text_is_segmented_alike_by_name():
    """`segment` is what the typesetter calls: with the kernels and without."""
    text = "".join(WORDS)
    codes = code_points(text)
    special = np.flatnonzero(codes > 127)
    found = []
    for way in ([], [compiled.segmented]):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(shaped, "_compiled", way)
            it = segment(text, codes, special)
            found.append([it.units[number] for number in it.numbers.tolist()])
    assert found[0] == found[1]
    assert len(found[0]) > 50
