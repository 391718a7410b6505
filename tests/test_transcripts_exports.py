"""Readers of exports, training sets and chat logs; detection says why."""

from __future__ import annotations

from typing import Any

import pytest

from snapshot.errors import TranscriptError
from snapshot.messages import File, Image, Opaque, Reasoning, Text, ToolCall, ToolResult
from snapshot.transcripts import conversations, detect, load
from tests.transcript_samples import log, packed, said

# --- ChatGPT and Claude.ai exports


def node(ref: str, parent: str | None, role: str, kind: str = "text", **content: Any) -> dict[str, Any]:
    more = {key: content.pop(key) for key in ("recipient", "metadata", "weight") if key in content}
    author = {"role": role, "name": content.pop("name", None)}
    if isinstance(content.get("parts"), str):
        content["parts"] = [content["parts"]]
    message = {
        "id": ref,
        "author": author,
        "create_time": 1.5,
        "content": {"content_type": kind} | content,
    } | more
    return {"id": ref, "parent": parent, "message": message}


def exported(*nodes: dict[str, Any], ref: str = "K", current: str = "", **more: Any) -> dict[str, Any]:
    mapping = {"root": {"id": "root", "parent": None, "message": None}} | {n["id"]: n for n in nodes}
    return {"conversation_id": ref, "title": f"About {ref}", "mapping": mapping,
            "current_node": current or nodes[-1]["id"]} | more  # fmt: skip


TREE = (
    node("0", "root", "user", "user_editable_context", user_profile="P", user_instructions="I",
         metadata={"is_visually_hidden_from_conversation": True}),
    node("1", "0", "user", parts="Count."),
    node("2", "1", "assistant", "thoughts", thoughts=[{"summary": "S", "content": "C"}]),
    node("3", "2", "assistant", "code", text="1+1", recipient="python"),
    node("4", "3", "tool", "execution_output", text="2", name="python"),
    node("5", "4", "tool", "multimodal_text", name="python",
         parts=[{"content_type": "image_asset_pointer", "asset_pointer": "sediment://x"}]),
    node("6", "5", "assistant", parts="Two.", metadata={"model_slug": "gpt-x"}),
    node("7", "1", "assistant", parts="Three."),
    node("8", "6", "assistant", parts="never sent", weight=0),
)  # fmt: skip


def test_chatgpt_conversation_is_the_way_to_its_current_node():
    transcript = load(packed([exported(*TREE)]))
    assert (transcript.format, transcript.model, transcript.diagnostics) == ("chatgpt-export", "gpt-x", ())
    assert [(m.role, m.parts) for m in transcript.messages] == [
        ("system", (Text("P\nI"),)),
        ("user", (Text("Count."),)),
        ("assistant", (Reasoning("S\nC"), ToolCall("function_call_1", "python", "1+1"))),
        ("tool", (ToolResult("function_call_1", (Text("2"), Image("image/*", source="sediment://x"))),)),
        ("assistant", (Text("Two."),)),
    ]
    assert transcript.messages[1].time == "1970-01-01T00:00:01.500Z"
    assert [row.kind for row in transcript.extra_rows] == ["weightless"]


def test_chatgpt_other_leaves_and_other_conversations():
    data = packed([exported(*TREE, update_time=5.0), exported(*TREE, ref="L", title=None, update_time=9.0)])
    listed = conversations(data)
    assert [(c.id, c.title, c.main) for c in listed] == [
        ("K", "About K", True), ("K:7", "About K", False), ("L", "Count.", True), ("L:7", "Count.", False)
    ]  # fmt: skip
    with pytest.raises(
        TranscriptError, match=r'holds 2 conversations; .*`conversation=`.*: L \("Count."\), K'
    ):
        load(data)
    assert said(load(data, conversation="L")) == said(load(packed([exported(*TREE)])))
    assert said(load(data, conversation="K:7")) == ["P\nI", "Count.", "Three."]
    with pytest.raises(TranscriptError, match='no conversation "M" in it'):
        load(data, conversation="M")


def test_claude_export():
    found = [
        {"type": "thinking", "thinking": "t", "cut_off": False},
        {"type": "tool_use", "id": None, "name": "web", "input": {"q": 1}},
        {
            "type": "tool_result",
            "tool_use_id": None,
            "name": "web",
            "content": [{"type": "text", "text": "R"}],
        },
        {"type": "text", "text": "So.", "citations": []},
        {"type": "token_budget"},
    ]
    human = {
        "uuid": "a", "sender": "human", "text": "Why?", "content": [], "created_at": "T",
        "attachments": [{"file_name": "n.txt", "file_type": "txt", "extracted_content": "E"}],
        "files": [{"file_name": "p.png"}],
    }  # fmt: skip
    answer = {"uuid": "b", "sender": "assistant", "text": "So.", "content": found}
    data = packed([{"uuid": "K", "name": "Whys", "updated_at": "U", "chat_messages": [human, answer]}])
    transcript = load(data)
    assert (transcript.format, transcript.diagnostics) == ("claude-export", ())
    assert [(m.role, m.parts) for m in transcript.messages] == [
        (
            "user",
            (
                Text("Why?"),
                File("n.txt", "text/plain", text="E"),
                File("p.png", "application/octet-stream", source="p.png"),
            ),
        ),
        ("assistant", (Reasoning("t"), ToolCall("function_call_1", "web", '{"q":1}'))),
        ("tool", (ToolResult("function_call_1", (Text("R"),)),)),
        ("assistant", (Text("So."), Opaque("token_budget", '{"type":"token_budget"}'))),
    ]
    (listed,) = conversations(data)
    assert (listed.id, listed.title, listed.messages, listed.time) == ("K", "Whys", 2, "U")


# --- training sets


def test_sharegpt():
    turns = [
        {"from": "human", "value": "?"},
        {"from": "function_call", "value": '{"name": "f", "arguments": {"x": 1}}'},
        {"from": "observation", "value": "R"},
        {"from": "gpt", "value": "<think>hm</think>\nSo. <b>"},
        {"from": "critic", "value": "No."},
    ]
    one = {"conversations": turns, "system": "S", "tools": "[]"}
    transcript = load(packed([one]))
    assert (transcript.format, transcript.diagnostics) == ("sharegpt", ())
    assert [(m.role, m.parts) for m in transcript.messages] == [
        ("system", (Text("S"),)),
        ("user", (Text("?"),)),
        ("assistant", (ToolCall("function_call_1", "f", '{"x":1}'),)),
        ("tool", (ToolResult("function_call_1", (Text("R"),)),)),
        ("assistant", (Reasoning("hm"), Text("So. <b>"))),
        ("user", (Text("[critic] No."),)),
    ]
    lines = log(one, one | {"id": "second", "conversations": turns[:1]})
    assert [c.id for c in conversations(lines)] == ["1", "second"]
    assert said(load(lines, conversation="sec")) == ["S", "?"]


def test_chatml():
    text = (
        "<|im_start|>system\nS\n<|im_end|>\n<|im_start|>user\nhi\n\nthere<|im_end|>\n<|im_start|>assistant\n"
        '<think>\nt\n</think>\n\nok\n<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call><|im_end|>\n'
        "<|im_start|>user\n<tool_response>\nR\n</tool_response><|im_end|>\n<|im_start|>assistant\nopen\nend"
    )
    transcript = load(text.encode())
    assert (transcript.format, transcript.diagnostics) == ("chatml", ())
    assert [(m.role, m.parts) for m in transcript.messages] == [
        ("system", (Text("S"),)),
        ("user", (Text("hi\n\nthere"),)),
        ("assistant", (Reasoning("t"), Text("ok"), ToolCall("function_call_1", "f", "{}"))),
        ("tool", (ToolResult("function_call_1", (Text("R"),)),)),
        ("assistant", (Text("open\nend"),)),
    ]
    assert load(f"Of ChatML: {text}".encode()).format == "text"


@pytest.mark.parametrize("unit", ["<think>", "<tool_call>", "<tool_call>{</tool_call>", "<|im_start|>user\n"])
def test_open_tags_take_linear_time(unit):
    text = "<|im_start|>assistant\n" + unit * (400_000 // len(unit))
    transcript = load(text.encode())  # were the work quadratic, this would not end
    assert transcript.format == "chatml"
    if "im_start" not in unit:
        assert said(transcript) == [text.removeprefix("<|im_start|>assistant\n")]


# --- Markdown


@pytest.mark.parametrize(
    ("user", "assistant"),
    [
        ("## User\n\n", "## Assistant\n\n"),
        ("# 🧑 Human:\n", "# 🤖 Claude (opus, 12:01)\n"),
        ("**User:** ", "**Assistant:** "),
        ("**You**:\n\n", "**ChatGPT**:\n\n"),
        ("**User**\n\n", "**Assistant**\n\n"),
        ("User: ", "Assistant: "),
        ("Human:\n", "AI:\n"),
    ],
)
def test_markdown_styles(user, assistant):
    words = ["Hello\n\n```\n## User\n**User:** x\nUser: x\n```", "Yes,\n> ## User\n> User: quoted", "And?"]
    text = f"{user}{words[0]}\n\n---\n\n{assistant}{words[1]}\n\n{user}{words[2]}\n"
    transcript = load(text.encode())
    assert transcript.format == "markdown"
    assert [(m.role, m.parts) for m in transcript.messages] == [
        (role, (Text(text),)) for role, text in zip(("user", "assistant", "user"), words, strict=True)
    ]
    assert load(text.replace("\n", "\r\n").encode()).messages == transcript.messages


def test_markdown_that_is_no_log():
    for text in (
        "# Manual\n\n## User\n\nA user may log in.\n\n## System\n\nLinux.\n",
        "User: name of the account\nGroup: its group\n",
        "```\nUser: a\nAssistant: b\n```\n",
        "Intro\n" * 60 + "User: a\nAssistant: b\n",
    ):
        assert load(text.encode()).format == "text"
    title = load(b"# Trip\n\n## User\nGo\n\n## Assistant\nGone\n")
    assert [(m.role, m.parts) for m in title.messages[:1]] == [("system", (Text("# Trip"),))]


# --- detection


@pytest.mark.parametrize(
    ("data", "name", "reason"),
    [
        (log({"timestamp": "T", "type": "session_meta", "payload": {}}), "codex", "timestamp"),
        (log({"type": "session", "version": 3, "id": "S"}), "pi", "session header"),
        (packed([exported(*TREE)]), "chatgpt-export", "mapping"),
        (b"<|im_start|>user\na<|im_end|>", "chatml", "im_start"),
        (b"just words", "text", "document"),
    ],
)
def test_detection_says_why(data, name, reason):
    found = detect(data)
    assert found[0].format == name
    assert reason in found[0].reason
    assert [one.confidence for one in found] == sorted((one.confidence for one in found), reverse=True)
    assert all(0 < one.confidence <= 1 for one in found)
    assert found[-1].format == "text"
