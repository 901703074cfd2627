// Small models by name and functions that set their parameters.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "engine/rng.h"
#include "tests/support/built_ablations.h"

namespace sink::test {

inline Sizes small_sizes() {
  return {.layers = 2, .heads = 3, .width = 24, .feed_forward = 20, .context = 13, .vocabulary = 31};
}

inline std::unique_ptr<LanguageModel> make_model(const std::string& ablation, const Sizes& sizes = small_sizes(),
                                                 DType compute = DType::F64) {
  return ablation_named(ablation).make_model(sizes, InitScheme::torch, 5, compute);
}

inline Parameter& parameter_of(LanguageModel& model, const std::string& name) {
  for (const auto& parameter : model.parameters())
    if (parameter->name() == name) return *parameter;
  fail("test", "no parameter " + name);
}

// value(n, old) for element n of a parameter.
inline void set(LanguageModel& model, const std::string& name,
                const std::function<double(std::int64_t, double)>& value) {
  Parameter& parameter = parameter_of(model, name);
  Tensor numbers = parameter.master().to(DType::F64).clone();
  for (std::int64_t n = 0; n < numbers.size(); ++n) numbers.data<double>()[n] = value(n, numbers.item(n));
  parameter.mutable_master().copy_from(numbers);
  model.parameters().refresh();
}

inline Tensor random_tokens(std::int64_t B, std::int64_t T, std::int64_t V, const char* stream = "tokens") {
  Tensor tokens_BT = Tensor::empty({B, T}, DType::I32);
  Rng rng(3, stream);
  for (std::int64_t n = 0; n < B * T; ++n)
    tokens_BT.data<std::int32_t>()[n] =
        static_cast<std::int32_t>(rng.uniform(static_cast<std::uint64_t>(n)) * static_cast<double>(V));
  return tokens_BT;
}

// Largest |x - y| over largest |y|; infinite when something is not finite.
inline double relative_difference(const Tensor& x, const Tensor& y) {
  double difference = 0, scale = 0;
  for (std::int64_t n = 0; n < x.size(); ++n) {
    double d = std::abs(x.item(n) - y.item(n));
    if (!(d <= difference)) difference = std::isfinite(d) ? d : INFINITY;
    scale = std::max(scale, std::abs(y.item(n)));
  }
  return difference / scale;
}

// Keeps every layer's attention pattern of sequence 0 and every head, and the hidden states.
struct Watcher : HiddenStateHooks {
  std::vector<std::vector<Tensor>> map_LH;
  std::vector<Tensor> hidden_L, q_L, k_L;

  void hidden_state(std::int64_t, const Tensor& x_BTC) override { hidden_L.push_back(x_BTC.clone()); }
  void attention(AttentionPoint& point) override {
    std::vector<Tensor> maps;
    for (std::int64_t h = 0; h < point.q_BHTD.dim(1); ++h) maps.push_back(point.pattern(0, h));
    map_LH.push_back(maps);
    q_L.push_back(point.q_BHTD.clone());
    k_L.push_back(point.k_BGTD.clone());
  }
};

}  // namespace sink::test
