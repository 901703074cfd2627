// The heads whose weights the page of a long text computes: their queries and keys as integers of 16 bits.
//
//     p_ij = r_i exp(s_ij) / sum_j' exp(s_ij')     s_ij = c_i d_j (Q_i . K_j) + b_{i-j}
//
// over the keys that query i sees. Q_i and K_j are vectors of integers with scales c_i and d_j, b is the bias by
// distance, and r_i is what the keys of the text get of the row: 1 without an extra key.
#pragma once

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "eval/attention/attention_summary.h"

namespace sink {

using LayerHead = std::pair<std::int64_t, std::int64_t>;

// "2.5" is head 5 of layer 2. Throws Error (Exit::usage) for other texts, and for heads that the model does not have.
std::vector<LayerHead> layer_heads(const std::vector<std::string>& texts, const Sizes& sizes);

class FullHeads {
 public:
  // Those that are asked for; if none is, by rules: the two heads that are first by each, as many as fit.
  FullHeads(const Sizes& sizes, std::int64_t T, std::vector<LayerHead> asked);

  // After each layer; share_HT as in PooledAttention.
  void add(const AttentionPoint& point, std::span<const HeadSummary> head_H,
           const std::vector<std::vector<float>>& share_HT);

  // {"width": D, "prefix", "why_not" (why there are fewer heads than asked for, or ""), "keys": [base64], "heads":
  // [{"layer", "head", "rule", "q": base64, "k": index of its keys, "window" (0: none), "bias", "share", "error"}]}
  // Vectors are T F32 scales and T D I16 values. "bias" (by distance) and "share" (by query) are base64 of T F32
  // values, or null: all are zero, or one. "error" bounds |p - exact p| / exact p, as far as it comes from rounding q
  // and k.
  nlohmann::json json() const;

 private:
  struct Vectors {
    std::string text;              // base64
    double error = 0, length = 0;  // the largest |x - rounded x| and |x| of a vector
  };
  struct Head {
    LayerHead place;
    std::vector<double> score;  // by rule
    Vectors q;
    std::shared_ptr<Vectors> k;
    std::int64_t window = 0;
    nlohmann::json bias, share;
  };
  std::string why_not(const AttentionPoint& point, const AttentionTrace& last) const;
  Vectors rounded(const Tensor& x_BHTD, std::int64_t h, double scale) const;
  // The heads by rank, then by rule: (index in heads_, the rule or -1).
  std::vector<std::pair<std::size_t, int>> order() const;

  Sizes sizes_;
  std::int64_t T_;
  std::vector<LayerHead> asked_;
  std::string why_not_;
  std::vector<Head> heads_;
};

}  // namespace sink
