// The policies of families.
#include "model/ablations.h"
#include "model/open/open_config.h"

namespace sink {
namespace {

struct Policies {
  const char* ablation;
  std::string (*text)();
};

constexpr Policies kPolicies[] = {
#define SINK_FAMILY(name, ablation) {#ablation, policies_of<ablations::ablation>},
#include "model/open/family/families.def"
};

}  // namespace

std::string policies_of_family(const std::string& family) {
  for (const Policies& one : kPolicies)
    if (family == one.ablation) return one.text();
  fail("open model", "there is no family " + family);
}

std::string family_of_policies(const std::string& policies) {
  for (const Policies& one : kPolicies)
    if (policies == one.text()) return one.ablation;
  return "";
}

}  // namespace sink
