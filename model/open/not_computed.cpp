// Architectures that are refused by name.
#include <utility>

#include "engine/io/printable.h"
#include "model/open/open_config.h"

namespace sink {
namespace {

// Architectures of many published models, and what no family here has.
constexpr std::pair<const char*, const char*> kNotComputed[] = {
    {"olmo3", "no family here has OLMo 2's norms with windows and with rotary positions by the type of a layer"}};

}  // namespace

std::string not_computed(const std::string& architecture, const std::vector<std::string>& known) {
  std::string why = " is not known here";
  for (const auto& [name, reason] : kNotComputed)
    if (architecture == name) why = std::string(" is not computed here: ") + reason;
  return "the architecture " + in_quotes(architecture) + why + "; " + listed(known) + " are";
}

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& one : names) text += (text.empty() ? "" : &one == &names.back() ? " and " : ", ") + one;
  return text;
}

}  // namespace sink
