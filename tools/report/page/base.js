// The page's common script: formatting, value tables, theme, and which runs are shown.
"use strict";
const report = JSON.parse(document.getElementById("report-data").textContent);
const all = (selector, root = document) => Array.from(root.querySelectorAll(selector));
const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const hiddenRuns = new Set();   // indices of runs whose lines are switched off
const redraws = [];             // {draw, group, causes}: what is drawn, and which of its group's controls change it

function redrawAll() { for (const { draw } of redraws) draw(); }
function redrawFor(group, cause) {
  for (const { draw, group: own, causes } of redraws) if (own === group && causes.includes(cause)) draw();
}

// Numbers as people read them: 0.0312, 4.57, 1 500, 2.1M.
function significant(x) {
  if (x === null || x === undefined || !Number.isFinite(x)) return "\u2013";
  if (x === 0) return "0";
  const size = Math.abs(x);
  if (size < 1e-4) return x.toExponential(1);
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
// Tokens are shown with their blanks visible, and never longer than they are useful.
function tokenLabel(token, longest) {
  const shown = token.replace(/ /g, "\u00b7").replace(/\n/g, "\u21b5").replace(/\t/g, "\u2192")
                     .replace(/[\u0000-\u001f\u007f]/g, "\u25a1");
  const letters = Array.from(shown);
  return letters.length > longest ? letters.slice(0, longest - 1).join("") + "\u2026" : shown;
}

// Fills a <details> with a table when it is opened. `rows` returns [header, ...rows] of plain values.
function valueTable(figure, causes, rows) {
  const details = figure.querySelector("details.values");
  if (!details) return;
  const fillTable = () => {
    if (!details.open) return;
    const table = document.createElement("table");
    const [header, ...body] = rows();
    const line = table.createTHead().insertRow();
    for (const text of header) {
      const cell = document.createElement("th");
      cell.scope = "col";
      cell.textContent = text;
      line.append(cell);
    }
    const content = table.createTBody();
    for (const values of body) {
      const row = content.insertRow();
      for (const value of values) row.insertCell().textContent = typeof value === "string" ? value : significant(value);
    }
    details.querySelector(".scroll").replaceChildren(table);
  };
  details.addEventListener("toggle", fillTable);
  redraws.push({ draw: fillTable, group: figure.dataset.group, causes });
}

// The value of a radio group or select by name; `otherwise` when the page has none.
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
// Paper is white: print in the light theme and come back.
addEventListener("beforeprint", () => { document.documentElement.dataset.theme = "light"; redrawAll(); });
addEventListener("afterprint", showTheme);

for (const button of all(".legend button"))
  button.addEventListener("click", () => {
    const run = Number(button.dataset.run);
    if (hiddenRuns.has(run)) hiddenRuns.delete(run); else hiddenRuns.add(run);
    button.setAttribute("aria-pressed", String(!hiddenRuns.has(run)));
    redrawFor(button.dataset.group, "runs");
  });
// A control's name is "<cause>-<group>".
for (const input of all(".controls input, .controls select"))
  input.addEventListener("change", () => redrawFor(input.name.split("-")[1], input.name.split("-")[0]));
