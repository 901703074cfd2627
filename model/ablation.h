// An ablation as a run-time value, so that programs are compiled once and only the model for each ablation.
#pragma once

#include <memory>
#include <string>

#include "model/language_model.h"
#include "model/parameter_factory.h"

namespace sink {

struct Ablation {
  std::string name;      // of the struct in ablations.h
  std::string policies;  // policies_of<Spec>()
  std::unique_ptr<LanguageModel> (*make)(const Sizes&, InitScheme, std::uint64_t seed, DType compute, Device) = nullptr;
  // Throws Exit::usage if a policy does not support these sizes; make_model checks too.
  void (*check_sizes)(const Sizes&) = nullptr;

  std::unique_ptr<LanguageModel> make_model(const Sizes& sizes, InitScheme scheme, std::uint64_t seed, DType compute,
                                            Device device = Device::cpu) const {
    return make(sizes, scheme, seed, compute, device);
  }
};

}  // namespace sink
