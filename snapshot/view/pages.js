// Pages and their text: which cells show which words, and what lights up where.

const root = document.documentElement;
const byId = (id) => document.getElementById(id);
root.classList.add("scripted");

// The first place in an ascending list that is beyond a value.
function beyond(list, value) {
  let low = 0, high = list.length;
  while (low < high) {
    const middle = low + high >> 1;
    if (list[middle] <= value) low = middle + 1; else high = middle;
  }
  return low;
}

// A page: its cells, as the file says them in runs of four numbers (see `CellRun`), read when first needed.
class Page {
  constructor(article) {
    this.article = article;
    this.sheet = article.querySelector(".sheet");
    this.image = this.sheet.querySelector("img");
    this.svg = this.sheet.querySelector("svg");
    this.paths = Object.fromEntries([...this.svg.children].map((path) => [path.classList[0], path]));
    this.number = Number(article.id.slice("page-".length));
    this.stream = article.dataset.stream;
    [this.cellWidth, this.cellHeight] = article.dataset.cell.split(" ").map(Number);
    this.columns = Number(article.dataset.columns);
    this.seen = article.dataset.seen.split(" ").map(Number);
    [this.width, this.height] = this.svg.getAttribute("viewBox").split(" ").slice(2).map(Number);
    this.canvas = null;
  }

  get runs() {
    if (this.known) return this.known;
    const numbers = this.article.dataset.runs.split(" ").map(Number), runs = [];
    for (let at = 0, cell = 0, unit = 0; at + 3 < numbers.length; at += 4) {
      const run = { cell: cell + numbers[at], start: unit + numbers[at + 1], cells: numbers[at + 2], units: numbers[at + 3] };
      cell = run.cell + run.cells;
      unit = run.start + run.units;
      runs.push(run);
    }
    const sorted = [...runs].sort((one, other) => one.cell - other.cell);
    this.known = { runs, starts: runs.map((run) => run.start), sorted, cells: sorted.map((run) => run.cell) };
    return this.known;
  }

  // The span of text that a cell shows, or null.
  spanOf(cell) {
    const { sorted, cells } = this.runs;
    const run = sorted[beyond(cells, cell) - 1];
    if (!run || cell >= run.cell + run.cells) return null;
    if (run.cells !== run.units) return [run.start, run.start + run.units];
    return [run.start + cell - run.cell, run.start + cell - run.cell + 1];
  }

  // The rectangles, in pixels of the page, of the cells that show a span of its text.
  boxes(start, stop) {
    const { runs, starts } = this.runs, spans = [];
    for (let at = Math.max(0, beyond(starts, start) - 1); at < runs.length && runs[at].start < stop; at++) {
      const run = runs[at];
      if (run.start + run.units <= start) continue;
      const even = run.cells === run.units;
      const first = even ? run.cell + Math.max(0, start - run.start) : run.cell;
      const last = even ? run.cell + Math.min(run.units, stop - run.start) : run.cell + run.cells;
      const before = spans[spans.length - 1];
      if (before && before[1] === first) before[1] = last; else spans.push([first, last]);
    }
    const boxes = [];
    for (const [first, last] of spans) {
      for (let cell = first; cell < last;) {
        const row = Math.floor(cell / this.columns), end = Math.min(last, (row + 1) * this.columns);
        boxes.push([
          (cell - row * this.columns) * this.cellWidth, row * this.cellHeight,
          (end - cell) * this.cellWidth, this.cellHeight,
        ]);
        cell = end;
      }
    }
    return boxes;
  }

  mark(what, boxes) {
    this.paths[what].setAttribute("d", boxes.map(([x, y, w, h]) => `M${x} ${y}h${w}v${h}h${-w}z`).join(""));
  }

  // The cell at a place on the screen.
  cellAt(x, y) {
    const frame = this.sheet.getBoundingClientRect();
    const column = Math.floor((x - frame.left) / frame.width * this.width / this.cellWidth);
    const row = Math.floor((y - frame.top) / frame.height * this.height / this.cellHeight);
    return column < 0 || column >= this.columns || row < 0 ? -1 : row * this.columns + column;
  }

  // Where a rectangle of the page is on the screen.
  onScreen([x, y, w, h]) {
    const frame = this.sheet.getBoundingClientRect(), scale = frame.width / this.width;
    return new DOMRect(frame.left + x * scale, frame.top + y * scale, w * scale, h * scale);
  }

  async showResized(on) {
    const changes = this.image && (this.seen[0] !== this.width || this.seen[1] !== this.height);
    if (on && changes && !this.canvas) {
      const canvas = this.canvas = await resizedCanvas(this.image, ...this.seen);
      if (this.wanted) this.sheet.insertBefore(canvas, this.svg); else this.canvas = null;
    } else if (!on && this.canvas) {
      this.canvas.remove?.();
      this.canvas = null;
    }
  }
}

// A text of the view, with the page it stands on if it stands on one. Offsets are in units of UTF-16.
class Words {
  constructor(pre, at) {
    this.pre = pre;
    this.at = at;
    this.article = pre.closest("article");
    this.page = this.article.classList.contains("page") ? new Page(this.article) : null;
    this.near = false;
    this.hits = [];
    this.ranges = [];
  }

  get text() {
    return this.pre.textContent;
  }

  get nodes() {
    if (this.walked) return this.walked;
    const nodes = [], starts = [], walker = document.createTreeWalker(this.pre, NodeFilter.SHOW_TEXT);
    for (let length = 0; walker.nextNode(); length += walker.currentNode.length) {
      nodes.push(walker.currentNode);
      starts.push(length);
    }
    this.walked = { nodes, starts };
    return this.walked;
  }

  range(start, stop) {
    const { nodes, starts } = this.nodes, range = new Range();
    if (!nodes.length) return range;
    const first = beyond(starts, start) - 1, last = Math.max(first, beyond(starts, stop - 1) - 1);
    range.setStart(nodes[first], Math.min(start - starts[first], nodes[first].length));
    range.setEnd(nodes[last], Math.min(stop - starts[last], nodes[last].length));
    return range;
  }

  offsetOf(node, offset = 0) {
    const { nodes, starts } = this.nodes, at = nodes.indexOf(node);
    return at < 0 ? -1 : starts[at] + offset;
  }

  // The offset of the character at a place on the screen; -1 where there is none.
  offsetAt(x, y) {
    let node, offset;
    if (document.caretPositionFromPoint) {
      const caret = document.caretPositionFromPoint(x, y);
      [node, offset] = [caret?.offsetNode, caret?.offset];
    } else {
      const range = document.caretRangeFromPoint?.(x, y);
      [node, offset] = [range?.startContainer, range?.startOffset];
    }
    if (node?.nodeType !== Node.TEXT_NODE) return -1;
    const at = this.offsetOf(node, offset);
    // The caret stands between two characters: the one under the pointer may be the one before it.
    for (const candidate of [at, at - 1]) {
      if (candidate < 0) continue;
      for (const box of this.range(candidate, candidate + 1).getClientRects()) {
        if (x >= box.left && x <= box.right && y >= box.top && y <= box.bottom) return candidate;
      }
    }
    return -1;
  }

  // The word, path or number around a character; the character alone where it is none of these.
  wordAt(at) {
    const text = this.text, inWord = (unit) => /[\p{L}\p{N}\p{M}\p{Cs}_.\-/@:+#$~]/u.test(unit);
    if (!inWord(text[at] ?? "")) return [at, at + 1];
    let start = at, stop = at + 1;
    while (start > 0 && at - start < 80 && inWord(text[start - 1])) start--;
    while (stop < text.length && stop - at < 80 && inWord(text[stop])) stop++;
    return [start, stop];
  }

  // What stands at an offset: the first line of the entry.
  entryAt(offset) {
    const { nodes, starts } = this.nodes, node = nodes[beyond(starts, offset) - 1];
    return node?.parentElement?.closest(".entry")?.querySelector("b")?.textContent.slice(1, 60) ?? "";
  }
}

const texts = [...document.querySelectorAll("pre.text")].map((pre, at) => new Words(pre, at));
const pages = texts.filter((words) => words.page);
const ofArticle = new Map(texts.map((words) => [words.article, words]));

const highlights = globalThis.Highlight
  ? Object.fromEntries(["hits", "lit", "now"].map((name, priority) => {
    const highlight = new Highlight();
    highlight.priority = priority;
    CSS.highlights.set(name, highlight);
    return [name, highlight];
  }))
  : null;

// --- what is pointed at

let lit = null;

// Light up the word around a span of text, on both sides.
function light(words, span, from) {
  const [first, last] = words.wordAt(span[0]), start = Math.min(first, span[0]), stop = Math.max(last, span[1]);
  if (lit && lit.words === words && lit.start === start && lit.stop === stop) return;
  dark();
  lit = { words, start, stop };
  const range = words.range(start, stop);
  highlights?.lit.add(range);
  if (!words.page) return;
  const boxes = words.page.boxes(start, stop);
  words.page.mark("lit", boxes);
  if (from === "sheet") reveal(words.pre, range.getBoundingClientRect());
  if (!boxes.length) return;
  if (from === "text") revealOnSheet(words.page, boxes[0]);
  showLens(words, boxes, words.entryAt(start));
}

function dark() {
  if (!lit) return;
  highlights?.lit.clear();
  lit.words.page?.mark("lit", []);
  byId("lens").hidden = true;
  lit = null;
}

// Scroll within an element so that a place in it is seen.
function reveal(pane, box) {
  const frame = pane.getBoundingClientRect();
  if (box.top >= frame.top + 6 && box.bottom <= frame.bottom - 6) return;
  pane.scrollTop += box.top + box.height / 2 - frame.top - frame.height / 2;
}

// The same on a page that is larger than its frame.
function revealOnSheet(page, box) {
  if (!root.classList.contains("actual")) return;
  const figure = page.sheet.parentElement, frame = figure.getBoundingClientRect(), place = page.onScreen(box);
  reveal(figure, place);
  if (place.left < frame.left || place.right > frame.right) {
    figure.scrollLeft += place.left + place.width / 2 - frame.left - frame.width / 2;
  }
}

const LENS = { width: 420, height: 78, scale: 1.5 };

// The words as they are on the page, enlarged, below them.
function showLens(words, boxes, entry) {
  const page = words.page, frame = page.sheet.getBoundingClientRect(), lens = byId("lens");
  const source = page.canvas?.isConnected ? page.canvas : page.image;
  if (!source || frame.width / page.width > 0.9) return;
  const [x, y, w, h] = boxes[0], canvas = lens.querySelector("canvas"), sharp = devicePixelRatio || 1;
  canvas.width = LENS.width * sharp;
  canvas.height = LENS.height * sharp;
  canvas.style.width = `${LENS.width}px`;
  canvas.style.height = `${LENS.height}px`;
  const wide = LENS.width / LENS.scale, high = LENS.height / LENS.scale;
  const left = Math.max(0, Math.min(page.width - wide, x + w / 2 - wide / 2)), top = y + h / 2 - high / 2;
  const ratio = (source.naturalWidth ?? source.width) / page.width, drawing = canvas.getContext("2d");
  drawing.fillStyle = "#fff";
  drawing.fillRect(0, 0, canvas.width, canvas.height);
  drawing.imageSmoothingEnabled = source !== page.image;
  drawing.drawImage(source, left * ratio, top * ratio, wide * ratio, high * ratio, 0, 0, canvas.width, canvas.height);
  drawing.globalCompositeOperation = "multiply";
  drawing.fillStyle = "#9fc0ff";
  const unit = LENS.scale * sharp;
  for (const [bx, by, bw, bh] of boxes) drawing.fillRect((bx - left) * unit, (by - top) * unit, bw * unit, bh * unit);
  const row = Math.round(y / page.cellHeight) + 1, column = Math.round(x / page.cellWidth) + 1;
  lens.querySelector("p").textContent = `page ${page.number}, row ${row}, column ${column}${entry ? ` · ${entry}` : ""}`;
  lens.style.width = `${LENS.width + 2}px`;
  lens.hidden = false;
  const place = page.onScreen(boxes[0]), tall = lens.offsetHeight;
  const below = place.bottom + 14, above = place.top - 14 - tall;
  const at = below + tall < innerHeight - 8 ? below : above;
  const across = Math.min(place.left + place.width / 2 - LENS.width / 2, frame.right - LENS.width);
  lens.style.translate = `${Math.max(8, Math.max(frame.left, across))}px ${Math.max(8, at)}px`;
}

let pointer = null;
addEventListener("pointermove", (event) => {
  if (!pointer) requestAnimationFrame(follow);
  pointer = event;
});
document.addEventListener("pointerleave", dark);

function follow() {
  const { target, clientX: x, clientY: y } = pointer;
  pointer = null;
  const article = target instanceof Element ? target.closest("article") : null, words = ofArticle.get(article);
  if (words?.page && target.closest(".sheet")) {
    const span = words.page.spanOf(words.page.cellAt(x, y));
    if (span) light(words, span, "sheet"); else dark();
  } else if (words?.page && target.closest("pre")) {
    const at = words.offsetAt(x, y);
    if (at >= 0) light(words, [at, at + 1], "text"); else dark();
  } else {
    dark();
  }
}

