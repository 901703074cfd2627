// Puts the page together: lead, one section per task with its figures and tables, configurations, data and scripts.
#include "tools/report/page.h"

#include <algorithm>
#include <cmath>

#include "tools/report/claims.h"
#include "tools/report/html_text.h"
#include "tools/report/loss_floor.h"
#include "tools/report/page_data.h"
#include "tools/report/page_figures.h"
#include "tools/report/page_files.h"
#include "tools/report/page_frames.h"
#include "tools/report/page_inputs.h"
#include "tools/report/page_tables.h"
#include "tools/report/run_settings.h"

namespace sink::report {
namespace {

std::string task_title(const std::string& task) { return escape(task_name(task)); }

constexpr const char* kTextTask =
    "A small language model reads plain text and predicts each next token. Nothing in the task asks for a sink.";
constexpr const char* kBackcopyTask =
    "Bigram-Backcopy (Guo et al. 2024) is a synthetic language small enough to understand: the next token usually "
    "depends on the current one alone, but after a trigger token the model must copy the token that came before the "
    "trigger. A head that copies has nothing to do at all other positions, and softmax still makes it put its "
    "attention somewhere.";

std::string numbers_note(const Group& group) {
  std::string note =
      "Sink in percent of heads; max: proxy &alpha;<sub>1</sub> of the strongest head; v<sub>1</sub> ratio: length of "
      "the first value over the "
      "mean of the others";
  if (has_floor(group)) note += "; above best: nats above the best possible predictor on the same sequences";
  const std::string common = common_settings(group);
  return note + (common.empty() ? "." : "; " + common + ".");
}

std::string claims_part(const Group& group) {
  const std::string table = claims_table(group);
  if (table.empty()) return "";
  return bar("The paper\u2019s claims, in these runs",
             "The rule: a claim is tested by at least " + std::to_string(kFewestSeeds) +
                 " seeds whose runs have made all the steps of their recipe. It is supported or contradicted where the "
                 "95 % interval over the seeds (Student\u2019s t, in brackets; differences are taken seed by seed) "
                 "lies on one side of the bound, too small to tell where all of it is closer to zero than the smallest "
                 "effect of interest, and undecided else. A sink is more than " +
                 plain(kSmallestSink) +
                 " % of heads at &epsilon;&nbsp;0.3, and so is a difference of sinks; one of "
                 "&alpha; counts from " +
                 plain(kSmallestAlpha) + ". What holds of small models here need not hold of the paper\u2019s.",
             "") +
         table;
}

// The paper's values, each with the input that it was measured on, and whether some run here has such input.
std::string paper_part(const Group& group) {
  std::string rows;
  const std::pair<const char*, const char*> shown[] = {{"base-60m", "softmax"},
                                                       {"data-fix1", "softmax"},
                                                       {"op-sigmoid-none", "sigmoid, no normalisation"},
                                                       {"op-sigmoid-norm", "sigmoid, normalised"}};
  for (const auto& [id, name] : shown)
    for (const StudyRow& row : study_rows()) {
      if (row.id != id) continue;
      const bool proxy = row.sink_1.ends_with('*');
      const bool ours = std::any_of(group.runs.begin(), group.runs.end(),
                                    [&](const Run* run) { return reading_of(*run) == reading_of(row); });
      rows += std::string("<tr><th scope=\"row\" class=\"word\">") + name + ", " +
              escape(description_of(reading_of(row))) + "</th><td>" +
              (proxy ? row.sink_1.substr(0, row.sink_1.size() - 1) + " (proxy)" : row.sink_1) + "</td><td>" +
              row.valid + "</td><td class=\"word\">" + (ours ? "these runs\u2019" : "other input") + "</td></tr>";
    }
  return fill(page_file("paper.html"), {{"rows", rows}});
}

std::string group_section(const Section& s) {
  const std::string about = s.group.task == "text" ? kTextTask : s.group.task == "bigram-backcopy" ? kBackcopyTask : "";
  return "<section class=\"group\" id=\"task-" + std::to_string(s.index) + "\"><h2>" + task_title(s.group.task) +
         "</h2>" + (about.empty() ? "" : "<p>" + about + "</p>") + bar("Final numbers", numbers_note(s.group), "") +
         final_table(s.group, s.runs, s.styles) + (s.group.task == "text" ? paper_part(s.group) : "") +
         inputs_part(s.group.runs) + claims_part(s.group) +
         "<div class=\"charts\"><div class=\"legend\" role=\"group\" aria-label=\"Lines shown in the charts\" "
         "data-group=\"" +
         std::to_string(s.index) + "\"></div>" + curves(s) + sink_against_loss(s) + profiles(s) + first_positions(s) +
         "</div>" + head_maps(s) + "</section>\n";
}

}  // namespace

std::string page(const std::vector<Run>& runs, const std::string& title, const std::string& chart_js,
                 int reload_seconds, const std::string& lead) {
  const std::vector<Group> groups = group_by_task(runs);
  const std::vector<LineStyle> styles = line_styles(runs, groups);
  const PageLimits limits = page_limits(runs, groups, kDataBytes);
  std::string sections, findings, navigation;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    sections += group_section({groups[i], i, runs, styles, limits});
    const std::string summary = claims_summary(groups[i]);
    findings += "<li><span class=\"task\">" + task_title(groups[i].task) + "</span>" + finding(groups[i]) +
                (summary.empty() ? "" : " <span class=\"verdicts\">" + summary + "</span>") + "</li>";
    navigation += "<a href=\"#task-" + std::to_string(i) + "\">" + task_title(groups[i].task) + "</a>";
  }
  const std::string pair = two_runs(runs);
  if (!pair.empty()) navigation += "<a href=\"#two-runs\">Two runs side by side</a>";
  navigation += "<a href=\"#configurations\">Configurations</a>";
  const auto open = std::count_if(runs.begin(), runs.end(), [](const Run& run) { return !run.finished; });
  const std::string overview = std::to_string(runs.size()) + (runs.size() == 1 ? " run" : " runs") + " on " +
                               std::to_string(groups.size()) + (groups.size() == 1 ? " task" : " tasks") +
                               (open > 0 ? ", " + std::to_string(open) + " still in progress" : "") + ".";
  const std::string reload =
      reload_seconds > 0 ? "<meta http-equiv=\"refresh\" content=\"" + std::to_string(reload_seconds) + "\">\n" : "";
  return fill(page_file("page.html"), {{"title", escape(title)},
                                       {"reload", reload},
                                       {"style", page_file("style.css")},
                                       {"theme_script", page_file("theme.js")},
                                       {"overview", overview},
                                       {"findings", findings},
                                       {"navigation", navigation},
                                       {"groups", lead + sections + pair},
                                       {"configurations", configurations(runs, styles)},
                                       {"data", page_json(runs, groups, limits)},
                                       {"chart_js", chart_js},
                                       {"base_script", page_file("base.js")},
                                       {"lines_script", page_file("lines.js")},
                                       {"svg_script", page_file("svg.js")},
                                       {"charts_script", page_file("charts.js")},
                                       {"maps_script", page_file("maps.js")},
                                       {"pair_script", page_file("pair.js")}});
}

}  // namespace sink::report
