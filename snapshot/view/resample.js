// A page as a provider's resize leaves it: Lanczos over three lobes, in two passes of eight bits each, as the
// common imaging library of Python does it, so that the picture is the one that `snapshot verify` measures.

const BITS = 22;

function lanczos(x) {
  if (x <= -3 || x >= 3) return 0;
  if (x === 0) return 1;
  const turned = x * Math.PI, third = turned / 3;
  return Math.sin(turned) / turned * Math.sin(third) / third;
}

// For each new pixel: the first old one that counts, and the weights from there on, in units of 2^-22.
function weights(before, after) {
  const scale = before / after, wide = Math.max(1, scale), support = 3 * wide, found = [];
  for (let at = 0; at < after; at++) {
    const centre = (at + 0.5) * scale;
    const first = Math.max(0, Math.trunc(centre - support + 0.5));
    const last = Math.min(before, Math.trunc(centre + support + 0.5));
    const own = [];
    let sum = 0;
    for (let x = first; x < last; x++) {
      const weight = lanczos((x - centre + 0.5) / wide);
      own.push(weight);
      sum += weight;
    }
    const whole = own.map((weight) => {
      const unit = weight / sum * (1 << BITS);
      return Math.trunc(unit < 0 ? unit - 0.5 : unit + 0.5);
    });
    found.push([first, Int32Array.from(whole)]);
  }
  return found;
}

const clipped = (sum) => Math.max(0, Math.min(255, sum >> BITS));

// Grey values after the resize; gives way to the browser every few rows. Across first, but where that would make
// more of what is to become less.
async function resampled(grey, width, height, newWidth, newHeight) {
  if (newWidth > width && newHeight < height) {
    return across(await down(grey, width, height, newHeight), width, newHeight, newWidth);
  }
  return down(await across(grey, width, height, newWidth), newWidth, height, newHeight);
}

async function across(grey, width, height, newWidth) {
  if (newWidth === width) return grey;
  const columns = weights(width, newWidth), out = new Uint8Array(newWidth * height);
  for (let y = 0; y < height; y++) {
    const from = y * width;
    for (let x = 0; x < newWidth; x++) {
      const [first, own] = columns[x];
      let sum = 1 << BITS - 1;
      for (let k = 0; k < own.length; k++) sum += grey[from + first + k] * own[k];
      out[y * newWidth + x] = clipped(sum);
    }
    if (y % 64 === 63) await pause();
  }
  return out;
}

async function down(grey, width, height, newHeight) {
  if (newHeight === height) return grey;
  const rows = weights(height, newHeight), out = new Uint8Array(width * newHeight);
  for (let y = 0; y < newHeight; y++) {
    const [first, own] = rows[y];
    for (let x = 0; x < width; x++) {
      let sum = 1 << BITS - 1;
      for (let k = 0; k < own.length; k++) sum += grey[(first + k) * width + x] * own[k];
      out[y * width + x] = clipped(sum);
    }
    if (y % 64 === 63) await pause();
  }
  return out;
}

const pause = () => new Promise((resolve) => {
  const channel = new MessageChannel();
  channel.port1.onmessage = resolve;
  channel.port2.postMessage(0);
});

// A canvas with an image as the resize leaves it.
async function resizedCanvas(image, newWidth, newHeight) {
  await image.decode();
  const width = image.naturalWidth, height = image.naturalHeight;
  const canvas = document.createElement("canvas");
  canvas.width = width;
  canvas.height = height;
  const drawing = canvas.getContext("2d", { willReadFrequently: true });
  drawing.drawImage(image, 0, 0);
  const pixels = drawing.getImageData(0, 0, width, height).data;
  const grey = new Uint8Array(width * height);
  for (let at = 0; at < grey.length; at++) grey[at] = pixels[4 * at];
  const after = await resampled(grey, width, height, newWidth, newHeight);
  canvas.width = newWidth;
  canvas.height = newHeight;
  const data = drawing.createImageData(newWidth, newHeight);
  for (let at = 0; at < after.length; at++) {
    data.data.fill(after[at], 4 * at, 4 * at + 3);
    data.data[4 * at + 3] = 255;
  }
  drawing.putImageData(data, 0, 0);
  return canvas;
}

