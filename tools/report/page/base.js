// Common functions: formatting, value tables, theme, tooltips, and drawing of figures near the window.
"use strict";
const report = JSON.parse(document.getElementById("report-data").textContent);
for (const run of report.runs) for (const curve of Object.values(run.curves)) curve.x = report.xs[curve.x];
const all = (selector, root = document) => Array.from(root.querySelectorAll(selector));
const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// What is drawn: {figure, draw, group, causes, due}. `causes` are the controls of its group that change it. A figure far
// from the window or in closed <details> is only marked as due and drawn when it is seen, a few at a time, so that pages
// of a hundred runs open quickly and stay responsive.
const redraws = [];
const nearFigures = new Set();
let drawingSoon = false;
const isRendered = (figure) => !figure.hidden && (figure.checkVisibility ? figure.checkVisibility() : figure.offsetParent !== null);
function drawDue() {
  drawingSoon = false;
  const until = performance.now() + 12;
  for (const entry of redraws) {
    if (!entry.due || !nearFigures.has(entry.figure) || !isRendered(entry.figure)) continue;
    if (performance.now() > until) { drawSoon(); return; }
    entry.due = false;
    entry.draw();
  }
}
function drawSoon() {
  if (drawingSoon) return;
  drawingSoon = true;
  setTimeout(drawDue, 0);
}
const watcher = new IntersectionObserver((seen) => {
  for (const { target, isIntersecting } of seen) if (isIntersecting) nearFigures.add(target); else nearFigures.delete(target);
  drawSoon();
}, { rootMargin: "500px 0px" });
function whenNear(figure, causes, draw) {
  redraws.push({ figure, draw, group: figure.dataset.group, causes, due: true });
  watcher.observe(figure);
}
// Figures near the window are drawn at once or, with `soon`, in the background.
function redrawIf(wanted, soon) {
  for (let at = redraws.length; at-- > 0;) if (!redraws[at].figure.isConnected) redraws.splice(at, 1);
  for (const entry of redraws.filter(wanted)) {
    entry.due = soon || !nearFigures.has(entry.figure) || !isRendered(entry.figure);
    if (!entry.due) entry.draw();
  }
  if (soon) drawSoon();
}
function redrawAll() {
  for (const entry of redraws) entry.due = true;
  drawSoon();
}
const redrawFor = (group, cause) => redrawIf((entry) => entry.group === group && entry.causes.includes(cause));
// For printing and for tests: everything that is open, at once.
function drawEverything() {
  for (let at = 0; at < redraws.length; ++at)  // which may grow
    if (redraws[at].due && isRendered(redraws[at].figure)) { redraws[at].due = false; redraws[at].draw(); }
}

// 0.0312, 4.57, 1 500, 2.1M.
function significant(x) {
  if (x === null || x === undefined || !Number.isFinite(x)) return "\u2013";
  if (x === 0) return "0";
  const size = Math.abs(x);
  if (size < 1e-4) return x.toExponential(1);
  if (size >= 1e9) return x.toExponential(2);
  x = Number(x.toPrecision(3));  // 0.9999 is 1.00
  return x.toFixed(Math.min(6, Math.max(0, 2 - Math.floor(Math.log10(Math.abs(x))))));
}
function compact(x) {
  const size = Math.abs(x);
  if (size >= 1e6) return +(x / 1e6).toFixed(2) + "M";
  if (size >= 1e4) return +(x / 1e3).toFixed(2) + "k";
  if (size !== 0 && size < 1e-3) return x.toExponential(0);
  return String(+x.toPrecision(4));
}
// A token with visible white space, cut to `longest` characters.
function tokenLabel(token, longest) {
  const shown = token.replace(/ /g, "\u00b7").replace(/\n/g, "\u21b5").replace(/\t/g, "\u2192")
                     .replace(/[\u0000-\u001f\u007f]/g, "\u25a1");
  const letters = Array.from(shown);
  return letters.length > longest ? letters.slice(0, longest - 1).join("") + "\u2026" : shown;
}

// A table of [header, ...rows] of plain values.
function tableOf([header, ...body]) {
  const table = document.createElement("table"), line = table.createTHead().insertRow(), content = table.createTBody();
  for (const text of header) {
    const cell = document.createElement("th");
    cell.scope = "col";
    cell.textContent = text;
    line.append(cell);
  }
  for (const values of body) {
    const row = content.insertRow();
    for (const value of values) row.insertCell().textContent = typeof value === "string" ? value : significant(value);
  }
  return table;
}
const kMaxRows = 1000;  // of a table on the page; its CSV has them all
// Fills a <details> with a table when it is opened. `rows` returns [header, ...rows].
function valueTable(figure, causes, rows) {
  const details = figure.querySelector("details.values");
  if (!details) return;
  const fillTable = () => {
    if (!details.open) return;
    const lines = rows(), more = lines.length - 1 - kMaxRows, shown = tableOf(lines.slice(0, kMaxRows + 1));
    if (more > 0) shown.createCaption().textContent = `The first ${kMaxRows} rows; the other ${more} are in the CSV.`;
    details.querySelector(".scroll").replaceChildren(shown);
  };
  details.addEventListener("toggle", fillTable);
  whenNear(figure, causes, fillTable);
}

// The value of a radio group or select by name; `otherwise` if the page has none.
function choice(name, otherwise) {
  const element = document.querySelector(`input[name="${name}"]:checked, select[name="${name}"]`);
  return element ? element.value : otherwise;
}

const themeButton = document.getElementById("theme");
function showTheme() {
  theme.apply();
  themeButton.textContent = "Theme: " + theme.choice;
  redrawAll();
}
themeButton.addEventListener("click", () => {
  theme.choice = theme.choices[(theme.choices.indexOf(theme.choice) + 1) % theme.choices.length];
  try { localStorage.setItem("sinklab-theme", theme.choice); } catch (error) { /* lasts for this visit only */ }
  showTheme();
});
theme.system.addEventListener("change", showTheme);
// Prints in the light theme, with everything open.
addEventListener("beforeprint", () => { for (const details of all("details.more")) details.open = true; document.documentElement.dataset.theme = "light"; redrawAll(); drawEverything(); });
addEventListener("afterprint", showTheme);
