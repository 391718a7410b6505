"""Payloads in every spelling: found whole, told by type and size, and no word of the text beside them."""

from __future__ import annotations

import base64
import json
import random
import time
from email.message import EmailMessage
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snapshot.messages import Message, Text, Transcript
from snapshot.source.payloads import Payload, payloads
from snapshot.source.source import source_of

PNG = b"\x89PNG\r\n\x1a\n" + random.Random(4).randbytes(1500)
BEFORE, AFTER = "the log says: ok.\n", "\nand goes on with 12 lines.\n"


def encoded(size: int) -> str:
    return base64.b64encode(PNG[:size]).decode()


def wrapped(data: str, width: int, separator: str) -> str:
    return separator.join(data[at : at + width] for at in range(0, len(data), width))


HEADS = [
    "data:image/png;base64,",
    "DATA:IMAGE/PNG;BASE64,",
    "data:image/png;charset=utf-8;base64,",
    "data: image/png; base64, ",
    'data:image/png;name="a b; c.png";base64,',
    "data:image/png;name=a%20b.png;base64,",
    "data:image\\/png;base64,",
    "Data:image/png;filename=x.png;size=12;base64,",
    "data:image/png ;base64,",
    "data:image/png;base64,\n  ",
]
SPELLINGS = {
    "plain": str,
    "url-safe": lambda data: data.replace("+", "-").replace("/", "_"),
    "percent": lambda data: data.replace("+", "%2B").replace("/", "%2f").replace("=", "%3D"),
    "JSON": lambda data: data.replace("/", "\\/"),
    "JSON, escaped": lambda data: data.replace("+", "\\u002B").replace("=", "\\u003d"),
    "unpadded": lambda data: data.rstrip("="),
}


@given(st.sampled_from(HEADS), st.sampled_from(sorted(SPELLINGS)), st.integers(24, 1500))
def test_data_urls_in_any_spelling(head, spelling, size):
    data = SPELLINGS[spelling](encoded(size))
    for open_, close in (("", ""), ('"', '"'), ("url(", ")"), ("<img src='", "'>"), ("![x](", ")")):
        text = f"{BEFORE}{open_}{head}{data}{close}{AFTER}"
        (found,) = payloads(text)
        assert text[: found.start] == BEFORE + open_
        assert text[found.stop :] == close + AFTER
        assert (found.media_type, found.size) == ("image/png", size)


BREAKS = [
    "\n",
    "\r\n",
    "\\n",
    "\\r\\n",
    "\n    ",
    "\n\t",
    "\n> ",
    "\n# ",
    "\\\n",
    '"\n    "',
    "%0A",
    "%0D%0A",
    '" +\n  "',
]


@given(st.sampled_from(BREAKS), st.sampled_from([40, 57, 60, 64, 76, 100, 128]), st.integers(400, 1500))
def test_wrapped_payloads_are_found_whole(separator, width, size):
    data = wrapped(encoded(size), width, separator)
    for head, kind in (("", "image/png"), ("data:image/jpeg;base64,", "image/jpeg")):
        text = f"{BEFORE}\n{head}{data}\n{AFTER}"
        (found,) = payloads(text)
        assert text[: found.start] == BEFORE + "\n"
        # A last line without padding that may be a word stays, rather than that a word goes.
        assert text[found.stop :] == f"\n{AFTER}" or len(encoded(size)) % width < 9
        assert found.media_type == kind
        assert size - 6 <= found.size <= size


@given(
    st.integers(24, 1500), st.booleans(), st.sampled_from(["\n", "\r\n"]), st.sampled_from(["", "> ", "  "])
)
def test_mime_bodies(size, attached, newline, quoting):
    message = EmailMessage()
    message.set_content("See the picture that I attached.")
    if attached:
        message.add_attachment(PNG[:size], maintype="image", subtype="png", filename="a.png")
    else:
        message.set_content(PNG[:size], maintype="image", subtype="png")
    text = "".join(f"{quoting}{line}{newline}" for line in message.as_string().splitlines())
    (found,) = payloads(text)
    assert (found.media_type, found.size) == ("image/png", size)
    assert text[found.stop :].startswith(newline)
    assert encoded(size)[:24] not in text[: found.start] + text[found.stop :]
    if attached:
        assert "See the picture" in text[: found.start]
        assert text[found.stop :].strip(" \r\n>").startswith("--")


@pytest.mark.parametrize(
    "head", ["data:image/svg+xml,", "data:image/svg+xml;charset=utf-8,", "DATA:image/svg+xml;utf8,"]
)
def test_percent_encoded_data_urls(head):
    svg = '<svg xmlns="http://www.w3.org/2000/svg"><path d="M 0 0 L 10 10" fill="#fff"/></svg>' * 6
    for open_, close in (('"', '"'), ("url(", ")"), ("", "")):
        text = f"{BEFORE}{open_}{head}{quote(svg, safe='')}{close}{AFTER}"
        (found,) = payloads(text)
        assert text[: found.start] == BEFORE + open_
        assert text[found.stop :] == close + AFTER
        assert (found.media_type, found.size) == ("image/svg+xml", len(svg))


@pytest.mark.parametrize(
    "text",
    [
        "data:,hello",
        "data:text/plain,hello%20world",
        "a data: URL; base64, they say",
        "metadata:image/png;base64,abc",
        "const data:string = 'x'",
        "data:image/svg+xml;utf8,<svg xmlns='http://www.w3.org/2000/svg'/>",
        "Content-Transfer-Encoding: base64\n\nHello there, this is no body of anything.\n",
        "Content-Transfer-Encoding: base64",
        "Content-Transfer-Encoding: 7bit\n\n" + "word" * 20,
        "\n".join(f"{number:064x}" for number in range(20)),
        "\n".join(base64.b64encode(bytes([number] * 32)).decode() for number in range(20)),
        "data:image/png;base64,iVBORw0KGgo=\n" + "f" * 40 + "\n" + "0" * 40,
        "from a.very.long.module.path import something_with_a_long_name_and_more_of_it\n" * 8,
    ],
)
def test_what_is_no_payload_stays(text):
    assert list(payloads(text)) == []


@given(
    st.lists(
        st.one_of(
            st.sampled_from(
                [
                    f"data:image/png;base64,{encoded(60)}",
                    wrapped(encoded(900), 76, "\n"),
                    f" {encoded(300)}\n",
                    "Content-Transfer-Encoding: base64\n\n",
                    "data:image/svg+xml," + "%3Csvg%3E" * 40,
                    "data:;base64,",
                    "=",
                    "DATA:",
                    "\n",
                    "\\n",
                    encoded(48),
                    "%3D",
                    "data:image/png,",
                    '"',
                    "> ",
                ]
            ),
            st.text(max_size=12),
        ),
        max_size=14,
    )
)
def test_payloads_are_in_order_and_what_is_beside_them_stays(pieces):
    text = "".join(pieces)
    end = 0
    for found in payloads(text):
        assert end <= found.start < found.stop <= len(text)
        assert found.size > 0
        end = found.stop
    elided = source_of(Transcript((Message("user", (Text(text),)),), "text"))
    spans = [(found.start, found.stop) for found in payloads(text)]
    kept = "".join(
        text[one:other]
        for one, other in zip(
            [0, *(stop for _, stop in spans)], [*(start for start, _ in spans), len(text)], strict=True
        )
    )
    marked = elided.text
    for place in reversed(elided.marks[::2]):
        stop = next(mark for mark in elided.marks if mark > place)
        marked = marked[:place] + marked[stop + 1 :]
    assert marked == kept


def test_a_json_dump_of_a_payload_is_one_payload():
    mail = wrapped(encoded(1500), 76, "\r\n")
    text = json.dumps({"mail": mail, "next": "value"})
    (found,) = payloads(text)
    assert text[: found.start] + text[found.stop :] == '{"mail": "", "next": "value"}'
    assert found == Payload(found.start, found.stop, "image/png", 1500)


@pytest.mark.parametrize(
    "unit",
    [
        "data:",
        "DATA:a/b,",
        "data:a/b;",
        "data:;a=",
        "data:;base64,",
        "data:a/b;base64," + "A" * 31,
        ";base64,",
        "A",
        "Aa0",
        "A" * 75 + "\n",
        encoded(57) + "\n",
        encoded(57) + "\n===",
        "A" * 64 + "\\n",
        "\\n",
        "%3D",
        "\\/",
        "+/=",
        "Content-Transfer-Encoding: base64\n",
        "Content-Transfer-Encoding: base64\n\nAAAA\n",
        'data:;a="',
        "data:a/b,%20",
        encoded(57) + "\n" + encoded(54) + "\n",
        "data:image/png;base64,\n",
        "> ",
        "aB3" * 14 + "\n",
    ],
)
def test_looking_for_payloads_is_linear(unit):
    begin = time.process_time()
    list(payloads(unit * (300_000 // len(unit))))
    assert time.process_time() - begin < 2
