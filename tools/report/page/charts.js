// Draws the page's line and bar charts with Chart.js, in the colours of the theme; a drag zooms.
"use strict";
const kDashes = [[], [9, 4], [2, 3], [11, 4, 2, 4], [5, 4], [14, 4, 2, 3, 2, 4]];
const kMarkers = ["circle", "triangle", "rect", "rectRot", "star", "crossRot", "rectRounded", "cross"];
const lineColour = (line) => css("--c" + line.colour);  // of a line, or a run

// A bar's fill: plain, or hatched where the line is dashed. `svg` is the same for an SvgPen.
function barFill(line) {
  const colour = lineColour(line), paper = css("--ground");
  const strokes = [[], [[0, 8, 8, 0]], [[0, 0, 8, 8]], [[0, 4, 8, 4]], [[4, 0, 4, 8]], [[0, 4, 8, 4], [4, 0, 4, 8]]][line.dash];
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

// `mark`: which points have the line's marker: "all", "few" (about eight, at other steps for each line), "first" or "none".
// `band`: {least, greatest} of the points.
function lineSet(line, points, mark, band) {
  const colour = lineColour(line), every = Math.max(1, Math.ceil(points.length / 8));
  const turn = Math.floor((line.colour * 0.37 + line.dash * 0.21) % 1 * every);
  const marked = { all: () => true, first: (i) => i === 0, few: (i) => i % every === turn }[mark];
  return { label: line.label, data: points, borderColor: colour, backgroundColor: colour, borderWidth: 2, borderJoinStyle: "round",
           borderDash: kDashes[line.dash], pointStyle: kMarkers[line.colour], pointRadius: marked ? points.map((_, i) => (marked(i) ? 3 : 0)) : 0,
           pointHoverRadius: 5, pointHitRadius: 6, hidden: line.hidden, segment: {}, band };
}
// Lines with their bands; `change(point)` may move a point and its band, or make it NaN. Many lines have no markers, which
// would be slow and hide each other.
function lineSets(bands, mark, change = (p) => p) {
  return bands.map(({ line, band }) => {
    const moved = (ys) => band.x.map((x, i) => change({ x, y: ys[i] ?? NaN }));
    const points = moved(band.y), side = (ys) => moved(ys).map((p) => p.y);
    return lineSet(line, points, bands.length > 16 ? "none" : typeof mark === "function" ? mark(points.length) : mark,
                   band.least ? { least: side(band.least), greatest: side(band.greatest) } : null);
  });
}
// Paints the bands below the lines, between gaps.
const bandPainter = {
  id: "bands",
  beforeDatasetsDraw(chart) {
    const { ctx: pen, scales: { x, y }, chartArea: { left, top, right, bottom } } = chart;
    for (const set of chart.data.datasets) {
      if (!set.band || set.hidden) continue;
      pen.save();
      pen.beginPath();
      pen.rect(left, top, right - left, bottom - top);
      pen.clip();
      pen.fillStyle = set.borderColor;
      pen.globalAlpha = 0.2;
      const known = (i) => Number.isFinite(set.band.least[i]) && Number.isFinite(set.band.greatest[i]) && Number.isFinite(set.data[i].y);
      for (let from = 0; from < set.data.length;) {
        let to = from;
        while (to < set.data.length && known(to)) ++to;
        if (to > from + 1) {
          pen.beginPath();
          for (let i = from; i < to; ++i) pen.lineTo(x.getPixelForValue(set.data[i].x), y.getPixelForValue(set.band.greatest[i]));
          for (let i = to; i-- > from;) pen.lineTo(x.getPixelForValue(set.data[i].x), y.getPixelForValue(set.band.least[i]));
          pen.closePath();
          pen.fill();
        }
        from = to + 1;
      }
      pen.restore();
    }
  },
};
// The range of lines and bands, for axes.
function bandRange(sets) {
  const values = sets.filter((set) => !set.hidden && set.band).flatMap((set) => [...set.band.least, ...set.band.greatest]).filter(Number.isFinite);
  return values.length ? { suggestedMin: values.reduce((a, b) => Math.min(a, b)), suggestedMax: values.reduce((a, b) => Math.max(a, b)) } : {};
}
// Writes names next to points of a scatter plot where they do not overlap.
const namePainter = {
  id: "names",
  afterDatasetsDraw(chart) {
    const { ctx: pen, chartArea } = chart, taken = [];
    pen.save();
    pen.font = `11px ${css("--sans")}`;
    pen.textBaseline = "middle";
    pen.textAlign = "left";
    pen.fillStyle = css("--muted");
    const points = chart.data.datasets.flatMap((set, at) => (set.hidden || !set.named ? [] : chart.getDatasetMeta(at).data.map((p, i) => ({ x: p.x, y: p.y, name: set.data[i].name }))));
    for (const { x, y } of points) taken.push([x - 5, y - 5, x + 5, y + 5]);
    for (const { x, y, name } of points) {
      if (!name) continue;
      const text = Array.from(name).length > 32 ? Array.from(name).slice(0, 31).join("") + "\u2026" : name, width = pen.measureText(text).width;
      for (const [left, middle] of [[x + 8, y], [x - 8 - width, y], [x - width / 2, y - 12], [x - width / 2, y + 12]]) {
        const box = [left, middle - 6, left + width, middle + 6];
        if (box[0] < chartArea.left || box[2] > chartArea.right || box[1] < chartArea.top || box[3] > chartArea.bottom) continue;
        if (taken.some((t) => t[0] < box[2] && t[2] > box[0] && t[1] < box[3] && t[3] > box[1])) continue;
        taken.push(box);
        pen.fillText(text, left, middle);
        break;
      }
    }
    pen.restore();
  },
};

// A thin reference line.
function reference(label, points, dash) {
  return { label, data: points, type: "line", borderColor: css("--muted"), backgroundColor: css("--muted"), borderWidth: 1.25,
           borderDash: dash, pointRadius: 0, pointHitRadius: 0, pointStyle: "line", segment: {} };
}
const evenSet = (points) => reference("uniform attention", points, [1.5, 3]);

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
                 callbacks: { title: titleOf, label: (item) => " " + item.dataset.label + "  " + significant(item.parsed.y) + (item.dataset.kind ? ` (${item.dataset.kind})` : "") + withRuns(item) } },
    },
  };
}

// Zoom: drag a box (a flat one zooms along the steps only), or + - 0 and the arrows on a focused chart. `view` is the
// range shown, {x: [from, to], y: [from, to]}, in values.
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

// A chart's data and options are rebuilt at each change; Chart.js then redraws in place. `rows()` is what is drawn, as
// [header, ...rows], for the table and the CSV.
function keepDrawn(figure, causes, describe, rows) {
  const canvas = figure.querySelector("canvas"), view = { x: null, y: null }, plugins = [bandPainter, namePainter];
  let chart = null;
  const described = () => {
    const made = describe();
    for (const side of ["x", "y"])
      if (view[side]) [made.options.scales[side].min, made.options.scales[side].max] = view[side];
    return made;
  };
  const draw = () => {
    const { type, data, options } = described();
    if (chart === null) { chart = new Chart(canvas, { type, data, options, plugins }); return; }
    chart.data = data;
    chart.options = options;
    chart.resize();
    chart.update("none");
  };
  const drawn = () => { if (chart === null) draw(); return chart; };
  whenNear(figure, ["runs", ...causes], draw);
  if (figure.dataset.kind !== "bars") zoomable(figure, canvas, drawn, view, draw);
  figure.chart = drawn;  // for tests
  figure.destroy = () => { if (chart) chart.destroy(); };
  valueTable(figure, ["runs", ...causes], rows);
  const title = plainText(figure.querySelector("h4")), task = figure.closest(".group").dataset.task;
  const { curve, norm, bars, kind } = figure.dataset;
  offerDownloads(figure, () => `${task} ${curve || norm || bars || kind}`, () => {
    const { type, data, options } = described(), width = 720, height = 360;
    Object.assign(options, { responsive: false, events: [], devicePixelRatio: 1 });
    options.plugins.tooltip.enabled = false;
    const entries = data.datasets.filter((set) => !set.hidden).map((set) =>
      ({ text: set.label, colour: set.pointStyle || set.type ? set.borderColor : set.backgroundColor.svg ? lineColour(set.line) : set.backgroundColor,
         dash: set.borderDash || [] }));
    return composed(title + ", " + task, figure.querySelector("figcaption p").textContent, entries, width, height, (pen) => {
      const own = new SvgPen(width, height);
      const copy = new Chart(own.canvas, { type, data, options, plugins, platform: Chart.platforms.BasicPlatform });
      own.parts = [];  // what it drew while it was being made
      copy.draw();
      pen.add(own);
      copy.destroy();
    });
  }, () => csvOf(rows()));
  return { drawn };
}
// Which weights a score of these runs is of.
const kindOf = (name, runs) => (runs.every((r) => report.runs[r].same) ? "raw = proxy" : name.endsWith("_raw") ? "raw" : "proxy");
const finite = (values) => values.filter((v) => v !== null && Number.isFinite(v));
// Proxy and raw charts share the vertical scale unless the raw weights are far larger.
function commonTop(runs, name, valuesOf) {
  const top = (key) => Math.max(0, ...runs.flatMap((r) => finite(valuesOf(report.runs[r], key))));
  const plain = name.replace(/_raw$/, ""), proxy = top(plain), raw = top(plain + "_raw");
  return raw > 1.5 * proxy ? undefined : Math.max(proxy, raw);
}

// The zero of the loss scale: the loss of the best predictor if known, else the lowest of the group.
function lossFloor(group, index, name) {
  const own = report.runs[index].floor;
  if (own) return own[name];
  const losses = group.runs.flatMap((r) => (report.runs[r].curves.val_loss ? finite(report.runs[r].curves.val_loss.y) : []));
  return losses.length ? Math.min(...losses) : 0;
}

// The lines of a figure: those of its task, or two runs.
function figureBands(figure, curveOf) {
  const g = figure.dataset.group;
  if (g !== "pair") return bandsOf(g, curveOf);
  const lines = figure.dataset.pair.split(" ").map((r, at) => ({ key: r, label: report.runs[r].name, runs: [Number(r)], ...pairLooks(figure.dataset.pair.split(" ").map(Number))[at], hidden: false }));
  return bandsOf(g, curveOf, lines);
}
const figureGroup = (figure) => (figure.dataset.group === "pair" ? { runs: figure.dataset.pair.split(" ").map(Number), even: [] } : report.groups[figure.dataset.group]);
const withRuns = (item) => { const { n } = item.dataset; return n && n[item.dataIndex] > 1 ? ` (${n[item.dataIndex]} runs)` : ""; };

function curveChart(figure) {
  const g = figure.dataset.group, group = figureGroup(figure), name = figure.dataset.curve;
  const values = (run, key) => run.curves[key] ? run.curves[key].y : [];
  const runs = group.runs.filter((r) => values(report.runs[r], name).length > 0);
  const bounded = /^(alpha|sink)/.test(name), loss = name.endsWith("_loss");
  const top = bounded ? commonTop(runs, name, values) : undefined;
  const kind = bounded ? kindOf(name, group.runs) : "";
  const unit = name.startsWith("sink") ? "% of heads, " + kind : name.startsWith("alpha") ? "weight, " + kind : loss ? "nats per token" : "norm";
  const last = Math.max(...group.runs.flatMap((r) => Object.values(report.runs[r].curves).map((c) => c.x[c.x.length - 1])));
  const isAbove = () => loss && choice("loss-" + g, "nats") === "above";
  const bands = () => figureBands(figure, (run, r) => {
    const curve = run.curves[name], floor = curve && isAbove() ? lossFloor(group, r, name) : null;  // each seed has its own
    if (!curve || floor === null) return curve || null;
    const lifted = (ys) => ys && ys.map((v) => (v !== null && v > floor ? v - floor : null));
    return { x: curve.x, y: lifted(curve.y), least: lifted(curve.least), greatest: lifted(curve.greatest) };
  });
  keepDrawn(figure, ["steps", "loss"], () => {
    const scale = choice("steps-" + g, "linear"), above = isAbove(), drawn = bands();
    const sets = lineSets(drawn, (n) => (!/^(train_loss|grad_norm)$/.test(name) && n <= 40 ? "all" : "few"),
                          (p) => ({ x: p.x, y: scale !== "linear" && p.x <= 0 ? NaN : p.y }));
    sets.forEach((set, at) => Object.assign(set, { n: drawn[at].band.n, kind }));
    const xs = drawn.flatMap(({ band }) => [band.x[0], band.x[band.x.length - 1]]).filter((x) => scale === "linear" || x > 0);
    const across = (y) => [Math.min(...xs), Math.max(...xs)].map((x) => ({ x, y }));
    if (name === "alpha_1" && group.even.length > 0 && xs.length) sets.push(evenSet(across(group.even[0])));
    if (loss && !above && xs.length)
      for (const floor of new Set(runs.map((r) => report.runs[r].floor && report.runs[r].floor[name]).filter(Number.isFinite)))
        sets.push(reference("best possible", across(floor), [6, 3]));
    const held = bandRange(sets), y = above
      ? axis(report.runs[runs[0]].floor ? "nats above the best possible" : "nats above the lowest", "logarithmic")
      : axis(unit, name === "grad_norm" ? "logarithmic" : "linear",
             bounded ? { suggestedMin: 0, suggestedMax: Math.max(top ?? 0, held.suggestedMax ?? 0) || (name.startsWith("sink") ? 1 : undefined) } : held);
    return { type: "line", data: { datasets: sets },
             options: options(axis("step", scale, { max: last }), y, (items) => items.length ? "step " + compact(items[0].parsed.x) : "") };
  }, () => [bandHeader("step"), ...bandRows(bands())]);
}

// Profiles along the positions of a layer, or along the layers at a place.
function profileChart(figure) {
  const g = figure.dataset.group, name = figure.dataset.norm, hidden = name.startsWith("hidden_");
  const range = (length, from) => Array.from({ length }, (_, i) => i + from);
  const mean = (values) => { const known = finite(values); return known.length ? known.reduce((a, b) => a + b, 0) / known.length : NaN; };
  const alongLayers = () => name === "value_share" || (name !== "loss_position" && !/^\d+$/.test(choice("layer-" + g, "0")));
  const curveOf = (run) => {
    const known = run[name], where = choice("layer-" + g, "0");
    if (!known) return null;
    if (name === "loss_position") return { x: range(known.length, 1), y: known };
    if (name === "value_share") return { x: range(known.length, 0), y: known.map(mean) };
    if (where === "first") return { x: range(known.length, hidden ? -1 : 0), y: known.map((row) => row[0]) };
    if (where === "others") return { x: range(known.length, hidden ? -1 : 0), y: known.map((row) => mean(row.slice(1))) };
    const row = known[Number(where) - (hidden ? 0 : 1)];
    return row ? { x: range(row.length, 1), y: row } : null;
  };
  const bands = () => figureBands(figure, curveOf);
  keepDrawn(figure, ["layer", "norms"], () => {
    const drawn = bands(), loss = name === "loss_position", scale = loss ? "linear" : choice("norms-" + g, "linear"), layers = alongLayers();
    const sets = lineSets(drawn, layers ? "all" : "first");
    sets.forEach((set, at) => { set.n = drawn[at].band.n; });
    const ends = drawn.flatMap(({ band }) => [band.x[0], band.x[band.x.length - 1]]);
    const x = layers ? axis("after layer (\u22121: embedding)", "linear", { ticks: { color: css("--muted"), precision: 0, stepSize: 1 } })
                     : axis("position", "linear", { min: 1, max: Math.max(2, ...ends), afterBuildTicks: positionTicks });
    if (layers && !hidden) x.title.text = "layer";
    const unit = { hidden_kurtosis: "kurtosis", hidden_largest: "largest |element|", value_share: "share", loss_position: "nats" }[name] || "norm";
    return { type: "line", data: { datasets: sets },
             options: options(x, axis(unit, scale, scale === "linear" && !loss ? { min: 0, ...bandRange(sets), suggestedMin: undefined } : {}),
                              (items) => items.length ? (layers ? "layer " : "position ") + items[0].parsed.x : "") };
  }, () => [bandHeader(alongLayers() ? "layer" : "position"), ...bandRows(bands())]);
}

function barChart(figure) {
  const g = figure.dataset.group, group = report.groups[g], name = figure.dataset.bars, kind = kindOf(name, group.runs);
  const top = commonTop(group.runs, name, (run, key) => run[key] || []);
  const bands = () => bandsOf(g, (run) => run[name] ? { x: run[name].map((_, i) => i + 1), y: run[name] } : null);
  keepDrawn(figure, [], () => {
    const drawn = bands(), count = Math.max(0, ...drawn.map(({ band }) => band.x.length));
    const sets = drawn.map(({ line, band }) => ({ label: line.label, line, data: band.y, n: band.n, kind, backgroundColor: barFill(line), hidden: line.hidden,
                                                  categoryPercentage: 0.8, barPercentage: 0.92 }));
    if (name === "alpha_k" && group.even.length > 0) sets.unshift(evenSet(group.even.slice(0, count)));
    const made = options(axis("position k", "category", { grid: { display: false }, ticks: { color: css("--muted"), font: { size: 11.5 } } }),
                         axis("weight, " + kind, "linear", { suggestedMin: 0, suggestedMax: top }),
                         (items) => items.length ? "position " + items[0].label : "");
    made.parsing = true;
    made.interaction.mode = "index";
    return { type: "bar", data: { labels: Array.from({ length: count }, (_, i) => String(i + 1)), datasets: sets }, options: made };
  }, () => [bandHeader("k"), ...bandRows(bands())]);
}

function scatterChart(figure) {
  const g = figure.dataset.group, measure = () => choice("scatter-" + g, "sink_1"), kind = () => kindOf(measure(), report.groups[g].runs);
  const points = () => linesOf(g).map((line) => ({ line, points: line.runs.flatMap((r) => {
    const { final } = report.runs[r];
    return final && Number.isFinite(final.val_loss) && Number.isFinite(final[measure()]) ? [{ x: final.val_loss, y: final[measure()], run: r }] : [];
  }) }));
  const sets = () => points().map(({ line, points }) => ({
    label: line.label, hidden: line.hidden, named: true, borderColor: lineColour(line), backgroundColor: lineColour(line), pointStyle: kMarkers[line.colour],
    clip: 6, pointRadius: 5, pointHoverRadius: 8, pointBorderWidth: 2, borderDash: [],
    data: points.map((p, at) => ({ ...p, name: points.length === 1 ? report.runs[p.run].name : at === 0 ? line.label : "" })),
  }));
  const say = ({ run, x, y }) => `${report.runs[run].name}: loss ${significant(x)}, Sink\u2081 ${significant(y)} % (${kind()})` + (report.runs[run].mark ? `, ${report.runs[run].mark}` : "");
  const { drawn } = keepDrawn(figure, ["scatter"], () => {
    const made = options(axis("validation loss, nats per token", "linear", { grace: "8%" }), axis(`Sink\u2081, % of heads, ${kind()}`, "linear", { min: 0, grace: "5%" }), () => "");
    made.interaction = { mode: "nearest", axis: "xy", intersect: true };
    made.plugins.tooltip.callbacks.label = (item) => " " + say(item.raw);
    return { type: "scatter", data: { datasets: sets() }, options: made };
  }, () => [["run", "line", "val_loss", measure()], ...points().flatMap(({ line, points }) => line.hidden ? [] :
      points.map((p) => [report.runs[p.run].name, line.label, p.x, p.y]))]);
  // Left and right select runs in order of their loss.
  const canvas = figure.querySelector("canvas"), readout = document.createElement("p");
  readout.className = "readout";
  readout.setAttribute("role", "status");
  figure.append(readout);
  let chosen = -1;
  canvas.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    const chart = drawn(), order = chart.data.datasets.flatMap((set, datasetIndex) => set.hidden ? [] :
      set.data.map((p, index) => ({ datasetIndex, index, p }))).sort((a, b) => a.p.x - b.p.x || a.p.y - b.p.y);
    if (!order.length) return;
    chosen = chosen < 0 ? (step > 0 ? 0 : order.length - 1) : Math.min(order.length - 1, Math.max(0, chosen + step));
    const { datasetIndex, index, p } = order[chosen], element = chart.getDatasetMeta(datasetIndex).data[index];
    chart.setActiveElements([{ datasetIndex, index }]);
    chart.tooltip.setActiveElements([{ datasetIndex, index }], { x: element.x, y: element.y });
    chart.update();
    readout.textContent = say(p);
  }, { capture: true });
}

Chart.defaults.font.family = css("--sans");
const drawChart = { curve: curveChart, profile: profileChart, bars: barChart, scatter: scatterChart };
for (const figure of all("figure[data-kind]")) drawChart[figure.dataset.kind](figure);
