// From a Spec to an Ablation: what every generated source file of an ablation includes (CMakeLists.txt).
#pragma once

#include "model/ablation.h"
#include "model/ablations.h"
#include "model/transformer.h"

namespace sink {

template <SpecLike Spec>
Ablation ablation_of(const std::string& name) {
  return {name, policies_of<Spec>(), [](const Sizes& sizes, InitScheme scheme, std::uint64_t seed, DType compute) {
            return std::make_unique<Transformer<Spec>>(sizes, scheme, seed, compute);
          }};
}

}  // namespace sink
