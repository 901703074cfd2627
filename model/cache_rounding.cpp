#include "model/cache_rounding.h"

#include <algorithm>
#include <cmath>

#include "engine/threads.h"

namespace sink {
namespace {

template <class R>
void round_group(const std::vector<R*>& group, int bits) {
  if (group.empty()) return;
  const auto [least, largest] = std::ranges::minmax_element(group, {}, [](const R* x) { return double(*x); });
  const double lo = double(**least), step = (double(**largest) - lo) / (std::exp2(bits) - 1);
  if (step == 0) return;
  for (R* x : group) store(*x, lo + std::nearbyint((double(*x) - lo) / step) * step);
}

}  // namespace

bool CacheRounding::keeps(std::int64_t position) const {
  return position < keep_first || std::ranges::find(keep, position) != keep.end();
}

std::string CacheRounding::name() const {
  if (!any()) return "exact";
  std::string name = (scheme == Scheme::kivi ? "kivi " : "token ") + std::to_string(bits) + " bits";
  if (keep_first > 0) name += ", first " + std::to_string(keep_first) + " exact";
  if (!keep.empty()) name += ", " + std::to_string(keep.size()) + " tokens exact";
  return name;
}

void CacheRounding::round(Tensor& k_BGKD, Tensor& v_BGKD, std::int64_t begin, std::int64_t end,
                          std::int64_t position) const {
  const std::int64_t K = k_BGKD.dim(2), D = k_BGKD.dim(3);
  std::vector<std::int64_t> rows;
  for (std::int64_t row = begin; row < end; ++row)
    if (!keeps(position + row - begin)) rows.push_back(row);
  with_real(k_BGKD.dtype(), [&](auto zero) {
    using R = decltype(zero);
    parallel_chunks(k_BGKD.dim(0) * k_BGKD.dim(1), 1, [&](std::int64_t first, std::int64_t last) {
      std::vector<R*> group;
      auto round_next = [&] {
        round_group(group, bits);
        group.clear();
      };
      auto by_token = [&](R* x_KD) {
        for (std::int64_t row : rows)
          for (std::int64_t d = 0; d < D; ++d) {
            group.push_back(x_KD + row * D + d);
            if ((d + 1) % kGroup == 0 || d + 1 == D) round_next();
          }
      };
      for (std::int64_t head = first; head < last; ++head) {
        R* const k_KD = k_BGKD.data<R>() + head * K * D;
        by_token(v_BGKD.data<R>() + head * K * D);
        if (scheme == Scheme::token) by_token(k_KD);
        for (std::int64_t d = 0; scheme == Scheme::kivi && d < D; ++d) {
          for (std::int64_t row : rows) group.push_back(k_KD + row * D + d);
          round_next();
        }
      }
    });
  });
}

}  // namespace sink
