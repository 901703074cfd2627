// The page of `sinklab view`: draws the heads of a text from the data that the page carries.
const byId = (id) => document.getElementById(id);
const dark = matchMedia("(prefers-color-scheme: dark)");
const kDetail = 40;  // tokens across the enlarged part of a large map
const kAcross = 256;  // pixels of the picture of a whole map
let head = 0, chosen = 0, query = n - 1, key = 0, enlarged = false;  // head: the one that is shown, chosen or below the mouse

// From the background to a dark blue, on a dark page from it to a light one; by the square root of the weight.
function colour(weight) {
  const x = Math.sqrt(weight);
  const from = dark.matches ? [20, 23, 27] : [255, 255, 255], to = dark.matches ? [150, 208, 255] : [8, 48, 107];
  return from.map((f, c) => Math.round(f + (to[c] - f) * x));
}

// Weights, side x side, as a picture with a pixel for each.
function drawInto(canvas, weights, side) {
  canvas.width = canvas.height = side;
  const context = canvas.getContext("2d"), image = context.createImageData(side, side);
  const shades = Array.from({ length: 256 }, (_, level) => colour((level / 255) ** 2));
  for (let k = 0; k < side * side; ++k) {
    const [r, g, b] = shades[Math.round(255 * Math.sqrt(weights[k]))];
    image.data[4 * k] = r;
    image.data[4 * k + 1] = g;
    image.data[4 * k + 2] = b;
    image.data[4 * k + 3] = 255;
  }
  context.putImageData(image, 0, 0);
}

// Weights, n x n, summed over `by` keys and averaged over `by` queries, so that a column of one key stays visible.
function pooled(weights, by) {
  const side = Math.ceil(n / by), sums = new Float32Array(side * side);
  for (let i = 0; i < n; ++i)
    for (let j = 0; j < n; ++j)
      sums[Math.floor(i / by) * side + Math.floor(j / by)] += weights[i * n + j] / Math.min(by, n - Math.floor(i / by) * by);
  return sums;
}

// The picture of the chosen head and the weights across one of its pixels, until another is chosen or the colours change.
const largePicture = (() => {
  const canvas = document.createElement("canvas");
  let of = "";
  return () => {
    const by = enlarged ? 1 : Math.ceil(n / kAcross), wanted = `${head} ${by} ${dark.matches}`;
    if (of !== wanted) drawInto(canvas, by === 1 ? weightsOf(head) : pooled(weightsOf(head), by), Math.ceil(n / by));
    of = wanted;
    return [canvas, by];
  };
})();

const shown = (text) => text.replace(/ /g, "\u00b7").replace(/\n/g, "\u21b5");
const label = (t) => shown(data.tokens[t]);
const quoted = (t) => "\u201c" + data.tokens[t] + "\u201d";
const percent = (x) => (100 * x).toFixed(x < 0.0995 ? 1 : 0) + " %";
// The tokens of a row or column of the map.
function span(k) {
  const first = k * cell, last = Math.min(T, first + cell) - 1;
  return first === last ? `${quoted(first)} (${first + 1})` : `tokens ${first + 1} to ${last + 1}, ${quoted(first)} \u2026 ${quoted(last)}`;
}

function order() {
  const heads = [...Array(count).keys()];
  if (byId("order").value === "sink") heads.sort((a, b) => data.alpha[b] - data.alpha[a] || a - b);
  if (byId("order").value === "least") heads.sort((a, b) => data.alpha[a] - data.alpha[b] || a - b);
  return heads;
}

const layerOf = (h) => data.attention[Math.floor(h / data.heads)];
const nameOf = (h) => `layer ${layerOf(h)}, head ${h % data.heads}`;
// The place of the first layer with attention from this one on, among those that have it.
const rowFrom = (layer) => Math.min(data.attention.length - 1, data.attention.filter((other) => other < layer).length);

function drawGrid() {
  const grid = byId("grid");
  grid.replaceChildren();
  const seen = new IntersectionObserver((entries) => {
    for (const entry of entries)
      if (entry.isIntersecting) {
        drawInto(entry.target.firstChild, storedOf(Number(entry.target.dataset.head)), smallSide);
        seen.unobserve(entry.target);
      }
  }, { rootMargin: "200px" });
  for (const h of order()) {
    const button = document.createElement("button");
    button.type = "button";
    button.tabIndex = -1;
    button.dataset.head = h;
    button.setAttribute("role", "option");
    button.title = `${nameOf(h)}: alpha_1 ${data.alpha[h].toFixed(3)}`;
    const name = document.createElement("span");
    name.textContent = `${layerOf(h)}.${h % data.heads} ${data.alpha[h].toFixed(2)}`;
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
  show(h);
}

function show(h) {
  head = h;
  drawHead();
}

// A head below the mouse is shown as long as the mouse stays there. The pause keeps a fast mouse from drawing every head it crosses.
let pause = 0;
function hover(event) {
  clearTimeout(pause);
  if (event.pointerType !== "mouse") return;
  const button = event.type === "pointerleave" ? null : event.target.closest("button"), h = button ? Number(button.dataset.head) : chosen;
  pause = setTimeout(() => { if (h !== head) show(h); }, 60);
}

// The part of the large map that is drawn: all, or that around the chosen query and key.
function drawnPart() {
  const side = enlarged ? Math.min(n, kDetail) : n, begin = (k) => Math.max(0, Math.min(n - side, k - Math.floor(side / 2)));
  return { side, row: begin(query), column: begin(key) };
}

// The large map: tokens on both axes where there is room, the chosen query framed, secondary sinks marked.
function drawMap() {
  const canvas = byId("map"), weights = weightsOf(head), { side, row, column } = drawnPart(), names = cell === 1 && side <= 48;
  const size = 1040, left = names ? 120 : 16, top = names ? 120 : 16, step = (size - left) / side;
  canvas.width = canvas.height = size;
  const context = canvas.getContext("2d"), style = getComputedStyle(document.documentElement);
  const text = style.getPropertyValue("--text"), mark = style.getPropertyValue("--mark");
  context.clearRect(0, 0, size, size);
  context.imageSmoothingEnabled = false;
  const [picture, by] = largePicture();
  context.drawImage(picture, column / by, row / by, side / by, side / by, left, top, step * side, step * side);
  context.strokeStyle = style.getPropertyValue("--rule");
  context.strokeRect(left, top, step * side, step * side);
  context.strokeStyle = mark;
  context.lineWidth = 2;
  context.strokeRect(left, top + (query - row) * step, step * side, step);
  context.fillStyle = mark;
  for (const [position] of data.sinks) {
    const x = left + (Math.floor(position / cell) - column + 0.5) * step;
    if (x < left || x > size) continue;
    context.beginPath();
    context.moveTo(x - 5, top - 9);
    context.lineTo(x + 5, top - 9);
    context.lineTo(x, top - 1);
    context.fill();
  }
  if (names) {
    context.fillStyle = text;
    context.font = `${Math.min(20, Math.max(11, step * 0.7))}px ${style.getPropertyValue("--mono")}`;
    context.textBaseline = "middle";
    for (let t = 0; t < side; ++t) {
      context.textAlign = "right";
      context.fillText(label(row + t).slice(0, 9), left - 6, top + (t + 0.5) * step);
      context.save();
      context.translate(left + (t + 0.5) * step, top - 12);
      context.rotate(-Math.PI / 2);
      context.textAlign = "left";
      context.fillText(label(column + t).slice(0, 9), 0, 0);
      context.restore();
    }
  }
  canvas.setAttribute("aria-label", `Attention pattern of ${nameOf(head)}`);
  const at = (event) => {
    const box = canvas.getBoundingClientRect(), scale = size / box.width;
    const cells = (pixels, edge) => Math.floor((pixels * scale - edge) / step);
    const [i, j] = [cells(event.clientY - box.top, top), cells(event.clientX - box.left, left)];
    return i >= 0 && i < side && j >= 0 && j < side ? [row + i, column + j] : null;
  };
  canvas.onmousemove = (event) => {
    const place = at(event);
    if (place) byId("cell").textContent = `${span(place[0])} looks at ${span(place[1])}: ${percent(weights[place[0] * n + place[1]])}`;
  };
  canvas.onclick = (event) => {
    const place = at(event);
    if (place) setQuery(...place);
  };
}

// The key is the middle of the enlarged part.
function setQuery(i, j = key) {
  query = Math.max(0, Math.min(n - 1, i));
  key = Math.max(0, Math.min(n - 1, j));
  drawMap();
  drawTokens();
  drawLens();
  drawLines();
}

// The background of a word: the darker, the larger its weight.
function paint(button, weight) {
  const [r, g, b] = colour(weight);
  button.style.background = `rgb(${r},${g},${b})`;
  button.style.color = (weight > 0.25) !== dark.matches ? "#fff" : dark.matches && weight <= 0.25 ? "#e6e9ed" : "#14171b";
}

// The prediction after each layer at the chosen query, of a cell at its last token; a click chooses the layer.
function drawLens() {
  const { words, cells } = data.lens, box = byId("lens"), t = Math.min(T, (query + 1) * cell) - 1;
  box.replaceChildren();
  const at = cells.length ? t - (T - cells[0].length) : -1;
  byId("lens-note").textContent = at >= 0 ? `After ${quoted(t)} (${t + 1}), with its probability; a click chooses the layer.`
    : `The page has the logit lens of ${cells.length ? `the last ${cells[0].length} tokens` : "no token"}; --lens-tokens sets how many.`;
  if (at < 0) return;
  cells.forEach((row, l) => {
    const [word, probability] = row[at], button = document.createElement("button");
    const name = document.createElement("small"), value = document.createElement("small");
    const where = l === 0 ? "embedding" : `layer ${l - 1}`;
    button.type = "button";
    name.textContent = `${l === 0 ? "emb" : l - 1} `;
    value.textContent = ` ${percent(probability)}`;
    button.append(name, shown(words[word]), value);
    button.title = `${where}: \u201c${words[word]}\u201d ${percent(probability)}`;
    button.setAttribute("aria-label", button.title);
    button.setAttribute("aria-current", String(l - 1 === layerOf(head)));
    paint(button, probability);
    button.addEventListener("click", () => choose(rowFrom(l - 1) * data.heads + head % data.heads));
    box.append(button);
  });
}

function drawTokens() {
  const box = byId("tokens"), weights = weightsOf(head);
  box.replaceChildren();
  data.tokens.forEach((word, t) => {
    const button = document.createElement("button"), k = Math.floor(t / cell), weight = weights[query * n + k];
    button.type = "button";
    button.textContent = label(t);
    paint(button, weight);
    if (k === query) button.className = "query";
    else if (!data.square && k > query) button.className = "unseen";
    button.title = `${span(query)} looks at ${span(k)}: ${percent(weight)}`;
    button.addEventListener("click", () => setQuery(k));
    box.append(button);
  });
  const best = [...Array(n).keys()].sort((a, b) => weights[query * n + b] - weights[query * n + a]).slice(0, 3)
    .filter((j, rank) => rank === 0 || weights[query * n + j] >= 0.005);
  byId("cell").textContent = `Query ${span(query)} looks at ` + best.map((j) => `${span(j)} ${percent(weights[query * n + j])}`).join(", ");
}

function svg(name, attributes, parent, text) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text !== undefined) element.textContent = text;
  parent.append(element);
  return element;
}

// Queries left, keys right; the lines of the chosen query are strong, those of the others faint.
function drawLines() {
  byId("lines-box").hidden = cell > 1 || n > 64;
  const box = byId("lines");
  box.replaceChildren();
  if (byId("lines-box").hidden) return;
  const weights = weightsOf(head), height = 18 * n + 8;
  const picture = svg("svg", { viewBox: `0 0 420 ${height}`, role: "img", "aria-label": "Lines from queries to keys" }, box);
  for (let i = 0; i < n; ++i)
    for (let j = 0; j < n; ++j)
      if (weights[i * n + j] > (i === query ? 0.005 : 0.05))
        svg("line", { x1: 122, y1: 18 * i + 12, x2: 298, y2: 18 * j + 12, stroke: i === query ? "var(--mark)" : "var(--accent)",
                      "stroke-width": 0.5 + 3 * weights[i * n + j], opacity: i === query ? 0.25 + 0.75 * weights[i * n + j] : 0.3 * weights[i * n + j] }, picture);
  for (let t = 0; t < n; ++t) {
    const left = svg("text", { x: 116, y: 18 * t + 16, "text-anchor": "end", style: "cursor:pointer" + (t === query ? ";font-weight:700" : "") }, picture, label(t).slice(0, 16));
    left.addEventListener("click", () => setQuery(t));
    svg("text", { x: 304, y: 18 * t + 16 }, picture, label(t).slice(0, 16));
  }
}

function drawTracks() {
  const layer = layerOf(head), box = byId("tracks");
  box.replaceChildren();
  for (const [name, values] of [["|v|", data.value[layer]], ["|h|", data.hidden[layer + 1]]]) {
    const largest = Math.max(...values), others = values.slice(1).reduce((a, b) => a + b, 0) / Math.max(1, T - 1);
    const picture = svg("svg", { viewBox: "0 0 700 64", role: "img", "aria-label": `${name} by position` }, box);
    svg("text", { x: 0, y: 12 }, picture, `${name}, largest ${largest.toPrecision(3)}; first / mean of others ${T > 1 ? (values[0] / others).toPrecision(3) : "-"}`);
    values.forEach((value, t) => {
      const bar = svg("rect", { x: 700 * t / T, width: Math.max(0.5, 700 / T - 0.6), y: 62 - 44 * value / largest, height: 44 * value / largest,
                                fill: t === 0 ? "var(--mark)" : "var(--accent)" }, picture);
      svg("title", {}, bar, `${quoted(t)} (${t + 1}): ${value.toPrecision(4)}`);
    });
  }
}

// x > 0 rounded up to some digits, so that it still bounds what x does.
function bound(x, digits) {
  if (!(x > 0)) return String(x);
  const unit = 10 ** (Math.floor(Math.log10(x)) - digits + 1);
  return (Math.ceil(x / unit) * unit).toPrecision(digits);
}

function drawHead() {
  byId("name").textContent = nameOf(head).replace("l", "L") + (head === chosen ? "" : " (a click keeps it)");
  let facts = `alpha_1 ${data.alpha[head].toFixed(3)} (even ${(data.even_layer ? data.even_layer[Math.floor(head / data.heads)] : data.even).toFixed(3)})`;
  if (data.star) facts += `, alpha_* ${data.star[head].toFixed(3)}`;
  facts += `, on itself ${percent(data.self[head])}`;
  if (data.computed) facts += `; weights within ${bound(data.computed.error[head], 1)}`;
  byId("facts").textContent = facts;
  drawMap();
  drawTokens();
  drawLens();
  drawLines();
  drawTracks();
}

function drawAll() {
  const sinks = data.alpha.filter((alpha) => alpha > 0.3).length, mean = data.alpha.reduce((a, b) => a + b, 0) / count;
  let sentence = `The first token, ${quoted(0)}, is a sink in ${sinks} of ${count} heads; alpha_1 is ${mean.toFixed(3)}, ${data.even.toFixed(3)} if attention were even.`;
  if (data.star) sentence += ` What the model adds before the text gets alpha_* ${(data.star.reduce((a, b) => a + b, 0) / count).toFixed(3)}.`;
  if (data.sinks.length) sentence += " Other sinks: " + data.sinks.slice(0, 3).map(([t, heads]) => `${quoted(t)} (${t + 1}) in ${heads}`).join(", ") + ".";
  if (cell > 1) sentence += ` The text is long: a cell of a map is the attention from ${cell} queries (mean) to ${cell} keys (sum).`;
  if (Math.abs(data.row_sum - 1) > 0.01) sentence += ` Rows of this model sum to ${data.row_sum.toFixed(2)}${data.star ? " without *; here each is scaled to 1 with it" : "; here each is scaled to 1"}.`;
  if (data.computed)
    sentence += ` The page computes large maps from queries and keys of 8 bits: weights are within ${bound(Math.max(...data.computed.error), 2)} of the exact ones, on average ${data.computed.mean_error.toPrecision(2)}.`;
  byId("sentence").textContent = sentence;
  byId("enlarge").hidden = cell > 1 || n <= 48;
  drawGrid();
  drawHead();
}

function enlarge() {
  if (byId("enlarge").hidden) return;
  enlarged = !enlarged;
  byId("enlarge").setAttribute("aria-pressed", String(enlarged));
  drawMap();
}

addEventListener("error", (event) => {
  byId("trouble").hidden = false;
  byId("trouble").textContent = "The page could not be drawn: " + event.message;
  document.documentElement.dataset.errors = event.message;
});
byId("enlarge").addEventListener("click", enlarge);
for (const event of ["pointerover", "pointerleave"]) byId("grid").addEventListener(event, hover);
byId("order").addEventListener("change", drawGrid);
dark.addEventListener("change", drawAll);
addEventListener("keydown", (event) => {
  if (event.target.tagName === "SELECT" || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "z") return enlarge();
  const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
  if (event.shiftKey && step) {
    event.preventDefault();
    return setQuery(query + step[0], key + step[1]);
  }
  const buttons = [...byId("grid").children], at = buttons.findIndex((b) => Number(b.dataset.head) === chosen);
  const across = Math.max(1, buttons.findIndex((b) => b.offsetTop > buttons[0].offsetTop));
  const move = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -across, ArrowDown: across }[event.key];
  if (move === undefined || !buttons[at + move]) return;
  event.preventDefault();
  choose(Number(buttons[at + move].dataset.head));
  buttons[at + move].scrollIntoView({ block: "nearest" });
});
// The head to begin with is an average one: a sink, and a pattern next to it.
const average = data.alpha.reduce((a, b) => a + b, 0) / count;
data.alpha.forEach((alpha, h) => { if (Math.abs(alpha - average) < Math.abs(data.alpha[chosen] - average)) head = chosen = h; });
drawAll();
document.documentElement.dataset.ready = "yes";
