// The zero-score null: alpha_1 and Sink_1 that the same model would have if all products q . k were zero, with its
// biases, mask and extra key. Without biases, and with an extra key whose score is zero, too, that is even attention
// (even_attention.h).
#include "engine/tensor_view.h"
#include "eval/sink/measured_point.h"

namespace sink {

template <bool raw>
Tensor zero_score_alpha_1(const MeasuredPoint& measured) {
  const AttentionStatistics& s = measured.without_products();
  if (!s.row_sum_BH.defined()) return {};
  const auto sum_BHX = view<double, 3>(raw ? s.column_raw_BHX : s.column_proxy_BHX);
  const auto key = static_cast<std::size_t>(measured.extra_tokens);
  const std::size_t B = measured.rows_BX.size(), H = sum_BHX.shape(1);
  Tensor alpha_BH = Tensor::empty({static_cast<std::int64_t>(B), static_cast<std::int64_t>(H)}, DType::F64);
  auto alpha = view<double, 2>(alpha_BH);
  for (std::size_t b = 0; b < B; ++b)
    for (std::size_t h = 0; h < H; ++h)
      alpha(b, h) = sum_BHX(b < sum_BHX.shape(0) ? b : 0, h, key) / measured.rows_BX[b][key];
  return alpha_BH;
}

template <bool raw>
Tensor zero_score_sink_1(const MeasuredPoint& measured) {
  Tensor sink_BH = zero_score_alpha_1<raw>(measured);
  if (sink_BH.defined())
    for (double& alpha : view<double, 2>(sink_BH))
      alpha = std::isnan(alpha) ? alpha : alpha > kSinkEpsilons[kPaperEpsilonIndex] ? 100 : 0;
  return sink_BH;
}

template Tensor zero_score_alpha_1<false>(const MeasuredPoint&);
template Tensor zero_score_alpha_1<true>(const MeasuredPoint&);
template Tensor zero_score_sink_1<false>(const MeasuredPoint&);
template Tensor zero_score_sink_1<true>(const MeasuredPoint&);

}  // namespace sink
