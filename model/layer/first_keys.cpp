#include "model/layer/first_keys.h"

#include <algorithm>
#include <cmath>

#include "engine/threads.h"

namespace sink {
namespace {

// A query: its row of q and o, and the keys and values of its head.
template <class R, class Sum>
void add_keys(const R* q, const R* k_KD, const R* v_KD, std::int64_t begin, std::int64_t end, std::int64_t D,
              double scale, R* o, Sum& m, Sum& S) {
  std::vector<double> scores;
  double largest = static_cast<double>(m);
  for (std::int64_t j = begin; j < end; ++j) {
    double dot = 0;
    for (std::int64_t d = 0; d < D; ++d) dot += static_cast<double>(q[d]) * static_cast<double>(k_KD[j * D + d]);
    scores.push_back(scale * dot);
    largest = std::max(largest, scores.back());
  }
  const double before = static_cast<double>(S) * std::exp(static_cast<double>(m) - largest);
  double sum = before;
  for (double& score : scores) sum += score = std::exp(score - largest);
  for (std::int64_t d = 0; d < D; ++d) {
    double mixed = before * static_cast<double>(o[d]);
    for (std::int64_t j = begin; j < end; ++j)
      mixed += scores[static_cast<std::size_t>(j - begin)] * static_cast<double>(v_KD[j * D + d]);
    store(o[d], mixed / sum);
  }
  store(m, largest);
  store(S, sum);
}

}  // namespace

void add_first_keys(const Tensor& q_BHTD, const Tensor& k_BGKD, const Tensor& v_BGKD, const CacheWindow& window,
                    std::int64_t visible, std::int64_t first_row, double scale, Tensor& o_BHTD, Tensor& m_BHT,
                    Tensor& S_BHT) {
  const std::int64_t H = q_BHTD.dim(1), T = q_BHTD.dim(2), D = q_BHTD.dim(3), G = k_BGKD.dim(1), K = k_BGKD.dim(2);
  with_real(q_BHTD.dtype(), [&](auto zero) {
    using R = decltype(zero);
    with_real<float, double>(m_BHT.dtype(), [&](auto sum_zero) {
      using Sum = decltype(sum_zero);
      parallel_chunks(q_BHTD.dim(0) * H * T, 64, [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t row = first; row < last; ++row) {
          const std::int64_t i = first_row + row % T, position = std::min(i, window.kept() - 1);
          const std::int64_t begin = visible > 0 ? std::max<std::int64_t>(0, position - visible + 1) : 0;
          const std::int64_t end = std::min(window.first, i - window.window + 1);
          if (begin >= end) continue;
          const std::int64_t bh = row / T, head = (bh / H * G + bh % H / (H / G)) * K * D;
          add_keys(q_BHTD.data<R>() + row * D, k_BGKD.data<R>() + head, v_BGKD.data<R>() + head, begin, end, D, scale,
                   o_BHTD.data<R>() + row * D, m_BHT.data<Sum>()[row], S_BHT.data<Sum>()[row]);
        }
      });
    });
  });
}

}  // namespace sink
