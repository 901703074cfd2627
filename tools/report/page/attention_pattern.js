// The attention pattern of one head, decoded from what the report stores.
"use strict";

const kMaxDecodedMaps = 24;  // of a run, cached; the oldest is dropped first
// Decodes base64 of 16-bit floats, little-endian.
function halves(text, exponent) {
  const bytes = atob(text), scale = 2 ** exponent, out = new Float64Array(bytes.length / 2);
  for (let i = 0; i < out.length; ++i) {
    const bits = bytes.charCodeAt(2 * i) | (bytes.charCodeAt(2 * i + 1) << 8);
    const exponent = (bits >> 10) & 31, part = bits & 1023;
    const size = exponent === 0 ? part * 2 ** -24 : exponent === 31 ? NaN : (1 + part / 1024) * 2 ** (exponent - 15);
    out[i] = (bits & 32768 ? -size : size) * scale;
  }
  return out;
}
// Whether query i sees key j, as engine/key_range.h has it.
const sees = (maps, i, j) => j < maps.prefix || (j <= i && (maps.window === 0 || i - j < maps.window));

// The map of one head: {rows: [i] -> weights by column, NaN where masked; shares, sums: [i]}, null if it is not stored.
// Column 0 is the extra key where there is one.
function mapOf(maps, sequence, layer, head) {
  const at = (sequence * maps.layers + layer) * maps.heads + head, text = maps.weights[at];
  if (!text) return null;
  maps.read = maps.read || new Map();
  if (maps.read.has(at)) return maps.read.get(at);
  const values = halves(text, maps.exponent), n = maps.tokens[sequence].length, star = maps.extra_key ? 1 : 0, rows = [];
  let next = 0;
  for (let i = 0; i < n; ++i) {
    const row = new Float64Array(n + star).fill(NaN);
    if (star) row[0] = values[next++];
    for (let j = 0; j < n; ++j) if (maps.full || sees(maps, i, j)) row[j + star] = values[next++];
    rows.push(row);
  }
  const sum = (values) => values.reduce((total, a) => (Number.isNaN(a) ? total : total + a), 0);
  // As in evaluation.json: proxy is |a| / (sum |a| + 1e-8); the sum is over tokens, with signs.
  const shares = rows.map((row) => { const size = sum(row.map(Math.abs)) + 1e-8; return row.map((a) => Math.abs(a) / size); });
  const sums = rows.map((row) => sum(row.subarray(star)));
  const made = { rows, shares, sums, top: scaleTop(rows), shareTop: scaleTop(shares), negative: rows.some((row) => row.some((a) => a < 0)) };
  if (maps.read.size >= kMaxDecodedMaps) maps.read.delete(maps.read.keys().next().value);
  maps.read.set(at, made);
  return made;
}
