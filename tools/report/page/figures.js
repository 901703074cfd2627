// Makes the figures of each task with their controls: captions, alternative texts, canvases. charts.js and maps.js draw them.
"use strict";
const kMaxNamedRuns = 12;  // in one text
const kAlpha = "&alpha;<sub>1</sub>";
const kTableBelow = '<details class="values"><summary>Values as a table</summary><div class="scroll" tabindex="0"></div></details>';
const measureNamed = Object.fromEntries(report.measures.map((measure) => [measure.name, measure]));
const isKnown = (value) => typeof value === "number" && Number.isFinite(value);

const term = (name, text) => `<abbr tabindex="0" data-term="${name}">${text}</abbr>`;
const inNote = (note) => (note ? `<p class="note">${note}</p>` : "");
const inControls = (controls) => (controls ? `<div class="controls">${controls}</div>` : "");
const bar = (title, note, controls) => `<div class="bar"><div><h3>${title}</h3>${inNote(note)}</div>${inControls(controls)}</div>`;
const collapsed = (title, note, controls, content) =>
  `<details class="more"><summary><h3>${title}</h3></summary><div class="bar"><div>${inNote(note)}</div>${inControls(controls)}</div>${content}</details>`;
// Radio buttons: [value, text], the first one checked. `name` is "<what it changes>-<index of the task>".
const segments = (name, legend, choices) => `<fieldset><legend>${legend}</legend><span class="segments">` + choices.map(([value, text], at) =>
  `<label><input type="radio" name="${name}" value="${value}"${at === 0 ? " checked" : ""}><span>${text}</span></label>`).join("") + "</span></fieldset>";
const scaleChoice = (name, legend) => segments(name, legend, [["linear", "linear"], ["logarithmic", "log"]]);
const lossChoice = (g, above) => segments("loss-" + g, "Loss", [["nats", "nats"], ["above", above]]) + scaleChoice("steps-" + g, "Steps");
const weightsChoice = (g) => segments("weights-" + g, "Weights", [["raw", "raw"], ["proxy", "proxy"]]);
const coloursChoice = (g) => segments("colour-" + g, "Colours", [["linear", "linear"], ["log", "log"]]);
const sequenceChoice = (g, count) => segments("sequence-" + g, "Sequence", Array.from({ length: count }, (_, i) => [i, i + 1]));
// "a, b and 3 more": at most `most` names.
const namesOf = (runs, most) => runs.slice(0, most).map((run) => xml(run.name)).join(", ") + (runs.length > most ? ` and ${runs.length - most} more` : "");
const saveButtons = (zoom) => '<div class="tools">' + (zoom ? '<button type="button" data-zoom hidden>Reset zoom</button>' : "") + ["csv", "png", "svg"].map((kind) =>
  `<button type="button" data-save="${kind}" aria-label="Save this figure as ${kind.toUpperCase()}">${kind.toUpperCase()}</button>`).join("") + "</div>";

// A chart: a canvas that charts.js draws by the data- `attributes`, and a table of its values. `alt` describes it to screen readers.
function framed(g, attributes, title, caption, alt) {
  const zoom = !attributes.includes('"bars"');
  return `<figure data-group="${g}" ${attributes}><figcaption>${saveButtons(zoom)}<h4>${title}</h4><p>${caption}</p></figcaption><div class="plot">` +
    `<canvas role="img" tabindex="0" aria-label="${alt}${zoom ? " Plus and minus zoom, arrows move, 0 shows all." : ""}"></canvas></div>${kTableBelow}</figure>`;
}
// Buttons of each head.
function tilesOf(kind, name, table) {
  let peak = -1, largest = "";
  table.forEach((row, l) => row.forEach((alpha, h) => {
    if (isKnown(alpha) && alpha > peak) [peak, largest] = [alpha, `, largest by proxy ${significant(alpha)} in layer ${l}, head ${h}`];
  }));
  return `<div class="tilebox"><p>${name}${kind === "alpha_1" ? " of each head; rows: layers" : ""}</p><div class="tiles" data-tiles="${kind}" role="group" ` +
    `aria-label="${name} by layer and head${largest}. Each head is a button that shows its attention pattern."></div></div>`;
}
// An attention pattern, and tiles to choose its head by; without tiles if `attributes` give its head.
function framedHeads(g, r, title, same, attributes = "") {
  const run = report.runs[r];
  const tiles = attributes ? "" : report.measures.filter(({ name, tiles }) => tiles && run[name])
    .map(({ name, tiles }) => tilesOf(name, tiles + (run[name + "_raw"] ? same : ""), run[name])).join("");
  return `<figure class="heads" data-group="${g}" data-run="${r}"${attributes}><figcaption>${saveButtons(false)}<h4>${title}</h4></figcaption>
<div class="mapbox"><canvas tabindex="0" role="img" aria-label="Attention pattern"${run.maps ? "" : " hidden"}></canvas><div class="cursor" hidden></div></div>
<div><div class="ramp" aria-hidden="true"></div><p class="chosen" aria-live="polite">${run.maps ? "" : "No attention patterns were stored with this run."}</p></div><p class="readout" role="status"></p>
${tiles && `<details class="tilebar"><summary>All heads</summary><div class="tilerow">${tiles}</div></details>`}${run.maps ? kTableBelow : ""}</figure>`;
}
const hasHeads = (run) => Boolean(run.alpha_1 && run.alpha_1.length && run.alpha_1[0].length);

// The figures of task g. Each method returns HTML, "" where no run has the values.
class TaskFigures {
  constructor(g) {
    Object.assign(this, { g, group: report.groups[g] });
    this.runs = this.group.runs.map((r) => report.runs[r]);
    this.proxy = this.runs.some((run) => !run.same);
    this.floor = this.runs.some((run) => run.floor);
    this.trainingFloor = this.runs.some((run) => run.floor && "train_loss" in run.floor);
    this.uniform = this.group.even[0];  // alpha_1 of uniform attention, where it is known
    this.shown = new Set(this.group.story);
  }
  some(key) { return this.runs.some((run) => run[key]); }
  rawOrProxy(raw) { return this.proxy ? term(raw ? "raw" : "proxy", raw ? "raw" : "proxy") : "raw = proxy"; }

  curve(name, title, caption) {
    const ends = this.runs.filter((run) => run.curves[name]).map((run) => [run.name, run.curves[name].last ?? run.curves[name].y.filter(isKnown).pop()])
      .filter(([, last]) => isKnown(last));
    if (!ends.length) return "";
    const alt = ends.slice(0, kMaxNamedRuns).map(([run, last]) => ` ${xml(run)} ends at ${significant(last)}.`).join("") +
      (ends.length > kMaxNamedRuns ? ` And ${ends.length - kMaxNamedRuns} runs more, in the table.` : "");
    return framed(this.g, `data-kind="curve" data-curve="${name}"`, title, caption, "Line chart over training steps." + alt);
  }
  sinkCurve(key, raw) {
    const star = key === "*";
    return this.curve((star ? "sink_star" : "sink_1") + (raw ? "_raw" : ""), term(star ? "star" : "sink_1", `Sink<sub>${key}</sub>`) + ", " + this.rawOrProxy(raw),
                      `Heads with &alpha;<sub>${key}</sub> above 0.3, in percent.`);
  }
  alphaCurves(key, whose, note) {
    const alpha = `&alpha;<sub>${key}</sub>, `, name = key === "*" ? "alpha_star" : "alpha_1";
    return this.curve(name, alpha + this.rawOrProxy(false), (this.proxy ? "Share of each row on " : "Attention on ") + whose + "." + note) +
      (this.proxy ? this.curve(name + "_raw", alpha + this.rawOrProxy(true), `Weight on ${whose}.`) : "");
  }
  bars(raw) {
    const name = raw ? "alpha_k_raw" : "alpha_k", alt = this.runs.filter((run) => run[name] && run[name].length > 1)
      .map((run) => ` ${xml(run.name)}: ${significant(run[name][0])} at 1, ${significant(run[name][1])} at 2.`).join("");
    return framed(this.g, `data-kind="bars" data-bars="${name}"`, "&alpha;<sub>k</sub>, " + this.rawOrProxy(raw),
                  "Weight on position k, mean over the queries that see it." + (isKnown(this.uniform) && !raw ? " Dotted: uniform attention." : ""),
                  "Bar chart of alpha k for positions 1 to 10." + alt);
  }
  heads(r, attributes) {
    const title = attributes ? "The head with the least attention to token 1" : swatch(report.runs[r]).outerHTML + xml(report.runs[r].name);
    return framedHeads(this.g, r, title, this.proxy ? "" : ", raw = proxy", attributes);
  }
  // The attributes of the head with the least weight on the first token among the stored patterns; "" without another.
  weakestHead({ maps, alpha_1: alpha }) {
    let least = Infinity, found = "";
    for (let l = 0; l < maps.layers; ++l)
      for (let h = 0; h < maps.heads; ++h) {
        if ((l === maps.chosen.layer && h === maps.chosen.head) || !maps.weights[l * maps.heads + h] || !(isKnown(alpha[l][h]) && alpha[l][h] < least)) continue;
        [least, found] = [alpha[l][h], ` data-layer="${l}" data-head="${h}"`];
      }
    return found;
  }
  // The first screen: the attention patterns of the extreme groups, or the strongest and the weakest head of a single run, next
  // to Sink_1 over training or, without curves, alpha_k.
  story() {
    const maps = [...this.shown], weakest = maps.length === 1 ? this.weakestHead(report.runs[maps[0]]) : "";
    return '<div class="story">' + maps.map((r) => this.heads(r)).join("") + (weakest ? this.heads(maps[0], weakest) : "") +
      (this.sinkCurve("1", false) || (this.some("alpha_k") ? this.bars(false) : "")) + "</div>";
  }
  // Choices that apply to all attention patterns of the task.
  controls() {
    const figures = this.runs.filter(hasHeads).length, sequences = Math.max(0, ...this.runs.map((run) => (run.maps ? run.maps.tokens.length : 0)));
    return '<div class="controls">' + (figures === 0 ? "" : (sequences > 1 ? sequenceChoice(this.g, sequences) : "") + (this.proxy ? weightsChoice(this.g) : "") +
      coloursChoice(this.g) + (figures > 1 ? `<label class="field"><input type="checkbox" name="linked-${this.g}"> same head in all</label>` : "")) + "</div>";
  }
  curves() {
    const uniform = isKnown(this.uniform) ? ` Dotted: uniform attention (${significant(this.uniform)}).` : "", inTable = this.runs.flatMap((run) => Object.values(run.curves));
    const long = inTable.find((curve) => curve.least), bucket = long ? `; longer runs in ${long.y.length} buckets of steps: the line is a bucket\u2019s mean, the band of a single run its least to its greatest` : "";
    const figures = this.curve("val_loss", "Validation loss", "Mean cross-entropy on held-out sequences, in nats." + (this.floor ? " Dashed grey, in nats: the lowest possible on these sequences." : "")) +
      this.curve("train_loss", "Training loss", `Per step${bucket}.` + (this.trainingFloor ? ` Dashed grey, in nats: the entropy of the task, the lowest possible on average${this.runs.every((run) => !run.floor || "train_loss" in run.floor) ? "" : "; not known with a prefix"}.` : "")) +
      (this.proxy ? this.sinkCurve("1", true) : "") + this.alphaCurves("1", "the first token", uniform) +
      this.curve("grad_norm", "Gradient norm", `Of all parameters, before clipping, per step${bucket}.`) +
      (!this.runs.some((run) => run.curves.alpha_star) ? "" :
        this.alphaCurves("*", "the extra key or sink token", "") + this.sinkCurve("*", false) + (this.proxy ? this.sinkCurve("*", true) : ""));
    return figures && bar("Over training", "Runs that differ in their seed alone are one line: their mean, and a band from the least to the greatest (no confidence interval). " +
      'Where some seeds have no value, the mean is of the others. <span class="mouse">Drag on a chart to zoom, double-click to reset.</span>',
      lossChoice(this.g, this.floor ? "above the best (log)" : "above the lowest (log)")) + `<div class="grid">${figures}</div>`;
  }
  sinkAgainstLoss() {
    const unknown = this.runs.filter(({ final }) => !final || !isKnown(final.val_loss) || !isKnown(final.sink_1)), known = this.runs.length - unknown.length;
    return known < 2 ? "" : bar("Sink<sub>1</sub> against validation loss", "", this.proxy ? segments("scatter-" + this.g, "Weights", [["sink_1", "proxy"], ["sink_1_raw", "raw"]]) : "") +
      framed(this.g, 'class="wide" data-kind="scatter"', `Sink<sub>1</sub>${this.proxy ? ", proxy or raw as chosen," : ", raw = proxy,"} and loss of every run`,
             "One point per run, &epsilon;&nbsp;0.3. Seeds of one line share colour and marker." +
               (unknown.length ? ` Without a point, because loss or sink is unknown: ${namesOf(unknown, kMaxNamedRuns)}.` : ""),
             `Scatter plot of ${known} runs. Left and right arrows select runs in order of their loss. Values in the table below.`);
  }
  otherMaps() {
    const figures = this.group.runs.filter((r) => hasHeads(report.runs[r]) && !this.shown.has(r)).map((r) => this.heads(r)).join("");
    return figures && bar(this.shown.size ? "Attention patterns of the other runs" : "Heads",
      `Each row is a query, each column a key before it; a sink is a strong stripe in the first column. A tile is the ${kAlpha} of one head, mean over sequences. Layers and heads count from 0.`, "") +
      `<div class="grid maps">${figures}</div>`;
  }
  firstPositions() {
    const inStory = !this.runs.some((run) => run.curves.sink_1);
    if (!this.some("alpha_k") || (inStory && !this.proxy)) return "";
    return collapsed("Is it only the first token?", "", "", `<div class="grid">${inStory ? "" : this.bars(false)}${this.proxy ? this.bars(true) : ""}</div>`);
  }
  // Along positions and layers. A caption names the runs that lack the values, because unknown is not zero.
  profiles() {
    const kinds = ["layer position", "layer head", "position"].flatMap((axes) => report.measures.filter((measure) => measure.title && measure.axes === axes));
    const measured = kinds.filter(({ name }) => this.some(name)), absent = kinds.filter(({ name, optional }) => !optional && !this.some(name));
    if (!measured.length) return "";
    const figures = measured.map(({ name, title, caption }) => {
      const lacking = this.runs.filter((run) => !run[name]);
      return framed(this.g, `data-kind="profile" data-norm="${name}"`, title, caption + (lacking.length ? ` Unknown for ${namesOf(lacking, 3)}.` : ""),
                    `Line chart: ${title}. Values in the table below.`);
    }).join("");
    const levels = Math.max(0, ...this.runs.map((run) => (run.hidden_norm ? run.hidden_norm.length : 0)));
    const cut = Math.max(0, ...this.runs.map((run) => (run.hidden_norm ? run.hidden_norm[0].length : 0)));
    const note = "Means over sequences; of several seeds the mean, and a band from the least to the greatest. A sink usually shows as a large hidden state and a small value at position 1" +
      (this.group.sink_token ? "; where a model has a sink token, that is position 1." : ".") +
      (this.group.positions > cut ? ` The first ${cut} of ${this.group.positions} positions.` : "") +
      (absent.length ? ` Not measured in these runs: ${absent.map(({ title }) => title).join(", ")}.` : "");
    const layers = Array.from({ length: levels }, (_, l) =>  // opens in the middle
      `<option value="${l}"${l === (levels + 1) >> 1 ? " selected" : ""}>${l === 0 ? "embedding (hidden state only)" : `layer ${l - 1}`}</option>`).join("");
    return collapsed("Hidden state, key and value by position and layer", note,
      `<label class="field">Show <select name="layer-${this.g}"><optgroup label="along the positions, in">${layers}</optgroup><optgroup label="along the layers, at">` +
      '<option value="first">position 1</option><option value="others">all other positions (mean)</option></optgroup></select></label>' +
      scaleChoice("norms-" + this.g, "Scale"), `<div class="grid three">${figures}</div>`);
  }
}

for (const section of all("section.group[data-index]")) {
  const task = new TaskFigures(section.dataset.index), put = (part, html) => { section.querySelector(`[data-part="${part}"]`).outerHTML = html; };
  put("story", task.story());
  put("controls", task.controls());
  put("charts", `<div class="charts">${task.curves()}${task.sinkAgainstLoss()}</div>`);
  put("more", task.otherMaps() + task.firstPositions() + task.profiles());
}
if (document.getElementById("two-runs")) {
  const sequences = Math.max(0, ...report.runs.map((run) => (run.maps ? run.maps.tokens.length : 0)));
  document.getElementById("pair-loss").innerHTML = lossChoice("pair", "above the lowest (log)");
  document.getElementById("pair-choices").insertAdjacentHTML("afterbegin", (sequences > 1 ? sequenceChoice("pair", sequences) : "") + weightsChoice("pair") + coloursChoice("pair"));
  for (const [at, side] of ["a", "b"].entries())
    report.runs.forEach((run, r) => document.querySelector(`select[name=${side}-pair]`).add(new Option(run.name, r, r === at, r === at)));
}

// A control's name is "<cause>-<group>".
for (const input of all(".controls input, .controls select"))
  input.addEventListener("change", () => redrawFor(input.name.split("-")[1], input.name.split("-")[0]));

// Tooltips with the definitions at the end of the page, for mouse, keyboard and touch.
for (const element of all("abbr[data-term]")) {
  const definition = document.getElementById("term-" + element.dataset.term).querySelector("dd").textContent;
  element.setAttribute("aria-description", definition);
  const show = () => { const { left, bottom } = element.getBoundingClientRect(); showTip(left, bottom - 8, [[definition, ""]]); };
  for (const event of ["pointerenter", "focus"]) element.addEventListener(event, show);
  for (const event of ["pointerleave", "blur"]) element.addEventListener(event, () => hideTip());
}
if (matchMedia("(min-width: 900px)").matches) for (const details of all("details.tilebar, details.chooser")) details.open = true;
