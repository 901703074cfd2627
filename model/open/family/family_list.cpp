// The list of families, and what is asked of all of them.
#include <algorithm>

#include "engine/check.h"
#include "model/open/family/family_parts.h"

namespace sink {

namespace open_families {
#define SINK_FAMILY(name, ablation) Family name();
#include "model/open/family/families.def"
}  // namespace open_families

const std::vector<Family>& families() {
  static const std::vector<Family> all = [] {
    std::vector<Family> list;
    auto add = [&](const char* name, const char* ablation, Family family) {
      family.name = name;
      family.ablation = ablation;
      list.push_back(std::move(family));
    };
#define SINK_FAMILY(name, ablation) add(#name, #ablation, open_families::name());
#include "model/open/family/families.def"
    return list;
  }();
  return all;
}

void leave_out_of_norms(const char* parameter, TensorNames& names) {
  for (const std::string norm : {"blocks.#.attention.norm", "blocks.#.feed_forward.norm", "final_norm"})
    names.own.push_back({norm + parameter, {}});
}

const TensorNames kExpertsApart{
    .own = {{"blocks.#.feed_forward.router", {"layers.#.mlp.gate"}},
            {"blocks.#.feed_forward.gate_up", {"layers.#.mlp.experts.*.gate_proj", "layers.#.mlp.experts.*.up_proj"}},
            {"blocks.#.feed_forward.down", {"layers.#.mlp.experts.*.down_proj"}},
            {"blocks.#.feed_forward.shared.gate", {"layers.#.mlp.shared_expert_gate"}},
            {"blocks.#.feed_forward.shared.gate_up",
             {"layers.#.mlp.shared_expert.gate_proj", "layers.#.mlp.shared_expert.up_proj"}},
            {"blocks.#.feed_forward.shared.down", {"layers.#.mlp.shared_expert.down_proj"}}},
    .experts = ExpertTensors::apart};

const Family& family_of_ablation(const std::string& ablation) {
  const auto found = std::ranges::find(families(), ablation, &Family::ablation);
  SINK_CHECK(found != families().end(), "open model", "there is no family " + ablation);
  return *found;
}

std::string families_with(std::string (*name_of)(const Family&)) {
  std::vector<std::string> names;
  for (const Family& family : families())
    if (const std::string name = name_of(family); !name.empty() && std::ranges::find(names, name) == names.end())
      names.push_back(name);
  return listed(names);
}

std::string family_names() {
  return families_with([](const Family& family) { return family.ablation; });
}

}  // namespace sink
