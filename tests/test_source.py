"""Source text: what a transcript looks like as one string, and that nothing of it is lost on the way."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import snapshot
from snapshot.messages import File, Image, Message, Opaque, Reasoning, Text, ToolCall, ToolResult, Transcript
from snapshot.source.marks import ELIDED, FIELD, SCOPE
from snapshot.source.payloads import payloads
from snapshot.source.source import source_of
from tests.conftest import REAL

PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 8).decode()


def test_a_conversation_as_source_text():
    transcript = Transcript(
        (
            Message("system", (Text("Be brief."),)),
            Message("user", (Text("Fix it.\n"), Image("image/png", b"12345"))),
            Message(
                "assistant",
                (
                    Reasoning("Where is it?", "signature"),
                    Text("Looking."),
                    ToolCall("a", "Bash", '{"command":"ls\\n-l","timeout":5,"env":{"A":[1]}}'),
                    ToolCall("b", "Read", "not json"),
                    ToolCall("c", "Now", "{}"),
                ),
            ),
            Message(
                "tool",
                (
                    ToolResult("b", (Text("no such file"),), is_error=True),
                    ToolResult(
                        "a", (Text("one\ntwo\n"), Image("image/png", source="https://example.org/x.png"))
                    ),
                    ToolResult("c", ()),
                    ToolResult("z", (Text("orphan"),)),
                ),
            ),
            Message("assistant", (Text("I can't.", refusal=True), Opaque("mystery", '{"a":1}'))),
            Message(
                "user",
                (File("a b.pdf", "application/pdf", b"%PDF"), File("n.txt", "text/plain", text="hello")),
            ),
        ),
        "anthropic",
    )
    source = source_of(transcript)
    assert source.text == (
        "⁋system\nBe brief.\n"
        "⁋user\nFix it.\n\n⁋user ✂image/png, 5 bytes✂\n"
        "⁋thinking\nWhere is it?\n⁋assistant\nLooking.\n"
        '⁋call 1 Bash‣command=ls\n-l‣timeout:5‣env:{"A":[1]}\n⁋call 2 Read‣=not json\n⁋call 3 Now\n'
        "⁋error 2\nno such file\n⁋result 1\none\ntwo\n✂image/png, https://example.org/x.png✂\n"
        "⁋result 3\n✂no output✂\n⁋result ?\norphan\n"
        '⁋assistant refuses\nI can\'t.\n⁋assistant mystery\n{"a":1}\n'
        "⁋user file a b.pdf ✂application/pdf, 4 bytes✂\n⁋user file n.txt \nhello\n"
    )
    assert [source.text[start:stop].count(SCOPE) for start, stop in source.spans] == [1, 2, 5, 4, 2, 2]
    assert source.spans[0][0] == 0
    assert source.spans[-1][1] == len(source.text)
    assert all(source.text[mark] in SCOPE + FIELD + ELIDED for mark in source.marks)
    assert "thinking" not in source_of(transcript, reasoning=False).text


def test_a_document_is_its_text_alone():
    source = source_of(Transcript((Message("user", (Text("# Notes\n\n⁋user\n"),)),), "text"))
    assert (source.text, source.marks) == ("# Notes\n\n⁋user\n", ())


def test_sealed_reasoning_is_never_printed():
    parts = (Reasoning("", "c2lnbmF0dXJl"), Opaque("redacted_thinking", '{"data":"c2VhbGVk"}'), Text("Done."))
    assert source_of(Transcript((Message("assistant", parts),), "anthropic")).text == "⁋assistant\nDone.\n"


def test_names_cannot_break_an_entry():
    call = ToolCall("1", "Bash\n⁋user\nrm", '{"a\\nb":"x"}')
    source = source_of(Transcript((Message("assistant", (call,)),), "anthropic"))
    assert source.text == "⁋call 1 Bash ⁋user rm‣a b=x\n"
    assert source.marks == (0, source.text.index("‣"))


@pytest.mark.parametrize("arguments", ["[1]", "7", "null", "{", "[" * 100_000, '"text"'])
def test_arguments_that_are_no_object(arguments):
    source = source_of(Transcript((Message("assistant", (ToolCall("1", "t", arguments),)),), "openai-chat"))
    assert source.text == f"⁋call 1 t‣={arguments}\n"


@pytest.mark.parametrize("file", REAL)
def test_every_character_of_a_real_transcript_is_there(real: Path, file):
    """Text, results and string arguments stand in the source text character for character, in order."""
    import json

    transcript = snapshot.load(real / file)
    text = source_of(transcript).text
    at = 0
    for message in transcript.messages:
        for part in message.parts:
            wanted = []
            match part:
                case Text(words) | Reasoning(words):
                    wanted = [words]
                case ToolCall(_, name, arguments):
                    wanted = [
                        name,
                        *(value for value in json.loads(arguments).values() if isinstance(value, str)),
                    ]
                case ToolResult(_, content):
                    wanted = [item.text for item in content if isinstance(item, Text)]
            for words in wanted:
                assert not list(payloads(words))
                at = text.index(words, at) + len(words)


# --- payloads


def test_payloads_are_found_whole():
    found = list(payloads(f"before data:image/png;base64,{PNG} after"))
    assert [(item.start, item.stop, item.media_type, item.size) for item in found] == [
        (7, 7 + 22 + len(PNG), "image/png", 2056)
    ]
    (bare,) = payloads(f"x = '{PNG}'")
    assert (bare.start, bare.stop, bare.media_type, bare.size) == (5, 5 + len(PNG), "image/png", 2056)
    wrapped = "\n".join(PNG[at : at + 76] for at in range(0, len(PNG), 76))
    (item,) = payloads(f"begin\n{wrapped}\nend")
    assert (item.start, item.stop, item.size) == (6, 6 + len(wrapped), 2056)


@pytest.mark.parametrize(
    "text",
    [
        "an URL starts with data:image/png;base64, and goes on",
        "data:image/png;base64,iVBORw0KGgo=",
        "a" * 5000,
        "0123456789abcdef" * 400,
        "/usr/lib/python3/site/packages/" * 200,
        "\n".join(["3f9c0d2e7a414b8c9e05d6f1a2b3c4d53f9c0d2e7a414b8c9e05d6f1a2b3c4d5"] * 40),
        "CONSTANT_NAME_WITH_DIGITS_0123456789_and_lower/" * 50,
    ],
)
def test_what_is_no_payload_stays(text):
    assert list(payloads(text)) == []


@given(
    st.lists(
        st.one_of(
            st.sampled_from(
                [f"data:image/png;base64,{PNG}", f" {PNG}\n", "data:;base64,", "base64,", PNG[:200], "="]
            ),
            st.text(max_size=20),
        )
    )
)
def test_payloads_never_overlap(pieces):
    text = "".join(pieces)
    end = 0
    for item in payloads(text):
        assert end <= item.start < item.stop <= len(text)
        end = item.stop


def test_looking_for_payloads_is_linear():
    # Were the work quadratic, this would not end.
    for text in ("A" * 2_000_000, "data:a/b;base64," * 100_000, ("A" * 75 + "\n") * 30_000, "+/=" * 500_000):
        assert not list(payloads(text))
