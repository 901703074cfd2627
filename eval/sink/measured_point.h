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

}  // namespace sink
