"""Trains the neutral reader on ordinary fonts, none of which is in the contest; about five minutes.

    python -m benchmarks.train_neutral                  # the fonts that this machine has, new weights
    python -m benchmarks.train_neutral --fonts          # name the fonts, and stop

The shipped weights were trained on the Debian packages of `PACKAGES` (bookworm). Every sample is a character
among random neighbours, on a random cell, hinted in some way and shrunk as providers shrink. Fonts that are
in the contest, or whose letters are those of one that is, take no part (`ON_TRIAL`).
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "2")

import argparse
import io
import random
import subprocess
import time
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from benchmarks.neutral import SEEN, WEIGHTS, Floats, features, page_profile, windows
from benchmarks.reading import letter_shares
from snapshot.legibility.resized import ASCII

PACKAGES = (
    "fonts-liberation", "fonts-freefont-ttf", "fonts-inconsolata", "fonts-noto-mono", "fonts-croscore",
    "fonts-open-sans", "fonts-lato", "fonts-roboto-unhinted", "fonts-crosextra-carlito", "fonts-cantarell",
    "fonts-oxygen", "fonts-mononoki", "fonts-monoid", "fonts-courier-prime", "fonts-agave", "fonts-inter",
    "fonts-comic-neue", "fonts-linuxlibertine", "fonts-urw-base35", "fonts-go", "fonts-roboto-slab",
    "fonts-quicksand", "fonts-droid-fallback", "fonts-league-mono", "fonts-3270", "fonts-proggy",
    "fonts-dosis", "fonts-noto-core", "fonts-georgewilliams", "fonts-sil-gentium-basic", "fonts-junicode",
    "fonts-ebgaramond", "fonts-tlwg-mono", "fonts-texgyre", "fonts-lmodern", "fonts-humor-sans",
    "fonts-jura", "fonts-yanone-kaffeesatz", "fonts-okolaks", "fonts-play", "fonts-anonymous-pro",
    "ttf-anonymous-pro",
)  # fmt: skip
ON_TRIAL = ("fira", "dejavu", "hack", "jetbrains", "spleen", "x11/misc", "sourcecode", "source-code")
_UNFIT = (
    "symbol", "dingbat", "emoji", "italic", "oblique", "noto/", "cjk", "keyboard", "glow", "black", "shadow",
    "outline", "initials", "smallcap", "bold", "hairline", "thin", "extralight", "caps", "d050000l", "z003",
)  # fmt: skip
_MONO = ("mono", "courier", "cousine", "inconsolata", "anonymous", "agave", "3270", "nimbusmonops", "cursor")
_ROWS, _COLUMNS, _OF_PAGE = 12, 32, 150
_HIDDEN = 352, 160
_BLANKS = 0.15


@dataclass(frozen=True, slots=True)
class Samples:
    """Windows and what stands in them.

    Attributes:
        seen: uint8, shape (samples, 20, 16).
        profiles: shape (samples, 20): of the page that each is of.
        labels: place in `ASCII`.
    """

    seen: NDArray[np.uint8]
    profiles: Floats
    labels: NDArray[np.intp]

    def batch(self, which: NDArray[np.intp]) -> tuple[Floats, NDArray[np.intp]]:
        """Features and labels of some samples."""
        return features(self.seen[which], self.profiles[which]), self.labels[which]


def ordinary_fonts() -> list[str]:
    """Files of installed fonts with all of ASCII that are not in the contest, in order of name."""
    import freetype

    listed = subprocess.run(["fc-list", ":", "file"], capture_output=True, text=True, check=True).stdout
    found = []
    for path in sorted({line.split(":")[0].strip() for line in listed.splitlines()}):
        low = path.lower()
        if not low.endswith((".ttf", ".otf")) or any(part in low for part in (*ON_TRIAL, *_UNFIT)):
            continue
        try:
            face = freetype.Face(path)
        except freetype.FT_Exception:
            continue
        if all(face.get_char_index(ord(char)) for char in ASCII[1:]):
            found.append(path)
    return found


def glyphs_on(
    path: str, cell: tuple[int, int], hinting: str, size: tuple[float, float]
) -> NDArray[np.uint8] | None:
    """ASCII of a font in the middle of cells, shape (95, height, width); None where it does not fit them.

    Args:
        path: the font file.
        cell: width and height in pixels.
        hinting: "light", "normal", "none" or "mono".
        size: em across and down in parts of the cell's height.
    """
    import freetype

    from snapshot.raster.freetype_face import load_flags

    constants: Any = freetype  # they are made at import, where no type checker sees them
    face = freetype.Face(path)
    width, height = cell
    flags = load_flags(freetype, hinting)
    face.set_char_size(int(size[0] * height * 64 / 1.18), int(size[1] * height * 64 / 1.18))
    above, below = face.size.ascender / 64, -face.size.descender / 64
    baseline = round((height - above - below) / 2 + above)
    ink = np.zeros((len(ASCII), height, width), np.uint8)
    too_wide = 0
    for at, char in enumerate(ASCII[1:], 1):
        face.load_char(char, flags)
        slot = face.glyph
        bitmap: Any = slot.bitmap
        if not bitmap.rows or not bitmap.width:
            return None
        pixels = np.array(bitmap.buffer, np.uint8).reshape(bitmap.rows, abs(bitmap.pitch))
        if bitmap.pixel_mode == constants.FT_PIXEL_MODE_MONO:
            pixels = np.unpackbits(pixels, axis=1) * np.uint8(255)
        pixels = pixels[:, : bitmap.width]
        x = round((width - slot.advance.x / 64) / 2) + slot.bitmap_left
        y = baseline - slot.bitmap_top
        if pixels.shape[1] > width:
            small = Image.fromarray(pixels).resize((width, pixels.shape[0]), Image.Resampling.BOX)
            pixels = np.asarray(small)
            too_wide += 1
        x = min(max(x, 0), width - pixels.shape[1])
        first, last = max(0, y), min(height, y + pixels.shape[0])
        if last <= first:
            return None
        ink[at, first:last, x : x + pixels.shape[1]] = pixels[first - y : last - y]
    return ink if too_wide < 6 else None


def drawn_page(path: str, rng: random.Random, numbers: np.random.Generator) -> tuple[Any, Any] | None:
    """A page in a font as a reader may see it, and the place in `ASCII` of each cell; or None."""
    height = rng.randint(10, 24)
    width = max(5, round(height * rng.uniform(0.45, 0.72)))
    hinting = rng.choice(("light", "light", "normal", "none", "mono"))
    down = rng.uniform(0.82, 1.12)
    ink = glyphs_on(path, (width, height), hinting, (down * rng.uniform(0.9, 1.15), down))
    if ink is None:
        return None
    shares = letter_shares() if rng.random() < 0.5 else None  # half of the pages are spread as text is
    text = numbers.choice(np.arange(1, len(ASCII)), (_ROWS, _COLUMNS), p=shares)
    text[numbers.random(text.shape) < _BLANKS] = 0
    page = ink[text].swapaxes(1, 2).reshape(_ROWS * height, _COLUMNS * width)
    if rng.random() < 0.5:  # four levels of grey
        page = ((page.astype(np.uint16) * 3 + 127) // 255 * 85).astype(np.uint8)
    image = Image.fromarray(255 - page)
    if rng.random() < 0.7:
        factor = rng.uniform(0.45, 1)
        resample = rng.choice((Image.Resampling.LANCZOS, Image.Resampling.BICUBIC, Image.Resampling.BOX))
        size = max(8, round(image.width * factor)), max(8, round(image.height * factor))
        image = image.resize(size, resample)
    if rng.random() < 0.1:
        held = io.BytesIO()
        image.save(held, "JPEG", quality=rng.randint(75, 95))
        image = Image.open(held).convert("L")
    return image, text


def samples(total: int, seed: int = 5) -> Samples:
    """So many samples of ordinary fonts, three of five in fonts of one width."""
    rng, numbers = random.Random(seed), np.random.default_rng(seed)
    fonts = ordinary_fonts()
    mono = [path for path in fonts if any(part in path.lower() for part in _MONO)]
    others = [path for path in fonts if path not in mono]
    print(f"{len(mono)} fonts of one width, {len(others)} others", flush=True)
    seen = np.empty((total, SEEN[1], SEEN[0]), np.uint8)
    profiles, labels = np.empty((total, SEEN[1]), np.float32), np.empty(total, np.intp)
    done = 0
    while done < total:
        made = drawn_page(rng.choice(mono if rng.random() < 0.6 else others), rng, numbers)
        if made is None:
            continue
        image, text = made
        cell = image.width / _COLUMNS, image.height / _ROWS
        count = min(_OF_PAGE, total - done)
        at = np.sort(numbers.choice(text.size, count, replace=False))
        rows, columns = np.divmod(at, _COLUMNS)
        shift = numbers.uniform(-0.05, 0.05, (count, 2))
        centres = (np.stack((columns, rows), 1) + 0.5 + shift) * cell
        part = slice(done, done + count)
        seen[part] = windows(image, cell, centres)
        profiles[part] = page_profile(np.asarray(image), _ROWS)
        labels[part] = text.ravel()[at]
        done += count
    return Samples(seen, profiles, labels)


@dataclass(slots=True)
class Adam:
    """Adam with decay of the weights, over arrays that it changes."""

    values: list[Floats]
    decay: float = 0.01
    step: int = 0
    first: list[Floats] = field(init=False)
    second: list[Floats] = field(init=False)

    def __post_init__(self) -> None:
        self.first = [np.zeros_like(value) for value in self.values]
        self.second = [np.zeros_like(value) for value in self.values]

    def descend(self, gradients: list[Floats], rate: float) -> None:
        """A step down."""
        self.step += 1
        found = zip(self.values, gradients, self.first, self.second, strict=True)
        for value, slope, mean, square in found:
            np.add(mean, 0.1 * (slope - mean), out=mean)
            np.add(square, 0.001 * (slope * slope - square), out=square)
            step = mean / (1 - 0.9**self.step) / (np.sqrt(square / (1 - 0.999**self.step)) + 1e-8)
            shrink = self.decay * value if value.ndim == 2 else 0
            np.subtract(value, rate * (step + shrink), out=value)


def trained(data: Samples, epochs: int, held: int, seed: int = 1) -> tuple[list[Floats], float]:
    """Weights after some epochs, and the share of the last `held` samples, never seen, that is right."""
    rng = np.random.default_rng(seed)
    sizes = (SEEN[0] * SEEN[1] + SEEN[1], *_HIDDEN, len(ASCII))
    values: list[Floats] = []
    for given, made in pairwise(sizes):
        values.append((rng.standard_normal((given, made)) * np.sqrt(2 / given)).astype(np.float32))
        values.append(np.zeros(made, np.float32))
    adam, batch, known = Adam(values), 512, len(data.labels) - held
    steps, step, begun = epochs * (known // batch), 0, time.perf_counter()
    for _ in range(epochs):
        for which in rng.permutation(known)[: known // batch * batch].reshape(-1, batch):
            given, labels = data.batch(np.sort(which))
            one = np.maximum(given @ values[0] + values[1], 0)
            two = np.maximum(one @ values[2] + values[3], 0)
            out = two @ values[4] + values[5]
            share = np.exp(out - out.max(1, keepdims=True))
            share /= share.sum(1, keepdims=True)
            loss = -np.log(share[np.arange(batch), labels] + 1e-9).mean()
            share[np.arange(batch), labels] -= 1
            slope = (share / batch).astype(np.float32)
            down_two = (slope @ values[4].T) * (two > 0)
            down_one = (down_two @ values[2].T) * (one > 0)
            gradients = [
                given.T @ down_one, down_one.sum(0), one.T @ down_two, down_two.sum(0),
                two.T @ slope, slope.sum(0),
            ]  # fmt: skip
            adam.descend(gradients, 2e-3 * min(1, step / 100) * 0.5 * (1 + np.cos(np.pi * step / steps)))
            step += 1
            if step % 500 == 0:
                spent = time.perf_counter() - begun
                print(f"step {step} of {steps}: loss {loss:.3f}, {spent:.0f} s", flush=True)
    right = 0
    for start in range(known, len(data.labels), 4096):
        given, labels = data.batch(np.arange(start, min(start + 4096, len(data.labels))))
        hidden = np.maximum(np.maximum(given @ values[0] + values[1], 0) @ values[2] + values[3], 0)
        right += int(((hidden @ values[4] + values[5]).argmax(1) == labels).sum())
    return values, right / held


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.train_neutral",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--fonts", action="store_true", help="name the fonts, and stop")
    parser.add_argument("--samples", type=int, default=400_000)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("-o", type=Path, default=WEIGHTS, help="file of the weights")
    arguments = parser.parse_args()
    if arguments.fonts:
        print("\n".join(ordinary_fonts()))
        return
    data = samples(arguments.samples)
    values, right = trained(data, arguments.epochs, held=arguments.samples // 50)
    print(f"{right:.3f} of samples that it never saw are right")
    # The order of names is that of the layers; half precision keeps the file small.
    np.savez_compressed(
        arguments.o,
        **{f"{at}": value.astype(np.float16) for at, value in enumerate(values)},  # type: ignore[arg-type]
    )


if __name__ == "__main__":
    main()
