// The ablation `baseline` in plain loops of double, one token at a time, with a list of keys for each layer and head
// that a test may change between tokens: what a cache that drops or rounds keys must compute.
#pragma once

#include <cmath>
#include <functional>
#include <map>

#include "tests/model/model_support.h"

namespace sink::test {

using Vector = std::vector<double>;

struct PlainKey {
  std::int64_t text;    // the position of its token in the text
  Vector k, v;          // k before rotation
  double received = 0;  // the sum of the weights that it has received from all heads that share it
};
using PlainKeys = std::vector<PlainKey>;

class PlainDecoder {
 public:
  explicit PlainDecoder(LanguageModel& model) : model_(model), s_(model.sizes()) {
    keys_.resize(static_cast<std::size_t>(s_.layers), std::vector<PlainKeys>(static_cast<std::size_t>(s_.key_heads())));
  }

  // Called before token i is read, and after it.
  std::function<void(PlainKeys&, std::int64_t i)> before = [](PlainKeys&, std::int64_t) {};
  std::function<void(PlainKeys&, std::int64_t i)> after = before;
  bool positions_of_cache = false;   // of a key and its query: their places in the list, not in the text
  bool rotated_before_kept = false;  // `k` of PlainKey is rotated by the position in the text

  // The logits after the next token.
  Vector read(std::int32_t token) {
    Vector x = row("embedding.token.weight", token, s_.width);
    for (std::int64_t l = 0; l < s_.layers; ++l) {
      const std::string block = "blocks." + std::to_string(l) + ".";
      add(x, attention(l, normed(x, block + "attention.norm.gain"), block + "attention."));
      add(x, feed_forward(normed(x, block + "feed_forward.norm.gain"), block + "feed_forward."));
    }
    ++read_;
    return times("unembedding.weight", normed(x, "final_norm.gain"), s_.vocabulary);
  }

 private:
  static void add(Vector& x, const Vector& y) {
    for (std::size_t c = 0; c < x.size(); ++c) x[c] += y[c];
  }
  const Vector& values(const std::string& name) {
    Vector& all = parameters_[name];
    if (const Tensor& x = parameter_of(model_, name).master(); all.empty())
      for (std::int64_t n = 0; n < x.size(); ++n) all.push_back(x.item(n));
    return all;
  }
  Vector row(const std::string& name, std::int64_t n, std::int64_t C) {
    const auto first = values(name).begin() + n * C;
    return {first, first + C};
  }
  Vector times(const std::string& name, const Vector& x, std::int64_t rows) {
    const auto C = static_cast<std::int64_t>(x.size());
    Vector y;
    for (std::int64_t r = 0; r < rows; ++r) y.push_back(dot(row(name, r, C), x));
    return y;
  }
  static double dot(const Vector& a, const Vector& b) {
    double sum = 0;
    for (std::size_t c = 0; c < a.size(); ++c) sum += a[c] * b[c];
    return sum;
  }
  Vector normed(const Vector& x, const std::string& gain) {
    const double r = 1 / std::sqrt(dot(x, x) / static_cast<double>(x.size()) + s_.epsilon());
    Vector y = values(gain);
    for (std::size_t c = 0; c < x.size(); ++c) y[c] *= x[c] * r;
    return y;
  }
  Vector feed_forward(const Vector& h, const std::string& prefix) {
    const auto F = static_cast<std::size_t>(s_.feed_forward);
    Vector gate_up = times(prefix + "gate_up.weight", h, 2 * s_.feed_forward), y(F);
    for (std::size_t f = 0; f < F; ++f) y[f] = gate_up[f] / (1 + std::exp(-gate_up[f])) * gate_up[F + f];
    return times(prefix + "down.weight", y, s_.width);
  }
  static Vector rotated(const Vector& x, std::int64_t position) {
    const std::size_t E = x.size() / 2;
    Vector y(x.size());
    for (std::size_t e = 0; e < E; ++e) {
      const double angle =
          static_cast<double>(position) * std::pow(10000.0, -static_cast<double>(e) / static_cast<double>(E));
      y[e] = x[e] * std::cos(angle) - x[E + e] * std::sin(angle);
      y[E + e] = x[e] * std::sin(angle) + x[E + e] * std::cos(angle);
    }
    return y;
  }
  Vector attention(std::int64_t l, const Vector& h, const std::string& prefix) {
    const std::int64_t H = s_.heads, G = s_.key_heads(), D = s_.width_of_head();
    const Vector qkv = times(prefix + "qkv.weight", h, (H + 2 * G) * D);
    auto head = [&](std::int64_t n) { return Vector(qkv.begin() + n * D, qkv.begin() + (n + 1) * D); };
    Vector o;
    for (std::int64_t g = 0; g < G; ++g) {
      PlainKeys& keys = keys_[static_cast<std::size_t>(l)][static_cast<std::size_t>(g)];
      before(keys, read_);
      keys.push_back({read_, rotated_before_kept ? rotated(head(H + g), read_) : head(H + g), head(H + G + g)});
      auto position = [&](std::size_t j) { return positions_of_cache ? static_cast<std::int64_t>(j) : keys[j].text; };
      for (std::int64_t n = g * H / G; n < (g + 1) * H / G; ++n) {
        const Vector q = rotated(head(n), position(keys.size() - 1));
        Vector weights, o_n(static_cast<std::size_t>(D));
        double sum = 0;
        for (std::size_t j = 0; j < keys.size(); ++j) {
          const Vector k = rotated_before_kept ? keys[j].k : rotated(keys[j].k, position(j));
          weights.push_back(std::exp(dot(q, k) / std::sqrt(static_cast<double>(D))));
          sum += weights.back();
        }
        for (std::size_t j = 0; j < keys.size(); ++j) {
          for (std::size_t d = 0; d < o_n.size(); ++d) o_n[d] += weights[j] / sum * keys[j].v[d];
          keys[j].received += weights[j] / sum;
        }
        o.insert(o.end(), o_n.begin(), o_n.end());
      }
      after(keys, read_);
    }
    return times(prefix + "out.weight", o, s_.width);
  }

  LanguageModel& model_;
  const Sizes& s_;
  std::int64_t read_ = 0;
  std::map<std::string, Vector> parameters_;
  std::vector<std::vector<PlainKeys>> keys_;
};

}  // namespace sink::test
