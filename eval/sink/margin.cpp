// The margin of key 1, m_i = s_i1 - ln sum_j e^(s_ij) over all other keys j that row i sees, the extra key among them.
#include <algorithm>
#include <cmath>

#include "engine/tensor_view.h"
#include "eval/sink/measured_point.h"

namespace sink {
namespace {

constexpr double kLeastWeight = 1e-30;  // a smaller weight may be rounded, or 0

// From the scores of a row.
double margin_of_row(const AttentionTrace& row) {
  double first = kNotMeasured, largest = -INFINITY, sum = 0;
  for (const AttentionTrace::Key& key : row.keys)
    (key.j == 0 ? first : largest) = key.j == 0 ? key.s : std::max(largest, key.s);
  for (const AttentionTrace::Key& key : row.keys)
    if (key.j != 0) sum += std::exp(key.s - largest);
  return first - largest - std::log(sum);
}

// Values that are one at key 1 in column 0, and at all other keys in column 1: a pass of attention returns the weights
// a_i1 and sum_j a_ij.
Tensor values_of_keys(const Shape& shape, std::int64_t first_keys) {
  Tensor values = Tensor::zeros(shape, DType::F64);
  const std::int64_t K = shape[-2], D = shape[-1];
  for (std::int64_t row = 0; row < values.size() / D; ++row)
    values.data<double>()[row * D + (row % K < first_keys ? 0 : 1)] = 1;
  return values;
}

}  // namespace

// e^m is the quotient of two weights where weights are exponentials of the scores, up to a factor of the row. Weights
// that are nearly 0 have lost their digits: such a row is computed from its scores.
FirstKeyRows first_key_rows(const AttentionPoint& point) {
  const Tensor &q = point.q_BHTD, &v = point.v_BGTD;
  const std::int64_t B = q.dim(0), H = q.dim(1), T = q.dim(2), D = q.dim(3);
  FirstKeyRows rows;
  if (!point.has_exponential_weights()) return rows;
  rows.weight_BHT = Tensor::zeros({B, H, T}, DType::F64);
  rows.others_BHT = Tensor::zeros({B, H, T}, DType::F64);
  if (D == 1) return rows;  // one column holds one of the two sums
  const Tensor weights_BHTD =
      point
          .mix(point.k_BGTD, values_of_keys(v.shape(), 1).to(v.dtype()).to(v.device()),
               point.has_extra_key
                   ? values_of_keys({H, 1, D}, 0).reshape({H, D}).to(accumulate_type(v.dtype())).to(v.device())
                   : Tensor())
          .to(Device::cpu);
  for (std::int64_t row = 0; row < B * H * T; ++row) {
    rows.weight_BHT.data<double>()[row] = weights_BHTD.item(row * D);
    rows.others_BHT.data<double>()[row] = weights_BHTD.item(row * D + 1);
  }
  return rows;
}

double FirstKeyRows::margin(const AttentionPoint& point, std::int64_t b, std::int64_t h, std::int64_t i) const {
  const std::int64_t row = (b * weight_BHT.dim(1) + h) * weight_BHT.dim(2) + i;
  const double first = weight_BHT.item(row), others = others_BHT.item(row);
  return std::min(first, others) > kLeastWeight ? std::log(first / others) : margin_of_row(point.trace()({}, b, h, i));
}

Tensor first_key_margin(const MeasuredPoint& measured) {
  const AttentionPoint& point = measured.point;
  const FirstKeyRows first_key = first_key_rows(point);
  if (!first_key.weight_BHT.defined()) return {};
  const std::int64_t B = point.q_BHTD.dim(0), H = point.q_BHTD.dim(1), T = point.q_BHTD.dim(2);
  Tensor margins_BH = Tensor::zeros({B, H}, DType::F64);
  auto margin = view<double, 2>(margins_BH);
  for (std::int64_t b = 0; b < B; ++b) {
    const auto rows = std::min(T, static_cast<std::int64_t>(measured.rows_BX[static_cast<std::size_t>(b)][0]));
    for (std::int64_t h = 0; h < H; ++h)
      for (std::int64_t i = 1; i < rows; ++i)
        margin(b, h) += first_key.margin(point, b, h, i) / static_cast<double>(rows - 1);
  }
  return margins_BH;
}

}  // namespace sink
