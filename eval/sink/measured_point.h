// What a measure of AttentionPoint is computed from (OfPoint of measures.h).
#pragma once

#include "eval/sink/measures.h"
#include "model/attention_point.h"

namespace sink {

struct MeasuredPoint {
  const AttentionPoint& point;
  const ValueTable& rows_BX;  // how many rows see each of the first positions
  std::int64_t extra_tokens;  // sink tokens, which are the first positions
  std::int64_t columns = 0;   // of the statistics
  mutable AttentionStatistics zero = {};

  // Of scores without q . k, computed once.
  const AttentionStatistics& without_products() const {
    if (!zero.row_sum_BH.defined()) zero = point.statistics_without_products(columns);
    return zero;
  }
};

// What the rows of a layer give key 1, by one pass of attention; undefined where weights are no exponentials of scores,
// and zero, to be computed from scores, where heads have one element.
struct FirstKeyRows {
  Tensor weight_BHT, others_BHT;  // F64: a_i1, and the sum over all other keys that row i sees

  // m_i of margin.cpp.
  double margin(const AttentionPoint& point, std::int64_t b, std::int64_t h, std::int64_t i) const;
};
FirstKeyRows first_key_rows(const AttentionPoint& point);

}  // namespace sink
