// Checks of attention's arguments (attention_check.h). The operations themselves are compiled one by one, see
// attention_dispatch.h.
#include "engine/ops/attention/attention_check.h"

namespace sink::attention_check {
namespace {

constexpr const char* kTag = "attention";

DType row_type(const Tensor& q) { return q.dtype() == DType::F64 ? DType::F64 : DType::F32; }

// An optional tensor of one number or one row a head.
void per_head(const Tensor& x, const char* name, const char* shape, bool right_shape, const Tensor& q) {
  if (!x.defined()) return;
  SINK_CHECK(right_shape && x.dtype() == row_type(q), kTag,
             std::string(name) + " must be " + name_of(row_type(q)) + " of shape " + shape + ": " + name + " is " +
                 x.str() + ", q is " + q.str());
}

void row_numbers(const Tensor& x, const char* name, const Tensor& q) {
  SINK_CHECK(x.shape() == Shape({q.dim(0), q.dim(1), q.dim(2)}) && x.dtype() == row_type(q), kTag,
             std::string(name) + " must hold one " + name_of(row_type(q)) + " number a query (B, H, T): " + name +
                 " is " + x.str() + ", q is " + q.str());
}

}  // namespace

void inputs(const Tensor& q, const Tensor& k, const AttentionConfig& config) {
  SINK_CHECK(q.rank() == 4 && q.size() > 0 && q.dtype() != DType::I32, kTag,
             "q must be real numbers of shape (B, H, T, D), got " + q.str());
  std::int64_t B = q.dim(0), H = q.dim(1), T = q.dim(2), D = q.dim(3);
  SINK_CHECK(k.rank() == 4 && k.dim(1) > 0 && H % k.dim(1) == 0 && k.shape() == Shape({B, k.dim(1), T, D}) &&
                 k.dtype() == q.dtype(),
             kTag,
             "k must be like q, but for a number of heads that divides q's: k is " + k.str() + ", q is " + q.str());
  SINK_CHECK(config.range.prefix >= 0 && config.range.window >= 0, kTag,
             "prefix and window must be at least 0, got " + std::to_string(config.range.prefix) + " and " +
                 std::to_string(config.range.window));
  const Tensor &bias = config.bias_HT, &slot_k = config.slot.k_HD, &logit = config.slot.logit_H,
               &slot_v = config.slot.v_HD;
  per_head(bias, "bias", "(H, at least T)", bias.rank() == 2 && bias.dim(0) == H && bias.dim(1) >= T, q);
  per_head(slot_k, "slot.k", "(H, D)", slot_k.shape() == Shape({H, D}), q);
  per_head(logit, "slot.logit", "(H)", logit.shape() == Shape({H}), q);
  per_head(slot_v, "slot.v", "(H, D)", slot_v.shape() == Shape({H, D}), q);
  SINK_CHECK(!(slot_k.defined() && logit.defined()), kTag,
             "a slot has a key or a logit, not both: slot.k is " + slot_k.str() + ", slot.logit is " + logit.str());
  SINK_CHECK(config.slot.present() || !slot_v.defined(), kTag,
             "a slot with a value needs a key or a logit: slot.v is " + slot_v.str());
}

void like(const Tensor& x, const char* name, const Tensor& other, const char* other_name) {
  SINK_CHECK(x.shape() == other.shape() && x.dtype() == other.dtype(), kTag,
             std::string(name) + " must be like " + other_name + ": " + name + " is " + x.str() + ", " + other_name +
                 " is " + other.str());
}

void rows(const Tensor& m, const Tensor& S, const Tensor& q) {
  row_numbers(m, "m", q);
  row_numbers(S, "S", q);
}

void columns(std::int64_t n_columns, const Tensor& q) {
  SINK_CHECK(
      1 <= n_columns && n_columns <= q.dim(2), kTag,
      "statistics of the first K columns need 1 <= K <= T, got K = " + std::to_string(n_columns) + ", q is " + q.str());
}

void head(std::int64_t b, std::int64_t h, const Tensor& q) {
  SINK_CHECK(0 <= b && b < q.dim(0) && 0 <= h && h < q.dim(1), kTag,
             "no sequence " + std::to_string(b) + ", head " + std::to_string(h) + " in q, which is " + q.str());
}

AttentionGradients empty_gradients(const Tensor& q, const Tensor& k, const AttentionConfig& config, DType real) {
  auto zeros_like = [](const Tensor& x) { return x.defined() ? Tensor::zeros(x.shape(), x.dtype()) : Tensor(); };
  return {.dq_BHTD = Tensor::empty(q.shape(), real),
          .dk_BGTD = Tensor::empty(k.shape(), real),
          .dv_BGTD = Tensor::empty(k.shape(), real),
          .dbias_HT = zeros_like(config.bias_HT),
          .dslot_k_HD = zeros_like(config.slot.k_HD),
          .dslot_logit_H = zeros_like(config.slot.logit_H),
          .dslot_v_HD = zeros_like(config.slot.v_HD)};
}

AttentionStatistics zero_statistics(const Tensor& q, std::int64_t n_columns) {
  AttentionStatistics all;
  for (Tensor* x : {&all.column_raw_BHK, &all.column_proxy_BHK})
    *x = Tensor::zeros({q.dim(0), q.dim(1), n_columns}, DType::F64);
  for (Tensor* x :
       {&all.slot_raw_BH, &all.slot_proxy_BH, &all.row_mass_BH, &all.entropy_BH, &all.key1_dot_BH, &all.key1_norms_BH,
        &all.key1_cosine_BH, &all.other_dot_BH, &all.other_norms_BH, &all.other_cosine_BH})
    *x = Tensor::zeros({q.dim(0), q.dim(1)}, DType::F64);
  return all;
}

Tensor one_head(const Tensor& x, std::int64_t b, std::int64_t h) {
  std::int64_t H = x.dim(1), T = x.dim(2), D = x.dim(3);
  return x.reshape({x.dim(0) * H, T, D}).rows(b * H + h, b * H + h + 1).reshape({1, 1, T, D}).to(DType::F64);
}

AttentionConfig one_head(const AttentionConfig& config, std::int64_t h) {
  AttentionConfig one = config;
  for (Tensor* x : {&one.bias_HT, &one.slot.k_HD, &one.slot.logit_H, &one.slot.v_HD})
    if (x->defined()) *x = x->rows(h, h + 1).to(DType::F64);
  return one;
}

}  // namespace sink::attention_check
