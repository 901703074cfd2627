// Draws attention patterns: tiles to choose a head, and the pattern of the chosen head and sequence.
"use strict";

// Reserves the space of the tiles, so that nothing moves when they are made. Returns whether they show numbers.
function reserveTiles(box, rows, columns) {
  const numbers = columns <= 12 && rows <= 6;
  box.style.setProperty("--columns", columns);
  box.style.minHeight = `calc(1.1rem + ${rows * (numbers ? 30 : 15)}px)`;
  box.style.minWidth = `calc(1.5rem + ${columns * (numbers ? 30 : 15)}px)`;
  box.classList.toggle("small", !numbers);
  return numbers;
}
// The tiles: a button per head, coloured by its alpha; arrow keys go from tile to tile.
function headTiles(box, run, g, choose) {
  const key = box.dataset.tiles, name = measureNamed[key].tiles;
  const proxy = run[key], raw = run[key + "_raw"] || proxy;
  const rows = proxy.length, columns = proxy[0].length, tiles = [], numbers = reserveTiles(box, rows, columns);
  const table = () => (choice("weights-" + g, "raw") === "proxy" ? proxy : raw);
  const label = (text, row, column) => {
    const span = document.createElement("span");
    span.textContent = text;
    span.style.gridArea = `${row} / ${column}`;
    span.setAttribute("aria-hidden", "true");
    box.append(span);
  };
  for (let h = 0; h < columns; ++h) label(String(h), 1, h + 2);
  for (let l = 0; l < rows; ++l) {
    label(String(l), l + 2, 1);
    for (let h = 0; h < columns; ++h) {
      const tile = document.createElement("button");
      tile.type = "button";
      tile.className = "tile";
      tile.style.gridArea = `${l + 2} / ${h + 2}`;
      tile.tabIndex = -1;
      tile.addEventListener("click", () => choose(l, h));
      tile.addEventListener("keydown", (event) => {
        const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
        if (!step) return;
        event.preventDefault();
        const to = tiles[Math.min(rows - 1, Math.max(0, l + step[0])) * columns + Math.min(columns - 1, Math.max(0, h + step[1]))];
        to.focus();
        to.click();
      });
      box.append(tile);
      tiles.push(tile);
    }
  }
  return {
    show(layer, head) {
      const values = table(), top = scaleTop(values);
      tiles.forEach((tile, at) => {
        const l = Math.floor(at / columns), h = at % columns, value = values[l][h], known = value !== null && Number.isFinite(value);
        const colour = rampColour(known ? value / top : 0), chosen = l === layer && h === head;
        tile.style.background = known ? rgb(colour) : "transparent";
        tile.style.color = !known ? css("--muted") : luminance(colour) > 130 ? "#10151b" : "#ffffff";
        tile.textContent = numbers ? shortNumber(known ? value : NaN) : "";
        tile.setAttribute("aria-pressed", String(chosen));
        tile.tabIndex = chosen || (layer < 0 && at === 0) ? 0 : -1;
        const label = `layer ${l}, head ${h}: ${name} ` + (proxy === raw || run.same ? significant(values[l][h]) + (run.same && run[key + "_raw"] ? " (raw = proxy)" : "")
          : `raw ${significant(raw[l][h])}, proxy ${significant(proxy[l][h])}`);
        tile.setAttribute("aria-label", label);
        tile.title = label;
      });
    },
    grid() {
      const values = table();
      return { rows, columns, value: (i, j) => (values[i][j] === null ? NaN : values[i][j]), top: scaleTop(values), logarithmic: false,
               title: `${name} of each head`, cell: numbers ? 28 : 16, left: 30, head: 36, gap: 2, numbers, fontSize: 11, turned: false, star: false,
               rowLabels: Array.from({ length: rows }, (_, at) => ({ at, text: String(at) })),
               columnLabels: Array.from({ length: columns }, (_, at) => ({ at, text: String(at) })) };
    },
  };
}

// Labels: every token if its letters fit, else some positions.
function mapLabels(tokens, star, sinkToken, cell, spelled) {
  const labels = star ? [{ at: 0, text: "*" }] : [];
  const step = spelled ? 1 : [4, 8, 16, 32, 64].find((s) => s * cell >= 22) || 128;
  tokens.forEach((token, i) => {
    const position = i + 1 - sinkToken;
    if (position === 0) labels.push({ at: star, text: "*" });
    else if (spelled) labels.push({ at: i + star, text: tokenLabel(token, 9) });
    else if ((position === 1 && !star && !sinkToken) || position % step === 0) labels.push({ at: i + star, text: String(position) });
  });
  return labels;
}

function headFigure(figure) {
  const run = report.runs[Number(figure.dataset.run)], g = figure.dataset.group, maps = run.maps;
  const canvas = figure.querySelector("canvas"), mapBox = figure.querySelector(".mapbox"), cursorBox = figure.querySelector(".cursor");
  const readout = figure.querySelector(".readout"), caption = figure.querySelector(".chosen");
  let { layer, head } = maps ? { ...maps.chosen } : { layer: -1, head: -1 };
  if (figure.dataset.layer) [layer, head] = [Number(figure.dataset.layer), Number(figure.dataset.head)];
  let shown = null, cursor = null, tiles = null;
  // The extra key is a column more than there are rows, a sink token the first of the tokens; both are `*`, token 1 follows.
  const star = maps && maps.extra_key ? 1 : 0, sinkToken = maps && maps.sink_token ? 1 : 0, starName = sinkToken ? "sink token" : "extra key";
  const sumName = star ? "row sum without *" : "row sum";
  const sequence = () => Math.min(maps.tokens.length - 1, Number(choice("sequence-" + g, "0")));
  const proxy = () => choice("weights-" + g, "raw") === "proxy";
  const choose = (l, h) => {
    const linked = document.querySelector(`input[name="linked-${g}"]`);
    if (linked && linked.checked) for (const other of headFigures) { if (other.group === g) other.show(l, h); } else show(l, h);
  };
  const show = (l, h) => {
    if (l >= (maps ? maps.layers : run.alpha_1.length) || h >= (maps ? maps.heads : run.alpha_1[0].length)) return;
    [layer, head, cursor] = [l, h, null];
    hideTip();
    redrawIf((entry) => entry.figure === figure);
  };
  for (const box of all(".tiles", figure)) reserveTiles(box, run.alpha_1.length, run.alpha_1[0].length);
  if (maps) mapBox.style.minHeight = Math.min(figure.clientWidth, 520) + "px";
  const headGrids = () => (tiles = tiles || all(".tiles", figure).map((box) => headTiles(box, run, g, choose)));
  const place = () => `layer ${layer}, head ${head}`;

  // As large as the column and the height of the window allow.
  const gridOf = (map, width, height) => {
    const tokens = maps.tokens[sequence()], n = tokens.length, columns = n + star;
    const size = (margin) => Math.min((width - margin - 8 - 3 * star) / columns, (height - margin - 8) / n);
    const spelled = size(80) >= 11, narrow = width < 260, margin = spelled ? 80 : narrow ? 22 : 38, ratio = window.devicePixelRatio || 1;
    const widest = (width - margin - 8 - 3 * star) / columns;  // may be narrower than a pixel, on a phone
    // Small cells are whole pixels of the screen, at least one.
    const cell = size(margin) >= 4 ? size(margin) : Math.min(widest, Math.max(1, Math.floor(size(margin) * ratio)) / ratio);
    const labels = mapLabels(tokens, star, sinkToken, cell, spelled), values = proxy() ? map.shares : map.rows;
    return { rows: n, columns, star: star === 1, value: (i, j) => values[i][j], top: proxy() ? map.shareTop : map.top,
             logarithmic: choice("colour-" + g, "linear") === "log", cell, left: margin, head: margin, gap: 0, numbers: false, axes: !narrow,
             fontSize: spelled ? Math.min(12, cell - 0.5) : narrow ? 9 : 10.5, turned: spelled,
             rowLabels: labels.filter(({ at }) => at >= star).map(({ at, text }) => ({ at: at - star, text })), columnLabels: labels };
  };
  const size = (grid) => [Math.ceil(grid.left + grid.columns * grid.cell + 3 * star + 8), Math.ceil(grid.head + grid.rows * grid.cell + Math.max(1, 7 - grid.cell / 2))];
  const heightLeft = () => {  // below the sticky toolbar, with the ramp and the caption
    const bar = figure.closest(".group").querySelector(".toolbar, .mapgroup .bar"), below = all(".ramp, .chosen", figure);
    const rest = mapBox.getBoundingClientRect().top - figure.getBoundingClientRect().top +
                 below.reduce((sum, e) => sum + e.offsetHeight + 8, 0);
    return Math.max(260, Math.min(900, window.innerHeight) - rest - (getComputedStyle(bar).position === "sticky" ? bar.offsetHeight : 0) - 12);
  };

  function draw() {
    for (const tile of headGrids()) tile.show(layer, head);
    if (!maps) return;
    const map = mapOf(maps, sequence(), layer, head), ramp = figure.querySelector(".ramp");
    cursorBox.hidden = true;
    figure.dataset.shown = `${sequence()}/${layer}/${head}`;
    canvas.hidden = !map;
    if (!map) {
      shown = null;
      ramp.replaceChildren();
      caption.textContent = `${place()}: this map was not stored with the run.`;
      canvas.setAttribute("aria-label", caption.textContent);
      return;
    }
    const mean = (column) => map.rows.reduce((sum, row) => sum + (Number.isNaN(row[column]) ? 0 : row[column]), 0) / map.rows.length;
    const sum = map.sums.reduce((total, s) => total + s, 0) / map.sums.length;
    const named = maps.tokens.length > 1 || choice("sequence-" + g, "0") !== "0" ? `Sequence ${sequence() + 1}, layer` : "Layer";
    caption.textContent = `${named} ${layer}, head ${head}: ${plain(mean(star + sinkToken))} on token 1` +
      (star + sinkToken ? `, ${plain(mean(0))} on *` : "") + `, ${sumName} ${plain(sum)} (raw).` +
      (maps.of > maps.tokens[sequence()].length ? ` First ${maps.tokens[sequence()].length} of ${maps.of} tokens.` : "");
    canvas.setAttribute("aria-label", `Attention pattern, queries downwards, keys to the right. ${caption.textContent} Arrow keys read single weights.`);
    shown = gridOf(map, figure.clientWidth, 100);  // first small, to measure the rest of the figure
    shown = gridOf(map, figure.clientWidth, heightLeft());
    mapBox.style.minHeight = "";
    paintGrid(sizedPen(canvas, ...size(shown)), shown);
    showRamp(ramp, shown.top, shown.logarithmic, map.negative && !proxy());
    readout.textContent = "";
  }

  const nameOf = (tokens, j) => (j < star + sinkToken ? `*: ${starName}` : `${j - star - sinkToken + 1} \u201c${tokenLabel(tokens[j - star], 24)}\u201d`);
  const point = (i, j, at) => {
    const map = mapOf(maps, sequence(), layer, head), tokens = maps.tokens[sequence()], weight = map.rows[i][j];
    const left = shown.left + j * shown.cell + (star && j > 0 ? 3 : 0), top = shown.head + i * shown.cell;
    cursor = { i, j };
    cursorBox.hidden = false;
    Object.assign(cursorBox.style, { left: left - 1 + "px", top: top - 1 + "px", width: shown.cell + 2 + "px", height: shown.cell + 2 + "px" });
    const lines = [["query", nameOf(tokens, i + star)], ["key", nameOf(tokens, j)]];
    if (Number.isNaN(weight)) lines.push(["", "not visible to this query"]);
    else lines.push(["weight, raw", significant(weight)], ["share, proxy", significant(map.shares[i][j])]);
    lines.push([sumName, significant(map.sums[i])]);
    const area = canvas.getBoundingClientRect();
    showTip(at ? at.clientX : area.left + left + shown.cell, at ? at.clientY : area.top + top + shown.cell, lines);
    if (!at) readout.textContent = lines.map((line) => line.join(" ").trim()).join(", ");
  };
  const leave = () => { cursor = null; cursorBox.hidden = true; hideTip(); };
  const under = (event) => {
    if (!shown) return null;
    const area = canvas.getBoundingClientRect(), x = event.clientX - area.left - shown.left;
    const i = Math.floor((event.clientY - area.top - shown.head) / shown.cell);
    const j = star && x < shown.cell + 1.5 ? Math.floor(x / (shown.cell + 1.5)) : Math.floor((x - 3 * star) / shown.cell);
    return i >= 0 && i < shown.rows && j >= 0 && j < shown.columns ? { i, j } : null;
  };
  if (maps) {
    for (const what of ["pointermove", "pointerdown"])
      canvas.addEventListener(what, (event) => { const cell = under(event); if (cell) point(cell.i, cell.j, event); else leave(); });
    canvas.addEventListener("pointerleave", (event) => { if (event.pointerType !== "touch") leave(); });
    canvas.addEventListener("blur", leave);
    canvas.addEventListener("focus", () => { if (shown && canvas.matches(":focus-visible")) point(shown.rows - 1, 0, null); });
    canvas.addEventListener("keydown", (event) => {
      const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
      if (!step || !shown) return;
      event.preventDefault();
      const { i, j } = cursor || { i: shown.rows - 1, j: 0 };
      point(Math.min(shown.rows - 1, Math.max(0, i + step[0])), Math.min(shown.columns - 1, Math.max(0, j + step[1])), null);
    });
    valueTable(figure, ["weights", "sequence"], () => {
      const map = mapOf(maps, sequence(), layer, head), tokens = maps.tokens[sequence()];
      if (!map) return [["this map was not stored"]];
      if (tokens.length * (tokens.length + star) > kLargeGrid)  // the whole of it is in the CSV
        return [[`${place()}: query`, "on token 1", "largest", "on key", sumName],
                ...(proxy() ? map.shares : map.rows).map((row, i) => {
                  const most = row.reduce((best, a, j) => (Math.abs(a) > Math.abs(row[best]) || Number.isNaN(row[best]) ? j : best), 0);
                  return [nameOf(tokens, i + star), row[star + sinkToken], row[most], nameOf(tokens, most), map.sums[i]];
                })];
      const keys = Array.from({ length: tokens.length + star }, (_, j) => nameOf(tokens, j));
      return [[`${place()}: query \\ key`, ...keys, sumName],
              ...(proxy() ? map.shares : map.rows).map((row, i) => [nameOf(tokens, i + star),
                ...Array.from(row, (a) => (Number.isNaN(a) ? "" : a)), map.sums[i]])];
    });
  }
  offerDownloads(figure, () => `${run.name} attention ${maps ? `sequence ${sequence() + 1} ${place()}` : "heads"}`, () => {
    const grids = headGrids().map((tile) => tile.grid()), heads = (grid) => grid.head + grid.rows * grid.cell + 24;
    const map = maps && mapOf(maps, sequence(), layer, head), grid = map ? gridOf(map, 640, 640) : null;
    const above = Math.max(0, ...grids.map(heads));
    const widths = grids.map((tile) => tile.left + tile.columns * tile.cell + 40);
    const width = Math.max(grid ? size(grid)[0] : 0, widths.reduce((sum, w) => sum + w, 0));
    return composed(`${run.name}: attention`, grid ? caption.textContent : "Heads", [], width, above + (grid ? size(grid)[1] + 40 : 0), (pen) => {
      pen.save();
      grids.forEach((tile, at) => { paintGrid(pen, tile); pen.translate(widths[at], 0); });
      pen.restore();
      if (!grid) return;
      pen.translate(0, above);
      paintGrid(pen, grid);
      const y = size(grid)[1] + 14, stops = rampStops(map.negative && !proxy());
      stops.forEach((colour, at) => { pen.fillStyle = rgb(colour); pen.fillRect(grid.left + 30 + 12 * at, y, 12, 9); });
      pen.fillStyle = css("--muted");
      pen.font = `11px ${css("--sans")}`;
      pen.textBaseline = "alphabetic";
      pen.fillText(all(".ramp span", figure)[0].textContent, grid.left, y + 9);
      pen.fillText(all(".ramp span", figure)[1].textContent, grid.left + 36 + 12 * stops.length, y + 9);
    });
  }, () => {
    const kind = proxy() ? "proxy" : "raw", heads = run.alpha_1, raw = run.alpha_1_raw || heads, rows = [];
    (proxy() ? heads : raw).forEach((row, l) => row.forEach((a, h) => rows.push(["alpha_1", String(l), String(h), "", "", "", "", a])));
    const map = maps && mapOf(maps, sequence(), layer, head), tokens = maps && maps.tokens[sequence()];
    const at = (j) => (j < star + sinkToken ? "*" : String(j - star - sinkToken + 1));
    if (map)
      (proxy() ? map.shares : map.rows).forEach((row, i) => row.forEach((a, j) => {
        if (!Number.isNaN(a)) rows.push(["weight", String(layer), String(head), at(i + star), j < star ? "*" : at(j), tokens[i], j < star ? "*" : tokens[j - star], a]);
      }));
    return csvOf([["what", "layer", "head", "query", "key", "query_token", "key_token", kind], ...rows]);
  });
  whenNear(figure, ["weights", "colour", "sequence"], () => { leave(); draw(); });
  return { figure, group: g, show };
}

const headFigures = all("figure.heads").map(headFigure);
let width = document.documentElement.clientWidth, height = window.innerHeight;
addEventListener("resize", () => {  // a phone's toolbar changes the height only, and not by much: nothing to redraw
  if (width === document.documentElement.clientWidth && Math.abs(height - window.innerHeight) < 120) return;
  [width, height] = [document.documentElement.clientWidth, window.innerHeight];
  redrawAll();
});
