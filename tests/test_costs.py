"""What characters cost: sums of their parts, exact at the edges, and shown to people and scripts."""

from __future__ import annotations

import base64
import csv
import io
import json
import xml.etree.ElementTree as ET
from decimal import Decimal
from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

import snapshot
from snapshot.costs.content_kinds import class_of, classes_of
from snapshot.costs.costs import break_even, cost_of, cost_of_source, costs_of, example_models
from snapshot.messages import Message, Text, ToolCall, ToolResult, Transcript
from snapshot.models import tokens as tokens_module
from snapshot.models.catalog import profiles
from snapshot.models.ids import profile_for
from snapshot.pages.layout import layout_for
from snapshot.pages.render import Typesetter
from tests.conftest import HERE, REAL
from tests.test_cli import EXAMPLE, run

PYTHON = (
    "import os\n\n\ndef main(path):\n    for name in os.listdir(path):\n        print(name)\n    return 0\n"
)
LOG = "2026-11-30 08:00:01 INFO started worker 3\n2026-11-30 08:00:02 WARN slow answer, 812 ms\nall done\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (PYTHON, "code"),
        ("     1→import os\n     2→print(os.name)\n     3→\n     4→# end\n", "code"),
        ('{"a": [1, 2, {"b": null}]}', "JSON"),
        ("[not json", "logs"),
        (LOG, "logs"),
        ("吾輩は猫である。名前はまだ無い。どこで生れたかとんと見当がつかぬ。", "CJK"),
        ("struct Point {\n    x: f64,\n    y: f64,\n};\nfn main() {\n    let p = 3;\n}\n", "code"),
    ],
)
def test_blocks_have_classes(text, expected):
    assert class_of(text) == expected


def test_a_conversation_is_divided_without_loss():
    transcript = Transcript(
        (
            Message("user", (Text("Please fix the parser.\n```python\nx = 1\n```\nThanks."),)),
            Message(
                "assistant", (ToolCall("1", "Write", json.dumps({"path": "a.py", "content": PYTHON * 3})),)
            ),
            Message("tool", (ToolResult("1", (Text(LOG),)),)),
        ),
        "text",
    )
    found = classes_of([transcript])
    assert list(found) == ["prose", "code", "JSON", "logs"]
    assert "Please fix" in found["prose"]
    assert "x = 1" in found["code"]
    assert PYTHON * 3 in found["code"]
    assert json.loads(found["JSON"]) == {"path": "a.py"}
    assert found["logs"] == LOG + "\n"


def test_pages_cost_what_rendering_says():
    text = PYTHON * 700
    for model in ("claude-opus-4-8", "gpt-5.6-sol", "gemini-3.8-flash", "kimi-k3"):
        pages = list(snapshot.render(text, model=model))
        cost = cost_of(model, Typesetter(layout_for(model)), "code", text)
        assert (cost.pages, cost.page_tokens) == (len(pages), sum(page.tokens for page in pages))
        assert abs(cost.page_bytes / sum(len(page.png) for page in pages) - 1) < 0.25
        full = [page for page in pages if page.stop < len(text)]
        if full:
            measured = sum(page.chars for page in full) / sum(page.tokens for page in full)
            assert cost.per_page_token == pytest.approx(measured)


def test_the_sum_is_the_sum_of_its_classes():
    texts = {"prose": "Some words to say. " * 900, "code": PYTHON * 300}
    total, *each = costs_of(texts, ["claude-opus-4-8"])
    assert total.text_class == "all"
    assert [cost.text_class for cost in each] == ["prose", "code"]
    for name in ("chars", "pages", "page_tokens", "page_bytes", "text_tokens"):
        assert getattr(total, name) == sum(getattr(cost, name) for cost in each)
    assert min(c.per_page_token for c in each) <= total.per_page_token <= max(c.per_page_token for c in each)


@given(
    st.sampled_from(
        ["claude-opus-4-8", "claude-haiku-4-5", "gpt-5.6-sol", "gemini-3.8-flash", "gpt-5.1", "grok-4.7"]
    ),
    st.floats(1, 5),
)
def test_break_even_is_where_pages_become_cheaper(model, per_text_token):
    """Against every length that fits a page, asked one by one."""
    layout = layout_for(model)
    found = break_even(layout, 1.0, per_text_token)

    def pays(size: int) -> bool:
        rows = -(-size // layout.columns)
        price = layout.billing.tokens(layout.width, layout.page_height(rows))
        return size >= ceil(price * per_text_token)

    sizes = range(1, layout.capacity + 1)
    last = max((size for size in sizes if not pays(size)), default=0)
    assert found == (None if last == layout.capacity else last + 1)


def test_money_follows_tokens():
    _, cost = costs_of({"code": PYTHON * 500}, ["claude-opus-4-8"])
    assert cost.usd(pages=True, cached=False) == Decimal(5) / Decimal(str(cost.per_page_token))
    assert cost.usd(pages=False, cached=True) == Decimal("0.5") / Decimal(str(cost.per_text_token))
    turns = cost.turns_to_repay
    assert turns is not None
    # Written once at 6.25, read at 0.5 from then on: by hand.
    once = 6.25 / cost.per_page_token
    saved = 0.5 / cost.per_text_token - 0.5 / cost.per_page_token
    assert (turns - 1) * saved < once <= turns * saved
    _, never = costs_of({"code": PYTHON * 500}, ["gpt-4o-mini"])
    assert (never.break_even, never.turns_to_repay) == (None, None)
    _, unpriced = costs_of({"code": PYTHON}, ["somehost/claude-opus-4-8"])
    assert unpriced.usd(pages=True, cached=False) is None


def test_examples_are_models_of_their_readers():
    assert len(example_models()) > 12
    for reader in profiles():
        if reader.example:
            assert profile_for(reader.example).name == reader.name
            assert profile_for(reader.example).price is not None


def test_a_tokenizer_counts_where_one_is_installed(monkeypatch):
    reader = profile_for("gpt-5.6-sol")
    monkeypatch.setattr(
        "snapshot.costs.costs.counter", lambda name: (lambda _: 7) if name == "o200k_base" else None
    )
    setting = Typesetter(layout_for("gpt-5.6-sol"))
    assert (cost_of("m", setting, "code", PYTHON).text_tokens, reader.tokenizer) == (7, "o200k_base")
    assert cost_of("m", setting, "code", PYTHON).counted_by == "o200k_base"
    assert cost_of("m", Typesetter(layout_for("gemini-3-pro")), "code", PYTHON).counted_by == "ratio"
    assert tokens_module.counter("") is None


@pytest.mark.parametrize("name", ["o200k_base", "qwen3", "llama3", "claude-old", "claude-new"])
def test_vocabularies_count_offline(name):
    count = tokens_module.counter(name)
    if count is None:
        pytest.skip("no package with this vocabulary is installed")
    assert 20 < count(PYTHON) < 60
    assert count("a \ud83d b <|endoftext|>") > 3


def test_cost_answers_for_the_session_first_and_then_compares():
    shown = run("cost", EXAMPLE, "-m", "claude-opus-4-8,gemini-3.8-flash,deepseek-flash").stdout
    block, _, table = shown.partition("\n\n")
    assert "billed as claude-opus-4-8:" in block
    for label in ("text ", "as pages ", "requests ", "run as text ", "with pages ", "pays from "):
        assert f"\n  {label}" in block
    assert table.startswith("all text, ")
    for word in ("claude-opus-4-8", "cached: $ text", "deepseek-flash ?", "gemini-3.8-flash saves most"):
        assert word in table
    assert "code, " not in shown
    assert "\ncode, " in run("cost", EXAMPLE, "-m", "claude-opus-4-8", "--by", "class").stdout


def test_cost_of_one_model_is_one_block():
    shown = run("cost", EXAMPLE, "-m", "claude-opus-4-8").stdout
    assert "all text" not in shown
    assert len(shown.splitlines()) < 12


def test_cost_of_a_document_has_no_run():
    shown = run("cost", "-", "-m", "claude-opus-4-8", stdin=b"words and words " * 400).stdout
    assert "as pages" in shown
    assert "requests" not in shown


def test_cost_of_a_model_that_nobody_knows_compares_the_others(tmp_path):
    talk = [{"role": "user", "content": "hi " * 500}, {"role": "assistant", "content": "ho " * 500}]
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"model": "some-model-9", "messages": talk}), encoding="utf-8")
    shown = " ".join(run("cost", path).stdout.split())
    assert "some-model-9" in shown
    assert "name another model with -m" in shown
    assert "claude-opus-4-8" in shown
    assert "some-model-9" in run("cost", path, "-m", "some-model-9", check=2).stderr


def test_cost_for_scripts():
    found = json.loads(run("cost", EXAMPLE, "-m", "gpt-5.5", "--by", "class", "--json").stdout)
    assert found["schema"] == "snapshot-pages/cost/2"
    assert found["costs"][0]["class"] == "all"
    session = found["sessions"][0]
    assert session["text"]["requests"] > 10
    numbers = (session["text"]["usd"], session["with_pages"]["usd"], found["costs"][0]["usd_text"])
    assert all(isinstance(number, float) and number > 0 for number in numbers)
    assert all(
        value is None or isinstance(value, float)
        for cost in found["costs"]
        for key, value in cost.items()
        if key.startswith("usd")
    )
    rows = list(
        csv.DictReader(io.StringIO(run("cost", EXAMPLE, "-m", "gpt-5.5", "--by", "class", "--csv").stdout))
    )
    assert [row["class"] for row in rows] == [cost["class"] for cost in found["costs"]]
    assert rows[0]["page_tokens"] == str(found["costs"][0]["page_tokens"])
    assert "not both" in run("cost", EXAMPLE, "--csv", "--json", check=2).stderr


def test_cost_plots(tmp_path):
    run("cost", EXAMPLE, "--plot", tmp_path / "a.svg")
    root = ET.fromstring((tmp_path / "a.svg").read_text(encoding="utf-8"))
    words = "".join(root.itertext())
    assert all(model in words for model in example_models())
    models = "claude-opus-4-8,somehost/gpt-5.5,gpt-4o-mini"
    run("cost", EXAMPLE, "--plot", tmp_path / "a.png", "-m", models)
    with Image.open(tmp_path / "a.png") as image:
        assert image.width > 1500
        assert len(image.getcolors(1 << 20) or ()) > 20
    assert (
        "a plot is written as .svg or .png"
        in run("cost", EXAMPLE, "-m", "gpt-5.5", "--plot", tmp_path / "a.pdf", check=2).stderr
    )
    assert "no model" in run("cost", EXAMPLE, "-m", ",", check=2).stderr
    assert "cannot see images" in run("cost", EXAMPLE, "-m", "glm-5.3", check=2).stderr


def talk_of(words: int) -> bytes:
    messages = [
        {
            "role": "user" if number % 2 == 0 else "assistant",
            "content": f"{number}: " + "several words of it " * words,
        }
        for number in range(9)
    ]
    return json.dumps({"model": "claude-haiku-4-5", "messages": messages}).encode()


@pytest.mark.parametrize("words", [300, 450])
def test_cost_render_and_compact_agree(words, tmp_path):
    """The same text is the same pages and tokens to all three, as text and as pages."""
    path = tmp_path / "talk.json"
    path.write_bytes(talk_of(words))
    manifest = json.loads(run("render", path, "-o", tmp_path / "pages", "--json").stdout)
    found = json.loads(run("cost", path, "--json").stdout)
    costs = {cost["model"]: cost for cost in found["costs"]}
    totals = manifest["totals"]
    for cost in (found["sessions"][0], costs["claude-haiku-4-5"]):
        assert (cost["pages"], cost["page_tokens"]) == (totals["pages"], totals["tokens"])
        assert cost["text_tokens"] == totals["text_tokens"]
        assert cost["chars"] == manifest["source"]["chars"]
    request = tmp_path / "request.json"
    done = run(
        "compact",
        path,
        "--manual",
        "--only",
        "snapshot",
        "--window",
        "60000",
        "-o",
        request,
        "--json",
        check=None,
    )
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    archive = snapshot.Archive.from_json((tmp_path / "request.archive.json").read_text(encoding="utf-8"))
    layout = layout_for("claude-haiku-4-5")
    setting = Typesetter(layout)
    again = cost_of_source("claude-haiku-4-5", setting, "all", archive.source, count=False)
    rendered = list(setting.pages(archive.source))
    assert (again.pages, again.page_tokens) == (len(rendered), sum(page.tokens for page in rendered))
    assert again.pages == report["pages"]
    images = [
        block["source"]["data"]
        for message in json.loads(request.read_text(encoding="utf-8"))["messages"]
        for block in message["content"]
        if isinstance(block, dict) and block["type"] == "image"
    ]
    sizes = [Image.open(io.BytesIO(base64.b64decode(image))).size for image in images]
    assert sum(layout.billing.tokens(*size) for size in sizes) == again.page_tokens


@pytest.mark.parametrize("file", REAL)
def test_real_transcripts_are_priced(real, file):
    texts = classes_of([snapshot.load(real / file)])
    for cost in costs_of(texts, ("claude-opus-4-8", "gpt-5.6-sol")):
        assert cost.page_tokens > 0
        assert 3 < cost.per_page_token < 9
    assert HERE.name == "tests"
