"""What is taken for a run of random characters: every alphabet and form of them, no words, names or art."""

from __future__ import annotations

import random
import re
import string
import sysconfig
import textwrap
import time
from itertools import pairwise
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

import snapshot
from snapshot.redaction import Redactor
from snapshot.source.random_runs import LONGEST, random_runs
from snapshot.source.source import source_of
from tests.conftest import REAL

BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
ALPHABETS = {
    "hex": "0123456789abcdef",
    "upper hex": "0123456789ABCDEF",
    "digits": string.digits,
    "base32": string.ascii_uppercase + "234567",
    "lower base32": string.ascii_lowercase + "234567",
    "base36": string.ascii_lowercase + string.digits,
    "base58": BASE58,
    "base62": string.ascii_letters + string.digits,
    "base64": string.ascii_letters + string.digits + "+/",
    "base64url": string.ascii_letters + string.digits + "-_",
}
AROUND = [
    "{}",
    "the value is {} and so on\n",
    '{{"key": "{}", "x": 1}}\n',
    "sha512-{}\n",
    "name={}&y=2\n",
    "https://example.org/files/{}?x=1\n",
    "line\\n{}\\tend\n",
    "用户{}说\n",
]
STDLIB = Path(sysconfig.get_paths()["stdlib"])


def share_found(text: str, run: str) -> float:
    """Share of the characters of `run` in `text` that were found."""
    start = text.index(run)
    spans = [(max(one.start, start), min(one.stop, start + len(run))) for one in random_runs(text)]
    return sum(stop - first for first, stop in spans if stop > first) / len(run)


def recall(rng: random.Random, many: int, draw, around=AROUND) -> float:
    """Share of runs that are found, but for a few characters at their ends."""
    found = 0
    for _ in range(many):
        run = draw()
        found += share_found(rng.choice(around).replace("{}", run), run) >= 0.9
    return found / many


@pytest.mark.parametrize("name", ALPHABETS)
def test_runs_of_every_alphabet_are_found(name):
    rng = random.Random(name)
    sizes = (LONGEST + 1, LONGEST + 2, 70, 80, 96, 128, 200)
    assert recall(rng, 1000, lambda: "".join(rng.choices(ALPHABETS[name], k=rng.choice(sizes)))) >= 0.99


@pytest.mark.parametrize("name", ["hex", "digits", "base32", "base64", "base64url"])
@pytest.mark.parametrize("width", [60, 64, 76])
def test_runs_over_lines_are_found_whole(name, width):
    rng = random.Random(f"{name} {width}")

    def draw() -> str:
        between = rng.choice(["\n", "\n    ", "\r\n", "\\n", "\n> ", '"\n  "'])
        # Hexadecimal lines that all have the width of a digest are a list of them.
        size = width * rng.randrange(2, 12) + rng.randrange(1, width)
        body = "".join(rng.choices(ALPHABETS[name], k=size))
        return between.join(textwrap.wrap(body, width, break_on_hyphens=False))

    around = ["-----BEGIN X-----\n{}\n-----END X-----\n", "the text:\n\n{}\n\nno more\n"]
    assert recall(rng, 100, draw, around) >= 0.97


def xxd(data: bytes) -> str:
    rows = (data[at : at + 16] for at in range(0, len(data), 16))
    return "\n".join(
        f"{16 * number:08x}: {row.hex(' ', -2):39}  {row.decode('latin-1').translate(SHOWN)}"
        for number, row in enumerate(rows)
    )


SHOWN = {code: "." for code in range(256) if not 32 <= code < 127}
FORMS = {
    "percent": quote,
    "xxd": xxd,
    "hexdump": lambda data: "\n".join(
        f"{at:08x}  {data[at : at + 8].hex(' ')}  {data[at + 8 : at + 16].hex(' ')}"
        for at in range(0, len(data), 16)
    ),
    "od": lambda data: "\n".join(f"{at:07o} {data[at : at + 16].hex(' ')}" for at in range(0, len(data), 16)),
    "fingerprint": lambda data: data.hex(":").upper(),
    "bytes": lambda data: data.hex(" "),
    "modulus": lambda data: ":\n    ".join(data[at : at + 15].hex(":") for at in range(0, len(data), 15)),
    "list": lambda data: '","'.join(data[at : at + 20].hex() for at in range(0, len(data) - 19, 20)),
}


@pytest.mark.parametrize("form", FORMS)
def test_bytes_in_every_form_are_found(form):
    rng = random.Random(form)
    assert (
        recall(rng, 300, lambda: FORMS[form](rng.randbytes(rng.randrange(48, 300))), ["a\n{}\nb\n"]) >= 0.99
    )


def test_what_a_run_is_called():
    rng = random.Random(4)

    def kind(alphabet: str, size: int) -> str:
        return random_runs(f"x {''.join(rng.choices(alphabet, k=size))} y")[0].kind

    assert [kind(ALPHABETS[name], 100) for name in ("hex", "digits", "base32")] == ["hex", "digits", "base32"]
    assert {kind(ALPHABETS["base64"], 200) for _ in range(9)} == {"base64"}
    assert {kind(ALPHABETS["base64url"], 200) for _ in range(9)} == {"base64url"}


@pytest.mark.parametrize(
    "text",
    [
        "the quick brown fox " * 20,
        "=" * 100 + "-" * 90 + "+-" * 50 + "\n" + "|" + "----|" * 40,
        "deadbeef" * 12 + " " + "0123456789" * 9 + " " + "a1B2" * 40,
        "AAAAAAAAAA" * 20 + "\n" + "0" * 300 + "\n" + "10" * 99,
        "/usr/lib/python3.11/site-packages/snapshot_pages/compaction/archived_messages_of_2024.py:112",
        "https://example.org/a-long-title-of-a-page-that-goes-on-and-on-2023/and-another-part-of-it/index.html",
        "HTTPConnectionPoolManagerFactoryBeanProviderForVersion2OfTheRequestHandlerInterfaceImplementation",
        "MAX_NUMBER_OF_CONNECTIONS_PER_HOST_IN_POOL_V2_DEFAULT_TIMEOUT_SECONDS_BEFORE_RETRY_OF_REQUEST_3",
        "test_that_a_parser_of_version_2_reads_what_version_1_wrote_and_version_3_does_not_read_any_of_it",
        "_ZNSbIwSt11char_traitsIwESaIwEE12_S_constructIPKwEEPwT_S7_RKS1_St20forward_iterator_tag",
        "/data/0b5c1f0e-5c0e-4c49-9d6e-9d5a37a0c3f1/sessions/6f1c9f9e-8a55-4b1f-8a0f-7f7ad5f0f6b2/log.json",
        "%E6%97%A5%E6%9C%AC%E8%AA%9E%E3%81%AE%E6%96%87%E7%AB%A0%E3%81%A7%E3%81%99%E3%80%82%E6%97%A5%E6%9C%AC",
        "这是一个很长的句子没有空格但是每个人都能读懂" * 6,
        "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft" * 2,
        "\n".join(f"{number:040x}" for number in range(1 << 150, (1 << 150) + 40)),
    ],
)
def test_words_names_patterns_and_other_scripts_are_none(text):
    assert [text[run.start : run.stop] for run in random_runs(f"see {text} there\n")] == []


WORDS = re.findall(r"[A-Za-z]{2,14}", (STDLIB / "argparse.py").read_text("utf-8"))
word = st.sampled_from(sorted(set(WORDS)))
piece = st.one_of(
    word, word.map(str.title), word.map(str.upper), word.map(str.lower), st.integers(0, 99).map(str)
)


@given(st.lists(piece, min_size=8, max_size=40), st.sampled_from(["", "_", "-", "/", ".", "+", "__", "%20"]))
def test_words_put_together_in_any_way_are_none(pieces, sign):
    assert random_runs(f"a {sign.join(pieces)} b\n") == []


def test_the_standard_library_has_none_but_real_ones():
    """Only its tests have digests, encoded data and long numbers."""
    chars = found = 0
    for path in sorted(STDLIB.glob("*.py")):
        text = path.read_text("utf-8", "replace")
        chars += len(text)
        found += len(random_runs(text))
    assert chars > 4_000_000
    assert found == 0


@pytest.mark.parametrize("file", REAL)
def test_real_runs_have_none(file, real):
    assert random_runs(source_of(Redactor().transcript(snapshot.load(real / file))).text) == []


@given(st.text(st.sampled_from("aZ09+/=_-.%~ \n\\r:é✂"), max_size=400))
def test_any_text_gives_spans_in_order(text):
    runs = random_runs(text * 3)
    assert all(run.stop - run.start > LONGEST for run in runs)
    assert all(one.stop <= other.start for one, other in pairwise(runs))


@pytest.mark.parametrize(
    "piece",
    [
        "A" * 64 + "\n",
        "ab" * 32 + "\n",
        "4E00 4E01 4E02 4E03 4E04 4E05\n",
        "00000000: 4141 4141 4141 4141 4141 4141 4141 4141  AAAAAAAAAAAAAAAA\n",
        "0" * 40 + ",",
        "de:ad:",
        "%41%42",
        "/usr/lib/python3.11/a-b",
        "0123456789abcdef" * 4 + "\n",
    ],
)
def test_time_grows_with_the_text_alone(piece):
    def seconds(size: int) -> float:
        text = piece * (size // len(piece))
        start = time.process_time()
        random_runs(text)
        return time.process_time() - start

    seconds(10_000)
    small = min(seconds(100_000) for _ in range(3))
    assert seconds(800_000) < 30 * small + 0.2
