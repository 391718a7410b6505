"""Layout files of one's own, and what is wrong or hostile in a file: said in a line that names it."""

from __future__ import annotations

import random
import re
from decimal import Decimal

import pytest

from snapshot.errors import LayoutError
from snapshot.models import catalog
from snapshot.models import gateways as gateway_module
from snapshot.models.catalog import ENVIRONMENT, layout_files, profiles
from snapshot.models.gateways import gateways, via_gateway
from snapshot.models.ids import profile_for
from snapshot.models.tokens import text_tokens
from snapshot.pages.layout import layout_for
from tests.own_layouts import own

__all__ = ["own"]  # a fixture: pytest finds it here


FILE = """
provider = "x"
as_of = 2026-01-01
sources = ["a page"]

[[readers]]
name = "r"
title = "t"
models = ["mine*"]
billing = { rule = "grid", budget = 1120, unit = 48 }
chars_per_token = { value = 3, basis = "guessed" }
layouts = { default = { face = "fira-9x16", width = 1728, height = 1488 } }
"""


def test_a_users_file_adds_a_reader(own):
    own(FILE)
    assert layout_for("mine-7").name == "r"
    assert layout_for("claude-opus-4-8").name == "claude-high"
    assert len(layout_files()) > 5


def test_a_users_file_takes_the_place_of_a_reader_or_extends_it(own):
    own(FILE.replace('"r"', '"claude-high"'))
    assert layout_for("mine-7").width == 1728
    with pytest.raises(LayoutError, match="no layout is known"):
        layout_for("claude-opus-4-8")
    own(
        'provider="x"\nas_of=2026-01-01\nsources=["s"]\n[[readers]]\nextends="gpt-patch"\nname="house"\n'
        'models=["house-gpt*", "gpt-5-6-sol*"]\nwindow=99000'
    )
    reader = layout_for("house-gpt-1").reader
    assert (reader.name, reader.window, reader.detail) == ("house", 99_000, "high")
    assert layout_for("gpt-5.6-sol").name == "house"
    assert layout_for("gpt-5.6-terra").name == "gpt-patch"


def test_a_users_file_adds_a_gateway(own):
    own(
        'as_of=2026-01-01\nsources=["s"]\n[[gateways]]\nname="house"\ntitle="our proxy"\nprefixes=["house"]\n'
        'prices="list"\nlimits={images_per_request=3}'
    )
    reader = layout_for("house/claude-opus-4-8").reader
    assert (reader.route, reader.limits["images_per_request"]) == ("house", 3)


def test_a_folder_without_files_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv(ENVIRONMENT, str(tmp_path))
    with pytest.raises(LayoutError, match=r"no folder with layout files.*SNAPSHOT_LAYOUTS"):
        profiles()


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ('provider = "x"', "provider = ", r"mine.toml: "),
        ('provider = "x"', "provider = 3", "mine.toml: provider is 3, it must be text"),
        ('provider = "x"', "", "mine.toml: provider is missing"),
        ('title = "t"', 'colour = "t"', "reader r: unknown key colour; known are billing"),
        ('title = "t"', 'titel = "t"', r"reader r: unknown key titel \(did you mean title\?\)"),
        ('title = "t"', "", "reader r: title is missing, it must be text"),
        ('models = ["mine*"]', 'models = "mine*"', "reader r: models is 'mine\\*', it must be a list of texts"),
        ("value = 3", "value = -3", "reader r, chars_per_token: value is -3, it must be a number above 0"),
        ('basis = "guessed"', 'base = "x"', r"chars_per_token: unknown key base \(did you mean basis\?\)"),
        ("default = {", "other = {", "reader r: layouts has no default"),
        ("width = 1728", 'width = "wide"', "layout default: width is 'wide', it must be a whole number"),
        ('title = "t"', 'title = "t"\nlimits = { images = 3 }', "reader r, limits: unknown key images"),
        ('title = "t"', 'title = "t"\nprice = { input = 3 }', "price: input is 3, it must be US dollars as text"),
        ('title = "t"', 'title = "t"\nbilling_at = { low = "fit" }', "billing_at low: 'fit' is not one of"),
        ('title = "t"', 'title = "t"\nextends = "gpt-pach"', r"no reader \(did you mean gpt-patch\?\)"),
        ('title = "t"', 'title = "t"\ntokenizer = "own"', "tokenizer is 'own', it must be one of o200k_base"),
        ("billing = {", "biling = {", r"unknown key biling \(did you mean billing\?\)"),
        ('rule = "grid"', 'rule = "gird"', "reader r, billing: rule is 'gird', known rules are"),
        ("[[readers]]", "[[readers.lines]]", "mine.toml: readers is"),
        ('name = "r"', f'name = "{"r" * 5000}"', r"reader 1: name is 'r+\.\.\., it must be text"),
        ("width = 1728", "width = 9223372036854775808", "layout default: width is 9223372036854775808, it must be a whole number from 1 to 10,000"),
        ("width = 1728", "width = 0", "layout default: width is 0, it must be a whole number from 1"),
        ("value = 3", "value = nan", "chars_per_token: value is nan, it must be a number above 0"),
        ("value = 3", "value = 1e308", "chars_per_token: value is 1e\\+308, it must be a number above 0"),
        ('title = "t"', 'title = "t"\nprice = { input = "1e999" }', "price: input is '1e999', it must be US dollars as text"),
        ('title = "t"', 'title = "t"\nprice = { input = "1", steps = [{ above = 1 }] }', "price, step 1: input is missing"),
        ('title = "t"', 'title = "a\\u001b[2J"', "title is 'a.x1b.2J', it must be text without control characters"),
        ('title = "t"', 'title = "t"\ndocuments = { page_tokens = 3 }', "documents: page_image is missing, it must be true or false"),
        ('title = "t"', 'title = "t"\ncache = { livetime = 3 }', r"cache: unknown key livetime \(did you mean lifetime\?\)"),
        ('title = "t"', 'title = "t"\nprefill = 1', "prefill is 1, it must be true or false"),
        ("as_of = 2026-01-01", "as_of = 2026-01-01T00:00:00Z", "as_of is datetime"),
    ],
)  # fmt: skip
def test_a_broken_layout_file_is_named(own, old, new, problem):
    assert old in FILE
    own(FILE.replace(old, new, 1))
    with pytest.raises(LayoutError, match=problem) as caught:
        profiles()
    assert str(caught.value).startswith("mine.toml")
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 1200


EVIL = [
    "0", "-1", "1", "2", "7", "1000000000", "9223372036854775808", "9" * 40, "9" * 5000, "0x" + "f" * 5000, "1.5", "1e999",
    "nan", "inf", "-inf", "true", '""', '"x"', '"../../../../etc/passwd"', '"a\\u0000b"', '"\\u001b[2J"', '"\\u202e"',
    '"1e999"', '"nan"', '"0"', '"-1"', '"9999999999999999"', '"(a+"', '"[[["', "[]", "[0, 0]", "[-1, 16]", "[1, 1]",
    "[100000, 100000]", '[""]', "[[1]]", "{}", '["*"]', "1979-05-27", "1979-05-27T07:32:00Z", '"' + "a*" * 3000 + '"',
    '"drawn-9x16"', '"grid"', '{ rule = "grid", budget = 1, unit = 1 }', "[{}]",
]  # fmt: skip

SPOT = re.compile(r"= *(\"[^\"\n]*\"|'[^'\n]*'|\[[^\]\n]*\]|[0-9][0-9_.\-]*|true|false)(?=[ ,}\n])")


def harmless(path, start, stop, value, folder):
    """Whether a shipped file with another value is refused in one line; where it is not, figures are sane."""
    text = path.read_text(encoding="utf-8")
    own = folder / path.name
    own.parent.mkdir()
    own.write_text(text[:start] + value + text[stop:], encoding="utf-8")
    try:
        loaded = catalog._load(((own, 1),))
        known = gateway_module._load(((own, 1),))
    except LayoutError as error:
        said = str(error)
        return said.startswith(path.name) and said.isprintable() and len(said) < 1200
    for reader in loaded:
        for rule in filter(None, (reader.billing, *reader.billing_at.values())):
            for size in ((1, 1), (1568, 728), (10_000, 10_000), (3, 9999)):
                if rule.tokens(*size) < 1 or min(rule.preprocess(*size)) < 1:
                    return False
        if reader.price is not None and reader.price.times(Decimal("1.1")).at(10**9).input > 10**8:
            return False
        if text_tokens("some text", reader) < 1 or not str(reader.trials).isprintable():
            return False
    claude = profile_for("claude-opus-4-8")
    return all(
        via_gateway(claude, item, "claude-opus-4-8", "us.anthropic.claude").window >= 0 for item in known
    )


@pytest.mark.parametrize("path", layout_files(), ids=lambda path: path.name)
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 20))])
def test_a_hostile_value_is_one_line_or_does_no_harm(path, seed, tmp_path):
    """Any value of any shipped file by what an attacker would have there; sampled, with fixed seeds."""
    spots = [match.span(1) for match in SPOT.finditer(path.read_text(encoding="utf-8"))]
    assert len(spots) > 5
    picks = random.Random(f"{path.name}{seed}")
    for number in range(20):
        spot, value = picks.choice(spots), picks.choice(EVIL)
        assert harmless(path, *spot, value, tmp_path / str(number)), (spot, value)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a = " + "[" * 100_000, "nested too deeply"),
        ("a = " + "9" * 5000, "mine.toml: "),
        ("a = \"\\ud800\"", "mine.toml: "),
        ("\x00", "mine.toml: "),
    ],
)  # fmt: skip
def test_what_is_no_toml_is_one_line(own, text, problem):
    own(text)
    with pytest.raises(LayoutError, match=problem) as caught:
        profiles()
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 400


@pytest.mark.usefixtures("own")
def test_a_folder_called_as_a_file_is_one_line(tmp_path):
    (tmp_path / "layouts" / "mine.toml").mkdir()
    with pytest.raises(LayoutError, match=r"mine\.toml: Is a directory"):
        profiles()


def test_a_file_name_does_not_act_on_the_terminal(tmp_path, monkeypatch):
    (tmp_path / "a\x1b[2J\n.toml").write_text("provider = 3", encoding="utf-8")
    monkeypatch.setenv(ENVIRONMENT, str(tmp_path))
    with pytest.raises(LayoutError, match=r"provider is 3, it must be text") as caught:
        profiles()
    assert str(caught.value).isprintable()
    monkeypatch.setenv(ENVIRONMENT, str(tmp_path / "\x1b[2J"))
    with pytest.raises(LayoutError, match="no folder with layout files") as caught:
        profiles()
    assert str(caught.value).isprintable()


GATEWAYS = """
as_of = 2026-01-01
sources = ["s"]
[[gateways]]
name = "house"
title = "our proxy"
prefixes = ["house"]
ids = 'house-.*'
prices = "list"
limits = { images_per_request = 3 }
[[gateways.lines]]
models = ["claude-*"]
window = 90000
limits = { image_bytes = 7 }
[[gateways.surcharges]]
ids = '.*'
factor = "1.5"
"""


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("ids = 'house-.*'", "ids = '('", "gateway house: ids is no regular expression"),
        ("ids = '.*'", "ids = '('", "gateway house, surcharge 1: ids is no regular expression"),
        ('factor = "1.5"', 'factor = "1e999"', "surcharge 1: factor is '1e999', it must be US dollars as text"),
        ('factor = "1.5"', "factor = 1.5", "surcharge 1: factor is 1.5, it must be US dollars"),
        ('prices = "list"', 'prices = "all"', "gateway house: prices is 'all', it must be one of list, none"),
        ("window = 90000", "window = 9223372036854775808", "gateway house, line 1: window is 9223372036854775808"),
        ("image_bytes = 7", "image_byte = 7", r"line 1, limits: unknown key image_byte \(did you mean image_bytes\?\)"),
        ('title = "our proxy"', "", "gateway house: title is missing, it must be text"),
        ('name = "house"', 'name = "a\\u001b[2J"', r"gateway 1: name is 'a\\x1b\[2J', it must be text without control"),
    ],
)  # fmt: skip
def test_a_broken_gateway_is_named(own, old, new, problem):
    assert old in GATEWAYS
    own(GATEWAYS)
    line = profile_for("house/claude-opus-4-8")
    assert (line.window, line.limits["image_bytes"], line.limits["images_per_request"]) == (90_000, 7, 3)
    own(GATEWAYS.replace(old, new, 1))
    with pytest.raises(LayoutError, match=problem) as caught:
        gateways()
    assert str(caught.value).startswith("mine.toml, ")
    assert str(caught.value).isprintable()
