"""What a request takes before and after, in one figure."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from snapshot.view.content import Share, View
from snapshot.view.harmless import as_html

__all__ = ["summary"]

_WIDTH, _HEIGHT, _GAP = 1000, 26, 2


def summary(view: View) -> str:
    """The figures of a view, and what is odd about it."""
    figures = view.figures
    before, after = figures.tokens_before, figures.tokens_after
    notes = "".join(f"<li>{as_html(note)}</li>" for note in view.notes)
    notes = f'<ul class="notes">{notes}</ul>' if notes else ""
    most = max(before, after, 1)
    same = before == after
    return (
        '<section class="summary" id="summary" aria-label="Tokens before and after">'
        f'<div class="figures">{_figure("before", figures.names[0], before, figures.usd_before)}'
        + ("" if same else f'<span class="arrow" aria-hidden="true">→</span>{_after(view)}')
        + "</div>"
        + _bar("before", figures.before, most)
        + ("" if same else _bar("after", figures.after, most))
        + f'<p class="basis">{as_html(figures.basis)} USD: one request, nothing in the prompt cache.</p>'
        f"{notes}</section>"
    )


def _figure(which: str, name: str, tokens: int, usd: Decimal | None, change: str = "") -> str:
    return (
        f'<div class="figure" id="{which}"><b>{tokens:,}</b> <span>tokens {as_html(name)}</span>'
        f"<small>{money(usd)}{change}</small></div>"
    )


def _after(view: View) -> str:
    figures = view.figures
    before, after = figures.tokens_before, figures.tokens_after
    share = 100 - 100 * after // before if before else 0
    change = f" · {share}% less" if share > 0 else f" · {-share}% more" if share < 0 else ""
    return _figure("after", figures.names[1], after, figures.usd_after, change)


def money(usd: Decimal | None) -> str:
    """An amount of USD in a few digits; words where it is not known."""
    if usd is None:
        return "price not known"
    return f"${usd:,.2f}" if usd >= 1 else f"${usd:.4f}" if usd < Decimal("0.01") else f"${usd:.3f}"


def _bar(name: str, shares: Sequence[Share], most: int) -> str:
    """A bar of the parts of a request; its length is its tokens. Names and figures stand under it."""
    x = 0.0
    boxes: list[str] = []
    for share in shares:
        width = _WIDTH * share.tokens / most
        shown = max(1.0, width - _GAP)
        boxes.append(
            f'<rect class="{_class(share)}" x="{x:.1f}" width="{shown:.1f}" height="{_HEIGHT}">'
            f"<title>{as_html(share.name)}: {share.tokens:,} tokens</title></rect>"
        )
        x += width
    legend = "".join(
        f'<li><i class="{_class(share)}"></i>{as_html(share.name)} <b>{share.tokens:,}</b></li>'
        for share in shares
    )
    return (
        f'<div class="bar-row"><svg class="shares" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
        f'preserveAspectRatio="none" role="img" aria-label="{name}">'
        f'{"".join(boxes)}</svg><ul class="legend">{legend}</ul></div>'
    )


def _class(share: Share) -> str:
    name = share.name.split()[0]
    return f"share {share.kind} of-{name if name.isalpha() else 'text'}"
