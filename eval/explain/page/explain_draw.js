// What the page draws with: numbers as the terminal prints them, and pictures of vectors, sums, curves and bars over keys.
"use strict";
const $ = (id) => document.getElementById(id);
addEventListener("error", (event) => {  // what goes wrong is shown on the page
  document.documentElement.dataset.errors = event.message || "error";
  $("trouble").hidden = false;
  $("trouble").textContent = "Part of this page could not be drawn: " + event.message;
});

// Four digits that mean something.
const num = (x) => {
  if (x === null || x === undefined) return "not finite";
  const size = Math.abs(x);
  const text = size === 0 ? "0.0000" : size >= 0.01 && size < 1e4 ? x.toFixed(4) : x.toExponential(2);
  return text.replace(/-/g, "\u2212");
};
// Three digits, for axes.
const short = (x) => x === null ? "not finite" : String(Number(x.toPrecision(3))).replace(/-/g, "\u2212");
const escaped = (text) => String(text).replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
// A formula of the header in HTML, with its powers raised: e^-x, S^(1/p).
const raised = (formula) => escaped(formula).replace(/\^\(([^)]*)\)/g, "<sup>$1</sup>").replace(/\^(-?\w+)/g, "<sup>$1</sup>");
const dot = (x, y) => x.reduce((sum, value, d) => sum + value * y[d], 0);
const norm = (x) => Math.sqrt(dot(x, x));
const scaled = (factor, x) => x.map((value) => factor * value);
const added = (x, y) => x.map((value, d) => value + y[d]);

function svg(name, attributes, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  for (const child of children) element.append(child);
  return element;
}
const picture = (width, height, label, ...children) =>
  svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label }, ...children);
const widthOf = (element) => Math.max(260, element.clientWidth);
// A bar between two values, positioned by style so that it moves when they change.
function bar(x, width, from, to, colour, opacity = 1) {
  const rect = svg("rect", { x, width: Math.max(1, width), class: colour });
  rect.style.y = Math.min(from, to) + "px";
  rect.style.height = Math.max(0.75, Math.abs(to - from)) + "px";
  rect.style.opacity = opacity;
  return rect;
}

// rows: [{ name, x: numbers, colour, upTo }]: one strip of bars each, those from `upTo` on pale.
function drawVectors(box, rows, marked) {
  const width = widthOf(box), gap = 10, label = 118, high = Math.min(86, Math.floor((232 - gap * rows.length) / rows.length));
  const parts = [];
  rows.forEach((row, n) => {
    const top = n * (high + gap), middle = top + high / 2, D = row.x.length, step = (width - label - 4) / Math.max(1, D);
    const largest = Math.max(row.largest || 0, ...row.x.map(Math.abs), 1e-300);
    parts.push(svg("text", { x: 0, y: middle + 4, class: "muted" }, row.name));
    parts.push(svg("line", { x1: label, x2: width, y1: middle, y2: middle, class: "axis" }));
    row.x.forEach((value, d) => {
      const known = row.upTo === undefined || d < row.upTo, now = marked === d;
      const rect = bar(label + d * step + step * 0.12, step * 0.76, middle, middle - value / largest * (high / 2 - 1),
                       known ? (now ? "f1" : row.colour) : "faint");
      rect.append(svg("title", {}, `${row.name}, number ${d + 1}: ${num(value)}`));
      parts.push(rect);
      if (step > 50 && known)
        parts.push(svg("text", { x: label + d * step + step / 2, y: value < 0 ? middle - 4 : middle + 13, "text-anchor": "middle",
                                 class: now ? "focus" : "muted", "font-size": 10 }, num(value)));
    });
  });
  box.replaceChildren(picture(width, rows.length * (high + gap), rows.map((row) => row.name).join(", "), ...parts));
}

// Every how many of the names fit below columns of this width, so that they do not run together.
const everyOf = (names, column, perLetter) => Math.ceil((perLetter * Math.max(...names.map((name) => name.length)) + 6) / column);

// Terms that add up, one after another from left to right, each from where the last one ended.
function drawSum(box, terms, names, total, focus, colour = "f0") {
  const width = widthOf(box), height = 226, left = 70, right = 12, top = 16, bottom = 26;
  const ends = [0];
  for (const term of terms) ends.push(ends[ends.length - 1] + (term || 0));
  const low = Math.min(...ends), high = Math.max(...ends), range = high - low || 1;
  const y = (value) => top + (high - value) / range * (height - top - bottom);
  const step = (width - left - right) / (terms.length + 1), parts = [];
  for (const [value, text] of [[0, "0"], [ends[ends.length - 1], short(total)]]) {
    parts.push(svg("line", { x1: left, x2: width - right, y1: y(value), y2: y(value), class: "axis" }));
    parts.push(svg("text", { x: left - 6, y: y(value) + 4, "text-anchor": "end", class: "muted" }, text));
  }
  const every = Math.max(everyOf(names, step, 8), Math.ceil(26 / step)), last = terms.length - every;  // then comes "sum"
  const named = Math.min(focus, Math.max(0, last));  // where the name of the one in focus fits
  terms.forEach((term, n) => {
    const rect = bar(left + n * step + 1, step - 2, y(ends[n]), y(ends[n + 1]), n === focus ? "f1" : colour);
    rect.append(svg("title", {}, `${names[n]}: ${num(term)}`));
    parts.push(rect);
    if (n === focus || n % every === 0 && n <= last && Math.abs(n - named) >= every)
      parts.push(svg("text", { x: left + ((n === focus ? named : n) + 0.5) * step, y: height - 8, "text-anchor": "middle",
                               class: n === focus ? "focus" : "muted" }, names[n]));
  });
  parts.push(bar(left + terms.length * step + 1, step - 2, y(0), y(ends[ends.length - 1]), "f2"));
  parts.push(svg("text", { x: left + (terms.length + 0.5) * step, y: height - 8, "text-anchor": "middle" }, "sum"));
  box.replaceChildren(picture(width, height, `terms that add up to ${num(total)}`, ...parts));
}

// g on its curve, and the keys' points.
function drawCurve(box, curve, points, focus) {
  const width = widthOf(box), height = 226, left = 70, right = 14, top = 14, bottom = 30;
  const finite = curve.filter(([, g]) => g !== null), xs = finite.map(([x]) => x);
  const [x0, x1] = [Math.min(...xs), Math.max(...xs)];
  const largest = Math.max(...points.map((p) => p.g)), smallest = Math.min(0, ...points.map((p) => p.g));
  const high = largest + 0.15 * (largest - smallest || 1), low = smallest - (smallest < 0 ? 0.1 * (largest - smallest) : 0);
  const X = (x) => left + (x - x0) / (x1 - x0 || 1) * (width - left - right);
  const Y = (g) => top + (high - Math.min(high, Math.max(low, g))) / (high - low || 1) * (height - top - bottom);
  const path = finite.filter(([, g]) => g <= high && g >= low).map(([x, g], n) => (n ? "L" : "M") + X(x) + " " + Y(g)).join("");
  const parts = [svg("line", { x1: left, x2: width - right, y1: Y(0), y2: Y(0), class: "axis" }),
                 svg("text", { x: left - 6, y: Y(0) + 4, "text-anchor": "end", class: "muted" }, "0"),
                 svg("text", { x: left - 6, y: Y(largest) + 4, "text-anchor": "end", class: "muted" }, short(largest)),
                 svg("text", { x: left, y: height - 8, class: "muted" }, "x = " + num(x0)),
                 svg("text", { x: width - right, y: height - 8, "text-anchor": "end", class: "muted" }, num(x1)),
                 svg("path", { d: path, class: "curve" })];
  points.forEach((point, n) => {
    if (n === focus) return;
    parts.push(svg("circle", { cx: X(point.x), cy: Y(point.g), r: 4.5, class: "f0", opacity: 0.75 },
                   svg("title", {}, `${point.name}: g(${num(point.x)}) = ${num(point.g)}`)));
  });
  const here = points[focus], right_of = X(here.x) < left + 150;
  parts.push(svg("line", { x1: X(here.x), x2: X(here.x), y1: Y(0), y2: Y(here.g), class: "mark-line" }));
  parts.push(svg("circle", { cx: X(here.x), cy: Y(here.g), r: 6, class: "f1" }));
  parts.push(svg("text", { x: X(here.x) + (right_of ? 10 : -10), y: Math.max(12, Y(here.g) - 8), "text-anchor": right_of ? "start" : "end",
                           class: "focus" }, `g(${num(here.x)}) = ${num(here.g)}`));
  box.replaceChildren(picture(width, height, "the function g and the keys on it", ...parts));
}

// Names and lengths, one below another.
function drawList(box, items) {
  const width = widthOf(box), line = 19, label = Math.min(190, width * 0.45), largest = Math.max(...items.map((i) => i.value), 1e-300);
  const parts = items.flatMap((item, n) => [
    svg("text", { x: 0, y: n * line + 13, class: n === items.length - 1 ? "focus" : "muted" }, item.name),
    svg("rect", { x: label, y: n * line + 3, height: line - 6, width: Math.max(1, (width - label - 72) * item.value / largest),
                  class: n === items.length - 1 ? "f1" : "f0" }),
    svg("text", { x: width, y: n * line + 13, "text-anchor": "end" }, num(item.value))]);
  box.replaceChildren(picture(width, items.length * line + 4, "gradient norms", ...parts));
}

// tiles: numbers with a name below each, and what stands between them: [value, name] or "=".
function drawTiles(box, tiles) {
  const row = document.createElement("p");
  row.className = "tiles";
  for (const tile of tiles) {
    const part = document.createElement(typeof tile === "string" ? "span" : "b");
    if (typeof tile === "string") {
      part.textContent = tile;
    } else {
      part.innerHTML = `${num(tile[0])}<small>${tile[1]}</small>`;
      if (tile[2]) part.className = tile[2];
    }
    row.append(part);
  }
  box.append(row);
}

// Bars over the keys, which stay and move from stage to stage. series: [{ name, values, colour }]; line: a value across.
function drawBars(box, names, series, focus, line, choose) {
  const N = names.length, room = widthOf(box), left = 62, column = Math.max(series.length > 1 ? 34 : 18, Math.min(84, (room - left - 6) / N));
  const width = left + N * column + 6, height = 190, top = 20;
  const all = [0, ...series.flatMap((s) => s.values.filter((v) => v !== null)), ...(line === undefined ? [] : [line])];
  const high = Math.max(...all), low = Math.min(...all), range = high - low || 1;
  const bottom = low < 0 ? 52 : 38;  // names and positions, and above them the number at the end of the lowest bar
  const every = everyOf(names.map((name) => name.position), column, 6);
  const y = (value) => top + (high - value) / range * (height - top - bottom);
  const old = box.firstElementChild, kept = old && old.dataset.shape === [N, series.length, width].join(" ") ? [...old.querySelectorAll("rect.key")] : [];
  const parts = [], seen = box.scrollLeft;
  for (const value of new Set([0, high, low])) {
    parts.push(svg("line", { x1: left, x2: width, y1: y(value), y2: y(value), class: "axis" }));
    if (value === 0 || Math.abs(y(value) - y(0)) > 13)
      parts.push(svg("text", { x: left - 6, y: y(value) + 4, "text-anchor": "end", class: "muted" }, short(value)));
  }
  const rects = [];
  names.forEach((name, n) => {
    const group = svg("g", { class: "column" });
    series.forEach((one, s) => {
      const wide = column * 0.76 / series.length, value = one.values[n] || 0;
      const rect = bar(left + n * column + column * 0.12 + s * wide, wide, y(0), y(value), n === focus && series.length === 1 ? "key f1" : "key " + one.colour);
      const before = kept[rects.length];
      rects.push([rect, before && [before.style.y, before.style.height], [rect.style.y, rect.style.height]]);
      rect.append(svg("title", {}, `${name.position} ${name.text}: ${one.name} = ${num(one.values[n])}`));
      group.append(rect);
    });
    const x = left + (n + 0.5) * column, value = series[0].values[n] || 0;
    if (series.length === 1 && (column > 52 || n === focus))
      group.append(svg("text", { x, y: value < 0 ? y(value) + 12 : y(value) - 4, "text-anchor": "middle", class: n === focus ? "focus" : "muted", "font-size": 10 }, num(value)));
    const fitting = Math.max(1, Math.floor(column / 7)), letters = [...name.text];
    const text = letters.length <= fitting ? name.text : letters.slice(0, Math.max(fitting > 3 ? fitting - 1 : fitting, 1)).join("") + (fitting > 3 ? "\u2026" : "");
    group.append(svg("text", { x, y: height - 20, "text-anchor": "middle", class: n === focus ? "focus" : "" }, text));
    if (n === focus || n % every === 0 && Math.abs(n - focus) >= every)
      group.append(svg("text", { x, y: height - 6, "text-anchor": "middle", class: "muted", "font-size": 10 }, name.position));
    group.addEventListener("click", () => choose(n));
    parts.push(group);
  });
  if (line !== undefined) parts.push(svg("line", { x1: left, x2: width, y1: y(line), y2: y(line), class: "mark-line" }));
  const whole = picture(width, height, series.map((s) => s.name).join(" and ") + " by key", ...parts);
  whole.dataset.shape = [N, series.length, width].join(" ");
  for (const [rect, before] of rects) if (before) [rect.style.y, rect.style.height] = before;
  box.replaceChildren(whole);
  const middle = left + (focus + 0.5) * column;  // in view, where not all is
  box.scrollLeft = middle > seen + column && middle < seen + room - column ? seen : middle - room / 2;
  whole.getBoundingClientRect();  // so that the bars begin where they were
  for (const [rect, , after] of rects) [rect.style.y, rect.style.height] = after;
}
