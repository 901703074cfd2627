// The weights of a page of a long text: pooled ones that it stores, and those of some heads that it computes from queries
// and keys, at full resolution.
"use strict";
const data = JSON.parse(document.getElementById("view-data").textContent);
const T = data.tokens.length, count = data.maps.length, cell = data.cell, side = Math.ceil(T / cell);

function bytesOf(text) {
  const characters = atob(text), bytes = new Uint8Array(characters.length);
  for (let n = 0; n < bytes.length; ++n) bytes[n] = characters.charCodeAt(n);
  return bytes;
}
const floatsOf = (text) => new Float32Array(bytesOf(text).buffer);

// The pooled weights of head h, side x side; zero above the diagonal.
function pooledOf(h) {
  const bytes = bytesOf(data.maps[h]), weights = new Float32Array(side * side);
  for (let i = 0, at = 0; i < side; ++i)
    for (let j = 0; j < (data.square ? side : i + 1); ++j, ++at) weights[i * side + j] = (bytes[at] / 255) ** 2;
  return weights;
}

// The share of a layer's attention that each key receives.
const receivedOf = (row) => Float32Array.from(new Uint16Array(bytesOf(data.received[row]).buffer), (x) => (x / 65535) ** 2);

// T vectors of 16 bits with their scales.
function vectorsOf(text) {
  const bytes = bytesOf(text);
  return { scales: new Float32Array(bytes.buffer, 0, T), values: new Int16Array(bytes.buffer, 4 * T) };
}

// The heads in full, by their number among all; read when they are first asked for.
const isFull = new Map(data.full.heads.map((head) => [data.attention.indexOf(head.layer) * data.heads + head.head, head]));
const opened = new Map();
function fullHead(h) {
  if (!opened.has(h)) {
    const head = isFull.get(h);
    opened.set(h, { Q: vectorsOf(head.q), K: vectorsOf(data.full.keys[head.k]), window: head.window,
                    bias: head.bias ? floatsOf(head.bias) : null, share: head.share ? floatsOf(head.share) : null,
                    normalizers: new Float64Array(T).fill(NaN) });
  }
  return opened.get(h);
}

// Whether query i sees key j.
const sees = (head, i, j) => (j <= i && (head.window === 0 || j > i - head.window)) || j < data.full.prefix;

// s_ij = scale of q_i, scale of k_j, Q_i . K_j, and a bias by distance.
function scoreOf({ Q, K, bias }, i, j) {
  const D = data.full.width, q = Q.values, k = K.values;
  let dot = 0;
  for (let d = 0, at = i * D, other = j * D; d < D; ++d) dot += q[at + d] * k[other + d];
  return Q.scales[i] * K.scales[j] * dot + (bias ? bias[Math.max(0, i - j)] : 0);
}

// log sum_j e^s_ij over the keys that query i sees, less the logarithm of what these get of the row.
function normalizerOf(head, i) {
  if (Number.isNaN(head.normalizers[i])) {
    let top = -Infinity, sum = 0;
    for (let j = 0; j < T; ++j) {
      if (j > i && j >= data.full.prefix) break;
      if (!sees(head, i, j)) continue;
      const s = scoreOf(head, i, j);
      if (s > top) [sum, top] = [sum * Math.exp(top - s), s];
      sum += Math.exp(s - top);
    }
    head.normalizers[i] = top + Math.log(sum) - (head.share ? Math.log(head.share[i]) : 0);
  }
  return head.normalizers[i];
}

// The weights of head h between queries from i0 and keys from j0 on; zero where a query does not see a key.
function windowOf(h, i0, j0, queries, keys) {
  const head = fullHead(h), weights = new Float32Array(queries * keys);
  for (let i = i0; i < i0 + queries; ++i) {
    const normalizer = normalizerOf(head, i);
    for (let j = j0; j < j0 + keys; ++j)
      if (sees(head, i, j)) weights[(i - i0) * keys + j - j0] = Math.exp(scoreOf(head, i, j) - normalizer);
  }
  return weights;
}
