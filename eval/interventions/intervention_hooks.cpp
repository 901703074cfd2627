#include "eval/interventions/intervention_hooks.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <xtensor/xview.hpp>

#include "engine/check.h"
#include "engine/tensor_view.h"
#include "eval/interventions/quantisation.h"
#include "eval/vector_statistics.h"

namespace sink {
namespace {

using What = Intervention::What;

bool is_among(std::int64_t one, const std::vector<std::int64_t>& chosen) {
  return chosen.empty() || std::find(chosen.begin(), chosen.end(), one) != chosen.end();
}

class InterventionHooks : public ForwardHooks {
 public:
  InterventionHooks(const Intervention& intervention, std::int64_t extra_tokens, const ValueSums& values,
                    const SourceActivations* source)
      : intervention_(intervention), extra_tokens_(extra_tokens), values_(values), source_(source) {}

 protected:
  bool is_of(std::int64_t layer) const { return is_among(layer, intervention_.layers); }

  const Intervention& intervention_;
  std::int64_t extra_tokens_;
  const ValueSums& values_;
  const SourceActivations* source_;
};

struct AttentionHooks final : InterventionHooks {
  using InterventionHooks::InterventionHooks;

  void attention(AttentionPoint& attention) override {
    if (!is_of(attention.layer)) return;
    Tensor edited = attention.o_BHTD.value().clone();
    with_real(edited.dtype(), [&](auto zero) {
      if (intervention_.what == What::constant)
        subtract_deviation<decltype(zero)>(attention, edited);
      else
        recompute_rows<decltype(zero)>(attention, edited);
    });
    attention.o_BHTD = Var(edited);
  }

 private:
  // f(b, h, key head of h) for the chosen heads.
  template <class F>
  void for_each_head(const AttentionPoint& attention, F&& f) const {
    const std::int64_t B = attention.o_BHTD.value().dim(0), H = attention.o_BHTD.value().dim(1),
                       G = attention.v_BGTD.dim(1);
    for (std::int64_t b = 0; b < B; ++b)
      for (std::int64_t h = 0; h < H; ++h)
        if (is_among(h, intervention_.heads)) f(b, h, h / (H / G));
  }
  // A token changes only later queries. So the rows between two tokens come from attention in which the tokens before
  // them are changed, and the tokens after them not yet.
  template <class R>
  void recompute_rows(const AttentionPoint& attention, Tensor& edited) const {
    const bool masks =
        intervention_.what == What::redistribute || (intervention_.what == What::mask && attention.divides_by_sum);
    const Tensor& v = attention.v_BGTD;
    Tensor k_edited = attention.k_BGTD.clone(), v_edited = v.clone();
    Tensor one = Tensor::full(v.shape(), 1, v.dtype()), of_extra;
    if (attention.has_extra_key) of_extra = Tensor::full({edited.dim(1), v.dim(3)}, 1, v.dtype());
    const Tensor all = masks ? attention.mix(attention.k_BGTD, one, of_extra) : Tensor();
    for (std::size_t n = 0; n < intervention_.tokens.size(); ++n) {
      const std::int64_t key = position_of(intervention_.tokens[n]);
      if (intervention_.what == What::key)
        steer<R>(k_edited, key);
      else
        replace_value<R>(v_edited, attention.layer, key);
      const Tensor other = attention.mix(k_edited, v_edited, attention.extra_v_HD);
      Tensor rest;
      if (masks) {
        set_row<R>(one, key, 0);
        rest = attention.mix(attention.k_BGTD, one, of_extra);
      }
      const std::int64_t T = edited.dim(2), D = edited.dim(3);
      const std::int64_t end = n + 1 < intervention_.tokens.size() ? position_of(intervention_.tokens[n + 1]) + 1 : T;
      auto from = view<R, 4>(other);
      auto to = view<R, 4>(edited);
      for_each_head(attention, [&](std::int64_t b, std::int64_t h, std::int64_t) {
        for (std::int64_t i = key + 1; i < end; ++i) {
          const double scale = masks ? scale_of<R>(all, rest, b, h, i) : 1;
          for (std::int64_t d = 0; d < D; ++d) store(to(b, h, i, d), scale * static_cast<double>(from(b, h, i, d)));
        }
      });
    }
  }

  // Z / (Z - a_ik) for row i; 1 where nothing is left of the other weights.
  template <class R>
  double scale_of(const Tensor& all, const Tensor& rest, std::int64_t b, std::int64_t h, std::int64_t i) const {
    const double Z = static_cast<double>(view<R, 4>(all)(b, h, i, 0)), left = view<R, 4>(rest)(b, h, i, 0);
    const double nothing = intervention_.what == What::mask ? 0 : kNothingElse * std::abs(Z);
    return std::abs(left) > nothing ? Z / left : 1;
  }

  template <class R>
  void subtract_deviation(const AttentionPoint& attention, Tensor& edited) const {
    const std::int64_t T = edited.dim(2), D = edited.dim(3);
    auto v = view<R, 4>(attention.v_BGTD);
    auto o = view<R, 4>(edited);
    for (std::int64_t token : intervention_.tokens) {
      const std::int64_t key = position_of(token);
      Tensor one_at_key = Tensor::zeros(attention.v_BGTD.shape(), attention.v_BGTD.dtype());
      set_row<R>(one_at_key, key, 1);
      const Tensor weights = attention.mix(attention.k_BGTD, one_at_key, {});
      auto a = view<R, 4>(weights);
      for_each_head(attention, [&](std::int64_t b, std::int64_t h, std::int64_t g) {
        auto weight = [&](std::int64_t i) { return static_cast<double>(a(b, h, i, 0)); };
        double mean = 0;
        for (std::int64_t i = key + 1; i < T; ++i) mean += weight(i) / static_cast<double>(T - 1 - key);
        for (std::int64_t i = key + 1; i < T; ++i)
          for (std::int64_t d = 0; d < D; ++d)
            store(o(b, h, i, d),
                  static_cast<double>(o(b, h, i, d)) - (weight(i) - mean) * static_cast<double>(v(b, g, key, d)));
      });
    }
  }

  template <class R>
  static void set_row(Tensor& x_BGTD, std::int64_t key, double value) {
    R stored;
    store(stored, value);
    auto x = view<R, 4>(x_BGTD);
    xt::view(x, xt::all(), xt::all(), key) = stored;
  }

  template <class R>
  void replace_value(Tensor& v_BGTD, std::int64_t layer, std::int64_t key) const {
    if (!intervention_.mean_value) return set_row<R>(v_BGTD, key, 0);
    const Tensor mean_GD = values_.mean(layer, intervention_.tokens);
    auto mean = view<double, 2>(mean_GD);
    auto v = view<R, 4>(v_BGTD);
    for (std::size_t b = 0; b < v.shape(0); ++b)
      for (std::size_t g = 0; g < v.shape(1); ++g)
        for (std::size_t d = 0; d < v.shape(3); ++d) store(v(b, g, key, d), mean(g, d));
  }

  template <class R>
  void steer(Tensor& k_BGTD, std::int64_t key) const {
    auto k = view<R, 4>(k_BGTD);
    for (std::size_t b = 0; b < k.shape(0); ++b)
      for (std::size_t g = 0; g < k.shape(1); ++g) {
        double squares = 0;
        for (std::size_t d = 0; d < k.shape(3); ++d) squares += std::pow(static_cast<double>(k(b, g, key, d)), 2);
        double factor = intervention_.scale + (squares > 0 ? intervention_.along / std::sqrt(squares) : 0);
        for (std::size_t d = 0; d < k.shape(3); ++d)
          store(k(b, g, key, d), factor * static_cast<double>(k(b, g, key, d)));
      }
  }

  std::int64_t position_of(std::int64_t token) const { return extra_tokens_ + token - 1; }

  static constexpr double kNothingElse = 1e-6;  // of the row sum
};

// Sets z_D = vector(h, t) for the chosen heads and tokens of every sequence.
template <class Vector>
void replace_vectors(Tensor& z_BHTD, const Intervention& chosen, std::int64_t extra_tokens, Vector&& vector) {
  with_real(z_BHTD.dtype(), [&](auto zero) {
    auto z = view<decltype(zero), 4>(z_BHTD);
    for (std::size_t b = 0; b < z.shape(0); ++b)
      for (std::size_t h = 0; h < z.shape(1); ++h) {
        if (!is_among(static_cast<std::int64_t>(h), chosen.heads)) continue;
        for (auto t = static_cast<std::size_t>(extra_tokens); t < z.shape(2); ++t)
          if (is_among(static_cast<std::int64_t>(t) - extra_tokens + 1, chosen.tokens))
            for (std::size_t d = 0; d < z.shape(3); ++d) store(z(b, h, t, d), vector(h, t, d));
      }
  });
}

// The outputs of heads (`head`, `patch`), of each copy of the sequences by its own intervention.
class HeadHooks final : public ForwardHooks {
 public:
  HeadHooks(std::span<const Intervention> of_copies, std::int64_t extra_tokens, const ValueSums& values,
            const SourceActivations* source)
      : of_copies_(of_copies), extra_tokens_(extra_tokens), values_(values), source_(source) {}

  void attention(AttentionPoint& attention) override {
    Tensor edited = attention.o_BHTD.value().clone();
    const std::int64_t B = edited.dim(0) / static_cast<std::int64_t>(of_copies_.size());
    for (std::size_t n = 0; n < of_copies_.size(); ++n) {
      Intervention one = of_copies_[n];
      for (const auto& [layer, head] : one.layer_heads) {
        one.layers.push_back(layer);
        if (layer == attention.layer) one.heads.push_back(head);
      }
      if (!is_among(attention.layer, one.layers)) continue;
      const auto first = static_cast<std::int64_t>(n) * B;
      Tensor o_BHTD = edited.rows(first, first + B);
      change(one, attention.layer, o_BHTD);
    }
    attention.o_BHTD = Var(edited);
  }

 private:
  void change(const Intervention& one, std::int64_t layer, Tensor& o_BHTD) const {
    if (one.what == What::patch) {
      const Tensor source = source_->heads_BHTD.at(layer).to(DType::F64);
      const auto from = view<double, 4>(source);
      replace_vectors(o_BHTD, one, extra_tokens_, [&](auto h, auto t, auto d) { return from(0, h, t, d); });
    } else if (one.mean_value) {
      const Tensor mean_HD = values_.mean_output(layer);
      const auto mean = view<double, 2>(mean_HD);
      replace_vectors(o_BHTD, one, extra_tokens_, [&](auto h, auto, auto d) { return mean(h, d); });
    } else {
      replace_vectors(o_BHTD, one, extra_tokens_, [](auto, auto, auto) { return 0.0; });
    }
  }

  std::span<const Intervention> of_copies_;
  std::int64_t extra_tokens_;
  const ValueSums& values_;
  const SourceActivations* source_;
};

struct PatchedResidual final : InterventionHooks {
  using InterventionHooks::InterventionHooks;

  // The residual stream (B, T, C) is one head (B, 1, T, C).
  void residual_post(std::int64_t layer, Residual& x) override {
    if (!is_of(layer)) return;
    const Tensor x_BTC = x.sum().value(),
                 source = source_->residuals_BTC[static_cast<std::size_t>(layer)].to(DType::F64);
    const auto from = view<double, 3>(source);
    Tensor edited = x_BTC.clone().reshape({x_BTC.dim(0), 1, x_BTC.dim(1), x_BTC.dim(2)});
    replace_vectors(edited, intervention_, extra_tokens_, [&](auto, auto t, auto c) { return from(0, t, c); });
    x = Var(edited.reshape(x_BTC.shape()));
  }
};

struct ClipHooks final : InterventionHooks {
  using InterventionHooks::InterventionHooks;

  void residual_post(std::int64_t layer, Residual& x) override {
    if (!is_of(layer)) return;
    const Tensor x_BTC = x.sum().value();
    Tensor clipped = x_BTC.clone();
    const std::int64_t T = x_BTC.dim(1), C = x_BTC.dim(2);
    with_real(clipped.dtype(), [&](auto zero) {
      auto* x = clipped.data<decltype(zero)>();
      for (std::int64_t b = 0; b < x_BTC.dim(0); ++b, x += T * C) {
        const double largest =
            intervention_.largest > 0
                ? intervention_.largest
                : intervention_.medians * median_size_of(std::span(x, static_cast<std::size_t>(T * C)));
        for (std::int64_t t = 0; t < T; ++t)
          if (is_among(t - extra_tokens_ + 1, intervention_.tokens))
            for (std::int64_t c = 0; c < C; ++c)
              store(x[t * C + c], std::clamp(static_cast<double>(x[t * C + c]), -largest, largest));
      }
    });
    x = Var(clipped);
  }
};

struct QuantiseHooks final : ForwardHooks {
  Quantisation how;
  explicit QuantiseHooks(const Quantisation& how) : how(how) {}
  void sublayer_input(std::int64_t, SublayerKind, Var& h_BTC) override { h_BTC = rounded(h_BTC.value()); }
  void projection_input(std::int64_t, SublayerKind, Var& y_BTF) override {
    if (how.inner) y_BTF = rounded(y_BTF.value());
  }

 private:
  Var rounded(const Tensor& x_BTC) const {
    Tensor x = x_BTC.clone();
    quantise_tiles(x, how.inputs == Grain::token ? 1 : x.dim(1), how.inputs == Grain::channel ? 1 : x.dim(2),
                   how.input_bits);
    return Var(x);
  }
};

}  // namespace

void ValueSums::attention(AttentionPoint& point) {
  if (sums_GTD_.empty() || sums_GTD_.begin()->first == point.layer) sequences_ += point.v_BGTD.dim(0);
  const auto add_to = [&](std::map<std::int64_t, Tensor>& all, const Tensor& x_BHTD) {
    Tensor& sums = all[point.layer];
    if (!sums.defined()) sums = Tensor::zeros({x_BHTD.dim(1), x_BHTD.dim(2), x_BHTD.dim(3)}, DType::F64);
    const Tensor added = x_BHTD.to(DType::F64);
    auto x = view<double, 4>(added);
    for (std::size_t b = 0; b < x.shape(0); ++b) view<double, 3>(sums) += xt::view(x, b);
  };
  add_to(sums_GTD_, point.v_BGTD);
  add_to(outputs_HTD_, point.o_BHTD.value());
}

Tensor ValueSums::mean_output(std::int64_t layer) const {
  const Tensor& sums_HTD = outputs_HTD_.at(layer);
  const std::int64_t tokens = sums_HTD.dim(1) - extra_tokens_;
  Tensor mean_HD = Tensor::zeros({sums_HTD.dim(0), sums_HTD.dim(2)}, DType::F64);
  auto mean = view<double, 2>(mean_HD);
  auto sums = view<double, 3>(sums_HTD);
  for (std::int64_t t = extra_tokens_; t < sums_HTD.dim(1); ++t)
    mean += xt::view(sums, xt::all(), t) / static_cast<double>(tokens * sequences_);
  return mean_HD;
}

Tensor ValueSums::mean(std::int64_t layer, const std::vector<std::int64_t>& tokens) const {
  const Tensor& sums_GTD = sums_GTD_.at(layer);
  const std::int64_t T = sums_GTD.dim(1), others = T - extra_tokens_ - static_cast<std::int64_t>(tokens.size());
  auto sums = view<double, 3>(sums_GTD);
  Tensor mean_GD = Tensor::zeros({sums_GTD.dim(0), sums_GTD.dim(2)}, DType::F64);
  auto mean = view<double, 2>(mean_GD);
  for (std::int64_t t = extra_tokens_; t < T && others > 0; ++t) {
    if (is_among(t - extra_tokens_ + 1, tokens)) continue;
    mean += xt::view(sums, xt::all(), t) / static_cast<double>(others * sequences_);
  }
  return mean_GD;
}

bool is_of_head_outputs(const Intervention& intervention) {
  return intervention.what == What::head || (intervention.what == What::patch && !intervention.of_residual);
}

std::unique_ptr<ForwardHooks> hooks_of(std::span<const Intervention> of_copies, std::int64_t extra_tokens,
                                       const ValueSums& values, const SourceActivations* source) {
  const Intervention& intervention = of_copies.front();
  if (is_of_head_outputs(intervention)) return std::make_unique<HeadHooks>(of_copies, extra_tokens, values, source);
  SINK_CHECK(of_copies.size() == 1, "interventions", "only changes of head outputs share a pass");
  const auto make = [&]<class Hooks>(std::type_identity<Hooks>) -> std::unique_ptr<ForwardHooks> {
    return std::make_unique<Hooks>(intervention, extra_tokens, values, source);
  };
  if (intervention.what == What::patch) return make(std::type_identity<PatchedResidual>());
  if (intervention.what == What::clip) return make(std::type_identity<ClipHooks>());
  if (intervention.what != What::quantise) return make(std::type_identity<AttentionHooks>());
  if (intervention.quantisation.input_bits == 0) return nullptr;
  return std::make_unique<QuantiseHooks>(intervention.quantisation);
}

}  // namespace sink
