// The page of sink.cpp: starts the worker, keeps what it posts, and draws the step that the slider shows.
"use strict";
const { say, whole, sizes } = JSON.parse($("texts").textContent), { T, C, H, kSteps } = sizes;
const D = C / H, kEvery = 20, kSink = 0.3;
const even = Array.from({ length: T }, (_, i) => 1 / (i + 1)).reduce((sum, x) => sum + x) / T;  // alpha_1 of even rows
const sigmoid = (s) => 1 / (1 + Math.exp(-s));
// In the order of kOperations in sink_page.cpp: the name in the address and on the page, the formula, g, and z = sum + one where
// it divides.
const operations = [
  { id: "softmax", name: "softmax", formula: whole.softmax, g: Math.exp, divides: true, one: 0 },
  { id: "sigmoid", name: "sigmoid", formula: whole.sigmoid, g: sigmoid, divides: false },
  { id: "sigmoid-norm", name: "sigmoid divided by its sum", formula: whole.sigmoid_norm.replace(" + 1e-8", ""), g: sigmoid, divides: true, one: 1e-8 },
  { id: "softmax1", name: "softmax1", formula: "e^s / (1 + sum e^s)", g: Math.exp, divides: true, one: 1 },
  { id: "relu", name: "ReLU", formula: whole.relu, g: (s) => Math.max(s, 0), divides: false },
  { id: "elu", name: "ELU + 1", formula: whole.elu.replace(/:.*/, ""), g: (s) => s > 0 ? s + 1 : Math.exp(s), divides: false },
];
const state = { head: 0, query: 25, key: 0, pointed: null, step: 0, follow: true, running: false, started: false, trained: 0, since: 0, tokens: [] };
// The left and the right model: its design, and what its worker has posted of it, one entry for every kEvery steps.
const models = [0, 1].map(() => ({ design: null, run: 0, history: [] }));

const operationOf = (m) => operations[models[m].design.operation];
const nameOf = (m) => {
  const { design } = models[m], more = [design.extra && "an extra key", design.gate && "a gate"].filter(Boolean);
  return operationOf(m).name + (more.length ? " with " + more.join(" and ") : "");
};
const capital = (text) => text[0].toUpperCase() + text.slice(1);
const percent = (x) => (100 * x < 9.95 ? (100 * x).toFixed(100 * x < 0.995 ? 1 : 0) : Math.round(100 * x)) + "\u00a0%";
const digits = (x) => String(Number(x.toPrecision(2))).replace("-", "\u2212");
const isTrigger = (i) => state.tokens[i] >= 1 && state.tokens[i] <= 3;
const shownOf = (m) => models[m].history[Math.min(models[m].history.length - 1, state.step / kEvery)];
const lastStep = () => Math.min(...models.map((model) => kEvery * (model.history.length - 1)));
const weight = (snapshot, i, j) => snapshot.a[(state.head * T + i) * T + j];
const rowSum = (snapshot) => snapshot.a.reduce((sum, a) => sum + a, 0) / (H * T);

// Query i of the chosen head from its queries, keys and values: each stage by the formula of the operation.
function rowOf(m, i) {
  const snapshot = shownOf(m), { g, divides, one } = operationOf(m), { heads, extraKey } = snapshot;
  const vector = (t, which) => Array.from(heads.subarray(t * 3 * C + which * C + state.head * D, t * 3 * C + which * C + (state.head + 1) * D));
  const q = vector(i, 0), k = [], v = [], names = [];
  for (let j = 0; j <= i; ++j) k.push(vector(j, 1)), v.push(vector(j, 2)), names.push(String(j + 1));
  if (extraKey) k.push(Array.from(extraKey.subarray(state.head * D, (state.head + 1) * D))), v.push(q.map(() => 0)), names.push("*");
  const qk = k.map((key) => dot(q, key)), s = qk.map((x) => x / Math.sqrt(D)), gs = s.map(g), S = gs.reduce((sum, x) => sum + x, 0);
  const z = divides ? S + one : 1, a = gs.map((x) => x / z), terms = v.map((x, n) => scaled(a[n], x));
  return { q, k, v, names, qk, s, gs, S, z, a, terms, o: terms.reduce(added, q.map(() => 0)), sum: a.reduce((sum, x) => sum + x, 0),
           gate: snapshot.gates ? sigmoid(snapshot.gates[i * H + state.head]) : null };
}

// ---- Sentences

function sentenceOf(m) {
  const snapshot = shownOf(m), operation = operationOf(m), alpha = snapshot.alpha, name = `<b class="${m ? "right" : "left"}">${capital(nameOf(m))}</b>`;
  const { gates } = snapshot;
  if (snapshot.extra && operation.divides && snapshot.extraAlpha > kSink)
    return `${name} puts <b>${percent(snapshot.extraAlpha)}</b> on the extra key and ${percent(alpha)} on the first token: the sink has moved.`;
  if (gates && alpha < kSink && snapshot.step >= 200) {
    const closed = Array.from({ length: T }, (_, i) => sigmoid(gates[i * H + state.head])).filter((x) => x < 0.1).length;
    if (closed > T / 2) return `${name} puts ${percent(alpha)} there: the gate multiplies the output of ${closed} of ${T} rows by less than 0.1.`;
  }
  if (!operation.divides) {
    const sum = rowSum(snapshot), others = (sum - alpha) / ((T - 1) / 2);  // their mean weight
    const rest = `Its rows sum to ${digits(sum)}, and need not sum to one.${snapshot.extra ? " The extra key changes nothing, for no weight is divided by a sum." : ""}`;
    if (alpha > 0.1 && alpha < 1.3 * others) return `${name} gives the first token a weight of <b>${digits(alpha)}</b>, and the others ${digits(others)} on average. ${rest}`;
    return `${name} gives it ${alpha > 0.1 ? `<b>${digits(alpha)}</b>, the others ${digits(others)} on average` : `<b>${digits(alpha)}</b>`}. ${rest}`;
  }
  const amount = `<b>${percent(alpha)}</b> of its attention on the first token`;
  if (alpha > kSink) return `${name} puts ${amount}: an attention sink.`;
  if (alpha < 1.3 * even && alpha > 0.7 * even) return `${name} puts ${amount}, as an even spread would.`;
  return `${name} puts ${amount}; an even spread would put ${percent(even)}.`;
}
function sentence() {
  const both = models.every((model) => model.history.length);
  if (!both) return "";
  if (!state.started) return `Nothing is learned yet: ${sentenceOf(0).replace(/^(<b[^>]*>)S/, "$1s")} <b>Press start.</b>`;
  const [left, right] = [0, 1].map(shownOf);
  const learned = state.step === kSteps ? ` Both have learned the task: loss ${left.loss.toFixed(2)} and ${right.loss.toFixed(2)}.` : "";
  return `Step ${state.step.toLocaleString("en")}. ${sentenceOf(0)} ${sentenceOf(1)}${learned}`;
}
function rowSentence(rows) {
  const i = state.query, at = `Query ${i + 1}, symbol ${state.tokens[i]}, `;
  const what = isTrigger(i) ? `is a trigger: the next symbol is the one before it, ${state.tokens[i - 1]}, so key ${i} is what it looks for.`
    : i === 0 ? "is the first token, which sees itself alone." : "has nothing to look up.";
  const told = [0, 1].map((m) => {
    const { a, names, v } = rows[m], most = a.indexOf(Math.max(...a)), others = v.slice(1, i + 1).map(norm);
    const values = m === 0 && others.length && a[0] > kSink ? ` The value of key 1 has length ${digits(norm(v[0]))}, those of the others ${digits(others.reduce((x, y) => x + y) / others.length)} on average: it adds next to nothing.` : "";
    if (a[most] < 0.05) return `${capital(nameOf(m))} gives no key more than ${digits(a[most])}.`;
    return `${capital(nameOf(m))} gives most to ${tokenOf(names[most])}, ${digits(a[most])}.${values}`;
  });
  return [at + what, ...told].join(" ");
}

// ---- Drawing what the slider shows

// What a reader does is drawn at once, what a worker posts a few times a second, so that the time is left to the training.
let frame = 0, timer = 0;
function draw() { cancelAnimationFrame(frame); frame = requestAnimationFrame(drawNow); }
function drawSoon() { timer = timer || setTimeout(drawNow, 200); }
function drawNow() {
  clearTimeout(timer);
  timer = 0;
  if (!models.every((model) => model.history.length)) return;
  if (state.follow) state.step = lastStep();
  state.step = Math.max(0, Math.min(lastStep(), state.step));
  $("step").max = lastStep();
  $("step").value = state.step;
  $("at").textContent = state.step.toLocaleString("en");
  $("now").innerHTML = sentence();
  const seconds = (state.trained + (state.running ? performance.now() - state.since : 0)) / 1000;
  $("progress").textContent = state.started ? `${lastStep().toLocaleString("en")} of ${kSteps.toLocaleString("en")} steps, ${seconds.toFixed(0)} s` : "";
  $("start").disabled = false;
  $("start").textContent = state.running ? "Pause" : lastStep() === kSteps ? "Train again" : state.started ? "Continue" : "Start training";
  $("replay").disabled = lastStep() === 0;
  const design = models[1].design;
  $("key-extra").hidden = !design.extra;
  $("key-gate").hidden = !design.gate;
  $("half").hidden = !["sigmoid", "elu"].includes(operationOf(1).id);
  document.querySelector(".ramp").style.background = `linear-gradient(90deg, ${rampStops(false).map(rgb).join(",")})`;
  [0, 1].forEach(drawPattern);
  [...$("charts").children].forEach((box, n) => drawChart(box, ...charts[n]));
  const rows = [0, 1].map((m) => rowOf(m, state.query));
  [0, 1].forEach((m) => drawRow(m, rows));
  $("row-sentence").textContent = rowSentence(rows);
  Object.assign(document.documentElement.dataset, { step: state.step, trained: lastStep(), running: state.running });
}

// ---- What the reader does

const bytes = Uint8Array.from(atob($("module").textContent), (c) => c.charCodeAt(0));
models.forEach((model, m) => {
  model.worker = new Worker(URL.createObjectURL(new Blob([$("worker").textContent], { type: "text/javascript" })));
  model.worker.addEventListener("error", (event) => { dispatchEvent(new ErrorEvent("error", { message: event.message })); });
  model.worker.addEventListener("message", ({ data }) => {
    if (data.failed) throw new Error(data.failed);
    if (data.tokens) ready(m, data); else receive(model, data);
  });
  model.worker.postMessage({ module: bytes, every: kEvery, sizes });
});
function ready(m, { tokens }) {
  state.tokens = tokens;
  models[m].ready = true;
  if (!models.every((model) => model.ready)) return;
  $("query").replaceChildren(...tokens.map((token, i) => new Option(`${i + 1}: symbol ${token}${isTrigger(i) ? " (trigger)" : ""}`, i)));
  setDesign(0, { operation: 0, extra: false, gate: false });
  fromAddress();
  chooseQuery(state.query);
}
function receive(model, data) {
  if (data.run !== model.run) return;  // of a design that has been replaced
  model.history[data.step / kEvery] = data;
  if (state.running && lastStep() === kSteps) {
    state.running = false;
    state.trained += performance.now() - state.since;
    state.follow = true;
    drawNow();
    $("spoken").textContent = $("now").textContent;
  }
  drawSoon();
}

function setDesign(m, design) {
  Object.assign(models[m], { design, run: models[m].run + 1, history: [] });
  models[m].worker.postMessage({ run: models[m].run, design });
}
function setRunning(running) {
  if (running === state.running) return;
  state.running = running;
  if (running) Object.assign(state, { since: performance.now(), started: true, follow: true });
  else state.trained += performance.now() - state.since;
  for (const model of models) model.worker.postMessage({ running });
  draw();
}
function start() {
  stopReplay();
  if (!state.running && lastStep() === kSteps) {
    state.trained = 0;
    [0, 1].forEach((m) => setDesign(m, models[m].design));
  }
  setRunning(!state.running);
}
// The right model from the controls; it catches up with the left one.
function compare() {
  const was = state.started;
  stopReplay();
  if (state.running) setRunning(false);
  state.trained = 0;
  setDesign(1, { operation: Number($("operation").value), extra: $("extra").checked, gate: $("gate").checked });
  fillKeys();
  if (was) setRunning(true);
}
function fromAddress() {
  const [id, ...more] = decodeURIComponent(location.hash.slice(1)).split("+");
  $("operation").value = Math.max(0, operations.findIndex((operation) => operation.id === (id || "sigmoid")));
  $("extra").checked = more.includes("extra");
  $("gate").checked = more.includes("gate");
  compare();
}
function toAddress() {
  const id = operations[$("operation").value].id + ($("extra").checked ? "+extra" : "") + ($("gate").checked ? "+gate" : "");
  if (location.hash.slice(1) === id) return;
  history.replaceState(null, "", "#" + id);
  compare();
}
function goTo(step) {
  stopReplay();
  state.follow = false;
  state.step = kEvery * Math.round(step / kEvery);
  if (state.step >= lastStep()) state.follow = true;
  draw();
}
let replaying = 0;
function stopReplay() { clearInterval(replaying); replaying = 0; $("replay").textContent = "Replay"; }
function replay() {
  if (replaying) { stopReplay(); return; }
  goTo(0);
  state.follow = false;
  $("replay").textContent = "Stop";
  replaying = setInterval(() => {
    state.step += kEvery;
    if (state.step >= lastStep()) stopReplay();
    draw();
  }, 70);
}
function fillKeys() {
  const names = Array.from({ length: state.query + 1 }, (_, j) => new Option(`${j + 1}: symbol ${state.tokens[j]}`, j));
  if (models[1].design.extra) names.push(new Option("*: extra key", -1));
  $("key").replaceChildren(...names);
  if (![...$("key").options].some((option) => Number(option.value) === state.key)) state.key = 0;
  $("key").value = state.key;
}
function chooseQuery(i, key) {
  state.query = Math.max(0, Math.min(T - 1, i));
  if (key !== undefined) state.key = key;
  else if (state.key > state.query) state.key = 0;
  $("query").value = state.query;
  fillKeys();
  draw();
}
function chooseKey(j) { state.key = j; $("key").value = j; draw(); }
function chooseHead(head) {
  state.head = head;
  for (const button of document.querySelectorAll("[data-head]")) button.setAttribute("aria-pressed", Number(button.dataset.head) === head);
  draw();
}

$("operation").replaceChildren(...operations.map((operation, n) => new Option(operation.name, n)));
$("charts").replaceChildren(...charts.map(() => document.createElement("div")));
$("step").step = kEvery;
$("start").addEventListener("click", start);
$("replay").addEventListener("click", replay);
$("step").addEventListener("input", () => goTo(Number($("step").value)));
for (const id of ["operation", "extra", "gate"]) $(id).addEventListener("change", toAddress);
addEventListener("hashchange", () => { fromAddress(); scrollTo({ top: 0 }); setRunning(true); });
$("query").addEventListener("change", () => chooseQuery(Number($("query").value)));
$("key").addEventListener("change", () => chooseKey(Number($("key").value)));
const rowsWhere = (holds) => state.tokens.map((_, i) => i).filter((i) => i > 4 && holds(i));
$("trigger-row").addEventListener("click", () => { const i = rowsWhere(isTrigger)[0]; chooseQuery(i, i - 1); });
$("idle-row").addEventListener("click", () => chooseQuery(25, 0));
for (const button of document.querySelectorAll("[data-head]")) button.addEventListener("click", () => chooseHead(Number(button.dataset.head)));
// The query and key below the pointer; key -1 is the extra key. Null outside.
function cellAt(canvas, event) {
  const box = canvas.getBoundingClientRect(), { left, top, cell, extra } = geometry, x = event.clientX - box.left - left;
  const i = Math.floor((event.clientY - box.top - top) / cell), j = Math.floor((x - extra) / cell);
  if (i < 0 || i >= T || x < 0) return null;
  return { i, j: extra > 0 && x < cell ? -1 : j >= 0 && j <= i ? j : undefined };
}
for (const canvas of document.querySelectorAll(".model canvas")) {
  canvas.addEventListener("click", (event) => { const at = cellAt(canvas, event); if (at) chooseQuery(at.i, at.j); });
  canvas.addEventListener("pointermove", (event) => {
    const at = cellAt(canvas, event), pointed = at && at.j !== undefined ? at : null;
    if (JSON.stringify(pointed) === JSON.stringify(state.pointed)) return;
    state.pointed = pointed;
    if (models.every((model) => model.history.length)) [0, 1].forEach(drawCaption);
  });
  canvas.addEventListener("pointerleave", () => { state.pointed = null; draw(); });
}
document.addEventListener("toggle", draw, true);
addEventListener("keydown", (event) => {
  const there = event.target;
  if (event.ctrlKey || event.metaKey || event.altKey || ["SELECT", "INPUT", "PRE"].includes(there.tagName)) return;
  if (event.key === " " && ["BUTTON", "SUMMARY", "A"].includes(there.tagName)) return;
  const actions = { " ": start, ArrowRight: () => goTo(state.step + kEvery), ArrowLeft: () => goTo(state.step - kEvery), ArrowUp: () => chooseQuery(state.query - 1),
                    ArrowDown: () => chooseQuery(state.query + 1), Home: () => goTo(0), End: () => goTo(kSteps), h: () => chooseHead(1 - state.head) };
  if (!actions[event.key] || !models[0].history.length) return;
  event.preventDefault();
  actions[event.key]();
});
addEventListener("resize", draw);
const scheme = matchMedia("(prefers-color-scheme: dark)");
const applyScheme = () => { document.documentElement.dataset.theme = scheme.matches ? "dark" : "light"; draw(); };
scheme.addEventListener("change", applyScheme);
applyScheme();
document.documentElement.dataset.ready = "yes";
