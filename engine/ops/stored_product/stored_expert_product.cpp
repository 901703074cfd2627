// The product with the matrices of a mixture's experts, of which a token chooses a few.
#include <algorithm>

#include "engine/ops/stored_product/stored_product.h"

namespace sink {

void stored_expert_product(const Tensor& x, const Tensor& p, const StoredMatrix& w_NK, Tensor& y) {
  const std::int64_t K = w_NK.columns, E = p.dim(-1), M = p.size() / std::max<std::int64_t>(1, E), n = w_NK.rows / E;
  const bool each = x.device() == Device::cpu && M < kFewStoredRows && x.size() == M * K && y.size() == M * w_NK.rows &&
                    std::ssize(w_NK.parts) == E &&
                    std::ranges::all_of(w_NK.parts, [&](const StoredPart& part) { return part.rows == n; });
  if (!each) return stored_product(x, w_NK, y);
  for (std::int64_t m = 0; m < M; ++m)
    for (std::int64_t e = 0; e < E; ++e) {
      Tensor y_n = y.slice((m * E + e) * n, {1, n});
      if (p.item(m * E + e) == 0) {
        y_n.fill(0);
        continue;
      }
      const StoredMatrix expert{n, K, {w_NK.parts[static_cast<std::size_t>(e)]}, w_NK.times, w_NK.owner};
      stored_product(x.slice(m * K, {1, K}), expert, y_n);
    }
}

}  // namespace sink
