"""What was verified of pages, as a part of their view: checks, what is misread, strings at risk."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Iterator
from io import BytesIO

import numpy as np
from numpy.typing import NDArray

from snapshot.legibility.verify import STRESS, Verdict
from snapshot.view.harmless import as_html

__all__ = ["report_of"]

_ZOOM = 5
_SHOWN = 40


def report_of(verdict: Verdict) -> str:
    """The report as a piece of HTML; open where pages were refused, folded where they passed."""
    passed = verdict.passed
    whom = f"{verdict.model} ({verdict.reader})" if verdict.model else verdict.reader
    cell = " × ".join(f"{side:.3g}" for side in verdict.cell)
    count = len(verdict.checks)
    fine = sum(check.passed for check in verdict.checks)
    unsure = sum(check.verdict == "unsure" for check in verdict.checks)
    said = f"all {count} checks passed" if passed else f"{count - fine} of {count} checks failed"
    if passed and unsure:
        said = f"{count - unsure} of {count} checks passed, {unsure} unsure"
    checks = ((_mark(item.verdict), item.name, as_html(item.says)) for item in verdict.checks)
    body = [
        f"<p>For {as_html(whom)}; a character is seen on {cell} pixels.</p>",
        _table((), checks),
        *_kinds(verdict),
        *_misread(verdict),
        *_ocr(verdict),
        *_risks(verdict),
        *_basis(verdict),
    ]
    mark = f'<span class="{"yes" if passed else "no"}">{"Verified" if passed else "Refused"}</span>'
    return (
        f'<details class="report" id="report"{"" if passed else " open"}><summary><h2>{mark}'
        f"<small>{said}</small></h2></summary>\n" + "\n".join(body) + "\n</details>"
    )


def _mark(verdict: str) -> str:
    kind = {"passed": "yes", "failed": "no"}.get(verdict, "unsure")
    return f'<span class="{kind}">{verdict}</span>'


def _table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A table of cells that are HTML already."""
    head = "".join(f"<th>{cell}</th>" for cell in heads)
    body = "\n".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table>{f'<tr>{head}</tr>' if head else ''}\n{body}</table>"


def _kinds(verdict: Verdict) -> Iterator[str]:
    kinds = [score for score in verdict.kinds if score.chars]
    yield "<h3>What is left of the text as the model sees it</h3>"
    if all(score.right == score.chars for score in kinds):
        chars = sum(score.chars for score in kinds)
        yield f"<p>All of it: each of {chars:,} characters of words and strings is told from all others.</p>"
    else:
        rows = (
            (
                score.kind,
                f"{score.chars:,}",
                f"{score.right / score.chars:.4f}",
                f"{score.strings:,}",
                f"{score.recall:.4f}",
            )
            for score in kinds
        )
        yield _table(("kind", "characters", "read rightly", "words and strings", "exact"), rows)
    yield (
        "<p><small>By the nearest-glyph reader, who knows the face and sees without noise: an upper bound of "
        "what a model reads. What it misreads is gone.</small></p>"
    )
    if verdict.confused:
        pairs = ", ".join(f"{_char(a)} → {_char(b)} ({count:,})" for a, b, count in verdict.confused)
        of = f", on {verdict.stressed} of the pages," if verdict.stressed < verdict.pages else ""
        yield f"<p>At {STRESS:g} of that size{of} it takes most often: {pairs}.</p>"


def _misread(verdict: Verdict) -> Iterator[str]:
    """The worst of the cells that are misread; nothing where none is."""
    cells = [cell for cell in verdict.worst if cell.misread]
    if not cells:
        return
    yield "<h3>Cells that are misread</h3>"
    yield '<div class="cells">'
    for cell in cells:
        where = f'<a href="#page-{cell.page}">page {cell.page}</a>, row {cell.row}, column {cell.column}'
        image = f'<img alt="{as_html(cell.char)} and its neighbours" src="{_picture(cell.picture)}">'
        caption = f"{_char(cell.char)} read as {_char(cell.rival)}<br>{where}"
        yield f"<figure>{image}<figcaption>{caption}</figcaption></figure>"
    yield "</div>"
    yield "<p><small>In the middle of each picture, enlarged; the worst one of each character.</small></p>"


def _ocr(verdict: Verdict) -> Iterator[str]:
    if not verdict.ocr:
        return
    yield "<h3>What a neural reader makes of eight rows</h3>"
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


def _risks(verdict: Verdict) -> Iterator[str]:
    yield "<h3>Strings that context does not correct</h3>"
    if not verdict.risks:
        yield "<p>None were found.</p>"
        return
    held = sum(risk.held for risk in verdict.risks)
    yield f"<p>{len(verdict.risks):,} strings; {held:,} of them also travel as text. The riskiest:</p>"
    rows = (
        (
            f'<button type="button" class="find"><code>{as_html(risk.text)}</code></button>',
            risk.kind,
            f'<a href="#page-{risk.page}">{risk.page}</a>' if risk.page else "-",
            '<span class="no">misread</span>' if risk.lost else "",
            "as text" if risk.held else "on the page only",
        )
        for risk in verdict.risks[:_SHOWN]
    )
    yield _table(("string", "kind", "page", "", "travels"), rows)


def _basis(verdict: Verdict) -> Iterator[str]:
    yield "<h3>What is known of the reader</h3>"
    for name, found in (("Text", verdict.expected), ("Hashes", verdict.hashes)):
        if found is None:
            yield f"<p>{name}: no trial is published.</p>"
            continue
        least = "at least " if found.at_least else ""
        sources = ", ".join(dict.fromkeys(trial.source for trial in found.trials))
        said = as_html(f"{found.basis}. Source: {sources}.")
        yield f"<p>{name}: recall of {least}{found.recall:.2f}. {said}</p>"


def _char(char: str) -> str:
    return f"<code>{as_html(char)}</code>" if char else "nothing"


def _picture(grey: NDArray[np.uint8]) -> str:
    """Grey values as a PNG that stands in the page itself, enlarged."""
    from PIL import Image

    out = BytesIO()
    Image.fromarray(grey.repeat(_ZOOM, axis=0).repeat(_ZOOM, axis=1)).save(out, "PNG", optimize=True)
    return f"data:image/png;base64,{b64encode(out.getvalue()).decode('ascii')}"
