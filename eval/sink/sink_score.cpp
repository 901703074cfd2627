#include "eval/sink/sink_score.h"

#include <algorithm>
#include <limits>
#include <xtensor/xmath.hpp>
#include <xtensor/xview.hpp>

#include "engine/tensor_view.h"

namespace sink {
namespace {

std::vector<double> vector_of(const xt::xtensor<double, 1>& x) { return {x.begin(), x.end()}; }

ValueTable table_of(const xt::xtensor<double, 2>& x) {
  ValueTable table;
  for (std::size_t row = 0; row < x.shape(0); ++row) table.push_back(vector_of(xt::view(x, row)));
  return table;
}

}  // namespace

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
        alpha_NLHK(n, l, h, k) = sum_BHK(b, h, extra_tokens + k) / rows[static_cast<std::size_t>(extra_tokens + k)];
      if (extra_tokens > 0)
        star_NLH(n, l, h) = sum_BHK(b, h, 0) / rows[0];
      else if (extra_key)
        star_NLH(n, l, h) = (1 + view<double, 2>(extra_sums_BH)(b, h)) / static_cast<double>(T_ + 1);
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
  return xt::mean(xt::view(view<double, 4>(alpha_NLHK_), sequence, xt::all(), xt::all(), k))();
}

// Each term is divided before it is added. Lazy sums over one axis add terms in the order of sequences, layers and
// heads; a sum over several axes would add partial sums, in another order. alpha - alpha is 0, or NaN where alpha is
// not finite: such a model has no share of sinks.
SinkScores AlphaTable::scores(const std::vector<double>& epsilons) const {
  auto alpha_NLHK = view<double, 4>(alpha_NLHK_);
  auto [N, L, H, K] = alpha_NLHK.shape();
  double sequences = static_cast<double>(N), all = static_cast<double>(N * L * H);
  auto alpha_RK = xt::adapt(alpha_NLHK_.data<double>(), N * L * H * K, xt::no_ownership(),
                            std::array<std::size_t, 2>{N * L * H, K});
  SinkScores scores;
  scores.alpha_k = vector_of(xt::sum(alpha_RK / all, {0}));
  scores.alpha_1 = scores.alpha_k.front();
  for (double epsilon : epsilons)
    scores.sink_k_epsilon.push_back(
        vector_of(xt::sum(xt::cast<double>(alpha_RK > epsilon) + (alpha_RK - alpha_RK), {0}) * (100 / all)));
  for (std::size_t e = 0; e < epsilons.size(); ++e) {
    scores.sink_1.push_back(scores.sink_k_epsilon[e].front());
    if (epsilons[e] == kSinkEpsilons[kPaperEpsilonIndex]) scores.sink_k = scores.sink_k_epsilon[e];
  }
  const xt::xtensor<double, 3> alpha_LHK = xt::sum(alpha_NLHK / sequences, {0});
  for (std::size_t l = 0; l < L; ++l) scores.alpha_layer_head_k.push_back(table_of(xt::view(alpha_LHK, l)));
  scores.alpha_1_layer_head = table_of(xt::view(alpha_LHK, xt::all(), xt::all(), 0));
  if (has_star_) add_star(epsilons, scores);
  return scores;
}

void AlphaTable::add_star(const std::vector<double>& epsilons, SinkScores& scores) const {
  auto alpha_NLH = view<double, 3>(star_NLH_);
  auto [N, L, H] = alpha_NLH.shape();
  double sequences = static_cast<double>(N), all = static_cast<double>(N * L * H);
  auto alpha_R =
      xt::adapt(star_NLH_.data<double>(), N * L * H, xt::no_ownership(), std::array<std::size_t, 1>{N * L * H});
  scores.alpha_star = xt::sum(alpha_R / all)();
  for (double epsilon : epsilons)
    scores.sink_star.push_back(xt::sum((xt::cast<double>(alpha_R > epsilon) + (alpha_R - alpha_R)) * 100 / all)());
  scores.alpha_star_layer_head = table_of(xt::sum(alpha_NLH / sequences, {0}));
}

}  // namespace sink
