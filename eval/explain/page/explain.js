// Plays one row of attention: the stages of engine/ops/attention/ref/attention_ref.h forward and, with a loss, backward, on the
// numbers that the program computed. Transformer Explainer (Cho et al. 2024) and bbycroft.net/llm show how a whole GPT
// computes, with softmax and forward only; this page shows one row, of any attention operation, and its gradients.
"use strict";
const data = JSON.parse($("explain-data").textContent);
const sub = (letter, index) => `<i class="v">${letter}</i><sub>${index}</sub>`;
const [S_IJ, A_IJ, W_IJ, X_IJ, M_I, S_I, Q_I, K_J, V_J, O_I] = [["s", "ij"], ["a", "ij"], ["w", "ij"], ["x", "ij"], ["m", "i"], ["S", "i"],
  ["q", "i"], ["k", "j"], ["v", "j"], ["o", "i"]].map(([letter, index]) => sub(letter, index));
const [DA, DW, DS, D_I, DO, DQ, DK, DV] = [["da", "ij"], ["dw", "ij"], ["ds", "ij"], ["D", "i"], ["do", "i"], ["dq", "i"], ["dk", "j"],
  ["dv", "j"]].map(([letter, index]) => sub(letter, index));
const state = { query: data.query, focus: 0, step: 0, timer: 0 };
const of = data.formula, isThreshold = of.m === "threshold", equals = (formula) => formula ? " = " + raised(formula) : "";
data.tokens = data.tokens.map((text) => text.replace(/ /g, "\u2423"));  // so that a blank can be seen

const rowOf = () => data.rows[state.query];
const positionOf = (j) => j < 0 ? "*" : String(j);
const textOf = (j) => j < 0 ? "extra" : data.tokens[j];
const vectorOf = (kind, j) => j < 0 ? data.extra[kind] : data[kind][j];
const norms = (row, kind, factor) => row.keys.j.map((j, n) => Math.abs(row.keys[factor][n]) * kind(j));
// The numbers of the key in focus, by name.
const focused = (row) => Object.fromEntries(Object.entries(row.keys).map(([name, values]) => [name, values[state.focus]]));
const nameOf = (j) => `key ${positionOf(j)} \u201c${textOf(j)}\u201d`;
// How many of `count` things are known after part `part` of `parts`.
const upTo = (count, part, parts) => Math.ceil(count * (part + 1) / parts);
const few = (count) => Math.min(16, count);
const lastOf = (row, part) => upTo(row.keys.j.length, part, few(row.keys.j.length)) - 1;
// The row mass that evaluations measure, where it is another number than the row sum.
const massOf = (row) => !row.keys.j.includes(-1) ? ""
  : `, without the extra key (row sum) ${num(row.keys.a.reduce((sum, a, n) => row.keys.j[n] < 0 ? sum : sum + a, 0))}`;
const zeros = () => rowOf().q.map(() => 0);
const vectors = (kind, row) => row.keys.j.map((j) => vectorOf(kind, j).length ? vectorOf(kind, j) : zeros());
// What the first keys add up to, and what the last of them added.
function running(terms, count) {
  let sum = zeros();
  for (const term of terms.slice(0, count)) sum = added(sum, term);
  return { sum, last: terms[count - 1] };
}

// One stage, numbered as in attention_ref.h: name, formula, parts (how many steps), numbers(row, key, part), say, bars (name
// and series), draw(box, row, key, part), and where parts go through the keys last(row, part), the one that has just come.
const forward = [
  { name: "1. Scores: dot product", formula: `${Q_I} &middot; ${K_J} = |${Q_I}| |${K_J}| cos`, parts: (row) => few(row.q.length),
    say: "The query and one key, number by number: products that add up.",
    numbers: (row, key, part) => {
      const k = vectorOf("k", key.j), d = upTo(row.q.length, part, few(row.q.length));
      if (!k.length) return "the extra key is a bare score: it has no vector";
      const sum = num(dot(row.q.slice(0, d), k));
      return (d < row.q.length ? `first ${d} of ${row.q.length} products: ${sum}`
        : `q \u00b7 k = ${num(key.q_dot_k)}\n= |q| |k| cos = ${num(row.q_norm)} \u00d7 ${num(key.k_norm)} \u00d7 ${num(key.cosine)}`);
    },
    bars: (row) => ["q \u00b7 k of every key", [["q \u00b7 k", row.keys.q_dot_k, "f0"]]],
    draw: (box, row, key, part) => {
      const k = vectorOf("k", key.j), d = upTo(row.q.length, part, few(row.q.length));
      const rows = [{ name: `q of query ${state.query}`, x: row.q, colour: "f0" }];
      if (k.length) rows.push({ name: `k of ${positionOf(key.j)} ${textOf(key.j)}`.slice(0, 20), x: k, colour: "f2" },
                              { name: "their product", x: row.q.map((q, n) => q * k[n]), colour: "f3", upTo: d });
      drawVectors(box, rows, d < row.q.length || part ? d - 1 : undefined);
    } },
  { name: "1. Scores: scale", formula: `${S_IJ} = scale ${Q_I} &middot; ${K_J}${data.has_bias ? " + bias" : ""}`,
    say: "Scaled by 1 / sqrt(head width)" + (data.has_bias ? ", and moved by what the distance is worth." : ", so that wide heads do not score higher."),
    numbers: (row, key) => vectorOf("k", key.j).length
      ? `s = ${num(data.scale)} \u00d7 ${num(key.q_dot_k)}${data.has_bias ? " + " + num(key.bias) : ""} = ${num(key.s)}` : `s = ${num(key.s)}, the bare score`,
    bars: (row) => ["Scores s of every key", [["s", row.keys.s, "f0"]]],
    draw: (box, row, key) => {
      box.replaceChildren();
      if (vectorOf("k", key.j).length) {
        drawTiles(box, [[row.q_norm, "|q|"], "\u00d7", [key.k_norm, "|k|"], "\u00d7", [key.cosine, "cosine"], "=", [key.q_dot_k, "q \u00b7 k"]]);
        drawTiles(box, [[data.scale, "scale"], "\u00d7", [key.q_dot_k, "q \u00b7 k"], ...(data.has_bias ? ["+", [key.bias, "bias"]] : []), "=", [key.s, "s", "out"]]);
      } else drawTiles(box, [[key.s, "s, a bare score", "out"]]);
    } },
  { name: "2. Shift", formula: `${X_IJ} = ${S_IJ} &minus; ${M_I}, &ensp;${M_I}${equals(of.m)}`,
    say: /maximum/.test(of.m) ? "The line is m. Taking it off changes no weight and keeps the exponential finite." : "What this operation takes off every score.",
    numbers: (row, key) => `m = ${num(row.m)}\nx = ${num(key.s)} \u2212 ${num(row.m).replace("\u2212", "\u2212\u2009")} = ${num(key.x)}`,
    bars: (row) => ["Scores s, and m across", [["s", row.keys.s, "f0"]], row.m],
    draw: (box, row, key) => { box.replaceChildren(); drawTiles(box, [[key.s, "s"], "\u2212", [row.m, "m"], "=", [key.x, "x", "out"]]); } },
  { name: "3. The function g", formula: `<i class="v">g</i>(x)${equals(of.g)}`,
    say: "What makes a weight of a score: the operation\u2019s own curve, with every key on it.",
    numbers: (row, key) => `g(${num(key.x)}) = ${num(key.g)}` + (/\bu\b/.test(of.g) ? `\nu = e^\u2212m = ${num(Math.exp(-row.m))}` : ""),
    bars: (row) => ["g(x) of every key", [["g(x)", row.keys.g, "f0"]]],
    draw: (box, row) => drawCurve(box, row.curve, row.keys.x.map((x, n) => ({ x, g: row.keys.g[n], name: nameOf(row.keys.j[n]) })), state.focus) },
  { name: "3. The sum", formula: `${S_I} = &Sigma;<sub>j</sub> <i class="v">r</i>(${X_IJ})${of.r && of.r !== "g" ? ", &ensp;r" + equals(of.r) : ", &ensp;r = g"}`,
    say: "One number for the whole row. What is divided by it, or by what comes of it, makes every weight depend on every score.",
    numbers: (row) => `S = ${row.keys.r.length <= 6 ? row.keys.r.map(num).join(" + ") + " = " : ""}${num(row.S)}`,
    bars: (row) => ["r(x) of every key", [["r(x)", row.keys.r, "f0"]]],
    draw: (box, row) => drawSum(box, row.keys.r, row.keys.j.map(positionOf), row.S, state.focus) },
  { name: "4. Weights", formula: `${A_IJ} = post(<i class="v">g</i>(${X_IJ}) / <i class="v">z</i>(${S_I})), &ensp;z${equals(of.z)}${of.post ? ", &ensp;post" + equals(of.post) : ""}`,
    say: of.operation === "Softmax" ? "The general form, and softmax as everybody writes it: the same number."
      : "The general form of every operation: g over z of the sum" + (of.post ? ", and then post." : "."),
    numbers: (row, key) => `a = ${num(key.g)} / ${num(row.z)} = ${num(key.w)}${of.post ? ", after post " + num(key.a) : ""}` +
      (of.operation === "Softmax" ? `\nsoftmax: e^(s \u2212 m) / sum = e^${num(key.x)} / ${num(row.S)} = ${num(Math.exp(key.x) / row.S)}` : of.whole ? `\n${of.operation}: ${of.whole}` : "") +
      `\nrow sum ${num(row.row_sum)}${massOf(row)}; the most goes to ${nameOf(row.keys.j[row.strongest])}: ${num(row.keys.a[row.strongest])}`,
    bars: (row) => ["Weights a of every key", [["a", row.keys.a, "f0"]]],
    draw: (box, row, key) => {
      box.replaceChildren();
      drawTiles(box, [[key.g, "g(x)"], "/", [row.z, "z(S)"], "=", of.post ? [key.w, "w"] : [key.w, "a", "out"], ...(of.post ? ["post:", [key.a, "a", "out"]] : [])]);
    } },
  { name: "5. Output", formula: `${O_I} = &Sigma;<sub>j</sub> ${A_IJ} ${V_J}`, parts: (row) => few(row.keys.j.length), last: lastOf,
    say: "The values, each as loud as its weight, added up.",
    numbers: (row, key, part) => {
      const parts = few(row.keys.j.length), count = upTo(row.keys.j.length, part, parts), j = row.keys.j[count - 1];
      return count < row.keys.j.length ? `${count} of ${row.keys.j.length} keys; last: ${num(row.keys.a[count - 1])} \u00d7 v of ${nameOf(j)}` : `|o| = ${num(row.o_norm)}`;
    },
    bars: (row) => ["|a v| of every key", [["|a v|", row.keys.mixed_norm, "f0"]]],
    draw: (box, row, key, part) => {
      const values = vectors("v", row), terms = values.map((v, n) => scaled(row.keys.a[n], v));
      const { sum, last } = running(terms, upTo(terms.length, part, few(terms.length)));
      const largest = Math.max(...terms.flat().map(Math.abs), ...row.o.map(Math.abs));
      drawVectors(box, [{ name: "a v of one key", x: last, colour: "f2", largest }, { name: "o so far", x: sum, colour: "f1", largest }]);
    } },
  { name: "5. Shares of the output", formula: `${A_IJ} ${V_J} &middot; ${O_I} / |${O_I}|<sup>2</sup>`,
    say: "How much of the output came from where. Shares sum to 1; below 0 a key points against the others.",
    numbers: (row, key) => `${nameOf(key.j)}: ${num(key.share)} of o\nwith a weight of ${num(key.a)}`,
    bars: (row) => ["Share of o of every key", [["share", row.keys.share, "f0"]]],
    draw: (box, row) => drawSum(box, row.keys.share, row.keys.j.map(positionOf), row.o_norm > 0 ? 1 : 0, state.focus) },
];

const termsOfD = (row) => row.keys.dw.map((dw, n) => dw * (isThreshold ? row.keys.r : row.keys.w)[n]);

const backward = [
  { name: "5\u2032. The gradient arrives", formula: `${DO} = d loss / d${O_I}`,
    say: "From the loss through the blocks above, along the residual stream, and back through the output projection.",
    numbers: (row) => `loss ${num(data.loss)} nats, the mean of ${data.targets} next tokens\n|do| = ${num(norm(row.do))}`,
    bars: (row) => ["Weights a of every key", [["a", row.keys.a, "f0"]]],
    draw: (box, row) => state.query === data.query && data.arrival.length
      ? drawList(box, data.arrival.slice(-12).map(([name, shape, value], n, all) => ({ name: n === all.length - 1 ? name + " (do)" : name, value })))
      : drawVectors(box, [{ name: "do", x: row.do, colour: "f1" }]) },
  { name: "5\u2032, 4\u2032. To the weights", formula: `${DA} = ${DO} &middot; ${V_J}, &ensp;${DW} = post&prime; ${DA}`,
    say: "A weight is worth more if its value points where the loss wants the output to go (down the gradient).",
    numbers: (row, key) => `da = ${num(key.da)}\ndw = ${num(key.dw)}`,
    bars: (row) => ["dw of every key", [["dw", row.keys.dw, "f0"]]],
    draw: (box, row, key) => {
      const v = vectorOf("v", key.j).length ? vectorOf("v", key.j) : zeros();
      drawVectors(box, [{ name: "do", x: row.do, colour: "f1" }, { name: `v of ${positionOf(key.j)} ${textOf(key.j)}`.slice(0, 20), x: v, colour: "f2" },
                        { name: "their product", x: row.do.map((x, n) => x * v[n]), colour: "f3" }]);
    } },
  { name: "3\u2032. What the sum owes", formula: `${D_I} = &Sigma;<sub>j</sub> ${isThreshold ? `<i class="v">g</i>&prime;(${X_IJ})` : W_IJ} ${DW}`,
    say: isThreshold ? "If the threshold falls a little, the loss changes by this." : "If all weights shrink a little because S grows, the loss changes by this.",
    numbers: (row) => `D = ${num(row.D)}\n${isThreshold ? "1 / S" : "z\u2032(S)"} = ${num(row.dz)}${row.dz === 0 ? ": S divides nothing here, so nothing flows through it" : ""}`,
    bars: (row) => [isThreshold ? "g\u2032 dw of every key" : "w dw of every key", [["D", termsOfD(row), "f0"]]],
    draw: (box, row) => drawSum(box, termsOfD(row), row.keys.j.map(positionOf), row.D, state.focus) },
  { name: "3\u2032. To the scores", formula: `${DS} = <i class="v">g</i>&prime;(x) ${DW} / z &minus; <i class="v">r</i>&prime;(x) z&prime; ${D_I} / z`,
    say: "Two ways: through the key\u2019s own g, and through the " + (isThreshold ? "threshold" : "sum") + " that all keys share." + (isThreshold ? "" : " Nothing flows through m."),
    numbers: (row, key) => `through g ${num(key.ds_by_g)}\nthrough S ${num(key.ds_by_S)}\nds = ${num(key.ds)}`,
    bars: (row) => ["ds of every key: through g (blue), through S (violet), together (orange)",
                    [["through g", row.keys.ds_by_g, "f0"], ["through S", row.keys.ds_by_S, "f3"], ["ds", row.keys.ds, "f1"]]],
    draw: (box, row, key) => {
      box.replaceChildren();
      drawTiles(box, [[key.dg, "g\u2032(x)"], "\u00d7", [key.dw, "dw"], "/", [row.z, "z"], "=", [key.ds_by_g, "through g"]]);
      drawTiles(box, ["\u2212", [key.dr, "r\u2032(x)"], "\u00d7", [row.dz, "z\u2032(S)"], "\u00d7", [row.D, "D"], "/", [row.z, "z"], "=", [key.ds_by_S, "through S"]]);
      drawTiles(box, [[key.ds_by_g, "through g"], "+", [key.ds_by_S, "through S"], "=", [key.ds, "ds", "out"]]);
    } },
  { name: "1\u2032. To the query", formula: `${DQ} = scale &Sigma;<sub>j</sub> ${DS} ${K_J}`, parts: (row) => few(row.keys.j.length), last: lastOf,
    say: "Each key pulls the query towards itself or away, as its score should rise or fall.",
    numbers: (row, key, part) => {
      const count = upTo(row.keys.j.length, part, few(row.keys.j.length));
      return count < row.keys.j.length ? `${count} of ${row.keys.j.length} keys` : `|dq| = ${num(norm(row.dq))}`;
    },
    bars: (row) => ["ds of every key", [["ds", row.keys.ds, "f0"]]],
    draw: (box, row, key, part) => {
      const terms = vectors("k", row).map((k, n) => scaled(data.scale * row.keys.ds[n], k));
      const { sum, last } = running(terms, upTo(terms.length, part, few(terms.length)));
      const largest = Math.max(...terms.flat().map(Math.abs), ...row.dq.map(Math.abs));
      drawVectors(box, [{ name: "scale ds k of one key", x: last, colour: "f2", largest }, { name: "dq so far", x: sum, colour: "f1", largest }]);
    } },
  { name: "1\u2032. To keys and values", formula: `${DK} += scale ${DS} ${Q_I}, &ensp;${DV} += ${A_IJ} ${DO}${data.has_bias ? `, &ensp;dbias += ${DS}` : ""}`,
    say: "This row\u2019s part; other queries add theirs to the same keys and values.",
    numbers: (row, key) => (vectorOf("k", key.j).length ? `|dk| = ${num(Math.abs(data.scale * key.ds) * row.q_norm)}` : `of the bare score: ${num(key.ds)}`) +
      (vectorOf("v", key.j).length ? `\n|dv| = ${num(Math.abs(key.a) * norm(row.do))}` : "") + (data.has_bias && key.j >= 0 ? `\ndbias = ${num(key.ds)}` : ""),
    bars: (row) => ["|dk| (blue) and |dv| (green) of every key", [
      ["|dk|", norms(row, (j) => vectorOf("k", j).length ? data.scale * row.q_norm : 0, "ds"), "f0"],
      ["|dv|", norms(row, (j) => vectorOf("v", j).length ? norm(row.do) : 0, "a"), "f2"]]],
    draw: (box, row, key) => drawVectors(box, [
      { name: "dk of this key", x: vectorOf("k", key.j).length ? scaled(data.scale * key.ds, row.q) : zeros(), colour: "f0" },
      { name: "dv of this key", x: vectorOf("v", key.j).length ? scaled(key.a, row.do) : zeros(), colour: "f2" }]) },
];

const stages = data.loss === undefined ? forward : [...forward, ...backward];
const partsOf = (stage) => stage.parts ? stage.parts(rowOf()) : 1;
const steps = () => stages.flatMap((stage, index) => Array.from({ length: partsOf(stage) }, (_, part) => ({ stage, index, part })));
const firstStepOf = (index) => steps().findIndex((step) => step.index === index);

function show() {
  const row = rowOf(), all = steps();
  state.step = Math.max(0, Math.min(all.length - 1, state.step));
  const { stage, index, part } = all[state.step], key = focused(row);
  $("name").textContent = stage.name;
  $("formula").innerHTML = stage.formula;
  $("numbers").textContent = stage.numbers(row, key, part);
  $("say").textContent = stage.say;
  const marked = stage.last ? stage.last(row, part) : state.focus;
  $("detail-name").textContent = `Query ${state.query} \u201c${data.tokens[state.query]}\u201d, ${nameOf(row.keys.j[marked])}` + (stage.last ? " has just been added" : " in focus");
  stage.draw($("detail"), row, key, part);
  const [name, series, line] = stage.bars(row);
  $("bars-name").textContent = name;
  $("bars").setAttribute("aria-label", name + ". " + row.keys.j.map((j, n) => `${positionOf(j)} ${textOf(j)} ${num(series[0][1][n])}`).slice(0, 40).join(", "));
  drawBars($("bars"), row.keys.j.map((j) => ({ position: positionOf(j), text: textOf(j) })),
           series.map(([label, values, colour]) => ({ name: label, values, colour })), marked, line, choose);
  [...$("stages").querySelectorAll("button")].forEach((button, n) => n === index ? button.setAttribute("aria-current", "step") : button.removeAttribute("aria-current"));
  $("step").max = all.length - 1;
  $("step").value = state.step;
  $("step").setAttribute("aria-valuetext", stage.name);
  $("where").textContent = `${state.step + 1} / ${all.length}`;
  $("play").textContent = state.timer ? "Pause" : "Play";
  Object.assign(document.documentElement.dataset, { step: state.step, stage: stage.name, query: state.query, focus: key.j });
}

function choose(n) { state.focus = n; $("key").value = n; show(); }
function go(step) { state.step = step; show(); }
function stop() { clearTimeout(state.timer); state.timer = 0; }
function tick() {
  const all = steps();
  if (state.step >= all.length - 1) { stop(); show(); return; }
  ++state.step;
  state.timer = setTimeout(tick, partsOf(all[state.step].stage) > 1 ? 450 : 2200);
  show();
}
function play() {
  if (state.timer) { stop(); show(); return; }
  if (state.step >= steps().length - 1) state.step = -1;
  tick();
}

// What depends on the query: tokens, the choice of keys and the table.
function chooseQuery(query) {
  const { index } = steps()[state.step];
  state.query = query;
  const row = rowOf();
  state.focus = row.strongest;
  $("title").textContent = document.title = `Query ${query} \u201c${data.tokens[query]}\u201d in layer ${data.layer}, head ${data.head}: ${of.operation}`;
  $("tokens").replaceChildren(...data.tokens.map((text, i) => {
    const token = document.createElement("span");
    token.textContent = text;
    token.dataset.position = i;
    token.className = i === query ? "query" : row.keys.j.includes(i) ? "" : "unseen";
    return token;
  }));
  const token = $("tokens").children[query];
  $("tokens").scrollTop = token.offsetTop - $("tokens").offsetTop - 40;
  $("key").replaceChildren(...row.keys.j.map((j, n) => new Option(`${positionOf(j)} ${textOf(j)}`, n)));
  $("key").value = state.focus;
  const names = Object.keys(row.keys).filter((name) => name !== "j");
  const cells = (tag, values) => values.map((value) => `<${tag}>${value}</${tag}>`).join("");
  const vector = (name, x) => `<p>${name} = (${x.map(num).join(", ")})</p>`;
  $("table").querySelector("div").innerHTML =
    `<table><thead><tr>${cells("th", ["j", "token", ...names])}</tr></thead><tbody>` +
    row.keys.j.map((j, n) => `<tr>${cells("td", [positionOf(j), escaped(textOf(j)), ...names.map((name) => num(row.keys[name][n]))])}</tr>`).join("") +
    `</tbody></table><p id="scalars">${["q_norm", "m", "S", "z", "row_sum", "o_norm", "D", "dz"].filter((name) => row[name] !== undefined)
      .map((name) => `${name} = ${num(row[name])}`).join(", ")}</p>` + vector("q", row.q) + vector("o", row.o) + (row.do ? vector("do", row.do) + vector("dq", row.dq) : "");
  state.step = firstStepOf(index);
  show();
}

$("stages").innerHTML = stages.map((stage, n) => (n === 0 ? "<li><h3>Forward</h3></li>" : stage === backward[0] ? "<li><h3>Backward</h3></li>" : "") +
  `<li><button type="button" data-stage="${n}">${stage.name}<span>${stage.formula}</span></button></li>`).join("");
for (const button of $("stages").querySelectorAll("button")) button.addEventListener("click", () => { stop(); go(firstStepOf(Number(button.dataset.stage))); });
$("query").replaceChildren(...Object.keys(data.rows).map((i) => new Option(`${i} ${data.tokens[i]}`, i)));
$("query").value = state.query;
$("query").addEventListener("change", () => { stop(); chooseQuery(Number($("query").value)); });
$("key").addEventListener("change", () => choose(Number($("key").value)));
$("left-out").hidden = !data.left_out;
$("left-out").textContent = data.left_out || "";
$("play").addEventListener("click", play);
$("back").addEventListener("click", () => { stop(); go(state.step - 1); });
$("next").addEventListener("click", () => { stop(); go(state.step + 1); });
$("step").addEventListener("input", () => { stop(); go(Number($("step").value)); });
addEventListener("keydown", (event) => {
  const there = event.target, keys = rowOf().keys.j.length;
  if (event.ctrlKey || event.metaKey || event.altKey || there.tagName === "SELECT" || (there.tagName === "INPUT" && event.key !== " ")) return;
  if (event.key === " " && ["BUTTON", "SUMMARY"].includes(there.tagName)) return;
  const actions = { ArrowRight: () => go(state.step + 1), ArrowLeft: () => go(state.step - 1), Home: () => go(0), End: () => go(Infinity),
                    ArrowUp: () => choose((state.focus + keys - 1) % keys), ArrowDown: () => choose((state.focus + 1) % keys) };
  if (event.key === " ") play();
  else if (actions[event.key]) { stop(); actions[event.key](); }
  else return;
  event.preventDefault();
});
let redraw = 0;
addEventListener("resize", () => { cancelAnimationFrame(redraw); redraw = requestAnimationFrame(show); });
chooseQuery(state.query);
document.documentElement.dataset.ready = "yes";
