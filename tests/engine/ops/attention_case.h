// Random inputs of attention and its outputs, shared by the attention tests.
#pragma once

#include <cmath>
#include <cstring>

#include "engine/ops/attention/attention.h"
#include "engine/ops/attention/op/attention_ops.h"
#include "engine/rng.h"
#include "tests/support/keep_worst.h"

namespace sink::test {

inline Tensor random_normals(const Shape& shape, const char* stream, DType dtype, double deviation = 1) {
  Rng rng(7, stream);
  Tensor x = Tensor::empty(shape, DType::F64);
  for (std::int64_t n = 0; n < x.size(); ++n)
    x.data<double>()[n] = deviation * rng.normal(static_cast<std::uint64_t>(n));
  return x.to(dtype);
}

inline double largest_magnitude(const Tensor& x) {
  double largest = 0;
  for (std::int64_t n = 0; n < x.size(); ++n) keep_worst(largest, std::abs(x.item(n)));
  return largest;
}

// Infinite if a value is not finite, so that NaN is never a small difference.
inline double largest_difference(const Tensor& x, const Tensor& y) {
  double largest = 0;
  for (std::int64_t n = 0; n < x.size(); ++n) keep_worst(largest, std::abs(x.item(n) - y.item(n)));
  return largest;
}

// Relative to the largest value, at least 1 (softmax over a single key has gradient 0).
inline double relative_error(const Tensor& x, const Tensor& expected) {
  return largest_difference(x, expected) / std::max(1.0, largest_magnitude(expected));
}

inline bool same_bits(const Tensor& x, const Tensor& y) { return std::memcmp(x.raw(), y.raw(), x.bytes()) == 0; }

// The inputs of a case besides q, k and v.
enum class Extra { none, bias, key, key_only, logit, everything };
inline const char* name_of(Extra extra) {
  const char* names[] = {"none",      "bias",        "extra key and value",
                         "extra key", "extra logit", "bias, extra key and value"};
  return names[static_cast<int>(extra)];
}

struct AttentionCase {
  Tensor q, k, v, upstream, o, m, S;
  AttentionConfig config;
  AttentionGradients gradients;

  // G key heads; 0: as many as query heads.
  AttentionCase(std::int64_t B, std::int64_t H, std::int64_t T, std::int64_t D, DType dtype, KeyRange range = {},
                double score_deviation = 1, Extra extra = Extra::none, std::int64_t G = 0) {
    Shape shape{B, H, T, D}, key_shape{B, G > 0 ? G : H, T, D};
    q = random_normals(shape, "q", dtype, score_deviation);
    k = random_normals(key_shape, "k", dtype);
    v = random_normals(key_shape, "v", dtype);
    upstream = random_normals(shape, "upstream", dtype);
    config = {.scale = 1 / std::sqrt(static_cast<double>(D)), .range = range};
    DType row_dtype = dtype == DType::F64 ? DType::F64 : DType::F32;
    if (extra == Extra::bias || extra == Extra::everything)
      config.bias_HT = random_normals({H, T + 3}, "bias", row_dtype);  // more distances than positions
    bool key = extra == Extra::key || extra == Extra::key_only || extra == Extra::everything;
    if (key) config.extra_key.k_HD = random_normals({H, D}, "extra_key.k", row_dtype);
    if (extra == Extra::logit) config.extra_key.logit_H = random_normals({H}, "extra_key.logit", row_dtype);
    if (extra == Extra::key || extra == Extra::everything)
      config.extra_key.v_HD = random_normals({H, D}, "extra_key.v", row_dtype);
    make_outputs();
  }

  // Divides every sequence into different documents: the first ones have a few tokens, some have one. They are preceded
  // by `lead` keys, as a prefix of at least that length.
  void cut_into_documents(std::int64_t lead = 0) {
    std::int64_t B = k.dim(0), K = k.dim(2) - lead;
    Rng rng(7, "documents");
    config.range.lead = lead;
    config.range.prefix = std::max(config.range.prefix, lead);
    config.document_starts_BK = Tensor::zeros({B, K}, DType::I32);
    for (std::int64_t b = 0; b < B; ++b)
      for (std::int64_t j = 1, start = 0; j < K; ++j) {
        bool begins = rng.below(static_cast<std::uint64_t>(b * K + j), 9) == 0 || j == 4 + b || j == 5 + b;
        start = begins ? j : start;
        config.document_starts_BK.data<std::int32_t>()[b * K + j] = static_cast<std::int32_t>(start);
      }
  }

  // The defined tensors of the configuration.
  std::vector<Tensor*> extras() {
    std::vector<Tensor*> defined;
    for (Tensor* x : {&config.bias_HT, &config.extra_key.k_HD, &config.extra_key.logit_H, &config.extra_key.v_HD})
      if (x->defined()) defined.push_back(x);
    return defined;
  }
  // The defined gradients: of q, k, v and of extras(), in that order.
  std::vector<const Tensor*> all_gradients() const {
    std::vector<const Tensor*> defined;
    for (const Tensor* x : {&gradients.dq_BHTD, &gradients.dk_BGKD, &gradients.dv_BGKD, &gradients.dbias_HT,
                            &gradients.dextra_k_HD, &gradients.dextra_logit_H, &gradients.dextra_v_HD})
      if (x->defined()) defined.push_back(x);
    return defined;
  }

  // The same inputs, rounded, in another type.
  AttentionCase to(DType dtype) const {
    AttentionCase other = *this;
    for (Tensor* x : {&other.q, &other.k, &other.v, &other.upstream}) *x = x->clone().to(dtype);
    for (Tensor* x : other.extras()) *x = x->clone().to(dtype == DType::F64 ? DType::F64 : DType::F32);
    other.make_outputs();
    return other;
  }

  // The same on a device, with outputs and gradients.
  AttentionCase to(Device device) const {
    AttentionCase other = *this;
    for (Tensor* x : {&other.q, &other.k, &other.v, &other.upstream, &other.o, &other.m, &other.S}) *x = x->to(device);
    for (Tensor* x : other.extras()) *x = x->to(device);
    if (config.document_starts_BK.defined()) other.config.document_starts_BK = config.document_starts_BK.to(device);
    AttentionGradients& d = other.gradients;
    for (Tensor* x :
         {&d.dq_BHTD, &d.dk_BGKD, &d.dv_BGKD, &d.dbias_HT, &d.dextra_k_HD, &d.dextra_logit_H, &d.dextra_v_HD})
      *x = x->to(device);
    return other;
  }

  // Rows [begin, end) of the third axis.
  static Tensor positions(const Tensor& x, std::int64_t begin, std::int64_t end) {
    std::int64_t heads = x.dim(0) * x.dim(1), T = x.dim(2), D = x.size() / (heads * T);
    Tensor part = Tensor::empty({x.dim(0), x.dim(1), end - begin, D}, x.dtype());
    for (std::int64_t bh = 0; bh < heads; ++bh) {
      Tensor to = part.reshape({heads * (end - begin), D}).rows(bh * (end - begin), (bh + 1) * (end - begin));
      to.copy_from(x.reshape({heads * T, D}).rows(bh * T + begin, bh * T + end));
    }
    return x.rank() == 3 ? part.reshape({x.dim(0), x.dim(1), end - begin}) : part;
  }
  // x += y, both F64
  static void add(Tensor& x, const Tensor& y) {
    for (std::int64_t n = 0; n < x.size(); ++n) x.data<double>()[n] += y.data<double>()[n];
  }
  // The queries at positions [begin, end) with all keys.
  AttentionCase chunk(std::int64_t begin, std::int64_t end) const {
    AttentionCase part = *this;
    part.q = positions(q, begin, end);
    part.upstream = positions(upstream, begin, end);
    part.config.first_position = begin;
    part.make_outputs();
    return part;
  }

  void make_outputs() {
    DType row_dtype = q.dtype() == DType::F64 ? DType::F64 : DType::F32;
    o = Tensor::full(q.shape(), NAN, q.dtype());
    for (Tensor* x : {&m, &S}) *x = Tensor::full({q.dim(0), q.dim(1), q.dim(2)}, NAN, row_dtype);
  }

  template <class Op>
  void forward(const Op& op = {}) {
    attention<Op>(op, q, k, v, config, o, m, S);
  }
  template <class Op>
  void backward(const Op& op = {}) {
    gradients = attention_backward<Op>(op, upstream, q, k, v, o, m, S, config);
  }
  template <class Op>
  AttentionStatistics statistics(std::int64_t n_columns, const Op& op = {}) const {
    return attention_statistics<Op>(op, q, k, v, m, S, config, n_columns);
  }
  template <class Op>
  AttentionKeySums key_sums(const Op& op = {}) const {
    return attention_key_sums<Op>(op, q, k, m, S, config);
  }
  template <class Op>
  Tensor map(std::int64_t b, std::int64_t h, const Op& op = {}) const {
    return attention_pattern<Op>(op, q, k, m, S, config, b, h);
  }
};

}  // namespace sink::test
