// The families of open models, which are ablations like any other (model/ablations.h), by the name that a file leads
// to.
#pragma once

#include <string>

namespace sink {

// The policies of a family, "position=Rotary placement=PreNorm ...": whatever ablation has the same can run its models.
std::string policies_of_family(const std::string& family);
// The other way; empty where no family has them.
std::string family_of_policies(const std::string& policies);
// "gpt2, opt, ... and gpt_oss", for messages.
std::string family_names();

}  // namespace sink
