"""The account of a batch of costs: sums and quantiles by model and class, the dearest files, a picture.

Sums and quantiles are a query over the parts, so that no row has to be in memory. Quantiles are those of a
sketch, within a hundredth of the value.
"""

from __future__ import annotations

import tempfile
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from snapshot.batch.packages import daft, parquet
from snapshot.batch.storage import is_googles, open_url
from snapshot.costs.canvas import Canvas

__all__ = ["QUANTILES", "CostTable", "Group", "cost_table", "error_kinds", "picture", "usd"]

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
"""Of which the account tells the values."""
_DEAREST = 10
_CLASSES = ("all", "prose", "code", "JSON", "logs", "CJK")
_SUMS = ("chars", "text_tokens", "page_tokens", "pages", "usd_text", "usd_pages")
_OF_ERRORS = ("path", "error_kind", "error")
_OF_COSTS = ("path", "error", "model", "text_class", *_SUMS, "saved", "price_from")


@dataclass(frozen=True, slots=True)
class Group:
    """What the transcripts of a set come to for one model and class of text.

    Attributes:
        model, text_class: the model's id; the class, or "all".
        files: transcripts that have such text.
        chars, text_tokens, page_tokens, pages: sums.
        usd_text, usd_pages: sums of USD as fresh input, once; None without a price.
        saved: the share of tokens that pages save, by transcript: its quantiles at 5, 25, 50, 75 and 95 %.
        usd: USD of a transcript as text, its quantiles at the same; None without a price.
        price_from: where the price comes from.
    """

    model: str
    text_class: str
    files: int
    chars: int
    text_tokens: int
    page_tokens: int
    pages: int
    usd_text: float | None
    usd_pages: float | None
    saved: tuple[float, ...]
    usd: tuple[float, ...] | None
    price_from: str | None


@dataclass(frozen=True, slots=True)
class CostTable:
    """The account: its groups by model and class, and the dearest transcripts with their rows."""

    groups: tuple[Group, ...]
    dearest: tuple[Mapping[str, Any], ...]

    def as_json(self) -> dict[str, Any]:
        """The account as a JSON object."""
        from dataclasses import asdict

        return {
            "groups": [asdict(group) for group in self.groups],
            "dearest": [dict(row) for row in self.dearest],
        }


def usd(value: float | None) -> str:
    """USD for people; "-" where they are not known."""
    return "-" if value is None else f"{value:,.2f}" if abs(value) >= 1 else f"{value:.4f}"


def cost_table(parts: Sequence[str]) -> CostTable:
    """The account of the costs in parts."""
    with _readable(parts, _OF_COSTS) as paths:
        return _cost_table(paths)


def _cost_table(paths: Sequence[str]) -> CostTable:
    engine = daft()
    col = engine.col
    rows = engine.read_parquet(list(paths)).where(col("error").is_null())
    quantiles = list(QUANTILES)
    grouped = rows.groupby("model", "text_class").agg(
        col("path").count().alias("files"),
        *(col(name).sum() for name in _SUMS),
        col("usd_text").count().alias("priced"),
        col("saved").approx_percentiles(quantiles).alias("saved_at"),
        col("usd_text").approx_percentiles(quantiles).alias("usd_at"),
        col("price_from").max(),
    )
    found = [_group(row) for row in grouped.to_pylist()]
    by_text = {name: at for at, name in enumerate(_CLASSES)}
    found.sort(key=lambda group: (group.model, by_text.get(group.text_class, len(by_text))))
    dearest = (
        rows.where(col("text_class") == "all")
        .select("path", "model", "text_tokens", "page_tokens", "usd_text")
        .sort(
            ["usd_text", "text_tokens", "path", "model"], desc=[True, True, False, False], nulls_first=False
        )
        .limit(_DEAREST)
        .to_pylist()
    )
    return CostTable(tuple(found), tuple(dearest))


def _group(row: Mapping[str, Any]) -> Group:
    priced = row["priced"] > 0
    return Group(
        model=row["model"],
        text_class=row["text_class"],
        files=row["files"],
        chars=row["chars"],
        text_tokens=row["text_tokens"],
        page_tokens=row["page_tokens"],
        pages=row["pages"],
        usd_text=row["usd_text"] if priced else None,
        usd_pages=row["usd_pages"] if priced else None,
        saved=tuple(row["saved_at"]),
        usd=tuple(row["usd_at"]) if priced else None,
        price_from=row["price_from"],
    )


def error_kinds(parts: Sequence[str]) -> list[tuple[str, int, str]]:
    """The kinds of error in parts, the most frequent first: kind, rows, and the first path with it."""
    with _readable(parts, _OF_ERRORS) as paths:
        engine = daft()
        col = engine.col
        rows = (
            engine.read_parquet(list(paths))
            .where(col("error").not_null())
            .groupby("error_kind")
            .agg(col("path").count().alias("count"), col("path").min().alias("first"))
            .to_pylist()
        )
    return sorted(
        ((row["error_kind"], row["count"], row["first"]) for row in rows), key=lambda kind: -kind[1]
    )


@contextmanager
def _readable(parts: Sequence[str], columns: Sequence[str]) -> Generator[Sequence[str]]:
    """Parts that Daft reads: themselves, or of Google's store a copy of the columns, on this machine."""
    if not any(map(is_googles, parts)):
        yield parts
        return
    with tempfile.NamedTemporaryFile(prefix="snapshot-", suffix=".parquet") as copy:
        writer: Any = None
        for part in parts:
            with open_url(part) as file:
                table = parquet().read_table(file, columns=list(columns)).replace_schema_metadata()
            writer = writer or parquet().ParquetWriter(copy.name, table.schema)
            writer.write_table(table)
        writer.close()
        yield [copy.name]


_TEXT, _PAGES, _RULE, _FAINT = "#9aa3ad", "#1f6feb", "#e4e7eb", "#6b7280"
_ROW, _TOP, _LEFT, _PANEL, _GAP = 40, 84, 190, 360, 90


def picture(table: CostTable, title: str) -> Canvas:
    """Bars of tokens as text and as pages by model; beside them quantiles of what is saved by transcript."""
    groups = [group for group in table.groups if group.text_class == "all"]
    bottom = _TOP + _ROW * len(groups)
    canvas = Canvas(_LEFT + 2 * _PANEL + _GAP + 60, bottom + 56)
    canvas.word(24, 26, title, size=17, bold=True)
    right = _LEFT + _PANEL + _GAP
    canvas.word(_LEFT, 56, "Millions of tokens, as text and as pages", size=13, bold=True)
    canvas.word(right, 56, "Tokens saved by transcript: 5, 25, 50, 75, 95 %", size=13, bold=True)
    most = max((max(group.text_tokens, group.page_tokens) for group in groups), default=1) or 1
    low = min(0.0, *(_clipped(group.saved)[0] for group in groups)) if groups else 0.0

    def share(value: float) -> float:
        return right + _PANEL * (value - low) / (1 - low)

    for step in range(-4, 5):
        if step / 4 >= low:
            canvas.line((share(step / 4), _TOP - 6), (share(step / 4), bottom), _RULE)
            canvas.word(
                share(step / 4), bottom + 12, f"{step / 4:.0%}", size=9.5, fill=_FAINT, anchor="middle"
            )
    for at, group in enumerate(groups):
        y = _TOP + _ROW * at
        canvas.word(_LEFT - 12, y + 12, group.model[:28], size=11.5, anchor="end", bold=True)
        dollars = (
            "no price" if group.usd_text is None else f"${usd(group.usd_text)} to ${usd(group.usd_pages)}"
        )
        canvas.word(_LEFT - 12, y + 26, dollars, size=9, fill=_FAINT, anchor="end")
        for offset, tokens, fill in ((6, group.text_tokens, _TEXT), (19, group.page_tokens, _PAGES)):
            width = _PANEL * tokens / most
            canvas.rect(_LEFT, y + offset, width, 11, fill)
            canvas.word(_LEFT + width + 5, y + offset + 5.5, f"{tokens / 1e6:,.2f}", size=9.5)
        first, lower, middle, upper, last = (share(value) for value in _clipped(group.saved))
        canvas.line((first, y + 18), (last, y + 18), _PAGES, 1.5)
        canvas.rect(lower, y + 12, max(1.0, upper - lower), 12, _PAGES)
        canvas.dot(middle, y + 18, 4.5, "#ffffff", _PAGES)
    files = max((group.files for group in groups), default=0)
    canvas.word(
        24, bottom + 40, f"{files:,} transcripts. Text grey, pages blue; quantiles to a hundredth.", size=9.5,
        fill=_FAINT,
    )  # fmt: skip
    return canvas


def _clipped(values: Iterable[float]) -> tuple[float, ...]:
    """Shares as far as the picture goes: pages that cost more than twice the text are at its edge."""
    return tuple(max(-1.0, value) for value in values)
