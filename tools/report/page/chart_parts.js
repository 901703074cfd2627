// Parts of charts: lines with their bands and markers, bars, names of points, axes.
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
// Lines with their bands; `change(point, ofBand)` may move a point or an edge of the band, or make it NaN. Many lines have no
// markers, which would be slow and hide each other.
function lineSets(bands, mark, change = (p) => p) {
  return bands.map(({ line, band }) => {
    const moved = (ys, ofBand) => band.x.map((x, i) => change({ x, y: ys[i] ?? NaN }, ofBand));
    const points = moved(band.y, false), side = (ys) => moved(ys, true).map((p) => p.y);
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
