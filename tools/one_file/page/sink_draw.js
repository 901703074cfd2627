// What the page of sink.cpp draws: patterns, curves over the steps, and the arithmetic of a row.
"use strict";
const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const geometry = { left: 34, top: 20, cell: 10, extra: 0, gate: 0 };
function measureCanvas(canvas) {
  const design = models[1].design, width = canvas.clientWidth, ratio = devicePixelRatio || 1;
  geometry.left = width < 260 ? 24 : 34;
  const columns = T + (design.extra ? 1.8 : 0) + (design.gate ? 1.8 : 0);
  geometry.cell = Math.max(1, Math.floor((width - geometry.left) * ratio / columns)) / ratio;
  geometry.extra = design.extra ? 1.8 * geometry.cell : 0;
  geometry.gate = design.gate ? 1.8 * geometry.cell : 0;
  const height = geometry.top + T * geometry.cell + 2;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    canvas.style.height = height + "px";
  }
  return ratio;
}
function drawPattern(m) {
  const canvas = document.querySelector(`.model[data-model="${m}"] canvas`), ratio = measureCanvas(canvas), pen = canvas.getContext("2d");
  const { left, top, cell } = geometry, x0 = left + geometry.extra, snapshot = shownOf(m);
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, canvas.width, canvas.height);
  const paint = (x, i, value) => { pen.fillStyle = rgb(rampColour(value)); pen.fillRect(x, top + i * cell, cell, cell); };
  for (let i = 0; i < T; ++i) {
    for (let j = 0; j <= i; ++j) paint(x0 + j * cell, i, weight(snapshot, i, j));
    if (snapshot.extra) paint(left, i, snapshot.extra[state.head * T + i]);
    if (snapshot.gates) paint(x0 + (T + 0.8) * cell, i, sigmoid(snapshot.gates[i * H + state.head]));
  }
  const mark = css("--c1"), small = cell < 8;
  pen.font = `${small ? 9 : 10.5}px ${css("--sans")}`;
  pen.textBaseline = "middle";
  for (let i = 0; i < T; ++i) {
    const y = top + (i + 0.5) * cell, often = i === 0 || (i + 1) % 8 === 0;
    pen.fillStyle = css("--muted");
    if (often) {
      pen.textAlign = "center";
      pen.fillText(i + 1, x0 + (i + 0.5) * cell, top - 8);
      pen.textAlign = "right";
      if (!isTrigger(i)) pen.fillText(i + 1, left - (small ? 3 : 5), y);
    }
    if (!isTrigger(i)) continue;
    pen.fillStyle = pen.strokeStyle = mark;
    pen.textAlign = "right";
    pen.fillText("\u25b6", left - (small ? 2 : 4), y);
    pen.lineWidth = 1;
    pen.strokeRect(x0 + (i - 1) * cell + 0.5, top + i * cell + 0.5, cell - 1, cell - 1);
  }
  pen.textAlign = "center";
  pen.fillStyle = css("--muted");
  if (snapshot.extra) pen.fillText("*", left + cell / 2, top - 6);
  if (snapshot.gates) pen.fillText("g", x0 + (T + 1.3) * cell, top - 8);
  pen.strokeStyle = css("--text");
  pen.lineWidth = 1.5;
  pen.strokeRect(x0 - 0.75, top + state.query * cell - 0.75, (state.query + 1) * cell + 1.5, cell + 1.5);
  if (state.key >= 0 && state.key <= state.query) {
    pen.strokeStyle = mark;
    pen.lineWidth = 2;
    pen.strokeRect(x0 + state.key * cell - 0.5, top + state.query * cell - 0.5, cell + 1, cell + 1);
  }
  drawCaption(m);
  canvas.setAttribute("aria-label", `Attention pattern of ${nameOf(m)}, head ${state.head}, step ${snapshot.step}. Query ${state.query + 1} gives key 1 ` +
    `${num(weight(snapshot, state.query, 0))}. Up and down choose the query.`);
}

// The name, the formula, and how much the first token has, or the weight below the pointer.
function drawCaption(m) {
  const figure = document.querySelector(`.model[data-model="${m}"]`), snapshot = shownOf(m), { pointed, head } = state, part = (name) => figure.querySelector(name);
  part(".name").textContent = nameOf(m);
  part(".formula").innerHTML = "a = " + raised(operationOf(m).formula).replace(/sum /g, "&Sigma; ");
  const moved = snapshot.extra && operationOf(m).divides ? `, extra key ${snapshot.extraAlpha.toFixed(3)}` : "";
  const value = pointed && (pointed.j >= 0 ? weight(snapshot, pointed.i, pointed.j) : snapshot.extra && snapshot.extra[head * T + pointed.i]);
  part(".stat").textContent = value === null ? `first token ${snapshot.alpha.toFixed(3)}${moved}`
    : `query ${pointed.i + 1}, ${pointed.j >= 0 ? `key ${pointed.j + 1}` : "extra key"}: ${value.toFixed(3)}`;
}

// Lines over the steps, of both models. `of` is the value of an entry; `extra` a second one, dashed, where there is one.
function drawChart(box, title, of, low, high, text, extra) {
  const width = widthOf(box), height = 132, left = 36, right = 48, top = 20, bottom = 18;
  const all = models.flatMap((model) => model.history.flatMap((s) => [of(s), ...(extra && s.extra ? [extra(s)] : [])]));
  const most = Math.max(high, ...all.filter((y) => high === 0 || y > high)), least = Math.min(low, ...all);
  const X = (step) => left + step / kSteps * (width - left - right), Y = (y) => top + (most - y) / (most - least || 1) * (height - top - bottom);
  const parts = [svg("text", { x: 0, y: 12, class: "focus" }, title)];
  for (const y of [least, most])
    parts.push(svg("line", { x1: left, x2: width - right, y1: Y(y), y2: Y(y), class: "axis" }), svg("text", { x: left - 5, y: Y(y) + 4, "text-anchor": "end", class: "muted" }, text(y)));
  for (const step of [0, kSteps / 2, kSteps])
    parts.push(svg("text", { x: X(step), y: height - 5, "text-anchor": step === kSteps ? "end" : "middle", class: "muted" }, step.toLocaleString("en")));
  const ends = [];
  models.forEach(({ history }, m) => {
    for (const [value, dashed] of [[of, ""], ...(extra && history[0] && history[0].extra ? [[extra, " dashed"]] : [])]) {
      parts.push(svg("path", { d: history.map((s, n) => (n ? "L" : "M") + X(s.step).toFixed(1) + " " + Y(value(s)).toFixed(1)).join(""), class: `line${m}${dashed}` }));
      const at = shownOf(m);
      if (!at) continue;
      parts.push(svg("circle", { cx: X(at.step), cy: Y(value(at)), r: 3.5, class: `fill${m}` }));
      ends.push({ m, y: Y(value(at)), text: text(value(at)) + (dashed ? " *" : "") });
    }
  });
  ends.sort((a, b) => a.y - b.y);
  ends.forEach((end, n) => { end.y = Math.max(Math.min(end.y, height - bottom - 12 * (ends.length - 1 - n)), n ? ends[n - 1].y + 12 : 0); });
  ends.forEach((end) => {
    parts.push(svg("text", { x: width - right + 5, y: end.y + 4, class: `fill${end.m} focus` }, end.text));
  });
  parts.push(svg("line", { x1: X(state.step), x2: X(state.step), y1: top, y2: height - bottom, class: "mark-line" }));
  const drawing = picture(width, height, `${title} at step ${state.step}: ${ends.map((end) => `${nameOf(end.m)} ${end.text}`).join(", ")}`, ...parts);
  const choose = (event) => goTo((event.clientX - drawing.getBoundingClientRect().left - left) / (width - left - right) * kSteps);
  drawing.addEventListener("pointerdown", choose);
  drawing.addEventListener("pointermove", (event) => { if (event.buttons) choose(event); });
  box.replaceChildren(drawing);
}
const fixed = (n) => (x) => x.toFixed(n);
const charts = [["Loss (nats)", (s) => s.loss, 2, 0, fixed(2)],
                ["Attention on the first token (alpha_1)", (s) => s.alpha, 0, 1, fixed(2), (s) => s.extraAlpha],
                ["Sink_1 (% of heads above 0.3)", (s) => s.sink, 0, 100, fixed(0), (s) => s.extraSink]];

// One value for each key as a row of bars that fits, however many keys there are; a click chooses the key. `most` is the
// top of the scale, which both models share.
function drawStrip(box, row, values, label, colour, most) {
  const width = widthOf(box), height = 74, left = 46, top = 8, bottom = 14, step = (width - left) / Math.max(T, row.names.length);
  const high = Math.max(most, 0), low = Math.min(...values, 0), Y = (y) => top + (high - y) / (high - low || 1) * (height - top - bottom), focus = focusOf(row);
  const parts = [svg("line", { x1: left, x2: width, y1: Y(0), y2: Y(0), class: "axis" })];
  for (const y of new Set([high, low])) if (y !== 0) parts.push(svg("text", { x: left - 5, y: Y(y) + 4, "text-anchor": "end", class: "muted" }, short(y)));
  values.forEach((y, n) => {
    const x = left + n * step, name = row.names[n], group = svg("g", { class: "column" });
    group.append(svg("rect", { x, y: 0, width: step, height, fill: "transparent" }), bar(x + step * 0.1, step * 0.8, Y(0), Y(y), n === focus ? "f1" : colour),
                 svg("title", {}, `key ${name}: ${label} = ${num(y)}`));
    if (n === focus || (n === 0 && focus > 2) || name === "*")
      group.append(svg("text", { x: x + step / 2, y: height - 2, "text-anchor": "middle", class: n === focus ? "focus" : "muted", "font-size": 10 }, name));
    group.addEventListener("click", () => chooseKey(name === "*" ? -1 : n));
    parts.push(group);
  });
  box.replaceChildren(picture(width, height, `${label} of keys 1 to ${row.names.length}; key ${row.names[focus]}: ${num(values[focus])}`, ...parts));
}
// Where the chosen key is in a row; -1 is the extra key, or the last one where there is none.
const focusOf = (row) => state.key < 0 ? row.names.length - 1 : Math.min(state.key, state.query);
const tokenOf = (name) => name === "*" ? "the extra key" : `key ${name} (symbol ${state.tokens[name - 1]})`;

function drawRow(m, rows) {
  const box = document.querySelector(`.row[data-model="${m}"]`), row = rows[m], n = focusOf(row), { divides, formula } = operationOf(m);
  if (!box.firstElementChild)
    box.innerHTML = `<h3></h3><h4>1. Scores: s = q &middot; k / &radic;D</h4><p class="say">${escaped(say["1. Scores: dot product"])}</p><div class="s"></div><div class="s-tiles"></div>
<h4>2. Weights: a = g(s) / z</h4><p class="say weights-say"></p><div class="a"></div><div class="a-tiles"></div>
<h4>3. Output: o = &Sigma; a v</h4><p class="say">${escaped(say["5. Output"])} Each bar is the length |a v| of what a key adds.</p><div class="av"></div><div class="o-tiles"></div>
<details><summary>q, k, v and o, element by element</summary><div class="vectors"></div></details>`;
  const part = (name) => box.querySelector(name);
  part("h3").innerHTML = `${escaped(capital(nameOf(m)))}: a = ${raised(formula).replace(/sum /g, "&Sigma; ")}`;
  part(".weights-say").textContent = divides ? say["3. The sum"] : "z is 1: a weight depends on its own score alone.";
  const lengths = row.v.map(norm), adds = row.terms.map(norm), name = tokenOf(row.names[n]);
  drawStrip(part(".s"), row, row.s, "s", "f0", Math.max(...row.s));
  drawStrip(part(".a"), row, row.a, "a", "f0", Math.max(1, ...rows.flatMap((r) => r.a)));
  drawStrip(part(".av"), row, adds, "|a v|", "f2", Math.max(...rows.flatMap((r) => r.terms.map(norm))));
  for (const [where, tiles] of [[".s-tiles", [[row.qk[n], `q \u00b7 k of ${name}`], "/", [Math.sqrt(D), "\u221aD"], "=", [row.s[n], "s"]]],
                                [".a-tiles", [[row.gs[n], "g(s)"], "/", [row.z, divides ? "z, the sum" : "z"], "=", [row.a[n], "a", "out"], [row.sum, "sum of the row"]]],
                                [".o-tiles", [[row.a[n], "a"], "\u00d7", [lengths[n], "|v|"], "=", [adds[n], "|a v|"], [norm(row.o), "|o|"],
                                              ...(row.gate === null ? [] : ["\u00d7", [row.gate, "gate", "out"]])]]]) {
    part(where).replaceChildren();
    drawTiles(part(where), tiles);
  }
  if (part("details").open)
    drawVectors(part(".vectors"), [{ name: "q", x: row.q, colour: "f0" }, { name: "k", x: row.k[n], colour: "f2" }, { name: "q times k", x: row.q.map((x, d) => x * row.k[n][d]), colour: "f3" },
                                   { name: "v", x: row.v[n], colour: "f2" }, { name: "o", x: row.o, colour: "f1" }]);
}
