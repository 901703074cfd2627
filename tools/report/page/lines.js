// Which runs the page shows, and which of them form one line: filter, grouping, means and bands, and their CSV.
"use strict";
const settingOf = (run, name) => {
  const found = (settings) => (Object.hasOwn(settings, name) ? settings[name] : undefined);
  if (run.final && ["val_loss", "sink_1", "sink_1_raw", "alpha_1", "alpha_1_raw"].includes(name))
    return run.final[name] === null ? undefined : String(run.final[name]);
  return found(run.settings) ?? found(report.common);
};
const settingNames = new Set([...Object.keys(report.common), ...report.runs.flatMap((run) => Object.keys(run.settings)),
                              "val_loss", "sink_1", "sink_1_raw", "alpha_1", "alpha_1_raw"]);

// "learning-rate=0.01 ablation~op_ seed<2 -name~tiny warm": all words must hold; a word without a sign is part of the
// name or the ablation. Returns {holds(run), wrong}.
function parseFilter(text) {
  const tests = [];
  let wrong = "";
  for (const [, word] of text.matchAll(/((?:"[^"]*"|[^\s"])+)/g)) {
    const parts = /^(-?)([\w.*-]+?)(!=|<=|>=|=|~|<|>)(.*)$/.exec(word), plain = (value) => value.replace(/"/g, "");
    if (!parts) {
      const part = plain(word).toLowerCase();
      tests.push((run) => ["name", "ablation"].some((key) => (settingOf(run, key) || "").toLowerCase().includes(part)));
      continue;
    }
    const [, not, given, sign, rest] = parts, value = plain(rest), number = value.trim() === "" ? NaN : Number(value);
    const name = settingNames.has(given) ? given : given.replace(/_/g, "-");
    if (!settingNames.has(name)) { wrong = `no run has a setting \u201c${given}\u201d`; continue; }
    if ("<=>=".includes(sign) && sign !== "=" && Number.isNaN(number)) { wrong = `\u201c${word}\u201d needs a number`; continue; }
    const same = (own) => own === value || (!Number.isNaN(number) && own.trim() !== "" && Number(own) === number);
    const holds = { "=": same, "!=": (own) => !same(own), "~": (own) => own.toLowerCase().includes(value.toLowerCase()),
                    "<": (own) => Number(own) < number, ">": (own) => Number(own) > number,
                    "<=": (own) => Number(own) <= number, ">=": (own) => Number(own) >= number }[sign];
    tests.push((run) => { const own = settingOf(run, name); return (own !== undefined && holds(own)) !== (not === "-"); });
  }
  return { wrong, holds: (run) => tests.every((test) => test(run)) };
}

const filterBox = document.getElementById("filter"), groupBox = document.getElementById("group-by");
let shownRuns = new Set(report.runs.keys());
const hiddenLines = new Set();  // "<group>|<line>": switched off in the legend

// The lines of a task: the filtered runs, by the chosen grouping.
function linesOf(g) {
  const group = report.groups[g], by = groupBox.value, lines = new Map();
  const put = (key, label, r, look) => {
    if (!lines.has(key)) lines.set(key, { key, label, runs: [], ...look });
    if (shownRuns.has(r)) lines.get(key).runs.push(r);
  };
  const lookOf = ({ colour, dash }) => ({ colour, dash });
  if (by === "seeds") group.arms.forEach((arm, at) => arm.runs.forEach((r) =>
    put("arm " + at, arm.label, r, lookOf(report.runs[arm.runs[0]]))));
  else if (by === "runs") for (const r of group.runs) put("run " + r, report.runs[r].name, r, lookOf(report.runs[r]));
  else for (const r of group.runs) {
    const value = settingOf(report.runs[r], by.slice(4)), key = value === undefined ? "not known" : value || "none";
    put("is " + key, `${by.slice(4)} ${key}`, r, null);
  }
  const out = [...lines.values()].filter((line) => line.runs.length > 0);
  if (by === "seeds")
    for (const line of out) line.label = line.runs.length > 1 ? `${line.label}, ${line.runs.length} seeds` : report.runs[line.runs[0]].name;
  [...lines.values()].forEach((line, at) => {
    if (line.colour === undefined) [line.colour, line.dash] = [at % 8, Math.floor(at / 8) % 6];
    line.hidden = hiddenLines.has(g + "|" + line.key);
  });
  return out;
}

// A value at `x` of a curve, between its points on a straight line; NaN outside of it and in its gaps.
function valueAt({ x, y }, at) {
  let low = 0, high = x.length - 1;
  if (at < x[0] || at > x[high]) return NaN;
  while (low < high) { const middle = (low + high) >> 1; if (x[middle] < at) low = middle + 1; else high = middle; }
  if (x[low] === at) return y[low] ?? NaN;
  const from = y[low - 1] ?? NaN, to = y[low] ?? NaN;
  return from + (to - from) * (at - x[low - 1]) / (x[low] - x[low - 1]);
}
// The mean of curves {x, y}, and their least and greatest, at every x that one of them has: {x, y, least, greatest, n}. One
// curve alone keeps its own values, and the band of its buckets where it has one.
function bandOf(curves) {
  if (curves.length === 1) {
    const { x, y, least, greatest } = curves[0];
    return { x, y: y.map((v) => v ?? NaN), least: least || null, greatest: greatest || null, n: y.map(() => 1) };
  }
  const x = [...new Set(curves.flatMap((curve) => curve.x))].sort((a, b) => a - b);
  const out = { x, y: [], least: [], greatest: [], n: [] };
  for (const at of x) {
    const values = curves.map((curve) => valueAt(curve, at)).filter(Number.isFinite);
    let sum = 0;
    for (const v of values) sum += v;
    out.y.push(values.length ? sum / values.length : NaN);
    out.least.push(values.length ? Math.min(...values) : NaN);
    out.greatest.push(values.length ? Math.max(...values) : NaN);
    out.n.push(values.length);
  }
  return out;
}
// The lines of a task with what `curveOf(run)` gives of their runs, {x, y} or null; lines without any are left out.
function bandsOf(g, curveOf, lines = linesOf(g)) {
  const out = [];
  for (const line of lines) {
    const curves = line.runs.map((r) => curveOf(report.runs[r], r)).filter(Boolean);
    if (curves.length) out.push({ line, band: bandOf(curves) });
  }
  return out;
}
const bandHeader = (x) => ["line", x, "value", "least", "greatest", "runs"];
const bandRows = (bands) => bands.flatMap(({ line, band }) => line.hidden ? [] :
  band.x.map((x, i) => [line.label, String(x), band.y[i], band.least ? band.least[i] ?? NaN : NaN,
                        band.greatest ? band.greatest[i] ?? NaN : NaN, String(band.n[i])]));

// RFC 4180; a text that a spreadsheet would take for a formula gets an apostrophe in front.
function csvField(value) {
  if (typeof value === "number") return Number.isFinite(value) ? String(Number(value.toPrecision(9))) : "";
  const safe = /^[=+\-@\t\r]/.test(value) ? "'" + value : value;
  return /[",\r\n]/.test(safe) ? `"${safe.replace(/"/g, '""')}"` : safe;
}
const csvOf = (rows) => rows.map((row) => row.map((value) => csvField(value ?? NaN)).join(",") + "\n").join("");

// A line's style in a legend, as in page_tables.cpp.
function swatch({ colour, dash }) {
  const make = (name, attributes) => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    return element;
  };
  const out = make("svg", { class: `swatch c${colour} d${dash}`, viewBox: "0 0 28 10", "aria-hidden": "true" });
  out.append(make("path", { d: "M1 5h26" }), make("use", { class: "marker", href: "#m" + colour }));
  return out;
}
function showLegend(box) {
  const g = box.dataset.group;
  box.replaceChildren(...linesOf(g).map((line) => {
    const button = document.createElement("button"), name = document.createElement("span"), key = g + "|" + line.key;
    button.type = "button";
    button.setAttribute("aria-pressed", String(!line.hidden));
    name.textContent = line.label;
    button.append(swatch(line), name);
    button.addEventListener("click", () => {
      if (!hiddenLines.delete(key)) hiddenLines.add(key);
      button.setAttribute("aria-pressed", String(!hiddenLines.has(key)));
      redrawFor(g, "runs");
    });
    return button;
  }));
}

// Applies the filter everywhere on the page; an invalid filter changes nothing.
function applyFilter() {
  const { wrong, holds } = parseFilter(filterBox.value), status = document.getElementById("filter-status");
  filterBox.setAttribute("aria-invalid", String(wrong !== ""));
  if (wrong) { status.textContent = wrong; return; }
  shownRuns = new Set([...report.runs.keys()].filter((r) => holds(report.runs[r])));
  status.textContent = `${shownRuns.size} of ${report.runs.length} runs`;
  for (const element of all("tr[data-run], details[data-run], figure.heads[data-run]"))
    if (!element.closest("#two-runs")) element.hidden = !shownRuns.has(Number(element.dataset.run));
  for (const row of all("tr[data-runs]")) row.hidden = row.dataset.runs.split(" ").some((r) => !shownRuns.has(Number(r)));
  for (const option of all("#two-runs option")) if (option.parentElement.name !== "sequence-pair") option.hidden = !shownRuns.has(Number(option.value));
  applyGrouping();
}
function applyGrouping() {
  for (const box of all(".legend[data-group]")) showLegend(box);
  redrawIf((entry) => entry.causes.includes("runs"), true);
  try { sessionStorage.setItem("sinklab-runs " + location.pathname, JSON.stringify([filterBox.value, groupBox.value])); }
  catch (error) { /* lost when the page reloads itself */ }
}
const varying = [...new Set(report.runs.flatMap((run) => Object.keys(run.settings)))].filter((name) => name !== "name").sort();
for (const name of varying) groupBox.add(new Option(name, "key " + name));
document.getElementById("filter-names").textContent = [...settingNames].sort().join(", ");
try {
  const [filter, grouping] = JSON.parse(sessionStorage.getItem("sinklab-runs " + location.pathname)) || ["", "seeds"];
  filterBox.value = filter;
  if (filter) document.querySelector(".chooser").open = true;
  if ([...groupBox.options].some((option) => option.value === grouping)) groupBox.value = grouping;
} catch (error) { filterBox.value = ""; }
let filterTimer = 0;
filterBox.addEventListener("input", () => { clearTimeout(filterTimer); filterTimer = setTimeout(applyFilter, 150); });
groupBox.addEventListener("change", applyGrouping);
document.getElementById("chooser").addEventListener("submit", (event) => { event.preventDefault(); applyFilter(); });
