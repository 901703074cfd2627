// Checks of the arguments of attention (attention_check.h). The operations are compiled one by one, see
// attention_dispatch.h.
#include "engine/ops/attention/attention_check.h"

namespace sink {

AttentionStatistics AttentionStatistics::to(Device device) const {
  AttentionStatistics all = *this;
  for (Tensor* x : {&all.column_raw_BHX, &all.column_proxy_BHX, &all.extra_raw_BH, &all.extra_proxy_BH, &all.row_sum_BH,
                    &all.entropy_BH, &all.key1_dot_BH, &all.key1_norms_BH, &all.key1_cosine_BH, &all.other_dot_BH,
                    &all.other_norms_BH, &all.other_cosine_BH, &all.value_share_BH})
    *x = x->to(device);
  return all;
}

KeyRange AttentionConfig::range_of(std::int64_t b) const {
  KeyRange of_sequence = range;
  if (document_starts_BK.defined()) {
    of_sequence.positions = document_starts_BK.dim(1);
    of_sequence.document_starts = document_starts_BK.data<std::int32_t>() + b * of_sequence.positions;
  }
  return of_sequence;
}

AttentionConfig AttentionConfig::on_cpu(DType real) const {
  AttentionConfig wide = *this;
  for (Tensor* x : {&wide.bias_HT, &wide.extra_key.k_HD, &wide.extra_key.logit_H, &wide.extra_key.v_HD})
    if (x->defined()) *x = x->to(Device::cpu).to(real);
  if (document_starts_BK.defined()) wide.document_starts_BK = document_starts_BK.to(Device::cpu);
  return wide;
}

}  // namespace sink

namespace sink::attention_check {
namespace {

constexpr const char* kTag = "attention";

DType row_type(const Tensor& q) { return accumulate_type(q.dtype()); }

// An optional tensor with one value or one row per head.
void per_head(const Tensor& x, const char* name, const char* shape, bool right_shape, const Tensor& q) {
  if (!x.defined()) return;
  SINK_CHECK(right_shape && x.dtype() == row_type(q), kTag,
             std::string(name) + " must be " + name_of(row_type(q)) + " of shape " + shape + ": " + name + " is " +
                 x.str() + ", q is " + q.str());
}

void row_values(const Tensor& x, const char* name, const Tensor& q) {
  SINK_CHECK(x.shape() == Shape({q.dim(0), q.dim(1), q.dim(2)}) && x.dtype() == row_type(q), kTag,
             std::string(name) + " must hold one " + name_of(row_type(q)) + " value per query (B, H, T): " + name +
                 " is " + x.str() + ", q is " + q.str());
}

}  // namespace

void inputs(const Tensor& q, const Tensor& k, const AttentionConfig& config) {
  SINK_CHECK(q.rank() == 4 && q.size() > 0 && q.dtype() != DType::I32, kTag,
             "q must be f32, bf16 or f64 of shape (B, H, T, D), got " + q.str());
  std::int64_t B = q.dim(0), H = q.dim(1), T = q.dim(2), D = q.dim(3), end = config.first_position + T;
  SINK_CHECK(k.rank() == 4 && k.dim(1) > 0 && H % k.dim(1) == 0 && k.shape() == Shape({B, k.dim(1), k.dim(2), D}) &&
                 k.dtype() == q.dtype(),
             kTag,
             "k must have q's shape and type, except for its length and a number of heads that divides q's: k is " +
                 k.str() + ", q is " + q.str());
  SINK_CHECK(config.first_position >= 0 && end <= k.dim(2), kTag,
             "every query needs a key at its position: queries are at positions " +
                 std::to_string(config.first_position) + " to " + std::to_string(end - 1) + ", keys at 0 to " +
                 std::to_string(k.dim(2) - 1));
  SINK_CHECK(config.range.prefix >= 0 && config.range.window >= 0, kTag,
             "prefix and window must be at least 0, got " + std::to_string(config.range.prefix) + " and " +
                 std::to_string(config.range.window));
  const Tensor& starts = config.document_starts_BK;
  SINK_CHECK(!starts.defined() || (starts.shape() == Shape({B, k.dim(2) - config.range.lead}) &&
                                   starts.dtype() == DType::I32 && starts.device() == q.device()),
             kTag,
             "document_starts must be i32 (B, K - " + std::to_string(config.range.lead) +
                 ") on q's device: document_starts is " + starts.str() + ", q is " + q.str() + ", k is " + k.str());
  const Tensor &bias = config.bias_HT, &extra_k = config.extra_key.k_HD, &logit = config.extra_key.logit_H,
               &extra_v = config.extra_key.v_HD;
  std::string bias_shape = "(H, at least " + std::to_string(end) + ")";
  per_head(bias, "bias", bias_shape.c_str(), bias.rank() == 2 && bias.dim(0) == H && bias.dim(1) >= end, q);
  per_head(extra_k, "extra_key.k", "(H, D)", extra_k.shape() == Shape({H, D}), q);
  per_head(logit, "extra_key.logit", "(H)", logit.shape() == Shape({H}), q);
  per_head(extra_v, "extra_key.v", "(H, D)", extra_v.shape() == Shape({H, D}), q);
  SINK_CHECK(!(extra_k.defined() && logit.defined()), kTag,
             "an extra key has a vector or a logit, not both: extra_key.k is " + extra_k.str() +
                 ", extra_key.logit is " + logit.str());
  SINK_CHECK(config.extra_key.present() || !extra_v.defined(), kTag,
             "an extra key with a value needs a vector or a logit: extra_key.v is " + extra_v.str());
}

void like(const Tensor& x, const char* name, const Tensor& other, const char* other_name) {
  SINK_CHECK(x.shape() == other.shape() && x.dtype() == other.dtype(), kTag,
             std::string(name) + " must be like " + other_name + ": " + name + " is " + x.str() + ", " + other_name +
                 " is " + other.str());
}

void rows(const Tensor& m, const Tensor& S, const Tensor& q) {
  row_values(m, "m", q);
  row_values(S, "S", q);
}

void columns(std::int64_t n_columns, const Tensor& k) {
  SINK_CHECK(
      1 <= n_columns && n_columns <= k.dim(2), kTag,
      "statistics of the first X columns need 1 <= X <= K, got X = " + std::to_string(n_columns) + ", k is " + k.str());
}

void head(std::int64_t b, std::int64_t h, const Tensor& q) {
  SINK_CHECK(0 <= b && b < q.dim(0) && 0 <= h && h < q.dim(1), kTag,
             "no sequence " + std::to_string(b) + ", head " + std::to_string(h) + " in q, which is " + q.str());
}

AttentionGradients empty_gradients(const Tensor& q, const Tensor& k, const AttentionConfig& config) {
  auto zeros_like = [](const Tensor& x) { return x.defined() ? x.new_zeros(x.shape(), x.dtype()) : Tensor(); };
  return {.dq_BHTD = q.new_empty(q.shape(), q.dtype()),
          .dk_BGKD = k.new_empty(k.shape(), k.dtype()),
          .dv_BGKD = k.new_empty(k.shape(), k.dtype()),
          .dbias_HT = zeros_like(config.bias_HT),
          .dextra_k_HD = zeros_like(config.extra_key.k_HD),
          .dextra_logit_H = zeros_like(config.extra_key.logit_H),
          .dextra_v_HD = zeros_like(config.extra_key.v_HD)};
}

AttentionStatistics zero_statistics(const Tensor& q, std::int64_t n_columns) {
  AttentionStatistics all;
  for (Tensor* x : {&all.column_raw_BHX, &all.column_proxy_BHX})
    *x = q.new_zeros({q.dim(0), q.dim(1), n_columns}, DType::F64);
  for (Tensor* x :
       {&all.extra_raw_BH, &all.extra_proxy_BH, &all.row_sum_BH, &all.entropy_BH, &all.key1_dot_BH, &all.key1_norms_BH,
        &all.key1_cosine_BH, &all.other_dot_BH, &all.other_norms_BH, &all.other_cosine_BH, &all.value_share_BH})
    *x = q.new_zeros({q.dim(0), q.dim(1)}, DType::F64);
  return all;
}

AttentionKeySums zero_key_sums(const Tensor& q, const Tensor& k) {
  auto zeros = [](const Shape& shape) { return Tensor::zeros(shape, DType::F64); };
  const Shape keys{q.dim(0), q.dim(1), k.dim(2)}, heads{q.dim(0), q.dim(1)};
  return {zeros(keys), zeros(keys), zeros(keys), zeros(keys), zeros(heads), zeros(heads), zeros(heads)};
}

OneHead one_head(const Tensor& q_BHTD, const Tensor& k_BGKD, const Tensor& m_BHT, const Tensor& S_BHT,
                 const AttentionConfig& config, std::int64_t b, std::int64_t h) {
  std::int64_t H = q_BHTD.dim(1), G = k_BGKD.dim(1), g = h / (H / G);
  auto row_of = [](const Tensor& x, std::int64_t row) {  // x: (B, heads, T) or (B, heads, T, D)
    const Shape rows =
        x.rank() == 4 ? Shape{x.dim(0) * x.dim(1), x.dim(2), x.dim(3)} : Shape{x.dim(0) * x.dim(1), x.dim(2)};
    const Shape of_head = x.rank() == 4 ? Shape{1, 1, x.dim(2), x.dim(3)} : Shape{1, 1, x.dim(2)};
    return x.reshape(rows).rows(row, row + 1).reshape(of_head).to(Device::cpu).to(DType::F64);
  };
  AttentionConfig of_head = config;
  for (Tensor* x : {&of_head.bias_HT, &of_head.extra_key.k_HD, &of_head.extra_key.logit_H, &of_head.extra_key.v_HD})
    if (x->defined()) *x = x->rows(h, h + 1);
  if (config.document_starts_BK.defined()) of_head.document_starts_BK = config.document_starts_BK.rows(b, b + 1);
  return {row_of(q_BHTD, b * H + h), row_of(k_BGKD, b * G + g), row_of(m_BHT, b * H + h), row_of(S_BHT, b * H + h),
          of_head.on_cpu(DType::F64)};
}

}  // namespace sink::attention_check
