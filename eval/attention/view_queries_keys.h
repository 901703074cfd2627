// Queries and keys of 8 bits, from which a page of `view` computes the pattern of a long text.
//
// A page computes the weights of query i by softmax. The bias b depends on the distance of i and j alone, and r_i is
// what the tokens of the text get of the row: 1 without an extra key or sink token.
//
//     p_ij = r_i exp(s_ij) / sum_j' exp(s_ij')      s_ij = c_i d_j (Q_i . K_j) + b_{i-j}
//
// Q_i and K_j are vectors of 8-bit integers with scales c_i and d_j. They are q_i and k_j after the same orthogonal
// transform (Walsh-Hadamard), which leaves q . k as it is and spreads large elements over a vector. The largest weight
// of a row, where the error is largest, is stored; the others are scaled so that the row sums to r_i.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "model/attention_point.h"
#include "model/sizes.h"

namespace sink {

// Bytes as text: 4 characters for 3.
std::string base64(const std::string& bytes);
template <class X>
std::string bytes_of(const std::vector<X>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(X)};
}

// Whether the proxy weights of an operation are softmax of the scores.
bool is_softmax(const std::string& operation);

class ViewQueriesKeys {
 public:
  ViewQueriesKeys(const Sizes& sizes, std::int64_t T, std::int64_t extra_tokens);

  // Why the page cannot compute patterns from queries and keys: a prefix, another operation than softmax, or too many
  // bytes. Empty: it can.
  const std::string& why_not() const { return why_not_; }

  // For each layer attention(), then check() for each of its heads. check() computes the pattern as the page does and
  // compares it with the exact one.
  void attention(const AttentionPoint& point);
  void check(const Tensor& weights_TT);

  // Over all heads: the largest and the mean difference from the exact weights.
  double largest_error() const;
  double mean_error() const { return errors_ > 0 ? error_sum_ / errors_ : 0; }

  // {"width": D, "kv_heads": G, "mean_error"}, and lists by layer and head. "q" and "k" (key heads): base64 of T F32
  // scales and T D I8 values. "bias": of T F32 values by distance, -inf where not visible; null if all are zero.
  // "share": of T F32 values r_i; null if all are one. "largest": of T U16 keys and T U16 weights in units of 1 /
  // 65535. "error": the largest difference.
  nlohmann::json json() const;

 private:
  // T vectors and their scales.
  struct Vectors {
    std::vector<float> scale_T;
    std::vector<std::int8_t> value_TD;
    std::string text() const;
  };
  Vectors quantised(const Tensor& x_TD, double scale) const;

  std::int64_t heads_, key_heads_, width_, T_, extra_tokens_;
  double scale_;
  std::string why_not_;
  std::vector<Vectors> q_H_, k_G_;          // of the layer at hand
  std::vector<std::vector<float>> bias_H_;  // by distance
  std::int64_t next_head_ = 0;
  double error_sum_ = 0, errors_ = 0;
  std::vector<double> error_LH_;
  nlohmann::json q_, k_, bias_, share_, largest_;
};

}  // namespace sink
