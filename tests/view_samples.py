"""Conversations for the view: with what would break out of an HTML file, and long ones."""

from __future__ import annotations

import json
from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser

from snapshot.messages import Message, Text, ToolCall, ToolResult, Transcript
from snapshot.view.content import View
from snapshot.view.document import html_of
from snapshot.view.session_view import view_of_conversation
from tests.conversations import long_conversation

MODEL = "claude-opus-4-8"
MIXED = """\
def f(x):
        return 1
\tx = 'é漢字' 🚀👩‍💻 and   spaces
אבג abc عربى 12
a\u0301e\u0301 ⟦21B5⟧ ↵ end"""
# Each would set `window.broken`, or fetch something, were it taken for anything but text.
HOSTILE = (
    "</script><script>window.broken=1</script>",
    "</style><style>*{background:url(https://example.invalid/x)}</style>",
    "<!--<script>window.broken=2</script>",
    "--><script>window.broken=3</script>",
    "</pre></article></section></main><img src=x onerror=window.broken=4>",
    "\" onmouseover=\"window.broken=5\" x=\"",
    "' onfocus='window.broken=6' autofocus='",
    "`onload=window.broken=7`",
    "</title><svg onload=window.broken=8>",
    "<a href=\"javascript:window.broken=9\" id=\"top\">press</a>",
    "<iframe srcdoc=\"<script>parent.broken=10</script>\"></iframe>",
    "<meta http-equiv=refresh content=\"0;url=https://example.invalid/\">",
    "<base href=https://example.invalid/><link rel=stylesheet href=https://example.invalid/x.css>",
    "<math><mtext><mglyph><style><!--</style><img title=\"--&gt;&lt;img src=1 onerror=broken=11&gt;\">",
    "]]><![CDATA[<script>window.broken=12</script>",
    "&lt;script&gt;window.broken=13&lt;/script&gt; &amp;amp; &#60;",
    "$title ${script} $$ %s {0} \\u003cscript\\u003e",
    "<template><script>window.broken=14</script><noscript><p title=\"</noscript><img onerror=broken=15>",
    "nul \x00 bell \x07 escape \x1b[31m back \x08 form \x0c vertical \x0b return \r delete \x7f c1 \x85 \x9b",
    "bidi \u202e txet desrever \u202c \u2066 isolated \u2069 \u200f mark \u061c",
    "hidden \u200b\u2060\ufeff\u00ad\u2063 tags \U000e0041\U000e0042\U000e007f lines \u2028 and \u2029",
    "no characters \ufdd0 \ufffe \U0001ffff",
    "astral 🚀👩‍💻 漢字 é e\u0301 אבג 1 abc عربى",
)  # fmt: skip


def hostile_conversation(turns: int = 6) -> Transcript:
    """A conversation in which all that a side can choose is hostile: words, names, arguments, results."""
    messages = [Message("system", (Text("Be brief. " + HOSTILE[0]),))]
    for turn in range(turns):
        some = [HOSTILE[(turn * 5 + at) % len(HOSTILE)] for at in range(len(HOSTILE))]
        messages.append(Message("user", (Text("\n".join(some)),)))
        call = ToolCall(
            f"id{turn}{HOSTILE[5]}", HOSTILE[turn % 10], json.dumps({some[0]: some[1], "n": some})
        )
        messages.append(Message("assistant", (Text(some[2]), call)))
        lines = tuple(f"{number}: {text}" for number, text in enumerate(some * 6))
        messages.append(Message("tool", (ToolResult(call.id, (Text("\n".join(lines)),), turn % 2 == 1),)))
    messages.append(Message("assistant", (Text("\n".join(HOSTILE)),)))
    return Transcript(tuple(messages), "anthropic", MODEL)


def hostile_view() -> View:
    """The view of a hostile conversation, hostile in its title too."""
    return view_of_conversation(hostile_conversation(), model=MODEL, title=HOSTILE[0] + HOSTILE[5])


def long_view(turns: int, size: int = 400) -> View:
    """The view of a long plain conversation."""
    return view_of_conversation(long_conversation(turns, size=size), model=MODEL, title="long")


class Parsed(HTMLParser):
    """An HTML file as a browser has it: elements with attributes, and the text of each.

    Attributes:
        elements: tag, attributes and the text in it, in order of their ends.
    """

    def __init__(self, document: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None], str]] = []
        self._open: list[tuple[str, dict[str, str | None], list[str]]] = []
        self.feed(document)
        self.close()

    def handle_starttag(self, tag, attrs):
        if tag in ("meta", "link", "img", "br", "input"):
            self.elements.append((tag, dict(attrs), ""))
        else:
            self._open.append((tag, dict(attrs), []))

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs), ""))

    def handle_endtag(self, tag):
        opened, attributes, pieces = self._open.pop()
        assert opened == tag, f"{opened} is ended by {tag}"
        text = "".join(pieces)
        self.elements.append((opened, attributes, text))
        if self._open:
            self._open[-1][2].append(text)

    def handle_data(self, data):
        if self._open:
            self._open[-1][2].append(data)

    def all(self, tag: str, kind: str = "") -> list[tuple[dict[str, str | None], str]]:
        """Attributes and text of all elements with this tag and, where one is given, of this class."""
        return [
            (attributes, text)
            for name, attributes, text in self.elements
            if name == tag and (not kind or kind in (attributes.get("class") or "").split())
        ]


def parsed(view: View) -> tuple[str, Parsed]:
    document = html_of(view)
    return document, Parsed(document)


def checked_document(view: View) -> Parsed:
    """A file with one script and one style, which its policy names, and nothing else that runs or loads."""
    document, found = parsed(view)
    document.encode("utf-8")
    ((_, script),) = found.all("script")
    ((_, style),) = found.all("style")
    policy = next(
        a["content"] for a, _ in found.all("meta") if a.get("http-equiv") == "Content-Security-Policy"
    )
    digests = [b64encode(sha256(text.encode("utf-8")).digest()).decode() for text in (script, style)]
    assert policy == (
        f"default-src 'none'; img-src data:; script-src 'sha256-{digests[0]}'; "
        f"style-src 'sha256-{digests[1]}'; base-uri 'none'; form-action 'none'"
    )
    assert document.index("Content-Security-Policy") < document.index("<title>")
    for tag, attributes, _ in found.elements:
        assert tag not in ("iframe", "object", "embed", "base", "template", "noscript", "math")
        for name, value in attributes.items():
            assert not name.startswith("on")
            assert name != "style"
            if name in ("src", "href", "srcset", "action", "data", "poster"):
                assert (value or "").startswith(("data:", "#"))
    ids = [attributes["id"] for _, attributes, _ in found.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    links = [attributes["href"] for attributes, _ in found.all("a")]
    assert {link.removeprefix("#") for link in links if link} <= set(ids)
    return found
