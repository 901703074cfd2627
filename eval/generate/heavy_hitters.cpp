#include "eval/generate/heavy_hitters.h"

#include <tuple>

namespace sink {

void HeavyHitters::attention(AttentionPoint& point) {
  const std::int64_t H = point.q_BHTD.dim(1), T = point.q_BHTD.dim(2), G = point.k_BGTD.dim(1);
  if (static_cast<std::int64_t>(rows_LGK_.size()) <= point.layer)
    rows_LGK_.resize(static_cast<std::size_t>(point.layer + 1));
  auto& rows_GK = rows_LGK_[static_cast<std::size_t>(point.layer)];
  rows_GK.resize(static_cast<std::size_t>(G));
  for (auto& rows_K : rows_GK)
    for (std::int64_t t = 0; t < T; ++t) rows_K.push_back({cache_.read() + t});
  const Tensor received_BHK = point.key_sums().proxy_BHK;
  for (std::int64_t h = 0; h < H; ++h)
    for (std::size_t k = 0; auto& row : rows_GK[static_cast<std::size_t>(h / (H / G))])
      row.received += received_BHK.item(h * received_BHK.dim(2) + static_cast<std::int64_t>(k++));
}

void HeavyHitters::drop_lightest(std::int64_t recent) {
  std::vector<std::vector<std::int64_t>> lightest_LG;
  for (auto& rows_GK : rows_LGK_) {
    lightest_LG.emplace_back();
    for (auto& rows_K : rows_GK) {
      auto lightest = rows_K.end();
      for (auto row = rows_K.begin(); row != rows_K.end(); ++row) {
        if (row->position < extra_ || row->position >= cache_.read() - recent) continue;
        if (lightest == rows_K.end() ||
            std::tie(row->received, row->position) < std::tie(lightest->received, lightest->position))
          lightest = row;
      }
      lightest_LG.back().push_back(lightest - rows_K.begin());
      *lightest = rows_K.back();
      rows_K.pop_back();
    }
  }
  cache_.drop_one(lightest_LG);
}

}  // namespace sink
