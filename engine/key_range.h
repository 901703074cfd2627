// The attention mask as a few integers: always causal, optionally with a sliding window, a prefix, and a document
// mask.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "engine/host_device.h"

namespace sink {

// A half-open range of positions; empty if begin >= end.
template <class Int>
struct SpanOf {
  Int begin, end;
  SINK_HD bool empty() const { return begin >= end; }
};

// Query i sees its own keys (i - window, i], or [0, i] without a window, and the first `prefix` keys even if they are
// in its future or outside its window. A key outside the range does not exist for the query: nothing is ever -infinity,
// so operations that do not normalise need no special case. Where documents follow each other, the own keys of a query
// are those of its document.
//
// Int is std::int64_t, or std::int32_t in kernels that are short of registers.
template <class Int>
struct KeyRangeOf {
  using Span = SpanOf<Int>;
  static constexpr Int kNoLimit = std::numeric_limits<Int>::max() - 1;

  Int prefix = 0;  // keys that every row sees; 0 and 1 differ only under a window
  Int window = 0;  // keys a row sees, its own included; 0: all
  // For each of `positions` positions after the first `lead`: where its document begins. Both count from `lead`, and
  // the list is non-decreasing. Null: all positions are one document.
  const std::int32_t* document_starts = nullptr;
  Int lead = 0, positions = 0;

  // The first of its own keys. Positions after the last, which are padding, belong to the last document.
  SINK_HD Int first(Int i) const {
    Int in_window = window > 0 ? std::max<Int>(0, i - window + 1) : 0;
    return document_starts ? std::max(in_window, document_start(i)) : in_window;
  }
  // The last query that has key j among its own; kNoLimit where nothing limits it.
  SINK_HD Int last(Int j) const {
    Int in_window = window > 0 ? j + window - 1 : kNoLimit;
    return document_starts ? std::min(in_window, document_end(j) - 1) : in_window;
  }
  SINK_HD bool sees(Int i, Int j) const { return (first(i) <= j && j <= i) || j < prefix; }
  // How many keys query i sees among T.
  SINK_HD Int count(Int i, Int T) const {
    Int prefix_end = std::min(prefix, T);
    return prefix_end + std::max<Int>(0, i + 1 - std::max(prefix_end, first(i)));
  }

  // f(j) for the keys query i sees among T, in rising order.
  template <class F>
  SINK_HD void for_each_key(Int i, Int T, F&& f) const {
    Int prefix_end = std::min(prefix, T);
    for (Int j = 0; j < prefix_end; ++j) f(j);
    for (Int j = std::max(prefix_end, first(i)); j <= i; ++j) f(j);
  }

  // The shortest range of `keys` that contains every key that some query of `queries` sees.
  SINK_HD Span key_bounding_range(Span queries, Span keys) const {
    Span own{std::max(keys.begin, first(queries.begin)), std::min(keys.end, queries.end)};
    Span shared{keys.begin, std::min(keys.end, prefix)};
    if (shared.empty()) return own;
    if (own.empty()) return shared;
    return {keys.begin, std::max(own.end, shared.end)};
  }
  // The shortest range of `queries` that contains every query that sees some key of `keys`.
  SINK_HD Span query_bounding_range(Span queries, Span keys) const {
    if (keys.begin < prefix) return queries;
    Int end = last(keys.end - 1);
    return {std::max(queries.begin, keys.begin), end < queries.end ? end + 1 : queries.end};
  }
  // Whether every query of `queries` sees every key of `keys`. May be false where only prefix and window together show
  // it.
  SINK_HD bool sees_all(Span queries, Span keys) const {
    bool causal = keys.end - 1 <= queries.begin && first(queries.end - 1) <= keys.begin;
    return causal || keys.end <= prefix;
  }

  SINK_HD Int document_start(Int i) const {
    return i < lead || positions == 0 ? 0 : lead + document_starts[std::min(i - lead, positions - 1)];
  }
  // The first position of a later document than that of i; kNoLimit if there is none.
  SINK_HD Int document_end(Int i) const {
    Int begin = std::max(i + 1, lead), end = lead + positions;
    if (begin >= end || document_start(end - 1) <= i) return kNoLimit;
    while (begin < end) {
      Int middle = begin + (end - begin) / 2;
      if (document_start(middle) > i)
        end = middle;
      else
        begin = middle + 1;
    }
    return begin;
  }
};

using Span = SpanOf<std::int64_t>;
using KeyRange = KeyRangeOf<std::int64_t>;

}  // namespace sink
