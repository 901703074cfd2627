#include "eval/interventions/activation_kurtosis.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "eval/vector_statistics.h"

namespace sink {
namespace {

constexpr std::size_t kProducts = 4;  // of a block

// f(elements of a sequence) for each sequence.
template <class F>
void for_each_sequence(const Tensor& x_BTC, F&& f) {
  const auto count = static_cast<std::size_t>(x_BTC.size() / x_BTC.dim(0));
  with_real(x_BTC.dtype(), [&](auto zero) {
    const auto* x = x_BTC.data<decltype(zero)>();
    for (std::int64_t b = 0; b < x_BTC.dim(0); ++b, x += count) f(std::span(x, count));
  });
}

double largest_by_median(auto values) {
  const double median = median_size_of(values);
  return median > 0 ? largest_size_of(values) / median : 0;
}

class KurtosisHooks final : public HiddenStateHooks {
 public:
  KurtosisHooks(const Sizes& sizes, std::int64_t sequences)
      : layers_(static_cast<std::size_t>(sizes.layers)),
        feed_forward_(static_cast<std::size_t>(sizes.feed_forward)),
        weight_(1 / static_cast<double>(sequences)) {
    kurtosis_.residual_first.assign(layers_ + 1, 0);
    kurtosis_.residual_others = kurtosis_.residual_largest_by_median = kurtosis_.residual_first;
    kurtosis_.inputs.assign(layers_, std::vector<double>(kProducts, 0));
  }

  void hidden_state(std::int64_t layer, const Tensor& x_BTC) override {
    const auto row = static_cast<std::size_t>(layer), T = static_cast<std::size_t>(x_BTC.dim(1)),
               C = static_cast<std::size_t>(x_BTC.dim(2));
    for_each_sequence(x_BTC, [&](auto x) {
      kurtosis_.residual_first[row] += weight_ * kurtosis_of(x.subspan(0, C));
      for (std::size_t t = 1; t < T; ++t)
        kurtosis_.residual_others[row] += weight_ * kurtosis_of(x.subspan(t * C, C)) / static_cast<double>(T - 1);
      kurtosis_.residual_largest_by_median[row] += weight_ * largest_by_median(x);
    });
  }
  void sublayer_input(std::int64_t layer, SublayerKind kind, Var& h_BTC) override { add(layer, kind, 0, h_BTC); }
  void projection_input(std::int64_t layer, SublayerKind kind, Var& y_BTF) override { add(layer, kind, 1, y_BTF); }
  const ActivationKurtosis& kurtosis() const { return kurtosis_; }

 private:
  // Columns: the first and the last product of attention, then of feed-forward.
  void add(std::int64_t layer, SublayerKind kind, std::size_t product, const Var& x) {
    if (kind == SublayerKind::shared_expert) return;  // the columns have no place for it
    const std::size_t column = (kind == SublayerKind::attention ? 0 : 2) + product;
    double& cell = kurtosis_.inputs.at(static_cast<std::size_t>(layer)).at(column);
    const bool of_experts = column == 3 && x.value().dim(-1) > static_cast<std::int64_t>(feed_forward_);
    for_each_sequence(x.value(), [&](auto values) {
      cell += weight_ * (of_experts ? kurtosis_of(chosen(values)) : kurtosis_of(values));
    });
  }
  // Of a mixture, the F elements of each expert that was chosen. Those of the others are zeros, which no product needs.
  template <class R>
  std::vector<R> chosen(std::span<const R> values) const {
    std::vector<R> kept;
    for (std::size_t at = 0; at < values.size(); at += feed_forward_) {
      const auto expert = values.subspan(at, feed_forward_);
      if (std::ranges::any_of(expert, [](R y) { return static_cast<double>(y) != 0; }))
        kept.insert(kept.end(), expert.begin(), expert.end());
    }
    return kept;
  }

  std::size_t layers_, feed_forward_;
  double weight_;
  ActivationKurtosis kurtosis_;
};

}  // namespace

ActivationKurtosis activation_kurtosis(LanguageModel& model, const Batch& sequences, std::int64_t batch) {
  KurtosisHooks hooks(model.sizes(), sequences.sequences());
  for (std::int64_t first = 0; first < sequences.sequences(); first += batch) {
    const Batch part = sequences.rows(first, std::min(sequences.sequences(), first + batch));
    model.next_logits(part.tokens_BT(), {.hooks = &hooks, .documents = part.documents()});
  }
  return hooks.kurtosis();
}

}  // namespace sink
