"""The view in a real browser: what lights up, search, jumps, the resize, and that nothing is fetched or run.

Needs Chromium (or what `SNAPSHOT_CHROMIUM` names) and Playwright. Places of elements are compared, no pixels.
"""

from __future__ import annotations

import os
import shutil
from base64 import b64decode
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image as Pillow

from snapshot.legibility.resized import resampled
from snapshot.legibility.verify import verify
from snapshot.pages.folder import write
from snapshot.pages.layout import layout_for
from snapshot.pages.render import Typesetter
from snapshot.source.source import Source
from snapshot.view.content import View
from snapshot.view.document import html_of
from snapshot.view.folder_view import view_of_folder
from snapshot.view.verdict import report_of
from tests.test_cli import run
from tests.view_samples import MODEL, hostile_view, long_view

pytestmark = pytest.mark.browser
ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)
# Keeps the range of some words of page 1 as `found`, and scrolls the text there.
FIND = """(words) => {
  const pre = document.querySelector("#page-1 pre");
  const walk = document.createTreeWalker(pre, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const at = walk.currentNode.data.indexOf(words);
    if (at < 0) continue;
    window.found = new Range();
    found.setStart(walk.currentNode, at);
    found.setEnd(walk.currentNode, at + words.length);
    pre.scrollTop += found.getBoundingClientRect().top - pre.getBoundingClientRect().top - 90;
    return;
  }
}"""
INTRUDER = """() => {
  const script = document.createElement("script");
  script.textContent = "window.broken = 99";
  document.body.append(script);
}"""
WIDE, NARROW = (1400, 900), (800, 900)

# Pixels of a cell on the pages that the view shows.
WIDTH, HEIGHT = layout_for(MODEL).cell


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    sync_api = pytest.importorskip("playwright.sync_api", reason="needs Playwright")
    path = os.environ.get("SNAPSHOT_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        pytest.skip("needs Chromium")
    with sync_api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path, args=[*ARGUMENTS, "--headless"])
        yield started
        started.close()


class Room:
    """An opened view: the browser's page, what it complained of, and what it asked for."""

    def __init__(self, browser: Any, path: Path, size: tuple[int, int] = WIDE, **more: Any) -> None:
        self.page = browser.new_page(viewport={"width": size[0], "height": size[1]}, **more)
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(path.as_uri())
        self.settle()
        self.own = path.as_uri()

    def settle(self) -> None:
        """Wait until what was asked for is drawn."""
        self.page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        self.page.wait_for_timeout(60)

    def keys(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)
        self.settle()

    def search(self, words: str) -> None:
        self.page.fill("#search", words)
        self.page.wait_for_timeout(200)
        self.settle()

    def point(self, x: float, y: float) -> None:
        self.page.mouse.move(x, y)
        self.settle()

    def box(self, selector: str) -> dict[str, float]:
        return self.page.locator(selector).first.bounding_box()

    def marks(self, page: int, what: str) -> list[list[int]]:
        """Rectangles on a page, each as x, y, width, height in its pixels."""
        path = self.page.locator(f"#page-{page} path.{what}").get_attribute("d") or ""
        return [
            [int(number) for number in piece.replace("h", " ").replace("v", " ").split("h")[0].split()][:4]
            for piece in path.replace("z", "").split("M")
            if piece
        ]

    def highlighted(self, name: str) -> list[str]:
        return self.page.evaluate(f"[...CSS.highlights.get('{name}')].map(String)")

    def top(self, selector: str) -> float:
        return self.page.locator(selector).first.evaluate("element => element.getBoundingClientRect().top")

    def close(self) -> None:
        """Close it; nothing was complained of, and nothing was asked for but the file itself."""
        self.page.close()
        assert self.complaints == []
        assert {url for url in self.requests if not url.startswith("data:")} == {self.own}


@pytest.fixture(scope="module")
def view() -> View:
    return long_view(60, 4000)


@pytest.fixture(scope="module")
def file(view, tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("browser") / "view.html"
    path.write_text(html_of(view), encoding="utf-8")
    return path


@pytest.fixture
def room(browser, file) -> Iterator[Room]:
    opened = Room(browser, file)
    yield opened
    opened.close()


def place_of(view: View, words: str, page: int = 1) -> tuple[int, int, int]:
    """Offset of words in a page's text, and the cell and number of cells where they begin, all plain."""
    text = view.pages[page - 1].text
    at = text.index(words)
    run_ = next(item for item in view.pages[page - 1].runs if item.start <= at < item.start + item.units)
    assert run_.cells == run_.units
    return at, run_.cell + at - run_.start, len(words)


# --- both ways


def test_pointing_at_a_page_lights_up_its_text(room, view):
    page = view.pages[0]
    _, cell, _ = place_of(view, "file_3.py")
    room.keys("n")
    sheet = room.box("#page-1 .sheet")
    row, column = divmod(cell, page.columns)
    scale = sheet["width"] / page.width
    x = sheet["x"] + (column + 0.5) * page.cell[0] * scale
    y = sheet["y"] + (row + 0.5) * page.cell[1] * scale
    room.point(x, y)
    assert room.highlighted("lit") == ["file_3.py"]
    assert room.marks(1, "lit")[0] == [column * WIDTH, row * HEIGHT, 9 * WIDTH, HEIGHT]
    assert room.page.locator("#lens").is_visible()
    assert room.page.locator("#lens p").inner_text().startswith(f"page 1, row {row + 1}, column {column + 1}")
    # The words beside the page are scrolled into sight.
    lit = room.page.evaluate("[...CSS.highlights.get('lit')][0].getBoundingClientRect().toJSON()")
    pane = room.box("#page-1 pre")
    assert pane["y"] <= lit["top"] < lit["bottom"] <= pane["y"] + pane["height"]
    room.point(5, 5)
    assert room.highlighted("lit") == room.marks(1, "lit") == []
    assert not room.page.locator("#lens").is_visible()


def test_pointing_at_text_lights_up_its_cells(room, view):
    _, cell, _ = place_of(view, "file_2.py")
    room.keys("n")
    room.page.evaluate(FIND, "file_2.py")
    room.settle()
    for share in (0.02, 0.5, 0.98):
        box = room.page.evaluate("window.found.getBoundingClientRect().toJSON()")
        room.point(5, 5)
        room.point(box["left"] + box["width"] * share, box["top"] + box["height"] / 2)
        assert room.marks(1, "lit") == boxes(cell, 9, view.pages[0].columns)
        assert room.highlighted("lit") == ["file_2.py"]


def boxes(cell: int, cells: int, columns: int) -> list[list[int]]:
    """Where so many cells are on a page, a box for each row that they stand in."""
    found = []
    while cells:
        row, column = divmod(cell, columns)
        here = min(cells, columns - column)
        found.append([column * WIDTH, row * HEIGHT, here * WIDTH, HEIGHT])
        cell, cells = cell + here, cells - here
    return found


def test_a_run_of_blanks_is_one_thing(room, view):
    page = view.pages[0]
    run_ = next(item for item in page.runs if item.cells != item.units and item.units == 4)
    room.keys("n")
    sheet = room.box("#page-1 .sheet")
    row, column = divmod(run_.cell, page.columns)
    scale = sheet["width"] / page.width
    room.point(sheet["x"] + (column + 0.5) * WIDTH * scale, sheet["y"] + (row + 0.5) * HEIGHT * scale)
    assert room.highlighted("lit") == [" " * 4]


# --- search


def test_search_marks_hits_on_text_and_image(room, view):
    words = "value_"
    total = sum(
        (getattr(block, "text", "") or "").count(words)
        for section in view.sections
        for block in section.blocks
    )
    room.search("VALUE_")
    found = int(room.page.locator("#found").inner_text().removesuffix(" hits").replace(",", ""))
    # A word that is torn between two pages stands in neither's text alone.
    assert total <= found < total + len(view.pages)
    counts = [
        room.page.locator(f'#outline a[href="#page-{page.number}"] .count').text_content()
        for page in view.pages
    ]
    for count, page in zip(counts, view.pages, strict=True):
        # Words that are torn between two pages count on both.
        assert 0 <= int(count) - page.text.count(words) <= 2
    room.keys("Escape")
    assert room.page.locator("#found").inner_text() == ""


def test_hits_are_gone_through_and_brought_into_sight(room, view):
    room.search("request 40:")
    assert room.page.locator("#found").inner_text().endswith("hits")
    room.page.keyboard.press("Enter")
    seen = []
    for _ in range(int(room.page.locator("#found").inner_text().split()[-1])):
        room.settle()
        now = room.page.evaluate("[...CSS.highlights.get('now')][0]?.getBoundingClientRect().toJSON()")
        assert 52 <= now["top"] < now["bottom"] <= 900
        seen.append(room.page.locator("#found").inner_text())
        room.page.keyboard.press("Enter")
    assert len(set(seen)) == len(seen)
    holder = next(page for page in view.pages if "Request 40:" in page.text)
    room.search("request 40:")
    while not room.marks(holder.number, "now"):
        room.page.keyboard.press("Enter")
        room.settle()
    at, cell, _ = place_of(view, "Request 40:", holder.number)
    row, column = divmod(cell, holder.columns)
    assert holder.text[at:].startswith("Request 40:")
    assert room.marks(holder.number, "now")[0][:2] == [column * WIDTH, row * HEIGHT]
    assert room.marks(holder.number, "hits")
    room.page.locator("#search").blur()
    before = room.page.locator("#found").inner_text()
    room.keys("j")
    room.keys("k")
    assert room.page.locator("#found").inner_text() == before


def test_words_torn_between_two_pages_are_found(room, view):
    first, second = view.pages[0].text, view.pages[1].text
    room.search(first[-12:] + second[:12])
    assert room.page.locator("#found").inner_text() == "1 hit"
    room.keys("Enter")
    room.page.locator("#page-2").scroll_into_view_if_needed()
    room.settle()
    assert room.marks(1, "now")
    assert room.marks(2, "now")


@pytest.mark.parametrize("words", ["(", "a|b", "[x]", "\\d", "$^*+?.{}/-", "no such words"])
def test_what_is_searched_is_words_and_no_pattern(room, words):
    room.search(words)
    assert (
        room.page.locator("#found").inner_text() in ("none", f"{room.page.content().count(words)} hits")
        or words == "("
    )


# --- jumps, keys, switches


def test_an_entry_is_jumped_to(room):
    link = room.page.locator('#outline a.call[href^="#p3-"]').first
    target = link.get_attribute("href")
    link.click()
    room.settle()
    head = room.page.locator(f'[id="{target[1:]}"] b')
    box, pane = head.bounding_box(), room.box("#page-3 pre")
    assert pane["y"] <= box["y"] <= pane["y"] + pane["height"]
    assert 52 <= box["y"] < 900
    assert room.highlighted("now") == [head.inner_text()]
    assert room.marks(3, "now")
    assert room.page.locator('#outline [aria-current="true"]').get_attribute("href") == "#page-3"


def test_pages_are_turned(room, view):
    for number in range(1, len(view.pages) + 1):
        room.keys("n")
        assert abs(room.top(f"#page-{number}") - 64) < 3 or number >= len(view.pages) - 1
    room.keys("p", "p")
    tops = [room.top(f"#page-{page.number}") for page in view.pages]
    assert any(abs(top - 64) < 3 for top in tops)


def test_keys_are_told_and_themes_change(room):
    room.keys("?")
    assert room.page.locator("#help").is_visible()
    room.keys("Escape")
    assert not room.page.locator("#help").is_visible()
    colour = "getComputedStyle(document.body).backgroundColor"
    light = room.page.evaluate(colour)
    room.keys("t")
    assert room.page.evaluate(colour) != light
    room.keys("t")
    assert room.page.evaluate(colour) == light
    room.keys("/")
    assert room.page.evaluate("document.activeElement.id") == "search"
    room.page.keyboard.type("nj?")
    assert room.page.locator("#search").input_value() == "nj?", "keys are letters there"


def test_dark_is_dark_by_itself(browser, file):
    room = Room(browser, file, color_scheme="dark")
    red = room.page.evaluate("getComputedStyle(document.body).backgroundColor.match(/\\d+/)[0]")
    assert int(red) < 60
    room.close()


def test_pages_at_their_own_size(room, view):
    room.keys("n")
    room.keys("z")
    assert room.box("#page-1 img")["width"] == view.pages[0].width
    room.keys("z")
    assert room.box("#page-1 img")["width"] < 700


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
