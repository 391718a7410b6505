"""Model ids reach their layouts however they are written; unknown ones are told what is known."""

from __future__ import annotations

import pytest

from snapshot import layout as layout_module
from snapshot.errors import LayoutError
from snapshot.layout import layout_for, model_key, readers

IDS = {
    "claude-high": [
        "claude-opus-4-8", "anthropic/claude-opus-4.8", "anthropic.claude-opus-4-8", "us.anthropic.claude-opus-4-8",
        "claude-opus-4-8@default", "bedrock/global.anthropic.claude-opus-4-7", "vertex_ai/claude-opus-5@20260801",
        "claude-opus-5-5", "claude-opus-5[1m]", "Claude-Opus-4.8", "claude-sonnet-5-5", "claude-fable-5-1",
        "claude-fable-5-1-xhigh", "azure_ai/claude-haiku-5-5", "databricks/databricks-claude-haiku-5-5",
        "openrouter/anthropic/claude-sonnet-5:batch", " claude-opus-4-8 ", "anthropic/claude-mythos-5.1-fast",
    ],
    "claude-standard": [
        "claude-haiku-4-5-20251001", "us.anthropic.claude-sonnet-4-5-20250929-v1:0", "anthropic.claude-opus-4-6-v1",
        "claude-haiku-4-5@20251001", "claude-3-5-sonnet-20241022", "claude-3-5-haiku-latest", "claude-4.6-opus-high",
        "anthropic/claude-opus-4.5", "claude-sonnet-4-20250514", "claude-opus-4-1-20250805",
    ],
    "gpt-patch": [
        "gpt-5.6-sol", "openai/gpt-5.5", "global.openai.gpt-5.6-sol", "gpt-5.4-mini", "azure/gpt-5.4", "gpt-6-astra",
    ],
    "gemini-3": [
        "gemini-3-pro", "google/gemini-3.8-flash", "gemini/gemini-3.1-pro-preview", "models/gemini-3.5-flash-lite",
    ],
}  # fmt: skip


@pytest.mark.parametrize(("name", "model"), [(name, model) for name, ids in IDS.items() for model in ids])
def test_ids_reach_their_layout(name, model):
    assert layout_for(model).name == name


@pytest.mark.parametrize("model", ["gpt-oss-120b", "openai/gpt-4", "o3-mini"])
def test_a_model_without_vision_gets_no_pages_unless_told(model):
    with pytest.raises(LayoutError, match=r"cannot see images.*--layout"):
        layout_for(model)
    assert layout_for(model, name="gpt-patch/dense").cell == (8, 16)


@pytest.mark.parametrize(
    "model", ["", "gpt-4o-mini", "llama-3", "claude", "opus", "gpt-4.1", "gemini-2.5-pro", "claude-opus-4-"]
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
    for reader in readers():
        for pattern in reader.models:
            model = pattern.replace("*", "")
            owners = {other.name for other in readers() if pattern in other.models}
            assert owners == {reader.name}, model
            assert model_key(model) == model or pattern.endswith("*")


def test_layouts_fill_their_pages():
    """No margin wider than a cell, and pages within the provider's limits."""
    for reader in readers():
        assert bool(reader.layouts) == reader.vision
        for name in reader.layouts:
            layout = layout_for(name=f"{reader.name}/{name}")
            assert layout.width - layout.columns * layout.cell[0] < layout.cell[0]
            assert layout.height - layout.rows * layout.cell[1] < layout.cell[1]
            side = min(reader.limits.get(key, 10**6) for key in ("max_side", "max_side_many"))
            assert max(layout.width, layout.height) <= side
            assert name in str(layout) or name == "default"
            assert str(reader.as_of) in str(layout)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("provider = ", "broken.toml: "),
        (
            'provider="x"\nas_of=2026-01-01\nsources=[]\n[[readers]]\nname="r"\ncolour=1',
            "reader r: unknown key colour",
        ),
        ('provider="x"\nas_of=2026-01-01\nsources=[]\n[[readers]]\nname="r"', "reader r: KeyError.'title'"),
        (
            'as_of=2026-01-01\nsources=[]\n[[readers]]\nname="r"\ntitle="t"\nmodels=[]\nvision=false',
            "'provider'",
        ),
    ],
)
def test_a_broken_layout_file_is_named(tmp_path, monkeypatch, text, problem):
    (tmp_path / "broken.toml").write_text(text, encoding="utf-8")
    monkeypatch.setattr(layout_module, "locate", lambda _: tmp_path)
    layout_module.readers.cache_clear()
    try:
        with pytest.raises(LayoutError, match=problem):
            readers()
    finally:
        layout_module.readers.cache_clear()
