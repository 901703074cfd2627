#include "eval/interventions/token_change.h"

#include <algorithm>
#include <cmath>

#include "engine/io/csv.h"
#include "engine/io/str_format.h"
#include "engine/threads.h"
#include "eval/interventions/interventions.h"

namespace sink {
namespace {

// |y - x| / |x| of C elements; 0 where both are zero.
template <class R>
double relative_change(const R* x, const R* y, std::int64_t C) {
  double difference = 0, size = 0;
  for (std::int64_t c = 0; c < C; ++c) {
    const double a = static_cast<double>(x[c]), d = static_cast<double>(y[c]) - a;
    difference += d * d, size += a * a;
  }
  return difference == 0 ? 0 : std::sqrt(difference / size);
}

}  // namespace

double share_destroyed(const std::vector<TokenChange>& tokens) {
  return static_cast<double>(std::ranges::count_if(tokens, &TokenChange::destroyed)) /
         static_cast<double>(tokens.size());
}

void HiddenRecorder::residual_post(std::int64_t l, Residual& x) {
  hooks_.residual_post(l, x);
  hidden_.push_back(x.sum().value().clone());
}

void add_hidden_changes(const std::vector<Tensor>& before_LBTC, const std::vector<Tensor>& after_LBTC,
                        std::int64_t extra_tokens, std::span<TokenChange> tokens_BT) {
  const std::int64_t T = before_LBTC[0].dim(1) - extra_tokens, C = before_LBTC[0].dim(2);
  with_real(before_LBTC[0].dtype(), [&](auto zero) {
    using R = decltype(zero);
    parallel_for(static_cast<std::int64_t>(tokens_BT.size()), [&](std::int64_t n) {
      TokenChange& token = tokens_BT[static_cast<std::size_t>(n)];
      const std::int64_t row = n / T * (T + extra_tokens) + extra_tokens + n % T;
      for (std::size_t l = 0; l < before_LBTC.size(); ++l) {
        token.hidden_change = relative_change(before_LBTC[l].data<R>() + row * C, after_LBTC[l].data<R>() + row * C, C);
        if (l > 0 && !(token.hidden_change > token.largest_change)) continue;
        token.largest_change = token.hidden_change;
        token.layer = static_cast<std::int64_t>(l);
      }
    });
  });
}

std::string token_changes_csv(const Interventions& all, const std::vector<std::string>& texts) {
  std::string csv =
      "intervention,sequence,position,token,loss_before,loss,loss_change,divergence,greedy_changed,hidden_change,"
      "largest_hidden_change,layer,destroyed\n";
  for (const InterventionResult& result : all.results)
    for (std::size_t n = 0; n < result.tokens.size(); ++n) {
      const TokenChange& token = result.tokens[n];
      const auto T = static_cast<std::size_t>(all.context);
      csv += csv_field(result.name);
      csv += str_format(",%zu,%zu,", n / T + 1, n % T + 1);
      csv += csv_field(texts[n]);
      for (double value : {token.before, token.after, token.after - token.before, token.divergence})
        csv.append(",").append(csv_field(value));
      csv += str_format(",%d,", token.greedy_changed);
      csv.append(csv_field(token.hidden_change)).append(",").append(csv_field(token.largest_change));
      csv += str_format(",%lld,%d\n", static_cast<long long>(token.layer), token.destroyed());
    }
  return csv;
}

}  // namespace sink
