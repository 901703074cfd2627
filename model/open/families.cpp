#include "model/open/families.h"

#include "model/ablations.h"

namespace sink {

std::string policies_of_family(const std::string& family) {
  using namespace ablations;
  if (family == "gpt2") return policies_of<gpt2>();
  if (family == "opt") return policies_of<opt>();
  if (family == "gpt_neox") return policies_of<gpt_neox>();
  if (family == "llama") return policies_of<llama>();
  if (family == "llama3") return policies_of<llama3>();
  if (family == "qwen2") return policies_of<qwen2>();
  if (family == "qwen3") return policies_of<qwen3>();
  if (family == "gemma3") return policies_of<gemma3>();
  fail("open model", "there is no family " + family);
}

}  // namespace sink
