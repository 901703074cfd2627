// Trains a model of sink.cpp, and posts what it is after every `every` steps.
"use strict";
let program, every, T, C, H, steps, model, running = false, waiting = false;  // model: { run, step, design }

// The memory is asked for after the call that may let it grow.
const doubles = (pointer, count) => new Float64Array(program.memory.buffer, pointer, count);
const values = (pointer, count) => Float32Array.from(doubles(pointer, count));
function post() {
  const { run, step, design } = model;
  const [loss, alpha, sink, extraAlpha, extraSink] = doubles(program.page_measure(step === steps ? 10 : 4), 5);
  program.page_run();
  postMessage({ run, step, loss, alpha, sink, extraAlpha, extraSink, a: values(program.page_pattern(), H * T * T),
                heads: values(program.page_heads(), T * 3 * C), memory: program.memory.buffer.byteLength,
                extra: design.extra ? values(program.page_extra(), H * T) : null,
                extraKey: design.extra ? values(program.page_extra_key(), C) : null,
                gates: design.gate ? values(program.page_gates(), T * H) : null });
}

// Trains for a while, then lets messages in.
function train() {
  waiting = false;
  const until = performance.now() + 100;
  while (running && performance.now() < until) {
    if (model.step === steps) { running = false; break; }
    program.page_step(++model.step);
    if (model.step % every === 0) post();
  }
  if (running) soon();
}
function soon() {
  if (!waiting) setTimeout(train, 0);
  waiting = true;
}

async function receive(data) {
  if (data.module) {
    const module = await WebAssembly.compile(data.module), imports = {};  // with Debian 12's libraries there are none
    for (const { module: from, name } of WebAssembly.Module.imports(module))
      (imports[from] ??= {})[name] = () => { throw new Error(`the program calls ${name}, which a page does not have`); };
    program = (await WebAssembly.instantiate(module, imports)).exports;
    program._initialize();
    ({ every, sizes: { T, C, H, kSteps: steps } } = data);
    const tokens = program.page_tokens();
    postMessage({ tokens: Array.from(new Int32Array(program.memory.buffer, tokens, T)) });
  } else if (data.design) {
    const { run, design } = data;
    model = { run, step: 0, design };
    program.page_start(design.operation, Number(design.extra), Number(design.gate));
    post();
  } else {
    running = data.running;
    if (running) soon();
  }
}
onmessage = ({ data }) => receive(data).catch((error) => postMessage({ failed: String(error) }));
