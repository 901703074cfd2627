#include "tools/selftest/golden_tables.h"

#include <cstdlib>
#include <sstream>

#include "engine/check.h"

namespace sink::selftest {

std::vector<std::vector<Place>> golden_table(const std::string& name) {
  std::istringstream text(cute_tables_text());
  std::vector<std::vector<Place>> table;
  for (std::string line; std::getline(text, line);) {
    if (!line.starts_with(name + " ")) continue;
    int of = static_cast<int>(table.size());  // the lines of a table are in order
    std::istringstream places(line.substr(line.find(':') + 1));
    table.emplace_back();
    for (std::string place; places >> place;) {
      std::size_t comma = place.find(',');
      table.back().push_back(comma == std::string::npos
                                 ? Place{of, std::atoi(place.c_str())}
                                 : Place{std::atoi(place.c_str()), std::atoi(place.c_str() + comma + 1)});
    }
  }
  SINK_CHECK(!table.empty(), "selftest", "there is no table " + name);
  return table;
}

}  // namespace sink::selftest
