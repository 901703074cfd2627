// Saves figures: a pen with the methods of a canvas that writes SVG, and PNG made of that SVG. Whatever can be drawn on
// the page can be saved, by the same code.
"use strict";
const xml = (text) => String(text).replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`).replace(/[\u0000-\u0008\u000b-\u001f]/g, " ");
const decimals = (x) => String(Math.round(x * 100) / 100);
const ruler = document.createElement("canvas").getContext("2d");  // measures text

class SvgPen {
  constructor(width, height) {
    // What Chart.js asks of a canvas.
    this.canvas = { width, height, style: {}, getContext: () => this, setAttribute() {}, getAttribute: () => null };
    this.parts = [];
    this.definitions = [];
    this.kept = [];
    this.path = "";
    Object.assign(this, { fillStyle: "#000", strokeStyle: "#000", lineWidth: 1, lineCap: "butt", lineJoin: "miter", lineDashOffset: 0,
                          font: "10px sans-serif", textAlign: "start", textBaseline: "alphabetic", globalAlpha: 1 });
    this.matrix = [1, 0, 0, 1, 0, 0];
    this.dash = [];
    this.clipName = "";
  }
  save() {
    const { fillStyle, strokeStyle, lineWidth, lineCap, lineJoin, lineDashOffset, font, textAlign, textBaseline, globalAlpha,
            matrix, dash, clipName } = this;
    this.kept.push({ fillStyle, strokeStyle, lineWidth, lineCap, lineJoin, lineDashOffset, font, textAlign, textBaseline,
                     globalAlpha, matrix, dash, clipName });
  }
  restore() { if (this.kept.length) Object.assign(this, this.kept.pop()); }

  transform(a, b, c, d, e, f) {
    const [A, B, C, D, E, F] = this.matrix;
    this.matrix = [A * a + C * b, B * a + D * b, A * c + C * d, B * c + D * d, A * e + C * f + E, B * e + D * f + F];
  }
  setTransform(a, b, c, d, e, f) { this.matrix = [a, b, c, d, e, f]; }
  resetTransform() { this.matrix = [1, 0, 0, 1, 0, 0]; }
  translate(x, y) { this.transform(1, 0, 0, 1, x, y); }
  scale(x, y) { this.transform(x, 0, 0, y, 0, 0); }
  rotate(turn) { this.transform(Math.cos(turn), Math.sin(turn), -Math.sin(turn), Math.cos(turn), 0, 0); }
  zoom() { const [a, b, c, d] = this.matrix; return Math.sqrt(Math.abs(a * d - b * c)); }
  at(x, y) {
    const [a, b, c, d, e, f] = this.matrix;
    return decimals(a * x + c * y + e) + " " + decimals(b * x + d * y + f);
  }

  beginPath() { this.path = ""; }
  moveTo(x, y) { this.path += "M" + this.at(x, y); }
  lineTo(x, y) { this.path += (this.path ? "L" : "M") + this.at(x, y); }
  bezierCurveTo(a, b, c, d, x, y) { this.path += "C" + [this.at(a, b), this.at(c, d), this.at(x, y)].join(" "); }
  quadraticCurveTo(a, b, x, y) { this.path += "Q" + this.at(a, b) + " " + this.at(x, y); }
  closePath() { this.path += "Z"; }
  rect(x, y, w, h) { this.path += `M${this.at(x, y)}L${this.at(x + w, y)}L${this.at(x + w, y + h)}L${this.at(x, y + h)}Z`; }
  arc(x, y, radius, from, to, backwards) {
    const r = decimals(radius * this.zoom()), whole = Math.abs(to - from) >= 2 * Math.PI - 1e-6;
    const point = (turn) => this.at(x + radius * Math.cos(turn), y + radius * Math.sin(turn));
    this.path += (this.path && !whole ? "L" : "M") + point(from);
    const sweep = backwards ? 0 : 1;
    if (whole) { this.path += `A${r} ${r} 0 1 ${sweep} ${point(from + Math.PI)}A${r} ${r} 0 1 ${sweep} ${point(from)}Z`; return; }
    const size = backwards ? from - to : to - from;
    const large = ((size % (2 * Math.PI)) + 2 * Math.PI) % (2 * Math.PI) > Math.PI ? 1 : 0;
    this.path += `A${r} ${r} 0 ${large} ${sweep} ${point(to)}`;
  }

  setLineDash(dash) { this.dash = dash; }
  getLineDash() { return this.dash; }
  measureText(text) { ruler.font = this.font; return ruler.measureText(text); }

  // `fill="#123" fill-opacity="0.5"`, of any CSS colour or of a pattern made by barFill.
  paint(kind, style) {
    if (style && style.svg) {
      const name = "p" + this.definitions.length;
      this.definitions.push(`<pattern id="${name}" width="8" height="8" patternUnits="userSpaceOnUse">${style.svg}</pattern>`);
      return `${kind}="url(#${name})"`;
    }
    ruler.fillStyle = "#000";
    ruler.fillStyle = style;
    const parts = /^rgba\((\d+), (\d+), (\d+), ([\d.]+)\)$/.exec(ruler.fillStyle);
    const alpha = (parts ? Number(parts[4]) : 1) * this.globalAlpha;
    const colour = parts ? `rgb(${parts[1]},${parts[2]},${parts[3]})` : ruler.fillStyle;
    return alpha === 0 ? `${kind}="none"` : `${kind}="${colour}"` + (alpha < 1 ? ` ${kind}-opacity="${decimals(alpha)}"` : "");
  }
  put(element) { this.parts.push(element.replace(/\/?>/, (end) => (this.clipName ? ` clip-path="url(#${this.clipName})"` : "") + end)); }
  fill() { if (this.path) this.put(`<path d="${this.path}" ${this.paint("fill", this.fillStyle)}/>`); }
  stroke() {
    if (!this.path || !(this.lineWidth > 0)) return;
    const dash = this.dash.length ? ` stroke-dasharray="${this.dash.map((d) => decimals(d * this.zoom())).join(" ")}"` : "";
    this.put(`<path d="${this.path}" fill="none" ${this.paint("stroke", this.strokeStyle)} stroke-width="` +
             `${decimals(this.lineWidth * this.zoom())}" stroke-linejoin="${this.lineJoin}" stroke-linecap="${this.lineCap}"${dash}/>`);
  }
  clip() {
    this.clipName = "c" + this.definitions.length;
    this.definitions.push(`<clipPath id="${this.clipName}"><path d="${this.path}"/></clipPath>`);
  }
  over(draw) { const before = this.path; this.path = ""; draw(); this.path = before; }
  fillRect(x, y, w, h) { this.over(() => { this.rect(x, y, w, h); this.fill(); }); }
  strokeRect(x, y, w, h) { this.over(() => { this.rect(x, y, w, h); this.stroke(); }); }
  clearRect() {}
  fillText(text, x, y) {
    const font = /^(italic\s+)?(?:normal\s+)*(bold|\d{3})?\s*([\d.]+)px(?:\/\S+)?\s+(.*)$/.exec(this.font.trim()) || [0, "", "", 12, "sans-serif"];
    const anchor = { center: "middle", right: "end", end: "end" }[this.textAlign] || "start";
    // Baselines as a share of the letters' size: not every program knows dominant-baseline.
    const drop = { middle: 0.35, top: 0.8, hanging: 0.8, bottom: -0.2 }[this.textBaseline] || 0;
    const [a, b, c, d] = this.matrix.map(decimals);
    const place = this.at(x, y + drop * Number(font[3])).split(" ");
    const turned = a !== "1" || b !== "0" || c !== "0" || d !== "1";
    this.put(`<text ${turned ? `transform="matrix(${a} ${b} ${c} ${d} ${place.join(" ")})"` : `x="${place[0]}" y="${place[1]}"`} ` +
             `font-size="${font[3]}" font-family="${xml(font[4])}"${font[2] ? ` font-weight="${font[2]}"` : ""} text-anchor="${anchor}" ` +
             `${this.paint("fill", this.fillStyle)}>${xml(text)}</text>`);
  }
  strokeText() {}
  drawImage(canvas, x, y, width, height) {
    const [left, top] = this.at(x, y).split(" "), [right, bottom] = this.at(x + width, y + height).split(" ");
    this.put(`<image x="${left}" y="${top}" width="${decimals(right - left)}" height="${decimals(bottom - top)}" preserveAspectRatio="none" ` +
             `style="image-rendering:pixelated" href="${canvas.toDataURL()}"/>`);
  }

  // Another pen's picture, at the place where this one is.
  add(other) {
    const prefix = "g" + this.definitions.length + "-";
    const own = (text) => text.replace(/(id="|url\(#)(?=[pc]\d)/g, "$1" + prefix);
    this.definitions.push(...other.definitions.map(own));
    this.put(`<g transform="translate(${this.at(0, 0)})">`);
    this.parts.push(...other.parts.map(own), "</g>");
  }
  text() {
    const { width, height } = this.canvas;
    return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">` +
           `<defs>${this.definitions.join("")}</defs>${this.parts.join("\n")}</svg>\n`;
  }
}

function download(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
}
// Twice as many pixels as the page has: sharp on paper and on fine screens.
function pngOf(svg, width, height) {
  return new Promise((resolve, reject) => {
    const image = new Image();
    image.onload = () => {
      const canvas = document.createElement("canvas");
      canvas.width = 2 * width;
      canvas.height = 2 * height;
      canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
      canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("the picture could not be made"))), "image/png");
    };
    image.onerror = () => reject(new Error("the picture could not be drawn"));
    image.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(svg);
  });
}

// Titles and legend above a picture that paint(pen) draws below them; `entries` are {text, colour, dash}.
function composed(title, caption, entries, width, height, paint) {
  const family = css("--sans"), wide = Math.max(360, Math.ceil(width)), margin = 16;
  ruler.font = `12px ${family}`;
  const rows = [[]];  // the legend, in lines that fit
  let at = 0;
  for (const entry of entries) {
    const size = 36 + ruler.measureText(entry.text).width + 18;
    if (at + size > wide && rows[rows.length - 1].length) { rows.push([]); at = 0; }
    rows[rows.length - 1].push({ ...entry, x: at });
    at += size;
  }
  const head = margin + 22 + (caption ? 20 : 0) + (entries.length ? 20 * rows.length + 4 : 0);
  const pen = new SvgPen(wide + 2 * margin, Math.ceil(head + height + margin));
  pen.fillStyle = css("--ground");
  pen.fillRect(0, 0, pen.canvas.width, pen.canvas.height);
  pen.fillStyle = css("--text");
  pen.font = `600 15px ${family}`;
  pen.fillText(title, margin, margin + 13);
  pen.font = `12px ${family}`;
  if (caption) { pen.fillStyle = css("--muted"); pen.fillText(caption, margin, margin + 33); }
  rows.forEach((row, line) => row.forEach(({ text, colour, dash, x }) => {
    const y = margin + 22 + (caption ? 20 : 0) + 20 * line + 6;
    pen.strokeStyle = colour;
    pen.lineWidth = 2;
    pen.setLineDash(dash);
    pen.beginPath();
    pen.moveTo(margin + x, y);
    pen.lineTo(margin + x + 28, y);
    pen.stroke();
    pen.setLineDash([]);
    pen.fillStyle = css("--text");
    pen.fillText(text, margin + x + 36, y + 4);
  }));
  pen.save();
  pen.translate(margin, head);
  paint(pen);
  pen.restore();
  return pen;
}

const fileName = (name) => (name.replace(/[^\w.-]+/g, "-").replace(/^[-.]+|-+$/g, "").slice(0, 80) || "figure").toLowerCase();
// A heading as plain text, its subscripts kept.
function plainText(element) {
  const small = { 1: "\u2081", k: "\u2096", "*": "\u204e" };
  return Array.from(element.childNodes, (node) => node.nodeName === "SUB" ? small[node.textContent] || node.textContent
    : node.childNodes.length ? plainText(node) : node.textContent).join("");
}

// Buttons of a figure: `name()` is what the files are called, `picture()` gives the pen that has drawn it all, `csv()` the
// numbers.
function offerDownloads(figure, name, picture, csv) {
  for (const button of all("button[data-save]", figure))
    button.addEventListener("click", async () => {
      const kind = button.dataset.save, file = fileName(name()) + "." + kind;
      if (kind === "csv") { download(new Blob([csv()], { type: "text/csv" }), file); return; }
      const pen = picture(), svg = pen.text(), { width, height } = pen.canvas;
      download(kind === "svg" ? new Blob([svg], { type: "image/svg+xml" }) : await pngOf(svg, width, height), file);
    });
}
