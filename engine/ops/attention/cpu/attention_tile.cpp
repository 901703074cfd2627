#include "engine/ops/attention/cpu/attention_tile.h"

namespace sink::cpu {

bool Tile::open(const AttentionSpan& span, std::int64_t first_query, std::int64_t first_key) {
  range = span.range;
  range.prefix = std::min(range.prefix, span.K);  // without padding
  t0 = first_query;
  i0 = span.first_position + t0;
  j0 = first_key;
  queries = static_cast<int>(std::min<std::int64_t>(kTile, round_up(span.T - t0, 16)));
  keys = static_cast<int>(std::min<std::int64_t>(kTile, round_up(span.K - j0, 16)));
  Span all_queries{i0, i0 + queries}, all_keys{j0, j0 + keys};
  if (range.key_bounding_range(all_queries, all_keys).empty()) return false;
  complete = range.sees_all(all_queries, all_keys);
  for (int block = 0; block * kRowBlock < queries; ++block) {
    std::int64_t i = i0 + block * kRowBlock;
    Span run = range.key_bounding_range({i, i + kRowBlock}, all_keys);
    key_runs[block] =
        run.empty() ? Span{0, 0}
                    : Span{(run.begin - j0) / kVectorFloats * kVectorFloats, round_up(run.end - j0, kVectorFloats)};
  }
  for (int block = 0; block * kRowBlock < keys; ++block) {
    std::int64_t j = j0 + block * kRowBlock;
    Span run = range.query_bounding_range(all_queries, {j, j + kRowBlock});
    query_runs[block] =
        run.empty() ? Span{0, 0} : Span{(run.begin - i0) / kRowBlock * kRowBlock, round_up(run.end - i0, kRowBlock)};
  }
  return true;
}

}  // namespace sink::cpu
