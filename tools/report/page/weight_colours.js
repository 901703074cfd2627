// The colour of a weight: from its share of a scale, linear or logarithmic; the scale itself, as a bar.
"use strict";

// "mako" of viridisLite: even in lightness and safe for colour-blind readers, from a weight of 0 to 1. Keys that a query
// cannot see are not painted; the background is further from weight 1 than weight 0 is, in both themes.
const kRamps = {
  light: [[222, 245, 229], [138, 217, 177], [64, 183, 173], [52, 143, 168], [55, 101, 158], [65, 61, 123], [46, 30, 60], [11, 4, 5]],
  dark: [[44, 47, 77], [56, 70, 132], [55, 101, 158], [52, 143, 168], [64, 183, 173], [112, 207, 173], [168, 227, 198], [232, 250, 238]],
};
// Negative weights, which a few operations have: through orange.
const kNegative = {
  light: [[222, 245, 229], [247, 200, 140], [224, 130, 50], [160, 70, 10], [90, 35, 5]],
  dark: [[44, 47, 77], [120, 66, 40], [200, 105, 40], [245, 165, 90], [255, 225, 190]],
};
const kLogFloor = 1e-3;  // of the scale's top
const themeName = () => (document.documentElement.dataset.theme === "dark" ? "dark" : "light");

// `share` from -1 to 1 -> [r, g, b].
function rampColour(share) {
  const ramp = (share < 0 ? kNegative : kRamps)[themeName()];
  const at = Math.min(1, Math.abs(share)) * (ramp.length - 1);
  const low = Math.min(ramp.length - 2, Math.floor(at)), part = at - low;
  return ramp[low].map((from, c) => Math.round(from + part * (ramp[low + 1][c] - from)));
}
const rgb = (colour) => `rgb(${colour.join(",")})`;
const luminance = ([r, g, b]) => 0.299 * r + 0.587 * g + 0.114 * b;

function scaleShare(value, top, logarithmic) {
  if (!logarithmic) return value / top;
  const size = Math.abs(value);
  return size === 0 ? 0 : Math.sign(value) * Math.max(0, 1 + Math.log10(size / top) / -Math.log10(kLogFloor));
}
// A round number at or above the largest magnitude; 1 if all are at most 1.
function scaleTop(rows) {
  let largest = 0;
  for (const row of rows) for (const v of row) if (Math.abs(v) > largest) largest = Math.abs(v);
  if (largest <= 1.005) return 1;
  const unit = 10 ** Math.floor(Math.log10(largest));
  return Math.ceil(largest / unit) * unit;
}

function rampStops(negative) {
  return Array.from({ length: 13 }, (_, i) => rampColour(negative ? i / 6 - 1 : i / 12));
}
function showRamp(box, top, logarithmic, negative) {
  const low = document.createElement("span"), high = document.createElement("span"), bar = document.createElement("i");
  const masked = document.createElement("i"), name = document.createElement("span");
  low.textContent = negative ? compact(-top) : logarithmic ? "\u2264 " + compact(top * kLogFloor) : "0";
  high.textContent = compact(top) + (logarithmic ? " (log)" : "");
  bar.style.background = `linear-gradient(90deg, ${rampStops(negative).map(rgb).join(",")})`;
  masked.className = "masked";
  name.textContent = "not visible to the query";
  box.replaceChildren(low, bar, high, masked, name);
}
