#include "tools/sweep/study_picture.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "engine/io/html.h"
#include "engine/io/printable.h"

namespace sink {
namespace {

constexpr int kNames = 230, kPanel = 230, kGap = 30, kRow = 20, kTop = 58, kBottom = 30;  // pixels
constexpr std::size_t kLongestName = 34;
constexpr const char* kStyle =
    "text{font:12px sans-serif;fill:#222}.small{font-size:11px;fill:#555}.title{font-weight:bold}"
    ".grid{stroke:#ddd}.zero{stroke:#888}.ours{fill:#1f5fa8;stroke:#1f5fa8}.seed{fill:#1f5fa8;fill-opacity:.35}"
    ".paper{fill:none;stroke:#c4501b;stroke-width:1.5}";

// A number that the browser reads back, with at most one decimal.
std::string pixel(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", x);
  return text;
}

struct Mark {
  std::vector<double> seeds;
  Estimate mean;
  std::optional<double> paper;
};

struct Panel {
  std::string title;
  std::vector<Mark> rows;  // one a group
  double low = 0, high = 0;
};

// Values of every seed: of the group, or minus the baseline's of the same seed.
Mark mark_of(const StudyResults& results, const GroupResult& group, const std::string& measure, bool minus_baseline) {
  Mark mark;
  mark.mean = minus_baseline ? results.difference(group, measure) : group.estimate(measure);
  const auto own = group.values.find(measure);
  if (own == group.values.end() || (minus_baseline && mark.mean.n == 0)) return mark;
  for (const auto& [seed, value] : own->second) {
    double of = value;
    if (minus_baseline) {
      const auto& baseline = results.groups[*results.baseline].values.at(measure);
      if (!baseline.contains(seed)) continue;
      of -= baseline.at(seed);
    }
    mark.seeds.push_back(of);
  }
  return mark;
}

// The scale holds 0 and every mark; intervals of few seeds, which can be very wide, up to the marks' own extent again.
void find_scale(Panel& panel) {
  for (const Mark& row : panel.rows) {
    std::vector<double> values = row.seeds;
    if (row.paper) values.push_back(*row.paper);
    for (double value : values) {
      panel.low = std::min(panel.low, value);
      panel.high = std::max(panel.high, value);
    }
  }
  if (panel.high == panel.low) panel.high = panel.low + 1;
  const double margin = 0.06 * (panel.high - panel.low);
  if (panel.low < 0) panel.low -= margin;
  panel.high += margin;
}

Panel panel_of(const StudyResults& results, const std::string& title, const std::string& measure, bool minus_baseline,
               std::string StudyRow::*paper = nullptr) {
  Panel panel{title, {}, 0, 0};
  for (const GroupResult& group : results.groups) {
    panel.rows.push_back(mark_of(results, group, measure, minus_baseline));
    if (const auto row = paper ? group.group.paper() : std::nullopt)
      panel.rows.back().paper = paper_value((*row).*paper);
  }
  find_scale(panel);
  return panel;
}

// Round numbers, three to six of them.
std::vector<double> ticks(double low, double high) {
  const double span = high - low;
  double step = std::pow(10, std::floor(std::log10(span)));
  while (span / step < 3) step /= span / step < 1.5 ? 5 : 2;
  while (span / step > 6) step *= 2;
  std::vector<double> at;
  for (double n = std::ceil(low / step); n * step <= high && at.size() < 20; ++n) at.push_back(n * step);
  return at;
}

std::string tick_text(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", std::abs(value) < 1e-12 ? 0.0 : value);
  return text;
}

void draw(const Panel& panel, double left, std::size_t rows, std::string& svg) {
  const auto x = [&](double value) {
    return pixel(left + kPanel * (std::clamp(value, panel.low, panel.high) - panel.low) / (panel.high - panel.low));
  };
  const std::string bottom = std::to_string(kTop + static_cast<int>(rows) * kRow);
  svg += "<text class=\"title\" x=\"" + pixel(left) + "\" y=\"" + std::to_string(kTop - 12) + "\">" +
         escape(panel.title) + "</text>\n";
  for (double tick : ticks(panel.low, panel.high)) {
    const bool zero = std::abs(tick) < 1e-12;
    svg += std::string("<line class=\"") + (zero ? "zero" : "grid") + "\" x1=\"" + x(tick) + "\" x2=\"" + x(tick) +
           "\" y1=\"" + std::to_string(kTop - 4) + "\" y2=\"" + bottom + "\"/><text class=\"small\" x=\"" + x(tick) +
           "\" y=\"" + std::to_string(kTop + static_cast<int>(rows) * kRow + 14) + "\" text-anchor=\"middle\">" +
           tick_text(tick) + "</text>\n";
  }
  for (std::size_t r = 0; r < panel.rows.size(); ++r) {
    const Mark& row = panel.rows[r];
    const std::string y = pixel(kTop + kRow * (static_cast<double>(r) + 0.5));
    if (row.paper) {
      const double at = std::stod(x(*row.paper)), middle = std::stod(y);
      svg += "<path class=\"paper\" d=\"M" + pixel(at - 5) + " " + y + "L" + pixel(at) + " " + pixel(middle - 5) + "L" +
             pixel(at + 5) + " " + y + "L" + pixel(at) + " " + pixel(middle + 5) + "Z\"/>\n";
    }
    if (row.mean.n == 0) continue;
    if (row.mean.has_interval())
      svg += "<line class=\"ours\" x1=\"" + x(row.mean.low()) + "\" x2=\"" + x(row.mean.high()) + "\" y1=\"" + y +
             "\" y2=\"" + y + "\"/>\n";
    for (double seed : row.seeds)
      if (row.seeds.size() > 1) svg += "<circle class=\"seed\" cx=\"" + x(seed) + "\" cy=\"" + y + "\" r=\"3\"/>";
    svg += "<circle class=\"ours\" cx=\"" + x(row.mean.mean) + "\" cy=\"" + y + "\" r=\"4\"/>\n";
  }
}

}  // namespace

std::string study_svg(const StudyResults& results) {
  const auto has = [&](const char* measure) {
    return std::any_of(results.groups.begin(), results.groups.end(),
                       [&](const GroupResult& group) { return group.values.contains(measure); });
  };
  const bool raw_differs = std::any_of(results.groups.begin(), results.groups.end(), [](const GroupResult& group) {
    return std::abs(group.estimate("sink_1").mean - group.estimate("sink_1_raw").mean) > 1;
  });
  std::vector<Panel> panels{panel_of(results, "Sink_1 %, proxy", "sink_1", false, &StudyRow::sink_1)};
  if (raw_differs) panels.push_back(panel_of(results, "Sink_1 %, raw", "sink_1_raw", false));
  if (has("sink_star"))
    panels.push_back(panel_of(results, "Sink_* %, proxy", "sink_star", false, &StudyRow::sink_star));
  if (results.baseline && results.groups.size() > 1)
    panels.push_back(panel_of(results, "loss minus baseline, nats", "val_loss", true));
  if (has("change_removed_1"))
    panels.push_back(panel_of(results, "loss without a_1 v_1, nats more", "change_removed_1", false));

  const std::size_t rows = results.groups.size();
  const int width = kNames + static_cast<int>(panels.size()) * (kPanel + kGap),
            height = kTop + static_cast<int>(rows) * kRow + kBottom;
  std::string svg = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " + std::to_string(width) + " " +
                    std::to_string(height) + "\" width=\"" + std::to_string(width) + "\" role=\"img\"><style>" +
                    kStyle + "</style>\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n";
  const std::string title = printable(results.study.question);
  svg +=
      "<title>" + escape(title) + "</title><text class=\"title\" x=\"8\" y=\"18\">" + escape(title) +
      "</text><text class=\"small\" x=\"8\" y=\"34\">&#9679; ours: mean, seeds, 95 % interval; &#9671; the paper, at "
      "its own size, on the same kind of input</text>\n";
  for (std::size_t r = 0; r < rows; ++r) {
    std::string name = printable(results.groups[r].group.name);
    if (name.size() > kLongestName) name = name.substr(0, kLongestName - 3) + "...";
    svg += "<text x=\"8\" y=\"" + pixel(kTop + kRow * (static_cast<double>(r) + 0.5) + 4) + "\">" + escape(name) +
           "</text>\n";
  }
  for (std::size_t p = 0; p < panels.size(); ++p)
    draw(panels[p], kNames + static_cast<double>(p) * (kPanel + kGap), rows, svg);
  return svg + "</svg>\n";
}

}  // namespace sink
