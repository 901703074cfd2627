#include "model/all_ablations.h"

namespace sink {

const Ablation& ablation_named(const std::string& name) {
  std::string near;
  for (const Ablation& ablation : all_ablations()) {
    if (ablation.name == name) return ablation;
    if (ablation.name.find(name) != std::string::npos || name.find(ablation.name) != std::string::npos)
      near += (near.empty() ? "" : ", ") + ablation.name;
  }
  fail("ablation",
       "there is no ablation `" + name + "`" +
           (near.empty() ? "; the program `ablations` lists them" : "; did you mean one of " + near + "?"),
       Exit::usage);
}

}  // namespace sink
