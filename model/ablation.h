// One ablation as a run-time value, so that programs are compiled once and only the mathematics per ablation.
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
  // Throws Exit::usage with a sentence where a policy cannot have these sizes; make_model asks too.
  void (*check_sizes)(const Sizes&) = nullptr;

  std::unique_ptr<LanguageModel> make_model(const Sizes& sizes, InitScheme scheme, std::uint64_t seed, DType compute,
                                            Device device = Device::cpu) const {
    return make(sizes, scheme, seed, compute, device);
  }
};

}  // namespace sink
