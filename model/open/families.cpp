// The families of open models and their policies.
#include <utility>

#include "engine/io/printable.h"
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
    {"falcon", policies_of<ablations::falcon>}};

// Architectures of many published models, and what no family here has.
constexpr std::pair<const char*, const char*> kNotComputed[] = {
    {"gemma2", "it caps scores and logits"},
    {"mixtral", "its experts have another gated unit than those of gpt_oss"},
    {"olmo3", "its rotary positions are YaRN in some layers only, with a rounded range"}};

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

std::string family_names() {
  std::vector<std::string> names;
  for (const Family& one : kFamilies) names.emplace_back(one.name);
  return listed(names);
}

std::string not_computed(const std::string& architecture, const std::vector<std::string>& known) {
  std::string why = "` is not known here";
  for (const auto& [name, reason] : kNotComputed)
    if (architecture == name) why = std::string("` is not computed here: ") + reason;
  return "the architecture `" + printable(architecture) + why + "; " + listed(known) + " are";
}

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& one : names) text += (text.empty() ? "" : &one == &names.back() ? " and " : ", ") + one;
  return text;
}

}  // namespace sink
