"""`snapshot verify`: pages that are whole and legible pass, all others are refused, with the reason."""

from __future__ import annotations

import json
import re
import shutil
from base64 import b64decode
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image

from snapshot.errors import SnapshotError
from snapshot.legibility.ocr import has_ocr
from snapshot.legibility.verify import Verdict, verify
from snapshot.pages.folder import write
from snapshot.pages.layout import layout_for
from snapshot.pages.manifest import load_manifest
from snapshot.pages.render import Typesetter
from snapshot.source.source import Source
from snapshot.view.verdict import report_of
from tests.conftest import small_face
from tests.test_cli import run

TEXT = (
    "The run at 10:22:31 touched src/cache/budget_atlas.py and left commit 3f1347de81c4a9d2 behind.\n"
    "def read(self, path: str) -> dict[str, int]:\n    return {key: 0 for key in self.keys}\n"
    "Nothing gives away a digit in the middle of a name; 4,096 tokens were spent. <b>&amp;</b>\n"
)


def said(times: int) -> str:
    """The text so often, no line like another: what is said again would be a reference."""
    lines = TEXT.splitlines()
    return "".join(f"{line} {number}\n" for number in range(times) for line in lines)


@pytest.fixture(scope="module")
def rendered(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("verify")
    (folder / "a.txt").write_text(said(40), encoding="utf-8")
    run("render", folder / "a.txt", "-m", "claude-haiku-4-5", "-o", folder / "pages")
    return folder / "pages"


@pytest.fixture
def pages(rendered: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(rendered, tmp_path / "pages"))


def failed(verdict: Verdict) -> list[str]:
    return [check.name for check in verdict.checks if not check.passed]


def says(verdict: Verdict, name: str) -> str:
    return next(check.says for check in verdict.checks if check.name == name)


def page_files(folder: Path) -> list[Path]:
    return sorted(folder.glob("page-*.png"))


def test_whole_pages_pass(rendered):
    verdict = verify(rendered)
    assert failed(verdict) == []
    assert verdict.passed
    assert (verdict.model, verdict.pages, verdict.cell) == (
        "claude-haiku-4-5",
        len(page_files(rendered)),
        (8, 18),
    )
    assert all(score.right == score.chars for score in verdict.kinds)
    assert {score.kind for score in verdict.kinds if score.chars} == {
        "prose",
        "code",
        "hashes",
        "paths",
        "numbers",
    }
    assert verdict.confused
    assert verdict.worst
    assert not any(cell.misread for cell in verdict.worst)


def test_nobody_has_tried_the_reader_so_nothing_is_expected(rendered):
    assert verify(rendered).expected is None
    assert [check.name for check in verify(rendered).checks if check.verdict == "unsure"] == [
        "expected recall"
    ]
    assert "??    expected recall  not known" in run("verify", rendered).stdout
    assert says(verify(rendered), "expected recall").startswith(
        "not known: no trial of Claude, standard tier"
    )


def test_exact_strings_are_named_and_looked_for_in_what_travels_beside(rendered):
    verdict = verify(rendered, beside="the factsheet: 3f1347de81c4a9d2, p1")
    by_text = {risk.text: risk for risk in verdict.risks}
    assert by_text["3f1347de81c4a9d2"].held
    assert (by_text["3f1347de81c4a9d2"].kind, by_text["3f1347de81c4a9d2"].page) == ("hash", 1)
    assert not by_text["src/cache/budget_atlas.py"].held
    assert verdict.risks[0].kind == "hash"


def test_a_changed_file_is_tampered_with(pages):
    path = page_files(pages)[0]
    path.write_bytes(path.read_bytes() + b"\0")
    assert failed(verify(pages)) == ["untampered"]


def test_a_changed_pixel_does_not_read_back(pages):
    path = page_files(pages)[0]
    with Image.open(path) as image:
        grey = image.convert("L")
    grey.putpixel((3, 3), 0 if grey.getpixel((3, 3)) else 255)
    grey.save(path)
    verdict = verify(pages)
    assert "read back" in failed(verdict)
    assert "row 1, column 1" in says(verdict, "read back")


def test_a_missing_page_is_incomplete(pages):
    page_files(pages)[1].unlink()
    assert failed(verify(pages)) == ["complete"]


def test_an_extra_page_is_not_of_the_run(pages):
    shutil.copy(page_files(pages)[0], pages / "page-0009-0123456789ab.png")
    verdict = verify(pages)
    assert failed(verdict) == ["untampered"]
    assert "page-0009-0123456789ab.png is in no manifest" in says(verdict, "untampered")


def test_a_page_left_out_of_the_manifest_is_incomplete(pages):
    path = pages / "manifest.json"
    manifest = json.loads(path.read_text(encoding="utf-8"))
    del manifest["pages"][0]
    path.write_text(json.dumps(manifest), encoding="utf-8")
    assert failed(verify(pages)) == ["untampered", "complete"]


def test_pages_that_another_provider_resizes_are_refused(rendered):
    verdict = verify(rendered, model="gpt-4o")
    assert "unresized" in failed(verdict)
    assert "page 1: 952×1260 is scaled to " in says(verdict, "unresized")
    assert verdict.cell[0] < 8
    blind = verify(rendered, model="gpt-oss-120b")
    assert says(blind, "unresized") == "OpenAI models without vision cannot see images"


def test_the_floor_decides(rendered):
    assert failed(verify(rendered, model="kimi-k3")) == []
    assert failed(verify(rendered, model="kimi-k3", floor=0.95)) == ["expected recall"]
    assert "0.85 (floor 0.95): between two that were tried" in says(
        verify(rendered, model="kimi-k3", floor=0.95), "expected recall"
    )


@pytest.fixture(scope="module")
def tiny(tmp_path_factory) -> Path:
    """Pages of 5×8 cells, larger than the provider takes them: seen at 0.555 of their size."""
    folder = tmp_path_factory.mktemp("tiny")
    small_face(folder / "tiny-5x8.toml", (5, 8))
    (folder / "layouts").mkdir()
    (folder / "layouts" / "tiny.toml").write_text(
        f"""\
provider = "tiny"
as_of = 2026-11-30
sources = ["a test"]
[[readers]]
name = "tiny"
title = "Claude with pages of 5x8"
models = ["tiny-*"]
chars_per_token = {{ value = 3.0, basis = "a test" }}
billing = {{ rule = "padded-patches", patch = 28, max_edge = 1568, max_tokens = 1568 }}
layouts = {{ default = {{ face = "{folder / "tiny-5x8"}", width = 1965, height = 1968 }} }}
[[readers.trials]]
model = "tiny-*"
cell = [5, 8]
glyphs = "5x8 pixel font"
what = "exact"
right = 25
of = 26
as_of = "2026-08"
source = "a test"
""",
        encoding="utf-8",
    )
    (folder / "a.txt").write_text(said(375), encoding="utf-8")
    run("--layouts", folder / "layouts", "render", folder / "a.txt", "-m", "tiny-1", "-o", folder / "pages")
    return folder


def test_a_small_page_that_is_scaled_down_is_unreadable_and_refused(tiny, tmp_path):
    """As an oversized page of 5×8 cells is by one provider: even a reader of 25 of 26 values loses it."""
    report = tmp_path / "report.html"
    layouts = ("--layouts", tiny / "layouts")
    found = json.loads(run(*layouts, "verify", tiny / "pages", "--json", "--html", report, check=1).stdout)
    checks = {check["name"]: check for check in found["checks"]}
    refused = [name for name, check in checks.items() if not check["passed"]]
    assert refused[:2] == ["unresized", "expected recall"]
    assert "1965×1968 is scaled to 1092×1094 (0.556)" in checks["unresized"]["says"]
    assert found["expected"]["recall"] < 0.35
    hashes = next(score for score in found["kinds"] if score["kind"] == "hashes")
    assert hashes["exact"] < 0.9 * hashes["strings"], "what the ideal reader cannot tell any more"
    assert any(risk["misread"] for risk in found["risks"])
    text = report.read_text(encoding="utf-8")
    assert '<details class="report" id="report" open>' in text
    assert '<span class="no">Refused</span>' in text
    assert "<h3>Cells that are misread</h3>" in text
    assert " read as " in text
    assert 'href="#page-1"' in text
    assert "resized to 1,092 × 1,094" in text


@pytest.mark.ocr
@pytest.mark.skipif(not has_ocr(), reason="needs snapshot-pages[ocr]")
def test_the_neural_reader_agrees(tiny, rendered, monkeypatch):
    monkeypatch.setattr("snapshot.legibility.sample.FACTORS", (1.0, 0.4))
    good = verify(rendered, ocr=True)
    assert failed(good) == []
    assert good.ocr[1.0].error_rate < 0.05
    assert good.ocr[1.0].recall > 0.7  # this reader takes the face's & for an S
    assert good.ocr[0.4].error_rate > good.ocr[1.0].error_rate
    monkeypatch.setenv("SNAPSHOT_LAYOUTS", str(tiny / "layouts"))
    bad = verify(tiny / "pages", ocr=True)
    assert "neural reader" in failed(bad)
    assert bad.ocr[1.0].error_rate > 0.3
    assert "<h3>What a neural reader makes" in report_of(bad)


def test_without_the_extra_there_is_no_neural_reader(rendered, monkeypatch):
    monkeypatch.setattr("snapshot.legibility.ocr.has_ocr", lambda: False)
    with pytest.raises(SnapshotError, match=r"pip install 'snapshot-pages\[ocr\]'"):
        verify(rendered, ocr=True)


def test_the_report_is_a_part_of_the_view_and_shows_no_worst_cells_where_all_are_read(rendered, tmp_path):
    report = tmp_path / "report.html"
    done = run("verify", rendered, "--html", report)
    assert "verified for claude-haiku-4-5" in done.stdout
    text = report.read_text(encoding="utf-8")
    assert not re.search(r"(?:src|href)=(?!\"(?:data:|#))", text)
    pictures = [b64decode(found) for found in re.findall(r"data:image/png;base64,([^\"]+)", text)]
    assert pictures == [path.read_bytes() for path in sorted(rendered.glob("page-*.png"))]
    assert '<span class="yes">Verified</span>' in text
    assert "Cells that are misread" not in text
    assert 'class="cells"' not in text
    assert '<button type="button" class="find"><code>3f1347de81c4a9d2</code></button>' in text


def test_json_is_one_object(pages):
    found = json.loads(run("verify", pages, "--json").stdout)
    assert (found["schema"], found["passed"], found["ocr"]) == ("snapshot-pages/verify/1", True, [])
    assert [check["name"] for check in found["checks"]] == [
        "untampered", "complete", "read back", "unresized", "expected recall", "nearest glyph"
    ]  # fmt: skip
    sheet = pages.parent / "sheet.txt"
    sheet.write_text("3f1347de81c4a9d2", encoding="utf-8")
    held = json.loads(run("verify", pages, "--json", "--factsheet", sheet).stdout)["risks"]
    assert [risk["text"] for risk in held if risk["as_text"]] == ["3f1347de81c4a9d2"]


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["-m", "no-such-model"], "no layout is known for model 'no-such-model'"),
        (["--factsheet", "none.txt"], "none.txt: No such file or directory; name a file of text"),
        (["--html", "none/report.html"], "none/report.html: cannot be written to"),
        (["--floor", "2"], "'2' is no share from 0 to 1"),
    ],
)
def test_bad_usage_is_one_line(rendered, tmp_path, arguments, problem):
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path)
        done = run("verify", rendered, *arguments, check=2)
    assert problem in done.stderr
    assert "Traceback" not in done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("damage", ["{", '{"schema": "x"}', "pages: 3", "pages: [{}]"])
def test_a_damaged_manifest_is_one_line(pages, damage):
    path = pages / "manifest.json"
    if damage.startswith("pages: "):
        manifest = json.loads(path.read_text(encoding="utf-8"))
        damage = json.dumps({**manifest, "pages": json.loads(damage[7:])})
    path.write_text(damage, encoding="utf-8")
    done = run("verify", pages, check=1)
    assert done.stderr.count("\n") == 1
    assert "manifest.json" in done.stderr


def test_the_empty_text_is_verified_too(tmp_path):
    (tmp_path / "a.txt").write_text("a\n", encoding="utf-8")
    run("render", tmp_path / "a.txt", "-m", "gemini-3-pro", "-o", tmp_path / "pages")
    assert verify(tmp_path / "pages").passed
    manifest = load_manifest(tmp_path / "pages")
    assert len(manifest.pages) == 1


def test_each_page_is_opened_once_and_few_are_resized(tmp_path, monkeypatch):
    """What `verify` costs: a page is read once, and no more than three are looked at much smaller."""
    from snapshot.legibility import survey
    from snapshot.pages.readback import PageReader

    text = "".join(f"def item_{n}(value): return value + {n}\n" for n in range(9_000))
    setting = Typesetter(replace(layout_for(name="claude-high"), width=504, height=512))
    write(tmp_path / "pages", Source(text), setting, model="claude-opus-4-8")
    opened, resized, done = [], [], []
    cells, read = PageReader.cells, survey.read_resized
    monkeypatch.setattr(PageReader, "cells", lambda self, png: (opened.append(1), cells(self, png))[1])
    monkeypatch.setattr(survey, "read_resized", lambda *given: (resized.append(1), read(*given))[1])
    verdict = verify(tmp_path / "pages", progress=lambda *state: done.append(state))
    assert verdict.passed
    assert verdict.pages > 20
    assert len(opened) == verdict.pages
    assert len(resized) == verdict.stressed == 3
    assert done == [(n, verdict.pages) for n in range(1, verdict.pages + 1)]
    assert verdict.confused


def test_an_image_smaller_than_a_cell_is_refused(pages):
    """Where a page should be there may be any image; what has no cell has nothing to be read."""
    Image.new("RGBA", (load_manifest(pages).layout.width, 16)).save(page_files(pages)[0])
    assert {"untampered", "read back"} <= set(failed(verify(pages)))
