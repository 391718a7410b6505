"""The picture of the view in the documentation: a run's pages in Chromium, a search, a word pointed at.

    python -m benchmarks.screenshot           # into docs/view.png

Needs the extra `browser` and Chromium (or what `SNAPSHOT_CHROMIUM` names). Fonts are the machine's, so no
test can compare its pixels: make it anew when pages or the view look different.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from io import BytesIO
from pathlib import Path

from PIL import Image

from snapshot.compaction import Options, compact
from snapshot.transcripts import load
from snapshot.view.document import html_of
from snapshot.view.session_view import view_of_archive

ROOT = Path(__file__).resolve().parents[1]
RUN = ROOT / "tests" / "data" / "ytt-start.claude-stream.jsonl"
PICTURE = ROOT / "docs" / "view.png"
MODEL, WINDOW, SIZE = "claude-opus-4-8", 40_000, (1280, 780)
SEARCHED, POINTED = "OrderedMap", "interface"
# Where a word stands in the text of page 1, in the middle of what is seen of it.
FIND = """(word) => {
  const pre = document.querySelector("#page-1 pre");
  const walk = document.createTreeWalker(pre, NodeFilter.SHOW_TEXT);
  let node = walk.nextNode(), at = -1;
  while (node && (at = node.data.indexOf(word)) < 0) node = walk.nextNode();
  const range = new Range();
  range.setStart(node, at);
  range.setEnd(node, at + word.length);
  pre.scrollTop += range.getBoundingClientRect().top - pre.getBoundingClientRect().top - 160;
  const box = range.getBoundingClientRect();
  return [box.x + box.width / 2, box.y + box.height / 2];
}"""


def document() -> str:
    """The view of the run, as one HTML file."""
    done = compact(load(RUN), model=MODEL, trigger="manual", options=Options(window=WINDOW))
    assert done.archive is not None
    return html_of(view_of_archive(done.archive, model=MODEL, title="session.jsonl"))


def main() -> None:
    """Write the picture."""
    from playwright.sync_api import sync_playwright

    chromium = os.environ.get("SNAPSHOT_CHROMIUM") or shutil.which("chromium")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        path = Path(folder, "session.html")
        path.write_text(document(), encoding="utf-8")
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": SIZE[0], "height": SIZE[1]}, color_scheme="light")
        page.goto(path.as_uri())
        page.fill("#search", SEARCHED)
        page.wait_for_timeout(500)
        page.evaluate("document.querySelector('#page-1').scrollIntoView()")
        page.wait_for_timeout(300)
        page.mouse.move(*page.evaluate(FIND, POINTED))
        page.wait_for_timeout(500)
        taken = page.screenshot()
        browser.close()
    with Image.open(BytesIO(taken)) as opened:  # a third of its size, and no difference that one sees
        opened.convert("RGB").quantize(256, dither=Image.Dither.NONE).save(PICTURE, optimize=True)


if __name__ == "__main__":
    main()
