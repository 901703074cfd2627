// Draws the page's line and bar charts with Chart.js, in the colours of the theme; a drag zooms.
"use strict";
const kDashes = [[], [9, 4], [2, 3], [11, 4, 2, 4], [5, 4], [14, 4, 2, 3, 2, 4]];
const kMarkers = ["circle", "triangle", "rect", "rectRot", "star", "crossRot", "rectRounded", "cross"];
const runColour = (run) => css("--c" + run.colour);

// A bar's fill: plain, or hatched as the line is dashed, where runs share a colour. `svg` says the same to an SvgPen.
function barFill(run) {
  const colour = runColour(run), paper = css("--ground");
  const strokes = [[], [[0, 8, 8, 0]], [[0, 0, 8, 8]], [[0, 4, 8, 4]], [[4, 0, 4, 8]], [[0, 4, 8, 4], [4, 0, 4, 8]]][run.dash];
  if (strokes.length === 0) return colour;
  const tile = document.createElement("canvas");
  tile.width = tile.height = 8;
  const pen = tile.getContext("2d");
  pen.fillStyle = colour;
  pen.fillRect(0, 0, 8, 8);
  pen.strokeStyle = paper;
  pen.lineWidth = 1.5;
  for (const [x0, y0, x1, y1] of strokes) {
    pen.beginPath();
    pen.moveTo(x0, y0);
    pen.lineTo(x1, y1);
    pen.stroke();
  }
  const pattern = pen.createPattern(tile, "repeat");
  pattern.svg = `<rect width="8" height="8" fill="${xml(colour)}"/>` +
    strokes.map(([x0, y0, x1, y1]) => `<path d="M${x0} ${y0}L${x1} ${y1}" stroke="${xml(paper)}" stroke-width="1.5"/>`).join("");
  return pattern;
}

// `mark`: which points carry the run's marker: "all", "few" (eight or so, where the run's turn is) or "first".
function lineSet(index, points, mark) {
  const run = report.runs[index];
  const colour = runColour(run), every = Math.max(1, Math.ceil(points.length / 8));
  const turn = Math.floor((run.colour * 0.37 + run.dash * 0.21) % 1 * every);
  const marked = { all: () => true, first: (i) => i === 0, few: (i) => i % every === turn }[mark];
  return { label: run.name, data: points, borderColor: colour, backgroundColor: colour, borderWidth: 2, borderJoinStyle: "round",
           borderDash: kDashes[run.dash], pointStyle: kMarkers[run.colour], pointRadius: points.map((_, i) => (marked(i) ? 3 : 0)),
           pointHoverRadius: 5, pointHitRadius: 6, hidden: hiddenRuns.has(index), segment: {} };
}
// A thin line to compare with, of no run.
function reference(label, points, dash) {
  return { label, data: points, type: "line", borderColor: css("--muted"), backgroundColor: css("--muted"), borderWidth: 1.25,
           borderDash: dash, pointRadius: 0, pointHitRadius: 0, pointStyle: "line", segment: {} };
}
const evenSet = (points) => reference("even attention", points, [1.5, 3]);

function axis(title, type, extra) {
  // 1, 2 and 5 of each decade, or the decades alone where there are many.
  const logTick = (value, _, all) => {
    const decades = Math.log10(all[all.length - 1].value / all[0].value);
    return (decades > 2.5 ? /^1e/ : /^[125]e/).test(Number(value).toExponential()) ? compact(value) : "";
  };
  return Object.assign({
    type, title: { display: true, text: title, color: css("--muted"), font: { size: 12 } },
    grid: { color: css("--grid"), borderColor: css("--line"), tickLength: 4 }, border: { color: css("--line") },
    ticks: { color: css("--muted"), font: { size: 11.5 }, maxRotation: 0, autoSkipPadding: 14,
             autoSkip: type !== "logarithmic", includeBounds: false, callback: type === "logarithmic" ? logTick : compact },
  }, extra);
}
// Ticks at 1 and at the multiples of a round distance: positions count from 1.
function positionTicks(scale) {
  const span = scale.max - scale.min, distance = [1, 2, 4, 8, 16, 32, 64].find((d) => span / d <= 9) || 128;
  scale.ticks = scale.min <= 1 ? [{ value: 1 }] : [];
  for (let at = Math.ceil(scale.min / distance) * distance; at <= scale.max; at += distance) if (at > 1) scale.ticks.push({ value: at });
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

// Zoom: drag a box (a flat one zooms along the steps only), or + - 0 and the arrows on a focused chart. `view` keeps
// the part that is shown, {x: [from, to], y: [from, to]}, in values.
function zoomable(figure, canvas, chartOf, view, redraw) {
  const plot = canvas.parentElement, box = document.createElement("div"), undo = figure.querySelector("button[data-zoom]");
  box.className = "selection";
  box.hidden = true;
  plot.append(box);
  let from = null, to = null;
  const set = (x, y) => {
    view.x = x;
    view.y = y;
    undo.hidden = !x && !y;
    redraw();
  };
  // The part between two corners in pixels; a side that is null stays as it is.
  const show = (left, right, top, bottom) => {
    const { x, y } = chartOf().scales;
    const values = (scale, a, b) => [scale.getValueForPixel(a), scale.getValueForPixel(b)];
    set(left === null ? view.x : values(x, left, right), top === null ? view.y : values(y, bottom, top));
  };
  const place = (event) => {
    const area = canvas.getBoundingClientRect(), { left, right, top, bottom } = chartOf().chartArea;
    return [Math.min(right, Math.max(left, event.clientX - area.left)), Math.min(bottom, Math.max(top, event.clientY - area.top))];
  };
  const sides = () => {
    const { left, right, top, bottom } = chartOf().chartArea;
    const flat = Math.abs(from[1] - to[1]) < 14, steep = Math.abs(from[0] - to[0]) < 14;
    return { flat, steep, x: steep ? [left, right] : [Math.min(from[0], to[0]), Math.max(from[0], to[0])],
             y: flat ? [top, bottom] : [Math.min(from[1], to[1]), Math.max(from[1], to[1])] };
  };
  const end = () => { from = null; box.hidden = true; };
  canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0 || event.pointerType === "touch") return;  // a finger scrolls the page
    from = to = place(event);
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!from) return;
    to = place(event);
    const { flat, steep, x, y } = sides();
    box.hidden = flat && steep;
    Object.assign(box.style, { left: x[0] + "px", top: y[0] + "px", width: x[1] - x[0] + "px", height: y[1] - y[0] + "px" });
  });
  canvas.addEventListener("pointerup", () => {
    if (!from) return;
    const { flat, steep, x, y } = sides();
    end();
    if (!flat || !steep) show(steep ? null : x[0], x[1], flat ? null : y[0], y[1]);
  });
  canvas.addEventListener("pointercancel", end);
  canvas.addEventListener("dblclick", () => set(null, null));
  undo.addEventListener("click", () => { set(null, null); canvas.focus(); });
  canvas.addEventListener("keydown", (event) => {
    const { left, right, top, bottom } = chartOf().chartArea, w = right - left, h = bottom - top;
    if (event.key === "Escape" && from) { end(); return; }
    const moves = { "+": () => show(left + w / 4, right - w / 4, top + h / 4, bottom - h / 4), "0": () => set(null, null),
                    "-": () => show(left - w / 2, right + w / 2, top - h / 2, bottom + h / 2) };
    moves["="] = moves["+"];
    if (view.x || view.y) {
      const shift = (dx, dy) => () => show(left + dx * w, right + dx * w, top + dy * h, bottom + dy * h);
      Object.assign(moves, { ArrowLeft: shift(-0.2, 0), ArrowRight: shift(0.2, 0), ArrowUp: shift(0, -0.2), ArrowDown: shift(0, 0.2) });
    }
    if (!moves[event.key] || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    moves[event.key]();
  });
}

// A chart's data and options are made anew at each change; Chart.js then redraws in place.
function keepDrawn(figure, causes, describe) {
  const canvas = figure.querySelector("canvas"), view = { x: null, y: null };
  let chart = null;
  const described = () => {
    const made = describe();
    for (const side of ["x", "y"])
      if (view[side]) [made.options.scales[side].min, made.options.scales[side].max] = view[side];
    return made;
  };
  const draw = () => {
    const { type, data, options } = described();
    if (chart === null) { chart = new Chart(canvas, { type, data, options }); return; }
    chart.data = data;
    chart.options = options;
    chart.resize();
    chart.update("none");
  };
  draw();
  redraws.push({ draw, group: figure.dataset.group, causes: ["runs", ...causes] });
  if (figure.dataset.kind !== "bars") zoomable(figure, canvas, () => chart, view, draw);
  figure.chart = () => chart;  // for whoever inspects the page
  const title = plainText(figure.querySelector("h4")), task = figure.closest(".group").querySelector("h2").textContent;
  const { curve, norm, bars } = figure.dataset;
  offerDownloads(figure, () => `${task} ${curve || norm || bars}`, () => {
    const { type, data, options } = described(), width = 720, height = 360;
    Object.assign(options, { responsive: false, events: [], devicePixelRatio: 1 });
    options.plugins.tooltip.enabled = false;
    const entries = data.datasets.filter((set) => !set.hidden).map((set) =>
      ({ text: set.label, colour: set.pointStyle || set.type ? set.borderColor : set.backgroundColor.svg ? runColour(set.run) : set.backgroundColor,
         dash: set.borderDash || [] }));
    return composed(title + ", " + task, figure.querySelector("figcaption p").textContent, entries, width, height, (pen) => {
      const own = new SvgPen(width, height);
      const copy = new Chart(own.canvas, { type, data, options, platform: Chart.platforms.BasicPlatform });
      own.parts = [];  // what it drew while it was being made
      copy.draw();
      pen.add(own);
      copy.destroy();
    });
  });
}
const finite = (values) => values.filter((v) => v !== null && Number.isFinite(v));
const asPoints = (xs, ys) => xs.map((x, i) => ({ x, y: ys[i] === null ? NaN : ys[i] }));

// Proxy and raw stand side by side: they share the vertical scale unless the raw weights are far larger.
function commonTop(runs, name, valuesOf) {
  const top = (key) => Math.max(0, ...runs.flatMap((r) => finite(valuesOf(report.runs[r], key))));
  const plain = name.replace(/_raw$/, ""), proxy = top(plain), raw = top(plain + "_raw");
  return raw > 1.5 * proxy ? undefined : Math.max(proxy, raw);
}

// What a loss is measured from: the loss of the best predictor where the task has one, else the lowest of the group.
function lossFloor(group, index, name) {
  const own = report.runs[index].floor;
  if (own) return own[name];
  const losses = group.runs.flatMap((r) => (report.runs[r].curves.val_loss ? finite(report.runs[r].curves.val_loss.y) : []));
  return losses.length ? Math.min(...losses) : 0;
}

function curveChart(figure) {
  const g = figure.dataset.group, group = report.groups[g], name = figure.dataset.curve;
  const values = (run, key) => run.curves[key] ? run.curves[key].y : [];
  const runs = group.runs.filter((r) => values(report.runs[r], name).length > 0);
  const bounded = /^(alpha|sink)/.test(name), loss = name.endsWith("_loss");
  const top = bounded ? commonTop(runs, name, values) : undefined;
  const unit = name.startsWith("sink") ? "% of heads" : name.startsWith("alpha") ? "weight" : "nats per token";
  const last = Math.max(...group.runs.flatMap((r) => Object.values(report.runs[r].curves).map((c) => c.x[c.x.length - 1])));
  keepDrawn(figure, ["steps", "loss"], () => {
    const scale = choice("steps-" + g, "linear"), above = loss && choice("loss-" + g, "nats") === "above";
    const sets = runs.map((r) => {
      const curve = report.runs[r].curves[name], floor = above ? lossFloor(group, r, name) : 0;
      const points = asPoints(curve.x, curve.y).filter((p) => scale === "linear" || p.x > 0);
      if (above) for (const p of points) p.y = p.y > floor ? p.y - floor : NaN;
      return lineSet(r, points, name !== "train_loss" && points.length <= 40 ? "all" : "few");
    });
    const xs = runs.flatMap((r) => report.runs[r].curves[name].x).filter((x) => scale === "linear" || x > 0);
    const across = (y) => [Math.min(...xs), Math.max(...xs)].map((x) => ({ x, y }));
    if (name === "alpha_1" && group.even.length > 0) sets.push(evenSet(across(group.even[0])));
    if (loss && !above)
      for (const floor of new Set(runs.map((r) => report.runs[r].floor && report.runs[r].floor[name]).filter(Number.isFinite)))
        sets.push(reference("best possible", across(floor), [6, 3]));
    const y = above ? axis(report.runs[runs[0]].floor ? "nats above the best possible" : "nats above the lowest", "logarithmic")
                    : axis(unit, "linear", bounded ? { suggestedMin: 0, suggestedMax: top } : {});
    return { type: "line", data: { datasets: sets },
             options: options(axis("step", scale, { max: last }), y, (items) => items.length ? "step " + compact(items[0].parsed.x) : "") };
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
    const sets = group.runs.map((r) => lineSet(r, row(r).map((y, i) => ({ x: i + 1, y: y === null ? NaN : y })), "first"));
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
    const sets = runs.map((r) => ({ label: report.runs[r].name, run: report.runs[r], data: report.runs[r][name],
                                    backgroundColor: barFill(report.runs[r]), hidden: hiddenRuns.has(r), categoryPercentage: 0.8,
                                    barPercentage: 0.92 }));
    if (name === "alpha_k" && group.even.length > 0) sets.unshift(evenSet(group.even.slice(0, count)));
    const made = options(axis("position k", "category", { grid: { display: false }, ticks: { color: css("--muted"), font: { size: 11.5 } } }),
                         axis("weight", "linear", { suggestedMin: 0, suggestedMax: top }),
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
