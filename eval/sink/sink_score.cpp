#include "eval/sink/sink_score.h"

#include <algorithm>

#include "engine/tensor_view.h"

namespace sink {

AlphaTable::AlphaTable(std::int64_t N, std::int64_t L, std::int64_t H, std::int64_t T, std::int64_t K)
    : T_(T), alpha_NLHK_(Tensor::zeros({N, L, H, K}, DType::F64)), star_NLH_(Tensor::zeros({N, L, H}, DType::F64)) {}

void AlphaTable::store(std::int64_t sequence, std::int64_t l, const Tensor& column_sums_BHK, std::int64_t extra_tokens,
                       bool extra_key, const Tensor& extra_sums_BH, const DocumentPlaces& documents) {
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
  double star_rows = static_cast<double>(T_ + 1);
  for (std::int64_t b = 0; b < B; ++b)
    for (std::int64_t h = 0; h < H; ++h) {
      std::int64_t n = sequence + b;
      for (std::int64_t k = 0; k < K; ++k)  // k counts from 0 here
        alpha_NLHK(n, l, h, k) = sum_BHK(b, h, extra_tokens + k) / static_cast<double>(documents.end(b, k, T_) - k);
      if (extra_tokens > 0)
        star_NLH(n, l, h) = sum_BHK(b, h, 0) / star_rows;
      else if (extra_key)
        star_NLH(n, l, h) = (1 + view<double, 2>(extra_sums_BH)(b, h)) / star_rows;
    }
}

std::vector<double> AlphaTable::numbers() const {
  std::vector<double> numbers{has_star_ ? 1.0 : 0.0};
  for (const Tensor& table : {alpha_NLHK_, star_NLH_})
    numbers.insert(numbers.end(), table.data<double>(), table.data<double>() + table.size());
  return numbers;
}

void AlphaTable::put(std::int64_t sequence, std::span<const double> numbers) {
  const std::int64_t N = alpha_NLHK_.dim(0), stars = star_NLH_.size() / N, alphas = alpha_NLHK_.size() / N;
  const auto count = static_cast<std::int64_t>(numbers.size()) - 1;
  const std::int64_t given = count / (alphas + stars);
  SINK_CHECK(count > 0 && count % (alphas + stars) == 0 && sequence + given <= N, "sink_score",
             "expected numbers of at most " + std::to_string(N - sequence) + " sequences, " +
                 std::to_string(alphas + stars) + " each, got " + std::to_string(count));
  has_star_ |= numbers.front() != 0;
  std::copy_n(numbers.begin() + 1, given * alphas, alpha_NLHK_.data<double>() + sequence * alphas);
  std::copy_n(numbers.begin() + 1 + given * alphas, given * stars, star_NLH_.data<double>() + sequence * stars);
}

// Sums are taken one after another, each term divided first: xtensor's own would sum in another order and change
// digits.
SinkScores AlphaTable::scores(const std::vector<double>& epsilons) const {
  auto alpha_NLHK = view<double, 4>(alpha_NLHK_);
  auto [N, L, H, K] = alpha_NLHK.shape();
  double sequences = static_cast<double>(N), all = static_cast<double>(N * L * H);
  SinkScores scores;
  scores.alpha_k.assign(K, 0);
  scores.sink_k.assign(epsilons.size(), std::vector<double>(K, 0));
  scores.alpha_layer_head_k.assign(L, NumberTable(H, std::vector<double>(K, 0)));
  for (std::size_t n = 0; n < N; ++n)
    for (std::size_t l = 0; l < L; ++l)
      for (std::size_t h = 0; h < H; ++h)
        for (std::size_t k = 0; k < K; ++k) {
          double alpha = alpha_NLHK(n, l, h, k);
          scores.alpha_k[k] += alpha / all;
          scores.alpha_layer_head_k[l][h][k] += alpha / sequences;
          // The indicator of each sample first, the mean afterwards.
          for (std::size_t e = 0; e < epsilons.size(); ++e) scores.sink_k[e][k] += alpha > epsilons[e];
        }
  for (auto& sink : scores.sink_k)
    for (double& share : sink) share *= 100 / all;
  for (const NumberTable& heads : scores.alpha_layer_head_k) {
    scores.alpha_1_layer_head.emplace_back();
    for (const auto& alpha_k : heads) scores.alpha_1_layer_head.back().push_back(alpha_k.front());
  }
  if (has_star_) scores.star = star(epsilons);
  return scores;
}

SinkScores::Star AlphaTable::star(const std::vector<double>& epsilons) const {
  auto alpha_NLH = view<double, 3>(star_NLH_);
  auto [N, L, H] = alpha_NLH.shape();
  double sequences = static_cast<double>(N), all = static_cast<double>(N * L * H);
  SinkScores::Star star;
  star.sink.assign(epsilons.size(), 0);
  star.alpha_layer_head.assign(L, std::vector<double>(H, 0));
  for (std::size_t n = 0; n < N; ++n)
    for (std::size_t l = 0; l < L; ++l)
      for (std::size_t h = 0; h < H; ++h) {
        double alpha = alpha_NLH(n, l, h);
        star.alpha += alpha / all;
        star.alpha_layer_head[l][h] += alpha / sequences;
        for (std::size_t e = 0; e < epsilons.size(); ++e) star.sink[e] += (alpha > epsilons[e]) * 100 / all;
      }
  return star;
}

}  // namespace sink
