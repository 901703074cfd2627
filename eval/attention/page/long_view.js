// The page of a long text of `sinklab view`: what every key receives, all heads pooled, and a window of a head in full.
const byId = (id) => document.getElementById(id);
const dark = matchMedia("(prefers-color-scheme: dark)");
const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name);
const kSizes = [2, 4, 8, 14];  // pixels of a token in the window; names are written where it is 14
const kGutter = 92;  // pixels of the names of tokens
let chosen = 0, query = T - 1, pixels = 8;

const shown = (text) => text.replace(/ /g, "\u00b7").replace(/\n/g, "\u21b5");
const quoted = (t) => `\u201c${data.tokens[t]}\u201d (${t + 1})`;
const percent = (x) => (x === 0 || x >= 0.0005 ? (100 * x).toFixed(x < 0.0995 ? 1 : 0) : (100 * x).toPrecision(1)) + " %";
const layerOf = (h) => data.attention[Math.floor(h / data.heads)];
const nameOf = (h) => `${layerOf(h)}.${h % data.heads}`;
const evenOf = (h) => (data.even_layer ? data.even_layer[Math.floor(h / data.heads)] : data.even);
const clamp = (x, low, high) => Math.max(low, Math.min(high, x));

// From the background to a dark blue, on a dark page from it to a light one; 256 shades by the square root of the weight.
function shades() {
  const from = dark.matches ? [20, 23, 27] : [255, 255, 255], to = dark.matches ? [150, 208, 255] : [8, 48, 107];
  const bytes = Uint8Array.from({ length: 1024 }, (_, n) => (n % 4 === 3 ? 255 : from[n % 4] + (to[n % 4] - from[n % 4]) * Math.floor(n / 4) / 255));
  return new Uint32Array(bytes.buffer);
}

// Weights as a picture with a pixel for each.
function pictureOf(weights, width, height, canvas = document.createElement("canvas")) {
  [canvas.width, canvas.height] = [width, height];
  const context = canvas.getContext("2d"), image = context.createImageData(width, height), shade = shades();
  const pixel = new Uint32Array(image.data.buffer);
  for (let n = 0; n < pixel.length; ++n) pixel[n] = shade[Math.round(255 * Math.sqrt(Math.min(1, weights[n])))];
  context.putImageData(image, 0, 0);
  return canvas;
}

// make(), again only if `wanted` or the colours changed.
function remembered(make) {
  let of = "", picture;
  return (...wanted) => {
    if (of !== `${wanted} ${dark.matches}`) picture = make(...wanted);
    of = `${wanted} ${dark.matches}`;
    return picture;
  };
}
const pooledPicture = remembered((h) => pictureOf(pooledOf(h), side, side));

// A canvas of as many pixels as the screen has for it, with coordinates in CSS pixels.
function contextOf(canvas, width, height) {
  const ratio = devicePixelRatio || 1;
  [canvas.width, canvas.height] = [Math.round(width * ratio), Math.round(height * ratio)];
  canvas.style.height = height + "px";
  const context = canvas.getContext("2d");
  context.scale(ratio, ratio);
  context.imageSmoothingEnabled = false;
  context.font = `11px ${css("--mono")}`;
  return context;
}

// The largest value of each of `columns` stretches of the positions, so that a single key stays visible.
function largestOf(values, columns) {
  const largest = new Float32Array(columns);
  values.forEach((value, t) => { const x = Math.floor(t * columns / T); largest[x] = Math.max(largest[x], value); });
  return largest;
}

// The sinks: the first token and others with the number of heads.
const sinks = [[0, data.alpha.filter((alpha) => alpha > 0.3).length], ...data.sinks];

// Layers down, keys across; sinks are marked and named above.
const received = data.attention.map((_, row) => receivedOf(row));
// Keys that are no sinks and whose column is drawn strong, because some layer gives them more than a twentieth.
const largestRow = (t) => received.reduce((best, values, row) => (values[t] > received[best][t] ? row : best), 0);
const others = [...data.tokens.keys()].map((t) => [t, largestRow(t)]).filter(([t, row]) => received[row][t] > 0.05 && sinks.every(([sink]) => sink !== t))
  .sort((a, b) => received[b[1]][b[0]] - received[a[1]][a[0]]).map(([t, row]) => [t, `${percent(received[row][t])} of layer ${data.attention[row]}`]);
const stripPicture = remembered((columns, wider) => {
  const rows = new Float32Array(columns * received.length);
  received.forEach((values, row) => {
    const largest = largestOf(values, columns);
    // A strong key is drawn at least three pixels wide.
    for (let x = 0; x < columns; ++x)
      for (let near = x; near >= Math.max(0, x - wider); --near)
        if (near === x || largest[near] > 0.05) rows[row * columns + x] = Math.max(rows[row * columns + x], largest[near]);
  });
  return pictureOf(rows.map(Math.sqrt), columns, received.length);  // by the fourth root: most shares are small
});
function drawStrip() {
  const canvas = byId("strip"), width = canvas.clientWidth, left = 26, top = 46, across = Math.floor(width - left);
  const step = clamp(Math.round(200 / received.length), 3, 16), high = step * received.length;
  const context = contextOf(canvas, width, top + high + 22), columns = Math.min(T, across);
  context.drawImage(stripPicture(columns, Math.floor(3 * columns / across)), left, top, across, high);
  context.strokeStyle = css("--rule");
  context.strokeRect(left, top, across, high);
  context.fillStyle = css("--muted");
  context.textAlign = "right";
  data.attention.forEach((layer, row) => { if (row === 0 || row === received.length - 1) context.fillText(layer, left - 5, top + (row + 1) * step - 1); });
  context.textAlign = "center";
  const power = 10 ** Math.floor(Math.log10(T / 4)), tick = power * Math.floor(T / 4 / power);
  for (let t = tick; t < T; t += tick) context.fillText(t, left + t * across / T, top + high + 16);
  context.textAlign = "left";
  for (const [t] of sinks) {
    const x = left + (t + 0.5) * across / T;
    context.fillStyle = css("--mark");
    context.beginPath();
    context.moveTo(x - 5, top - 11);
    context.lineTo(x + 5, top - 11);
    context.lineTo(x, top - 2);
    context.fill();
  }
  context.fillStyle = css("--text");
  const taken = [[], []];  // from where to where the names of each of two lines are, the strongest first
  for (const [t, what] of [...sinks.map(([t, heads]) => [t, `${heads} of ${count} heads`]), ...others]) {
    const text = `\u201c${shown(data.tokens[t]).slice(0, 12)}\u201d (${t + 1}): ${what}`, long = context.measureText(text).width;
    const x = clamp(left + t * across / T - 4, 0, width - long);
    const line = taken.findIndex((names) => names.every(([from, to]) => x >= to + 14 || x + long + 14 <= from));
    if (line < 0) continue;
    context.fillText(text, x, top - 16 - 14 * line);
    taken[line].push([x, x + long]);
  }
  if (isFull.has(chosen)) {  // where the window is
    const { j0, keys } = drawnPart();
    context.fillStyle = css("--mark");
    context.fillRect(left + j0 * across / T, top + high + 1, Math.max(6, keys * across / T), 4);
  }
  const at = (event) => {
    const box = canvas.getBoundingClientRect(), row = Math.floor((event.clientY - box.top - top) / step);
    return [clamp(row, 0, received.length - 1), clamp(Math.floor((event.clientX - box.left - left) * T / across), 0, T - 1)];
  };
  canvas.onmousemove = (event) => {
    const [row, near] = at(event), reach = Math.ceil(3 * T / across);
    let t = near;  // the strongest key below the mouse
    for (let k = Math.max(0, near - reach); k < Math.min(T, near + reach); ++k) if (received[row][k] > received[row][t]) t = k;
    byId("strip-cell").textContent = `layer ${data.attention[row]}: ${quoted(t)} receives ${percent(received[row][t])}`;
  };
  canvas.onclick = (event) => go(Math.max(query, at(event)[1]), at(event)[1]);
}

function order() {
  const heads = [...Array(count).keys()], by = byId("order").value;
  if (by === "sink") heads.sort((a, b) => data.alpha[b] - data.alpha[a] || a - b);
  if (by === "least") heads.sort((a, b) => data.alpha[a] - data.alpha[b] || a - b);
  if (by === "full") heads.sort((a, b) => isFull.has(b) - isFull.has(a) || a - b);
  return heads;
}

function drawGrid() {
  const grid = byId("grid");
  grid.replaceChildren();
  const seen = new IntersectionObserver((entries) => {
    for (const entry of entries)
      if (entry.isIntersecting) {
        pictureOf(pooledOf(Number(entry.target.dataset.head)), side, side, entry.target.firstChild);
        seen.unobserve(entry.target);
      }
  }, { rootMargin: "200px" });
  for (const h of order()) {
    const button = document.createElement("button"), name = document.createElement("span");
    button.type = "button";
    button.tabIndex = -1;
    button.dataset.head = h;
    button.className = isFull.has(h) ? "full" : "";
    button.setAttribute("role", "option");
    button.title = `layer ${layerOf(h)}, head ${h % data.heads}: alpha_1 ${data.alpha[h].toFixed(3)}` + (isFull.has(h) ? "; in full: " + isFull.get(h).rule : "");
    name.textContent = `${nameOf(h)} ${data.alpha[h].toFixed(2)}`;
    button.append(document.createElement("canvas"), name);
    button.addEventListener("click", () => choose(h));
    grid.append(button);
    seen.observe(button);
  }
  markGrid();
}

function markGrid() {
  for (const button of byId("grid").children) button.setAttribute("aria-selected", String(Number(button.dataset.head) === chosen));
}

function choose(h) {
  chosen = h;
  markGrid();
  drawHead();
}

// The tokens that the window shows: from query i0 and key j0 on.
function drawnPart() {
  const box = byId("window"), gutter = pixels === 14 ? kGutter : 0;
  const most = (length) => clamp(Math.floor((length - gutter) / pixels), 1, T);
  const queries = most(box.clientHeight), keys = most(box.clientWidth);
  return { queries, keys, gutter, i0: clamp(Math.round(box.scrollTop / pixels), 0, T - queries), j0: clamp(Math.round(box.scrollLeft / pixels), 0, T - keys) };
}

// The window begins a little before query i and key j.
function go(i, j) {
  const { queries, keys } = drawnPart();
  query = clamp(i, 0, T - 1);
  byId("window").scrollTo((j - Math.floor(keys / 8)) * pixels, (query - Math.floor(queries / 2)) * pixels);
  drawWindow();
  drawRow();
}

function drawWindow() {
  if (!isFull.has(chosen)) return;
  const box = byId("window"), canvas = byId("weights"), { i0, j0, queries, keys, gutter } = drawnPart();
  byId("plane").style.width = gutter + T * pixels + "px";
  byId("plane").style.height = gutter + T * pixels + "px";
  canvas.style.width = box.clientWidth + "px";
  const context = contextOf(canvas, box.clientWidth, box.clientHeight), weights = windowOf(chosen, i0, j0, queries, keys);
  context.drawImage(pictureOf(weights, keys, queries), gutter, gutter, keys * pixels, queries * pixels);
  context.fillStyle = css("--text");
  context.textBaseline = "middle";
  if (gutter > 0) {
    context.textAlign = "right";
    for (let i = 0; i < queries; ++i) context.fillText(shown(data.tokens[i0 + i]).slice(0, 12), gutter - 5, gutter + (i + 0.5) * pixels);
    context.textAlign = "left";
    for (let j = 0; j < keys; ++j) {
      context.save();
      context.translate(gutter + (j + 0.5) * pixels, gutter - 5);
      context.rotate(-Math.PI / 2);
      context.fillText(shown(data.tokens[j0 + j]).slice(0, 12), 0, 0);
      context.restore();
    }
  }
  context.strokeStyle = css("--mark");
  context.lineWidth = 1.5;
  if (query >= i0 && query < i0 + queries) context.strokeRect(gutter, gutter + (query - i0) * pixels, keys * pixels, pixels);
  const at = (event) => {
    const bounds = canvas.getBoundingClientRect();
    const [i, j] = [event.clientY - bounds.top, event.clientX - bounds.left].map((x) => Math.floor((x - gutter) / pixels));
    return i >= 0 && i < queries && j >= 0 && j < keys ? [i, j] : null;
  };
  canvas.onmousemove = (event) => {
    const place = at(event);
    if (place) byId("cell").textContent = `${quoted(i0 + place[0])} looks at ${quoted(j0 + place[1])}: ${percent(weights[place[0] * keys + place[1]])}`;
  };
  canvas.onclick = (event) => {
    const place = at(event);
    if (!place) return;
    query = i0 + place[0];
    drawWindow();
    drawRow();
  };
  byId("cell").textContent = `Queries ${i0 + 1} to ${i0 + queries}, keys ${j0 + 1} to ${j0 + keys}.`;
  drawMap();
  drawStrip();
}

// The pooled map of the chosen head, with a frame where the window is; a click moves it.
function drawMap() {
  const canvas = byId("map"), size = canvas.clientWidth, context = contextOf(canvas, size, size), scale = size / (side * cell);
  context.drawImage(pooledPicture(chosen), 0, 0, size, size);
  context.strokeStyle = css("--rule");
  context.strokeRect(0, 0, size, size);
  canvas.setAttribute("aria-label", `Pooled attention of layer ${layerOf(chosen)}, head ${chosen % data.heads}`);
  byId("map-note").textContent = `${cell} \u00d7 ${cell} tokens in a cell: mean over its queries of the sum over its keys.`;
  if (!isFull.has(chosen)) return;
  const { i0, j0, queries, keys } = drawnPart(), wide = Math.max(6, keys * scale), high = Math.max(6, queries * scale);
  context.strokeStyle = css("--mark");
  context.lineWidth = 2;
  context.strokeRect(Math.min(j0 * scale + 1, size - wide - 1), Math.min(i0 * scale + 1, size - high - 1), wide, high);
  canvas.onclick = (event) => {
    const box = canvas.getBoundingClientRect();
    go(...[event.clientY - box.top, event.clientX - box.left].map((x) => Math.floor(x / scale)));
  };
}

// What the chosen query looks at: by position, and its strongest keys; a click on one moves the window there.
function drawRow() {
  if (!isFull.has(chosen)) return;
  const canvas = byId("row"), width = canvas.clientWidth, weights = windowOf(chosen, query, 0, 1, T), high = 56;
  const context = contextOf(canvas, width, high), bars = largestOf(weights, Math.min(T, Math.floor(width)));
  context.fillStyle = css("--line");
  context.fillRect(0, high - 1, width, 1);
  context.fillStyle = css("--accent");
  bars.forEach((weight, x) => { if (weight > 0.002) context.fillRect(x * width / bars.length, (1 - Math.sqrt(weight)) * high, Math.max(1.5, width / bars.length), Math.sqrt(weight) * high); });
  byId("row-note").textContent = `Query ${quoted(query)} looks at (bars by position, square-root scale):`;
  const best = [...weights.keys()].sort((a, b) => weights[b] - weights[a]).slice(0, 10).filter((j) => weights[j] > 0.001);
  byId("best").replaceChildren(...best.map((j) => tokenButton(`${shown(data.tokens[j])} ${j + 1}`, percent(weights[j]), () => go(query, j))));
  canvas.onclick = (event) => go(query, Math.floor(event.offsetX * T / width));
}

function tokenButton(text, small, action) {
  const button = document.createElement("button"), note = document.createElement("small");
  button.type = "button";
  note.textContent = " " + small;
  button.append(text, note);
  button.addEventListener("click", action);
  return button;
}

function drawHead() {
  const full = isFull.get(chosen);
  byId("name").textContent = `Layer ${layerOf(chosen)}, head ${chosen % data.heads}`;
  let facts = `alpha_1 ${data.alpha[chosen].toFixed(3)} (even ${evenOf(chosen).toFixed(3)})`;
  if (data.star) facts += `, alpha_* ${data.star[chosen].toFixed(3)}`;
  facts += `, on itself ${percent(data.self[chosen])}`;
  if (full) facts += `; in full: ${full.rule}; a weight is within ${(Math.ceil(1000 * full.error) / 10).toFixed(1)} % of its exact value`;
  byId("facts").textContent = facts;
  for (const id of ["window-box", "row-box"]) byId(id).hidden = !full;
  byId("pooled-only").textContent = full || isFull.size > 0 ? (full ? "Heads in full:" : "This head is shown pooled only. In full are:")
                                                            : `All heads are shown pooled only: ${data.full.why_not}.`;
  byId("in-full").replaceChildren(...[...isFull].map(([h, head]) => tokenButton(nameOf(h), head.rule, () => choose(h))));
  if (full) {
    drawWindow();
    drawRow();
  } else {
    drawMap();
    drawStrip();
  }
}

function drawAll() {
  const mean = data.alpha.reduce((a, b) => a + b, 0) / count;
  let sentence = `${T} tokens. The first, \u201c${data.tokens[0]}\u201d, is a sink in ${sinks[0][1]} of ${count} heads, which give it more than 0.3 of their attention; alpha_1, the mean over all heads, is ${mean.toFixed(3)}, ${data.even.toFixed(3)} if attention were even.`;
  if (data.even_layer) sentence += " In layers with a window only the queries within it see that token, and alpha_1 is their mean.";
  if (data.star) sentence += ` What the model adds before the text gets alpha_* ${(data.star.reduce((a, b) => a + b, 0) / count).toFixed(3)}.`;
  if (data.sinks.length) sentence += " Other sinks: " + data.sinks.slice(0, 3).map(([t, heads]) => `${quoted(t)} in ${heads}`).join(", ") + ".";
  if (Math.abs(data.row_sum - 1) > 0.01) sentence += ` Rows of this model sum to ${data.row_sum.toFixed(2)}${data.star ? " without *; here each is scaled to 1 with it" : "; here each is scaled to 1"}.`;
  if (isFull.size) sentence += ` ${isFull.size} ${isFull.size === 1 ? "head is" : "heads are"} in full, computed from queries and keys of 16 bits` + (data.full.heads[0].rule === "asked for" ? "."
      : ": the first two by each of " + [...new Set(data.full.heads.map((head) => head.rule))].join(", ") + ", as far as they fit.");
  byId("sentence").textContent = sentence;
  drawGrid();
  drawHead();
}

// One drawing for all events until the next frame.
let waiting = false;
function soon(action) {
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(() => { waiting = false; action(); });
}
function zoom(step) {
  const { i0, j0, queries, keys } = drawnPart(), [i, j] = [i0 + queries / 2, j0 + keys / 2];
  pixels = kSizes[clamp(kSizes.indexOf(pixels) + step, 0, kSizes.length - 1)];
  drawWindow();
  const now = drawnPart();
  byId("window").scrollTo((j - now.keys / 2) * pixels, (i - now.queries / 2) * pixels);
  drawWindow();
}

addEventListener("error", (event) => {
  byId("trouble").hidden = false;
  byId("trouble").textContent = "The page could not be drawn: " + event.message;
  document.documentElement.dataset.errors = event.message;
});
byId("window").addEventListener("scroll", () => soon(drawWindow));
byId("out").addEventListener("click", () => zoom(-1));
byId("in").addEventListener("click", () => zoom(1));
byId("order").addEventListener("change", drawGrid);
dark.addEventListener("change", drawAll);
addEventListener("resize", () => soon(drawHead));
addEventListener("keydown", (event) => {
  if (event.target.tagName === "SELECT" || event.target.id === "window" || event.ctrlKey || event.metaKey || event.altKey) return;
  const buttons = [...byId("grid").children], at = buttons.findIndex((b) => Number(b.dataset.head) === chosen);
  const across = Math.max(1, buttons.findIndex((b) => b.offsetTop > buttons[0].offsetTop));
  const move = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -across, ArrowDown: across }[event.key];
  if (move === undefined || !buttons[at + move]) return;
  event.preventDefault();
  choose(Number(buttons[at + move].dataset.head));
  buttons[at + move].scrollIntoView({ block: "nearest" });
});
// The page begins with the strongest sink in full, where the text ends.
if (isFull.size) chosen = isFull.keys().next().value;
drawAll();
if (isFull.size) go(Math.min(T - 1, 30), 0);
document.documentElement.dataset.ready = "yes";
