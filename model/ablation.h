// One ablation as a run-time value, so that programs are compiled once and only the mathematics per binary.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "model/language_model.h"
#include "model/parameter_factory.h"
#include "model/spec.h"

namespace sink {

struct Ablation {
  std::string name;      // of the struct in ablations.h
  std::string policies;  // policies_of<Spec>()
  std::function<std::unique_ptr<LanguageModel>(const Sizes&, InitScheme, std::uint64_t seed, DType compute)> make_model;
};

template <template <class> class Model, SpecLike Spec>
Ablation ablation_of(const std::string& name) {
  return {name, policies_of<Spec>(), [](const Sizes& sizes, InitScheme scheme, std::uint64_t seed, DType compute) {
            return std::make_unique<Model<Spec>>(sizes, scheme, seed, compute);
          }};
}

}  // namespace sink
