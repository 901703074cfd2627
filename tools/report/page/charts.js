// Draws the page's line, profile, bar and scatter charts with Chart.js, in the colours of the theme.
"use strict";

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

// The zero of the loss scale: the loss of the best predictor or, if it is known of no run of the group, the lowest of the
// group. Undefined where it is known of other runs only.
const ownFloor = (index, name) => (report.runs[index].floor || {})[name];
const someFloor = (group, name) => group.runs.some((r) => ownFloor(r, name) !== undefined);
function lossFloor(group, index, name) {
  if (someFloor(group, name)) return ownFloor(index, name);
  const losses = group.runs.flatMap((r) => (report.runs[r].curves[name] ? finite(report.runs[r].curves[name].y) : []));
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
    if (!curve || floor === undefined) return null;
    if (floor === null) return curve;
    const lifted = (ys) => ys && ys.map((v) => (v === null ? null : v - floor));
    return { x: curve.x, y: lifted(curve.y), least: lifted(curve.least), greatest: lifted(curve.greatest) };
  });
  keepDrawn(figure, ["steps", "loss"], () => {
    const scale = choice("steps-" + g, "linear"), above = isAbove(), drawn = bands();
    const lowest = (ofBand) => (ofBand ? 1e-9 : NaN);  // on a logarithmic axis: a band goes beyond its end, a line has a gap
    const sets = lineSets(drawn, (n) => (!/^(train_loss|grad_norm)$/.test(name) && n <= 40 ? "all" : "few"), (p, ofBand) =>
      ({ x: p.x, y: scale !== "linear" && p.x <= 0 ? NaN : !above || p.y > 0 ? p.y : lowest(ofBand) }));
    sets.forEach((set, at) => Object.assign(set, { n: drawn[at].band.n, kind }));
    const xs = drawn.flatMap(({ band }) => [band.x[0], band.x[band.x.length - 1]]).filter((x) => scale === "linear" || x > 0);
    const across = (y) => [Math.min(...xs), Math.max(...xs)].map((x) => ({ x, y }));
    if (name === "alpha_1" && group.even.length > 0 && xs.length) sets.push(evenSet(across(group.even[0])));
    if (loss && !above && xs.length)
      for (const floor of new Set(runs.map((r) => ownFloor(r, name)).filter(Number.isFinite)))
        sets.push(reference("best possible", across(floor), [6, 3]));
    const held = above ? {} : bandRange(sets), y = above
      ? axis(someFloor(group, name) ? "nats above the best possible" : "nats above the lowest", "logarithmic")
      : axis(unit, name === "grad_norm" ? "logarithmic" : "linear",
             bounded ? { suggestedMin: 0, suggestedMax: Math.max(top ?? 0, held.suggestedMax ?? 0) || (name.startsWith("sink") ? 1 : undefined) } : held);
    return { type: "line", data: { datasets: sets },
             options: options(axis("step", scale, { max: last }), y, (items) => items.length ? "step " + compact(items[0].parsed.x) : "") };
  }, () => [bandHeader("step"), ...bandRows(bands())]);
}

// Profiles along the positions of a layer, or along the layers at a place.
function profileChart(figure) {
  const g = figure.dataset.group, name = figure.dataset.norm, hidden = name.startsWith("hidden_"), { axes, unit } = measureNamed[name];
  const range = (length, from) => Array.from({ length }, (_, i) => i + from);
  const mean = (values) => { const known = finite(values); return known.length ? known.reduce((a, b) => a + b, 0) / known.length : NaN; };
  const alongLayers = () => axes === "layer head" || (axes !== "position" && !/^\d+$/.test(choice("layer-" + g, "0")));
  const curveOf = (run) => {
    const known = run[name], where = choice("layer-" + g, "0");
    if (!known) return null;
    if (axes === "position") return { x: range(known.length, 1), y: known };
    if (axes === "layer head") return { x: range(known.length, 0), y: known.map(mean) };
    if (where === "first") return { x: range(known.length, hidden ? -1 : 0), y: known.map((row) => row[0]) };
    if (where === "others") return { x: range(known.length, hidden ? -1 : 0), y: run[name + "_others"] };
    const row = known[Number(where) - (hidden ? 0 : 1)];
    return row ? { x: range(row.length, 1), y: row } : null;
  };
  const bands = () => figureBands(figure, curveOf);
  keepDrawn(figure, ["layer", "norms"], () => {
    const drawn = bands(), loss = axes === "position", scale = loss ? "linear" : choice("norms-" + g, "linear"), layers = alongLayers();
    const sets = lineSets(drawn, layers ? "all" : "first");
    sets.forEach((set, at) => { set.n = drawn[at].band.n; });
    const ends = drawn.flatMap(({ band }) => [band.x[0], band.x[band.x.length - 1]]);
    const x = layers ? axis("after layer (\u22121: embedding)", "linear", { ticks: { color: css("--muted"), precision: 0, stepSize: 1 } })
                     : axis("position", "linear", { min: 1, max: Math.max(2, ...ends), afterBuildTicks: positionTicks });
    if (layers && !hidden) x.title.text = "layer";
    return { type: "line", data: { datasets: sets },
             options: options(x, axis(unit, scale, scale === "linear" && !loss && !drawn.some(({ band }) => finite(band.y).some((v) => v < 0)) ? { min: 0, ...bandRange(sets), suggestedMin: undefined } : {}),
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
