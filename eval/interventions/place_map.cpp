#include "eval/interventions/place_map.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "engine/io/html.h"
#include "engine/io/printable.h"
#include "engine/io/str_format.h"
#include "engine/io/utf8.h"

namespace sink {
namespace {

using namespace svg;

constexpr double kCell = 20, kLeft = 60, kTop = 64, kGap = 40, kTokenLabels = 110;  // pixels
constexpr std::size_t kLongestToken = 16;
constexpr const char* kStyle =
    "text{font:12px sans-serif;fill:#222}.small{font-size:11px;fill:#555}"
    ".title{font-weight:bold}rect.cell{stroke:#eee}";

struct Group {
  std::string name, meaning;
  std::vector<const InterventionResult*> results;
  bool is_of_tokens() const { return results.front()->token >= 0; }
};

std::int64_t column_of(const InterventionResult& r) { return r.token >= 0 ? r.token : r.head; }

std::vector<Group> groups_of(const Interventions& interventions) {
  std::vector<Group> groups;
  for (const InterventionResult& result : interventions.results) {
    if (!has_place(result)) continue;
    if (groups.empty() || groups.back().name != result.group) groups.push_back({result.group, result.meaning, {}});
    groups.back().results.push_back(&result);
  }
  return groups;
}

// From white to red for 1 and to blue for -1; grey if not finite.
std::string colour_of(double part) {
  if (!std::isfinite(part)) return "#bbb";
  const double size = std::min(1.0, std::abs(part));
  const auto mixed = [&](int end) { return static_cast<int>(std::lround(255 + size * (end - 255))); };
  return part > 0 ? str_format("rgb(%d,%d,%d)", mixed(178), mixed(24), mixed(43))
                  : str_format("rgb(%d,%d,%d)", mixed(33), mixed(102), mixed(172));
}

std::string cell(double x, double y, double width, const std::string& colour, const std::string& title) {
  return "<rect class=\"cell\" x=\"" + pixel(x) + "\" y=\"" + pixel(y) + "\" width=\"" + pixel(width) + "\" height=\"" +
         pixel(kCell) + "\" fill=\"" + colour + "\"><title>" + escape(title) + "</title></rect>\n";
}

// The colours of -largest to largest.
std::string legend(double y, double largest) {
  std::string svg = text_at(kLeft, y + 14, "class=\"small\"", str_format("%+.3g", -largest));
  for (int n = -5; n <= 5; ++n) svg += cell(kLeft + 60 + (n + 5) * kCell, y, kCell, colour_of(n / 5.0), "");
  return svg + text_at(kLeft + 70 + 11 * kCell, y + 14, "class=\"small\"", str_format("%+.3g nats", largest)) + "\n";
}

struct Drawn {
  std::string svg;
  double width, height;
};

Drawn map_of(const Group& group, const std::vector<std::string>& tokens, double top) {
  std::map<std::int64_t, double> rows, columns;  // layer, and head or token: where they are
  double largest = 0;
  for (const InterventionResult* result : group.results) {
    rows[result->layer] = columns[column_of(*result)] = 0;
    if (std::isfinite(change_of(*result))) largest = std::max(largest, std::abs(change_of(*result)));
  }
  double x = kLeft, y = top + kTop;
  for (auto& [row, at] : rows) at = y, y += kCell;
  for (auto& [column, at] : columns) at = x, x += kCell;
  const char* what = group.is_of_tokens() ? "token" : "head";
  std::string svg =
      text_at(8, top + 18, "class=\"title\"", printable(group.name)) +
      text_at(8, top + 36, "class=\"small\"",
              std::string(group.is_of_tokens() ? "change of the loss of the last target" : "change of the loss") +
                  " by layer (down) and " + what + " (right): " + printable(group.meaning)) +
      "\n";
  for (const auto& [row, at] : rows)
    svg += text_at(kLeft - 8, at + 14, "class=\"small\" text-anchor=\"end\"", std::to_string(row));
  for (const auto& [column, at] : columns) {
    const std::size_t token = static_cast<std::size_t>(column) - 1;
    if (!group.is_of_tokens() || token >= tokens.size()) {
      svg += text_at(at + kCell / 2, y + 14, "class=\"small\" text-anchor=\"middle\"", std::to_string(column));
      continue;
    }
    const std::string where = pixel(at + 14) + "," + pixel(y + 8);
    svg += "<text class=\"small\" text-anchor=\"end\" transform=\"translate(" + where + ") rotate(-60)\">" +
           escape(printable(utf8_prefix(tokens[token], kLongestToken))) + "</text>";
  }
  svg += "\n";
  for (const InterventionResult* result : group.results)
    svg += cell(columns[column_of(*result)], rows[result->layer], kCell,
                colour_of(largest > 0 ? change_of(*result) / largest : change_of(*result)),
                str_format("layer %lld %s %lld: %+.4f nats", static_cast<long long>(result->layer), what,
                           static_cast<long long>(column_of(*result)), change_of(*result)));
  y += group.is_of_tokens() ? kTokenLabels : 2 * kCell;
  svg += legend(y, largest);
  return {svg, std::max(x, 700.0) + kGap, y + kCell + kGap - top};
}

}  // namespace

std::string place_maps_svg(const Interventions& interventions, const std::vector<std::string>& tokens) {
  double top = 0, width = 0;
  std::string maps;
  for (const Group& group : groups_of(interventions)) {
    const Drawn drawn = map_of(group, tokens, top);
    maps += drawn.svg;
    top += drawn.height;
    width = std::max(width, drawn.width);
  }
  return figure(width, top, kStyle, "interventions", maps);
}

}  // namespace sink
