// One ablation as a run-time value, so that programs are compiled once and only the mathematics per ablation.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "model/language_model.h"
#include "model/parameter_factory.h"

namespace sink {

struct Ablation {
  std::string name;      // of the struct in ablations.h
  std::string policies;  // policies_of<Spec>()
  std::function<std::unique_ptr<LanguageModel>(const Sizes&, InitScheme, std::uint64_t seed, DType compute)> make_model;
};

}  // namespace sink
