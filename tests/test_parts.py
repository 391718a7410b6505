"""One table of the kinds of parts: everybody who handles parts knows each of them."""

from __future__ import annotations

import json
import math
import re
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import snapshot
from snapshot.__main__ import main
from snapshot.compaction.estimate import Estimator
from snapshot.messages import (
    File,
    Image,
    Message,
    Opaque,
    Part,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
    Transcript,
)
from snapshot.models.ids import profile_for
from snapshot.parts.characters import sendable, strict_text
from snapshot.parts.exact_json import Number, decode, encode, is_exact, members
from snapshot.parts.kinds import KINDS, Kind, family_of, kind_of, pieces, words_of_opaque
from snapshot.requests import APIS, request
from snapshot.requests._flatten import pieces_of
from snapshot.requests.check import check
from snapshot.requests.tool_pairing import torn
from snapshot.source.source import source_of
from snapshot.transcripts import from_messages

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
PDF = "JVBERi0xLjQKMSAwIG9iajw8L1R5cGUvUGFnZT4+ZW5kb2JqCg=="
WORDS = "the-matter-itself"
SEALED = "c2VhbGVkLWJ5dGVz" * 4

Json = dict[str, Any]


def _anthropic(kind: Kind) -> Json:
    name, base64 = kind.name, {"type": "base64", "media_type": "image/png", "data": PNG}
    pdf = {"type": "base64", "media_type": "application/pdf", "data": PDF}
    return {
        "text": {"text": WORDS},
        "thinking": {"thinking": WORDS, "signature": SEALED},
        "redacted_thinking": {"data": SEALED},
        "compaction": {"encrypted_content": SEALED},
        "tool_use": {"id": "t", "name": "f", "input": {"q": WORDS}},
        "tool_result": {"tool_use_id": "t", "content": WORDS},
        "image": {"source": base64},
        "document": {"source": pdf, "title": WORDS},
        "search_result": {
            "source": "https://e.org",
            "title": WORDS,
            "content": [{"type": "text", "text": "x"}],
        },
        "container_upload": {"file_id": "file_1"},
        "tool_reference": {"tool_name": WORDS},
    }.get(name, {}) | (
        {"id": "s", "name": "web_search", "input": {"query": WORDS}}
        if kind.family == "provider-call"
        else {"tool_use_id": "s", "content": [{"type": "x", "title": WORDS, "encrypted_content": SEALED}]}
        if kind.family == "provider-result"
        else {}
    )


def _openai(kind: Kind) -> Json:
    url = {"url": f"data:image/png;base64,{PNG}"}
    return {
        "text": {"text": WORDS},
        "refusal": {"refusal": WORDS},
        "image_url": {"image_url": url},
        "file": {"file": {"filename": "a.pdf", "file_data": f"data:application/pdf;base64,{PDF}"}},
        "input_audio": {"input_audio": {"data": PDF, "format": "wav"}},
        "function": {"id": "t", "function": {"name": "f", "arguments": json.dumps({"q": WORDS})}},
        "custom": {"id": "t", "custom": {"name": "f", "input": WORDS}},
    }[kind.name]


def _responses(kind: Kind) -> Json:
    call = {"call_id": "t", "name": "f", "arguments": json.dumps({"q": WORDS})}
    known = {
        "refusal": {"refusal": WORDS},
        "input_image": {"image_url": f"data:image/png;base64,{PNG}"},
        "computer_screenshot": {"image_url": f"data:image/png;base64,{PNG}"},
        "input_file": {"filename": "a.pdf", "file_data": f"data:application/pdf;base64,{PDF}"},
        "reasoning": {
            "id": "rs_1",
            "summary": [{"type": "summary_text", "text": WORDS}],
            "encrypted_content": SEALED,
        },
        "mcp_approval_response": {"approval_request_id": WORDS, "approve": True},
    }
    if kind.family == "text":
        return known.get(kind.name, {"text": WORDS})
    if kind.family == "call":
        return call if kind.name == "function_call" else {"call_id": "t", "name": "f", "action": {"q": WORDS}}
    if kind.family == "result":
        return {"call_id": "t", "output": WORDS}
    return known.get(kind.name, {"id": "x_1", "action": {"query": WORDS}})


def _gemini(kind: Kind) -> Json:
    return {
        "text": {"text": WORDS},
        "thought": {"text": WORDS, "thought": True, "thoughtSignature": SEALED},
        "functionCall": {"functionCall": {"id": "t", "name": "f", "args": {"q": WORDS}}},
        "functionResponse": {"functionResponse": {"id": "t", "name": "f", "response": {"output": WORDS}}},
        "inlineData": {"inlineData": {"mimeType": "image/png", "data": PNG}},
        "fileData": {"fileData": {"mimeType": "application/pdf", "fileUri": "https://e.org/a.pdf"}},
        "executableCode": {"executableCode": {"language": "PYTHON", "code": WORDS}},
        "codeExecutionResult": {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": WORDS}},
        "toolCall": {"toolCall": {"id": "s", "name": "g", "args": {"q": WORDS}}},
        "toolResponse": {"toolResponse": {"id": "s", "name": "g", "response": {"r": WORDS}}},
    }[kind.name]


_MAKE = {"anthropic": _anthropic, "openai": _openai, "openai-responses": _responses, "gemini": _gemini}
_ASSISTANT = ("reasoning", "call", "provider-call", "provider-result", "sealed")


def body_with(kind: Kind) -> Json:
    """A conversation of the kind's API that has one such part, and what it needs beside it."""
    part = _MAKE[kind.api](kind)
    speaks = kind.family in _ASSISTANT or kind.name == "refusal"
    if kind.api == "gemini":
        halves = [kind.family == "provider-result", kind.family == "provider-call"]
        around = (
            [{"executableCode": {"code": "1"}}] * halves[0],
            [{"codeExecutionResult": {"output": "1"}}] * halves[1],
        )
        call = {"functionCall": {"id": "t", "name": "f", "args": {}}}
        contents = [{"role": "user", "parts": [{"text": "go"}]}]
        if kind.family == "result":
            contents.append({"role": "model", "parts": [call]})
        contents.append({"role": "model" if speaks else "user", "parts": [*around[0], part, *around[1]]})
        return {"contents": contents}
    go: Json = {"role": "user", "content": "go"}
    if kind.api == "openai-responses":
        if kind.family in ("text", "image", "file"):
            role = "assistant" if kind.name in ("output_text", "refusal") else "user"
            return {"input": [go, {"role": role, "content": [{"type": kind.name, **part}]}]}
        item = {"type": kind.name, **part}
        before = [{"type": kind.name.removesuffix("_output"), "call_id": "t", "name": "f", "arguments": "{}"}]
        after = [{"role": "assistant", "content": [{"type": "output_text", "text": "ok"}]}]
        return {"input": [go, *(before if kind.family == "result" else []), item, *after]}
    block = {"type": kind.name, **part}
    if kind.api == "openai":
        if kind.family == "call":
            return {"messages": [go, {"role": "assistant", "content": None, "tool_calls": [block]}]}
        return {"messages": [go, {"role": "assistant" if speaks else "user", "content": [block]}]}
    blocks: list[Json] = [block]
    if kind.family == "provider-result":
        blocks.insert(0, {"type": "server_tool_use", "id": "s", "name": "g", "input": {}})
    if kind.family == "provider-call":
        blocks.append({"type": "mcp_tool_result", "tool_use_id": "s", "content": []})
    messages = [go]
    if kind.family == "result":
        use = {"type": "tool_use", "id": "t", "name": "f", "input": {}}
        messages.append({"role": "assistant", "content": [use]})
    text = [{"type": "text", "text": "ok"}] if kind.family in ("reasoning", "sealed") else []
    messages.append({"role": "assistant" if speaks else "user", "content": [*blocks, *text]})
    return {"messages": messages}


FORMAT = {"openai": "openai-chat"}
EACH = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: f"{kind.api}-{kind.name}")
_TYPES: dict[str, type[Any]] = {
    "text": Text, "reasoning": Reasoning, "call": ToolCall, "result": ToolResult, "image": Image,
    "file": File,
}  # fmt: skip


def read(kind: Kind) -> tuple[Transcript, Part]:
    transcript = from_messages(body_with(kind), format=FORMAT.get(kind.api, kind.api))
    wanted: type[Any] = _TYPES.get(kind.family, Opaque)
    parts = [part for m in transcript.messages[1:] for part in m.parts if isinstance(part, wanted)]
    own = [part for part in parts if not isinstance(part, Opaque) or part.kind == kind.name]
    return transcript, own[0]


@EACH
def test_the_reader_knows_it(kind):
    transcript, part = read(kind)
    assert not {d.kind for d in transcript.diagnostics} & {
        "unknown-part",
        "unknown-item",
        "wrong-type",
        "orphan-result",
    }
    assert family_of(part) == kind.family


@EACH
def test_the_checker_knows_it(kind):
    body = body_with(kind)
    assert check(body, kind.api) == []
    found = {piece.kind for piece in pieces_of(body, kind.api)}
    shown = {"sealed": {"reasoning", "other"}, "note": {"other"}}.get(kind.family, {kind.family})
    assert found & shown, found
    assert "bad" not in found


@EACH
def test_the_writers_know_it(kind):
    """It goes home key for key; others get its words, or nothing where it is sealed."""
    transcript, part = read(kind)
    own = request(transcript, kind.api)
    assert check(own, kind.api) == []
    for api in APIS:
        body = request(transcript, api)
        assert check(body, api) == []
        text = json.dumps(body, ensure_ascii=False)
        if api != kind.api:
            assert SEALED not in text
            if isinstance(part, Opaque) and kind.family != "sealed" and WORDS in part.json:
                assert WORDS in text
                assert '{\\"' not in text, "words and no JSON"


@EACH
def test_source_text_and_estimate_know_it(kind):
    transcript, part = read(kind)
    text = source_of(transcript).text
    estimator = Estimator(profile_for("claude-opus-4-8"))
    assert SEALED not in text
    assert PNG not in text
    if kind.family == "sealed":
        assert estimator.part(part) == 0
    else:
        assert estimator.part(part) > 0 or (isinstance(part, Opaque) and WORDS not in part.json)
        if isinstance(part, Opaque) and WORDS in part.json:
            assert WORDS in text


@EACH
def test_pairing_knows_it(kind):
    """Halves of the provider's own pairs are found, and nothing else is one."""
    _, part = read(kind)
    half = torn([Message("assistant", (part, Text("x")))])
    assert bool(half) == (kind.family in ("provider-call", "provider-result"))


def test_kinds_are_told_apart():
    assert len({(kind.api, kind.name) for kind in KINDS}) == len(KINDS)
    whole = [kind.name for kind in KINDS if kind.whole]
    assert len(set(whole)) == len(whole)
    assert kind_of("anthropic", "hologram") is None
    assert family_of(Opaque("hologram", "{}")) is None
    assert list(pieces(Opaque("hologram", '{"a":1}'))) == ['{"a":1}']


@given(
    value=st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
        max_leaves=10,
    )
)
def test_words_of_any_value(value):
    for kind in ("server_tool_use", "mcp_tool_result", "executableCode", "hologram", "compaction"):
        words = words_of_opaque(Opaque(kind, json.dumps(value)))
        assert words.startswith(f"[{kind}]") or (kind == "compaction" and words == "")


def test_deep_values_are_words_too():
    deep = '{"a":' * 100 + "1" + "}" * 100
    assert "nested" in words_of_opaque(Opaque("server_tool_use", deep))
    assert words_of_opaque(Opaque("server_tool_use", "[" * 100_000)).startswith("[server_tool_use]")


# --- one place for each fact


def test_signatures_and_surrogates_are_in_one_place():
    package = Path(snapshot.__file__).parent
    surrogates = re.compile(r"re\.compile\([^)]*\\ud800")
    magic = re.compile(r"x89PNG|xff\\xd8\\xff")
    files = {path.relative_to(package).as_posix(): path.read_text("utf-8") for path in package.rglob("*.py")}
    with_magic = {name for name, text in files.items() if magic.search(text)}
    assert with_magic <= {
        "parts/media.py",
        "transcripts/io/unpack.py",
    }  # the latter says what to do about a file
    with_regex = {name for name, text in files.items() if surrogates.search(text)}
    assert with_regex <= {"parts/characters.py"}


def test_unsendable_characters():
    assert sendable("a\0b\ud800c") == "a\u2400b\ufffdc"
    assert strict_text("a\0\udfff\ud800") == ("a\0\ufffd\ufffd", 2)


# --- exact JSON


@pytest.mark.parametrize(
    "digits", ["1e400", "-1E+400", "0.1000000000000000055", "1.50", "1e5", "-0.0e1", "12345678901234567890.5"]
)
def test_numbers_stay_as_they_were_written(digits):
    value = decode(f'{{"a":[{digits},1,2.5]}}')
    assert encode(value, lambda item: json.dumps(item, separators=(",", ":"))) == f'{{"a":[{digits},1,2.5]}}'
    assert isinstance(value["a"][0], float)
    assert not is_exact(f"[{digits}]")
    assert json.loads(json.dumps(value["a"][1:])) == [1, 2.5]


def test_digits_come_back_in_any_style():
    value = decode('{"@0": ["@@1", 1e400, {"x": 2.50, "@": "@0"}], "n": 1}')
    for style in ({"indent": 1}, {"separators": (",", ":")}, {}):
        text = encode(value, partial(json.dumps, **style))
        assert "1e400" in text
        assert "2.50" in text
        assert decode(text) == value
        assert json.loads(text)["@0"][0] == "@@1"


def test_what_is_no_json():
    for text in ("NaN", '{"a":Infinity}', "[-Infinity]", '{"a":1,"a":2}', "{x", ""):
        with pytest.raises(ValueError, match=r"."):
            decode(text)


@given(
    st.dictionaries(
        st.text(max_size=4),
        st.recursive(
            st.none()
            | st.integers()
            | st.floats(allow_nan=False, allow_infinity=False)
            | st.text(max_size=4),
            lambda inner: st.lists(inner, max_size=3),
            max_leaves=6,
        ),
        max_size=4,
    ),
    st.sampled_from([None, 2]),
)
def test_members_are_those_of_the_object(value, indent):
    text = json.dumps(value, indent=indent)
    found = members(text)
    assert found is not None
    assert {name: item for name, item, _ in found} == value


def test_members_keep_what_python_would_change():
    found = members('{"a": 1e400, "b": "x", "a": {"k": 1, "k": 2}, "n": 7}')
    assert found is not None
    assert [(name, raw) for name, _, raw in found] == [
        ("a", "1e400"),
        ("b", ""),
        ("a", '{"k": 1, "k": 2}'),
        ("n", ""),
    ]
    for text in ("[1]", "{", '{"a":1,}', '{"a":NaN}', '{"a":1} x', "7", ""):
        assert members(text) is None


def test_numbers_in_arguments():
    """In source text and in the arguments of every API that takes text; in objects, a float or its digits."""
    text = '{"big": 1e400, "exact": 0.1000000000000000055, "twice": 1, "twice": 2.50}'
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": text}}
    chat = [{"role": "user", "content": "go"}, {"role": "assistant", "content": None, "tool_calls": [call]}]
    transcript = from_messages(chat)
    printed = source_of(transcript).text
    assert all(
        piece in printed for piece in ("big:1e400", "exact:0.1000000000000000055", "twice:1", "twice:2.50")
    )
    for api in APIS:
        body = json.dumps(request(transcript, api), allow_nan=False)
        assert all(digits in body for digits in ("1e400", "0.1000000000000000055", "2.50"))
    from snapshot.transcripts import load

    block = '{"type":"tool_use","id":"t","name":"f","input":{"a":1e400,"b":0.1000000000000000055}}'
    read_back = load(
        f'[{{"role":"user","content":"go"}},{{"role":"assistant","content":[{block}]}}]'.encode()
    )
    assert read_back.messages[1].parts[0] == ToolCall("t", "f", '{"a":1e400,"b":0.1000000000000000055}')
    assert '"1e400"' in json.dumps(request(read_back, "anthropic"), allow_nan=False)
    assert isinstance(decode("1e400"), Number)
    assert math.isinf(decode("1e400"))


def test_the_command_line_writes_numbers_as_they_were(tmp_path, monkeypatch):
    """An API whose arguments are objects: in a request on disk every digit is there."""
    block = '{"type": "tool_use", "id": "t", "name": "f", "input": {"b": 0.1000000000000000055, "c": 1.50}}'
    result = '{"type": "tool_result", "tool_use_id": "t", "content": "ok"}'
    path = tmp_path / "in.json"
    path.write_text(
        f'[{{"role":"user","content":"go"}},{{"role":"assistant","content":[{block}]}},'
        f'{{"role":"user","content":[{result}]}}]'
    )
    out = tmp_path / "out.json"
    asked = ["compact", str(path), "-m", "claude-opus-4-8", "--api", "anthropic", "-o", str(out)]
    monkeypatch.setattr("sys.argv", ["snapshot", *asked])
    assert main() == 0
    assert '"b": 0.1000000000000000055' in out.read_text()
    assert '"c": 1.50' in out.read_text()


def test_messages_of_every_kind_are_opaque_to_nobody():
    """A part of each Python type has its family."""
    parts: list[Part] = [
        Text("x"),
        Reasoning("x"),
        ToolCall("a", "f", ""),
        ToolResult("a", ()),
        Image("i"),
        File("f", ""),
    ]
    assert [family_of(part) for part in parts] == ["text", "reasoning", "call", "result", "image", "file"]
    assert source_of(Transcript((Message("user", (Text("x"),)),), "anthropic")).text
