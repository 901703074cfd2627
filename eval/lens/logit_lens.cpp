#include "eval/lens/logit_lens.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "engine/threads.h"
#include "eval/sink/evaluation.h"
#include "eval/vector_statistics.h"
#include "model/forward_hooks.h"

namespace sink {
namespace {

// The residual stream of every layer, of the tokens of the text.
struct Streams final : HiddenStateHooks {
  std::int64_t extra_tokens;
  std::vector<Tensor> x_1TC;
  explicit Streams(std::int64_t extra_tokens) : extra_tokens(extra_tokens) {}
  void hidden_state(std::int64_t, const Tensor& x_BTC) override {
    const std::int64_t T = x_BTC.dim(1) - extra_tokens, C = x_BTC.dim(2);
    x_1TC.push_back(x_BTC.slice(extra_tokens * C, {1, T, C}).clone());
  }
};

template <class R>
Prediction prediction_of(std::span<const R> logits, double lse) {
  const auto best = std::max_element(logits.begin(), logits.end());
  return {static_cast<std::int32_t>(best - logits.begin()), std::exp(static_cast<double>(*best) - lse)};
}

template <class R>
LensCell cell_of(std::span<const R> logits, std::span<const R> last, std::int32_t next) {
  const double lse = log_sum_exp(logits), lse_last = log_sum_exp(last);
  const Prediction best = prediction_of(logits, lse);
  const auto log_p = as_doubles(last) - lse_last, log_q = as_doubles(logits) - lse;
  return {.token = best.token,
          .probability = best.probability,
          .loss = next < 0 ? std::numeric_limits<double>::quiet_NaN()
                           : lse - static_cast<double>(logits[static_cast<std::size_t>(next)]),
          .divergence = xt::sum(xt::exp(log_p) * (log_p - log_q))()};
}

}  // namespace

std::vector<Prediction> lens_predictions(const LanguageModel& model, const Tensor& x_1TC) {
  const Tensor logits_1TV = model.lens_logits(x_1TC).to(Device::cpu);
  const std::int64_t T = logits_1TV.dim(1), V = logits_1TV.dim(2);
  std::vector<Prediction> best_T(static_cast<std::size_t>(T));
  with_real(logits_1TV.dtype(), [&](auto zero) {
    using R = decltype(zero);
    parallel_for(T, [&](std::int64_t t) {
      const std::span<const R> logits(logits_1TV.data<R>() + t * V, static_cast<std::size_t>(V));
      best_T[static_cast<std::size_t>(t)] = prediction_of(logits, log_sum_exp(logits));
    });
  });
  return best_T;
}

Lens logit_lens(const LanguageModel& model, const Tensor& tokens_1T) {
  Streams streams(model.extra_tokens());
  const Tensor last_1TV = model.logits(tokens_1T, {.hooks = &streams}).to(Device::cpu);
  const std::int64_t T = tokens_1T.dim(1), V = last_1TV.dim(2);
  const std::int32_t* ids = tokens_1T.data<std::int32_t>();
  const auto next_of = [&](std::int64_t t) { return t + 1 < T && t + 1 >= model.sizes().prefix ? ids[t + 1] : -1; };
  Lens lens;
  for (std::size_t l = 0; l < streams.x_1TC.size(); ++l) {
    const bool is_last = l + 1 == streams.x_1TC.size();
    const Tensor logits_1TV = is_last ? last_1TV : model.lens_logits(streams.x_1TC[l]).to(Device::cpu);
    std::vector<LensCell>& row = lens.emplace_back(static_cast<std::size_t>(T));
    with_real(logits_1TV.dtype(), [&](auto zero) {
      using R = decltype(zero);
      const R *logits = logits_1TV.data<R>(), *last = last_1TV.data<R>();
      const auto vocabulary = static_cast<std::size_t>(V);
      parallel_for(T, [&](std::int64_t t) {
        row[static_cast<std::size_t>(t)] =
            cell_of<R>({logits + t * V, vocabulary}, {last + t * V, vocabulary}, next_of(t));
      });
    });
    for (const LensCell& cell : row) require_finite_loss(cell.probability);  // NaN where a logit is not finite
  }
  return lens;
}

}  // namespace sink
