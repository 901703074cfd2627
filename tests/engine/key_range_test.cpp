// Key ranges against their definition, pair by pair.
#include "engine/key_range.h"

#include <doctest/doctest.h>

#include <vector>

using namespace sink;

TEST_CASE("key range: bounding ranges and completeness agree with single pairs") {
  // Of 12 positions the first `lead` belong to no document.
  const std::vector<std::int32_t> documents[] = {{},
                                                 {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
                                                 {0, 0, 0, 0, 4, 5, 6, 6, 6, 6, 6, 11},
                                                 {0, 1, 2, 3, 3, 3, 3, 3, 8, 8, 8, 8}};
  for (const auto& starts : documents)
    for (std::int64_t lead : {0, 1})
      for (std::int64_t prefix : {0, 1, 3, 9})
        for (std::int64_t window : {0, 1, 2, 7}) {
          KeyRange range{prefix, window};
          if (!starts.empty()) range = {prefix, window, starts.data(), lead, 12 - lead};
          if (starts.empty() && lead > 0) continue;
          for (std::int64_t i = 0; i < 12; ++i)
            for (std::int64_t j = 0; j < 12; ++j) {
              bool own = j <= i && (window == 0 || j > i - window);
              if (!starts.empty() && i >= lead) own = own && j >= lead + starts[i - lead];
              CHECK(range.sees(i, j) == (own || j < prefix));
            }
          for (std::int64_t i0 = 0; i0 < 12; i0 += 4)
            for (std::int64_t j0 = 0; j0 < 12; j0 += 4) {
              Span queries{i0, i0 + 4}, keys{j0, j0 + 4}, seen_keys{99, 0}, seeing_queries{99, 0};
              int pairs = 0;
              for (std::int64_t i = i0; i < i0 + 4; ++i)
                for (std::int64_t j = j0; j < j0 + 4; ++j) {
                  if (!range.sees(i, j)) continue;
                  ++pairs;
                  seen_keys = {std::min(seen_keys.begin, j), std::max(seen_keys.end, j + 1)};
                  seeing_queries = {std::min(seeing_queries.begin, i), std::max(seeing_queries.end, i + 1)};
                }
              CAPTURE(prefix);
              CAPTURE(window);
              CAPTURE(i0);
              CAPTURE(j0);
              Span key_bounding_range = range.key_bounding_range(queries, keys),
                   query_bounding_range = range.query_bounding_range(queries, keys);
              CHECK(key_bounding_range.empty() == (pairs == 0));
              CHECK(query_bounding_range.empty() == (pairs == 0));
              if (pairs == 0) continue;
              CHECK(key_bounding_range.begin <= seen_keys.begin);
              CHECK(key_bounding_range.end == seen_keys.end);
              CHECK(query_bounding_range.begin == seeing_queries.begin);
              CHECK(query_bounding_range.end == seeing_queries.end);
              if (range.sees_all(queries, keys)) CHECK(pairs == 16);
            }
          for (std::int64_t i = 0; i < 12; ++i) {
            std::vector<std::int64_t> keys;
            range.for_each_key(i, 12, [&](std::int64_t j) { keys.push_back(j); });
            std::vector<std::int64_t> expected;
            for (std::int64_t j = 0; j < 12; ++j)
              if (range.sees(i, j)) expected.push_back(j);
            CHECK(keys == expected);
            CHECK(range.count(i, 12) == static_cast<std::int64_t>(expected.size()));
          }
        }
  // A sequence that is nothing but what leads it has no list to be read.
  KeyRange alone{.prefix = 1, .lead = 1};
  alone.document_starts = documents[1].data();
  for (std::int64_t i : {0, 1, 15}) CHECK(alone.first(i) == 0);
}
