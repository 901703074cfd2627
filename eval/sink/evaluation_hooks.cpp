#include "eval/sink/evaluation_hooks.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <xtensor/xview.hpp>

#include "engine/ops/reductions/row_statistics.h"
#include "engine/tensor_view.h"
#include "eval/sink/even_attention.h"
#include "eval/sink/measured_point.h"

namespace sink {
namespace {

ValueTable zeros(std::int64_t rows, std::int64_t columns) {
  return ValueTable(static_cast<std::size_t>(rows), std::vector<double>(static_cast<std::size_t>(columns), 0.0));
}

void divide(std::vector<double>& row, double by) {
  for (double& value : row) value /= by;
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

// f(measure, values) for every measure that is a sum over sequences, in a fixed order; values is a table, or a row.
template <class E, class F>
void for_each_sum(E& e, F&& f) {
  for (const Measure& measure : kMeasures)
    std::visit(
        [&](auto member) {
          if constexpr (requires { e.*member; })
            if (measure.source.index() > 0) f(measure, e.*member);
        },
        measure.values);
}

// f(row) for all rows of sums, in a fixed order.
template <class E, class F>
void for_each_row(E& sums, F&& f) {
  for_each_sum(sums, [&]<class Sums>(const Measure&, Sums& values) {
    if constexpr (std::is_same_v<std::remove_const_t<Sums>, ValueTable>)
      std::for_each(values.begin(), values.end(), f);
    else
      f(values);
  });
}

// The part of a source of type S; null for another one.
template <class S>
const S* source_of(const Measure& measure) {
  return std::get_if<S>(&measure.source);
}

}  // namespace

EvaluationHooks::EvaluationHooks(const Sizes& sizes, std::int64_t extra_tokens, std::int64_t sequences, std::int64_t T,
                                 const Options& options)
    : sizes_(sizes),
      extra_tokens_(extra_tokens),
      K_(std::min(T, options.positions)),
      scores_only_(options.scores_only),
      raw_(sequences, sizes.attention_layers(), sizes.heads, T, K_),
      proxy_(sequences, sizes.attention_layers(), sizes.heads, T, K_) {
  const std::int64_t rows = sizes.attention_layers();
  later_rows_.assign(static_cast<std::size_t>(rows), 0);
  sums_.sequences = sequences;
  sums_.context = T;
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int64_t layer = sizes.attention_layer(row);
    if (rows < sizes.layers) sums_.attention_layers.push_back(layer);
    sums_.first_key_rows.push_back(
        static_cast<std::int64_t>(rows_that_see(sizes, layer, T, extra_tokens, 1, extra_tokens + 1)[0].back()));
  }
  for_each_sum(sums_, [&]<class Sums>(const Measure& measure, Sums& values) {
    const OfVectors* of = source_of<OfVectors>(measure);
    const bool of_stream = of && (of->vectors == Vectors::hidden || of->vectors == Vectors::before_norm);
    const std::int64_t layers = (of_stream ? sizes.layers : rows) + (of && of->vectors == Vectors::hidden);
    if constexpr (std::is_same_v<Sums, ValueTable>)
      values = zeros(layers, of ? T + extra_tokens : sizes.heads);
    else
      values.assign(static_cast<std::size_t>(of ? layers : T), 0);
  });
}

void EvaluationHooks::add_vectors(Vectors vectors, std::int64_t layer, const Tensor& x) {
  if (scores_only_) return;
  const VectorStatistics s(x);
  for_each_sum(sums_, [&]<class Sums>(const Measure& measure, Sums& values) {
    const OfVectors* of = source_of<OfVectors>(measure);
    if (!of || of->vectors != vectors) return;
    auto& sum = values[static_cast<std::size_t>(layer)];
    if constexpr (std::is_same_v<Sums, ValueTable>)
      add_rows(sum, of->what == OfVector::length     ? s.lengths_NT
                    : of->what == OfVector::kurtosis ? s.kurtoses_NT
                                                     : s.largest_NT);
    else
      add_ratios(sum, s.lengths_NT);
  });
}

void EvaluationHooks::hidden_state(std::int64_t l, const Tensor& x_BTC) { add_vectors(Vectors::hidden, l, x_BTC); }

void EvaluationHooks::residual_before_norm(std::int64_t layer, const Tensor& x_BTC) {
  before_norm_seen_ = true;
  add_vectors(Vectors::before_norm, layer, x_BTC);
}

void EvaluationHooks::attention(AttentionPoint& point) {
  const AttentionStatistics s = point.statistics(K_ + extra_tokens_);
  const std::int64_t row = sizes_.attention_index(point.layer);
  const auto layer = static_cast<std::size_t>(row);
  extra_key_ = point.has_extra_key;
  const ValueTable rows_BX = rows_that_see(sizes_, point.layer, sums_.context, extra_tokens_, s.column_raw_BHX.dim(0),
                                           K_ + extra_tokens_, documents_);
  raw_.store(sequence_, row, s.column_raw_BHX, rows_BX, extra_tokens_, extra_key_, s.extra_raw_BH);
  proxy_.store(sequence_, row, s.column_proxy_BHX, rows_BX, extra_tokens_, extra_key_, s.extra_proxy_BH);
  if (scores_only_) return;
  for (const std::vector<double>& rows_X : rows_BX) later_rows_[layer] += rows_X[0] > 1;
  const MeasuredPoint measured{point, rows_BX, extra_tokens_, K_ + extra_tokens_};
  for_each_sum(sums_, [&]<class Sums>(const Measure& measure, Sums& values) {
    if constexpr (std::is_same_v<Sums, ValueTable>) {
      if (const OfPoint* of = source_of<OfPoint>(measure)) {
        if (const Tensor values_BH = of->compute(measured); values_BH.defined())
          add_heads(values[layer], values_BH);
        else
          values[layer].assign(values[layer].size(), kNotMeasured);
      }
      if (const OfAttention* of = source_of<OfAttention>(measure))
        add_heads(values[layer], s.*of->statistic,
                  of->is_sum ? 1 / static_cast<double>(sums_.context + extra_tokens_) : 1);
    }
  });
  add_vectors(Vectors::key, row, point.k_BGTD);
  add_vectors(Vectors::value, row, point.v_BGTD);
}

void EvaluationHooks::add_losses(const Tensor& loss_BT) {
  const Tensor losses_BT = loss_BT.to(Device::cpu).to(DType::F64);
  add_rows(sums_.loss_by_position, losses_BT);
}

std::vector<double> EvaluationHooks::sums() const {
  std::vector<double> sums{extra_key_ ? 1.0 : 0.0, before_norm_seen_ ? 1.0 : 0.0};
  auto append = [&](const std::vector<double>& row) { sums.insert(sums.end(), row.begin(), row.end()); };
  for_each_row(sums_, append);
  append(later_rows_);
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
  auto later_rows = take(later_rows_.size());
  for (std::size_t l = 0; l < later_rows.size(); ++l) later_rows_[l] += later_rows[l];
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

void EvaluationHooks::add_fixed(const std::vector<std::int64_t>& places, const Sizes& sizes,
                                const DocumentPlaces& documents, Evaluation& evaluation) const {
  double sequences = 0, alpha = 0, even = 0;
  VisibleKeys keys = visible_keys(sizes, sums_.context, extra_tokens_, extra_key_);
  for (std::size_t n = 0; n < places.size(); ++n) {
    if (places[n] < 0) continue;
    ++sequences;
    if (documents.defined())
      keys.document_starts = documents.starts_BT.data<std::int32_t>() + static_cast<std::int64_t>(n) * keys.T;
    alpha += proxy_.alpha(static_cast<std::int64_t>(n), places[n]);
    even += even_alpha(keys, places[n] + 1);
  }
  if (sequences == 0) return;
  evaluation.alpha_fixed = alpha / sequences;
  evaluation.alpha_fixed_over_even = alpha / even;
}

Evaluation EvaluationHooks::evaluation() const {
  Evaluation e = sums_;
  const auto N = static_cast<double>(e.sequences), N_times_G = static_cast<double>(e.sequences * sizes_.key_heads());
  for_each_sum(e, [&]<class Sums>(const Measure& measure, Sums& values) {
    const OfVectors* of = source_of<OfVectors>(measure);
    const OfAttention* of_attention = source_of<OfAttention>(measure);
    if ((of && of->vectors == Vectors::before_norm && !before_norm_seen_) ||
        (of_attention && of_attention->is_sum && !extra_key_))
      return values.clear();
    const OfPoint* of_point = source_of<OfPoint>(measure);
    const bool of_key_heads = of && (of->vectors == Vectors::key || of->vectors == Vectors::value);
    if constexpr (std::is_same_v<Sums, ValueTable>) {
      if (of_point && std::isnan(values[0][0])) return values.clear();
      for (std::size_t l = 0; l < values.size(); ++l)
        divide(values[l], of_key_heads ? N_times_G : of_point && of_point->of_later_rows ? later_rows_[l] : N);
    } else {
      divide(values, N);
    }
    if (const auto* scalar = std::get_if<double Evaluation::*>(&measure.scalar))
      e.** scalar = summary_of(measure, values);
  });
  e.loss_by_position.clear();
  e.extra = extra_tokens_ > 0 ? Evaluation::Extra::token
            : extra_key_      ? Evaluation::Extra::key
                              : Evaluation::Extra::none;
  e.proxy = proxy_.scores();
  e.raw = raw_.scores();
  auto [layer, head] = largest_cell(e.proxy.alpha_1_layer_head);
  e.alpha_1_max = e.proxy.alpha_1_layer_head[static_cast<std::size_t>(layer)][static_cast<std::size_t>(head)];
  e.first_value_norm_ratio = 0;
  for (const auto& norms : e.value_norm)
    e.first_value_norm_ratio += ratio_to_others(norms) / static_cast<double>(e.value_norm.size());
  return e;
}

}  // namespace sink
