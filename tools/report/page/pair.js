// Two runs side by side: what differs, their curves in one chart each, their maps next to each other. Then, as the last
// script, the page's first look.
"use strict";
const kPairCurves = [["val_loss", "Validation loss"], ["train_loss", "Training loss"], ["sink_1", "Sink\u2081, proxy"], ["sink_1_raw", "Sink\u2081, raw"],
                     ["alpha_1", "\u03b1\u2081, proxy"], ["alpha_1_raw", "\u03b1\u2081, raw"], ["grad_norm", "Gradient norm"]];
const pairOf = () => ["a", "b"].map((side) => Number(choice(side + "-pair", "0")));

// A figure of a <template>, with its attributes and title.
function pairFigure(template, data, title, caption) {
  const figure = document.getElementById(template).content.firstElementChild.cloneNode(true);
  Object.assign(figure.dataset, data);
  figure.querySelector("h4").append(...[title].flat());
  if (caption) figure.querySelector("figcaption p").textContent = caption;
  return figure;
}

function showPair() {
  const pair = pairOf(), runs = pair.map((r) => report.runs[r]), looks = [0, 1].map((at) => ({ colour: at, dash: at }));
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
  curves.replaceChildren(...kPairCurves.filter(([key]) => runs.some((run) => run.curves[key]))
    .map(([key, title]) => pairFigure("pair-curve", { curve: key, pair: pair.join(" ") }, title, runs.map((run) => `\u2068${run.name}\u2069`).join(" and "))));
  for (const figure of all("figure", curves)) {
    figure.querySelector("canvas").setAttribute("aria-label", `Line chart: ${figure.querySelector("h4").textContent} of two runs over training steps. Plus and minus zoom, arrows move, 0 shows all.`);
    drawChart.curve(figure);
  }
  document.getElementById("pair-legend").replaceChildren(...runs.map((run, at) => {
    const entry = document.createElement("span"), name = document.createElement("bdi");
    name.textContent = run.name;
    entry.append(swatch(looks[at]), name);
    return entry;
  }));
  maps.replaceChildren(...pair.filter((r) => report.runs[r].layer_head && report.runs[r].layer_head.length)
    .map((r) => pairFigure("pair-head", { run: r }, report.runs[r].name)));
  headFigures.splice(0, headFigures.length, ...headFigures.filter(({ group }) => group !== "pair"));
  for (const figure of all("figure", maps)) {
    const run = report.runs[Number(figure.dataset.run)];
    for (const box of all(".tilebox", figure))
      if (!run[{ alpha_1: "layer_head", alpha_star: "star_head", value_share: "value_share" }[box.querySelector(".tiles").dataset.tiles]]) box.remove();
    if (!run.maps) {
      figure.querySelector("canvas").hidden = true;
      figure.querySelector(".chosen").textContent = "No maps were stored with this run.";
    }
    headFigures.push(headFigure(figure));
  }
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
