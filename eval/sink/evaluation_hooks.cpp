#include "eval/sink/evaluation_hooks.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <xtensor/xview.hpp>

#include "engine/ops/reductions/row_statistics.h"
#include "engine/tensor_view.h"
#include "eval/sink/even_attention.h"

namespace sink {
namespace {

ValueTable zeros(std::int64_t rows, std::int64_t columns) {
  return ValueTable(static_cast<std::size_t>(rows), std::vector<double>(static_cast<std::size_t>(columns), 0.0));
}

void divide(std::vector<double>& row, double by) {
  for (double& value : row) value /= by;
}

double mean(const ValueTable& table) {
  double sum = 0, cells = 0;
  for (const auto& row : table)
    for (double value : row) sum += value, ++cells;
  return sum / cells;
}

// norms[0] / mean of the others; 1 if there are none.
double ratio_to_others(const std::vector<double>& norms) {
  if (norms.size() < 2) return 1;
  return norms[0] * static_cast<double>(norms.size() - 1) / std::accumulate(norms.begin() + 1, norms.end(), 0.0);
}

// Statistics of the vectors of x: (B, T, D) or (B, H, T, D), each one row of T values for every (b, h).
struct VectorStatistics {
  Tensor lengths_NT, kurtoses_NT, largest_NT;

  explicit VectorStatistics(const Tensor& x) {
    const std::int64_t T = x.dim(-2), N = x.size() / (T * x.dim(-1));
    Tensor statistics_3N = Tensor::empty({3, N * T}, DType::F64, x.device());
    row_statistics(x, statistics_3N);
    statistics_3N = statistics_3N.to(Device::cpu);  // not the activations
    auto row = [&](std::int64_t n) { return statistics_3N.rows(n, n + 1).reshape({N, T}); };
    lengths_NT = row(0), kurtoses_NT = row(1), largest_NT = row(2);
  }
};

// Adds the rows of values_NT.
void add_rows(std::vector<double>& sum_T, const Tensor& values_NT) {
  SINK_CHECK(static_cast<std::int64_t>(sum_T.size()) == values_NT.dim(1), "evaluate",
             "expected vectors of " + std::to_string(sum_T.size()) + " positions, got " + values_NT.str());
  auto x_NT = view<double, 2>(values_NT);
  for (std::size_t n = 0; n < x_NT.shape(0); ++n) xt::adapt(sum_T) += xt::view(x_NT, n);
}

// Adds scale * sum_b values_BH to the heads of one layer.
void add_heads(std::vector<double>& sum_H, const Tensor& values_BH, double scale = 1) {
  auto x_BH = view<double, 2>(values_BH);
  for (std::size_t b = 0; b < x_BH.shape(0); ++b) xt::adapt(sum_H) += scale * xt::view(x_BH, b);
}

// Adds the ratio of the first length to the mean of the others, of every sequence.
void add_ratios(double& sum, const Tensor& lengths_NT) {
  auto x_NT = view<double, 2>(lengths_NT);
  for (std::size_t n = 0; n < x_NT.shape(0); ++n) {
    auto row = xt::view(x_NT, n);
    sum += ratio_to_others({row.begin(), row.end()});
  }
}

// f(table) for every table of an Evaluation that is a mean over sequences, in a fixed order.
template <class E, class F>
void for_each_table(E& e, F&& f) {
  for (auto* table : {&e.hidden_norm, &e.hidden_before_norm_norm, &e.hidden_kurtosis, &e.hidden_largest, &e.key_norm,
                      &e.value_norm, &e.row_sum_layer_head, &e.extra_key_weight_layer_head, &e.entropy_layer_head,
                      &e.value_share_layer_head, &e.first_key.dot, &e.first_key.norm_product, &e.first_key.cosine,
                      &e.other_keys.dot, &e.other_keys.norm_product, &e.other_keys.cosine})
    f(*table);
}

// All rows of sums, in a fixed order.
template <class E, class F>
void for_each_row(E& sums, F&& f) {
  for_each_table(sums, [&](auto& table) { std::for_each(table.begin(), table.end(), f); });
  for (auto* row : {&sums.massive_ratio, &sums.massive_ratio_before_norm, &sums.loss_by_position}) f(*row);
}

}  // namespace

EvaluationHooks::EvaluationHooks(const Sizes& sizes, std::int64_t extra_tokens, std::int64_t sequences, std::int64_t T)
    : sizes_(sizes),
      extra_tokens_(extra_tokens),
      K_(std::min(T, kSinkPositions)),
      raw_(sequences, sizes.layers, sizes.heads, T, K_),
      proxy_(sequences, sizes.layers, sizes.heads, T, K_) {
  sums_.sequences = sequences;
  sums_.context = T;
  for (std::int64_t layer = 0; layer < sizes.layers; ++layer)
    sums_.first_key_rows.push_back(
        static_cast<std::int64_t>(rows_that_see(sizes, layer, T, extra_tokens, 1, extra_tokens + 1)[0].back()));
  for_each_table(sums_, [&](ValueTable& table) { table = zeros(sizes.layers, sizes.heads); });
  for (ValueTable* table : {&sums_.hidden_before_norm_norm, &sums_.key_norm, &sums_.value_norm})
    *table = zeros(sizes.layers, T + extra_tokens);
  for (ValueTable* table : {&sums_.hidden_norm, &sums_.hidden_kurtosis, &sums_.hidden_largest})
    *table = zeros(sizes.layers + 1, T + extra_tokens);
  sums_.massive_ratio.assign(sums_.hidden_norm.size(), 0);
  sums_.massive_ratio_before_norm.assign(sums_.key_norm.size(), 0);
  sums_.loss_by_position.assign(static_cast<std::size_t>(T), 0);
}

void EvaluationHooks::hidden_state(std::int64_t l, const Tensor& x_BTC) {
  const auto row = static_cast<std::size_t>(l);
  const VectorStatistics s(x_BTC);
  add_rows(sums_.hidden_norm[row], s.lengths_NT);
  add_rows(sums_.hidden_kurtosis[row], s.kurtoses_NT);
  add_rows(sums_.hidden_largest[row], s.largest_NT);
  add_ratios(sums_.massive_ratio[row], s.lengths_NT);
}

void EvaluationHooks::residual_before_norm(std::int64_t layer, const Tensor& x_BTC) {
  before_norm_seen_ = true;
  const auto row = static_cast<std::size_t>(layer);
  const VectorStatistics s(x_BTC);
  add_rows(sums_.hidden_before_norm_norm[row], s.lengths_NT);
  add_ratios(sums_.massive_ratio_before_norm[row], s.lengths_NT);
}

void EvaluationHooks::attention(AttentionPoint& point) {
  const AttentionStatistics s = point.statistics(K_ + extra_tokens_);
  const auto layer = static_cast<std::size_t>(point.layer);
  extra_key_ = point.has_extra_key;
  const ValueTable rows_BX = rows_that_see(sizes_, point.layer, sums_.context, extra_tokens_, s.column_raw_BHX.dim(0),
                                           K_ + extra_tokens_, documents_);
  raw_.store(sequence_, point.layer, s.column_raw_BHX, rows_BX, extra_tokens_, extra_key_, s.extra_raw_BH);
  proxy_.store(sequence_, point.layer, s.column_proxy_BHX, rows_BX, extra_tokens_, extra_key_, s.extra_proxy_BH);
  if (extra_key_)
    add_heads(sums_.extra_key_weight_layer_head[layer], s.extra_raw_BH,
              1 / static_cast<double>(sums_.context + extra_tokens_));
  for (auto [table, values_BH] : {std::pair(&sums_.row_sum_layer_head, &s.row_sum_BH),
                                  {&sums_.entropy_layer_head, &s.entropy_BH},
                                  {&sums_.value_share_layer_head, &s.value_share_BH},
                                  {&sums_.first_key.dot, &s.key1_dot_BH},
                                  {&sums_.first_key.norm_product, &s.key1_norms_BH},
                                  {&sums_.first_key.cosine, &s.key1_cosine_BH},
                                  {&sums_.other_keys.dot, &s.other_dot_BH},
                                  {&sums_.other_keys.norm_product, &s.other_norms_BH},
                                  {&sums_.other_keys.cosine, &s.other_cosine_BH}})
    add_heads((*table)[layer], *values_BH);
  add_rows(sums_.key_norm[layer], VectorStatistics(point.k_BGTD).lengths_NT);
  add_rows(sums_.value_norm[layer], VectorStatistics(point.v_BGTD).lengths_NT);
}

void EvaluationHooks::add_losses(const Tensor& loss_BT) {
  const Tensor losses_BT = loss_BT.to(Device::cpu).to(DType::F64);
  add_rows(sums_.loss_by_position, losses_BT);
}

std::vector<double> EvaluationHooks::sums() const {
  std::vector<double> sums{extra_key_ ? 1.0 : 0.0, before_norm_seen_ ? 1.0 : 0.0};
  auto append = [&](const std::vector<double>& row) { sums.insert(sums.end(), row.begin(), row.end()); };
  for_each_row(sums_, append);
  append(raw_.values());
  append(proxy_.values());
  return sums;
}

void EvaluationHooks::merge(std::int64_t sequence, const std::vector<double>& sums) {
  std::span<const double> left(sums);
  auto take = [&](std::size_t count) {
    SINK_CHECK(count <= left.size(), "evaluate", "expected more than " + std::to_string(sums.size()) + " sums");
    auto taken = left.first(count);
    left = left.subspan(count);
    return taken;
  };
  auto flags = take(2);
  extra_key_ |= flags[0] != 0;
  before_norm_seen_ |= flags[1] != 0;
  for_each_row(sums_, [&](std::vector<double>& row) {
    auto other = take(row.size());
    for (std::size_t i = 0; i < row.size(); ++i) row[i] += other[i];
  });
  auto alphas = take(left.size());
  raw_.set_values(sequence, alphas.first(alphas.size() / 2));
  proxy_.set_values(sequence, alphas.subspan(alphas.size() / 2));
}

std::vector<double> EvaluationHooks::loss_by_position(const Tensor& targets_NT) const {
  std::vector<double> loss = sums_.loss_by_position;
  const xt::xtensor<double, 1> targets = xt::sum(xt::cast<double>(view<std::int32_t, 2>(targets_NT) >= 0), {0});
  xt::adapt(loss) /= xt::where(targets > 0, targets, std::nan(""));
  return loss;
}

std::optional<Evaluation::Fixed> EvaluationHooks::fixed(const std::vector<std::int64_t>& places, const Sizes& sizes,
                                                        const DocumentPlaces& documents) const {
  Evaluation::Fixed sums;
  double sequences = 0, even = 0;
  VisibleKeys keys = visible_keys(sizes, sums_.context, extra_tokens_, extra_key_);
  for (std::size_t n = 0; n < places.size(); ++n) {
    if (places[n] < 0) continue;
    ++sequences;
    if (documents.defined())
      keys.document_starts = documents.starts_BT.data<std::int32_t>() + static_cast<std::int64_t>(n) * keys.T;
    sums.alpha += proxy_.alpha(static_cast<std::int64_t>(n), places[n]);
    even += even_alpha(keys, places[n] + 1);
  }
  if (sequences == 0) return std::nullopt;
  return Evaluation::Fixed{sums.alpha / sequences, sums.alpha / even};
}

Evaluation EvaluationHooks::evaluation() const {
  Evaluation e = sums_;
  const auto N = static_cast<double>(e.sequences), N_times_G = static_cast<double>(e.sequences * sizes_.key_heads());
  for_each_table(e, [&](ValueTable& table) {
    for (auto& row : table) divide(row, &table == &e.key_norm || &table == &e.value_norm ? N_times_G : N);
  });
  divide(e.massive_ratio, N);
  divide(e.massive_ratio_before_norm, N);
  if (!before_norm_seen_) {
    e.hidden_before_norm_norm.clear();
    e.massive_ratio_before_norm.clear();
  }
  e.loss_by_position.clear();
  e.extra = extra_tokens_ > 0 ? Evaluation::Extra::token
            : extra_key_      ? Evaluation::Extra::key
                              : Evaluation::Extra::none;
  e.proxy = proxy_.scores();
  e.raw = raw_.scores();
  auto [layer, head] = largest_cell(e.proxy.alpha_1_layer_head);
  e.alpha_1_max = e.proxy.alpha_1_layer_head[static_cast<std::size_t>(layer)][static_cast<std::size_t>(head)];
  e.row_sum = mean(e.row_sum_layer_head);
  e.value_share = mean(e.value_share_layer_head);
  e.extra_key_weight = mean(e.extra_key_weight_layer_head);
  e.entropy = mean(e.entropy_layer_head);
  for (const auto& norms : e.value_norm)
    e.first_value_norm_ratio += ratio_to_others(norms) / static_cast<double>(e.value_norm.size());
  return e;
}

}  // namespace sink
