// Reference: the norms in double.
#include "engine/ops/norm/norm.h"

#include <cmath>

#include "engine/implementation.h"
#include "engine/ops/check_like.h"
#include "engine/ops/reference_row.h"

namespace sink::ref {

struct NormRow {
  double mean, r;
};

// Breakpoint function: one row of x (C elements) to one row of y. gdb finds no template of an enum by its name.
template <bool layer>
[[gnu::noinline]] NormRow norm_row([[maybe_unused]] std::int64_t row, Row x_C, Row gain_C, Row bias_C,
                                   std::span<double> y_C, double epsilon) {
  const std::size_t C = x_C.size();
  double mean = 0, mean_square = 0;
  if constexpr (layer)
    for (double x_c : x_C) mean += x_c / static_cast<double>(C);
  for (double x_c : x_C) mean_square += (x_c - mean) * (x_c - mean) / static_cast<double>(C);
  double r = 1 / std::sqrt(mean_square + epsilon);
  for (std::size_t c = 0; c < C; ++c)
    if constexpr (layer)
      y_C[c] = (x_C[c] - mean) * r * gain_C[c] + bias_C[c];
    else
      y_C[c] = x_C[c] * r * gain_C[c];
  return {mean, r};
}

// Forward was: y_c = x^_c g_c + b_c. Adds to the gradients. The sum of RMSNorm is mean_k(dx^_k x_k), without r.
template <bool layer>
[[gnu::noinline]] void norm_row_backward([[maybe_unused]] std::int64_t row, Row dy_C, Row x_C, Row gain_C,
                                         NormRow saved, std::span<double> dx_C, std::span<double> dgain_C,
                                         std::span<double> dbias_C) {
  const auto [mean, r] = saved;
  const std::size_t C = x_C.size();
  double shift = 0, projection = 0;  // mean_k(dx^_k), mean_k(dx^_k x^_k), dx^_k = dy_k g_k
  for (std::size_t c = 0; c < C; ++c) {
    if constexpr (layer) shift += dy_C[c] * gain_C[c] / static_cast<double>(C);
    projection += dy_C[c] * gain_C[c] * (x_C[c] - mean) * (layer ? r : 1) / static_cast<double>(C);
  }
  for (std::size_t c = 0; c < C; ++c) {
    dx_C[c] += r * (dy_C[c] * gain_C[c] - shift - (x_C[c] - mean) * r * (layer ? 1 : r) * projection);
    dgain_C[c] += dy_C[c] * (x_C[c] - mean) * r;
    if constexpr (layer) dbias_C[c] += dy_C[c];
  }
}

template <NormKind kind>
void norm(const Tensor& a, const Tensor& b, const Tensor& gain_C, const Tensor& bias_C, Tensor& u, Tensor& y,
          Tensor& mean, Tensor& r, double epsilon) {
  const std::int64_t C = gain_C.size();
  for (std::int64_t i = 0; b.defined() && i < u.size(); ++i)
    u.data<double>()[i] = a.data<double>()[i] + b.data<double>()[i];
  const Tensor& x = b.defined() ? u : a;
  for (std::int64_t row = 0; row < r.size(); ++row) {
    NormRow saved = norm_row<kind == NormKind::layer>(row, row_of(x, row, C), row_of(gain_C, 0, C),
                                                      row_of(bias_C, 0, C), row_of(y, row, C), epsilon);
    if (mean.defined()) mean.data<double>()[row] = saved.mean;
    r.data<double>()[row] = saved.r;
  }
}

template <NormKind kind>
void norm_backward(const Tensor& dy, const Tensor& du, const Tensor& x, const Tensor& gain_C, const Tensor& mean,
                   const Tensor& r, Tensor& da, Tensor& db, Tensor& dgain_C, bool accumulate_dgain, Tensor& dbias_C,
                   bool accumulate_dbias) {
  if (!du.defined()) da.fill(0);
  if (du.defined() && !du.same_data_ptr(da)) da.copy_from(du);
  if (!accumulate_dgain) dgain_C.fill(0);
  if (dbias_C.defined() && !accumulate_dbias) dbias_C.fill(0);
  const std::int64_t C = gain_C.size();
  for (std::int64_t row = 0; row < r.size(); ++row)
    norm_row_backward<kind == NormKind::layer>(row, row_of(dy, row, C), row_of(x, row, C), row_of(gain_C, 0, C),
                                               {mean.defined() ? mean.data<double>()[row] : 0, r.data<double>()[row]},
                                               row_of(da, row, C), row_of(dgain_C, 0, C), row_of(dbias_C, 0, C));
  if (db.defined()) db.copy_from(da);
}

SINK_COMPILE_NORMS

}  // namespace sink::ref

// The operation itself: it checks its arguments and selects a backend.
namespace sink {
namespace {

// bias is dbias in the backward pass.
template <NormKind kind>
void check_norm(const char* tag, const Tensor& x, const Tensor& gain_C, const Tensor& bias_C, const Tensor& y,
                const Tensor& mean, const Tensor& r) {
  const std::int64_t C = x.rank() ? x.dim(-1) : 0, rows = C ? x.size() / C : 0;
  const std::string given =
      ": x is " + x.str() + ", gain is " + gain_C.str() + ", y is " + y.str() + ", r is " + r.str();
  SINK_CHECK(gain_C.size() == C && y.shape() == x.shape() && r.size() == rows, tag,
             "the last axis of x must equal the size of the gain, and r hold one number per row" + given);
  bool types_fit = x.dtype() == gain_C.dtype() && r.dtype() == x.dtype() && x.dtype() == accumulate_type(x.dtype()) &&
                   (y.dtype() == x.dtype() || (y.dtype() == DType::BF16 && x.dtype() == DType::F32));
  SINK_CHECK(types_fit, tag, "x, gain and r must be f32 or f64, y of that type or bf16" + given);
  if constexpr (kind == NormKind::layer) {
    check_like(tag, "mean", mean, r);
    check_like(tag, "bias", bias_C, gain_C);
  } else {
    SINK_CHECK(!mean.defined() && !bias_C.defined(), tag, "expected no mean and no bias, which only layer_norm has");
  }
}

}  // namespace

template <NormKind kind>
void norm(const Tensor& a, const Tensor& b, const Tensor& gain_C, const Tensor& bias_C, Tensor& u, Tensor& y,
          Tensor& mean, Tensor& r, double epsilon) {
  constexpr const char* tag = kind == NormKind::layer ? "layer_norm" : "rms_norm";
  check_norm<kind>(tag, a, gain_C, bias_C, y, mean, r);
  if (b.defined()) {
    check_like(tag, "u", u, a);
    bool fits =
        b.shape() == a.shape() && (b.dtype() == a.dtype() || (b.dtype() == DType::BF16 && a.dtype() == DType::F32));
    SINK_CHECK(fits, tag, "b must have the shape of a and its type, or bf16: a is " + a.str() + ", b is " + b.str());
  }
  SINK_SELECT(a, norm<kind>)(a, b, gain_C, bias_C, u, y, mean, r, epsilon);
}

template <NormKind kind>
void norm_backward(const Tensor& dy, const Tensor& du, const Tensor& x, const Tensor& gain_C, const Tensor& mean,
                   const Tensor& r, Tensor& da, Tensor& db, Tensor& dgain_C, bool accumulate_dgain, Tensor& dbias_C,
                   bool accumulate_dbias) {
  constexpr const char* tag = kind == NormKind::layer ? "layer_norm_backward" : "rms_norm_backward";
  check_norm<kind>(tag, x, gain_C, dbias_C, dy, mean, r);
  if (du.defined()) check_like(tag, "du", du, x);
  check_like(tag, "da", da, x);
  check_like(tag, "dgain", dgain_C, gain_C);
  SINK_CHECK(!db.defined() || (db.shape() == x.shape() && db.dtype() == DType::BF16 && x.dtype() == DType::F32), tag,
             "db must be bf16 of the shape of x, or undefined: x is " + x.str() + ", db is " + db.str());
  SINK_SELECT(x, norm_backward<kind>)
  (dy, du, x, gain_C, mean, r, da, db, dgain_C, accumulate_dgain, dbias_C, accumulate_dbias);
}

SINK_COMPILE_NORMS

}  // namespace sink
