#include "eval/interventions/place_hooks.h"

#include <algorithm>

#include "engine/tensor_view.h"

namespace sink {
namespace {

bool is_chosen(std::int64_t one, const std::vector<std::int64_t>& chosen) {
  return chosen.empty() || std::find(chosen.begin(), chosen.end(), one) != chosen.end();
}

// A copy of z_BHTD with other vectors z_D = vector(h, t) for the chosen heads and tokens of every sequence.
template <class Vector>
Tensor with_other_vectors(const Tensor& z_BHTD, const Intervention& chosen, std::int64_t extra_tokens,
                          Vector&& vector) {
  Tensor edited = z_BHTD.clone();
  with_real(edited.dtype(), [&](auto zero) {
    auto z = view<decltype(zero), 4>(edited);
    for (std::size_t b = 0; b < z.shape(0); ++b)
      for (std::size_t h = 0; h < z.shape(1); ++h) {
        if (!is_chosen(static_cast<std::int64_t>(h), chosen.heads)) continue;
        for (auto t = static_cast<std::size_t>(extra_tokens); t < z.shape(2); ++t)
          if (is_chosen(static_cast<std::int64_t>(t) - extra_tokens + 1, chosen.tokens))
            for (std::size_t d = 0; d < z.shape(3); ++d) store(z(b, h, t, d), vector(h, t, d));
      }
  });
  return edited;
}

class HeadHooks final : public ForwardHooks {
 public:
  HeadHooks(const Intervention& intervention, std::int64_t extra_tokens, const ValueSums& values)
      : intervention_(intervention), extra_tokens_(extra_tokens), values_(values) {}

  void attention(AttentionPoint& attention) override {
    if (!is_chosen(attention.layer, intervention_.layers)) return;
    const Tensor mean_HD = intervention_.mean_value ? values_.mean_output(attention.layer) : Tensor();
    attention.o_BHTD = Var(with_other_vectors(attention.o_BHTD.value(), intervention_, extra_tokens_,
                                              [&](std::size_t h, std::size_t, std::size_t d) {
                                                return mean_HD.defined() ? view<double, 2>(mean_HD)(h, d) : 0.0;
                                              }));
  }

 private:
  const Intervention& intervention_;
  std::int64_t extra_tokens_;
  const ValueSums& values_;
};

class PatchHooks final : public ForwardHooks {
 public:
  PatchHooks(const Intervention& intervention, std::int64_t extra_tokens, const SourceActivations& source)
      : intervention_(intervention), extra_tokens_(extra_tokens), source_(source) {}

  void attention(AttentionPoint& attention) override {
    if (intervention_.of_residual || !is_chosen(attention.layer, intervention_.layers)) return;
    const Tensor source = source_.head_outputs_BHTD(attention.layer).to(DType::F64);
    const auto from = view<double, 4>(source);
    attention.o_BHTD =
        Var(with_other_vectors(attention.o_BHTD.value(), intervention_, extra_tokens_,
                               [&](std::size_t h, std::size_t t, std::size_t d) { return from(0, h, t, d); }));
  }

  // The residual stream (B, T, C) is one head (B, 1, T, C).
  void residual_post(std::int64_t layer, Residual& x) override {
    if (!intervention_.of_residual || !is_chosen(layer, intervention_.layers)) return;
    const Tensor x_BTC = x.sum().value(), source = source_.residual_BTC(layer).to(DType::F64);
    const auto from = view<double, 3>(source);
    const Tensor edited =
        with_other_vectors(x_BTC.reshape({x_BTC.dim(0), 1, x_BTC.dim(1), x_BTC.dim(2)}), intervention_, extra_tokens_,
                           [&](std::size_t, std::size_t t, std::size_t c) { return from(0, t, c); });
    x = Var(edited.reshape(x_BTC.shape()));
  }

 private:
  const Intervention& intervention_;
  std::int64_t extra_tokens_;
  const SourceActivations& source_;
};

}  // namespace

std::unique_ptr<ForwardHooks> head_hooks(const Intervention& intervention, std::int64_t extra_tokens,
                                         const ValueSums& values) {
  return std::make_unique<HeadHooks>(intervention, extra_tokens, values);
}

std::unique_ptr<ForwardHooks> patch_hooks(const Intervention& intervention, std::int64_t extra_tokens,
                                          const SourceActivations& source) {
  return std::make_unique<PatchHooks>(intervention, extra_tokens, source);
}

}  // namespace sink
