// Draws heat maps on canvas: alpha_1 by layer and head, and attention by query and key; mouse and arrow keys read
// cells.
#pragma once

namespace sink::report {

inline constexpr const char* kMapsScript = R"js(
"use strict";
// "mako" of viridisLite: even in lightness and safe for colour-blind eyes. Nothing is always the colour nearest the page's.
const kRamp = [[11, 4, 5], [46, 30, 60], [65, 61, 123], [55, 101, 158], [52, 143, 168], [64, 183, 173], [138, 217, 177], [222, 245, 229]];
const kLogFloor = 1e-3;  // of the scale's top

// `share` from 0 to 1 -> [r, g, b].
function rampColour(share, dark) {
  const at = Math.min(1, Math.max(0, dark ? share : 1 - share)) * (kRamp.length - 1);
  const low = Math.min(kRamp.length - 2, Math.floor(at)), part = at - low;
  return kRamp[low].map((from, c) => Math.round(from + part * (kRamp[low + 1][c] - from)));
}
const rgb = (colour) => `rgb(${colour.join(",")})`;
const luminance = ([r, g, b]) => 0.299 * r + 0.587 * g + 0.114 * b;

function scaleShare(value, top, logarithmic) {
  if (!logarithmic) return value / top;
  return value <= 0 ? 0 : 1 + Math.log10(value / top) / -Math.log10(kLogFloor);
}
// A round number at or above the largest weight; 1 for anything that could be a share.
function scaleTop(values) {
  const largest = Math.max(0, ...values.map((v) => Math.abs(v || 0)));
  if (largest <= 1.005) return 1;
  const unit = 10 ** Math.floor(Math.log10(largest));
  return Math.ceil(largest / unit) * unit;
}

function showRamp(box, top, logarithmic) {
  const dark = theme.dark() && document.documentElement.dataset.theme === "dark";
  const stops = Array.from({ length: 9 }, (_, i) => rgb(rampColour(i / 8, dark)));
  const low = document.createElement("span"), high = document.createElement("span"), bar = document.createElement("i");
  low.textContent = logarithmic ? "\u2264 " + compact(top * kLogFloor) : "0";
  high.textContent = compact(top) + (logarithmic ? " (log)" : "");
  bar.style.background = `linear-gradient(90deg, ${stops.join(",")})`;
  box.replaceChildren(low, bar, high);
}

// A canvas of the given CSS size, cleared, sharp on any screen.
function sizedPen(canvas, width, height) {
  const ratio = window.devicePixelRatio || 1;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  canvas.style.width = width + "px";
  canvas.style.height = height + "px";
  const pen = canvas.getContext("2d");
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, width, height);
  return pen;
}

// One map: `view()` says what to draw now, {rows, columns, value(i, j), top, logarithmic, rowLabels, columnLabels, cell,
// left, head, numbers, causal}; `read(i, j)` says in words what a cell holds.
function heatMap(box, view, read) {
  const canvas = box.querySelector("canvas"), readout = box.closest("figure").querySelector(".readout");
  let cursor = null, shown = null;
  const edge = (start, i) => Math.round(start + i * shown.cell);

  const draw = () => {
    shown = view();
    const { rows, columns, left, head } = shown;
    const pen = sizedPen(canvas, Math.ceil(left + columns * shown.cell + 4), Math.ceil(head + rows * shown.cell + 4));
    const dark = document.documentElement.dataset.theme === "dark";
    const family = css("--sans");
    for (let i = 0; i < rows; ++i)
      for (let j = 0; j < (shown.causal ? i + 1 : columns); ++j) {
        const value = shown.value(i, j), x = edge(left, j), y = edge(head, i);
        const w = edge(left, j + 1) - x, h = edge(head, i + 1) - y, gap = shown.numbers ? 1 : 0;
        const known = value !== null && Number.isFinite(value);
        const colour = rampColour(known ? scaleShare(Math.abs(value), shown.top, shown.logarithmic) : 0, dark);
        pen.fillStyle = known ? rgb(colour) : css("--line");
        pen.fillRect(x, y, w - gap, h - gap);
        if (!shown.numbers || !known) continue;
        pen.fillStyle = luminance(colour) > 130 ? "#10151b" : "#ffffff";
        pen.font = `11px ${family}`;
        pen.textAlign = "center";
        pen.textBaseline = "middle";
        pen.fillText(value >= 9.95 ? value.toFixed(0) : value >= 0.9995 ? value.toFixed(1) : value.toFixed(2).slice(1), x + w / 2, y + h / 2 + 0.5);
      }
    pen.fillStyle = css("--muted");
    pen.font = `${shown.fontSize}px ${family}`;
    pen.textBaseline = "middle";
    pen.textAlign = "right";
    shown.rowLabels.forEach((text, i) => pen.fillText(text, left - 5, head + (i + 0.5) * shown.cell));
    pen.textAlign = shown.turned ? "left" : "center";
    shown.columnLabels.forEach((text, j) => {
      pen.save();
      pen.translate(left + (j + 0.5) * shown.cell, head - (shown.turned ? 4 : 9));
      if (shown.turned) pen.rotate(-Math.PI / 2);
      pen.fillText(text, 0, 0);
      pen.restore();
    });
    pen.font = `600 11.5px ${family}`;
    pen.textAlign = "left";
    shown.corner.forEach((text, line) => pen.fillText(text, 1, shown.turned ? head - 25 + 15 * line : 8));
    if (cursor) {
      pen.strokeStyle = css("--c1");
      pen.lineWidth = 2;
      const x = edge(left, cursor.j), y = edge(head, cursor.i);
      pen.strokeRect(x - 1, y - 1, edge(left, cursor.j + 1) - x + 1, edge(head, cursor.i + 1) - y + 1);
    }
    showRamp(box.querySelector(".ramp"), shown.top, shown.logarithmic);
    readout.textContent = cursor ? read(cursor.i, cursor.j) : "\u00a0";
  };
  const moveTo = (i, j) => {
    const row = Math.min(shown.rows - 1, Math.max(0, i));
    cursor = { i: row, j: Math.min(shown.causal ? row : shown.columns - 1, Math.max(0, j)) };
    draw();
  };
  const leave = () => { cursor = null; draw(); };
  canvas.addEventListener("pointermove", (event) => {
    const area = canvas.getBoundingClientRect();
    const i = Math.floor((event.clientY - area.top - shown.head) / shown.cell);
    const j = Math.floor((event.clientX - area.left - shown.left) / shown.cell);
    const inside = i >= 0 && i < shown.rows && j >= 0 && j < (shown.causal ? i + 1 : shown.columns);
    if (!inside) { if (cursor) leave(); return; }
    if (!cursor || cursor.i !== i || cursor.j !== j) moveTo(i, j);
  });
  canvas.addEventListener("pointerleave", () => { if (document.activeElement !== canvas) leave(); });
  canvas.addEventListener("blur", leave);
  canvas.addEventListener("focus", () => { if (!cursor) moveTo(shown.causal ? shown.rows - 1 : 0, 0); });
  canvas.addEventListener("keydown", (event) => {
    const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (!step || !cursor) return;
    event.preventDefault();
    moveTo(cursor.i + step[0], cursor.j + step[1]);
  });
  draw();
  redraws.push({ draw, group: box.closest("figure").dataset.group, causes: ["weights", "colour"] });
}

function headMap(box, run) {
  const table = run[box.dataset.map];
  const kind = box.dataset.map.endsWith("_raw") ? "raw" : run.layer_head_raw && box.nextElementSibling ? "proxy" : "";
  const room = box.closest("figure").clientWidth;
  heatMap(box, () => ({
    rows: table.length, columns: table[0].length, value: (i, j) => table[i][j], top: scaleTop(table.flat()), logarithmic: false,
    cell: table[0].length > 12 ? Math.max(16, Math.min(30, (room - 80) / table[0].length)) : 30, left: 24, head: 36, fontSize: 11,
    numbers: table[0].length <= 12, causal: false, turned: false, corner: [("layer \u2193 head \u2192 " + kind).trim()],
    rowLabels: table.map((_, l) => String(l)), columnLabels: table[0].map((_, h) => String(h)),
  }), (i, j) => `layer ${i}, head ${j}: ${kind} \u03b1\u2081 = ${significant(table[i][j])}`);
}

function attentionMap(box, run, g) {
  const { tokens, weights } = run.map, n = tokens.length;
  const figure = box.closest("figure");
  // Proxy: |a| / (sum |a| + 1e-8), as the study has it.
  const shares = weights.map((row) => { const mass = row.reduce((sum, a) => sum + Math.abs(a), 1e-8); return row.map((a) => Math.abs(a) / mass); });
  const now = () => (choice("weights-" + g, "raw") === "proxy" ? shares : weights);
  const labels = tokens.map((token) => tokenLabel(token, 10));
  const margin = 72;
  heatMap(box, () => {
    const values = now(), inner = figure.clientWidth - 2 * parseFloat(getComputedStyle(figure).paddingLeft);
    const cell = Math.min(26, Math.max(8.5, (inner - margin - 5) / n));
    return { rows: n, columns: n, value: (i, j) => values[i][j], top: scaleTop(values.flat()),
             logarithmic: choice("colour-" + g, "linear") === "log", cell, left: margin, head: margin,
             fontSize: Math.min(12, cell + 0.5), numbers: false, causal: true, turned: true, corner: ["key \u2192", "query \u2193"],
             rowLabels: labels, columnLabels: labels };
  }, (i, j) => `query ${i + 1} \u201c${tokenLabel(tokens[i], 24)}\u201d \u2192 key ${j + 1} \u201c${tokenLabel(tokens[j], 24)}\u201d: ` +
               `raw ${significant(weights[i][j])}, proxy ${significant(shares[i][j])}`);
  valueTable(figure, ["weights"], () => [["query \\ key", ...tokens.map((t, j) => `${j + 1} ${tokenLabel(t, 10)}`)],
    ...now().map((row, i) => [`${i + 1} ${tokenLabel(tokens[i], 10)}`, ...row, ...Array(n - i - 1).fill("")])]);
}

for (const box of all(".map")) {
  const run = report.runs[Number(box.dataset.run)], figure = box.closest("figure");
  if (box.dataset.map === "attention") {
    attentionMap(box, run, figure.dataset.group);
  } else {
    headMap(box, run);
    if (box.dataset.map === "layer_head") {
      const table = run.layer_head, raw = figure.querySelector('[data-map="layer_head_raw"]') ? run.layer_head_raw : null;
      valueTable(figure, [], () => [["layer", "head", raw ? "proxy" : "\u03b1\u2081", ...(raw ? ["raw"] : [])],
        ...table.flatMap((row, l) => row.map((value, h) => [String(l), String(h), value, ...(raw ? [raw[l][h]] : [])]))]);
    }
  }
}
let width = document.documentElement.clientWidth;
addEventListener("resize", () => {  // a phone's toolbar changes the height only: nothing to redraw
  if (width === document.documentElement.clientWidth) return;
  width = document.documentElement.clientWidth;
  redrawAll();
});
showTheme();
document.documentElement.dataset.ready = "yes";
)js";

}  // namespace sink::report
