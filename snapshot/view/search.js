// Search over all texts, those of the pages among them; hits are marked on text and image of what is in view.

const MOST_HITS = 20000;
const field = byId("search"), found = byId("found");
let hits = [], hitAt = -1, corpus = null;

// All texts as one string. Pages of one text follow each other without a gap, whatever stands between them, so
// that words torn between two pages are found; a character that nobody types stands between all others.
function gathered() {
  if (corpus) return corpus;
  const order = [], pieces = [], starts = [];
  let length = 0;
  for (const words of texts) {
    if (!words.page) order.push([words]);
    else if (words === pages.find((other) => other.page.stream === words.page.stream)) {
      order.push(pages.filter((other) => other.page.stream === words.page.stream));
    }
  }
  for (const [at, words] of order.flatMap((group) => [...group.entries()])) {
    if (!at) {
      pieces.push("\u0000");
      length += 1;
    }
    const text = words.text;
    starts.push(length);
    pieces.push(text);
    length += text.length;
  }
  corpus = { text: pieces.join(""), starts, order: order.flat() };
  return corpus;
}

function search() {
  const { text, starts, order } = gathered(), query = field.value.trim();
  hits = [];
  hitAt = -1;
  for (const words of texts) words.hits = [];
  if (query) {
    const pattern = query.split(/\s+/u).map((word) => word.replace(/[\^$\\.*+?()[\]{}|/]/gu, "\\$&")).join("[\\s\u25af]+");
    for (const match of text.matchAll(new RegExp(pattern, "giu"))) {
      const start = match.index, stop = start + match[0].length, pieces = [];
      for (let at = beyond(starts, start) - 1; at < order.length && starts[at] < stop; at++) {
        const end = at + 1 < order.length ? starts[at + 1] : Infinity;
        const piece = { words: order[at], start: Math.max(0, start - starts[at]), stop: Math.min(stop, end) - starts[at] };
        pieces.push(piece);
        piece.words.hits.push(piece);
      }
      hits.push(pieces);
      if (hits.length === MOST_HITS) break;
    }
    hits.sort(([one], [other]) => one.words.at - other.words.at || one.start - other.start);
  }
  for (const words of texts) paintHits(words);
  for (const words of pages) {
    const count = words.page.link?.querySelector(".count");
    if (count) count.textContent = words.hits.length || "";
  }
  mark("now", null);
  say();
}

function say() {
  const many = hits.length === MOST_HITS ? "+" : "", total = `${hits.length.toLocaleString("en")}${many}`;
  if (!field.value.trim()) found.value = "";
  else if (!hits.length) found.value = "none";
  else found.value = hitAt < 0 ? `${total} hit${hits.length === 1 ? "" : "s"}` : `${(hitAt + 1).toLocaleString("en")} of ${total}`;
}

// Mark the hits of a text that is near; others cost nothing.
function paintHits(words) {
  for (const range of words.ranges) highlights?.hits.delete(range);
  words.ranges = [];
  const shown = words.near ? words.hits : [];
  if (highlights) {
    words.ranges = shown.map((piece) => words.range(piece.start, piece.stop));
    for (const range of words.ranges) highlights.hits.add(range);
  }
  words.page?.mark("hits", shown.flatMap((piece) => words.page.boxes(piece.start, piece.stop)));
}

let marked = [];

// Mark pieces of texts as "lit" or "now", in place of what was.
function mark(what, pieces) {
  for (const { words } of marked) words.page?.mark(what, []);
  highlights?.[what].clear();
  marked = pieces ?? [];
  for (const { words, start, stop } of marked) {
    highlights?.[what].add(words.range(start, stop));
    words.page?.mark(what, words.page.boxes(start, stop));
  }
}

function goToHit(step) {
  if (!hits.length) return;
  hitAt = hitAt < 0 ? firstInView(step) : (hitAt + step + hits.length) % hits.length;
  show(hits[hitAt]);
  say();
}

// The first search step goes to the nearest hit behind, or before, what is in view.
function firstInView(step) {
  const line = byId("top").getBoundingClientRect().top < 0 ? 80 : -Infinity;
  const at = hits.findIndex(([piece]) => piece.words.article.getBoundingClientRect().bottom > line);
  if (at < 0) return step > 0 ? 0 : hits.length - 1;
  return step > 0 ? at : (at - 1 + hits.length) % hits.length;
}

// Bring pieces of text into view, on the page and beside it.
function show(pieces) {
  const { words, start, stop } = pieces[0];
  words.article.scrollIntoView({ block: "nearest" });
  mark("now", pieces);
  const range = words.range(start, stop);
  reveal(words.pre, range.getBoundingClientRect());
  let place = range.getBoundingClientRect();
  if (words.page) {
    const box = words.page.boxes(start, stop)[0];
    if (box) {
      revealOnSheet(words.page, box);
      place = words.page.onScreen(box);
    }
  }
  const top = 64, bottom = innerHeight - 24, frame = words.article.getBoundingClientRect();
  if (frame.height <= bottom - top) {
    // What fits the window is shown whole.
    if (frame.top < top || frame.bottom > bottom) scrollBy({ top: frame.top - top });
  } else if (place.top < top || place.bottom > bottom) {
    scrollBy({ top: place.top - innerHeight * 0.35 });
  }
}

let waiting = 0;
field.addEventListener("input", () => {
  clearTimeout(waiting);
  waiting = setTimeout(search, 120);
});
field.addEventListener("keydown", (event) => {
  if (event.key === "Enter") {
    clearTimeout(waiting);
    if (hitAt < 0) search();
    goToHit(event.shiftKey ? -1 : 1);
  } else if (event.key === "Escape") {
    endSearch();
    field.blur();
  } else {
    return;
  }
  event.preventDefault();
});
field.form.addEventListener("submit", (event) => event.preventDefault());
byId("hit-before").addEventListener("click", () => goToHit(-1));
byId("hit-after").addEventListener("click", () => goToHit(1));

function endSearch() {
  field.value = "";
  search();
}

