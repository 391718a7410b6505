"""The measures: resized pages read by the nearest glyph, kinds of text, the observer, published trials."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from benchmarks.lab_glyphs import GlyphSet, atlas_glyphs, drawn_glyphs, font_glyphs
from benchmarks.observer import observe
from snapshot.costs.costs import example_models
from snapshot.errors import FontError, LayoutError
from snapshot.legibility.kinds import KINDS, scored
from snapshot.legibility.resized import ASCII, read_as_sent, read_resized, resampled, resize_matrix
from snapshot.models.catalog import profiles
from snapshot.models.ids import model_key
from snapshot.models.trials import Trial, as_wide, expected, trial_from, widest_read
from snapshot.pages.layout import layout_for
from snapshot.raster.atlas import atlas_for
from snapshot.raster.face import load_face
from tests.conftest import small_face

FIRA = load_face("fira-9x16")
MISC = Path("/usr/share/fonts/X11/misc")
TEXT = (
    "def read(self, path: str) -> dict[str, int]:  # 0O 1lI| 5S 8B",
    "commit 3f1347de81c4a9 touched src/cache/budget_atlas.py:1816",
    "A page that cannot be read is a deleted conversation; `rn` is not m.",
)


def fira(cell: tuple[int, int], levels: int = 4) -> GlyphSet:
    return font_glyphs(FIRA.path, cell, axes=FIRA.axes, stretch=True, levels=levels)


def padded(glyphs: GlyphSet, cell: tuple[int, int]) -> GlyphSet:
    """The same glyphs in the middle of a larger cell."""
    width, height = glyphs.cell
    x, y = cell[0] - width, cell[1] - height
    pads = ((0, 0), (y // 2, y - y // 2), (x // 2, x - x // 2))
    return GlyphSet(glyphs.name, glyphs.chars, np.pad(glyphs.ink, pads))


def recall(glyphs: GlyphSet, factor: float) -> float:
    """Share of the characters with ink that the nearest-glyph reader keeps."""
    page = glyphs.page(TEXT)
    columns = page.shape[1] // glyphs.cell[0]
    truth = np.array([[glyphs.chars.index(char) for char in row.ljust(columns)] for row in TEXT])
    seen = round(page.shape[1] * factor), round(page.shape[0] * factor)
    found = read_resized(page, seen, glyphs.ink, truth.shape).first
    return float((found == truth)[truth > 0].mean())


@pytest.mark.parametrize("how", ["lanczos", "bicubic"])
@pytest.mark.parametrize("after", [7, 29, 53])
def test_the_matrices_are_what_pillow_does(how, after):
    image = np.random.default_rng(after).integers(0, 256, (31, 53)).astype(np.float32)
    kinds = {"lanczos": Image.Resampling.LANCZOS, "bicubic": Image.Resampling.BICUBIC}
    resized = np.asarray(Image.fromarray(image).resize((after, 17), kinds[how]))
    ours = resize_matrix(31, 17, how) @ image @ resize_matrix(53, after, how).T
    assert np.allclose(ours, resized, atol=1e-2)


def slowly_read(
    page: np.ndarray, seen: tuple[int, int], glyphs: GlyphSet, grid: tuple[int, int]
) -> np.ndarray:
    """The same reader without a matrix: a page with one glyph on it for each cell and glyph, resized."""
    ink = 255 - resampled(page, seen).astype(float)
    height, width = page.shape
    cell_width, cell_height = glyphs.cell
    owner_y = ((np.arange(seen[1]) + 0.5) * height / seen[1] // cell_height).astype(int)
    owner_x = ((np.arange(seen[0]) + 0.5) * width / seen[0] // cell_width).astype(int)
    found = np.zeros(grid, int)
    for row, column in np.ndindex(*grid):
        own = np.ix_(owner_y == row, owner_x == column)
        distances = []
        for glyph in glyphs.ink:
            alone = np.zeros(page.shape, np.float32)
            y, x = row * cell_height, column * cell_width
            alone[y : y + cell_height, x : x + cell_width] = glyph
            there = Image.fromarray(alone).resize(seen, Image.Resampling.LANCZOS)
            distances.append(((np.asarray(there)[own] - ink[own]) ** 2).sum())
        found[row, column] = int(np.argmin(distances))
    return found


def test_the_nearest_glyph_is_what_comparing_one_by_one_finds():
    glyphs = fira((6, 12))
    few = GlyphSet("few", glyphs.chars[:1] + "0O8", glyphs.ink[[0, *map(glyphs.chars.index, "0O8")]])
    page = few.page(["0O8O", " 80 "])
    # Paper to the right and below belongs to no cell.
    page = np.pad(page, ((0, 5), (0, 3)), constant_values=255)
    for seen in ((14, 14), (9, 8), (27, 29)):
        found = read_resized(page, seen, few.ink, (2, 4))
        assert (found.first == slowly_read(page, seen, few, (2, 4))).all()


@pytest.mark.parametrize("face", ["fira-8x16", "fira-9x16"])
def test_at_native_size_every_glyph_is_its_own_nearest(face):
    atlas = atlas_for(load_face(face))
    ink = np.unique(atlas.ink, axis=0)[::4] * np.uint8(85)  # halves of wide glyphs may be alike
    page = 255 - ink[:320].reshape(16, 20, *ink.shape[1:]).swapaxes(1, 2).reshape(16 * ink.shape[1], -1)
    found = read_resized(page, (page.shape[1], page.shape[0]), ink, (16, 20))
    assert (found.first.reshape(-1) == np.arange(320)).all()
    assert (found.second != found.first).all()
    assert (found.margin > 0).all()


def test_less_is_kept_the_smaller_the_cell_and_the_page():
    by_cell = [recall(fira(cell), 0.35) for cell in ((5, 8), (6, 12), (9, 16))]
    assert by_cell == sorted(by_cell)
    assert (by_cell[0] < 0.5, by_cell[2] > 0.95) == (True, True)
    by_factor = [recall(fira((6, 12)), factor) for factor in (0.25, 0.35, 0.6)]
    assert by_factor == sorted(by_factor)
    assert (by_factor[0] < 0.6, by_factor[2] > 0.99) == (True, True)


def test_kinds_are_told_apart_and_scored_each_for_itself():
    text = "The cache was cold.\nx = read(path);  # 4096\ncommit 3f1347de81c4a9\nsrc/cache/atlas.py 10:22:31"
    right = np.ones(len(text), bool)
    whole, lost = scored(text, right)
    assert not lost
    assert [score.kind for score in whole] == list(KINDS)
    assert all(score.recall == 1 and score.chars == score.right and score.strings for score in whole)
    assert sum(score.chars for score in whole) == sum(not char.isspace() for char in text)
    right[text.index("3f13") + 2] = False
    right[text.index("cold")] = False
    kinds, lost = scored(text, right)
    assert lost == {"3f1347de81c4a9"}
    assert {score.kind for score in kinds if score.recall < 1} == {"prose", "hashes"}
    assert next(score for score in kinds if score.kind == "hashes").recall == 0


@given(st.text(alphabet="aB1/._- \n0f", max_size=60), st.data())
def test_every_character_with_ink_is_of_one_kind(text, data):
    right = np.array(data.draw(st.lists(st.booleans(), min_size=len(text), max_size=len(text))), bool)
    kinds, _ = scored(text, right)
    inked = [fine for char, fine in zip(text, right, strict=True) if not char.isspace()]
    assert sum(score.chars for score in kinds) == len(inked)
    assert sum(score.right for score in kinds) == sum(inked)


def test_the_observer_orders_cells_of_one_face_as_trials_do():
    glyphs = fira((8, 13), levels=2)
    tight = observe(glyphs, phases=6).accuracy
    assert observe(fira((5, 8), levels=2), phases=6).accuracy < tight
    spaced = observe(padded(glyphs, (8, 16)), phases=6).accuracy
    assert tight < spaced
    assert spaced < observe(padded(glyphs, (11, 16)), phases=6).accuracy
    assert spaced < observe(padded(glyphs, (8, 22)), phases=6).accuracy


def test_the_observer_orders_the_cells_of_x_orgs_fonts():
    if not (MISC / "8x13.pcf.gz").exists():
        pytest.skip("xfonts-base is not installed")

    def seen(font: str, cell: tuple[int, int]) -> float:
        return observe(font_glyphs(MISC / f"{font}.pcf.gz", cell, levels=2)).accuracy

    tiny, tight, plain = seen("5x8", (5, 8)), seen("6x12", (6, 12)), seen("8x13", (8, 13))
    assert tiny < tight < plain < seen("8x13", (8, 16)) < min(seen("8x13", (8, 22)), seen("8x13", (11, 16)))


def test_the_observer_is_the_same_every_time_and_confuses_what_looks_alike():
    glyphs = fira((8, 16))
    twins = glyphs.ink.copy()
    twins[ASCII.index("O")] = twins[ASCII.index("0")]
    found = observe(GlyphSet("twins", glyphs.chars, twins), phases=4)
    assert found.accuracy == observe(GlyphSet("twins", glyphs.chars, twins), phases=4).accuracy
    assert found.confusion.sum(axis=1) == pytest.approx(np.ones(94))
    assert {pair[:2] for pair in found.confused(2)} == {("0", "O")} or found.confused(1)[0][:2] == ("O", "0")
    assert found.confusion[found.chars.index("O"), found.chars.index("0")] > 0.3


def test_glyph_sets_say_what_is_missing(tmp_path):
    path = tmp_path / "small.txt"
    small_face(path.with_suffix(".toml"), (6, 11))
    glyphs = drawn_glyphs(path)
    assert (glyphs.cell, glyphs.area) == ((6, 11), 66)
    wide = drawn_glyphs(path, (8, 13))
    assert (wide.ink[:, 1:12, 1:7] == glyphs.ink).all()
    assert wide.ink.sum() == glyphs.ink.sum()
    with pytest.raises(FontError, match="do not fit a cell of 5x8"):
        drawn_glyphs(path, (5, 8))
    text = path.read_text(encoding="utf-8")
    path.write_text(text[: text.index("= U+0041")] + text[text.index("= U+0042") :], encoding="utf-8")
    with pytest.raises(FontError, match="1 characters of ASCII are not drawn: A"):
        drawn_glyphs(path)
    with pytest.raises(FontError, match="cannot be read"):
        drawn_glyphs(tmp_path / "none.txt")
    atlas = atlas_glyphs(atlas_for(FIRA))
    assert atlas.chars == ASCII
    assert atlas.page(["A\u0416 B"]).shape == (16, 36)


def trial(model: str, cell: tuple[int, int], score: float, what: str = "exact") -> Trial:
    return Trial(model, cell, "glyphs", what, score, "2026-08", "somebody")


TRIALS = (
    trial("one*", (5, 8), 0.1), trial("one*", (10, 16), 0.9), trial("two", (10, 16), 0.5),
    trial("two", (5, 8), 0.0, "hashes"), trial("one*", (10, 16), 1.0, "gist"),
)  # fmt: skip


@pytest.mark.parametrize(
    ("model", "area", "recall", "at_least"),
    [
        ("one-3", 160, 0.9, False),  # its own, exact values before gist
        ("two", 160, 0.5, False),
        ("three", 160, 0.7, False),  # nobody's own: those of its siblings together
        ("one-3", 159, 0.9, False),  # the same cell but for a hundredth
        ("one-3", 100, 0.5, False),  # halfway from 40 to 160
        ("one-3", 10, 0.025, False),  # a quarter of the smallest
        ("one-3", 400, 0.9, True),
    ],
)
def test_expected_recall(model, area, recall, at_least):
    found = expected(TRIALS, model, area)
    assert found is not None
    assert found.recall == pytest.approx(recall, abs=0.01)
    assert found.at_least == at_least


def counted(right: int, of: int, what: str = "exact") -> Trial:
    return Trial("one*", (9, 16), "glyphs", what, right / of, "2026-08", "somebody", right, of)


def test_a_few_answers_do_not_beat_many_and_the_worst_row_is_named():
    """Rows of one cell count by their answers; gist does not count beside values, but is not hidden."""
    found = expected((counted(8, 8), counted(60, 92)), "one", 144)
    assert found is not None
    assert found.recall == pytest.approx(0.68)
    assert (found.answers, found.borrowed) == (100, False)
    found = expected((counted(8, 8), counted(59, 98, "gist")), "one", 144)
    assert found is not None
    assert (found.recall, found.answers) == (1, 8)
    assert found.worst is not None
    assert "59 of 98 gist questions" in found.doubt(0.7)
    assert found.doubt(0.5) == ""
    assert "8 of 8" in found.basis


def test_what_is_borrowed_from_a_sibling_says_so():
    own = expected(TRIALS, "one", 160)
    near = expected(TRIALS, "one-3", 160)
    other = expected(TRIALS, "three", 160)
    assert own is not None
    assert near is not None
    assert other is not None
    assert (own.borrowed, near.borrowed, other.borrowed) == (False, True, True)
    assert own.recall == near.recall != other.recall, "of those that stand for it, not of all"
    assert "others of its kind, one on" in near.basis
    assert "others of its kind" in other.basis
    assert "very model" in other.doubt(0.7)
    only = expected(TRIALS, "two", 40)
    assert only is not None
    assert only.recall == pytest.approx(0.125), "its own at 160, and not its sibling's at 40"


def of_rows(columns: int, right: int, *, what: str = "exact", model: str = "one*", width: int = 9) -> Trial:
    return Trial(
        model, (width, 16), "glyphs", what, right / 20, "2026-08", "somebody", right, 20, columns=columns
    )


@pytest.mark.parametrize(
    ("rows", "longest"),
    [
        ([], 0),
        ([of_rows(0, 20)], 0),  # read, but nobody says how long its rows were
        ([of_rows(84, 20), of_rows(172, 20)], 172),
        ([of_rows(84, 20), of_rows(172, 13)], 84),  # 13 of 20 is below the floor
        ([of_rows(84, 20), of_rows(300, 20, what="gist"), of_rows(300, 2)], 84),  # gist beside values is none
        ([of_rows(84, 20, what="gist")], 84),  # but where nothing else was asked
        ([of_rows(84, 20), of_rows(400, 20, what="hashes", width=5)], 400),
        ([of_rows(72, 20, model="two"), of_rows(172, 1)], 72),  # what one model fails at, another may read
        ([of_rows(84, 20), of_rows(172, 20), *[of_rows(172, 3)] * 2], 84),  # 26 of 60 together
    ],
)
def test_the_longest_rows_that_were_read(rows, longest):
    found = widest_read(rows)
    assert (found.columns if found else 0) == longest


def test_rows_longer_than_any_that_were_read_are_no_promise():
    trials = (of_rows(84, 20), of_rows(172, 20, model="two"))
    for columns, said in ((80, ""), (88, ""), (89, "longer than any that were read"), (245, "84 columns")):
        found = expected(trials, "one", 144, columns=columns)
        assert found is not None
        assert bool(found.doubt(0.7)) == bool(said)
        assert said in found.doubt(0.7)
    sibling = expected(trials, "three", 144, columns=175)
    assert sibling is not None
    assert sibling.widest is trials[1]
    unsaid = expected((of_rows(0, 20),), "one", 144, columns=80)
    assert unsaid is not None
    assert "how long rows may be is not known" in unsaid.doubt(0.7)
    unasked = expected(trials, "one", 144)
    assert unasked is not None
    assert unasked.doubt(0.7) == ""


def test_hashes_are_expected_for_themselves():
    found = expected(TRIALS, "two", 40, hashes=True)
    assert found is not None
    assert found.recall == 0
    assert expected(TRIALS[:2], "one", 40, hashes=True) is None
    assert expected((), "one", 40) is None


@given(st.floats(1, 400), st.sampled_from(["claude-opus-4-8", "claude-fable-5", "gpt-5-6-sol", "grok-4-7"]))
def test_expected_recall_is_a_share_with_a_basis(area, model):
    found = expected(layout_for(model).reader.trials, model, area)
    assert found is not None
    assert 0 <= found.recall <= 1
    assert found.trials
    assert all(str(trial) in found.basis for trial in found.trials)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"score": 0.5}, "give right and of, or score"),
        ({"right": 9}, "a score is at most 1"),
        ({"of": 0}, "a score is at most 1"),
        ({"what": "all"}, "what is 'all', it must be one of"),
        ({"cell": [9]}, "two whole numbers"),
        ({"sorce": "x"}, "did you mean source"),
        ({"wrong": 2}, "wrong counts those"),
    ],
)
def test_a_wrong_trial_is_one_line(change, problem):
    row = {"model": "m", "cell": [9, 16], "glyphs": "g", "what": "exact", "right": 7, "of": 8,
           "as_of": "2026-08", "source": "s"}  # fmt: skip
    assert trial_from(row, "here").score == 7 / 8
    with pytest.raises(LayoutError, match=problem) as caught:
        trial_from({**row, **change}, "here")
    assert str(caught.value).startswith("here: ")


def test_what_trials_say_is_in_the_layouts():
    """The order of published cells, as the rows of the readers have it."""
    opus, gemini = layout_for("claude-opus-4-8").reader.trials, layout_for("gemini-3-5-flash").reader.trials

    def said(trials: tuple[Trial, ...], model: str, area: int) -> float:
        found = expected(trials, model, area)
        assert found is not None
        return found.recall

    questions = [t for t in opus if t.what == "questions"]
    by_area = [said(tuple(questions), "claude-opus-4-8", area) for area in (72, 128, 176)]
    assert by_area == [0.351, 0.755, 0.806]
    assert said(gemini, "gemini-3-5-flash", 128) == 0.807 < said(gemini, "gemini-3-5-flash", 176) == 0.934
    assert all(trial.source and trial.as_of for reader in profiles() for trial in reader.trials)


def test_the_evidence_is_told_as_it_was_published():
    """What was misread once: padding for ink, values for gist, a few answers for many."""
    claude = layout_for("claude-opus-4-8").reader.trials
    sweep = [t for t in claude if t.columns == 72]
    assert [(t.cell, t.right, t.of) for t in sorted(sweep, key=lambda t: t.area)] == [
        ((5, 8), 2, 20), ((7, 10), 7, 20), ((10, 16), 19, 20), ((14, 22), 19, 20), ((20, 32), 20, 20)
    ]  # fmt: skip
    assert all(("spaced" in t.glyphs) == (t.cell != (5, 8)) and "5x8 pixel font" in t.glyphs for t in sweep)
    assert not any("grey" in t.glyphs for t in claude)
    five = expected(claude, "claude-opus-5", 144, columns=172)
    assert five is not None
    assert (five.recall, five.answers, five.doubt(0.7)) == (1, 100, "")
    later = expected(claude, "claude-opus-5-5", 144, columns=172)
    assert later is not None
    assert (later.recall, later.trials, later.borrowed) == (1, five.trials, True)
    assert [(t.what, t.wrong, t.columns) for t in five.trials] == [("exact", 0, 172)]
    four = expected(claude, "claude-opus-4-8", 144, columns=86)
    assert four is not None
    assert (four.answers, four.borrowed) == (8, False)
    assert "59 of 98 gist questions" in four.doubt(0.7)
    longer = expected(claude, "claude-opus-4-8", 144, columns=175)
    assert longer is not None
    assert "longer than any that were read (claude-opus-4-8" in longer.doubt(0.7)
    sonnet = expected(claude, "claude-sonnet-5-5", 144)
    assert sonnet is not None
    assert "very model" in sonnet.doubt(0.7)
    for reader in profiles():
        for one in reader.trials:
            assert one.glyphs
            assert one.of or one.what == "questions", "only scores of questions come without their number"


@pytest.mark.parametrize(
    "model", sorted({*example_models(), "claude-opus-5", "claude-opus-5-5", "gemini-3.5-flash", "gpt-5.5"})
)
def test_only_what_was_tried_at_that_length_is_certain(model):
    layout = layout_for(model)
    area = layout.cell[0] * layout.cell[1]
    found = expected(layout.reader.trials, model_key(model), area, columns=layout.row_width)
    own = [trial for trial in layout.reader.trials if trial.is_of(model_key(model))]
    longest = widest_read(own)
    if found is not None and not found.doubt(0.7):
        assert own
        assert longest is not None
        assert as_wide(layout.row_width, longest.columns)


@pytest.mark.parametrize("face", ["fira-8x16", "drawn-9x16", "drawn-6x11"])
def test_a_page_that_is_not_resized_is_read_without_resizing_it(face):
    """From the glyphs alone comes what the resize to the same size gives: names, rivals, margins."""
    atlas = atlas_for(load_face(face))
    known = sorted({int(atlas.glyphs[ord(char)]) for char in ASCII + "éΩя│"})
    ink = atlas.ink[known] * np.uint8(85)
    truth = np.random.default_rng(4).integers(0, len(known), (5, 31))
    height, width = ink.shape[1:]
    page = (255 - ink[truth].swapaxes(1, 2).reshape(5 * height, 31 * width)).astype(np.uint8)
    slow = read_resized(page, (page.shape[1], page.shape[0]), ink, truth.shape)
    quick = read_as_sent(truth, ink)
    assert (quick.first == slow.first).all()
    assert np.allclose(quick.margin, slow.margin, atol=0.01)
    # Of two rivals that are equally near either is right.
    distances = ((ink[quick.second].astype(int) - ink[truth]) ** 2).mean(axis=(2, 3))
    assert np.allclose(np.sqrt(distances), quick.margin)
