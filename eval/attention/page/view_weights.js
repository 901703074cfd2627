// The weights of a page: patterns that it stores, and those that it computes from queries and keys.
"use strict";
const data = JSON.parse(document.getElementById("view-data").textContent);
const T = data.tokens.length, count = data.maps.length;
// A weight of the large map is of cell x cell tokens; small maps have cells of their own.
const cell = data.computed ? 1 : data.cell, n = Math.ceil(T / cell), smallSide = Math.ceil(T / data.cell);

const bytesOf = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
const floatsOf = (text) => new Float32Array(bytesOf(text).buffer);

// make(h), of which the last `most` results are kept.
function remembered(most, make) {
  const kept = new Map();
  return (h) => {
    if (!kept.has(h)) {
      if (kept.size >= most) kept.delete(kept.keys().next().value);
      kept.set(h, make(h));
    }
    return kept.get(h);
  };
}

// A stored pattern, smallSide x smallSide; zero above the diagonal.
const storedOf = remembered(64, (h) => {
  const bytes = bytesOf(data.maps[h]), weights = new Float32Array(smallSide * smallSide);
  for (let i = 0, at = 0; i < smallSide; ++i)
    for (let j = 0; j < (data.square ? smallSide : i + 1); ++j, ++at) weights[i * smallSide + j] = (bytes[at] / 255) ** 2;
  return weights;
});

// T vectors of 8 bits with their scales.
function vectorsOf(text) {
  const bytes = bytesOf(text);
  return { scales: new Float32Array(bytes.buffer, 0, T), values: new Int8Array(bytes.buffer, 4 * T) };
}

// Row by row as ViewQueriesKeys::check does: s = scale of q, scale of k, q . k, and a bias by distance; then softmax over all
// keys but that of the largest weight, which is stored.
const computedOf = remembered(8, (h) => {
  const { width, kv_heads, q, k, bias, share, largest } = data.computed, layer = Math.floor(h / data.heads);
  const Q = vectorsOf(q[h]), K = vectorsOf(k[layer * kv_heads + Math.floor((h % data.heads) / (data.heads / kv_heads))]);
  const added = bias[h] ? floatsOf(bias[h]) : new Float32Array(T), shares = share[h] ? floatsOf(share[h]) : new Float32Array(T).fill(1);
  const stored = new Uint16Array(bytesOf(largest[h]).buffer), weights = new Float32Array(T * T), scores = new Float64Array(T);
  for (let i = 0; i < T; ++i) {
    const best = stored[i], weight = stored[T + i] / 65535;
    let top = -Infinity, others = 0;
    for (let j = 0; j <= i; ++j) {
      let dot = 0;
      for (let d = 0; d < width; ++d) dot += Q.values[i * width + d] * K.values[j * width + d];
      scores[j] = Q.scales[i] * K.scales[j] * dot + added[i - j];
      if (scores[j] > top) top = scores[j];
    }
    for (let j = 0; j <= i; ++j) {
      scores[j] = Math.exp(scores[j] - top);
      if (j !== best) others += scores[j];
    }
    const rest = others > 0 ? Math.max(0, shares[i] - weight) / others : 0;
    for (let j = 0; j <= i; ++j) weights[i * T + j] = j === best ? weight : rest * scores[j];
  }
  return weights;
});

// The weights of one head, n x n.
const weightsOf = (h) => (data.computed ? computedOf(h) : storedOf(h));
