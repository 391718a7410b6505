"""Source text and a layout → pages: the one way in to rendering."""

from __future__ import annotations

import os
import sys
import threading
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Generic, TypeVar

import numpy as np

from snapshot.messages import Transcript
from snapshot.pages.layout import Layout, layout_for
from snapshot.pages.numba_support import LARGE, can_compile, is_loaded
from snapshot.pages.prepared import PreparedSource, prepare
from snapshot.raster.atlas import Atlas
from snapshot.raster.blit import Blitter, in_whole_bytes, scanline_bytes
from snapshot.raster.compress import Compressor, compressor_for
from snapshot.raster.face import Face, load_face
from snapshot.raster.png import encode_png
from snapshot.raster.user_font import user_face
from snapshot.redaction import Redactor
from snapshot.source.repeats import original_span
from snapshot.source.run_marks import run_marks_in, with_run_marks
from snapshot.source.source import Source, source_of
from snapshot.typeset.grid import Grid, set_pages
from snapshot.typeset.lines import set_lines
from snapshot.typeset.missing_glyphs import uncovered

__all__ = ["Page", "PageSpan", "Typesetter", "render"]


_T = TypeVar("_T")

# Tasks that a long job is cut into for each thread, at the least, and pages that a task may be.
_TASKS, _MOST_IN_TASK = 8, 4


@dataclass(frozen=True)
class Page:
    """One page: its image, and the source text that is on it.

    Attributes:
        number: from 1.
        png: the image, a greyscale PNG.
        width, height: its size in pixels.
        start, stop: half-open span of source text on it; the spans of all pages partition the source.
        tokens: input tokens it is billed by the layout's reader.
        runs: number and text of each run of random characters that has a mark on the page.
    """

    number: int
    png: bytes = field(repr=False)
    width: int
    height: int
    start: int
    stop: int
    tokens: int
    runs: tuple[tuple[int, str], ...] = field(default=(), repr=False)

    @property
    def chars(self) -> int:
        """Source characters on the page."""
        return self.stop - self.start

    @cached_property
    def sha256(self) -> str:
        """SHA-256 of the PNG, in hexadecimal."""
        return sha256(self.png).hexdigest()


@dataclass(frozen=True, slots=True)
class PageSpan:
    """A page that was set but not drawn: its half-open span of source text, and its price in tokens."""

    start: int
    stop: int
    tokens: int


class Typesetter:
    """A layout with its face opened: what turns sources into pages, and pages into text again.

    Args:
        layout: page size, cell and face.
        font: a font file to use before the layout's own face, at the same cell.
        face: the face in place of the one that the layout names, of the layout's cell.

    Raises:
        FontError: a font is not installed, cannot be opened or does not fit.
    """

    def __init__(self, layout: Layout, *, font: str | Path | None = None, face: Face | None = None) -> None:
        self.layout = layout
        self.font = None if font is None else Path(font)
        face = face or load_face(layout.face)
        self.face: Face = face if font is None else user_face(font, face)
        self._source: PreparedSource | None = None  # the last one

    def compressor(self, profile: str) -> Compressor:
        """What compresses the pages of a profile: "default", "fast" or "small".

        Raises:
            SnapshotError: the profile is none of the three.
        """
        layout = self.layout
        return compressor_for(
            profile,
            whole_bytes=in_whole_bytes(self.face),
            page_bytes=layout.height * scanline_bytes(layout.width, self.face),
        )

    def atlas(self, source: Source) -> Atlas:
        """The glyphs that `source` needs."""
        return self._prepared(source).atlas(self.face)

    def folds(self, source: Source) -> dict[str, int]:
        """Characters of `source` that the folds take, by kind of fold."""
        return dict(self._prepared(source).text.counts())

    def code_points(self, source: Source) -> dict[str, int]:
        """Characters of `source` that are printed as code points for want of a glyph, by kind, most first."""
        prepared = self._prepared(source)
        return uncovered(prepared.text, prepared.atlas(self.face))

    def grids(
        self,
        source: Source,
        atlas: Atlas,
        *,
        start: int = 0,
        stop: int | None = None,
        compiled: bool = False,
    ) -> Iterator[Grid]:
        """The pages of `source`, or of a half-open span of it, as glyph numbers.

        They are flowing, across the page or in columns, or in columns that keep lines. From a page's start
        on, pages are those of the whole.
        """
        layout, text = self.layout, self._prepared(source).text
        shape = layout.columns, layout.rows, layout.columns_of_text

        def fit(rows: int) -> int:
            return layout.page_height(rows) // layout.cell[1]

        if layout.text_columns:
            return set_lines(text, atlas, *shape, start=start, stop=stop, fit=fit)
        return set_pages(text, atlas, *shape, start=start, stop=stop, compiled=compiled, fit=fit)

    def measure(self, source: Source, start: int = 0, stop: int | None = None) -> tuple[PageSpan, ...]:
        """The pages that a half-open span of `source` takes, without drawing them.

        Where an earlier call measured from the same start, only the pages are set that it did not know.
        """
        prepared, layout = self._prepared(source), self.layout
        stop = len(source.text) if stop is None else stop
        geometry = self.face, layout.columns, layout.rows, layout.text_columns, layout.flow_columns
        breaks = prepared.breaks.setdefault((geometry, start), [])
        # The page before the last full one is set again: what is cut off at `stop` may reach into one page.
        known = breaks[: max(0, bisect_right(breaks, stop) - 1)]
        ends = list(known)
        rows = layout.rows
        for grid in self.grids(
            source, prepared.atlas(self.face), start=ends[-1] if ends else start, stop=stop
        ):
            ends.append(grid.stop)
            rows = grid.cells.shape[0]
        if len(ends) > len(breaks) + 1:
            breaks[:] = ends[:-1]
        last = layout.billing.tokens(layout.width, layout.page_height(rows))
        full = layout.billing.tokens(layout.width, layout.page_height(layout.rows))
        spans = zip([start, *ends], ends, strict=False)
        return tuple(
            PageSpan(begin, end, last if number == len(ends) else full)
            for number, (begin, end) in enumerate(spans, 1)
        )

    def _prepared(self, source: Source) -> PreparedSource:
        if self._source is None or self._source.text.source is not source:
            self._source = prepare(source)
        return self._source

    def pages(
        self,
        source: Source,
        *,
        start: int = 0,
        stop: int | None = None,
        threads: int | None = None,
        compress: str = "default",
        compiled: bool | None = None,
    ) -> Iterator[Page]:
        """Render `source`, page after page; a few pages are in memory at a time.

        Args:
            source: what to render.
            start, stop: half-open span of its text; all of it by default. From a page's start on, pages are
                those of the whole. Pages are numbered from 1 all the same.
            threads: how many pages are made at once; by default as many as there are processors. The
                bytes do not depend on it.
            compress: what files are squeezed for: "default", "fast" or "small".
            compiled: use the numba kernel or not; by default where it pays. The bytes are the same.

        Raises:
            SnapshotError: `compress` is none of the three.
        """
        compressor = self.compressor(compress)
        stop = len(source.text) if stop is None else stop
        if compiled is None:
            compiled = is_loaded() or stop - start >= LARGE
        compiled = compiled and can_compile()
        atlas = self.atlas(source)
        layout = self.layout
        blitter = Blitter(atlas, layout.width, compiled=compiled)
        local = threading.local()

        def finish(number: int, grid: Grid) -> Page:
            height = layout.page_height(grid.cells.shape[0])
            if not hasattr(local, "scanlines"):
                local.scanlines = np.empty((layout.height, 1 + blitter.row_bytes), np.uint8)
            scanlines = blitter.scanlines(grid.cells, height, into=local.scanlines)
            png = encode_png(scanlines, layout.width, blitter.depth, compressor)
            tokens = layout.billing.tokens(layout.width, height)
            runs = run_marks_in(source, grid.start, grid.stop)
            return Page(number, png, layout.width, height, grid.start, grid.stop, tokens, runs)

        grids = enumerate(self.grids(source, atlas, start=start, stop=stop, compiled=compiled), 1)
        threads = threads or _processors()
        if threads == 1 or stop - start <= 2 * layout.capacity:
            return (finish(number, grid) for number, grid in grids)
        size = (stop - start) // layout.capacity // (_TASKS * threads)
        return _in_order(finish, grids, threads, min(max(1, size), _MOST_IN_TASK))


def _in_order(
    finish: Callable[[int, Grid], Page], grids: Iterator[tuple[int, Grid]], threads: int, size: int
) -> Iterator[Page]:
    """The finished pages in their order, made in threads, a few ahead of the one that is asked for.

    A task is `size` pages one after the other, since a quick page takes hardly longer than the change from
    thread to thread. Threads set pages too: were that left to the thread that asks for pages, there would be
    one more that wants a processor and the interpreter's lock.
    """
    from concurrent.futures import ThreadPoolExecutor

    shared = _Shared(grids, 2 * threads)

    def work() -> list[Page]:
        return [finish(*item) for item in islice(shared, size)]

    with ThreadPoolExecutor(threads) as pool:
        waiting = deque(pool.submit(work) for _ in range(2 * threads))
        made: dict[int, Page] = {}
        number = 1
        try:
            while waiting:
                pages = waiting.popleft().result()
                if pages:
                    made |= {page.number: page for page in pages}
                    waiting.append(pool.submit(work))
                while number in made:
                    yield made.pop(number)
                    number += 1
        finally:
            for future in waiting:
                future.cancel()


class _Shared(Generic[_T]):
    """An iterator that threads take from at the same time, each item once.

    The thread that finds few items left gets `most` more of them, while the others take what there is: one
    waits for another only where nothing is left.
    """

    def __init__(self, items: Iterator[_T], most: int) -> None:
        self._items, self._most = items, most
        self._ready: deque[_T] = deque()
        self._turn = threading.Lock()

    def __iter__(self) -> Iterator[_T]:
        ready = self._ready
        while True:
            if len(ready) <= self._most and self._turn.acquire(blocking=not ready):
                try:
                    more = list(islice(self._items, self._most))
                    ready.extend(more)
                finally:
                    self._turn.release()
                if not more and not ready:
                    return
            try:
                item = ready.popleft()
            except IndexError:  # another thread was quicker
                continue
            yield item


def _processors() -> int:
    """Processors that this process may use."""
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def render(
    source: str | Transcript | Source,
    *,
    model: str | None = None,
    layout: str | Layout | None = None,
    font: str | Path | None = None,
    reasoning: bool = True,
    repeats: bool = False,
    runs: bool = True,
    threads: int | None = None,
    compress: str = "default",
    redact: bool | Redactor = True,
) -> Iterator[Page]:
    """Render a text or a transcript as pages for a model.

    Args:
        source: a text; a transcript; or source text made before, which is taken as it is.
        model: id of the model that will look at the pages, by any route.
        layout: a layout, or the name of one, in place of the model's own.
        font: a font file to use before the layout's own face.
        reasoning: include what the model thought, where `source` is a transcript.
        repeats: print references in place of lines of a transcript that were shown before; spans are then
            those of `source_of(transcript, repeats=True, runs=runs)`, and of the text without marks if not.
        runs: print marks in place of runs of more than 64 random characters, which no reader can be trusted
            with; `Page.runs` has their texts.
        threads: how many pages are made at once; the bytes do not depend on it.
        compress: "default", "fast" (large files, soon done) or "small" (slow); the pixels are the same.
        redact: replace the credentials in a transcript, or a redactor of one's own, which then says how
            many there were; a text, and source text, are taken as they are.

    Raises:
        LayoutError: the model or layout is not known, or the model cannot see images.
        FontError: a font is missing or does not fit.
    """
    if isinstance(source, Transcript):
        if redact:
            from snapshot.redaction import Redactor

            redactor = redact if isinstance(redact, Redactor) else Redactor()
            source = redactor.transcript(source)
        given = source_of(source, reasoning=reasoning, repeats=repeats, runs=repeats and runs)
    else:
        given = Source(source) if isinstance(source, str) else source
    marked = runs and not given.repeats and not isinstance(source, Source)
    printed = with_run_marks(given) if marked else given
    chosen = layout if isinstance(layout, Layout) else layout_for(model, name=layout)
    pages = Typesetter(chosen, font=font).pages(printed, threads=threads, compress=compress)
    return pages if printed is given else (_with_original_span(page, printed) for page in pages)


def _with_original_span(page: Page, printed: Source) -> Page:
    """The page with the span of the text without marks."""
    start, stop = original_span(printed, page.start, page.stop)
    return replace(page, start=start, stop=stop)
