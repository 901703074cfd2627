#include "train/data_use.h"

#include <cstdio>

#include "engine/io/printable.h"

namespace sink {

std::vector<std::string> data_use(const DataSource& data, double tokens) {
  std::vector<std::string> lines;
  auto add = [&](const char* format, auto... values) {
    char line[256];
    std::snprintf(line, sizeof line, format, values...);
    lines.emplace_back(line);
  };
  auto in_data = static_cast<double>(data.train_tokens());
  if (in_data <= 0) return lines;
  add("%.2f passes over %.4g tokens of data", tokens / in_data, in_data);
  std::vector<DomainUse> domains = data.domains();
  if (domains.size() < 2) return lines;
  for (const DomainUse& domain : domains)
    add("  %-24s %7.4f of what is read, %8.2f passes over %.4g tokens", printable(domain.name).c_str(), domain.share,
        domain.passes(tokens), static_cast<double>(domain.tokens));
  return lines;
}

}  // namespace sink
