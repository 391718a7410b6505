"""Model ids reach their layouts however they are written; unknown ones are told what is known."""

from __future__ import annotations

import copy
import pickle
import random
import re
import time
from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.page_size import (
    FEWEST_CELLS,
    MOST_DEARER,
    Answer,
    Bounds,
    bounds_of,
    explain,
    line_columns,
    page_for,
    solve,
)
from benchmarks.solve import answer_for, compare
from snapshot.errors import LayoutError
from snapshot.models import catalog
from snapshot.models import gateways as gateway_module
from snapshot.models.billing import Grid
from snapshot.models.catalog import ENVIRONMENT, layout_files, profiles
from snapshot.models.gateways import gateway_named, gateway_of, gateways, via_gateway
from snapshot.models.ids import id_like, model_key, profile_for, unknown_profile
from snapshot.models.tokens import text_tokens
from snapshot.models.trials import as_wide, widest_read
from snapshot.pages.layout import layout_for, layout_names

IDS = {
    "claude-high": [
        "claude-opus-4-8", "anthropic/claude-opus-4.8", "anthropic.claude-opus-4-8", "us.anthropic.claude-opus-4-8",
        "claude-opus-4-8@default", "bedrock/global.anthropic.claude-opus-4-7", "vertex_ai/claude-opus-5@20260801",
        "claude-opus-5-5", "claude-opus-5[1m]", "Claude-Opus-4.8", "claude-sonnet-5-5",
        "azure_ai/claude-haiku-5-5", "databricks/databricks-claude-haiku-5-5",
        "openrouter/anthropic/claude-sonnet-5:batch", " claude-opus-4-8 ", "anthropic/claude-mythos-5.1-fast",
    ],
    "claude-fable": ["claude-fable-5-1", "claude-fable-5-1-xhigh", "anthropic.claude-fable-5"],
    "claude-standard": [
        "claude-haiku-4-5-20251001", "us.anthropic.claude-sonnet-4-5-20250929-v1:0", "anthropic.claude-opus-4-6-v1",
        "claude-haiku-4-5@20251001", "claude-3-5-sonnet-20241022", "claude-3-5-haiku-latest", "claude-4.6-opus-high",
        "anthropic/claude-opus-4.5", "claude-sonnet-4-20250514", "claude-opus-4-1-20250805",
    ],
    "gpt-patch": [
        "gpt-5.6-sol", "openai/gpt-5.5", "global.openai.gpt-5.6-sol", "gpt-5.4-mini", "azure/gpt-5.4", "gpt-6-astra",
    ],
    "gemini-3": [
        "gemini-3-pro", "google/gemini-3.5-flash", "gemini/gemini-3.1-pro-preview", "models/gemini-3.5-flash-lite",
    ],
    "gemini-3.6": ["google/gemini-3.8-flash", "gemini-3.7-flash-preview", "vertex_ai/gemini-3-6-flash"],
    "gemini-2": ["gemini-2.5-pro", "vertex_ai/gemini-2.0-flash"],
    "gpt-5.2": ["gpt-5.2", "openai/gpt-5.2-pro"],
    "gpt-tile-5": ["gpt-5", "gpt-5.1", "gpt-5-2025-08-07", "azure/gpt-5.1-codex"],
    "gpt-tile-4": ["gpt-4o", "gpt-4.1", "gpt-4o-2024-11-20"],
    "gpt-tile-o": ["o3", "o1", "o1-pro"],
    "gpt-4o-mini": ["gpt-4o-mini"],
    "gpt-4.1-mini": ["gpt-4.1-mini"], "gpt-4.1-nano": ["gpt-4.1-nano"], "o4-mini": ["o4-mini"],
    "gpt-5-mini": ["gpt-5-mini"], "gpt-5-nano": ["gpt-5-nano-2025-08-07"],
    "grok": ["x-ai/grok-4.7", "xai/grok-4.6", "global.xai.grok-4.6", "grok-build-0.1"],
    "kimi": ["moonshotai/Kimi-K3", "@cf/moonshotai/kimi-k3", "kimi-k2.6", "k3", "kimi-for-coding"],
    "glm-5v": ["z-ai/glm-5.3-flash", "zai-org/GLM-5.3-Flash", "glm-5v-turbo"],
    "glm-4v": ["glm-4.6v"],
    "mistral": ["mistralai/mistral-large-2512", "mistral-large-4", "ministral-3-14b-2512", "mistral/mistral-large-latest"],
    "pixtral": ["eu.mistral.pixtral-large-2502-v1:0", "pixtral-12b-2409"],
    "qwen": ["Qwen/Qwen3.8-27B", "qwen/qwen3.8-max", "alibaba/qwen3.8-max", "qwen3-vl-plus", "qwen3.7-plus"],
    "qwen-2.5-vl": ["Qwen/Qwen2.5-VL-72B-Instruct"],
    "qwen-2.5-vl-siliconflow": ["siliconflow/Qwen/Qwen2.5-VL-72B-Instruct"],
    "llama-4": ["meta-llama/llama-4-maverick", "vertex_ai/meta/llama-4-maverick-17b-128e-instruct-maas"],
    "llama-3.2": ["together/meta-llama/Llama-3.2-11B-Vision-Instruct-Turbo"],
    "muse-spark": ["meta/muse-spark-1.3"],
    "deepseek-flash": ["deepseek-flash", "deepseek/deepseek-v4.1-flash"],
    "nova-1": ["amazon.nova-pro-v1:0"],
    "nova-2-lite": ["amazon/nova-2-lite-v1", "global.amazon.nova-2-lite-v1:0"],
}  # fmt: skip


@pytest.mark.parametrize(("name", "model"), [(name, model) for name, ids in IDS.items() for model in ids])
def test_ids_reach_their_layout(name, model):
    assert layout_for(model).name.partition("/")[0] == name


@pytest.mark.parametrize(
    "model",
    [
        "gpt-oss-120b", "openai/gpt-4", "o3-mini", "deepseek-v4-pro", "deepseek/deepseek-v4-flash", "glm-5.3",
        "zai.glm-5", "qwen3-coder-plus", "qwen3.7-max", "qwen3-8b", "kimi-k2-thinking", "moonshot-v1-128k", "grok-3",
        "grok-code-fast-1", "codestral-2508", "devstral-medium", "magistral-medium", "ministral-3b-latest",
        "mistral-large-2411", "llama-3.3-70b", "amazon.nova-micro-v1:0", "minimax-m2.7", "mimo-v2-pro",
        "command-r-plus", "moonshotai/kimi-k2", "glm-4.6", "openrouter/openai/gpt-5.3-chat",
    ],
)  # fmt: skip
def test_a_model_without_vision_gets_no_pages_unless_told(model):
    with pytest.raises(LayoutError, match=r"cannot see images.*--layout"):
        layout_for(model)
    assert layout_for(model, name="gpt-patch/dense").cell == (8, 16)


@pytest.mark.parametrize(
    "model", ["", "llama", "claude", "opera", "MiniMax-M3", "gemini", "claude-opus-4-", "whatever/else"]
)
def test_an_unknown_model_is_told_what_is_known(model):
    with pytest.raises(LayoutError) as caught:
        layout_for(model)
    message = str(caught.value)
    assert "claude-opus-4-8" in message
    assert "--layout" in message
    assert "\n" not in message


def test_a_misspelt_name_gets_a_suggestion():
    with pytest.raises(LayoutError, match="did you mean claude-opus-4-8"):
        layout_for("claude-opus-48")
    with pytest.raises(LayoutError, match=r"did you mean gpt-patch\?"):
        layout_for(name="gpt-pach")
    with pytest.raises(LayoutError, match="name a model or a layout"):
        layout_for()


def test_no_model_id_belongs_to_two_readers():
    for reader in profiles():
        for pattern in reader.models:
            model = pattern.replace("*", "")
            owners = {other.name for other in profiles() if pattern in other.models}
            assert owners == {reader.name}, model
            assert model_key(model) == model or pattern.endswith("*")


def test_layouts_fill_their_pages():
    """No margin wider than a cell but where only some sizes are not resized; pages within the limits."""
    for reader in profiles():
        assert bool(reader.layouts) == reader.vision
        for name in reader.layouts:
            layout = layout_for(name=f"{reader.name}/{name}")
            assert layout.width - layout.columns * layout.cell[0] < layout.cell[0]
            assert layout.height - layout.rows * layout.cell[1] < layout.cell[1]
            side = min(reader.limits.get(key, 10**6) for key in ("max_side", "max_side_many"))
            assert max(layout.width, layout.height) <= side
            assert name in str(layout) or name == "default"
            assert str(reader.as_of) in str(layout)


def test_models_of_one_reader_differ_where_their_line_says():
    assert profile_for("claude-opus-4-5").window == 200_000
    assert profile_for("claude-opus-4-6").window == 1_000_000
    assert profile_for("claude-opus-4-6").limits["images_per_request"] == 600
    assert profile_for("gpt-5.4-mini").window == 400_000
    assert profile_for("gpt-6-astra").max_output == 128_000
    price = layout_for("claude-opus-5-5").reader.price
    assert price is not None
    assert (str(price.input), str(price.cache_read)) == ("4", "0.20")
    assert layout_for(name="claude-high").reader.price is None, "several models, several prices"


def test_a_price_step_holds_for_the_whole_prompt():
    price = profile_for("claude-haiku-5-5").price
    assert price is not None
    assert (str(price.at(100_000).input), str(price.at(100_001).input)) == ("0.10", "0.50")


def test_every_price_is_in_order():
    """Cached input is cheaper than fresh, writing it is no cheaper, and steps only go up."""
    for reader in profiles():
        for price in [reader.price, *(line.price for line in reader.lines)]:
            if price is None:
                continue
            assert price.cache_read is None or 0 < price.cache_read < price.input
            assert price.cache_write is None or price.cache_write >= price.input
            assert all(step.input > price.input for _, step in price.steps)


@pytest.mark.parametrize(
    ("model", "gateway"),
    [
        ("claude-opus-4-8", "direct"), ("anthropic/claude-opus-4.8", "direct"), ("gemini/gemini-3.8-flash", "direct"),
        ("openrouter/anthropic/claude-opus-4.8", "openrouter"), ("us.anthropic.claude-opus-4-8", "bedrock"),
        ("bedrock/us-gov-west-1/anthropic.claude-opus-4-8", "bedrock"), ("amazon.nova-2-lite-v1:0", "bedrock"),
        ("claude-opus-4-8@default", "vertex"), ("vertex_ai/gemini-3.8-flash", "vertex"), ("azure/gpt-5.6-sol", "azure"),
        ("meta/llama-4-maverick-17b-128e-instruct-maas", "vertex"), ("github_copilot/claude-opus-4.8", "copilot"),
        ("workers-ai/@cf/moonshotai/kimi-k3", "cloudflare"), ("@cf/moonshotai/kimi-k3", "cloudflare"),
        ("databricks/databricks-claude-haiku-5-5", "databricks"), ("groq/qwen/qwen3.8-27b", "groq"),
        ("litellm/bedrock/us.anthropic.claude-opus-4-8", "bedrock"), ("somehost/claude-opus-4-8", "unknown"),
        ("bedrock_mantle/anthropic.claude-haiku-5-5", "bedrock"),
        # As frameworks write them.
        ("openai:gpt-5.1", "direct"), ("google-gla:gemini-3-pro", "direct"), ("anthropic:claude-opus-4-8", "direct"),
        ("google_genai:gemini-3-pro", "direct"), ("openai-responses:gpt-5.1", "direct"), ("mistral:mistral-large-4", "direct"),
        ("bedrock:us.anthropic.claude-sonnet-4-5-20250929-v1:0", "bedrock"), ("bedrock_converse:us.anthropic.claude-opus-4-8", "bedrock"),
        ("google-vertex:gemini-3-pro", "vertex"), ("google_vertexai:gemini-3-pro", "vertex"), ("azure_openai:gpt-5.1", "azure"),
        ("openrouter:anthropic/claude-opus-4.8", "openrouter"), ("gateway/openai:gpt-5.1", "direct"), ("openai/azure/gpt-4o", "azure"),
        ("anthropic/bedrock/anthropic.claude-opus-4-8", "bedrock"), ("vercel:anthropic/claude-opus-4.8", "unknown"),
        ("somehost:claude-opus-4-8", "unknown"), ("ft:gpt-4o-mini:org::id", "fine-tuned"),
        ("openai/ft:gpt-4o-mini-2024-07-18:my-org:x:id", "fine-tuned"), ("ollama:qwen2.5vl:7b", "ollama"),
        ("projects/p/locations/us/publishers/anthropic/models/claude-opus-4-8", "vertex"),
        ("arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.anthropic.claude-opus-4-8", "bedrock"),
    ],
)  # fmt: skip
def test_ids_tell_their_gateway(model, gateway):
    if not model.startswith("somehost:"):  # a host that only the model behind it tells from a tag
        assert gateway_of(model)[0].name == gateway
        assert model_key(model_key(model)) == model_key(model)
    assert layout_for(model).reader.route == gateway
    routed = layout_for(model)
    direct = layout_for(name=routed.name)
    assert (routed.width, routed.height, routed.face) == (direct.width, direct.height, direct.face)


@pytest.mark.parametrize(
    ("model", "key", "name"),
    [
        ("llama3.1:8b", "llama3-1-8b", "llama-text"), ("ollama:llama3.1:8b", "llama3-1-8b", "llama-text"),
        ("ollama/llama3.2-vision:11b", "llama3-2-vision-11b", "llama-3.2"), ("llama4:scout", "llama4", "llama-4"),
        ("qwen3:8b", "qwen3-8b", "qwen-text"), ("qwen3:latest", "qwen3", "qwen-text"), ("qwen3-vl:8b", "qwen3-vl-8b", "qwen"),
        ("qwen2.5-coder:32b-instruct-q4_K_M", "qwen2-5-coder-32b-instruct-q4_k_m", "qwen-text"),
        ("mistral:7b", "mistral-7b", "mistral-text"), ("mistral-small3.2:24b", "mistral-small3-2-24b", "mistral"),
        ("gpt-oss:20b", "gpt-oss-20b", "openai-text"), ("deepseek-r1:1.5b", "deepseek-r1-1-5b", "deepseek-text"),
        ("mixtral:8x7b", "mixtral-8x7b", "mistral-text"), ("gpt-5.1:free", "gpt-5-1", "gpt-tile-5"),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", "claude-sonnet-4-5", "claude-standard"),
        ("@cf/meta/llama-3.1-8b-instruct", "llama-3-1-8b-instruct", "llama-text"),
    ],
)  # fmt: skip
def test_what_stands_behind_a_colon_is_a_size_or_is_left_out(model, key, name):
    assert model_key(model) == key
    assert profile_for(model).name == name


def test_a_fine_tuned_model_has_no_price_of_its_base():
    assert profile_for("ft:gpt-4o-mini:org::id").price is None
    assert profile_for("gpt-4o-mini").price is not None


@pytest.mark.parametrize("like", ["gpt-5.1", "azure/gpt-5.1", "claude-opus-4-8", "gemini-3-pro"])
@pytest.mark.parametrize("host", ["", "azure/", "openrouter/", "bedrock/", "vertex_ai/", "our-host/"])
def test_an_id_says_by_itself_what_a_name_and_like_say(host, like):
    name = f"{host}prod-chat-7"
    assert profile_for(id_like(name, like)) == profile_for(name, like=like)


def test_a_deployment_is_like_the_model_behind_it():
    own = profile_for("azure/prod-chat-7", like="gpt-5.1")
    assert (own.name, own.route, own.limits["images_per_request"]) == ("gpt-tile-5", "azure", 50)
    assert own == profile_for("azure/gpt-5.1")
    assert profile_for("prod-chat-7", like="gpt-5.1") == profile_for("gpt-5.1")
    assert profile_for("prod-chat-7", like="azure/gpt-5.1").route == "azure"
    assert profile_for("prod-chat-7", like="gpt-5.1", gateway="azure").route == "azure"
    with pytest.raises(LayoutError, match="did you mean gpt-5"):
        profile_for("azure/prod", like="gpt-5.x-mini")
    with pytest.raises(LayoutError, match="no layout is known for model 'azure/prod-chat-7' at Azure"):
        profile_for("azure/prod-chat-7")


def test_an_unknown_model_with_a_window_is_text_only_and_dear():
    own = unknown_profile("somehost/acme-7", window=32_000)
    assert (own.window, own.vision, own.billing, own.price, own.prefill) == (32_000, False, None, None, False)
    assert own.chars_per_token == min(reader.chars_per_token for reader in profiles())
    assert own.route == "unknown"
    assert unknown_profile("acme-7", window=32_000, gateway="bedrock").limits["image_bytes"] == 3_750_000
    for window in (0, -5, 10**10, 2.5, True, "8000", None):
        with pytest.raises(LayoutError, match="a whole number of tokens") as caught:
            unknown_profile("acme", window=window)  # type: ignore[arg-type]
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "piece", ["a", "a-", "-v1", "a.", "litellm/", "x:", "openai:", "us.", "1b", "é", "\x1b[2J\n"]
)
def test_long_ids_are_refused_at_once_and_in_one_short_line(piece):
    for times in (20, 100_000):
        model = piece * times
        for ask in (
            lambda m=model: profile_for(m),
            lambda m=model: profile_for("x", like=m),
            lambda m=model: profile_for("gpt-5.1", gateway=m),
            lambda m=model: unknown_profile(m, window=0),
        ):
            start = time.process_time()
            with pytest.raises(LayoutError) as caught:
                ask()
            assert time.process_time() - start < 1
            assert len(str(caught.value)) < 1200
            assert str(caught.value).isprintable()
    model_key(piece * 100_000)
    gateway_of(piece * 100_000)
    with pytest.raises(LayoutError, match="a model id is text, not 7"):
        profile_for(7)  # type: ignore[arg-type]


def test_limits_and_prices_follow_the_gateway():
    bedrock = profile_for("us.anthropic.claude-opus-4-8")
    assert bedrock.limits["image_bytes"] == 3_750_000
    assert bedrock.limits["max_side_many"] == 2000
    assert bedrock.price is not None
    assert bedrock.price.input == Decimal("5.5")
    for model, price in (
        ("global.anthropic.claude-opus-4-8", "5"),
        ("bedrock/us-gov-west-1/anthropic.claude-opus-4-8", "6"),
    ):
        of = profile_for(model).price
        assert of is not None
        assert of.input == Decimal(price)
    copilot = profile_for("github_copilot/gpt-5.6-sol")
    assert copilot.window == 400_000
    assert "original" not in copilot.billing_at
    assert "original" in profile_for("gpt-5.6-sol").billing_at
    assert profile_for("gpt-5.6-sol", gateway="openrouter").price != profile_for("gpt-5.6-sol").price
    assert profile_for("claude-opus-4-8", gateway="copilot").window == 200_000


def test_what_is_not_known_has_a_defined_answer():
    strict = profile_for("somehost/claude-opus-4-8")
    assert strict.limits["images_per_request"] == 5
    assert strict.limits["image_bytes"] == 3_000_000
    assert strict.price is None
    assert strict.window == 1_000_000
    with pytest.raises(
        LayoutError, match=r"no layout is known for model 'bedrock/us.acme.seer-1' at Amazon Bedrock"
    ):
        layout_for("bedrock/us.acme.seer-1")
    named = layout_for("bedrock/us.acme.seer-1", name="claude-standard")
    assert named.reader.limits["images_per_message"] == 20
    assert named.reader.price is None
    with pytest.raises(LayoutError, match="did you mean openrouter"):
        gateway_named("openruter")
    with pytest.raises(LayoutError, match="there are direct"):
        profile_for("gpt-5.5", gateway="nobody")
    assert len({gateway.name for gateway in gateways()}) == len(gateways())


def test_what_models_take_beside_images_is_data():
    opus, old, gpt, gemini = map(
        profile_for, ("claude-opus-5", "claude-haiku-4-5", "gpt-5.6-sol", "gemini-3.8-flash")
    )
    assert (opus.prefill, profile_for("claude-opus-4-6").prefill, old.prefill, gpt.prefill) == (
        False,
        False,
        True,
        True,
    )
    assert (opus.limits["pdf_pages"], gemini.limits["pdf_pages"]) == (100, 1000)
    assert gpt.limits["document_bytes"] == 50_000_000
    bedrock = profile_for("us.anthropic.claude-opus-4-8").limits
    assert (bedrock["documents_per_request"], bedrock["document_bytes"]) == (5, 20_000_000)
    assert profile_for("bedrock/openai.gpt-5.6-sol").limits["document_bytes"] == 4_500_000
    for model, minimum in (
        ("claude-opus-5", 512), ("claude-opus-5-5", 512), ("claude-fable-5-1", 512), ("claude-opus-4-8", 1024),
        ("claude-sonnet-5", 1024), ("claude-sonnet-4-6", 1024), ("claude-opus-4-5", 4096), ("claude-haiku-4-5", 4096),
        ("gpt-5.1", 1024), ("gemini-2.5-pro", 2048), ("gemini-3.8-flash", 4096),
    ):  # fmt: skip
        cache = profile_for(model).cache
        assert cache is not None
        assert cache.minimum == minimum, model
        assert (cache.lifetime, cache.breakpoints) == (
            (300, 4) if "claude" in model else (300, 0) if "gpt" in model else (0, 0)
        )
    assert profile_for("kimi-k3").cache is None


def test_pdf_pages_are_billed_as_they_were_measured():
    """Against a public measurement (2026-10) of a page of text and of a scanned one."""
    for model, text, as_text, scanned in (
        ("claude-opus-5-5", 2347, 728, 1600), ("claude-haiku-4-5", 2115, 503, 1592), ("gemini-3.8-flash", 561, 561, 561),
    ):  # fmt: skip
        reader = profile_for(model)
        page, ten = reader.pdf_tokens(1), reader.pdf_tokens(10)
        assert page is not None
        assert ten == 10 * page
        assert abs(page / text - 1) < 0.07
        if as_text != scanned:
            bare = reader.pdf_tokens(1, text_tokens=0)
            assert bare is not None
            assert abs(bare / scanned - 1) < 0.07
    assert profile_for("kimi-k3").pdf_tokens(1) is None


def test_what_is_uncertain_says_so():
    """Whatever the sources leave open is a sentence in the file, and stands in what a person is shown."""
    said = {reader.name: f"{reader.uncertain} {reader.conflict}" for reader in profiles()}
    for name, word in (
        ("claude-high", "Haiku 5.5"), ("gpt-patch", "gpt-6.1-terra"), ("gemini-3", "Gemini 4"), ("gemini-2", "clamp"),
        ("grok", "no rule is published"), ("kimi", "flat 1,024"), ("nova-1", "no formula"), ("mistral", "row breaks"),
        ("nova-2-lite", "the resolution that the model sees is not"), ("deepseek-flash", "no formula"),
    ):  # fmt: skip
        assert word in said[name]
        assert word in str(layout_for(name=name))


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


@pytest.fixture
def own(tmp_path, monkeypatch):
    """Writes a layout file of one's own, which holds from then on."""
    monkeypatch.setenv(ENVIRONMENT, str(tmp_path / "layouts"))
    (tmp_path / "layouts").mkdir()
    return lambda text: (tmp_path / "layouts" / "mine.toml").write_text(text, encoding="utf-8")


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


def test_no_shape_of_another_tool_is_better():
    rows = compare()
    assert sum(row.peer is not None for row in rows) > 20
    for row in rows:
        # Rows as long as those that were read may cost a little; nothing else does.
        least = row.peer_per_token / (1 + MOST_DEARER * (widest_read(row.reader.trials) is not None))
        assert float(row.answer.per_token) >= least, (row.reader.name, row.layout, row.peer)


def test_the_solver_says_which_bound_holds_the_page():
    reader = profile_for("claude-opus-4-8")
    assert reader.billing is not None
    (side, whole) = explain(reader.billing, (9, 16), bounds_of(reader.limits))
    assert side.startswith("no side over 2000 px (else ")
    assert whole.startswith("whole cells")
    reader = profile_for("gpt-5.6-sol")
    assert reader.billing is not None
    assert "the rule's own caps" in explain(reader.billing, (8, 16), bounds_of(reader.limits))[0]
    assert explain(reader.billing, (300, 16), bounds_of(reader.limits)) == ("no page fits",)


@given(
    st.integers(150, 420),
    st.integers(100, 420),
    st.sampled_from(["claude-high", "gpt-patch", "gemini-3", "nova-1"]),
    st.sampled_from([0, 22, 30, 45]),
    st.integers(1, 3),
)
def test_the_solver_is_exact(width, height, name, read, count):
    """Against every size there is, in a small world: no page is better than the answer."""
    reader = next(reader for reader in profiles() if reader.name == name)
    rule = reader.billing
    assert rule is not None
    small = Grid(40, rule.unit) if isinstance(rule, Grid) else rule
    answer = solve(small, (4, 5), Bounds(side=360), read, (1, 2, 3))
    width, height = min(width, 360), min(height, 360)
    if small.preprocess(width, height) != (width, height) or not small.steady(width, height):
        return
    other = Answer(width, height, width // 4, height // 5, small.tokens(width, height), count)
    allowed = not read or 20 / 21 * min(read, 84) <= other.row_width <= 21 / 20 * read
    if other.row_width < 20 or other.cells < FEWEST_CELLS or not allowed:
        return
    assert answer is not None
    assert not other.beats(answer)


def rule_of(name: str):
    reader = next(reader for reader in profiles() if reader.name == name)
    assert reader.billing is not None
    return reader.billing, bounds_of(reader.limits, reader.bounds)


@pytest.mark.parametrize("name", ["claude-high", "gpt-patch", "gemini-3", "qwen", "grok", "kimi", "nova-1"])
@pytest.mark.parametrize("read", [40, 60, 84, 100, 172, 400])
def test_rows_as_long_as_those_that_were_read_if_they_are_hardly_dearer(name, read):
    rule, bounds = rule_of(name)
    best, found = solve(rule, (8, 18), bounds), page_for(rule, (8, 18), bounds, read)
    assert best is not None
    assert found is not None
    assert found.per_token * (1 + MOST_DEARER) >= best.per_token
    if found != best:
        assert as_wide(found.row_width, read)
        assert as_wide(min(read, 84), found.row_width)
        assert not as_wide(best.columns, read), "rows that are short enough stay"
    elif not as_wide(best.columns, read):
        near = solve(rule, (8, 18), bounds, read, (1, 2, 3, 4, 5, 6))
        assert near is None or near.per_token * (1 + MOST_DEARER) < best.per_token


def test_columns_are_taken_where_narrower_pages_are_dearer():
    rule, bounds = rule_of("gemini-3")  # every page costs the same: a narrow one would be mostly waste
    found = page_for(rule, (8, 18), bounds, 84)
    assert found is not None
    assert found.count == 2
    rule, bounds = rule_of("gpt-patch")  # billed by area
    found = page_for(rule, (8, 18), bounds, 84)
    assert found is not None
    assert found.count == 1
    several = page_for(rule, (8, 18), bounds, 84, columns=True)
    assert several is not None
    assert several.count == 2
    assert several.cells > 2 * found.cells


@pytest.mark.parametrize("model", ["claude-opus-4-8", "gpt-5.6-sol", "qwen3.8-max", "grok-4.7", "kimi-k3"])
@pytest.mark.parametrize("gateway", [None, *(item.name for item in gateways() if item.name != "direct")])
def test_a_route_that_takes_few_images_gets_fuller_ones(model, gateway):
    """Columns where the images that a request may have hold less than half of the window, and only there."""
    layout = layout_for(model, gateway=gateway)
    own = layout_for(name=layout.reader.name)
    most = layout.reader.limits.get("images_per_request", 10**6)
    few = 2 * most * own.tokens < layout.reader.window and "columns" in layout.reader.layouts
    assert layout.name == (f"{own.name}/columns" if few else own.name)
    assert layout.capacity >= own.capacity
    if few:
        assert layout.flow_columns > 1
        dense = layout_for(name=f"{layout.name}-dense")
        assert dense.capacity > layout.capacity
        assert dense.capacity / dense.tokens > layout.capacity / layout.tokens


@pytest.mark.parametrize(("images", "name"), [(78, "house"), (77, "house/columns"), (1, "house/columns")])
def test_few_images_are_those_that_hold_less_than_half_of_the_window(own, images, name):
    """Pages of 1,296 tokens in a window of 200,000."""
    own(f"""
provider = "house"
as_of = 2026-12-01
sources = ["a test"]
[[readers]]
extends = "gpt-patch"
name = "house"
title = "House"
models = ["house-1"]
window = 200_000
limits = {{ images_per_request = {images} }}
lines = []
""")
    assert layout_for(name="house").tokens == 1296
    assert layout_for("house-1").name == name


def test_no_layout_has_rows_longer_than_what_was_read_where_that_is_known():
    known = 0
    for reader in profiles():
        longest = widest_read(reader.trials)
        for name in reader.layouts if longest else ():
            layout = layout_for(name=reader.name if name == "default" else f"{reader.name}/{name}")
            if longest and not layout.text_columns:
                assert as_wide(layout.row_width, longest.columns), layout.name
                known += 1
    assert known > 8


@pytest.mark.parametrize("name", list(layout_names()))
def test_the_last_page_is_the_cheapest_that_holds_it(name):
    layout = layout_for(name=name)
    aspect = layout.reader.limits.get("max_aspect", 10**6)
    for rows in {1, 2, layout.rows // 3, layout.rows // 2, layout.rows - 1} - {0}:
        chosen = layout.billing.tokens(layout.width, layout.page_height(rows))
        for height in range(max(rows * layout.cell[1], -(-layout.width // aspect)), layout.height + 1):
            if layout.billing.preprocess(layout.width, height) == (layout.width, height):
                unsteady = not layout.billing.steady(layout.width, height)
                assert unsteady or chosen <= layout.billing.tokens(layout.width, height)


def test_layouts_are_what_the_solver_finds():
    """The pages in the files are its answers; `python -m benchmarks.solve --write` writes them."""
    for name in layout_names():
        layout = layout_for(name=name)
        answer = answer_for(layout.reader, name.partition("/")[2] or "default")
        assert (layout.width, layout.height) == (answer.width, answer.height), name
        if layout.text_columns:
            assert layout.text_columns == line_columns(layout.columns)
            continue
        assert layout.flow_columns == answer.count
        assert (layout.capacity, layout.tokens) == (answer.cells, answer.tokens)


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


def test_profiles_are_copied_and_stored_as_they_are():
    for reader in (*profiles(), profile_for("us.anthropic.claude-opus-5"), unknown_profile("x", window=9)):
        assert pickle.loads(pickle.dumps(reader)) == reader == copy.deepcopy(reader)
        assert replace(reader, window=7).window == 7
    assert pickle.loads(pickle.dumps(gateways())) == gateways()


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
