"""The view in a real browser: what lights up, search, jumps, keys, switches.

Places of elements are compared, no pixels.
"""

from __future__ import annotations

import pytest

from tests.view_room import HEIGHT, WIDTH, Room, browser, file, place_of, room, view

__all__ = ["browser", "file", "room", "view"]  # fixtures: pytest finds them here

pytestmark = pytest.mark.browser

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
