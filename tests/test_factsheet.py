"""The factsheet: what counts as an exact string, what comes first, and that it keeps to its budget."""

from __future__ import annotations

import random
import re
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import snapshot
from snapshot.facts.factsheet import Factsheet, factsheet, find
from snapshot.facts.patterns import look
from snapshot.models.tokens import text_tokens
from snapshot.pages.layout import layout_for
from snapshot.source.source import Source, source_of
from tests.conftest import REAL, case, examples

READER = layout_for("claude-opus-4-8").reader
EXACT = [
    "3f786850e387550fdab836ed7e6dc881de23001b", "123e4567-e89b-12d3-a456-426614174000", "/srv/data/a.txt",
    "https://example.org/x?y=1", "v1.2.3", "12.06 V", "Q0OOQ-B88B6-S55S", "QO0OQ-8B8B6-5S5S", "drain_events",
    "2026-11-30T08:45:00Z", "10.0.0.1:8080", "me@example.org", "src/a_b/c.py", "prose", "and/or", "\n", ", ",
]  # fmt: skip
texts = st.lists(st.one_of(st.sampled_from(EXACT), st.text(max_size=6)), max_size=80).map(" ".join)


def sheet(text: str, tail: str = "", budget: int = 500, **options) -> Factsheet:
    return factsheet(Source(text), [(0, len(text))], tail=tail, budget=budget, reader=READER, **options)


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        (
            "commit 3f786850e387550fdab836ed7e6dc881de23001b",
            {"3f786850e387550fdab836ed7e6dc881de23001b": "hash"},
        ),
        ("at e3f786a, sha256:abcdef12.", {"e3f786a": "hash", "sha256:abcdef12": "hash"}),
        ("id=123e4567-e89b-12d3-a456-426614174000", {"123e4567-e89b-12d3-a456-426614174000": "uuid"}),
        (
            "(https://x.org/a_(b)?c=1), [y](http://y.org).",
            {"https://x.org/a_(b)?c=1": "url", "http://y.org": "url"},
        ),
        ("PATH=/usr/bin:/opt/x --file=/etc/y", {"/usr/bin": "path", "/opt/x": "path", "/etc/y": "path"}),
        ("`snapshot/pages.py:12` run.sh", {"snapshot/pages.py": "path", "run.sh": "path"}),
        ("snapshot/pages.py-12-class Page", {"snapshot/pages.py": "path"}),
        ("+++ b/snapshot/pages.py", {"snapshot/pages.py": "path"}),
        (r"C:\Users\me\a.txt", {r"C:\Users\me\a.txt": "path"}),
        ("v1.2.3 1.2.3-rc1 x==2.31.0", {"v1.2.3": "version", "1.2.3-rc1": "version", "2.31.0": "version"}),
        (
            "12.06 V, 40\u202f000 and 52.1 %",
            {"12.06 V": "number", "40\u202f000": "number", "52.1 %": "number"},
        ),
        ("10.0.0.1:8080 fe80::1", {"10.0.0.1:8080": "ip", "fe80::1": "ip"}),
        ("me@example.org db-1.internal", {"me@example.org": "mail", "db-1.internal": "host"}),
        ("2026-11-30T08:45:00Z 08:45:12", {"2026-11-30T08:45:00Z": "time", "08:45:12": "time"}),
        ("conn.drain_events(fooBar)", {"drain_events": "name", "fooBar": "name"}),
        (
            "c14 toolu_01AbC 0x0B8D",
            {"c14": "identifier", "toolu_01AbC": "identifier", "0x0B8D": "identifier"},
        ),
    ],
)
def test_what_is_exact(text, kinds):
    assert {fact.text: fact.kind for fact in find(text)} == kinds


@pytest.mark.parametrize(
    "text",
    [
        "Prose words, state-of-the-art, are none: and/or, he/she, 1/2, km/h, HTTP/1.1, image/png.",
        "JavaScript and GitHub; the 3rd of 20 in 2026; std::vector, a::b; 7 tests in 3.2 of them.",
        "drwxr-xr-x 2; 131-omit, 132-include",
        "x" * 400_000,
        "a-" * 200_000,
        "/x" * 200_000,
        "1." * 200_000,
        "0123456789abcdef" * 20_000,
        r"one\ntwo_3\nthree",  # an escape's letter is no part of a string
    ],
)
def test_what_is_not(text):
    assert find(text) == ()


@pytest.mark.parametrize(
    ("text", "strings"),
    [
        # Numbers with separators or many digits are one string.
        ("costs 1,234,567.89 or 1 234 567 or 12'345", ["1,234,567.89", "1 234 567", "12'345"]),
        ("1\u202f234\u202f567,89 € 1.234.567,89", ["1\u202f234\u202f567,89 €", "1.234.567,89"]),
        ("12’345 + 6", ["12’345"]),
        ("0.1000000000000000055 -1.5e-300", ["0.1000000000000000055", "-1.5e-300"]),
        ("columns 12 345 6 78", []),
        ("[1,2,3,4,5] and [10, 20, 30]", []),
        # Links without the brackets that they stand in.
        ("[x](https://a.org/b_1)[y](http://c.org/d)", ["https://a.org/b_1", "http://c.org/d"]),
        ("[x](https://a.org/b_(c)?d=1), ([y](http://c.org))", ["https://a.org/b_(c)?d=1", "http://c.org"]),
        ("![i](https://a.org/i.png \"t\") <http://b.org/c> **https://d.org**",
         ["https://a.org/i.png", "http://b.org/c", "https://d.org"]),
        ("https://a.org/1,https://b.org/2", ["https://a.org/1", "https://b.org/2"]),
        ("见https://a.org/b。完", ["https://a.org/b"]),
        # Of an assignment its value.
        ("path=src/a_b/c.py --out=/x/y.txt --ref=a1b2c3d4", ["src/a_b/c.py", "/x/y.txt", "a1b2c3d4"]),
        ("limit=1,234,567 when=2026-11-30 url=https://a.org/b", ["1,234,567", "2026-11-30", "https://a.org/b"]),
        # Escapes are no part.
        (r'{"a":"/srv/a.txt\nb_c\t/srv/d.txt\"","p":"C:\\x\\y_1.txt"}',
         ["/srv/a.txt", r"C:\\x\\y_1.txt"]),
        (r"https://a.org/b\nnext", ["https://a.org/b"]),
        # Not what goes on where a pattern ends.
        ("/srv/${HOME}/x /srv/*.txt src/ab/[id]/page.tsx https://a.org/{id}", []),
        ("1.2.3.4.5.6.7.8.9.10.11.12.13.14.15.16 and 08:45:12." + "1" * 50, []),
        ("x" * 300 + "_1 /srv/" + "y" * 300 + " a" + ".bc" * 300, []),
        # Nor what was cut.
        ("3f786850… at …4d5e6f7a, src/a_b/c.p... and foo_bar", ["foo_bar"]),
        ("see src/a_b/c\n✂120 characters left out✂\nd_e.py there", []),
        ("a1b2c3d4\n[... 120 lines truncated ...]\nd5e6f7a8 b9c0d1e2", ["b9c0d1e2"]),
    ],
)  # fmt: skip
def test_strings_are_whole(text, strings):
    assert [fact.text for fact in find(text)] == strings


LETTER = re.compile("[A-Za-z0-9_À-ɏͰ-ԯ]")
pieces = st.sampled_from([
    "a", "B", "7", "_", "-", ".", "/", "\\", "=", ":", "@", "+", "~", "%", ",", "'", "(", ")", "[", "]", "{",
    "*", " ", "$", "…", "...", "✂", "‣", "é", "ж", "https://", "a_b", "10", "2026-11-30", "c0ffee1", "1.2",
    "\n", ".py", "src/", "C:\\", "--", "V", "\u202f", "123", "self.", "fooBar", "[x left out]",
])  # fmt: skip


@given(st.lists(pieces, max_size=40).map("".join))
@settings(max_examples=examples(300))
def test_every_string_stands_between_boundaries(text):
    """What is listed neither begins nor ends within a word, wherever it stands."""
    for fact in find(text, names=True):
        for start in fact.offsets:
            stop = start + len(fact.text)
            assert text[start:stop] == fact.text
            if LETTER.match(fact.text):
                assert not LETTER.fullmatch(text[start - 1 : start])
            if LETTER.match(fact.text[-1]):
                assert not LETTER.fullmatch(text[stop : stop + 1])
            assert "…" not in (text[start - 1 : start], text[stop : stop + 1])


def test_offsets_are_where_the_strings_stand():
    text = "b/c_1/d.py c14 x c14 https://x.org/c14. " * 3
    for fact in find(text):
        assert fact.offsets == tuple(sorted(fact.offsets))
        assert all(text.startswith(fact.text, at) for at in fact.offsets)


@given(texts)
def test_every_fact_is_in_the_text(text):
    for fact in find(text):
        assert all(text.startswith(fact.text, at) for at in fact.offsets)
        assert len(fact.text) <= 256


@given(texts, texts, st.integers(0, 400), st.lists(st.text(max_size=12), max_size=3), st.integers(1, 200))
def test_the_budget_is_kept_and_nothing_is_uncounted(text, tail, budget, keep, size):
    source = Source(text)
    pages = [(at, min(at + size, len(text))) for at in range(0, len(text), size)]
    made = factsheet(source, pages, tail=tail, budget=budget, reader=READER, keep=keep)
    assert made == factsheet(source, pages, tail=tail, budget=budget, reader=READER, keep=keep)
    assert made.tokens == (text_tokens(made.text, READER) if made.text else 0) <= budget
    assert len({fact.text for fact in made.facts}) == len(made.facts)
    whole = factsheet(source, pages, tail=tail, budget=10**6, reader=READER, keep=keep)
    assert whole.left_out == 0
    assert len(whole.facts) == len(made.facts) + made.left_out


@given(texts, st.integers(0, 400))
def test_every_fact_is_spelled_out(text, budget):
    made = sheet(text, budget=budget)
    for fact in made.facts:
        assert fact.text in made.text


def test_look_alikes_come_first_and_what_stands_beside_is_left_out():
    text = "3f786850e387 then Q0OOQ-B88B6 then QO0OQ-B88B6 then X7-99Z, /a/b.txt, drain_events and other_name"
    order = [fact.text for fact in sheet(text, "now drain_events on X7-99Z").facts]
    assert set(order[:2]) == {"QO0OQ-B88B6", "Q0OOQ-B88B6"}
    assert set(order[2:]) == {"3f786850e387", "/a/b.txt", "other_name"}


def test_of_look_alikes_both_are_listed_though_one_is_spoken_of():
    """With one of them alone as text, the other on the page would be taken for it."""
    text = "3f786850e387 l1O-B88B6 I1O-B88B6 Q0OOQ-B88B6 QO0OQ-B88B6 X7-99Z"
    facts = sheet(text, "get Q0OOQ-B88B6, X7-99Z").facts
    assert {fact.text for fact in facts[:2]} == {"Q0OOQ-B88B6", "QO0OQ-B88B6"}


@given(texts, texts)
def test_what_stands_beside_whole_is_left_out(text, tail):
    made = sheet(text, tail, budget=10**6)
    alike = Counter(look(fact.text) for fact in find(text, names=True) if fact.kind != "name")
    for fact in made.facts:
        if alike[look(fact.text)] < 2:
            assert fact not in find(tail, names=True)
            assert not re.search(rf"(?<![\w.-]){re.escape(fact.text)}(?![\w.-])", " ".join(tail.split(", ")))


def test_pages_are_named():
    text = "e3f786a." + " " * 92 + "e3f786a" + " " * 93 + "a1b2c3d4e5f6" + " " * 100
    source = Source(text)
    made = factsheet(source, [(0, 100), (100, 205), (205, 250)], tail="", budget=200, reader=READER)
    assert "p2-3: a1b2c3d4e5f6" in made.text
    assert "p1,2: e3f786a" in made.text
    assert "no page: a1b2c3d4e5f6" in factsheet(source, [(0, 100)], tail="", budget=200, reader=READER).text


def test_what_a_caller_names_is_in():
    made = sheet("item AB-1, page 7\nsay: x, y", budget=90, keep=["7", "x, y", "not there", "a\nb"])
    assert [fact.text for fact in made.facts][:4] == ["7", "x, y", "not there", "a\nb"]
    assert {"p1: x, y", 'no page: "a\\nb"'} <= set(made.text.split("\n"))


def test_case_001_serials_are_in():
    transcript = snapshot.load(case("001") / "input.json")
    source = source_of(replace(transcript, messages=transcript.messages[:-1]))
    made = factsheet(
        source,
        [(0, len(source.text))],
        tail=source_of(replace(transcript, messages=transcript.messages[-1:])).text,
        budget=250,
        reader=READER,
    )
    listed = re.split(r", |: |\n", made.text)
    assert "Q0OOQ-B88B6-S55S" in listed
    assert "PSU-0O-l1" in listed
    assert {"Q0OOQ-B88B6-S55S", "QO0OQ-8B8B6-5S5S"} <= {fact.text for fact in made.facts}


def test_case_009_the_line_is_not_an_identifier(tmp_path):
    target = tmp_path / "input.json"
    subprocess.run([sys.executable, case("009") / "make_input.py", target], check=True)
    source = source_of(snapshot.load(target))
    made = sheet(source.text, "bt_ar", budget=300)
    assert max(len(fact.text) for fact in find(source.text)) < 100
    assert made.tokens <= 300


def test_sizes_of_what_was_left_out_are_no_facts():
    text = "✂image/png, 2600 bytes✂ 2600 bytes"
    from snapshot.source.source import Elision

    (fact,) = factsheet(
        Source(text, (0, 22), (), (Elision(0, "image/png", 2600),)), [], tail="", budget=99, reader=READER
    ).facts
    assert fact.offsets == (24,)


@pytest.mark.parametrize("file", REAL)
def test_real_transcripts(real: Path, file):
    source = source_of(snapshot.load(real / file))
    cut = len(source.text) * 4 // 5
    pages = [(at, min(at + 20_000, cut)) for at in range(0, cut, 20_000)]
    made = factsheet(Source(source.text[:cut]), pages, tail=source.text[cut:], budget=800, reader=READER)
    assert 700 < made.tokens <= 800
    assert made.left_out > 0


def test_it_is_linear():
    """Each trouble at 60 kB; were any of it quadratic, this would not end."""
    rng = random.Random(1)
    troubles = [
        "1:", "a.b", "/a", "a@", "http://", "http://a.b),", "1 222 ", "a.b-", "a_b=", "--a", "[truncated ",
        "(", "C:\\a", "x=\n", " \t", "✂", "self.a ",
        "".join(rng.choice("abcdef0123456789-./:@ ") for _ in range(60_000)),
    ]  # fmt: skip
    for trouble in troubles:
        text = trouble * (60_000 // len(trouble))
        assert sheet(text, text[:1000]) is not None
