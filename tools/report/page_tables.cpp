// Builds the final table of a group and the configuration of each run.
#include "tools/report/page_tables.h"

#include <cmath>

#include "tools/report/html_text.h"

namespace sink::report {
namespace {

std::string cell(const std::string& text) { return "<td>" + text + "</td>"; }

std::string head(const std::string& text, const char* attributes = "") {
  return "<th scope=\"col\"" + std::string(attributes) + ">" + text + "</th>";
}

// The measured columns of a run or of an arm's mean.
template <typename Scalar, typename Sink>
std::string measured(const std::vector<double>& epsilons, const Scalar& scalar, const Sink& sink) {
  std::string out = cell(number(scalar("val_loss"), 3));
  for (const bool raw : {false, true})
    for (const double epsilon : epsilons) out += cell(number(sink(epsilon, raw), 1));
  for (const char* name : {"alpha_1", "alpha_1_raw", "alpha_1_max", "row_mass", "first_value_norm_ratio"})
    out += cell(number(scalar(name), 3));
  return out;
}

std::string progress(const Run& run) {
  const std::string steps = grouped(run.step);
  return run.step == run.steps || run.steps == 0 ? steps : steps + " of " + grouped(run.steps);
}

void term(std::string& list, const char* name, const std::string& value) {
  if (!value.empty()) list += std::string("<div><dt>") + name + "</dt><dd>" + escape(value) + "</dd></div>";
}

}  // namespace

std::string swatch(const LineStyle& style) {
  return "<svg class=\"swatch c" + std::to_string(style.colour) + " d" + std::to_string(style.dash) +
         "\" viewBox=\"0 0 28 8\" aria-hidden=\"true\"><path d=\"M1 4h26\"/></svg>";
}

std::string final_table(const Group& group, const std::vector<Run>& runs, const std::vector<LineStyle>& styles) {
  const std::vector<double> epsilons = group.epsilons();
  const std::string span = " colspan=\"" + std::to_string(epsilons.size()) + "\" class=\"over\"";
  std::string out =
      "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Final numbers of every run\"><table>"
      "<thead><tr><th></th><th colspan=\"5\"></th>";
  if (!epsilons.empty())
    out += head("Sink<sub>1</sub>, %, proxy", span.c_str()) + head("Sink<sub>1</sub>, %, raw", span.c_str());
  out += head("&alpha;<sub>1</sub>", " colspan=\"3\" class=\"over\"") + "<th colspan=\"2\"></th></tr><tr>" +
         head("run", " class=\"name\"") + head("ablation", " class=\"word\"") + head("seed") + head("steps") +
         head("tokens") + head("val. loss");
  for (int i = 0; i < 2; ++i)
    for (const double epsilon : epsilons) out += head("&epsilon;&nbsp;" + number(epsilon, 1));
  out += head("proxy") + head("raw") + head("max head") + head("row mass") + head("v<sub>1</sub> ratio") +
         "</tr></thead><tbody>";

  const Evaluation none;
  for (const Arm& arm : group.arms) {
    for (const Run* run : arm.runs) {
      const Evaluation& e = run->evaluation ? *run->evaluation : none;
      out += "<tr><th scope=\"row\" class=\"name\">" + swatch(styles[static_cast<std::size_t>(run - runs.data())]) +
             escape(run->name) +
             (run->mark().empty() ? "" : " <span class=\"badge\">" + escape(run->mark()) + "</span>") +
             "</th><td class=\"word\">" + (run->ablation.empty() ? "\u2013" : escape(run->ablation)) + "</td>" +
             cell(std::to_string(run->seed)) + cell(progress(*run)) + cell(grouped(run->tokens)) +
             measured(
                 epsilons, [&](const char* name) { return e.get(name); },
                 [&](double epsilon, bool raw) { return e.sink_at(epsilon, raw); }) +
             "</tr>";
    }
    if (arm.finished().size() > 1)
      out += "<tr class=\"mean\"><th scope=\"row\" class=\"name\">mean of " + std::to_string(arm.finished().size()) +
             " seeds</th><td class=\"word\">" + escape(arm.ablation) + "</td><td></td><td></td><td></td>" +
             measured(
                 epsilons, [&](const char* name) { return arm.mean(name); },
                 [&](double epsilon, bool raw) { return arm.mean_sink(epsilon, raw); }) +
             "</tr>";
  }
  return out + "</tbody></table></div>";
}

std::string configurations(const std::vector<Run>& runs, const std::vector<LineStyle>& styles) {
  std::string out;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const Run& run = runs[i];
    std::string list;
    term(list, "task", run.task);
    term(list, "ablation", run.ablation);
    term(list, "policies", run.policies);
    term(list, "seed", std::to_string(run.seed));
    if (run.parameters > 0) term(list, "parameters", grouped(run.parameters));
    if (run.tokens > 0) term(list, "training tokens", grouped(run.tokens));
    if (run.sequences > 0)
      term(list, "evaluated on", grouped(run.sequences) + " sequences of " + grouped(run.context) + " tokens");
    term(list, "precision", run.precision);
    term(list, "commit", run.commit);
    term(list, "date", run.date);
    term(list, "folder", run.folder);
    out += "<details class=\"config\"><summary>" + swatch(styles[i]) + "<b>" + escape(run.name) + "</b> <span>" +
           escape(run.task) + (run.mark().empty() ? "" : ", " + escape(run.mark())) + "</span></summary><dl>" + list +
           "</dl>" +
           (run.config_toml.empty() ? "<p>No config.toml came with this run.</p>"
                                    : "<pre tabindex=\"0\">" + escape(run.config_toml) + "</pre>") +
           "</details>";
  }
  return out;
}

}  // namespace sink::report
