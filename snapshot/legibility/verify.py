"""Certifying a folder of pages before it is sent: what is proved, what is measured, what is known.

Proved: the files are those that were rendered, they hold the whole source, each reads back to exactly its
text, and the reader's provider does not resize them. Measured: what the nearest-glyph reader keeps of them
as the model sees them (an upper bound, see `snapshot.legibility.resized`), what it confuses on up to three
of them when they are much smaller, and, on request, what readers who know no mark make of some of their rows,
and of a whole page, as they are sent. Known: what published trials let one expect of the reader at that cell
(`snapshot.models.trials`); where nobody has published one, that is said, and nothing follows from it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from snapshot.facts.factsheet import ranked_facts
from snapshot.legibility.kinds import KindScore
from snapshot.legibility.survey import STRESS, Survey, WorstCell
from snapshot.models.ids import model_key, profile_for
from snapshot.models.trials import FLOOR, Expected, expected
from snapshot.pages import folder as pages_folder
from snapshot.pages.manifest import Manifest, PageEntry, load_manifest
from snapshot.source.source import Source

if TYPE_CHECKING:
    from snapshot.legibility.score import Reading
    from snapshot.models.profile import ModelProfile
    from snapshot.pages.readback import PageCells

__all__ = ["FLOOR", "STRESS", "Check", "Risk", "Verdict", "WorstCell", "verify"]

_PAIRS = 12
# Pages that are looked at much smaller, and those whose pictures a neural reader may get rows of.
_STRESSED, _PICTURES = 3, 8


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was asked of the pages.

    Attributes:
        name: of it.
        passed: whether the pages are not refused for it.
        says: the finding in a sentence.
        sure: False where nothing is known that would let one say more than that nothing speaks against them.
    """

    name: str
    passed: bool
    says: str
    sure: bool = True

    @property
    def verdict(self) -> str:
        """In a word: "passed", "failed", or "unsure"."""
        return "failed" if not self.passed else "passed" if self.sure else "unsure"


@dataclass(frozen=True, slots=True)
class Risk:
    """An exact string that context does not correct.

    Attributes:
        text, kind: the string, and what it is by its form.
        page: the first page it stands on, 0 for none.
        lost: whether even the nearest-glyph reader misreads it somewhere.
        held: whether it also travels as text.
    """

    text: str
    kind: str
    page: int
    lost: bool
    held: bool


@dataclass(frozen=True, slots=True, eq=False)
class Verdict:
    """What is to be said of a folder of pages.

    Attributes:
        folder, model, reader: what was verified, and for whom.
        pages: their number.
        cell: width and height of a cell as the model sees it, in pixels.
        checks: in order.
        kinds: what the nearest-glyph reader keeps, by kind of text.
        confused: what it takes for what at `STRESS` of the size seen, and how often; the most frequent first.
        stressed: pages that this was looked for on.
        expected, hashes: what trials let one expect, of text and of hashes; None where there is no trial.
        worst: the worst cells, the worst first.
        risks: exact strings, the riskiest first.
        ocr: what the neural reader made of some rows, by shrink factor; empty where it was not asked.
    """

    folder: Path
    model: str
    reader: str
    pages: int
    cell: tuple[float, float]
    checks: tuple[Check, ...]
    kinds: tuple[KindScore, ...]
    confused: tuple[tuple[str, str, int], ...]
    stressed: int
    expected: Expected | None
    hashes: Expected | None
    worst: tuple[WorstCell, ...]
    risks: tuple[Risk, ...]
    ocr: dict[float, Reading] = field(default_factory=dict)

    @property
    def passed(self) -> bool:
        """Whether all checks were passed."""
        return all(check.passed for check in self.checks)


def verify(
    folder: Path,
    *,
    model: str | None = None,
    floor: float = FLOOR,
    beside: str = "",
    ocr: bool = False,
    font: str | Path | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Verdict:
    """Verify the pages of a folder, each of which is opened once.

    Where the model sees pages in the size they are sent, nothing is resized but the few that are looked at
    much smaller: what stands in their cells is proved already. Resizing is work with small matrices, for
    which several threads of a BLAS library wait for each other: with `OPENBLAS_NUM_THREADS=1`, set before
    NumPy is imported, it takes a fraction of the processor time.

    Args:
        folder: a folder that `snapshot.pages.folder.write` wrote.
        model: id of the model that will read them; by default the one they were rendered for.
        floor: recall, from 0 to 1, below which they are refused.
        beside: text that travels beside the pages, such as a factsheet.
        ocr: ask the neural reader too, which takes about 15 seconds, and Tesseract where it is installed:
            half a minute for a large page.
        font: the user's font file that the pages were set with.
        progress: called after each page with the pages done and their total.

    Raises:
        PageError: there is no manifest, manifest or source is damaged, or a font file has to be named.
        LayoutError: the model is not known.
        FontError: the face of the pages is not installed.
        SnapshotError: there is no neural reader.
    """
    manifest = load_manifest(folder)
    model = model or manifest.model or ""
    opened = pages_folder.open_folder(folder, manifest, font=font)
    reader = profile_for(model) if model else opened.layout.reader
    source = pages_folder.read_source(folder, manifest)
    resized, scale = _resized(manifest, reader)
    count = len(manifest.pages)
    # What is confused follows from the face, and is the same on all pages but for how often.
    sample = _spread(count, _STRESSED)
    survey = Survey(opened.atlas, kept=frozenset(_spread(count, _PICTURES) if ocr else ()))

    def look_at(at: int, cells: PageCells) -> None:
        size = _seen(manifest.pages[at], reader, manifest)
        survey.add(at, cells, size, stressed=at in sample)
        if progress is not None:
            progress(at + 1, count)

    checks = [*_proofs(folder, manifest, font, look_at), resized]
    area = opened.layout.cell[0] * opened.layout.cell[1] * scale**2
    key = model_key(model)
    text = expected(reader.trials, key, area, columns=opened.layout.row_width)
    checks += [_recall(text, reader, floor), _nearest(survey, floor)]
    readings: dict[float, Reading] = {}
    if ocr:
        from snapshot.legibility.sample import read_sample, read_whole

        readings = read_sample(survey.pictures)
        checks.append(_ocr_check(readings, floor))
        checks += _whole_page(read_whole(survey.pictures, columns=opened.layout.columns_of_text), floor)
    width, height = opened.layout.cell
    return Verdict(
        folder=folder,
        model=model,
        reader=reader.title,
        pages=count,
        cell=(width * scale, height * scale),
        checks=tuple(checks),
        kinds=tuple(survey.kinds.values()),
        confused=tuple((*pair, count) for pair, count in survey.confused.most_common(_PAIRS)),
        stressed=len(sample),
        expected=text,
        hashes=expected(reader.trials, key, area, hashes=True),
        worst=tuple(survey.worst),
        risks=tuple(_risks(source, manifest, survey.lost, beside)),
        ocr=readings,
    )


def _proofs(
    folder: Path, manifest: Manifest, font: str | Path | None, seen: Callable[[int, PageCells], None]
) -> Iterator[Check]:
    """That the pages are untampered, complete, and read back; `seen` gets the cells of each."""
    problems = pages_folder.check(folder, manifest, font=font, seen=seen)
    extra = pages_folder.foreign_pages(folder, manifest)
    count, chars = len(manifest.pages), sum(entry.stop - entry.start for entry in manifest.pages)
    pages = f"{count} page{'s' * (count != 1)}"
    for name, fine in (
        ("untampered", f"{pages}, as rendered"),
        ("complete", f"{chars:,} characters, each on one page"),
        ("read back", f"{pages} exactly, from the pixels"),
    ):
        found = [item.problem for item in problems if item.broken == name]
        if name == "untampered":
            found += [f"{file} is in no manifest" for file in extra]
        more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
        yield Check(name, not found, f"{found[0]}{more}" if found else fine)


def _seen(entry: PageEntry, reader: ModelProfile, manifest: Manifest) -> tuple[int, int]:
    """Size in pixels in which the reader's model sees the page."""
    if reader.billing is None:
        return entry.width, entry.height
    rule = reader.rule_at(manifest.layout.detail)
    return rule.preprocess(entry.width, entry.height)


def _resized(manifest: Manifest, reader: ModelProfile) -> tuple[Check, float]:
    """Whether all pages are seen as they are sent, and the scale of that which is seen smallest."""
    if not reader.vision:
        return Check("unresized", False, f"{reader.title} cannot see images"), 1.0
    least, says = 1.0, ""
    changed = 0
    for entry in manifest.pages:
        width, height = entry.width, entry.height
        seen = _seen(entry, reader, manifest)
        scale = ((seen[0] * seen[1]) / (width * height)) ** 0.5
        changed += seen != (width, height)
        if seen != (width, height) and (not says or scale < least):
            least = scale
            says = f"page {entry.number}: {width}×{height} is scaled to {seen[0]}×{seen[1]} ({scale:.3f})"
    if not changed:
        return Check("unresized", True, f"seen in the size they are sent, by {reader.title}"), 1.0
    return Check("unresized", False, f"{says}; {changed} of {len(manifest.pages)} pages"), least


def _recall(found: Expected | None, reader: ModelProfile, floor: float) -> Check:
    if found is None:
        says = f"not known: no trial of {reader.title} is published"
        return Check("expected recall", True, says, sure=False)
    least = "at least " if found.at_least else ""
    says = f"{least}{found.recall:.2f} (floor {floor:.2f}): {found.basis}"
    doubt = found.doubt(floor)
    passed = found.at_least or found.recall >= floor
    return Check("expected recall", passed, f"{says}; {doubt}" if doubt else says, sure=not doubt)


def _nearest(survey: Survey, floor: float) -> Check:
    """Whether the nearest-glyph reader keeps enough words and exact strings."""
    scores = [score for score in survey.kinds.values() if score.strings]
    recall = sum(score.exact for score in scores) / max(1, sum(score.strings for score in scores))
    worst = min(scores, key=lambda score: score.recall, default=None)
    least = f"; of {worst.kind} {worst.recall:.2f}" if worst and worst.recall < 1 else ""
    return Check("nearest glyph", recall >= floor, f"{recall:.3f} of words and exact strings{least}")


def _spread(count: int, most: int) -> set[int]:
    """Up to `most` of so many pages, all over them."""
    return {round(at * (count - 1) / (most - 1)) for at in range(most)} if count else set()


def _ocr_check(readings: dict[float, Reading], floor: float) -> Check:
    reading = readings[1.0]
    recall = 1 - reading.error_rate
    return Check(
        "neural reader",
        recall >= floor,
        f"{recall:.3f} of characters, {reading.exact} of {reading.strings} exact strings (floor {floor:.2f})",
    )


def _whole_page(reading: Reading | None, floor: float) -> Iterator[Check]:
    """What Tesseract says, if it is here. It may lose its way on a page that models read: it refuses none."""
    if reading is not None:
        recall = 1 - reading.error_rate
        says = f"{recall:.3f} of characters, {reading.exact} of {reading.strings} exact strings"
        yield Check("a whole page", True, f"{says}, by Tesseract, which finds the rows", sure=recall >= floor)


def _risks(source: Source, manifest: Manifest, lost: set[str], beside: str) -> Iterator[Risk]:
    """Exact strings of the source, those that are lost first, then as a factsheet ranks them."""
    facts = ranked_facts(source, names=False)
    for fact in sorted(facts, key=lambda fact: fact.text not in lost):
        at = fact.offsets[0]
        page = next((e.number for e in manifest.pages if e.start <= at < e.stop), 0)
        yield Risk(fact.text, fact.kind, page, fact.text in lost, fact.text in beside)
