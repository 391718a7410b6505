"""Model ids reach their layouts however they are written; unknown ones are told what is known."""

from __future__ import annotations

import copy
import pickle
import time
from dataclasses import replace
from decimal import Decimal

import pytest

from snapshot.errors import LayoutError
from snapshot.models.catalog import profiles
from snapshot.models.gateways import gateway_named, gateway_of, gateways
from snapshot.models.ids import id_like, model_key, profile_for, unknown_profile
from snapshot.pages.layout import layout_for

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


def test_profiles_are_copied_and_stored_as_they_are():
    for reader in (*profiles(), profile_for("us.anthropic.claude-opus-5"), unknown_profile("x", window=9)):
        assert pickle.loads(pickle.dumps(reader)) == reader == copy.deepcopy(reader)
        assert replace(reader, window=7).window == 7
    assert pickle.loads(pickle.dumps(gateways())) == gateways()
