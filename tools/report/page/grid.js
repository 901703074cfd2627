// A grid of values on a canvas: cells, or one picture where there are many.
"use strict";

const kLargeGrid = 20000;  // cells: beyond that a grid is painted as one picture, and its table is short

// A large grid as a picture with a pixel per cell; cells smaller than a pixel of the screen are reduced to the largest of
// each block, so that no stripe is lost.
function pictureOf(grid, fromColumn, toColumn, ratio) {
  const block = Math.max(1, Math.ceil(1 / (grid.cell * ratio) - 1e-6)), shades = [];
  for (let i = -512; i <= 512; ++i) shades.push(rampColour(i / 512));
  const canvas = document.createElement("canvas");
  canvas.width = Math.ceil((toColumn - fromColumn) / block);
  canvas.height = Math.ceil(grid.rows / block);
  const pen = canvas.getContext("2d"), image = pen.createImageData(canvas.width, canvas.height);
  for (let i = 0; i < canvas.height; ++i)
    for (let j = 0; j < canvas.width; ++j) {
      let value = NaN;
      for (let k = i * block; k < Math.min(grid.rows, (i + 1) * block); ++k)
        for (let l = fromColumn + j * block; l < Math.min(toColumn, fromColumn + (j + 1) * block); ++l) {
          const own = grid.value(k, l);
          if (Number.isNaN(value) || Math.abs(own) > Math.abs(value)) value = own;
        }
      if (Number.isNaN(value)) continue;
      const share = Math.min(1, Math.max(-1, scaleShare(value, grid.top, grid.logarithmic)));
      image.data.set(shades[512 + Math.round(512 * share)], 4 * (i * canvas.width + j));
      image.data[4 * (i * canvas.width + j) + 3] = 255;
    }
  pen.putImageData(image, 0, 0);
  return { canvas, width: canvas.width * block * grid.cell, height: canvas.height * block * grid.cell };
}

// Draws a grid of values from (0, 0) on: `grid` is {rows, columns, value(i, j), top, logarithmic, cell, left, head, gap,
// numbers, rowLabels, columnLabels: [{at, text}], turned, title, axes}.
function paintGrid(pen, grid) {
  const { rows, columns, cell, left, head } = grid, family = css("--sans");
  // Edges on whole pixels, or every cell would have a frame.
  const x = (j) => Math.round(left + j * cell + (grid.star && j > 0 ? 3 : 0)), y = (i) => Math.round(head + i * cell);
  const large = rows * columns > kLargeGrid;
  if (large)
    for (const [from, to] of grid.star ? [[0, 1], [1, columns]] : [[0, columns]]) {
      const { canvas, width, height } = pictureOf(grid, from, to, window.devicePixelRatio || 1);
      pen.imageSmoothingEnabled = false;
      pen.drawImage(canvas, left + from * cell + (from > 0 ? 3 : 0), head, width, height);
    }
  for (let i = 0; i < rows && !large; ++i)
    for (let j = 0; j < columns;) {
      const value = grid.value(i, j), begin = j;
      // Neighbours of one colour are one rectangle.
      do ++j;
      while (!grid.gap && j < columns && !(grid.star && j === 1) && Object.is(grid.value(i, j), value));
      if (Number.isNaN(value)) continue;
      const colour = rampColour(scaleShare(value, grid.top, grid.logarithmic));
      pen.fillStyle = rgb(colour);
      const last = grid.star && j === 1 ? x(0) + Math.round(cell) : x(j);
      pen.fillRect(x(begin), y(i), last - x(begin) - grid.gap, y(i + 1) - y(i) - grid.gap);
      if (!grid.numbers) continue;
      pen.fillStyle = luminance(colour) > 130 ? "#10151b" : "#ffffff";
      pen.font = `11px ${family}`;
      pen.textAlign = "center";
      pen.textBaseline = "middle";
      pen.fillText(shortNumber(value), x(begin) + (cell - grid.gap) / 2, y(i) + (cell - grid.gap) / 2 + 0.5);
    }
  pen.fillStyle = css("--muted");
  pen.font = `${grid.fontSize}px ${family}`;
  pen.textBaseline = "middle";
  pen.textAlign = "right";
  for (const { at, text } of grid.rowLabels) pen.fillText(text, left - 5, y(at) + cell / 2);
  pen.textAlign = grid.turned ? "left" : "center";
  for (const { at, text } of grid.columnLabels) {
    pen.save();
    pen.translate(x(at) + cell / 2, head - (grid.turned ? 5 : 9));
    if (grid.turned) pen.rotate(-Math.PI / 2);
    pen.fillText(text, 0, 0);
    pen.restore();
  }
  pen.textAlign = "left";
  pen.font = `11px ${family}`;
  if (grid.title) pen.fillText(grid.title, 0, 6);
  if (!grid.axes) return;
  pen.fillText("key \u2192", left, 6);
  pen.save();
  pen.translate(6, head);
  pen.rotate(-Math.PI / 2);
  pen.textAlign = "right";
  pen.fillText("\u2190 query", 0, 0);
  pen.restore();
  pen.textAlign = "left";
}
// For sentences: tiny values without digits.
const plain = (x) => (x !== 0 && Math.abs(x) < 1e-4 ? "below 0.0001" : significant(x));
// Two digits in the space of a tile: .89, 1, 2.4, 31.
function shortNumber(value) {
  if (!Number.isFinite(value)) return "\u2013";
  const size = Math.abs(value);
  const text = size >= 9.95 ? size.toFixed(0) : size >= 0.995 ? String(+size.toFixed(1)) : size.toFixed(2).slice(1);
  return (value < 0 && !/^\.?0+$/.test(text) ? "\u2212" : "") + text;
}

// A canvas of the given CSS size, cleared, sharp on any screen.
function sizedPen(canvas, width, height) {
  const ratio = window.devicePixelRatio || 1;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  canvas.style.width = width + "px";
  canvas.style.height = height + "px";
  const pen = canvas.getContext("2d");
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, width, height);
  return pen;
}
