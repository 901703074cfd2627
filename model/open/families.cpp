// The families of open models and their policies.
#include "model/ablations.h"
#include "model/open/open_config.h"

namespace sink {
namespace {

struct Family {
  const char* name;
  std::string (*policies)();
};

constexpr Family kFamilies[] = {
    {"gpt2", policies_of<ablations::gpt2>},         {"opt", policies_of<ablations::opt>},
    {"gpt_neox", policies_of<ablations::gpt_neox>}, {"llama", policies_of<ablations::llama>},
    {"llama3", policies_of<ablations::llama3>},     {"qwen2", policies_of<ablations::qwen2>},
    {"qwen3", policies_of<ablations::qwen3>},       {"gemma3", policies_of<ablations::gemma3>},
    {"gpt_oss", policies_of<ablations::gpt_oss>},   {"olmo2", policies_of<ablations::olmo2>},
    {"falcon", policies_of<ablations::falcon>},     {"mixtral", policies_of<ablations::mixtral>},
    {"gemma2", policies_of<ablations::gemma2>}};

}  // namespace

std::string policies_of_family(const std::string& family) {
  for (const Family& one : kFamilies)
    if (family == one.name) return one.policies();
  fail("open model", "there is no family " + family);
}

std::string family_of_policies(const std::string& policies) {
  for (const Family& one : kFamilies)
    if (policies == one.policies()) return one.name;
  return "";
}

bool has_experts(const std::string& family) { return family == "gpt_oss" || family == "mixtral"; }

std::string family_names() {
  std::vector<std::string> names;
  for (const Family& one : kFamilies) names.emplace_back(one.name);
  return listed(names);
}

}  // namespace sink
