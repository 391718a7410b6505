"""A view as one HTML file: style, script and images stand in it, and a policy that lets nothing else be
loaded or run.

All that comes from a conversation is escaped (`snapshot.view.harmless`). The policy names the one style and
the one script by their digests, so that even what slipped through an escape would not run.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator, Sequence
from functools import cache
from hashlib import sha256
from html import escape
from importlib.resources import files
from itertools import groupby
from string import Template

import snapshot
from snapshot.pages.manifest import MOST_PIXELS
from snapshot.parts.media import image_size, media_type_of
from snapshot.source.marks import FIELD
from snapshot.view.cells import CellRun
from snapshot.view.content import Block, PageBlock, PictureBlock, Section, TextBlock, View
from snapshot.view.harmless import as_html, visible
from snapshot.view.outline import Entry, entries_of, snippet
from snapshot.view.summary import summary

__all__ = ["html_of"]

_SCRIPTS = ("resample.js", "pages.js", "search.js", "room.js")
# Pictures that a browser shows without running anything in them.
_SHOWN = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp", "image/avif"})
_MOST_IN_PICTURE = 8 << 20  # bytes


def html_of(view: View, *, report: str = "") -> str:
    """The view as an HTML file.

    Args:
        view: what it shows.
        report: HTML of what was verified, to stand above the pages.
    """
    script, style = _script(), _asset("view.css")
    entries = list(entries_of(view.pages))
    whom = f"{view.model} · {view.reader}" if view.model else view.reader
    return Template(_asset("view.html")).substitute(
        policy=policy(script, style),
        version=escape(snapshot.__version__),
        title=as_html(view.title),
        whom=as_html(whom),
        style=style,
        script=script,
        resize=_resize_switch(view),
        outline=_outline(view, entries),
        summary=summary(view),
        report=report,
        sections="\n".join(_section(section, entries) for section in view.sections),
    )


def policy(script: str, style: str) -> str:
    """The Content-Security-Policy of a file with this script and this style and nothing else."""
    return (
        f"default-src 'none'; img-src data:; script-src '{_digest(script)}'; style-src '{_digest(style)}'; "
        "base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode('utf-8')).digest()).decode('ascii')}"


@cache
def _asset(name: str) -> str:
    """A file beside this one, with newlines as a browser has them when it takes the digest."""
    return files("snapshot.view").joinpath(name).read_text(encoding="utf-8").replace("\r\n", "\n")


@cache
def _script() -> str:
    return f'(() => {{\n"use strict";\n{"".join(map(_asset, _SCRIPTS))}}})();\n'


# --- sections


def _section(section: Section, entries: Sequence[Entry]) -> str:
    by_page = {number: list(group) for number, group in groupby(entries, key=lambda entry: entry.page)}
    body: list[str] = []
    for number, block in enumerate(section.blocks):
        match block:
            case PageBlock():
                body.append(_page(block, by_page.get(block.number, [])))
            case TextBlock():
                body.append(_text(block, f"{section.id}-{number}"))
            case PictureBlock():
                body.append(_picture(block, f"{section.id}-{number}"))
    return (
        f'<section class="part" id="{section.id}"><h2>{as_html(section.title)}'
        f"<small>{as_html(section.about)}</small></h2>\n" + "\n".join(body) + "\n</section>"
    )


def _text(block: TextBlock, name: str) -> str:
    """A text that the model gets as text; HTML drops the newline behind <pre>."""
    return (
        f'<article class="text-block {block.kind}" id="{name}"><h3><span class="kind">{as_html(block.title)}'
        f"</span><small>{_tokens(block.tokens)}</small></h3>"
        f'<pre class="text" dir="auto">\n{as_html(block.text)}</pre></article>'
    )


def _picture(block: PictureBlock, name: str) -> str:
    shown = ""
    if block.data:
        shown = _img(block.data, block.title, most=_MOST_IN_PICTURE)
    return (
        f'<article class="picture" id="{name}"><h3><span class="kind">image</span><small>'
        f"{as_html(block.title)} · {_tokens(block.tokens)}</small></h3>{shown}</article>"
    )


def _img(data: bytes, alt: str, *, most: int, more: str = "") -> str:
    """An image from its own bytes; a few words where a browser should not open it."""
    media_type = media_type_of(data)
    size = image_size(data)
    if media_type not in _SHOWN or len(data) > most or (size is not None and size[0] * size[1] > MOST_PIXELS):
        return '<p class="absent">not shown: too large, or of a type that is not opened here</p>'
    source = f"data:{media_type};base64,{b64encode(data).decode('ascii')}"
    return f'<img alt="{as_html(alt)}" decoding="async"{more} src="{source}">'


def _page(page: PageBlock, entries: Sequence[Entry]) -> str:
    chars = len(page.text)
    facts = [f"{page.width:,} × {page.height:,} px", _tokens(page.tokens)]
    if chars:
        facts.append(f"{chars:,} characters")
        facts.append(f"{chars / max(1, page.tokens):.1f} a token")
    if page.seen != (page.width, page.height):
        facts.append(f"resized to {page.seen[0]:,} × {page.seen[1]:,}")
    image = '<p class="absent">no image</p>'
    if page.png:
        size = f' width="{page.width}" height="{page.height}"'
        image = _img(page.png, f"page {page.number}", most=1 << 26, more=size)
    note = f'<p class="note">This page {as_html(page.note)}.</p>' if page.note else ""
    attributes = {
        "id": f"page-{page.number}",
        "data-cell": f"{page.cell[0]} {page.cell[1]}",
        "data-columns": str(page.columns),
        "data-seen": f"{page.seen[0]} {page.seen[1]}",
        "data-stream": str(page.stream),
        "data-runs": _runs(page.runs),
    }
    spelled = " ".join(f'{name}="{value}"' for name, value in attributes.items())
    return (
        f'<article class="page" {spelled}><h3><a href="#page-{page.number}">Page {page.number}</a>'
        f"<small>{' · '.join(facts)}</small></h3>{note}"
        f'<div class="pair"><figure><div class="sheet">{image}'
        f'<svg viewBox="0 0 {page.width} {page.height}" preserveAspectRatio="none" aria-hidden="true">'
        '<path class="hits"/><path class="lit"/><path class="now"/></svg></div></figure>'
        f'<div class="beside"><pre class="text" dir="auto" tabindex="0">\n{_marked(page, entries)}</pre>'
        "</div></div></article>"
    )


def _marked(page: PageBlock, entries: Sequence[Entry]) -> str:
    """The text of a page with its entries as elements."""
    text, at = page.text, 0
    pieces: list[str] = []
    for number, entry in enumerate(entries):
        stop = entries[number + 1].offset if number + 1 < len(entries) else len(text)
        body = entry.offset + entry.head
        pieces += (
            _fields(page, at, entry.offset),
            f'<span class="entry {entry.kind}" id="{_name(entry)}"><b>',
            as_html(text[entry.offset : body]),
            "</b>",
            _fields(page, body, stop),
            "</span>",
        )
        at = stop
    pieces.append(_fields(page, at, len(text)))
    return "".join(pieces)


def _fields(page: PageBlock, start: int, stop: int) -> str:
    """A span of a page's text, with the names of arguments on lines of their own."""
    pieces: list[str] = []
    for mark in page.marks:
        if start <= mark < stop and page.text[mark] == FIELD:
            pieces += (as_html(page.text[start:mark]), "<i>", FIELD, "</i>")
            start = mark + 1
    return "".join(pieces) + as_html(page.text[start:stop])


def _name(entry: Entry) -> str:
    return f"p{entry.page}-{entry.offset}"


def _runs(runs: Sequence[CellRun]) -> str:
    """Runs as numbers, four each: cells and units since the end of the run before, cells, units."""
    cell = unit = 0
    numbers: list[int] = []
    for run in runs:
        numbers += (run.cell - cell, run.start - unit, run.cells, run.units)
        cell, unit = run.cell + run.cells, run.start + run.units
    return " ".join(map(str, numbers))


def _tokens(count: int) -> str:
    return f"{count:,} token{'s' * (count != 1)}"


def _resize_switch(view: View) -> str:
    changed = sum(page.seen != (page.width, page.height) for page in view.pages)
    if not view.pages:
        return ""
    if not changed:
        why = "The provider leaves every page as it is."
        return f'<span class="quiet" id="as-sent" title="{why}">seen as sent</span>'
    return (
        '<button type="button" id="resize" aria-pressed="false" '
        f'title="{changed} of {len(view.pages)} pages are resized by the provider (r)">as resized</button>'
    )


# --- outline


def _outline(view: View, entries: Sequence[Entry]) -> str:
    by_page = {number: list(group) for number, group in groupby(entries, key=lambda entry: entry.page)}
    return "\n".join(
        f'<div class="group"><a class="top" href="#{section.id}">{as_html(section.title)}</a>'
        f"<ol>{''.join(_outlined(section, by_page))}</ol></div>"
        for section in view.sections
    )


def _outlined(section: Section, by_page: dict[int, list[Entry]]) -> Iterator[str]:
    for number, block in enumerate(section.blocks):
        if isinstance(block, PageBlock):
            inner = "".join(
                _link(_name(entry), entry.kind, entry.title, entry.words)
                for entry in by_page.get(block.number, ())
            )
            yield (
                f'<li class="of-page"><a class="to-page" href="#page-{block.number}">Page {block.number}'
                f'<span class="count"></span></a><ol>{inner}</ol></li>'
            )
        else:
            yield _link(f"{section.id}-{number}", *_described(block))


def _described(block: Block) -> tuple[str, str, str]:
    """Kind, title and a few words of a block that is no page."""
    if isinstance(block, TextBlock):
        return block.kind, block.title, snippet(block.text)
    return "other", "image", block.title if isinstance(block, PictureBlock) else ""


def _link(target: str, kind: str, title: str, words: str) -> str:
    # Words are in an element of their own direction: none can turn what stands beside them around.
    return (
        f'<li><a class="{kind}" href="#{target}"><b>{escape(visible(title))}</b> '
        f"<bdi>{escape(visible(words))}</bdi></a></li>"
    )
