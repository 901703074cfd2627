// The SVG figure of a study.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <set>

#include "engine/io/html.h"
#include "engine/io/printable.h"
#include "engine/io/svg.h"
#include "engine/io/text_table.h"
#include "tools/sweep/study_results.h"
#include "train/run_config_table.h"

namespace sink {
namespace {

using svg::circle, svg::diamond, svg::formatted, svg::line, svg::text_at, svg::ticks;

constexpr int kLeastLabels = 330, kPanel = 200, kGap = 110, kRow = 20, kTop = 84, kBottom = 30;  // pixels
constexpr std::size_t kMaxLabelBytes = 64;
constexpr double kCharacter = 6.4;
constexpr const char* kStyle =
    "text{font:12px sans-serif;fill:#222}.small{font-size:11px;fill:#555}.title{font-weight:bold}"
    ".grid{stroke:#ddd}.zero{stroke:#888}.ours{fill:#1f5fa8;stroke:#1f5fa8}.seed{fill:#1f5fa8;fill-opacity:.35}"
    ".paper{fill:none;stroke:#c4501b;stroke-width:1.5}.value{fill:#1f5fa8}.papers-value{fill:#c4501b}";
// A single run says little: its marks are grey.
constexpr const char* kStyleOfOneSeed = ".ours.one{fill:#8c959f;stroke:#8c959f}.value.one{fill:#6e7781}";

double middle_of_row(std::size_t row) { return kTop + kRow * (static_cast<double>(row) + 0.5); }

// ---- Labels and order of the rows ----

// Settings that differ between groups, other than those that describe() puts into words.
std::vector<const Setting<RunConfig>*> varying_settings(const StudyResults& results) {
  static const std::set<std::string> skipped{
      "task",      "data",   "fixed-token", "fixed-position",    "fixed-to", "random-from",
      "random-to", "prefix", "window",      "prefix-validation", "initial"};
  std::vector<const Setting<RunConfig>*> varying;
  const RunConfig& first = results.groups.front().group.config;
  for (const Setting<RunConfig>& setting : run_config_table())
    if (is_saved(setting) && !skipped.contains(setting.flag) &&
        std::any_of(results.groups.begin(), results.groups.end(), [&](const GroupResult& group) {
          return setting.value(group.group.config) != setting.value(first);
        }))
      varying.push_back(&setting);
  return varying;
}

template <class Key>
bool all_equal(const StudyResults& results, const Key& key) {
  return std::all_of(results.groups.begin(), results.groups.end(),
                     [&](const GroupResult& group) { return key(group.group) == key(results.groups.front().group); });
}

// "weight decay 0.5", "sigmoid of the score, tuned": what distinguishes a group from the others; from the baseline
// alone, where the groups differ in several ablations or in more than two settings.
std::string label_of(const StudyResults& results, const StudyGroup& group,
                     const std::vector<const Setting<RunConfig>*>& varying) {
  const bool one_ablation = all_equal(results, [](const StudyGroup& each) { return each.ablation.name; });
  const bool one_input = all_equal(results, [](const StudyGroup& each) { return describe(each.input_kind()); });
  const bool is_baseline = group.name == results.study.baseline;
  const std::size_t parts = varying.size() + (one_input ? 0 : 1);
  const StudyGroup* baseline =
      results.baseline && (!one_ablation || parts > 2) ? &results.groups[*results.baseline].group : nullptr;
  std::vector<std::string> words;
  if (!one_ablation) words.push_back(short_meaning(group.ablation.name));
  if (!one_input && !(one_ablation && baseline && describe(group.input_kind()) == describe(baseline->input_kind())))
    words.push_back(describe(group.input_kind()));
  if (!group.from.empty()) words.push_back("tuned");
  for (const Setting<RunConfig>* setting : varying) {
    const SettingValue value = setting->value(group.config);
    if (baseline && value == setting->value(baseline->config)) continue;
    if (!group.from.empty() && std::all_of(results.groups.begin(), results.groups.end(), [&](const GroupResult& other) {
          return other.group.from.empty() || setting->value(other.group.config) == value;
        }))
      continue;  // of fine-tuning as such
    std::string flag = setting->flag;
    std::replace(flag.begin(), flag.end(), '-', ' ');
    const double* number = std::get_if<double>(&value);
    words.push_back(flag + " " + (number ? formatted("%g", *number) : plain_text(value)));
  }
  std::string label;
  for (const std::string& word : words) label += (label.empty() ? "" : ", ") + word;
  if (label.empty()) label = group.name;
  if (is_baseline && label != "baseline") label += " (baseline)";
  label = printable(label);
  return label.size() > kMaxLabelBytes ? label.substr(0, label.rfind(' ', kMaxLabelBytes - 3)) + "..." : label;
}

// The results without groups that have no complete run; all of them if no group has one.
StudyResults with_values(const StudyResults& all) {
  StudyResults results = all;
  results.groups.clear();
  results.baseline.reset();
  for (std::size_t g = 0; g < all.groups.size(); ++g) {
    if (!all.groups[g].values.contains("sink_1")) continue;
    if (all.baseline == g) results.baseline = results.groups.size();
    results.groups.push_back(all.groups[g]);
  }
  return results.groups.empty() ? all : results;
}

struct RowOrder {
  std::vector<std::size_t> groups;
  std::string by;
};

// By the one numeric setting in which the groups differ, ascending; otherwise by Sink_1, descending.
RowOrder order_of(const StudyResults& results, const std::vector<const Setting<RunConfig>*>& varying) {
  RowOrder order{std::vector<std::size_t>(results.groups.size()), "Sink_1"};
  std::iota(order.groups.begin(), order.groups.end(), std::size_t{0});
  const auto number = [&](const StudyGroup& group) {
    const SettingValue value = varying.front()->value(group.config);
    if (const double* real = std::get_if<double>(&value)) return *real;
    const std::int64_t* whole = std::get_if<std::int64_t>(&value);
    return whole ? static_cast<double>(*whole) : std::nan("");
  };
  const bool by_setting = varying.size() == 1 && !std::isnan(number(results.groups.front().group)) &&
                          all_equal(results, [](const StudyGroup& group) {
                            return group.ablation.name + group.from + describe(group.input_kind());
                          });
  if (by_setting) {
    order.by = varying.front()->flag;
    std::replace(order.by.begin(), order.by.end(), '-', ' ');
  }
  const auto key = [&](std::size_t g) {
    if (by_setting) return number(results.groups[g].group);
    return -results.groups[g].estimate("sink_1").mean;
  };
  std::stable_sort(order.groups.begin(), order.groups.end(),
                   [&](std::size_t a, std::size_t b) { return key(a) < key(b); });
  return order;
}

// ---- Panels ----

struct Mark {
  std::vector<double> seeds;
  Estimate mean;
  std::string papers_value;  // as the paper gives it, "18.18", "failed"; empty: no row of the same input
};

struct Panel {
  std::string title;
  int decimals;
  bool is_difference;
  std::vector<Mark> rows = {};  // in the order of the rows
  double low = 0, high = 0;
};

// The values of every seed of a group, or their differences from the baseline with the same seed.
Mark mark_of(const StudyResults& results, const GroupResult& group, const std::string& measure, bool minus_baseline) {
  Mark mark;
  mark.mean = minus_baseline ? results.difference(group, measure) : group.estimate(measure);
  const auto own = group.values.find(measure);
  if (own == group.values.end() || mark.mean.n == 0) return mark;
  for (const auto& [seed, value] : own->second) {
    if (!minus_baseline) {
      mark.seeds.push_back(value);
      continue;
    }
    const BySeed& baseline = results.groups[*results.baseline].values.at(measure);
    if (baseline.contains(seed)) mark.seeds.push_back(value - baseline.at(seed));
  }
  return mark;
}

Panel panel_of(const StudyResults& results, const RowOrder& order, const std::string& title, const std::string& measure,
               bool minus_baseline = false, std::string PaperRow::*paper = nullptr) {
  const auto found =
      std::find_if(measures().begin(), measures().end(), [&](const StudyMeasure& each) { return each.key == measure; });
  Panel panel{title, found->decimals, minus_baseline};
  for (std::size_t g : order.groups) {
    const GroupResult& group = results.groups[g];
    Mark& mark = panel.rows.emplace_back(mark_of(results, group, measure, minus_baseline));
    if (const auto row = paper ? group.group.paper() : std::nullopt) mark.papers_value = (*row).*paper;
    // The scale holds 0 and all values. Intervals of few seeds can be far wider; they are cut off.
    std::vector<double> values = mark.seeds;
    if (const auto papers = paper_value(mark.papers_value)) values.push_back(*papers);
    for (double value : values) {
      panel.low = std::min(panel.low, value);
      panel.high = std::max(panel.high, value);
    }
  }
  if (panel.high == panel.low) panel.high = panel.low + 1;
  const double margin = 0.06 * (panel.high - panel.low);
  if (panel.low < 0) panel.low -= margin;
  panel.high += margin;
  return panel;
}

// Our mean, and next to it the paper's value.
std::string values_at(double x, double y, const Panel& panel, const Mark& mark) {
  std::string svg;
  if (mark.mean.n > 0) {
    const std::string text = fixed_text(mark.mean.mean, panel.decimals, panel.is_difference);
    svg += text_at(x, y, mark.seeds.size() == 1 ? "class=\"value one\"" : "class=\"value\"", text);
  }
  if (!mark.papers_value.empty()) svg += text_at(x + 44, y, "class=\"papers-value\"", mark.papers_value);
  return svg + "\n";
}

std::string drawn(const Panel& panel, double left) {
  const auto x = [&](double value) {
    return left + kPanel * (std::clamp(value, panel.low, panel.high) - panel.low) / (panel.high - panel.low);
  };
  const double bottom = kTop + static_cast<double>(panel.rows.size()) * kRow;
  std::string svg = text_at(left, kTop - 12, "class=\"title\"", panel.title) + "\n";
  const bool has_paper =
      std::any_of(panel.rows.begin(), panel.rows.end(), [](const Mark& row) { return !row.papers_value.empty(); });
  if (has_paper)
    svg += text_at(left + kPanel + 8, kTop - 12, "class=\"small\"", "ours") +
           text_at(left + kPanel + 52, kTop - 12, "class=\"small\"", "paper") + "\n";
  for (double tick : ticks(panel.low, panel.high)) {
    const bool zero = std::abs(tick) < 1e-12;
    svg +=
        line(zero ? "zero" : "grid", x(tick), x(tick), kTop - 4, bottom) +
        text_at(x(tick), bottom + 14, "class=\"small\" text-anchor=\"middle\"", formatted("%.4g", zero ? 0.0 : tick)) +
        "\n";
  }
  for (std::size_t r = 0; r < panel.rows.size(); ++r) {
    const Mark& row = panel.rows[r];
    const double y = middle_of_row(r);
    if (const auto papers = paper_value(row.papers_value)) { svg += diamond("paper", x(*papers), y) + "\n"; }
    svg += values_at(left + kPanel + 8, y + 4, panel, row);
    if (row.mean.n == 0) continue;
    if (row.mean.has_interval()) svg += line("ours", x(row.mean.low()), x(row.mean.high()), y, y);
    for (double seed : row.seeds)
      if (row.seeds.size() > 1) svg += circle("seed", x(seed), y, 3);
    svg += circle(row.seeds.size() == 1 ? "ours one" : "ours", x(row.mean.mean), y, 4) + "\n";
  }
  return svg;
}

}  // namespace

std::string study_svg(const StudyResults& all) {
  const StudyResults results = with_values(all);
  const std::vector<const Setting<RunConfig>*> varying = varying_settings(results);
  const RowOrder order = order_of(results, varying);
  const auto any = [&](const auto& holds) { return std::any_of(results.groups.begin(), results.groups.end(), holds); };
  const auto has = [&](const char* measure) {
    return any([&](const GroupResult& group) { return group.values.contains(measure); });
  };
  std::vector<Panel> panels{panel_of(results, order, "Sink_1 %, proxy", "sink_1", false, &PaperRow::sink_1)};
  if (any([](const GroupResult& group) {
        return std::abs(group.estimate("sink_1").mean - group.estimate("sink_1_raw").mean) > 1;
      }))
    panels.push_back(panel_of(results, order, "Sink_1 %, raw", "sink_1_raw"));
  if (has("sink_star"))
    panels.push_back(panel_of(results, order, "Sink_* %, proxy", "sink_star", false, &PaperRow::sink_star));
  if (results.baseline && results.groups.size() > 1)
    panels.push_back(panel_of(results, order, "loss minus baseline, nats", "val_loss", true));
  if (has("change_removed_1"))
    panels.push_back(panel_of(results, order, "loss increase without a_1 v_1, nats", "change_removed_1"));

  std::vector<std::string> labels;
  std::size_t longest = 0;
  for (std::size_t row : order.groups) {
    labels.push_back(label_of(results, results.groups[row].group, varying));
    longest = std::max(longest, labels.back().size());
  }
  const int label_width = std::max(kLeastLabels, 16 + static_cast<int>(kCharacter * static_cast<double>(longest)));
  const int width = label_width + static_cast<int>(panels.size()) * (kPanel + kGap),
            height = kTop + static_cast<int>(order.groups.size()) * kRow + kBottom;
  const std::string title = printable(results.study.question);
  const bool one_seed = any([](const GroupResult& group) { return group.estimate("sink_1").n == 1; });
  const bool has_paper = any([](const GroupResult& group) { return group.group.paper().has_value(); });
  std::string svg = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " + std::to_string(width) + " " +
                    std::to_string(height) + "\" width=\"" + std::to_string(width) + "\" role=\"img\"><style>" +
                    kStyle + (one_seed ? kStyleOfOneSeed : "") +
                    "</style>\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n<title>" + escape(title) +
                    "</title>" + text_at(8, 18, "class=\"title\"", title) + "\n" +
                    text_at(8, 34, "class=\"small\"",
                            "\u25cf our mean, with seeds and 95 % interval" +
                                std::string(one_seed ? ", grey: one seed" : "") + "; rows are sorted by " + order.by) +
                    "\n" +
                    text_at(8, 48, "class=\"small\"",
                            has_paper ? "\u25c7 the paper, with its own model size, on the same kind of input"
                                      : "The paper has no run on the same kind of input.") +
                    "\n";
  for (std::size_t r = 0; r < order.groups.size(); ++r) {
    const StudyGroup& group = results.groups[order.groups[r]].group;
    svg += "<g><title>" + escape(printable(group.name)) + "</title>" + text_at(8, middle_of_row(r) + 4, "", labels[r]) +
           "</g>\n";
  }
  for (std::size_t p = 0; p < panels.size(); ++p)
    svg += drawn(panels[p], label_width + static_cast<double>(p) * (kPanel + kGap));
  return svg + "</svg>\n";
}

}  // namespace sink
