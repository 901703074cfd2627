// Zoom: drag a box (a flat one zooms along the steps only), or + - 0 and the arrows on a focused chart. `view` is the
// range shown, {x: [from, to], y: [from, to]}, in values.
"use strict";

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
