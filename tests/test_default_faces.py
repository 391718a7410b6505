"""What independent readers say of each default layout: kept figures, the floor they clear, the reasons."""

from __future__ import annotations

import pytest

from benchmarks import contest, marks, trade
from benchmarks.defaults import BEFORE, defaults, table
from benchmarks.marks import SEEDS, counted, marked_pages, numbered_text
from snapshot.legibility.ocr import has_ocr, has_tesseract, tesseract
from snapshot.models.catalog import profiles
from snapshot.pages.layout import layout_for
from snapshot.source.marks import DRAWING
from snapshot.source.source import Source

FACES = {reader.layouts["default"].face for reader in profiles() if reader.layouts}
KEPT = {(item.face, item.drawing, item.reader): item for item in marks.kept()}


def test_every_default_face_is_read_by_every_reader():
    assert {*marks.FACES} == FACES
    assert all(layout_for(name=reader).face == face for face, reader in marks.FACES.items())
    for face in FACES:
        for reader in marks.READERS:
            assert min(of for _, of in KEPT[face, DRAWING, reader].counts.all) > 100


@pytest.mark.parametrize("face", sorted(FACES))
@pytest.mark.parametrize("reader", ["Tesseract", "Tesseract best"])
def test_whoever_finds_the_rows_alone_frees_numbers_and_sees_line_ends(face, reader):
    now, before = (KEPT[face, drawing, reader].counts for drawing in (DRAWING, 1))
    for read, of in (now.numbers, now.ends):
        assert read / of >= 0.9
    assert now.numbers[0] > before.numbers[0]
    assert now.ends[0] > before.ends[0]


def test_every_default_layout_has_a_row_and_a_reason():
    rows = [line.split(" | ") for line in table().splitlines()[2:]]
    names = [row[0].strip("| `") for row in rows]
    assert names == [reader.name for reader in profiles() if reader.layouts]
    assert all(len(row) == len(rows[0]) and row[-1].strip("| ") for row in rows)
    judged = trade.shapes(contest.kept(), "own")
    least = min(
        (shape for shape in judged.values() if shape.no_worse(judged[BEFORE])), key=lambda one: one.area
    )
    for default in defaults():
        area = default.layout.cell[0] * default.layout.cell[1]
        if default.expected is not None:
            for trial in default.expected.trials:
                assert f"{trial.cell[0]}×{trial.cell[1]}" in default.why or trial.cell == default.layout.cell
            assert ("others of its kind" in default.why) == default.expected.borrowed
        elif default.kin is not None:
            assert default.kin[0] * default.kin[1] == pytest.approx(area, rel=0.01)
        else:
            assert default.layout.face == least.name, default.layout.name


def test_the_table_of_marks_is_of_the_kept_results():
    text = marks.DOCUMENT.read_text(encoding="utf-8")
    assert trade.table_in(text, "marks") == marks.table(marks.kept()), "python -m benchmarks.marks --write"


def test_results_are_kept_reader_by_reader(tmp_path, monkeypatch):
    """What is measured anew takes the place of its own row, and no other."""
    results, document = tmp_path / "marks.json", tmp_path / "page.md"
    results.write_bytes(marks.RESULTS.read_bytes())
    document.write_text("a\n<!-- marks -->\nold\n<!-- /marks -->\nb\n", encoding="utf-8")
    monkeypatch.setattr(marks, "RESULTS", results)
    monkeypatch.setattr(marks, "DOCUMENT", document)
    before = marks.kept()
    changed = marks.Marked(
        "fira-8x17", 2, 1.0, 2.0, "PP-OCR", marks.Counts((1, 2), (3, 4), (5, 6), (7, 8), (9, 10))
    )
    marks._keep([changed])
    after = marks.kept()
    assert [item for item in after if item not in before] == [changed]
    assert len(after) == len(before)
    assert (
        document.read_text(encoding="utf-8") == f"a\n<!-- marks -->\n{marks.table(after)}<!-- /marks -->\nb\n"
    )
    results.unlink()
    marks._keep([changed])
    assert marks.kept() == [changed]


@pytest.mark.ocr
@pytest.mark.skipif(not (has_tesseract() and has_ocr()), reason="needs tesseract and snapshot-pages[ocr]")
def test_the_kept_figures_are_of_these_pages():
    """Read again, on the first text; other versions of Tesseract may say a little else."""
    face = "fira-8x14"
    _, grey, stood, layout = next(marked_pages(Source(numbered_text(SEEDS[0], 2000)), face, DRAWING, rows=32))
    found = counted(stood, tesseract(grey, grey.shape[0] // layout.cell[1])).shares
    kept = KEPT[face, DRAWING, "Tesseract"].counts.shares
    assert found == pytest.approx(kept, abs=0.04)
