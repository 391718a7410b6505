"""Limits: one table, measured alike before and after a request is written, and known to every layout file."""

from __future__ import annotations

import base64
import json
import struct
import zlib
from typing import Any

import pytest

from snapshot.messages import File, Image, Message, Part, Text, ToolCall, ToolResult, Transcript
from snapshot.models import catalog
from snapshot.models.catalog import profiles
from snapshot.models.gateways import gateways
from snapshot.models.ids import profile_for
from snapshot.parts.documents import document_line, pages_of, pdf_pages
from snapshot.parts.media import SIGNATURES, image_size, media_type_of
from snapshot.requests import APIS, request
from snapshot.requests.check import check
from snapshot.requests.limits import LIMITS, Excess, exceeded, load_of


def png(width: int, height: int, size: int = 60) -> bytes:
    return (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", width, height)).ljust(size, b"\0")


def image(width: int = 10, height: int = 10, size: int = 60, detail: str = "") -> Image:
    return Image("image/png", png(width, height, size), detail=detail)


def pdf(pages: int, size: int = 0, *, count: bool = True, packed: bool = False) -> bytes:
    """A small PDF; its objects in the open or in a compressed object stream."""
    tree = b"<</Type/Pages%s/Kids[%s]>>" % (
        b"/Count %d" % pages if count else b"",
        b" ".join(b"%d 0 R" % (3 + n) for n in range(pages)),
    )
    objects = [b"<</Type /Catalog /Pages 2 0 R>>", tree]
    objects += [b"<</MediaBox[0 0 595 842]/Resources<</Font<</F 9 0 R>>>>/Type /Page/Parent 2 0 R>>"] * pages
    if packed:
        stream = zlib.compress(b" ".join(objects))
        body = b"5 0 obj<</Type/ObjStm/N %d/Filter/FlateDecode/Length %d>>stream\n%s\nendstream\nendobj\n"
        out = b"%PDF-1.7\n" + body % (len(objects), len(stream), stream)
    else:
        out = b"%PDF-1.4\n" + b"".join(b"%d 0 obj%sendobj\n" % (n, o) for n, o in enumerate(objects, 1))
    filling = b"/Type/Page" * 3 + b"x" * max(0, size - len(out))  # in a stream, so it is no page
    return out + b"99 0 obj<</Length %d>>stream\n%s\nendstream\nendobj\ntrailer<<>>" % (len(filling), filling)


def document(pages: int = 1, size: int = 0, name: str = "a.pdf") -> File:
    return File(name, "application/pdf", pdf(pages, size))


def conversation(*parts: Part) -> tuple[Message, ...]:
    return (
        Message("user", (Text("look"), *parts)),
        Message("assistant", (Text("ok"),)),
        Message("user", (Text("so"),)),
    )


# For each limit: what is over it, at which figure, and what is not.
BEYOND: dict[str, tuple[tuple[Part, ...], int]] = {
    "images_per_request": ((image(), image(), document()), 2),
    "images_per_message": ((image(), document(), image()), 2),
    "documents_per_request": ((document(), document(), image(), image()), 1),
    "pdf_pages": ((document(3), document(4)), 6),
    "max_side": ((image(10, 900),), 899),
    "max_side_many": ((*[image(5, 5)] * 20, image(10, 900)), 899),
    "image_bytes": ((image(size=600),), 799),
    "document_bytes": ((document(1, 5000),), 4999),
    "max_aspect": ((image(10, 201),), 20),
    "max_pixels": ((image(100, 101),), 10_000),
    "max_patches": ((image(64, 65, detail="original"),), 5),
    "request_bytes": ((Text("word " * 200),), 900),
}


def test_every_limit_has_a_test():
    assert set(BEYOND) | {"many_images"} == set(LIMITS)


def test_layout_files_and_measures_know_the_same_limits():
    """A limit that nobody measures is a mistake in a file, and said when it is loaded."""
    assert set(catalog.LIMITS) == set(LIMITS)
    given = {key for reader in profiles() for key in reader.limits}
    given |= {key for reader in profiles() for line in reader.lines for key in line.limits}
    given |= {key for gateway in gateways() for key in gateway.limits}
    assert given <= set(LIMITS)
    assert all(limit.meaning for limit in LIMITS.values())


@pytest.mark.parametrize("key", BEYOND)
@pytest.mark.parametrize("api", APIS)
def test_each_limit_before_and_after_writing(key, api):
    parts, allowed = BEYOND[key]
    messages = conversation(*parts)
    body = request(Transcript(messages, "text"), api)
    planned = exceeded(load_of(messages), {key: allowed})
    written = exceeded(load_of(body, api), {key: allowed})
    assert [excess.key for excess in planned] == [excess.key for excess in written] == [key]
    if key != "request_bytes":
        assert planned[0].have == written[0].have
    assert planned[0].allowed == written[0].allowed == allowed
    assert planned[0].have > allowed
    sentences = check(body, api, limits={key: allowed})
    assert len(sentences) == 1
    assert f"{allowed}" in sentences[0] or key == "max_aspect"
    enough = {key: max(planned[0].have, written[0].have)}
    assert not exceeded(load_of(messages), enough)
    assert not exceeded(load_of(body, api), enough)
    assert check(body, api, limits=enough) == []


def test_the_bytes_of_messages_are_near_those_of_the_body():
    texts = ["plain words " * 400, 'say "x"\n\t\\ ' * 300, "日本語のテキスト" * 300, "\x1b[31m" * 200]
    messages = tuple(
        message
        for n, text in enumerate(texts)
        for message in (
            Message("user", (Text(text), image(size=3000))),
            Message("assistant", (ToolCall(f"c{n}", "f", json.dumps({"text": text})),)),
            Message("tool", (ToolResult(f"c{n}", (Text(text),)),)),
        )
    )
    planned = load_of(messages).measure_bytes()
    for api in APIS:
        written = load_of(request(Transcript(messages, "text"), api), api).measure_bytes()
        assert 0.85 * written <= planned <= 1.3 * written, api


def test_the_message_that_holds_more_is_named():
    """Case 041: results within and documents count, and messages that an API joins count as one."""
    call = Message("assistant", (ToolCall("a", "f", "{}"), ToolCall("b", "f", "{}")))
    results = Message("tool", tuple(ToolResult(c, (image(), image())) for c in "ab"))
    messages = (*conversation(image()), call, results, Message("user", (Text("and"), image(), document())))
    found = exceeded(load_of(messages), {"images_per_message": 5})
    assert found == (
        Excess(
            "images_per_message",
            6,
            5,
            "message 5",
            5,
            "message 5 has 6 images and documents, and 5 are allowed in one",
        ),
    )
    body = request(Transcript(messages, "text"), "anthropic")
    assert check(body, "anthropic", limits={"images_per_message": 5}) == [found[0].sentence]
    assert check(body, "anthropic", limits={"images_per_message": 6}) == []
    bedrock = profile_for("us.anthropic.claude-opus-4-8-v1:0")
    many = request(Transcript(conversation(*[image()] * 21), "text"), "anthropic")
    assert check(many, "anthropic", reader=bedrock) == ["message 1 has 21 images, and 20 are allowed in one"]


def test_a_margin_is_kept_from_sums_only():
    messages = conversation(*[image(900, 10)] * 20)
    assert not exceeded(load_of(messages), {"images_per_request": 20, "max_side": 900})
    kept = exceeded(load_of(messages), {"images_per_request": 20, "max_side": 900}, margin=20)
    assert [(excess.key, excess.allowed) for excess in kept] == [("images_per_request", 19)]


def test_patches_are_counted_after_the_resize():
    """At the details whose budgets are far below the limit, and where the reader's rule resizes."""
    huge = conversation(image(6000, 6000, detail="original"))
    astra, older = profile_for("gpt-6-astra"), profile_for("gpt-5.5")
    assert [e.have for e in exceeded(load_of(huge), astra.limits, reader=astra)] == [35_344]
    assert not exceeded(load_of(huge), older.limits, reader=older)
    assert not exceeded(load_of(conversation(image(6000, 6000, detail="high"))), astra.limits)


def test_words_of_the_assistant_at_the_end():
    """Models from Claude 4.6 on refuse to continue them: data of the layout file."""
    ending = Transcript((Message("user", (Text("go"),)), Message("assistant", (Text("I think"),))), "text")
    body = request(ending, "anthropic")
    assert check(body, "anthropic") == []
    for model in (
        "claude-opus-4-6",
        "claude-sonnet-4-6",
        "claude-opus-4-8",
        "claude-haiku-5-5",
        "claude-fable-5-1",
    ):
        assert (
            "the assistant's, which this model refuses"
            in check(body, "anthropic", reader=profile_for(model))[0]
        )
    for model in ("claude-sonnet-4-5", "claude-haiku-4-5"):
        assert check(body, "anthropic", reader=profile_for(model)) == []


# --- documents


@pytest.mark.parametrize("pages", [1, 2, 17, 300])
def test_pages_are_counted(pages):
    for count in (True, False):
        for packed in (True, False):
            assert pdf_pages(pdf(pages, 20_000, count=count, packed=packed)) == pages


def test_pages_of_a_file_that_was_saved_again():
    """Old page objects stay in it: the tree says how many are in use."""
    again = pdf(5) + b"7 0 obj<</Type/Page>>endobj 8 0 obj<</Type/Page>>endobj"
    assert pdf_pages(again) == 5


@pytest.mark.parametrize(
    "data",
    [
        b"%PDF-1.4\n",
        b"%PDF" + b"\xff" * 1000,
        b"%PDF /Type/ObjStm stream\nnot zlib endstream",
        b"%PDF /Type/Pages" * 50,
    ],
)
def test_pages_that_cannot_be_counted(data):
    assert pdf_pages(data) == 0
    size = pages_of(File("x", "application/pdf", data))
    assert size == (1, False), "an estimate by the bytes, said to be one"
    assert "about 1 page," in document_line(File("x", "application/pdf", data))


def test_a_stream_that_unpacks_to_gigabytes_is_bounded():
    bomb = zlib.compress(b"\0" * (1 << 26))
    data = b"%PDF-1.7\n" + b"1 0 obj<</Type/ObjStm>>stream\n" + bomb + b"\nendstream" * 1
    assert pdf_pages(data * 3) == 0


def test_the_line_of_a_document():
    line = document_line(document(3, name="contract.pdf"), "Fetch")
    assert line.startswith("[document dropped: contract.pdf, application/pdf, 3 pages, ")
    assert line.endswith(" bytes; from Fetch]")
    assert (
        document_line(File("n.txt", "text/plain", text="né"))
        == "[document dropped: n.txt, text/plain, 3 bytes]"
    )
    away = File("", "application/pdf", source="https://e.org/a.pdf")
    assert document_line(away) == "[document dropped: application/pdf, https://e.org/a.pdf]"


def test_documents_of_a_body():
    """Case 035: pages are counted wherever a body holds a PDF."""
    data = base64.b64encode(pdf(60)).decode()
    for api, part in {
        "anthropic": {
            "type": "document",
            "source": {"type": "base64", "media_type": "application/pdf", "data": data},
        },
        "openai": {
            "type": "file",
            "file": {"filename": "a", "file_data": f"data:application/pdf;base64,{data}"},
        },
        "openai-responses": {
            "type": "input_file",
            "filename": "a",
            "file_data": f"data:application/pdf;base64,{data}",
        },
        "gemini": {"inlineData": {"mimeType": "application/pdf", "data": data}},
    }.items():
        content: Any = [part, part]
        message = {"role": "user", ("parts" if api == "gemini" else "content"): content}
        body = {{"gemini": "contents", "openai-responses": "input"}.get(api, "messages"): [message]}
        assert [e.sentence for e in exceeded(load_of(body, api), {"pdf_pages": 100})] == [
            "the documents have 120 pages, and 100 are allowed"
        ]


# --- media


def test_media_types_by_their_first_bytes():
    for magic, kind in SIGNATURES:
        assert media_type_of(magic + b"\0" * 20) == kind
    assert media_type_of(b"RIFF\0\0\0\0WEBPVP8 ") == "image/webp"
    assert media_type_of(b"RIFF\0\0\0\0WAVEfmt ") == "audio/wav"
    assert media_type_of(b"hello") == media_type_of(b"") == ""


def test_sizes_of_every_image_format(tmp_path):
    from PIL import Image as Pillow

    for name in ("png", "gif", "webp", "jpeg"):
        path = tmp_path / f"x.{name}"
        Pillow.new("RGB", (123, 45)).save(path)
        data = path.read_bytes()
        assert image_size(data) == (123, 45)
        assert media_type_of(data) == f"image/{name}"
        assert all(image_size(data[:cut]) in (None, (123, 45)) for cut in range(60))


def test_profiles_have_prices_for_documents():
    claude, gemini, older = (
        profile_for(m) for m in ("claude-opus-4-8", "gemini-3.8-flash", "gemini-2.5-flash")
    )
    assert (gemini.pdf_tokens(1), older.pdf_tokens(10)) == (560, 2580)
    page = claude.pdf_tokens(1)
    assert page is not None
    assert 1500 <= page <= 4500
