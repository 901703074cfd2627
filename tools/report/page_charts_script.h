// Draws the page's line and bar charts with Chart.js, in the colours of the theme.
#pragma once

namespace sink::report {

inline constexpr const char* kChartsScript = R"js(
"use strict";
const kDashes = [[], [9, 4], [2, 3], [11, 4, 2, 4], [5, 4], [14, 4, 2, 3, 2, 4]];
const kMarkers = ["circle", "triangle", "rect", "rectRot", "star", "crossRot", "rectRounded", "cross"];
const runColour = (run) => css("--c" + run.colour);

// A bar's fill: plain, or hatched as the line is dashed, so that colour is never the only difference.
function barFill(run) {
  const tile = document.createElement("canvas");
  tile.width = tile.height = 8;
  const pen = tile.getContext("2d");
  pen.fillStyle = runColour(run);
  pen.fillRect(0, 0, 8, 8);
  pen.strokeStyle = css("--panel");
  pen.lineWidth = 1.5;
  const strokes = [[], [[0, 8, 8, 0]], [[0, 0, 8, 8]], [[0, 4, 8, 4]], [[4, 0, 4, 8]], [[0, 4, 8, 4], [4, 0, 4, 8]]];
  for (const [x0, y0, x1, y1] of strokes[run.dash]) {
    pen.beginPath();
    pen.moveTo(x0, y0);
    pen.lineTo(x1, y1);
    pen.stroke();
  }
  return pen.createPattern(tile, "repeat");
}

function lineSet(index, points, markers) {
  const run = report.runs[index];
  const colour = runColour(run);
  return { label: run.name, data: points, borderColor: colour, backgroundColor: colour, borderWidth: 2,
           borderDash: kDashes[run.dash], pointStyle: kMarkers[run.colour], pointRadius: markers ? 3.5 : 0,
           pointHoverRadius: 5, pointHitRadius: 6, hidden: hiddenRuns.has(index), clip: 6 };
}
function evenSet(points) {
  return { label: "even attention", data: points, type: "line", borderColor: css("--muted"), backgroundColor: css("--muted"),
           borderWidth: 1.25, borderDash: [1.5, 3], pointRadius: 0, pointHitRadius: 0 };
}

function axis(title, type, extra) {
  const logTick = (value) => /^[125]/.test(Number(value).toExponential()) ? compact(value) : "";
  return Object.assign({
    type, title: { display: true, text: title, color: css("--muted"), font: { size: 12 } },
    grid: { color: css("--grid"), borderColor: css("--line"), tickLength: 4 },
    ticks: { color: css("--muted"), font: { size: 11.5 }, maxRotation: 0, autoSkipPadding: 14,
             includeBounds: false, callback: type === "logarithmic" ? logTick : compact },
  }, extra);
}
// Ticks at 1 and at the multiples of a round distance: positions count from 1.
function positionTicks(scale) {
  const distance = [1, 2, 4, 8, 16, 32, 64].find((d) => scale.max / d <= 9) || 128;
  scale.ticks = [{ value: 1 }];
  for (let at = distance; at <= scale.max; at += distance) if (at > 1) scale.ticks.push({ value: at });
}
function options(x, y, titleOf) {
  return {
    responsive: true, maintainAspectRatio: false, animation: false, parsing: false, spanGaps: false,
    interaction: { mode: "nearest", axis: "x", intersect: false }, layout: { padding: { top: 6, right: 8 } },
    scales: { x, y },
    plugins: {
      legend: { display: false },
      tooltip: { backgroundColor: css("--tip"), titleColor: css("--tip-text"), bodyColor: css("--tip-text"), padding: 10,
                 usePointStyle: true, boxPadding: 4,
                 callbacks: { title: titleOf, label: (item) => " " + item.dataset.label + "  " + significant(item.parsed.y) } },
    },
  };
}
// A chart's data and options are made anew at each change; Chart.js then redraws in place.
function keepDrawn(figure, causes, describe) {
  const canvas = figure.querySelector("canvas");
  let chart = null;
  const draw = () => {
    const { type, data, options } = describe();
    if (chart === null) { chart = new Chart(canvas, { type, data, options }); return; }
    chart.data = data;
    chart.options = options;
    chart.resize();
    chart.update("none");
  };
  draw();
  redraws.push({ draw, group: figure.dataset.group, causes: ["runs", ...causes] });
}
const finite = (values) => values.filter((v) => v !== null && Number.isFinite(v));
const asPoints = (xs, ys) => xs.map((x, i) => ({ x, y: ys[i] === null ? NaN : ys[i] }));

// Proxy and raw stand side by side: they share the vertical scale unless the raw weights are far larger.
function commonTop(runs, name, valuesOf) {
  const top = (key) => Math.max(0, ...runs.flatMap((r) => finite(valuesOf(report.runs[r], key))));
  const plain = name.replace(/_raw$/, ""), proxy = top(plain), raw = top(plain + "_raw");
  return raw > 1.5 * proxy ? undefined : Math.max(proxy, raw);
}

function curveChart(figure) {
  const g = figure.dataset.group, group = report.groups[g], name = figure.dataset.curve;
  const values = (run, key) => run.curves[key] ? run.curves[key].y : [];
  const runs = group.runs.filter((r) => values(report.runs[r], name).length > 0);
  const bounded = /^(alpha|sink)/.test(name);
  const top = bounded ? commonTop(runs, name, values) : undefined;
  const unit = name.startsWith("sink") ? "% of heads" : name.startsWith("alpha") ? "weight" : "nats per token";
  const last = Math.max(...group.runs.flatMap((r) => Object.values(report.runs[r].curves).map((c) => c.x[c.x.length - 1])));
  keepDrawn(figure, ["steps"], () => {
    const scale = choice("steps-" + g, "linear");
    const sets = runs.map((r) => {
      const curve = report.runs[r].curves[name];
      const points = asPoints(curve.x, curve.y).filter((p) => scale === "linear" || p.x > 0);
      return lineSet(r, points, name !== "train_loss" && points.length <= 40);
    });
    if (name === "alpha_1" && group.even.length > 0) {
      const xs = runs.flatMap((r) => report.runs[r].curves[name].x).filter((x) => scale === "linear" || x > 0);
      sets.push(evenSet([Math.min(...xs), Math.max(...xs)].map((x) => ({ x, y: group.even[0] }))));
    }
    return { type: "line", data: { datasets: sets },
             options: options(axis("step", scale, { max: last }), axis(unit, "linear", bounded ? { min: 0, suggestedMax: top } : {}),
                              (items) => items.length ? "step " + compact(items[0].parsed.x) : "") };
  });
  valueTable(figure, [], () => {
    const steps = [...new Set(runs.flatMap((r) => report.runs[r].curves[name].x))].sort((a, b) => a - b);
    const columns = runs.map((r) => { const c = report.runs[r].curves[name]; return new Map(c.x.map((x, i) => [x, c.y[i]])); });
    return [["step", ...runs.map((r) => report.runs[r].name)], ...steps.map((x) => [String(x), ...columns.map((c) => c.get(x))])];
  });
}

function normChart(figure) {
  const g = figure.dataset.group, group = report.groups[g], name = figure.dataset.norm;
  const row = (r) => {
    const level = Number(choice("layer-" + g, "0")) - (name === "hidden_norm" ? 0 : 1);
    return ((report.runs[r][name] || [])[level]) || [];
  };
  keepDrawn(figure, ["layer", "norms"], () => {
    const scale = choice("norms-" + g, "linear");
    const sets = group.runs.map((r) => lineSet(r, row(r).map((y, i) => ({ x: i + 1, y: y === null ? NaN : y })), false));
    for (const set of sets) set.pointRadius = set.data.map((_, i) => (i === 0 ? 3.5 : 0));  // the first token is the point
    return { type: "line", data: { datasets: sets },
             options: options(axis("position", "linear", { min: 1, max: Math.max(2, ...group.runs.map((r) => row(r).length)),
                                                            afterBuildTicks: positionTicks }),
                              axis("norm", scale, scale === "linear" ? { min: 0 } : {}),
                              (items) => items.length ? "position " + items[0].parsed.x : "") };
  });
  valueTable(figure, ["layer"], () => {
    const longest = Math.max(0, ...group.runs.map((r) => row(r).length));
    return [["position", ...group.runs.map((r) => report.runs[r].name)],
            ...Array.from({ length: longest }, (_, i) => [String(i + 1), ...group.runs.map((r) => row(r)[i])])];
  });
}

function barChart(figure) {
  const group = report.groups[figure.dataset.group], name = figure.dataset.bars;
  const runs = group.runs.filter((r) => report.runs[r][name]);
  const top = commonTop(runs, name, (run, key) => run[key] || []);
  const count = Math.max(0, ...runs.map((r) => report.runs[r][name].length));
  const labels = Array.from({ length: count }, (_, i) => String(i + 1));
  keepDrawn(figure, [], () => {
    const sets = runs.map((r) => ({ label: report.runs[r].name, data: report.runs[r][name], backgroundColor: barFill(report.runs[r]),
                                    hidden: hiddenRuns.has(r), categoryPercentage: 0.8, barPercentage: 0.92 }));
    if (name === "alpha_k") sets.unshift(evenSet(group.even.slice(0, count)));
    const made = options(axis("position k", "category", { grid: { display: false }, ticks: { color: css("--muted"), font: { size: 11.5 } } }),
                         axis("weight", "linear", { min: 0, suggestedMax: top }),
                         (items) => items.length ? "position " + items[0].label : "");
    made.parsing = true;
    made.interaction.mode = "index";
    return { type: "bar", data: { labels, datasets: sets }, options: made };
  });
  valueTable(figure, [], () => [["k", ...runs.map((r) => report.runs[r].name)],
                            ...labels.map((k, i) => [k, ...runs.map((r) => report.runs[r][name][i])])]);
}

Chart.defaults.font.family = css("--sans");
const drawChart = { curve: curveChart, norm: normChart, bars: barChart };
for (const figure of all("figure[data-kind]")) drawChart[figure.dataset.kind](figure);
)js";

}  // namespace sink::report
