// Makes an Ablation of a Spec, for the generated source file of each ablation (CMakeLists.txt).
#pragma once

#include "engine/ops/attention/op/written_derivatives.h"
#include "model/ablation.h"
#include "model/ablations.h"
#include "model/transformer.h"

namespace sink {

template <class Spec>
std::unique_ptr<LanguageModel> make_transformer(const Sizes& sizes, InitScheme scheme, std::uint64_t seed,
                                                DType compute, Device device) {
  check_written_derivatives(AttentionPolicy<typename Spec::Attention>::op());
  return std::make_unique<Transformer<Spec>>(sizes, scheme, seed, compute, device);
}

template <class Spec>
Ablation ablation_of(const std::string& name) {
  static_assert(contracts_hold<Spec>());
  return {name, policies_of<Spec>(), make_transformer<Spec>, check_sizes<Spec>};
}

}  // namespace sink
