#include "eval/sink/evaluation_hooks.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <xtensor/xview.hpp>

#include "engine/tensor_view.h"
#include "eval/vector_statistics.h"

namespace sink {
namespace {

NumberTable zeros(std::int64_t rows, std::int64_t columns) {
  return NumberTable(static_cast<std::size_t>(rows), std::vector<double>(static_cast<std::size_t>(columns), 0.0));
}

NumberTable divided(NumberTable table, std::int64_t by) {
  for (auto& row : table)
    for (double& value : row) value /= static_cast<double>(by);
  return table;
}

Evaluation::Split divided(const Evaluation::Split& split, std::int64_t by) {
  return {divided(split.dot, by), divided(split.norm_product, by), divided(split.cosine, by)};
}

// Mean over all cells.
double mean(const NumberTable& table) {
  double sum = 0, cells = 0;
  for (const auto& row : table)
    for (double value : row) sum += value, ++cells;
  return sum / cells;
}

// norms[0] against the mean of the others; 1 where there are none.
double first_against_others(const std::vector<double>& norms) {
  if (norms.size() < 2) return 1;
  return norms[0] * static_cast<double>(norms.size() - 1) / std::accumulate(norms.begin() + 1, norms.end(), 0.0);
}

// f(what of(vector) says of the vectors of T positions) for every block of x: (B, T, C) or (B, H, T, D).
template <class Of, class F>
void for_each_block(const Tensor& on_device, Of&& of, F&& f) {
  Tensor x = on_device.to(Device::cpu);
  std::int64_t D = x.dim(-1), T = x.dim(-2), N = x.size() / (T * D);
  with_real(x.dtype(), [&](auto zero) {
    const auto* vector = x.data<decltype(zero)>();
    for (std::int64_t n = 0; n < N; ++n) {
      std::vector<double> numbers;
      for (std::int64_t t = 0; t < T; ++t, vector += D) numbers.push_back(of(std::span(vector, vector + D)));
      f(numbers);
    }
  });
}

constexpr auto norm_of = [](auto vector) { return std::sqrt(xt::sum(xt::square(as_doubles(vector)))()); };

void add_to(std::vector<double>& sum, const std::vector<double>& values) {
  SINK_CHECK(sum.size() == values.size(), "evaluate",
             "expected vectors of " + std::to_string(sum.size()) + " positions, got " + std::to_string(values.size()));
  xt::adapt(sum) += xt::adapt(values);
}

// Adds values_BH to the heads of one layer, summed over the batch.
void add_heads(std::vector<double>& sum_H, const Tensor& values_BH, double scale = 1) {
  auto x_BH = view<double, 2>(values_BH);
  for (std::size_t b = 0; b < x_BH.shape(0); ++b) xt::adapt(sum_H) += scale * xt::view(x_BH, b);
}

}  // namespace

EvaluationHooks::HiddenNorms::HiddenNorms(std::int64_t rows, std::int64_t positions)
    : norm(zeros(rows, positions)), ratio(static_cast<std::size_t>(rows), 0.0) {}

void EvaluationHooks::HiddenNorms::add(std::int64_t row, const Tensor& x_BTC) {
  for_each_block(x_BTC, norm_of, [&](const std::vector<double>& norms) {
    add_to(norm[static_cast<std::size_t>(row)], norms);
    ratio[static_cast<std::size_t>(row)] += first_against_others(norms);
  });
}

EvaluationHooks::EvaluationHooks(const Sizes& sizes, std::int64_t extra_tokens, std::int64_t sequences, std::int64_t T)
    : N_(sequences),
      T_(T),
      extra_tokens_(extra_tokens),
      K_(std::min(T, kSinkPositions)),
      layers_(sizes.layers),
      heads_(sizes.heads),
      key_heads_(sizes.key_heads()),
      raw_(N_, layers_, heads_, T_, K_),
      proxy_(N_, layers_, heads_, T_, K_),
      hidden_(layers_ + 1, T + extra_tokens),
      before_norm_(layers_, T + extra_tokens),
      kurtosis_(zeros(layers_ + 1, T + extra_tokens)),
      largest_(kurtosis_),
      loss_(static_cast<std::size_t>(T), 0.0),
      key_norm_(zeros(layers_, T + extra_tokens)),
      value_norm_(key_norm_),
      row_mass_(zeros(layers_, heads_)),
      extra_key_mass_(row_mass_),
      entropy_(row_mass_),
      value_share_(row_mass_),
      first_key_{row_mass_, row_mass_, row_mass_},
      other_keys_(first_key_) {}

void EvaluationHooks::hidden_state(std::int64_t l, const Tensor& x_BTC) {
  hidden_.add(l, x_BTC);
  std::size_t row = static_cast<std::size_t>(l);
  for_each_block(x_BTC, kurtosis_of, [&](const std::vector<double>& kurtosis) { add_to(kurtosis_[row], kurtosis); });
  for_each_block(x_BTC, largest_size_of, [&](const std::vector<double>& largest) { add_to(largest_[row], largest); });
}

void EvaluationHooks::residual_before_norm(std::int64_t layer, const Tensor& x_BTC) {
  before_norm_seen_ = true;
  before_norm_.add(layer, x_BTC);
}

void EvaluationHooks::attention(AttentionPoint& point) {
  AttentionStatistics s = point.statistics(K_ + extra_tokens_);
  std::size_t layer = static_cast<std::size_t>(point.layer);
  extra_key_ = point.has_extra_key;
  raw_.store(sequence_, point.layer, s.column_raw_BHX, extra_tokens_, extra_key_, s.extra_raw_BH, documents_);
  proxy_.store(sequence_, point.layer, s.column_proxy_BHX, extra_tokens_, extra_key_, s.extra_proxy_BH, documents_);
  add_heads(row_mass_[layer], s.row_mass_BH);
  add_heads(entropy_[layer], s.entropy_BH);
  add_heads(value_share_[layer], s.value_share_BH);
  if (extra_key_) add_heads(extra_key_mass_[layer], s.extra_raw_BH, 1 / static_cast<double>(T_ + extra_tokens_));
  add_heads(first_key_.dot[layer], s.key1_dot_BH);
  add_heads(first_key_.norm_product[layer], s.key1_norms_BH);
  add_heads(first_key_.cosine[layer], s.key1_cosine_BH);
  add_heads(other_keys_.dot[layer], s.other_dot_BH);
  add_heads(other_keys_.norm_product[layer], s.other_norms_BH);
  add_heads(other_keys_.cosine[layer], s.other_cosine_BH);
  for_each_block(point.k_BGTD, norm_of, [&](const std::vector<double>& norms) { add_to(key_norm_[layer], norms); });
  for_each_block(point.v_BGTD, norm_of, [&](const std::vector<double>& norms) { add_to(value_norm_[layer], norms); });
}

void EvaluationHooks::add_losses(const Tensor& loss_BT) {
  const Tensor losses_BT = loss_BT.to(Device::cpu).to(DType::F64);
  auto x_BT = view<double, 2>(losses_BT);
  for (std::size_t b = 0; b < x_BT.shape(0); ++b) xt::adapt(loss_) += xt::view(x_BT, b);
}

template <class Self, class F>
void EvaluationHooks::for_each_row(Self& p, F&& f) {
  for (auto* table :
       {&p.hidden_.norm, &p.before_norm_.norm, &p.kurtosis_, &p.largest_, &p.key_norm_, &p.value_norm_, &p.row_mass_,
        &p.extra_key_mass_, &p.entropy_, &p.value_share_, &p.first_key_.dot, &p.first_key_.norm_product,
        &p.first_key_.cosine, &p.other_keys_.dot, &p.other_keys_.norm_product, &p.other_keys_.cosine})
    for (auto& row : *table) f(row);
  for (auto* row : {&p.hidden_.ratio, &p.before_norm_.ratio, &p.loss_}) f(*row);
}

std::vector<double> EvaluationHooks::numbers() const {
  std::vector<double> numbers{extra_key_ ? 1.0 : 0.0, before_norm_seen_ ? 1.0 : 0.0};
  auto append = [&](const std::vector<double>& row) { numbers.insert(numbers.end(), row.begin(), row.end()); };
  for_each_row(*this, append);
  append(raw_.numbers());
  append(proxy_.numbers());
  return numbers;
}

void EvaluationHooks::merge(std::int64_t sequence, const std::vector<double>& numbers) {
  std::span<const double> left(numbers);
  auto take = [&](std::size_t count) {
    SINK_CHECK(count <= left.size(), "evaluate", "expected more than " + std::to_string(numbers.size()) + " numbers");
    auto taken = left.first(count);
    left = left.subspan(count);
    return taken;
  };
  auto flags = take(2);
  extra_key_ |= flags[0] != 0;
  before_norm_seen_ |= flags[1] != 0;
  for_each_row(*this, [&](std::vector<double>& row) {
    auto other = take(row.size());
    for (std::size_t i = 0; i < row.size(); ++i) row[i] += other[i];
  });
  auto alphas = take(left.size());
  raw_.put(sequence, alphas.first(alphas.size() / 2));
  proxy_.put(sequence, alphas.subspan(alphas.size() / 2));
}

std::vector<double> EvaluationHooks::loss_by_position(const Tensor& targets_NT) const {
  std::vector<double> loss = loss_;
  const xt::xtensor<double, 1> targets = xt::sum(xt::cast<double>(view<std::int32_t, 2>(targets_NT) >= 0), {0});
  xt::adapt(loss) /= xt::where(targets > 0, targets, std::nan(""));
  return loss;
}

Evaluation EvaluationHooks::evaluation() const {
  Evaluation e;
  e.sequences = N_;
  e.context = T_;
  e.extra = extra_tokens_ > 0 ? Evaluation::Extra::token
            : extra_key_      ? Evaluation::Extra::key
                              : Evaluation::Extra::none;
  e.proxy = proxy_.scores();
  e.raw = raw_.scores();
  auto [layer, head] = strongest_head(e);
  e.alpha_1_max = e.proxy.alpha_1_layer_head[static_cast<std::size_t>(layer)][static_cast<std::size_t>(head)];
  e.row_mass_layer_head = divided(row_mass_, N_);
  e.extra_key_mass_layer_head = divided(extra_key_mass_, N_);
  e.entropy_layer_head = divided(entropy_, N_);
  e.value_share_layer_head = divided(value_share_, N_);
  e.row_mass = mean(e.row_mass_layer_head);
  e.value_share = mean(e.value_share_layer_head);
  e.extra_key_mass = mean(e.extra_key_mass_layer_head);
  e.entropy = mean(e.entropy_layer_head);
  e.hidden_norm = divided(hidden_.norm, N_);
  e.hidden_kurtosis = divided(kurtosis_, N_);
  e.hidden_largest = divided(largest_, N_);
  e.massive_ratio = divided({hidden_.ratio}, N_).front();
  if (before_norm_seen_) {
    e.hidden_before_norm_norm = divided(before_norm_.norm, N_);
    e.massive_ratio_before_norm = divided({before_norm_.ratio}, N_).front();
  }
  e.key_norm = divided(key_norm_, N_ * key_heads_);
  e.value_norm = divided(value_norm_, N_ * key_heads_);
  for (const auto& norms : e.value_norm)
    e.first_value_norm_ratio += first_against_others(norms) / static_cast<double>(layers_);
  e.first_key = divided(first_key_, N_);
  e.other_keys = divided(other_keys_, N_);
  return e;
}

}  // namespace sink
