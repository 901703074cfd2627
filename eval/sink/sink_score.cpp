#include "eval/sink/sink_score.h"

#include <algorithm>
#include <limits>

#include "engine/tensor_view.h"

namespace sink {

std::pair<std::int64_t, std::int64_t> largest_cell(const ValueTable& table) {
  std::pair<std::int64_t, std::int64_t> cell{0, 0};
  double largest = -std::numeric_limits<double>::infinity();
  for (std::size_t row = 0; row < table.size(); ++row)
    for (std::size_t column = 0; column < table[row].size(); ++column)
      if (table[row][column] > largest) {
        largest = table[row][column];
        cell = {row, column};
      }
  return cell;
}

AlphaTable::AlphaTable(std::int64_t N, std::int64_t L, std::int64_t H, std::int64_t T, std::int64_t K)
    : T_(T), alpha_NLHK_(Tensor::zeros({N, L, H, K}, DType::F64)), star_NLH_(Tensor::zeros({N, L, H}, DType::F64)) {}

void AlphaTable::store(std::int64_t sequence, std::int64_t l, const Tensor& column_sums_BHK, const ValueTable& rows_BK,
                       std::int64_t extra_tokens, bool extra_key, const Tensor& extra_sums_BH) {
  std::int64_t N = alpha_NLHK_.dim(0), B = column_sums_BHK.dim(0), H = alpha_NLHK_.dim(2), K = alpha_NLHK_.dim(3);
  SINK_CHECK(column_sums_BHK.rank() == 3 && column_sums_BHK.dim(1) == H && column_sums_BHK.dim(2) == extra_tokens + K &&
                 sequence + B <= N,
             "sink_score",
             "expected column sums of at most " + std::to_string(N - sequence) + " sequences, " + std::to_string(H) +
                 " heads and " + std::to_string(extra_tokens + K) + " keys, got " + column_sums_BHK.str());
  auto sum_BHK = view<double, 3>(column_sums_BHK);
  auto alpha_NLHK = view<double, 4>(alpha_NLHK_);
  auto star_NLH = view<double, 3>(star_NLH_);
  has_star_ = extra_key || extra_tokens > 0;
  for (std::int64_t b = 0; b < B; ++b)
    for (std::int64_t h = 0; h < H; ++h) {
      std::int64_t n = sequence + b;
      const std::vector<double>& rows = rows_BK[static_cast<std::size_t>(b)];
      for (std::int64_t k = 0; k < K; ++k)  // k counts from 0 here
        alpha_NLHK(n, l, h, k) =
            alpha_of_key(sum_BHK(b, h, extra_tokens + k), rows[static_cast<std::size_t>(extra_tokens + k)]);
      if (extra_tokens > 0)
        star_NLH(n, l, h) = alpha_of_key(sum_BHK(b, h, 0), rows[0]);
      else if (extra_key)
        star_NLH(n, l, h) = alpha_of_extra_key(view<double, 2>(extra_sums_BH)(b, h), T_);
    }
}

std::vector<double> AlphaTable::values() const {
  std::vector<double> values{has_star_ ? 1.0 : 0.0};
  for (const Tensor& table : {alpha_NLHK_, star_NLH_})
    values.insert(values.end(), table.data<double>(), table.data<double>() + table.size());
  return values;
}

void AlphaTable::set_values(std::int64_t sequence, std::span<const double> values) {
  const std::int64_t N = alpha_NLHK_.dim(0), stars = star_NLH_.size() / N, alphas = alpha_NLHK_.size() / N;
  const auto count = static_cast<std::int64_t>(values.size()) - 1;
  const std::int64_t given = count / (alphas + stars);
  SINK_CHECK(count > 0 && count % (alphas + stars) == 0 && sequence + given <= N, "sink_score",
             "expected values of at most " + std::to_string(N - sequence) + " sequences, " +
                 std::to_string(alphas + stars) + " each, got " + std::to_string(count));
  has_star_ |= values.front() != 0;
  std::copy_n(values.begin() + 1, given * alphas, alpha_NLHK_.data<double>() + sequence * alphas);
  std::copy_n(values.begin() + 1 + given * alphas, given * stars, star_NLH_.data<double>() + sequence * stars);
}

double AlphaTable::alpha(std::int64_t sequence, std::int64_t k) const {
  const std::int64_t K = alpha_NLHK_.dim(3), heads = alpha_NLHK_.dim(1) * alpha_NLHK_.dim(2);
  const double* alpha_RK = alpha_NLHK_.data<double>() + sequence * heads * K;
  double sum = 0;
  for (std::int64_t r = 0; r < heads; ++r) sum += alpha_RK[r * K + k];
  return sum / static_cast<double>(heads);
}

// Each term is divided before it is added; terms are added in the order of sequences, layers and heads.
SinkScores AlphaTable::scores(const std::vector<double>& epsilons) const {
  auto alpha_NLHK = view<double, 4>(alpha_NLHK_);
  auto star_NLH = view<double, 3>(star_NLH_);
  auto [N, L, H, K] = alpha_NLHK.shape();
  const double sequences = static_cast<double>(N), all = static_cast<double>(N * L * H);
  SinkScores scores;
  scores.alpha_k.assign(K, 0);
  scores.sink_k_epsilon.assign(epsilons.size(), std::vector<double>(K, 0));
  scores.alpha_layer_head_k.assign(L, ValueTable(H, std::vector<double>(K, 0)));
  if (has_star_) {
    scores.alpha_star = 0;
    scores.sink_star.assign(epsilons.size(), 0);
    scores.alpha_star_layer_head.assign(L, std::vector<double>(H, 0));
  }
  for (std::size_t n = 0; n < N; ++n)
    for (std::size_t l = 0; l < L; ++l)
      for (std::size_t h = 0; h < H; ++h) {
        for (std::size_t k = 0; k < K; ++k) {
          const double alpha = alpha_NLHK(n, l, h, k);
          scores.alpha_k[k] += alpha / all;
          scores.alpha_layer_head_k[l][h][k] += alpha / sequences;
          for (std::size_t e = 0; e < epsilons.size(); ++e)
            scores.sink_k_epsilon[e][k] += is_sink(alpha, epsilons[e]) * (100 / all);
        }
        if (!has_star_) continue;
        const double alpha = star_NLH(n, l, h);
        scores.alpha_star += alpha / all;
        scores.alpha_star_layer_head[l][h] += alpha / sequences;
        for (std::size_t e = 0; e < epsilons.size(); ++e)
          scores.sink_star[e] += is_sink(alpha, epsilons[e]) * 100 / all;
      }
  scores.alpha_1 = scores.alpha_k.front();
  for (std::size_t e = 0; e < epsilons.size(); ++e) {
    scores.sink_1.push_back(scores.sink_k_epsilon[e].front());
    if (epsilons[e] == kSinkEpsilons[kPaperEpsilonIndex]) scores.sink_k = scores.sink_k_epsilon[e];
  }
  for (const ValueTable& layer : scores.alpha_layer_head_k) {
    scores.alpha_1_layer_head.emplace_back();
    for (const std::vector<double>& alpha_k : layer) scores.alpha_1_layer_head.back().push_back(alpha_k.front());
  }
  return scores;
}

}  // namespace sink
