"""A verdict as a page of HTML that needs nothing else: checks, recall, the worst cells as pictures, risks."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable
from html import escape
from io import BytesIO

import numpy as np
from numpy.typing import NDArray

from snapshot.legibility.verify import STRESS, Verdict

__all__ = ["as_html"]

_ZOOM = 5
_SHOWN = 40
_STYLE = """\
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem;
color: #222 }
h1 { font-size: 1.5rem } h2 { font-size: 1.15rem; margin-top: 2rem }
table { border-collapse: collapse; width: 100% } td, th { padding: .3rem .6rem; text-align: left;
border-bottom: 1px solid #e4e7eb; vertical-align: top } th { font-weight: 600; white-space: nowrap }
code { font-size: .95em; overflow-wrap: anywhere }
.yes { color: #0a7d53 } .no { color: #c0262d; font-weight: 600 }
.cells { display: flex; flex-wrap: wrap; gap: 1rem } figure { margin: 0 } figcaption { font-size: .8rem }
img { image-rendering: pixelated; border: 1px solid #c9ced4; display: block } .note { color: #6b7280 }"""


def as_html(verdict: Verdict) -> str:
    """The report; one file, no script, nothing to fetch."""
    title = f"{verdict.folder.name}: {'verified' if verdict.passed else 'refused'}"
    whom = f"{verdict.model} ({verdict.reader})" if verdict.model else verdict.reader
    pages = f"{verdict.pages} page{'s' * (verdict.pages != 1)} for {escape(whom)}"
    cell = " × ".join(f"{side:.3g}" for side in verdict.cell)
    checks = ((_mark(item.passed), f"<b>{item.name}</b>", escape(item.says)) for item in verdict.checks)
    body = [
        f"<h1>{escape(title)}</h1>",
        f"<p>{pages}; a character is seen on {cell} pixels.</p>",
        _table((), checks),
        *_kinds(verdict),
        *_worst(verdict),
        *_ocr(verdict),
        *_risks(verdict),
        *_basis(verdict),
    ]
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f"<style>\n{_STYLE}\n</style></head><body>\n" + "\n".join(body) + "\n</body></html>\n"
    )


def _mark(passed: bool) -> str:
    return '<span class="yes">passed</span>' if passed else '<span class="no">failed</span>'


def _table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A table of cells that are HTML already."""
    head = "".join(f"<th>{cell}</th>" for cell in heads)
    body = "\n".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table>{f'<tr>{head}</tr>' if head else ''}\n{body}</table>"


def _kinds(verdict: Verdict) -> Iterable[str]:
    rows = (
        (
            score.kind,
            f"{score.chars:,}",
            f"{score.right / score.chars:.4f}",
            f"{score.strings:,}",
            f"{score.recall:.4f}",
        )
        for score in verdict.kinds
        if score.chars
    )
    yield "<h2>What is left of each kind of text, as the model sees it</h2>"
    yield _table(("kind", "characters", "read rightly", "words and strings", "exact"), rows)
    yield (
        '<p class="note">By the nearest-glyph reader, who knows the face and sees without noise: an upper '
        "bound of what a model reads. What it misreads is gone.</p>"
    )
    if verdict.confused:
        pairs = ", ".join(f"{_char(a)} → {_char(b)} ({count:,})" for a, b, count in verdict.confused)
        yield f"<p>At {STRESS:g} of that size it takes most often: {pairs}.</p>"


def _worst(verdict: Verdict) -> Iterable[str]:
    if not verdict.worst:
        return
    yield "<h2>The worst cells</h2>"
    yield '<div class="cells">'
    for cell in verdict.worst:
        said = f"read as {_char(cell.rival)}" if cell.misread else f"nearest to {_char(cell.rival)}"
        where = f"page {cell.page}, row {cell.row}, column {cell.column}"
        image = f'<img alt="{escape(cell.char)} and its neighbours" src="{_picture(cell.picture)}">'
        caption = f"{_char(cell.char)} {said}, margin {cell.margin:.0f}<br>{where}"
        yield f"<figure>{image}<figcaption>{caption}</figcaption></figure>"
    yield "</div>"
    yield (
        '<p class="note">In the middle of each picture, enlarged. The margin is the difference to the next '
        "glyph in grey levels of 255.</p>"
    )


def _ocr(verdict: Verdict) -> Iterable[str]:
    if not verdict.ocr:
        return
    yield "<h2>What a neural reader makes of eight rows</h2>"
    rows = (
        (
            f"{factor:g}",
            f"{reading.error_rate:.3f}",
            f"{reading.exact} of {reading.strings}",
            ", ".join(f"{_char(a)} → {_char(b)} ({count})" for a, b, count in reading.confused[:10]),
        )
        for factor, reading in verdict.ocr.items()
    )
    yield _table(("shrunk by", "character error rate", "exact strings", "taken for another"), rows)


def _risks(verdict: Verdict) -> Iterable[str]:
    yield "<h2>Strings that context does not correct</h2>"
    if not verdict.risks:
        yield "<p>None were found.</p>"
        return
    held = sum(risk.held for risk in verdict.risks)
    yield f"<p>{len(verdict.risks):,} strings; {held:,} of them also travel as text. The riskiest:</p>"
    rows = (
        (
            f"<code>{escape(risk.text)}</code>",
            risk.kind,
            str(risk.page) if risk.page else "-",
            '<span class="no">misread</span>' if risk.lost else "",
            "as text" if risk.held else "on the page only",
        )
        for risk in verdict.risks[:_SHOWN]
    )
    yield _table(("string", "kind", "page", "", "travels"), rows)


def _basis(verdict: Verdict) -> Iterable[str]:
    yield "<h2>What is known of the reader</h2>"
    for name, found in (("Text", verdict.expected), ("Hashes", verdict.hashes)):
        if found is None:
            yield f"<p>{name}: no trial is published.</p>"
            continue
        least = "at least " if found.at_least else ""
        sources = ", ".join(dict.fromkeys(trial.source for trial in found.trials))
        said = escape(f"{found.basis}. Source: {sources}.")
        yield f"<p>{name}: recall of {least}{found.recall:.2f}. {said}</p>"


def _char(char: str) -> str:
    return f"<code>{escape(char)}</code>" if char else "nothing"


def _picture(grey: NDArray[np.uint8]) -> str:
    """Grey values as a PNG that stands in the page itself, enlarged."""
    from PIL import Image

    out = BytesIO()
    Image.fromarray(grey.repeat(_ZOOM, axis=0).repeat(_ZOOM, axis=1)).save(out, "PNG", optimize=True)
    return f"data:image/png;base64,{b64encode(out.getvalue()).decode('ascii')}"
