"""The view opened in a real browser, for tests: Chromium (or `SNAPSHOT_CHROMIUM`) by Playwright."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from snapshot.pages.layout import layout_for
from snapshot.view.content import View
from snapshot.view.document import html_of
from tests.view_samples import MODEL, long_view

ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)
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
