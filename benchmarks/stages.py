"""The stages of rendering, each apart, and the whole beside its floor: the compressor alone."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from itertools import count

import numpy as np

import snapshot
from benchmarks.measure import Former, Row, Variant, ascii_of, by_class, least, mixed_of, text_of, transcripts
from benchmarks.rivals import careful_pillow, naive_pillow
from snapshot.pages.layout import layout_for
from snapshot.pages.readback import PageReader
from snapshot.pages.render import Typesetter
from snapshot.raster.blit import Blitter
from snapshot.raster.compress import PROFILES
from snapshot.source.source import Source, source_of
from snapshot.typeset.grid import Grid, set_pages

__all__ = [
    "beside_former", "classes", "readers", "reading", "rivals", "sent", "sizes", "text_stages", "wholes",
]  # fmt: skip

# Pages that the slowest compressors are measured on.
_SAMPLE = 8
_NUMBERS = count()


def reading() -> Iterator[Row]:
    """From files to source text; characters are bytes here."""
    for path in transcripts():
        data = path.read_bytes()
        load = least(lambda data=data: snapshot.load(data))
        yield Row("read transcript", path.name, len(data), *load)
        transcript = snapshot.load(data)
        yield Row("read source", path.name, len(data), *least(lambda it=transcript: source_of(it)))


def text_stages(chars: int) -> Iterator[Row]:
    """Typesetting of three kinds of text, and reading a page back."""
    setting = Variant(2, 9)
    layout = setting.layout
    for name, text in (("real", text_of(chars)), ("ASCII", ascii_of(chars)), ("mixed", mixed_of(chars))):
        source = Source(text)
        atlas = setting.atlas(source)

        for compiled in (False, True):

            def typeset(source=source, atlas=atlas, compiled=compiled) -> int:
                grids = set_pages(source, atlas, layout.columns, layout.rows, compiled=compiled)
                return sum(1 for _ in grids)

            yield Row("typeset", f"{name}, {'numba' if compiled else 'numpy'}", chars, *least(typeset))
    source = Source(text_of(layout.capacity))
    page = next(setting.pages(source, threads=1))
    reader = PageReader(layout, setting.atlas(source))
    yield Row("read back", "one page", page.chars, *least(lambda: reader.read(page.png)))


def wholes(depth: int, width: int, chars: int, profiles: tuple[str, ...] = PROFILES) -> Iterator[Row]:
    """Raster, compressor and whole of one cell width and depth."""
    setting, source = Variant(depth, width), Source(text_of(chars))
    layout, atlas = setting.layout, setting.atlas(source)
    grids = list(set_pages(source, atlas, layout.columns, layout.rows))
    for compiled in (False, True):
        blitter = Blitter(atlas, layout.width, compiled=compiled)
        into = np.empty((layout.height, 1 + blitter.row_bytes), np.uint8)

        def raster(blitter=blitter, into=into) -> None:
            for grid in grids:
                blitter.scanlines(grid.cells, layout.height, into=into)

        yield Row("raster", f"{setting.name}, {'numba' if compiled else 'numpy'}", chars, *least(raster))
    blitter = Blitter(atlas, layout.width)
    pages = [blitter.scanlines(grid.cells, layout.page_height(len(grid.cells))) for grid in grids]
    for profile in profiles:
        yield from _profile(setting, source, grids, pages, profile)


def _profile(
    setting: Variant, source: Source, grids: list[Grid], pages: list[np.ndarray], profile: str
) -> Iterator[Row]:
    """The compressor of a profile alone, and all that leads to it with it."""
    compressor = setting.compressor(profile)
    name = f"{setting.name}, {profile}"
    step = -(-len(pages) // _SAMPLE)
    chosen, chars = pages, len(source.text)
    if profile == "small":  # so slow that a sample is enough, and that the rest of the work does not show
        chosen, chars = pages[::step], sum(grid.stop - grid.start for grid in grids[::step])

    def compress(some: list[np.ndarray] = chosen) -> int:
        return sum(len(compressor.zlib_stream(page.data, compressor.level)) for page in some)

    share = compress(pages[::step]) / sum(len(zlib.compress(page.data, 6)) for page in pages[::step])
    floor = least(compress, runs=3 if profile == "small" else 5)
    yield Row("compress", f"{name} ({compressor.library})", chars, *floor, share, "bytes of zlib 6")
    if profile == "small":
        return

    def whole(threads: int) -> int:
        made = setting.pages(source, threads=threads, compress=profile, compiled=True)
        return sum(len(page.png) for page in made)

    single = least(lambda: whole(1))
    yield Row("whole", f"{name}, 1 thread", chars, *single, floor[0] / single[0], "compressor alone")
    double = least(lambda: whole(2), runs=9)
    yield Row("whole", f"{name}, 2 threads", chars, *double, single[1] / double[1], "1 thread, by the clock")


def beside_former(chars: int, rounds: int = 9) -> Iterator[Row]:
    """The whole for Claude's upper tier by each way, and so many times as long as it takes the former face.

    A share of each in turn, so that what else the machine does is on all of them alike.
    """
    source, now, former = Source(text_of(chars)), Typesetter(layout_for(name="claude-high")), Former()
    ways = [(profile, compiled) for compiled in (False, True) for profile in ("default", "fast")]

    def whole(setting: Typesetter, profile: str, compiled: bool) -> int:
        made = setting.pages(source, threads=1, compress=profile, compiled=compiled)
        return sum(len(page.png) for page in made)

    jobs = [(setting, *way) for way in ways for setting in (now, former)]
    sizes = [whole(*job) for job in jobs]
    spent = [(float("inf"), float("inf"))] * len(jobs)
    for _ in range(rounds):
        for at, job in enumerate(jobs):
            cpu, wall = least(lambda job=job: whole(*job), runs=1, warm=True)
            spent[at] = min(spent[at][0], cpu), min(spent[at][1], wall)
    for at, (setting, profile, compiled) in enumerate(jobs):
        way = f"{profile}, {'numba' if compiled else 'numpy'}"
        ratio, against = sizes[at] / chars * 1000, "bytes per 1,000 characters"
        name = "2 bit, 8×18" if setting is now else "2 bit, 9×16 as it was"
        yield Row("former", f"{name}, {way}", chars, *spent[at], ratio, against)
        if setting is former:
            ratio = spent[at][0] / spent[at - 1][0]
            yield Row(
                "former", way, chars, *spent[at - 1], ratio, "8×18: the former took so many times as long"
            )


_READERS = (
    "claude-high", "claude-fable", "claude-standard", "gpt-patch", "gpt-tile-5", "gemini-3", "gemini-3.6",
    "qwen", "grok", "deepseek-flash", "mistral", "kimi", "glm-5v",
)  # fmt: skip


def readers(chars: int) -> Iterator[Row]:
    """The whole for the default layouts of readers, and the bytes that come of it."""
    source = Source(text_of(chars))
    for name in _READERS:
        setting = Typesetter(layout_for(name=name))

        def whole(setting=setting) -> int:
            return sum(len(page.png) for page in setting.pages(source, threads=1, compiled=False))

        size = whole() / chars * 1000
        yield Row("reader", name, chars, *least(whole), size, "bytes per 1,000 characters")
    few = Source(source.text[: chars // 5])  # as slow as it is, a fifth is enough
    setting = Typesetter(layout_for(name=_READERS[0]))
    for profile in ("small", "default"):

        def pages(profile: str = profile) -> int:
            return sum(len(page.png) for page in setting.pages(few, threads=1, compress=profile))

        size = pages() / len(few.text) * 1000
        spent = least(pages, runs=2)
        name = f"{_READERS[0]}, a fifth, {profile}"
        yield Row("reader", name, len(few.text), *spent, size, "bytes per 1,000 characters")


def sent() -> Iterator[Row]:
    """Whole transcripts as they are sent, each thing said once: the bytes for what they say at first."""
    every = [snapshot.load(path) for path in transcripts()]
    chars = sum(len(source_of(transcript).text) for transcript in every)
    sources = [source_of(transcript, repeats=True, runs=True) for transcript in every]
    for name in _READERS:
        setting = Typesetter(layout_for(name=name))

        def whole(setting=setting) -> int:
            return sum(len(page.png) for source in sources for page in setting.pages(source, threads=1))

        size = whole() / chars * 1000
        yield Row("sent", name, chars, *least(whole, runs=2), size, "bytes per 1,000 characters")


def classes(chars: int, profiles: tuple[str, ...] = ("default", "fast")) -> Iterator[Row]:
    """The whole for each class of text, in the layout of Claude's upper tier, and the bytes that come of it.

    What is known of a text is worked out anew each time: its clusters and glyphs are part of the work.
    """
    layout = layout_for(name="claude-high")
    for name, text in by_class(chars).items():
        for profile in profiles:

            def whole(text=text, profile=profile) -> int:
                # Another text each time, by a character: nothing that was kept of it serves.
                source = Source(f"{next(_NUMBERS)}\n{text}")
                made = Typesetter(layout).pages(source, threads=1, compress=profile, compiled=False)
                return sum(len(page.png) for page in made)

            size = whole()
            yield Row(
                "class",
                f"{name}, {profile}",
                chars,
                *least(whole),
                size / chars * 1000,
                "bytes per 1,000 characters",
            )


def sizes(counts: tuple[int, ...]) -> Iterator[Row]:
    """The whole at several sizes; the cost of a character beside that of the largest."""
    setting = Variant(2, 9)
    spent: dict[int, tuple[float, float]] = {}
    for chars in counts:
        source = Source(text_of(chars))

        def whole(source=source) -> int:
            return sum(len(page.png) for page in setting.pages(source, threads=1, compiled=True))

        spent[chars] = least(whole, seconds=4)
    most = max(counts)
    for chars, (cpu, wall) in spent.items():
        ratio = cpu / chars / (spent[most][0] / most)
        yield Row(
            "size", f"{setting.name}, default", chars, cpu, wall, ratio, f"cost of a character of {most:,}"
        )


def rivals(chars: int) -> Iterator[Row]:
    """The whole on one thread without numba, and Pillow on the same text and page."""
    text = text_of(chars)
    grey, ink = Variant(2, 9), Variant(1, 9)

    def ours(setting: Variant) -> int:
        return sum(len(page.png) for page in setting.pages(Source(text), threads=1, compiled=False))

    one, two = least(lambda: ours(ink)), least(lambda: ours(grey))
    yield Row("rival", "ours, 1 bit", chars, *one)
    yield Row("rival", "ours, 2 bit", chars, *two)
    short = text[: chars // 4]
    for name, work, base in (
        ("careful Pillow, 1 bit", lambda: careful_pillow(short, ink, "1"), one),
        ("careful Pillow, grey", lambda: careful_pillow(short, grey, "L"), two),
        ("naive Pillow, grey", lambda: naive_pillow(short, grey), two),
    ):
        cpu, wall = least(work, runs=2)
        yield Row(
            "rival",
            name,
            len(short),
            cpu,
            wall,
            cpu / len(short) / (base[0] / chars),
            "ours: so many times slower",
        )
