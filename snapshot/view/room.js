// The room around: outline, what is near, keys, light and dark, the switch of the resize.

const links = new Map([...document.querySelectorAll("#outline .to-page")].map((link) => [link.hash, link]));
for (const words of pages) words.page.link = links.get(`#page-${words.page.number}`);

let current = -1, due = false;

// --- what is near: only that has marks and resized pictures

let resized = false;
const watcher = new IntersectionObserver((entries) => {
  for (const entry of entries) {
    const words = ofArticle.get(entry.target);
    words.near = entry.isIntersecting;
    if (words.hits.length || words.ranges.length) paintHits(words);
    if (words.page) showSize(words.page, resized && words.near);
  }
  locate();
}, { rootMargin: "60% 0px" });
for (const words of texts) watcher.observe(words.article);

function showSize(page, on) {
  page.wanted = on;
  page.showResized(on).catch(() => {});
}

function setResized(on) {
  resized = on;
  byId("resize")?.setAttribute("aria-pressed", String(on));
  for (const words of pages) showSize(words.page, on && words.near);
}
byId("resize")?.addEventListener("click", () => setResized(!resized));

// Room for pages that are not laid out yet: as high as they will be, so that nothing jumps.
const first = pages.find((words) => words.page.image)?.page;
function reserve() {
  if (!first) return;
  const gap = innerWidth > 700 ? 0 : innerHeight * 0.45 + 14, width = first.sheet.parentElement.clientWidth;
  if (width) root.style.setProperty("--page-height", `${Math.round(width * first.height / first.width + gap)}px`);
}
reserve();
addEventListener("resize", reserve);

// --- where one is

function locate() {
  due = false;
  const line = innerHeight * 0.4;
  const at = pages.findIndex(({ near, article }) => near && article.getBoundingClientRect().bottom > line);
  const here = at >= 0 && pages[at].article.getBoundingClientRect().top <= line ? at : -1;
  if (here === current) return;
  pages[current]?.page.link?.removeAttribute("aria-current");
  current = here;
  const link = pages[current]?.page.link;
  if (!link) return;
  link.setAttribute("aria-current", "true");
  const list = byId("outline"), frame = list.getBoundingClientRect(), place = link.getBoundingClientRect();
  if (place.top < frame.top || place.bottom > frame.bottom) list.scrollTop += place.top - frame.top - 60;
}
addEventListener("scroll", () => {
  dark();
  if (!due) requestAnimationFrame(locate);
  due = true;
}, { passive: true });

function turn(step) {
  const line = 64;
  const tops = pages.map(({ article }) => article.getBoundingClientRect().top);
  const target = step > 0 ? tops.findIndex((top) => top > line + 8) : tops.findLastIndex((top) => top < line - 8);
  pages[target]?.article.scrollIntoView({ block: "start" });
}

// --- the outline

const closeOutline = () => root.classList.remove("outline-open");
byId("open-outline").addEventListener("click", () => root.classList.toggle("outline-open"));
byId("shade").addEventListener("click", closeOutline);
byId("outline").addEventListener("click", (event) => {
  const link = event.target.closest("a");
  if (!link) return;
  closeOutline();
  const target = byId(decodeURIComponent(link.hash.slice(1))), words = ofArticle.get(target?.closest("article"));
  if (!target?.classList.contains("entry") || !words) return;
  event.preventDefault();
  const head = target.querySelector("b"), start = words.offsetOf(head.firstChild);
  show([{ words, start, stop: start + head.textContent.length }]);
});
document.querySelector("main").addEventListener("click", (event) => {
  const button = event.target.closest(".find");
  if (!button) return;
  field.value = button.textContent;
  search();
  goToHit(1);
});

// --- light and dark, sizes, help

function setTheme(theme) {
  root.dataset.theme = theme;
  try {
    localStorage.setItem("snapshot-view-theme", theme);
  } catch { /* a browser that keeps nothing for files */ }
}
try {
  const kept = localStorage.getItem("snapshot-view-theme");
  if (kept === "light" || kept === "dark") root.dataset.theme = kept;
} catch { /* as above */ }
function changeTheme() {
  const isDark = getComputedStyle(root).colorScheme.trim() === "dark";
  setTheme(isDark ? "light" : "dark");
}
byId("theme").addEventListener("click", changeTheme);

function zoom() {
  dark();
  const page = pages[Math.max(0, current)]?.article, before = page?.getBoundingClientRect().top;
  const on = root.classList.toggle("actual");
  byId("zoom").setAttribute("aria-pressed", String(on));
  if (page) scrollBy({ top: page.getBoundingClientRect().top - before });
}
byId("zoom").addEventListener("click", zoom);

const help = byId("help");
byId("open-help").addEventListener("click", () => help.showModal());

const KEYS = {
  n: () => turn(1),
  p: () => turn(-1),
  j: () => goToHit(1),
  k: () => goToHit(-1),
  r: () => byId("resize") && setResized(!resized),
  z: zoom,
  o: () => root.classList.toggle("outline-open"),
  t: changeTheme,
  "/": () => { field.focus(); field.select(); },
  "?": () => help.showModal(),
  Escape: () => { closeOutline(); endSearch(); },
};
addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || help.open) return;
  if (event.target instanceof Element && event.target.closest("input, textarea")) return;
  const act = Object.hasOwn(KEYS, event.key) ? KEYS[event.key] : null;
  if (!act) return;
  event.preventDefault();
  act();
});

// Pages for paper are laid out whole.
addEventListener("beforeprint", () => { dark(); setResized(false); });
requestAnimationFrame(locate);
