#include "tools/python/bindings/activation_hooks.h"

#include <algorithm>
#include <limits>

#include "autograd/ops/add_bias_node.h"
#include "autograd/ops/heads_node.h"
#include "autograd/ops/linear_node.h"
#include "engine/check.h"
#include "engine/implementation.h"
#include "engine/io/printable.h"
#include "engine/tensor_view.h"
#include "engine/threads.h"
#include "tools/python/bindings/arrays.h"
#include "tools/python/bindings/computation.h"

namespace sink::python {
namespace {

namespace nb = nanobind;

const std::vector<std::string> kOfBlock{
    "hook_resid_pre",  "ln1.hook_normalized", "attn.hook_q",           "attn.hook_k",       "attn.hook_rot_q",
    "attn.hook_rot_k", "attn.hook_v",         "attn.hook_attn_scores", "attn.hook_pattern", "attn.hook_z",
    "hook_attn_out",   "ln2.hook_normalized", "mlp.hook_post",         "hook_mlp_out",      "hook_resid_post"};

bool is_read_only(const std::string& name) {
  return name.ends_with("attn.hook_q") || name.ends_with("attn.hook_k") || name.ends_with("attn.hook_attn_scores");
}

const Parameter* find_parameter(const LanguageModel& model, const std::string& name) {
  for (const auto& parameter : model.parameters())
    if (parameter->name() == name) return parameter.get();
  return nullptr;
}

struct PatternShape {
  std::int64_t B, H, P, K;  // K = E + P keys

  explicit PatternShape(const AttentionPoint& point)
      : B(point.q_BHTD.dim(0)),
        H(point.q_BHTD.dim(1)),
        P(point.q_BHTD.dim(2)),
        K(point.k_BGTD.dim(2) + (point.has_extra_key ? 1 : 0)) {}
  Tensor empty(DType dtype) const { return Tensor::empty({B, H, P, K}, accumulate_type(dtype)); }
  // The (P, K) of one sequence and head.
  Tensor of(const Tensor& pattern_BHTK, std::int64_t bh) const { return pattern_BHTK.slice(bh * P * K, {P, K}); }
};

// f(bh) for every sequence and head; on all threads if the tensors are in host memory.
template <class F>
void for_each_head(const AttentionPoint& point, const PatternShape& shape, F&& f) {
  if (point.q_BHTD.device() == Device::cpu) return parallel_for(shape.B * shape.H, f);
  for (std::int64_t bh = 0; bh < shape.B * shape.H; ++bh) f(bh);
}

// (B, H, P, E + P): float32, or float64 in a model of float64. E = 1 with an extra key, whose column is the first.
Tensor attention_pattern_of(const AttentionPoint& point) {
  const PatternShape shape(point);
  Tensor pattern_BHTK = shape.empty(point.q_BHTD.dtype());
  for_each_head(point, shape, [&](std::int64_t bh) {
    Tensor head_TK = shape.of(pattern_BHTK, bh);
    head_TK.copy_from(point.pattern(bh / shape.H, bh % shape.H));
  });
  return pattern_BHTK;
}

// s_ij = scale q_i . k_j + bias, as the attention operation reads it; -inf where query i does not see key j.
Tensor attention_scores(const AttentionPoint& point) {
  const PatternShape shape(point);
  Tensor scores_BHTK = Tensor::full({shape.B, shape.H, shape.P, shape.K}, -std::numeric_limits<double>::infinity(),
                                    accumulate_type(point.q_BHTD.dtype()));
  const AttentionPoint::Trace trace = point.trace();
  const std::int64_t extra = point.has_extra_key ? 1 : 0;
  with_real<float, double>(scores_BHTK.dtype(), [&](auto zero) {
    auto* scores = scores_BHTK.data<decltype(zero)>();
    for_each_head(point, shape, [&](std::int64_t bh) {
      for (std::int64_t i = 0; i < shape.P; ++i)
        for (const AttentionTrace::Key& key : trace({}, bh / shape.H, bh % shape.H, i).keys) {
          const std::int64_t column = key.j == AttentionTrace::kExtraKey ? 0 : key.j + extra;
          scores[(bh * shape.P + i) * shape.K + column] = static_cast<decltype(zero)>(key.s);
        }
    });
  });
  return scores_BHTK;
}

// o_i = sum_j a_ij v_j, in double: (B, H, P, D) with the type of point.o_BHTD.
Tensor mix_values(const AttentionPoint& point, const Tensor& pattern_BHTK) {
  const PatternShape shape(point);
  const Tensor v = point.v_BGTD.to(Device::cpu).to(DType::F64), a = pattern_BHTK.to(DType::F64);
  const Tensor extra_v = point.extra_v_HD.defined() ? point.extra_v_HD.to(Device::cpu).to(DType::F64) : Tensor();
  const std::int64_t G = v.dim(1), keys = v.dim(2), D = v.dim(3), extra = shape.K - keys;
  Tensor o_BHTD = Tensor::zeros({shape.B, shape.H, shape.P, D}, DType::F64);
  parallel_for(shape.B * shape.H, [&](std::int64_t bh) {
    const std::int64_t b = bh / shape.H, h = bh % shape.H, g = h / (shape.H / G);
    const double* v_KD = v.data<double>() + (b * G + g) * keys * D;
    for (std::int64_t i = 0; i < shape.P; ++i) {
      const double* a_K = a.data<double>() + (bh * shape.P + i) * shape.K;
      double* o_D = o_BHTD.data<double>() + (bh * shape.P + i) * D;
      if (extra == 1 && extra_v.defined())
        for (std::int64_t d = 0; d < D; ++d) o_D[d] += a_K[0] * extra_v.data<double>()[h * D + d];
      for (std::int64_t j = 0; j < keys; ++j)
        for (std::int64_t d = 0; d < D; ++d) o_D[d] += a_K[extra + j] * v_KD[j * D + d];
    }
  });
  return o_BHTD.to(point.o_BHTD.value().dtype()).to(point.o_BHTD.value().device());
}

}  // namespace

std::vector<std::string> activation_names(const Sizes& sizes, bool sublayers_read_norms) {
  std::vector<std::string> names{"hook_embed"};
  for (std::int64_t layer = 0; layer < sizes.layers; ++layer)
    for (const std::string& point : kOfBlock)
      if ((sublayers_read_norms || !point.ends_with("hook_normalized")) &&
          (sizes.has_attention(layer) || !point.starts_with("attn.")))
        names.push_back("blocks." + std::to_string(layer) + "." + point);
  return names;
}

void check_activation_name(const std::string& name, const std::vector<std::string>& known, bool replaced) {
  SINK_CHECK(std::find(known.begin(), known.end(), name) != known.end(), "hook",
             "there is no activation " + printable(name) + ": model.activation_names() lists them", Exit::usage);
  SINK_CHECK(!replaced || !is_read_only(name), "hook",
             name + " can be read, but not replaced: replace hook_rot_q, hook_rot_k or hook_pattern", Exit::usage);
}

void ActivationHooks::keep(const std::string& name, const Tensor& value) {
  if (read_.contains(name)) kept_[name] = value;
}

Tensor ActivationHooks::replacement(const std::string& name, const Tensor& value) const {
  if (!replaced_.contains(name)) return {};
  check_signals();
  nb::gil_scoped_acquire acquired;
  nb::object returned = function_(array_of(value.clone(), true), nb::str(name.c_str()));
  if (returned.is_none()) return {};
  Values values;
  if (!nb::try_cast(returned, values))
    throw Error("the hook of " + name + " returned no array: expected None or an array of shape " + value.shape().str(),
                Exit::usage);
  return tensor_of(values, value);
}

void ActivationHooks::visit(const std::string& name, Var& value) {
  if (!wants(name)) return;
  if (const Tensor other = replacement(name, value.value()); other.defined()) value = Var(other);
  keep(name, value.value());
}

void ActivationHooks::visit(const std::string& name, Residual& x_BTC) {
  if (!wants(name)) return;
  Var sum_BTC = x_BTC.sum();
  visit(name, sum_BTC);
  if (replaced_.contains(name)) x_BTC = Residual(sum_BTC);
}

void ActivationHooks::residual_post(std::int64_t layer, Residual& x_BTC) {
  visit(block(layer) + "hook_resid_post", x_BTC);
  check_signals();
}

void ActivationHooks::sublayer_input(std::int64_t layer, SublayerKind kind, Var& h_BTC) {
  const bool attention = kind == SublayerKind::attention;
  visit(block(layer) + (attention ? "ln1.hook_normalized" : "ln2.hook_normalized"), h_BTC);
  if (attention) keep_projections(layer, h_BTC);
}

// Queries and keys before norm and rotation exist only inside a kernel, so the projection is computed again.
void ActivationHooks::keep_projections(std::int64_t layer, const Var& h_BTC) {
  const std::string q_name = block(layer) + "attn.hook_q", k_name = block(layer) + "attn.hook_k";
  if (!read_.contains(q_name) && !read_.contains(k_name)) return;
  const Parameter* weight = find_parameter(model_, block(layer) + "attention.qkv.weight");
  const Parameter* bias = find_parameter(model_, block(layer) + "attention.qkv.bias");
  SINK_CHECK(weight, "hook", "no parameter " + block(layer) + "attention.qkv.weight");
  Var qkv_BTE = linear(h_BTC, *weight);
  if (bias) qkv_BTE = add_bias(qkv_BTE, *bias);
  const QueryKeyValue heads = split_heads(qkv_BTE, model_.sizes().heads, model_.sizes().key_heads());
  keep(q_name, heads.q_BHTD.value());
  keep(k_name, heads.k_BGTD.value());
}

void ActivationHooks::projection_input(std::int64_t layer, SublayerKind kind, Var& y_BTF) {
  if (kind == SublayerKind::feed_forward) visit(block(layer) + "mlp.hook_post", y_BTF);
}

void ActivationHooks::sublayer_output(std::int64_t layer, SublayerKind kind, Var& f_BTC) {
  visit(block(layer) + (kind == SublayerKind::attention ? "hook_attn_out" : "hook_mlp_out"), f_BTC);
}

void ActivationHooks::query_key_value(std::int64_t layer, Var& q_BHTD, Var& k_BGTD, Var& v_BGTD) {
  visit(block(layer) + "attn.hook_rot_q", q_BHTD);
  visit(block(layer) + "attn.hook_rot_k", k_BGTD);
  visit(block(layer) + "attn.hook_v", v_BGTD);
}

void ActivationHooks::attention(AttentionPoint& point) {
  const std::string prefix = block(point.layer) + "attn.";
  if (read_.contains(prefix + "hook_attn_scores")) keep(prefix + "hook_attn_scores", attention_scores(point));
  if (const std::string name = prefix + "hook_pattern"; wants(name)) {
    Tensor pattern_BHTK = attention_pattern_of(point);
    if (const Tensor other = replacement(name, pattern_BHTK); other.defined()) {
      pattern_BHTK = other;
      point.o_BHTD = Var(mix_values(point, pattern_BHTK));
    }
    keep(name, pattern_BHTK);
  }
  visit(prefix + "hook_z", point.o_BHTD);
}

}  // namespace sink::python
