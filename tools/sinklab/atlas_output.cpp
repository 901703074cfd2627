// The rows of an atlas as a table, JSON and a picture.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <numeric>

#include "engine/io/html.h"
#include "engine/io/printable.h"
#include "engine/io/str_format.h"
#include "engine/io/text_table.h"
#include "tools/sinklab/atlas.h"

namespace sink {
namespace {

constexpr double kLeft = 250, kWidth = 400, kTop = 70, kRow = 26;  // of the picture, pixels

// The name of the file, or that of the folder of a run.
std::string label_of(const AtlasRow& row) {
  std::filesystem::path path(row.model);
  if (path.filename() == "checkpoint.h5" || path.filename().empty()) path = path.parent_path();
  return printable(path.filename().empty() ? row.model : path.filename().string());
}

double sink_1(const AtlasRow& row) { return row.evaluation.proxy.sink_1[kPaperEpsilonIndex]; }

// The mean of alpha_2, alpha_3, ...
double alpha_others(const SinkScores& scores) {
  const auto& alpha = scores.alpha_k;
  if (alpha.size() < 2) return kNotMeasured;
  return std::accumulate(alpha.begin() + 1, alpha.end(), 0.0) / static_cast<double>(alpha.size() - 1);
}

std::string cell(double value, int decimals) { return std::isnan(value) ? "-" : fixed_text(value, decimals); }

std::string parameters_text(std::int64_t count) {
  return str_format("%.3g M parameters", static_cast<double>(count) / 1e6);
}

// Whether the row is the first of its model.
bool begins_model(const std::vector<AtlasRow>& rows, std::size_t r) { return r == 0 || rows[r].begin.empty(); }

}  // namespace

std::string atlas_table(const std::vector<AtlasRow>& rows) {
  std::vector<Cells> cells{
      {"model", "begin", "Sink_1", "null", "alpha_1", "null", "others", "Sink_*", "entropy", "loss", "accuracy"}};
  std::string models;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const AtlasRow& row = rows[r];
    const std::string label = label_of(row);
    if (!row.error.empty()) {
      models += label + ": not measured: " + printable(row.error) + "\n";
      continue;
    }
    const Evaluation& e = row.evaluation;
    cells.push_back({cut_to(label, 24), row.begin.empty() ? "-" : cut_to(printable(row.begin), 12),
                     cell(sink_1(row), 1), cell(e.zero_score_sink_1, 1), cell(e.proxy.alpha_1, 3),
                     cell(e.zero_score_alpha_1, 3), cell(alpha_others(e.proxy), 3),
                     cell(e.proxy.has_star() ? e.proxy.sink_star[kPaperEpsilonIndex] : kNotMeasured, 1),
                     cell(row.entropy_over_even, 3) + (row.entropy_over_even > kMostEntropyOverEven ? "!" : ""),
                     cell(e.loss, 3), cell(row.accuracy, 1)});
    if (begins_model(rows, r))
      models += label + ": " + row.family + ", " + parameters_text(row.parameters) + "; " + row.attention + "\n";
  }
  return aligned(cells, [](std::size_t c) { return c >= 2; }) +
         "Sink in % of heads and alpha by proxy weights; null: with zero scores; others: mean alpha_k, k = 2 ... 10;\n"
         "entropy: share of that of even rows, above " +
         str_format("%g", kMostEntropyOverEven) + " (!) no token can be a sink.\n" + models;
}

std::string atlas_json(const std::vector<AtlasRow>& rows, const std::string& about) {
  using Json = nlohmann::ordered_json;
  Json all = Json::array();
  for (const AtlasRow& row : rows) {
    Json json{{"model", row.model}};
    if (!row.error.empty()) {
      json["error"] = row.error;
    } else {
      json.update({{"family", row.family},
                   {"parameters", row.parameters},
                   {"policies", row.policies},
                   {"attention", row.attention},
                   {"begin", row.begin.empty() ? Json() : Json(row.begin)},
                   {"entropy_over_even", row.entropy_over_even},
                   {"alpha_others", alpha_others(row.evaluation.proxy)},
                   {"accuracy", row.accuracy}});
      for_each_measure(row.evaluation, [&](const Measure& measure, bool raw, const double* scalar, auto values) {
        if (scalar && is_known(measure, scalar, nullptr)) json[key_of(measure, raw, false)] = *scalar;
        if constexpr (std::is_same_v<decltype(values), const std::vector<double>*>)
          if ((measure.axes == kByK || measure.axes == kByEpsilon) && !values->empty())
            json[key_of(measure, raw, true)] =
                measure.axes == kByK ? Json(*values) : Json((*values)[kPaperEpsilonIndex]);
      });
    }
    all.push_back(json);
  }
  const Json json{{"schema", 1}, {"atlas", Json::parse(about)}, {"rows", all}};
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string atlas_svg(const std::vector<AtlasRow>& rows) {
  using svg::pixel, svg::text_at;
  const auto x_of = [](double percent) { return kLeft + kWidth * percent / 100; };
  std::string marks;
  double y = kTop;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const AtlasRow& row = rows[r];
    if (begins_model(rows, r)) {
      y += kRow;
      marks += text_at(8, y + 4, "", cut_to(label_of(row), 38)) + "<line class=\"row\" x1=\"" + pixel(kLeft) +
               "\" x2=\"" + pixel(kLeft + kWidth) + "\" y1=\"" + pixel(y) + "\" y2=\"" + pixel(y) + "\"/>" +
               text_at(kLeft + kWidth + 12, y + 4, "class=\"small\"",
                       row.error.empty() ? row.family + ", " + parameters_text(row.parameters) : "not measured");
    }
    if (!row.error.empty()) continue;
    marks += "<circle class=\"" + std::string(row.begin.empty() ? "alone" : "begin") + "\" cx=\"" +
             pixel(x_of(sink_1(row))) + "\" cy=\"" + pixel(y) + "\" r=\"5\"><title>" +
             escape(str_format("Sink_1 %.1f %%, alpha_1 %.3f", sink_1(row), row.evaluation.proxy.alpha_1) +
                    (row.begin.empty() ? "" : ", after " + row.begin)) +
             "</title></circle>\n";
  }
  const double bottom = y + kRow, width = kLeft + kWidth + 230;
  std::string axis;
  for (int percent : {0, 25, 50, 75, 100})
    axis += text_at(x_of(percent), bottom + 14, "class=\"small\" text-anchor=\"middle\"", std::to_string(percent)) +
            "<line class=\"row\" x1=\"" + pixel(x_of(percent)) + "\" x2=\"" + pixel(x_of(percent)) + "\" y1=\"" +
            pixel(kTop + 8) + "\" y2=\"" + pixel(bottom) + "\"/>";
  const char* style =
      "svg{font:12px sans-serif}.small{fill:#555}.row{stroke:#ddd}.alone{fill:#fff;stroke:#05a;stroke-width:2}"
      ".begin{fill:#05a}.title{font-weight:bold}";
  return svg::figure(
      width, bottom + 30, style, "attention sinks of models",
      text_at(8, 20, "class=\"title\"", "Sink_1, % of heads whose first token has more than 0.3 of the attention") +
          "<circle class=\"alone\" cx=\"14\" cy=\"40\" r=\"5\"/>" + text_at(26, 44, "", "the text alone") +
          "<circle class=\"begin\" cx=\"134\" cy=\"40\" r=\"5\"/>" + text_at(146, 44, "", "after the begin token") +
          axis + "\n" + marks);
}

}  // namespace sink
