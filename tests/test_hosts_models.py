"""Models as hosts name them: frameworks' prefixes, deployments, short names, and models that nobody knows."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest

import snapshot
from snapshot.compaction import compact
from snapshot.errors import LayoutError, SnapshotError
from snapshot.messages import Image, Message, Text, Transcript
from snapshot.models.ids import profile_for, unknown_profile
from tests.conversations import SMALL_PNG, image_parts, long_conversation
from tests.test_cli import run

TALK = long_conversation(60, size=2000)


@pytest.mark.parametrize(
    ("model", "name", "route"),
    [
        ("openai:gpt-5.6-sol", "gpt-patch", "direct"),
        ("anthropic:claude-opus-4-8", "claude-high", "direct"),
        ("google-gla:gemini-3-pro", "gemini-3", "direct"),
        ("google-vertex:gemini-3-pro", "gemini-3", "vertex"),
        ("google_genai:gemini-3-pro", "gemini-3", "direct"),
        ("bedrock/anthropic.claude-opus-4-8-v1:0", "claude-high", "bedrock"),
        ("bedrock_converse:us.anthropic.claude-opus-4-8", "claude-high", "bedrock"),
        ("azure/gpt-5.6-sol", "gpt-patch", "azure"),
        ("openrouter:anthropic/claude-opus-4.8", "claude-high", "openrouter"),
        ("llama3.1:8b", "llama-text", "direct"),
        ("sonnet", "claude-high", "direct"),
        ("opus[1m]", "claude-high", "direct"),
        ("haiku", "claude-high", "direct"),
        ("fable", "claude-fable", "direct"),
    ],
)
def test_a_model_is_known_however_it_is_named(model, name, route):
    profile = profile_for(model)
    assert (profile.name, profile.route) == (name, route)


def test_a_deployment_is_like_its_model():
    """Pages, window and prices are the model's, limits are those of the host that the name says."""
    done = compact(TALK, model="azure/our-deployment", like="gpt-5.6-sol", window=40_000)
    same = compact(TALK, model="azure/gpt-5.6-sol", window=40_000)
    assert done.report.pages == same.report.pages > 0
    assert done.transcript == same.transcript
    assert compact(TALK, model="azure/our-deployment", like="gpt-5.6-sol").report.window == 1_050_000
    again = compact(
        done.transcript, model="azure/our-deployment", like="gpt-5.6-sol", window=40_000, archive=done.archive
    )
    assert again.unchanged
    error = "maximum context length is 30000 tokens, you requested 90000"
    fits = snapshot.recover(TALK, error, model="azure/our-deployment", like="gpt-5.6-sol")
    assert fits.report.pages
    assert fits.without_pages().report.pages == 0


@pytest.mark.parametrize("like", ["no-such-model", 3])
def test_a_model_that_is_like_none_is_an_error(like):
    with pytest.raises(SnapshotError):
        compact(TALK, model="azure/our-deployment", like=like, window=40_000)


def test_an_unknown_model_with_a_window_gets_every_rung_but_pages():
    done = compact(TALK, model="brand-new", window=40_000, digest=True)
    assert done.report.after < done.report.before
    assert not done.report.pages
    assert [rung.name for rung in done.report.rungs] == ["elide", "images", "snapshot", "summarize"]
    assert "brand-new is not known, so it gets no pages" in str(done.report)
    assert "nothing is known of 'brand-new'" in str(done.report.notes)
    idle = compact(TALK, model="brand-new", window=4_000_000)
    assert idle.unchanged
    assert "nothing is known of 'brand-new'" in str(idle.report)


def test_an_unknown_model_keeps_the_images_that_it_is_sent():
    messages = (Message("user", (Text("Look."), Image("image/png", SMALL_PNG))),)
    done = compact(Transcript(messages, "anthropic"), model="brand-new", window=40_000)
    assert done.unchanged
    assert done.report.before > 1_000
    profile = unknown_profile("brand-new", window=40_000)
    assert (profile.known, profile.blind, profile.vision) == (False, False, False)
    assert profile_for("llama3.1:8b").blind
    whole = Transcript((*messages, *TALK.messages), "anthropic")
    seen = compact(whole, model="brand-new", window=40_000, digest=True).transcript
    blind = compact(whole, model="llama3.1:8b", window=40_000, digest=True).transcript
    assert (len(image_parts(seen.messages)), len(image_parts(blind.messages))) == (1, 0)


def test_an_unknown_model_without_a_window_is_one_line():
    with pytest.raises(LayoutError) as caught:
        compact(TALK, model="brand-new")
    message = str(caught.value)
    assert "\n" not in message
    assert all(word in message for word in ("'brand-new'", "--like", "--window", "--layout"))
    with pytest.raises(SnapshotError, match=r"the window of llama3\.1:8b is not known"):
        compact(TALK, model="llama3.1:8b")


def test_commands_take_the_model_behind_a_name(tmp_path: Path):
    file, out = tmp_path / "talk.json", tmp_path / "request.json"
    file.write_text(json.dumps(snapshot.request(TALK, "openai")), encoding="utf-8")
    common = ["compact", file, "-m", "azure/ours", "--window", "40000", "-o", out]
    run(*common, "--like", "gpt-5.6-sol")
    assert "image_url" in out.read_text(encoding="utf-8")
    out.unlink()
    assert "nothing is known of 'azure/ours'" in run(*common, "--digest").stdout
    assert "image_url" not in out.read_text(encoding="utf-8")
    assert "azure" in run("layouts", "azure/ours", "--like", "gpt-5.6-sol").stdout
    assert "--like" in run("compact", file, "-m", "azure/ours", check=2).stderr


# --- what stands in a body beside the messages


@pytest.mark.parametrize(
    ("api", "key", "model"),
    [
        ("anthropic", "tools", "claude-opus-4-8"),
        ("openai", "tools", "gpt-5.5"),
        ("openai", "functions", "gpt-5.5"),
        ("openai-responses", "tools", "gpt-5.6-sol"),
        ("gemini", "tools", "gemini-3-pro"),
    ],
)
def test_tools_in_a_body_are_counted(api, key, model):
    body = snapshot.request(long_conversation(2), api)
    tools = [{"name": f"tool_{n}", "description": "what it does " * 100, "parameters": {}} for n in range(20)]
    bare, full = (compact(one, model=model).report.before for one in (body, body | {key: tools}))
    assert 4_000 < full - bare < 12_000
    told = compact(body | {key: tools}, model=model, overhead=100).report.before
    assert told == bare + 100


class Langchain:
    """As LangChain's messages show themselves."""

    lc_attributes = None

    def __init__(self, **fields: object) -> None:
        self.fields = fields

    def model_dump(self, *, mode: str = "", exclude: object = (), exclude_unset: bool = False) -> object:
        assert mode == "json"
        left = {"type"} if exclude_unset else set(exclude or ())  # type: ignore[call-overload]
        return {key: value for key, value in self.fields.items() if key not in left}


def test_langchains_messages_are_read_as_they_are():
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + _text(SMALL_PNG)}}
    own = [
        Langchain(type="human", content=[{"type": "text", "text": "Look."}, picture], additional_kwargs={}),
        Langchain(type="ai", content="I see.", additional_kwargs={}, tool_calls=[]),
        Langchain(type="tool", content="ok", tool_call_id="c", artifact=object(), additional_kwargs={}),
    ]
    transcript = snapshot.from_messages(own[:2])
    assert transcript.format == "langchain"
    assert [message.role for message in transcript.messages] == ["user", "assistant"]
    assert compact(own, model="claude-opus-4-8").splice() is own


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")
