// A study's results as a table for a terminal, Markdown, CSV and a section of an HTML page (study_results.h).
#include <algorithm>
#include <cctype>
#include <cmath>
#include <set>

#include "engine/io/csv.h"
#include "engine/io/html.h"
#include "engine/io/printable.h"
#include "engine/io/setting.h"
#include "engine/io/text_table.h"
#include "tools/sweep/study_results.h"

namespace sink {
namespace {

// "14.6 ± 1.2"; without an interval only the mean; "" without runs.
std::string cell(const Estimate& estimate, int decimals, bool with_sign = false) {
  if (estimate.n == 0) return "";
  const std::string mean = fixed_text(estimate.mean, decimals, with_sign);
  return estimate.has_interval() ? mean + " ± " + fixed_text(estimate.half, decimals) : mean;
}

// Whether a measure has a column: some group has it; for the second and third token, with a sink above one percent; the
// suspected companions of a sink only next to the loss without it.
bool is_shown(const StudyResults& results, const std::string& measure) {
  const bool later_token = measure == "sink_2" || measure == "sink_3";
  const bool with_interventions = measure == "value_share" || measure == "massive_ratio";
  if (with_interventions && !is_shown(results, "change_removed_1")) return false;
  return std::any_of(results.groups.begin(), results.groups.end(), [&](const GroupResult& group) {
    return group.values.contains(measure) && (!later_token || group.estimate(measure).mean > 1);
  });
}

std::string joined(const std::vector<std::string>& texts, const char* between) {
  std::string all;
  for (const std::string& text : texts) all += (all.empty() ? "" : between) + text;
  return all;
}

// The paper's values of the same experiment on another input, which may not be compared with ours.
std::string on_other_input(const PaperRow& row) {
  std::string values;
  for (const auto& [name, value] : {std::pair("Sink_1", row.sink_1), std::pair("Sink_*", row.sink_star)})
    if (paper_value(value))
      values += (values.empty() ? "" : ", ") + std::string(name) + " " +
                (value.ends_with('*') ? value.substr(0, value.size() - 1) + " % proxy" : value + " %");
  return "paper on " + describe(input_kind_of(row)) + ": " + (values.empty() ? row.sink_1 : values) +
         (row.note.empty() ? "" : " (" + row.note + ")");
}

std::string remarks_of(const StudyResults& results, const GroupResult& group) {
  std::vector<std::string> remarks = group.remarks;
  if (results.baseline && &group == &results.groups[*results.baseline]) remarks.insert(remarks.begin(), "baseline");
  const std::optional<PaperRow> paper = group.group.paper();
  if (paper && !paper->note.empty()) remarks.push_back("paper: " + paper->note);
  if (!paper && !group.group.row.id.empty()) remarks.push_back(on_other_input(group.group.row));
  return joined(remarks, "; ");
}

PaperRow no_row() {
  PaperRow row;
  row.sink_1 = kNoMatchingRow;
  return row;
}

// "natural text; text with a fixed first token": the inputs of all groups, each once.
std::string inputs_of(const StudyResults& results) {
  std::vector<std::string> inputs;
  for (const GroupResult& group : results.groups)
    if (const std::string input = describe(group.group.input_kind());
        std::find(inputs.begin(), inputs.end(), input) == inputs.end())
      inputs.push_back(input);
  return joined(inputs, "; ");
}

// Rows over more tokens spread their weight over more keys, so Sink_1 at the length of training is not the paper's.
std::string other_length(const RunConfig& config) {
  constexpr std::int64_t kPaperLength = 64;
  if (config.task != "text" || config.context == kPaperLength) return "";
  return " The paper measures sequences of " + std::to_string(kPaperLength) + " tokens, these runs sequences of " +
         std::to_string(config.context) + "; `eval_<ablation> sink` measures their checkpoints at " +
         std::to_string(kPaperLength) + ".";
}

// The heading, then a row per group. Loss and Sink_1 are followed by their difference from the baseline. A page shows
// only the measures in question, because it has a table of all runs.
std::vector<Cells> cells_of(const StudyResults& results, bool on_page = false) {
  static const std::set<std::string> on_pages{"sink_1",    "sink_2",   "sink_3",        "sink_1_raw",
                                              "sink_star", "val_loss", "sink_1_before", "val_loss_before"};
  const auto shown = [&](const std::string& key) {
    return is_shown(results, key) && (!on_page || on_pages.contains(key));
  };
  const auto has_difference = [&](const std::string& key) {
    return results.baseline && (key == "sink_1" || key == "val_loss");
  };
  Cells heading{"run", "seeds"};
  for (const StudyMeasure& measure : measures()) {
    if (!shown(measure.key)) continue;
    heading.emplace_back(measure.title);
    if (has_difference(measure.key)) heading.emplace_back("minus baseline");
  }
  if (results.baseline) heading.emplace_back("Sink_1 proxy to baseline");
  heading.insert(heading.end(), {"paper, same input: Sink_1 %", "Sink_* %", "loss", "remarks"});
  std::vector<Cells> rows{heading};
  for (const GroupResult& group : results.groups) {
    Cells row{printable(group.group.name), std::to_string(group.estimate("sink_1").n)};
    for (const StudyMeasure& measure : measures()) {
      if (!shown(measure.key)) continue;
      row.push_back(cell(group.estimate(measure.key), measure.decimals));
      if (has_difference(measure.key))
        row.push_back(cell(results.difference(group, measure.key), measure.decimals, true));
    }
    if (results.baseline) row.push_back(direction(results, group));
    const PaperRow paper = group.group.paper().value_or(no_row());
    row.insert(row.end(), {paper.sink_1, paper.sink_star, paper.valid, remarks_of(results, group)});
    rows.push_back(row);
  }
  return rows;
}

// The paragraphs below the table.
std::vector<std::string> notes(const StudyResults& results) {
  std::vector<std::string> lines = verdicts(results);
  const RunConfig& config = results.groups.front().group.config;
  std::string seeds;
  for (std::uint64_t seed : results.seeds) seeds += (seeds.empty() ? "" : ", ") + std::to_string(seed);
  lines.push_back(
      "Mean ± half of the 95 % interval over seeds (Student's t); only the mean if there is one seed. Intervals are "
      "not corrected for the number of comparisons." +
      (results.baseline ? " Differences from the baseline, " + printable(results.groups[*results.baseline].group.name) +
                              ", are paired by seed: runs of one seed share initial weights and batches."
                        : std::string(" The study's baseline, " + printable(results.study.baseline) +
                                      ", is not among these runs.")));
  lines.push_back(
      "Sink threshold 0.3; raw: the attention weights; proxy: |a| / sum |a|. *: the extra key or sink token. / even: "
      "divided by the value of rows that spread their weight evenly over the keys they see. Paper: Gu "
      "et al. 2025 with its own model size and tokens, the row of the same experiment on the same kind of input "
      "(ours: " +
      inputs_of(results) + "); * there: proxy weights, else raw = proxy; n.r.: not reported." + other_length(config) +
      (is_shown(results, "alpha_star") ? " Row sum: with the extra key's weight." : ""));
  lines.push_back("Task " + config.task + ", " + std::to_string(config.layers) + " layers of " +
                  std::to_string(config.heads) + " heads, width " + std::to_string(config.width) + ", context " +
                  std::to_string(config.context) + ", " + std::to_string(config.steps) + " steps of " +
                  std::to_string(config.tokens_per_step()) + " tokens, learning rate " +
                  plain_text(SettingValue(config.learning_rate)) + " in the first run of the table; seeds " + seeds +
                  ".");
  lines.push_back(std::to_string(results.complete) + " of " + std::to_string(results.runs) + " runs complete, " +
                  fixed_text(results.core_hours, 2) + " core-hours" +
                  (results.machines.empty() ? "" : " on " + joined(results.machines, ", ")) +
                  (results.commits.empty() ? "" : ", commit " + joined(results.commits, ", ")) +
                  (results.commits.size() > 1 ? " (a mean may combine several)" : "") + ".");
  if (is_shown(results, "val_loss_before"))
    lines.push_back(
        "before: the checkpoint that a run starts from, measured on the run's data before its first step. The values "
        "are in evaluation-before.json of each run folder, not in the CSV of the runs.");
  for (const auto& [file, count] : results.earlier)
    lines.push_back(std::to_string(count) + " of " + std::to_string(results.runs) + " runs are rows of " +
                    printable(file) + ", not trained again.");
  if (is_shown(results, "change_removed_1"))
    lines.push_back(
        "Loss without a_1 v_1 and the columns after it: the increase of the trained model's loss, in nats, without the "
        "first token's contribution (the other weights unchanged, or rescaled to make up for it), with its mean "
        "contribution for every query, without the fifth token's contribution, and with weights and inputs of 8 and 4 "
        "bits. Value share: |a_1| |v_1| / sum |a_j| |v_j|. |h_1| / |h_t|: norms of the residual stream, in the layer "
        "with the largest ratio.");
  if (!results.study.note.empty()) lines.push_back(printable(results.study.note));
  return lines;
}

std::string title_of(const StudyResults& results) {
  return printable(results.study.name) + ", size " + results.size + ": " + printable(results.study.question) +
         (results.study.section.empty() ? "" : " (paper: " + printable(results.study.section) + ")");
}

// Keeps a mean and its interval on one line.
std::string unbroken(std::string html) {
  for (std::size_t at; (at = html.find(" ± ")) != std::string::npos;) html.replace(at, 4, "&nbsp;±&nbsp;");
  return html;
}

std::string table_html(const std::vector<Cells>& rows) {
  std::string html = "<div class=\"scroll\" tabindex=\"0\"><table><thead><tr>";
  for (const std::string& heading : rows.front()) html += "<th scope=\"col\">" + escape(heading) + "</th>";
  html += "</tr></thead><tbody>";
  for (std::size_t r = 1; r < rows.size(); ++r) {
    html += "<tr>";
    for (std::size_t c = 0; c < rows[r].size(); ++c)
      html += c == 0 ? "<th scope=\"row\" class=\"name\">" + escape(rows[r][c]) + "</th>"
                     : "<td>" + unbroken(escape(rows[r][c])) + "</td>";
    html += "</tr>";
  }
  return html + "</tbody></table></div>";
}

// A text of a file as part of a page in Markdown, or of a cell in a table there: it begins no HTML (our own <ablation>
// stays, which is in code), and ends no cell.
std::string markdown_text(const std::string& text) {
  constexpr std::string_view kOurs = "<ablation>";
  std::string escaped;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const unsigned char next = i + 1 < text.size() ? static_cast<unsigned char>(text[i + 1]) : ' ';
    const bool begins_tag = text[i] == '<' && (std::isalpha(next) || next == '/' || next == '!' || next == '?');
    escaped += begins_tag && text.compare(i, kOurs.size(), kOurs) != 0 ? "&lt;" : text.substr(i, 1);
  }
  return escaped;
}

std::string markdown_cell(const std::string& text) {
  std::string escaped;
  for (char c : markdown_text(text)) {
    if (c == '|') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

}  // namespace

std::string study_text(const StudyResults& results) {
  std::string text = title_of(results) + "\n\n" + aligned(cells_of(results)) + "\n";
  for (const std::string& note : notes(results)) text += note + "\n";
  return text;
}

std::string study_markdown(const StudyResults& results) {
  std::vector<Cells> rows = cells_of(results);
  for (Cells& row : rows)
    for (std::string& cell : row) cell = markdown_cell(cell);
  const std::vector<std::size_t> widths = column_widths(rows);
  std::string text = kMarkdownMark + ("# " + markdown_text(title_of(results))) + "\n\n";
  for (const Cells& row : rows) {
    for (std::size_t c = 0; c < row.size(); ++c) text.append("| ").append(padded(row[c], widths[c])).append(" ");
    text += "|\n";
    if (&row != &rows.front()) continue;
    for (std::size_t columns : widths) text.append("|").append(columns + 2, '-');
    text += "|\n";
  }
  for (const std::string& note : notes(results)) text += "\n" + markdown_text(note) + "\n";
  return text;
}

std::string study_csv(const StudyResults& results) {
  std::string names = "study,size,run,ablation,seeds,complete", csv;
  for (const StudyMeasure& measure : measures())
    for (const char* of : {"", "_low", "_high", "_difference", "_difference_low", "_difference_high"})
      names += std::string(",") + measure.key + of;
  names += ",paper_row,paper_sink_1,paper_sink_star,paper_loss,sink_1_direction,remarks\n";
  for (const GroupResult& group : results.groups) {
    csv += csv_field(results.study.name) + "," + results.size + "," + csv_field(group.group.name) + "," +
           csv_field(group.group.ablation.name) + "," + std::to_string(results.seeds.size()) + "," +
           std::to_string(group.estimate("sink_1").n);
    for (const StudyMeasure& measure : measures())
      for (const Estimate& e : {group.estimate(measure.key), results.difference(group, measure.key)})
        for (double number : {e.mean, e.low(), e.high()}) csv.append(",").append(csv_field(number));
    const PaperRow row = group.group.paper().value_or(PaperRow{});
    for (const std::string& text :
         {row.id, row.sink_1, row.sink_star, row.valid, direction(results, group), joined(group.remarks, "; ")})
      csv.append(",").append(csv_field(text));
    csv += "\n";
  }
  return names + csv;
}

std::string study_html(const StudyResults& results) {
  std::string html = "<section class=\"study\"><h3>" + escape(results.study.name) + "</h3><p>" +
                     escape(results.study.question) + "</p>" + table_html(cells_of(results, true)) + "<ul>";
  for (const std::string& note : notes(results)) html += "<li>" + escape(note) + "</li>";
  return html + "</ul></section>";
}

}  // namespace sink
