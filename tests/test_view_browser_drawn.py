"""The view as a browser draws it: the resize, many pages, print, no script; nothing hostile runs."""

from __future__ import annotations

from base64 import b64decode
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from PIL import Image as Pillow

from snapshot.legibility.resized import resampled
from snapshot.legibility.verify import verify
from snapshot.pages.folder import write
from snapshot.pages.layout import layout_for
from snapshot.pages.render import Typesetter
from snapshot.source.source import Source
from snapshot.view.document import html_of
from snapshot.view.folder_view import view_of_folder
from snapshot.view.verdict import report_of
from tests.test_cli import run
from tests.view_room import NARROW, WIDE, Room, browser, file, view
from tests.view_samples import hostile_view

__all__ = ["browser", "file", "view"]  # fixtures: pytest finds them here

pytestmark = pytest.mark.browser

INTRUDER = """() => {
  const script = document.createElement("script");
  script.textContent = "window.broken = 99";
  document.body.append(script);
}"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    home = tmp_path_factory.mktemp("pages")
    lines = (f"{n}: value_{n * 7919} = config.path({n})\n" for n in range(1200))
    (home / "a.txt").write_text("".join(lines), encoding="utf-8")
    run("render", home / "a.txt", "-m", "gpt-5.6-sol", "-o", home / "a.pages")
    return home / "a.pages"


@pytest.fixture(scope="module")
def wide(folder) -> Path:
    """Pages that each of some providers resizes."""
    run("render", folder.parent / "a.txt", "--layout", "gpt-patch/lines", "-o", folder.parent / "wide.pages")
    return folder.parent / "wide.pages"


@pytest.mark.parametrize("model", ["gpt-4o", "glm-4.5v", "gemini-2.5-pro"])
def test_the_resize_is_the_one_that_is_measured(browser, wide, tmp_path, model):
    """Pixel for pixel what `verify` reads: the imaging library's own filter."""
    view = view_of_folder(wide, model=model)
    assert view.pages[0].seen != (view.pages[0].width, view.pages[0].height)
    path = tmp_path / "resized.html"
    path.write_text(html_of(view), encoding="utf-8")
    room = Room(browser, path)
    room.keys("n")
    room.keys("r")
    room.page.wait_for_selector("#page-1 canvas")
    width, height = view.pages[0].seen
    url = room.page.evaluate("document.querySelector('#page-1 canvas').toDataURL('image/png')")
    with Pillow.open(BytesIO(b64decode(url.partition(",")[2]))) as image:
        got = np.asarray(image.convert("RGB"))
    with Pillow.open(BytesIO(view.pages[0].png)) as image:
        wanted = resampled(np.asarray(image.convert("L")), (width, height))
    assert got.shape == (height, width, 3)
    difference = np.abs(got.astype(np.int16) - wanted[:, :, None])
    assert difference.max() <= 1
    assert (difference > 0).mean() < 1e-4
    room.keys("r")
    assert room.page.locator("canvas").count() == 1, "only the lens"
    room.close()


def test_what_was_verified_is_folded_where_all_is_well(browser, folder, tmp_path):
    path = tmp_path / "verified.html"
    verdict = verify(folder)
    path.write_text(html_of(view_of_folder(folder), report=report_of(verdict)), encoding="utf-8")
    room = Room(browser, path)
    assert not room.page.locator("#report table").first.is_visible()
    room.page.locator("#report summary").click()
    assert room.page.locator("#report table").first.is_visible()
    room.page.locator("#report .find").first.click()
    room.settle()
    assert "1 of" in room.page.locator("#found").inner_text()
    room.close()


# --- hostile text, many pages, layout


def test_nothing_of_a_hostile_conversation_runs(browser, tmp_path):
    path = tmp_path / "hostile.html"
    path.write_text(html_of(hostile_view()), encoding="utf-8")
    room = Room(browser, path)
    for words in ("</script>", "javascript:", "🚀", "bidi ▯ txet"):
        room.search(words)
        assert "hit" in room.page.locator("#found").inner_text()
        room.keys("Enter")
    for link in room.page.locator("#outline a").all()[:40]:
        link.click()
    for x in range(280, 1390, 90):
        room.page.mouse.move(x, 400)
        room.page.mouse.down()
        room.page.mouse.up()
    room.settle()
    assert room.page.evaluate("window.broken") is None
    assert room.page.locator("main iframe, main script, main style, main meta, main [onload]").count() == 0
    assert room.page.url.split("#")[0] == room.own
    # A script that slipped in all the same would not run: the policy refuses it.
    room.page.evaluate(INTRUDER)
    assert room.page.evaluate("window.broken") is None
    assert any("Content Security Policy" in complaint for complaint in room.complaints)
    room.complaints.clear()
    room.close()


def test_a_hundred_pages_are_drawn_only_where_one_looks(browser, tmp_path):
    setting = Typesetter(layout_for("claude-opus-4-8"))
    lines = (f"{n}: value_{n * 7919} = config.path({n}) or the ledger of row {n}\n" for n in range(42_000))
    write(tmp_path / "many.pages", Source("".join(lines)), setting, model="claude-opus-4-8", compress="fast")
    view = view_of_folder(tmp_path / "many.pages")
    assert len(view.pages) >= 90
    path = tmp_path / "many.html"
    path.write_text(html_of(view), encoding="utf-8")
    room = Room(browser, path)
    counted = room.page.evaluate("document.querySelectorAll('*').length")
    assert counted < 40 * len(view.pages) + 8_000
    room.search("value_")
    marked = "[...document.querySelectorAll('path.hits')].filter((path) => path.getAttribute('d')).length"
    assert room.page.evaluate(marked) <= 6
    # Turning pages: how long the browser is usually busy with one of them, in milliseconds.
    usual = room.page.evaluate(
        """async () => { const spent = []; const frame = () => new Promise(requestAnimationFrame);
        for (let at = 0; at < 40; at++) { const before = performance.now();
          dispatchEvent(new KeyboardEvent("keydown", { key: "n" })); document.body.offsetHeight;
          spent.push(performance.now() - before); await frame(); await frame(); }
        return spent.sort((one, other) => one - other)[20]; }"""
    )
    assert usual < 150
    room.settle()
    assert room.page.evaluate(marked) <= 8
    room.close()


def shape(room: Room) -> dict[str, list[int]]:
    """Where things are, in whole pixels."""
    selectors = [".bar", "#outline", "#summary", "#page-1", "#page-1 .sheet", "#page-1 pre", "#page-1 + *"]
    found = {}
    for selector in selectors:
        box = room.page.locator(selector).first.bounding_box() or {}
        found[selector] = [round(box.get(side, -1)) for side in ("x", "y", "width", "height")]
    return found


@pytest.mark.parametrize("size", [WIDE, NARROW])
def test_the_layout_holds(browser, file, view, size):
    room = Room(browser, file, size)
    room.keys("n")
    found = shape(room)
    width, page = size[0], view.pages[0]
    wide = size == WIDE
    assert found[".bar"] == [0, 0, found[".bar"][2], 52]
    assert found["#outline"][0] == (0 if wide else found["#outline"][0])
    assert (found["#outline"][0] >= 0) == wide, "a drawer where there is no room"
    sheet, text = found["#page-1 .sheet"], found["#page-1 pre"]
    assert sheet[2] == pytest.approx(text[2], abs=2), "page and text are side by side, equally wide"
    assert text[0] > sheet[0] + sheet[2]
    assert (sheet[1], sheet[3]) == pytest.approx((text[1], text[3]), abs=2), "and equally high"
    assert sheet[3] == pytest.approx(sheet[2] * page.height / page.width, abs=3)
    assert text[0] + text[2] <= width
    assert found["#page-1 + *"][1] == pytest.approx(found["#page-1"][1] + found["#page-1"][3] + 22, abs=2)
    assert room.page.evaluate("document.documentElement.scrollWidth") <= width
    if not wide:
        room.keys("o")
        room.page.wait_for_timeout(250)
        assert room.box("#outline")["x"] == 0
    room.close()


def test_it_prints_every_page_whole(browser, file, view):
    room = Room(browser, file)
    data = room.page.pdf(format="A4", print_background=True)
    assert data.startswith(b"%PDF")
    room.page.emulate_media(media="print")
    room.settle()
    for page in view.pages:
        sheet = room.box(f"#page-{page.number} .sheet img")
        assert sheet["height"] == pytest.approx(sheet["width"] * page.height / page.width, rel=0.02)
        pane = room.page.locator(f"#page-{page.number} pre")
        assert pane.evaluate("pre => pre.scrollHeight - pre.clientHeight") <= 1
    assert not room.page.locator("#outline").is_visible()
    room.close()


def test_without_scripts_there_is_all_to_read(browser, file, view):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(file.as_uri())
    assert page.locator("article.page img").count() == len(view.pages)
    assert not page.locator("#search").is_visible()
    assert "Request 0" in page.locator("main").inner_text()
    context.close()
