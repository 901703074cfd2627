#include "tools/python/bindings/activation_hooks.h"

#include <algorithm>
#include <limits>

#include "autograd/ops/heads_node.h"
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

const std::string kGrad = "_grad";

// They exist only inside the kernels of attention.
bool is_read_only(const std::string& name) {
  return name.ends_with("attn_scores") || name.ends_with("attn_scores_grad") || name.ends_with("pattern_grad");
}

// Calls f(dx) with the gradient of `value` once it is complete; what f assigns to dx takes its place if f returns true.
template <class F>
void on_gradient(const Var& value, F&& f) {
  Tape::backward_hook([gradient = value.gradient(), f] {
    check_signals();
    Tensor dx = gradient.value().defined() ? gradient.value()
                                           : Tensor::zeros(gradient.shape(), gradient.dtype(), gradient.device());
    if (!f(dx)) return;
    gradient.clear();
    gradient.accumulate(dx);
  });
}

struct PatternShape {
  std::int64_t B, H, P, K;  // K = E + P keys
  DType type;
  bool on_cpu;

  explicit PatternShape(const AttentionPoint& point)
      : B(point.q_BHTD.dim(0)),
        H(point.q_BHTD.dim(1)),
        P(point.q_BHTD.dim(2)),
        K(point.k_BGTD.dim(2) + (point.has_extra_key ? 1 : 0)),
        type(accumulate_type(point.q_BHTD.dtype())),
        on_cpu(point.q_BHTD.device() == Device::cpu) {}
  Tensor filled(double value) const { return Tensor::full({B, H, P, K}, value, type); }
  // f(bh) for every sequence and head; on all threads if the tensors of the model are in host memory.
  template <class F>
  void for_each_head(F&& f) const {
    if (on_cpu) return parallel_for(B * H, f);
    for (std::int64_t bh = 0; bh < B * H; ++bh) f(bh);
  }
};

// (B, H, P, E + P): float32, or float64 in a model of float64. E = 1 with an extra key, whose column is the first.
Tensor attention_pattern_of(const AttentionPoint& point) {
  const PatternShape shape(point);
  Tensor pattern_BHTK = shape.filled(0);
  shape.for_each_head([&](std::int64_t bh) {
    Tensor head_TK = pattern_BHTK.slice(bh * shape.P * shape.K, {shape.P, shape.K});
    head_TK.copy_from(point.pattern(bh / shape.H, bh % shape.H));
  });
  return pattern_BHTK;
}

// s_ij = scale q_i . k_j + bias, as the attention operation reads it, or another value of the trace; `unseen` where
// query i does not see key j.
Tensor traced(const PatternShape& shape, const AttentionPoint::Trace& trace, double AttentionTrace::Key::*value,
              double unseen, const Tensor& do_BHTD = {}) {
  Tensor traced_BHTK = shape.filled(unseen);
  const std::int64_t extra = shape.K - shape.P;
  with_real<float, double>(shape.type, [&](auto zero) {
    auto* out = traced_BHTK.data<decltype(zero)>();
    shape.for_each_head([&](std::int64_t bh) {
      for (std::int64_t i = 0; i < shape.P; ++i)
        for (const AttentionTrace::Key& key : trace(do_BHTD, bh / shape.H, bh % shape.H, i).keys) {
          const std::int64_t column = key.j == AttentionTrace::kExtraKey ? 0 : key.j + extra;
          out[(bh * shape.P + i) * shape.K + column] = static_cast<decltype(zero)>(key.*value);
        }
    });
  });
  return traced_BHTK;
}

// The values of all keys in double.
struct KeyValues {
  PatternShape shape;
  Tensor v_BGTD, extra_v_HD;

  explicit KeyValues(const AttentionPoint& point) : shape(point), v_BGTD(in_double(point.v_BGTD)) {
    if (point.extra_v_HD.defined()) extra_v_HD = in_double(point.extra_v_HD);
  }
  static Tensor in_double(const Tensor& x) { return x.to(Device::cpu).to(DType::F64); }
  std::int64_t D() const { return v_BGTD.dim(3); }

  // f(bh, i, column, v_D) for every query and key, in parallel over bh.
  template <class F>
  void for_each(F&& f) const {
    const std::int64_t G = v_BGTD.dim(1), extra = shape.K - shape.P;
    parallel_for(shape.B * shape.H, [&](std::int64_t bh) {
      const std::int64_t h = bh % shape.H, g = bh / shape.H * G + h / (shape.H / G);
      for (std::int64_t i = 0; i < shape.P; ++i) {
        if (extra == 1 && extra_v_HD.defined()) f(bh, i, 0, extra_v_HD.data<double>() + h * D());
        for (std::int64_t j = 0; j < shape.P; ++j) f(bh, i, extra + j, v_BGTD.data<double>() + (g * shape.P + j) * D());
      }
    });
  }
};

// o_i = sum_j a_ij v_j, in double: (B, H, P, D) with the type of point.o_BHTD.
Tensor mix_values(const AttentionPoint& point, const Tensor& pattern_BHTK) {
  const KeyValues values(point);
  const PatternShape& shape = values.shape;
  const Tensor a = pattern_BHTK.to(DType::F64);
  Tensor o_BHTD = Tensor::zeros({shape.B, shape.H, shape.P, values.D()}, DType::F64);
  values.for_each([&](std::int64_t bh, std::int64_t i, std::int64_t column, const double* v_D) {
    const double a_ij = a.data<double>()[(bh * shape.P + i) * shape.K + column];
    double* o_D = o_BHTD.data<double>() + (bh * shape.P + i) * values.D();
    for (std::int64_t d = 0; d < values.D(); ++d) o_D[d] += a_ij * v_D[d];
  });
  return o_BHTD.to(point.o_BHTD.value().dtype()).to(point.o_BHTD.value().device());
}

// da_ij = do_i . v_j
Tensor pattern_gradient(const KeyValues& values, const Tensor& do_BHTD) {
  const PatternShape& shape = values.shape;
  const Tensor gradient = KeyValues::in_double(do_BHTD);
  Tensor da_BHTK = Tensor::zeros({shape.B, shape.H, shape.P, shape.K}, DType::F64);
  values.for_each([&](std::int64_t bh, std::int64_t i, std::int64_t column, const double* v_D) {
    const double* do_D = gradient.data<double>() + (bh * shape.P + i) * values.D();
    double& da = da_BHTK.data<double>()[(bh * shape.P + i) * shape.K + column];
    for (std::int64_t d = 0; d < values.D(); ++d) da += do_D[d] * v_D[d];
  });
  return da_BHTK.to(shape.type);
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
  const std::string of = name.substr(0, name.size() - (name.ends_with(kGrad) ? kGrad.size() : 0));
  SINK_CHECK(std::find(known.begin(), known.end(), of) != known.end(), "hook",
             "there is no activation " + printable(of) + ": model.activation_names() lists them", Exit::usage);
  SINK_CHECK(!replaced || !name.ends_with("attn_scores"), "hook",
             name + " can be read, but not replaced: replace hook_rot_q, hook_rot_k or hook_pattern", Exit::usage);
}

bool ActivationHooks::wants_gradients() const {
  auto is_gradient = [](const std::string& name) { return name.ends_with(kGrad); };
  return std::ranges::any_of(read_, is_gradient) || std::ranges::any_of(replaced_, is_gradient);
}

Tensor ActivationHooks::replacement(const std::string& name, const Tensor& value) const {
  if (!replaced_.contains(name)) return {};
  check_signals();
  nb::gil_scoped_acquire acquired;
  nb::object returned = function_(array_of(value.clone(), !is_read_only(name)), nb::str(name.c_str()));
  if (returned.is_none()) return {};
  Values values;
  if (!nb::try_cast(returned, values))
    throw Error("the hook of " + name + " returned no array: expected None or an array of shape " + value.shape().str(),
                Exit::usage);
  return tensor_of(values, value);
}

bool ActivationHooks::visit(const std::string& name, Tensor& value) {
  const Tensor other = replacement(name, value);
  if (other.defined()) value = other;
  if (read_.contains(name)) kept_[name] = value;
  return other.defined();
}

void ActivationHooks::visit(const std::string& name, Var& value) {
  if (Tensor x = value.value(); visit(name, x)) value = Var(x, Tape::active() != nullptr);
  if (!wants(name + kGrad)) return;
  on_gradient(value, [this, name](Tensor& dx) { return visit(name + kGrad, dx); });
}

void ActivationHooks::visit(const std::string& name, Residual& x_BTC) {
  if (!wants(name) && !wants(name + kGrad)) return;
  Var sum_BTC = x_BTC.sum();
  visit(name, sum_BTC);
  if (replaced_.contains(name) || wants(name + kGrad)) x_BTC = Residual(sum_BTC);
}

void ActivationHooks::residual_post(std::int64_t layer, Residual& x_BTC) {
  visit(block(layer) + "hook_resid_post", x_BTC);
  check_signals();
}

void ActivationHooks::sublayer_input(std::int64_t layer, SublayerKind kind, Var& h_BTC) {
  visit(block(layer) + (kind == SublayerKind::attention ? "ln1.hook_normalized" : "ln2.hook_normalized"), h_BTC);
}

// Queries and keys, or their gradients, side by side with the values. Whether one was replaced.
bool ActivationHooks::visit_heads(const std::string& prefix, const std::string& suffix, Tensor& qkv_BTE) {
  auto [q_BHTD, k_BGTD, v_BGTD] = empty_heads(qkv_BTE, model_.sizes().heads, model_.sizes().key_heads());
  split_heads(qkv_BTE, q_BHTD, k_BGTD, v_BGTD);
  const bool q_replaced = visit(prefix + "hook_q" + suffix, q_BHTD),
             k_replaced = visit(prefix + "hook_k" + suffix, k_BGTD);
  if (!q_replaced && !k_replaced) return false;
  qkv_BTE = Tensor::empty_like(qkv_BTE);
  split_heads_backward(q_BHTD, k_BGTD, v_BGTD, qkv_BTE);
  return true;
}

void ActivationHooks::projected_heads(std::int64_t layer, Var& qkv_BTE) {
  const std::string prefix = block(layer) + "attn.";
  auto wants_either = [&](const std::string& suffix) {
    return wants(prefix + "hook_q" + suffix) || wants(prefix + "hook_k" + suffix);
  };
  if (Tensor x = qkv_BTE.value(); wants_either("") && visit_heads(prefix, "", x))
    qkv_BTE = Var(x, Tape::active() != nullptr);
  if (wants_either(kGrad)) on_gradient(qkv_BTE, [this, prefix](Tensor& dx) { return visit_heads(prefix, kGrad, dx); });
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
  const std::string prefix = block(point.layer) + "attn.", pattern = prefix + "hook_pattern",
                    scores = prefix + "hook_attn_scores";
  const PatternShape shape(point);
  if (wants(scores)) {
    Tensor s_BHTK = traced(shape, point.trace(), &AttentionTrace::Key::s, -std::numeric_limits<double>::infinity());
    visit(scores, s_BHTK);
  }
  if (wants(pattern))
    if (Tensor a_BHTK = attention_pattern_of(point); visit(pattern, a_BHTK))
      point.o_BHTD = Var(mix_values(point, a_BHTK), Tape::active() != nullptr);
  if (wants(scores + kGrad))
    on_gradient(point.o_BHTD, [this, shape, name = scores + kGrad, trace = point.trace()](Tensor& do_BHTD) {
      Tensor ds_BHTK = traced(shape, trace, &AttentionTrace::Key::ds, 0, do_BHTD);
      visit(name, ds_BHTK);
      return false;
    });
  if (wants(pattern + kGrad))
    on_gradient(point.o_BHTD, [this, name = pattern + kGrad, values = KeyValues(point)](Tensor& do_BHTD) {
      Tensor da_BHTK = pattern_gradient(values, do_BHTD);
      visit(name, da_BHTK);
      return false;
    });
  visit(prefix + "hook_z", point.o_BHTD);
}

}  // namespace sink::python
