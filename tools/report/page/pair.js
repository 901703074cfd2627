// Two runs side by side: differing settings, curves in one chart each, attention patterns. As the last script it then
// shows the page.
"use strict";
const kPairCurves = [["val_loss", "Validation loss"], ["train_loss", "Training loss"], ["sink_1", "Sink\u2081, proxy"], ["sink_1_raw", "Sink\u2081, raw"],
                     ["alpha_1", "\u03b1\u2081, proxy"], ["alpha_1_raw", "\u03b1\u2081, raw"], ["grad_norm", "Gradient norm"]];
// The runs' own styles, with another dash where they are equal.
const pairLooks = (pair) => pair.map((r, at) => ({ colour: report.runs[r].colour,
  dash: at === 1 && report.runs[pair[0]].colour === report.runs[r].colour ? (report.runs[pair[0]].dash + 1) % 6 : report.runs[r].dash }));
const pairOf = () => ["a", "b"].map((side) => Number(choice(side + "-pair", "0")));

function showPair() {
  const pair = pairOf(), runs = pair.map((r) => report.runs[r]), looks = pairLooks(pair);
  const differing = [...settingNames].filter((name) => !report.runs[0].final || !(name in report.runs[0].final)).sort()
    .map((name) => [name, ...runs.map((run) => settingOf(run, name) ?? "not known")]).filter(([name, a, b]) => name !== "name" && a !== b);
  const names = ["left", "right"];
  document.getElementById("pair-settings").replaceChildren(tableOf([["setting", ...names], ...(differing.length ? differing : [["none", "", ""]])]));
  const numbers = [["val_loss", "validation loss"], ["sink_1", "Sink\u2081, %, proxy"], ["sink_1_raw", "Sink\u2081, %, raw"], ["alpha_1", "\u03b1\u2081, proxy"],
                   ["alpha_1_raw", "\u03b1\u2081, raw"]].map(([key, name]) => {
    const [a, b] = runs.map((run) => (run.final ? run.final[key] : null) ?? NaN);
    return [name, a, b, b - a];
  });
  document.getElementById("pair-numbers").replaceChildren(tableOf([["", ...names, "right \u2212 left"], ...numbers]));

  const curves = document.getElementById("pair-curves"), maps = document.getElementById("pair-maps");
  for (const old of all("figure", curves)) old.destroy();
  const caption = runs.map((run) => `\u2068${xml(run.name)}\u2069`).join(" and ");
  curves.innerHTML = kPairCurves.filter(([key]) => runs.some((run) => run.curves[key])).map(([key, title]) =>
    framed("pair", `data-kind="pair" data-curve="${key}" data-pair="${pair.join(" ")}"`, title, caption, `Line chart: ${title} of two runs over training steps.`)).join("");
  for (const figure of all("figure", curves)) drawChart.curve(figure);
  document.getElementById("pair-legend").replaceChildren(...runs.map((run, at) => {
    const entry = document.createElement("span"), name = document.createElement("bdi");
    name.textContent = run.name;
    entry.append(swatch(looks[at]), name);
    return entry;
  }));
  maps.innerHTML = pair.filter((r) => hasHeads(report.runs[r])).map((r) => framedHeads("pair", r, xml(report.runs[r].name), "")).join("");
  headFigures.splice(0, headFigures.length, ...headFigures.filter(({ group }) => group !== "pair"), ...all("figure", maps).map(headFigure));
  maps.closest(".mapgroup").hidden = maps.children.length === 0;
}

if (document.getElementById("two-runs")) {
  for (const select of all("select[name=a-pair], select[name=b-pair]")) select.addEventListener("change", showPair);
  document.getElementById("swap").addEventListener("click", () => {
    const [a, b] = all("select[name=a-pair], select[name=b-pair]");
    [a.value, b.value] = [b.value, a.value];
    showPair();
  });
  showPair();
}
applyFilter();
showTheme();
document.documentElement.dataset.ready = "yes";
