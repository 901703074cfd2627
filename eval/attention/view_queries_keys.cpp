#include "eval/attention/view_queries_keys.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "engine/tensor_view.h"
#include "engine/threads.h"

namespace sink {
namespace {

constexpr std::int64_t kMostBytes = 30000000;  // of all queries and keys, before base64
constexpr float kNotVisible = -std::numeric_limits<float>::infinity();

// The largest power of two that divides D: the transform acts on blocks of this many elements.
std::size_t block_of(std::size_t D) { return D & (~D + 1); }

// The Walsh-Hadamard transform of each block, with length preserved.
void transform(std::span<double> x) {
  const std::size_t block = block_of(x.size());
  for (std::size_t half = 1; half < block; half *= 2)
    for (std::size_t d = 0; d < x.size(); ++d)
      if ((d & half) == 0) {
        const double a = x[d], b = x[d + half];
        x[d] = a + b;
        x[d + half] = a - b;
      }
  for (double& value : x) value /= std::sqrt(static_cast<double>(block));
}

}  // namespace

bool is_softmax(const std::string& operation) {
  return operation == "Softmax" || operation == "ScaledSoftmax" || operation == "PNormExp";
}

std::string base64(const std::string& bytes) {
  static const char* const kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t n = 0; n < bytes.size(); n += 3) {
    std::uint32_t group = 0;
    for (std::size_t b = 0; b < 3; ++b)
      group = group << 8 | (n + b < bytes.size() ? static_cast<unsigned char>(bytes[n + b]) : 0u);
    for (std::size_t d = 0; d < 4; ++d) text += n + d <= bytes.size() ? kDigits[group >> (18 - 6 * d) & 63u] : '=';
  }
  return text;
}

ViewQueriesKeys::ViewQueriesKeys(const Sizes& sizes, std::int64_t T, std::int64_t extra_tokens)
    : heads_(sizes.heads),
      key_heads_(sizes.key_heads()),
      width_(sizes.width_of_head()),
      T_(T),
      extra_tokens_(extra_tokens),
      scale_(sizes.scale()) {
  const std::int64_t bytes = sizes.layers * (heads_ + key_heads_) * T * (width_ + 4);
  if (sizes.prefix > 1) why_not_ = "a prefix";
  if (bytes > kMostBytes) why_not_ = std::string("queries and keys of ") + std::to_string(bytes / 1000000) + " MB";
}

std::string ViewQueriesKeys::Vectors::text() const { return base64(bytes_of(scale_T) + bytes_of(value_TD)); }

ViewQueriesKeys::Vectors ViewQueriesKeys::quantised(const Tensor& x_TD, double scale) const {
  const auto T = static_cast<std::size_t>(T_), D = static_cast<std::size_t>(width_);
  const double* x = x_TD.data<double>();
  Vectors vectors{std::vector<float>(T), std::vector<std::int8_t>(T * D)};
  std::vector<double> row(D);
  for (std::size_t t = 0; t < T; ++t) {
    std::copy_n(x + t * D, D, row.begin());
    transform(row);
    double largest = 0;
    for (double value : row) largest = std::max(largest, std::abs(value));
    if (largest == 0) continue;
    for (std::size_t d = 0; d < D; ++d)
      vectors.value_TD[t * D + d] = static_cast<std::int8_t>(std::lround(127 * row[d] / largest));
    vectors.scale_T[t] = static_cast<float>(scale * largest / 127);
  }
  return vectors;
}

void ViewQueriesKeys::attention(const AttentionPoint& point) {
  next_head_ = 0;
  if (!why_not_.empty()) return;
  const Tensor q = point.q_BHTD.to(Device::cpu).to(DType::F64), k = point.k_BGTD.to(Device::cpu).to(DType::F64);
  const std::int64_t P = T_ + extra_tokens_, D = width_;
  auto of_head = [&](const Tensor& x, std::int64_t h) { return x.slice((h * P + extra_tokens_) * D, {T_, D}); };
  q_H_.resize(static_cast<std::size_t>(heads_));
  k_G_.resize(static_cast<std::size_t>(key_heads_));
  bias_H_.assign(static_cast<std::size_t>(heads_), {});
  const AttentionPoint::Trace trace = point.trace();
  AttentionTrace last = trace({}, 0, 0, P - 1);
  if (!is_softmax(last.operation)) why_not_ = std::string("the operation ") + last.operation;
  for (std::int64_t h = 0; h < heads_; ++h) {
    // The last query sees every distance that any query sees.
    if (h > 0 && last.has_bias) last = trace({}, 0, h, P - 1);
    std::vector<float>& bias = bias_H_[static_cast<std::size_t>(h)];
    bias.assign(static_cast<std::size_t>(T_), kNotVisible);
    for (const AttentionTrace::Key& key : last.keys)
      if (key.j >= extra_tokens_) bias[static_cast<std::size_t>(P - 1 - key.j)] = static_cast<float>(key.bias);
  }
  parallel_for(heads_, [&](std::int64_t h) { q_H_[static_cast<std::size_t>(h)] = quantised(of_head(q, h), scale_); });
  parallel_for(key_heads_, [&](std::int64_t g) { k_G_[static_cast<std::size_t>(g)] = quantised(of_head(k, g), 1); });
  for (const Vectors& vectors : q_H_) q_.push_back(vectors.text());
  for (const Vectors& vectors : k_G_) k_.push_back(vectors.text());
}

void ViewQueriesKeys::check(const Tensor& weights_TT) {
  if (!why_not_.empty()) return;
  const auto h = static_cast<std::size_t>(next_head_++), T = static_cast<std::size_t>(T_),
             D = static_cast<std::size_t>(width_);
  const Vectors &Q = q_H_[h], &K = k_G_[h / static_cast<std::size_t>(heads_ / key_heads_)];
  const std::vector<float>& bias = bias_H_[h];
  const auto exact = view<double, 2>(weights_TT);
  std::vector<float> share_T(T);
  std::vector<std::uint16_t> best_TT(2 * T);  // the key of the largest weight of each row, then the weights
  std::vector<double> largest_T(T), sum_T(T);
  parallel_for(T_, [&](std::int64_t row) {
    const auto i = static_cast<std::size_t>(row);
    double share = 0, others = 0, largest = -std::numeric_limits<double>::infinity();
    std::vector<double> p(i + 1);
    std::size_t best = 0;
    for (std::size_t j = 0; j <= i; ++j) {
      share += exact(i, j);
      if (exact(i, j) > exact(i, best)) best = j;
      int dot = 0;
      for (std::size_t d = 0; d < D; ++d) dot += int{Q.value_TD[i * D + d]} * int{K.value_TD[j * D + d]};
      p[j] = static_cast<double>(Q.scale_T[i]) * static_cast<double>(K.scale_T[j]) * dot +
             static_cast<double>(bias[i - j]);
      largest = std::max(largest, p[j]);
    }
    for (std::size_t j = 0; j <= i; ++j) {
      p[j] = std::exp(p[j] - largest);
      if (j != best) others += p[j];
    }
    best_TT[i] = static_cast<std::uint16_t>(best);
    best_TT[T + i] = static_cast<std::uint16_t>(std::lround(65535 * exact(i, best)));
    const double stored = best_TT[T + i] / 65535.0;
    share_T[i] = std::abs(share - 1) < 1e-6 ? 1 : static_cast<float>(share);
    const double rest = others > 0 ? std::max(0.0, static_cast<double>(share_T[i]) - stored) / others : 0;
    for (std::size_t j = 0; j <= i; ++j) {
      const double error = std::abs((j == best ? stored : rest * p[j]) - exact(i, j));
      largest_T[i] = std::max(largest_T[i], error);
      sum_T[i] += error;
    }
  });
  for (double sum : sum_T) error_sum_ += sum;
  errors_ += static_cast<double>(T * (T + 1) / 2);
  error_LH_.push_back(*std::max_element(largest_T.begin(), largest_T.end()));
  auto text_unless = [](const std::vector<float>& values, float usual) {
    const bool all = std::all_of(values.begin(), values.end(), [&](float x) { return x == usual; });
    return all ? nlohmann::json() : nlohmann::json(base64(bytes_of(values)));
  };
  bias_.push_back(text_unless(bias, 0));
  share_.push_back(text_unless(share_T, 1));
  largest_.push_back(base64(bytes_of(best_TT)));
}

double ViewQueriesKeys::largest_error() const {
  return error_LH_.empty() ? 0 : *std::max_element(error_LH_.begin(), error_LH_.end());
}

nlohmann::json ViewQueriesKeys::json() const {
  return {{"width", width_},
          {"kv_heads", key_heads_},
          {"q", q_},
          {"k", k_},
          {"bias", bias_},
          {"share", share_},
          {"largest", largest_},
          {"error", error_LH_},
          {"mean_error", mean_error()}};
}

}  // namespace sink
