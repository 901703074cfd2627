#include "eval/sink/even_attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/key_range.h"

namespace sink {

namespace {

// The weight on position `column`, mean over the rows that see it, and on an extra key, summed over rows; the mean over
// blocks.
struct Sums {
  double on_column = 0, on_extra_key = 0;
};

// What a row sees, among the positions of sink tokens and the T others (model/layer/attention_layer.h).
KeyRange range_of(const VisibleKeys& keys, std::int64_t window) {
  if (keys.document_starts)
    return {.prefix = keys.extra_tokens,
            .window = window,
            .document_starts = keys.document_starts,
            .lead = keys.extra_tokens,
            .positions = keys.T};
  return {.prefix = keys.prefix > 0 ? std::min(keys.prefix, keys.T) + keys.extra_tokens : 0, .window = window};
}

// The rows that see position `column`.
double rows_that_see(const KeyRange& range, std::int64_t column, std::int64_t positions) {
  const std::int64_t first = column < range.prefix ? 0 : column;
  const std::int64_t end = column < range.prefix ? positions : std::min(positions, range.last(column) + 1);
  return static_cast<double>(end - first);
}

Sums sums_of_block(const VisibleKeys& keys, std::int64_t column, std::int64_t window) {
  const KeyRange range = range_of(keys, window);
  const std::int64_t positions = keys.T + keys.extra_tokens;
  Sums sums;
  for (std::int64_t i = 0; i < positions; ++i) {
    const double weight = 1 / static_cast<double>(range.count(i, positions) + keys.extra_key);
    if (range.sees(i, column)) sums.on_column += weight;
    sums.on_extra_key += weight;
  }
  sums.on_column /=
      keys.by_all_rows ? static_cast<double>(positions - column) : rows_that_see(range, column, positions);
  return sums;
}

Sums sums_of(const VisibleKeys& keys, std::int64_t column) {
  const Sums windowed = sums_of_block(keys, column, keys.window);
  if (keys.window == 0 || keys.global_layers == 0) return windowed;
  const Sums full = sums_of_block(keys, column, 0);
  const double share = static_cast<double>(keys.global_layers) / static_cast<double>(keys.layers);
  return {windowed.on_column + share * (full.on_column - windowed.on_column),
          windowed.on_extra_key + share * (full.on_extra_key - windowed.on_extra_key)};
}

}  // namespace

double even_alpha(const VisibleKeys& keys, std::int64_t k) {
  return sums_of(keys, keys.extra_tokens + k - 1).on_column;
}

double even_entropy(const VisibleKeys& keys) {
  const std::int64_t positions = keys.T + keys.extra_tokens;
  const auto of_block = [&](std::int64_t window) {
    const KeyRange range = range_of(keys, window);
    double sum = 0;
    for (std::int64_t i = 0; i < positions; ++i)
      sum += std::log(static_cast<double>(range.count(i, positions) + keys.extra_key));
    return sum / static_cast<double>(positions);
  };
  const double full = keys.window == 0 ? 1 : static_cast<double>(keys.global_layers) / static_cast<double>(keys.layers);
  return full * of_block(0) + (1 - full) * of_block(keys.window);
}

EvenAttention even_attention(const VisibleKeys& keys) {
  EvenAttention even{even_alpha(keys, 1), std::numeric_limits<double>::quiet_NaN()};
  if (keys.extra_tokens > 0)
    even.alpha_star = sums_of(keys, 0).on_column;
  else if (keys.extra_key)
    even.alpha_star = (1 + sums_of(keys, 0).on_extra_key) / static_cast<double>(keys.T + 1);
  return even;
}

VisibleKeys visible_keys(const Sizes& sizes, std::int64_t T, std::int64_t extra_tokens, bool extra_key) {
  std::int64_t global_layers = 0;
  for (std::int64_t row = 0; row < sizes.attention_layers(); ++row)
    global_layers += sizes.is_global(sizes.attention_layer(row));
  return {.T = T,
          .layers = sizes.attention_layers(),
          .window = sizes.window,
          .prefix = sizes.prefix,
          .global_layers = global_layers,
          .extra_key = extra_key,
          .extra_tokens = extra_tokens};
}

std::vector<std::vector<double>> rows_that_see(const Sizes& sizes, std::int64_t layer, std::int64_t T,
                                               std::int64_t extra_tokens, std::int64_t sequences, std::int64_t columns,
                                               const DocumentPlaces& documents) {
  VisibleKeys keys = visible_keys(sizes, T, extra_tokens, false);
  std::vector<std::vector<double>> rows_BX;
  for (std::int64_t b = 0; b < sequences; ++b) {
    if (documents.defined()) keys.document_starts = documents.starts_BT.data<std::int32_t>() + b * T;
    const KeyRange range = range_of(keys, sizes.is_global(layer) ? 0 : sizes.window);
    rows_BX.emplace_back();
    for (std::int64_t j = 0; j < columns; ++j) rows_BX.back().push_back(rows_that_see(range, j, T + extra_tokens));
  }
  return rows_BX;
}

}  // namespace sink
