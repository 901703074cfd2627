// Architectures that are refused by name.

#include "engine/io/printable.h"
#include "model/open/name_tables.h"
#include "model/open/open_config.h"

namespace sink {

std::string not_computed(const std::string& architecture, const std::vector<std::string>& known) {
  std::string why = " is not known here";
  for (const NameTable& page : name_tables(carried_text("ARCHITECTURES.md")))
    for (const auto& cells : page.rows)  // `model_type`, here, what is missing
      if (code_in(cells.at(0)).at(0) == architecture && !cells.at(2).empty())
        why = cells[2].starts_with("nothing") ? " has no family here" : " is not computed here: it has " + cells[2];
  return "the architecture " + in_quotes(architecture) + why + "; " + listed(known) + " are";
}

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& one : names) text += (text.empty() ? "" : &one == &names.back() ? " and " : ", ") + one;
  return text;
}

}  // namespace sink
