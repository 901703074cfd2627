// Puts the page together: lead, one section per task with its figures and tables, configurations, data and scripts.
#include "tools/report/page.h"

#include <algorithm>
#include <cmath>

#include "tools/report/html_text.h"
#include "tools/report/page_base_script.h"
#include "tools/report/page_charts_script.h"
#include "tools/report/page_data.h"
#include "tools/report/page_maps_script.h"
#include "tools/report/page_style.h"
#include "tools/report/page_tables.h"
#include "tools/report/page_template.h"

namespace sink::report {
namespace {

struct Section {
  const Group& group;
  std::size_t index;  // of the group, as in the page's data
  const std::vector<Run>& runs;
  const std::vector<LineStyle>& styles;

  std::size_t run_index(const Run* run) const { return static_cast<std::size_t>(run - runs.data()); }
};

std::string task_title(const std::string& task) {
  if (task == "text") return "Text";
  if (task == "bigram-backcopy") return "Bigram-Backcopy";
  return escape(task);
}

// A figure holds a canvas that the scripts draw, named by its data- attributes, and a table of its values.
std::string figure(const Section& section, const std::string& attributes, const std::string& title,
                   const std::string& caption, const std::string& spoken) {
  return "<figure class=\"panel\" data-group=\"" + std::to_string(section.index) + "\" " + attributes +
         "><figcaption><h4>" + title + "</h4><p>" + caption +
         "</p></figcaption><div class=\"plot\"><canvas role=\"img\" aria-label=\"" + spoken +
         "\"></canvas></div><details class=\"values\"><summary>Values as a table</summary>"
         "<div class=\"scroll\" tabindex=\"0\"></div></details></figure>";
}

std::string segments(const std::string& name, const std::string& legend,
                     const std::vector<std::pair<std::string, std::string>>& choices) {
  std::string out = "<fieldset><legend>" + legend + "</legend><span class=\"segments\">";
  for (const auto& [value, text] : choices)
    out += "<label><input type=\"radio\" name=\"" + name + "\" value=\"" + value + "\"" +
           (value == choices.front().first ? " checked" : "") + "><span>" + text + "</span></label>";
  return out + "</span></fieldset>";
}

std::string bar(const std::string& title, const std::string& note, const std::string& controls) {
  return "<div class=\"bar\"><div><h3>" + title + "</h3>" + (note.empty() ? "" : "<p class=\"note\">" + note + "</p>") +
         "</div>" + (controls.empty() ? "" : "<div class=\"controls\">" + controls + "</div>") + "</div>";
}

std::string curve_figure(const Section& s, const std::string& curve, const std::string& title,
                         const std::string& caption) {
  std::string spoken;
  for (const Run* run : s.group.runs) {
    const auto found = run->curves.find(curve);
    if (found == run->curves.end()) continue;
    const auto last =
        std::find_if(found->second.rbegin(), found->second.rend(), [](double y) { return std::isfinite(y); });
    if (last != found->second.rend())
      spoken.append(" ").append(escape(run->name)) += " ends at " + significant(*last) + ".";
  }
  if (spoken.empty()) return "";  // no run has it
  return figure(s, "data-kind=\"curve\" data-curve=\"" + curve + "\"", title, caption,
                "Line chart over training steps." + spoken);
}

std::string curves(const Section& s) {
  const bool proxy = s.group.has_proxy();
  const std::string even = std::isfinite(s.group.even(1))
                               ? " Thin dotted line: attention spread evenly (" + significant(s.group.even(1)) + ")."
                               : "";
  std::string figures =
      curve_figure(s, "val_loss", "Validation loss", "Mean cross-entropy on held-out sequences, in nats.") +
      curve_figure(s, "train_loss", "Training loss", "Per step; long runs are averaged in small buckets.");
  if (proxy)
    figures +=
        curve_figure(s, "alpha_1", "&alpha;<sub>1</sub>, proxy", "Share of each row on the first token." + even) +
        curve_figure(s, "alpha_1_raw", "&alpha;<sub>1</sub>, raw", "Weight on the first token as it acts.") +
        curve_figure(s, "sink_1", "Sink<sub>1</sub>, proxy",
                     "Heads with a proxy &alpha;<sub>1</sub> above 0.3, in percent.") +
        curve_figure(s, "sink_1_raw", "Sink<sub>1</sub>, raw",
                     "Heads with a raw &alpha;<sub>1</sub> above 0.3, in percent.");
  else
    figures +=
        curve_figure(s, "alpha_1", "&alpha;<sub>1</sub>", "Attention on the first token; rows sum to one." + even) +
        curve_figure(s, "sink_1", "Sink<sub>1</sub>", "Heads with &alpha;<sub>1</sub> above 0.3, in percent.");
  if (figures.empty()) return "";
  return bar("Over training", "Click a run above to hide or show its line.",
             segments("steps-" + std::to_string(s.index), "Steps", {{"linear", "linear"}, {"logarithmic", "log"}})) +
         "<div class=\"grid\">" + figures + "</div>";
}

// `which` is the key of the data; the map's own script sets the size of the canvas.
std::string map_canvas(std::size_t run, const std::string& which, const std::string& spoken) {
  return "<div class=\"map\" data-run=\"" + std::to_string(run) + "\" data-map=\"" + which +
         "\"><div class=\"mapbox\"><canvas tabindex=\"0\" role=\"img\" aria-label=\"" + spoken +
         "\"></canvas></div><div class=\"ramp\" aria-hidden=\"true\"></div></div>";
}

std::string map_figure(const Section& s, const Run* run, const std::string& caption, const std::string& canvases) {
  return "<figure class=\"panel\" data-group=\"" + std::to_string(s.index) + "\"><figcaption><h4>" +
         swatch(s.styles[s.run_index(run)]) + escape(run->name) + "</h4><p>" + caption +
         "</p></figcaption><div class=\"pair\">" + canvases +
         "</div><p class=\"readout\" role=\"status\"></p><details class=\"values\"><summary>Values as a table</summary>"
         "<div class=\"scroll\" tabindex=\"0\"></div></details></figure>";
}

std::string spoken_peak(const Table& table, const std::string& name) {
  double peak = -1;
  std::size_t layer = 0, head = 0;
  for (std::size_t l = 0; l < table.size(); ++l)
    for (std::size_t h = 0; h < table[l].size(); ++h)
      if (table[l][h] > peak) peak = table[l][h], layer = l, head = h;
  return "Heat map of " + name + " by layer and head. Largest: " + significant(peak) + " in layer " +
         std::to_string(layer) + ", head " + std::to_string(head) + ". Arrow keys read single values.";
}

std::string head_maps(const Section& s) {
  std::string figures;
  for (const Run* run : s.group.runs) {
    if (!run->evaluation || run->evaluation->alpha_1_layer_head.empty() ||
        run->evaluation->alpha_1_layer_head[0].empty())
      continue;
    const Evaluation& e = *run->evaluation;
    const std::size_t i = s.run_index(run);
    const bool same = run->rows_sum_to_one();
    std::string canvases =
        map_canvas(i, "layer_head", spoken_peak(e.alpha_1_layer_head, same ? "alpha 1" : "proxy alpha 1"));
    if (!same) canvases += map_canvas(i, "layer_head_raw", spoken_peak(e.alpha_1_layer_head_raw, "raw alpha 1"));
    figures += map_figure(
        s, run,
        same ? "Rows sum to one: raw and proxy are the same." : "Proxy (share of each row) and raw (as it acts).",
        canvases);
  }
  if (figures.empty()) return "";
  return bar("Which heads are sinks",
             "&alpha;<sub>1</sub> of every head, mean over sequences. Layers and heads count from 0, as in the "
             "parameters&rsquo; names.",
             "") +
         "<div class=\"grid tiles\">" + figures + "</div>";
}

std::string attention_maps(const Section& s) {
  std::string figures;
  for (const Run* run : s.group.runs) {
    if (!run->evaluation || !run->evaluation->maps) continue;
    const AttentionMaps& maps = *run->evaluation->maps;
    const auto& [sequence, chosen_layer, chosen_head] = maps.chosen;
    const Row& weights = maps.of(sequence, chosen_layer, chosen_head);
    const std::size_t rows = maps.tokens[static_cast<std::size_t>(sequence)].size(), columns = rows + maps.extra_key;
    double first = 0;
    for (std::size_t i = 0; i < rows; ++i) first += weights[i * columns + maps.extra_key] / static_cast<double>(rows);
    const std::string place = "layer " + std::to_string(chosen_layer) + ", head " + std::to_string(chosen_head);
    figures +=
        map_figure(s, run,
                   "The head that attends to its sink the most, by raw weight (" + place +
                       "), first validation sequence. Mean raw weight on token 1 here: " + significant(first) + ".",
                   map_canvas(s.run_index(run), "attention",
                              "Attention map, " + place +
                                  ": queries downwards, keys to the right. Mean weight on the first token " +
                                  significant(first) + ". Arrow keys read single weights."));
  }
  if (figures.empty()) return "";
  const std::string id = std::to_string(s.index);
  std::string controls;
  if (s.group.has_proxy())
    controls += segments("weights-" + id, "Weights", {{"raw", "raw (as they act)"}, {"proxy", "proxy (share)"}});
  controls += segments("colour-" + id, "Colour", {{"linear", "linear"}, {"log", "log"}});
  return bar("One attention map of each run",
             "Each row is a query looking back at the keys before it; a sink is a coloured stripe in the first column. "
             "Point at a "
             "cell, or focus a map and use the arrow keys.",
             controls) +
         "<div class=\"grid maps\">" + figures + "</div>";
}

std::string norms(const Section& s) {
  std::size_t levels = 0, positions = 0;
  for (const Run* run : s.group.runs)
    if (run->evaluation) {
      levels = std::max(levels, run->evaluation->hidden_norm.size());
      if (levels > 0 && !run->evaluation->hidden_norm.empty())
        positions = std::max(positions, run->evaluation->hidden_norm[0].size());
    }
  if (levels == 0) return "";
  const std::string id = std::to_string(s.index);
  std::string layer = "<label class=\"field\">Layer <select name=\"layer-" + id + "\">";
  for (std::size_t l = 0; l < levels; ++l)
    layer += "<option value=\"" + std::to_string(l) + "\"" + (l == (levels + 1) / 2 ? " selected" : "") + ">" +
             (l == 0 ? "embedding (hidden state only)" : "layer " + std::to_string(l - 1)) + "</option>";
  layer += "</select></label>";
  std::string figures;
  for (const auto& [key, title, caption] :
       {std::tuple("hidden_norm", "Hidden state", "Length of the residual stream after the chosen layer."),
        std::tuple("key_norm", "Key", "Length of the keys, mean over heads."),
        std::tuple("value_norm", "Value", "Length of the values, mean over heads.")})
    figures += figure(s, std::string("data-kind=\"norm\" data-norm=\"") + key + "\"", title, caption,
                      std::string("Line chart of the ") + title + " norm by token position, one line per run, " +
                          std::to_string(positions) + " positions. Values in the table below.");
  return bar("Hidden state, key and value by position",
             "Mean &ell;<sub>2</sub> norm over sequences. A sink usually shows as a large hidden state and a small "
             "value at position 1.",
             layer + segments("norms-" + id, "Scale", {{"linear", "linear"}, {"logarithmic", "log"}})) +
         "<div class=\"grid three\">" + figures + "</div>";
}

std::string first_positions(const Section& s) {
  const bool any = std::any_of(s.group.runs.begin(), s.group.runs.end(),
                               [](const Run* run) { return run->evaluation && !run->evaluation->alpha_k.empty(); });
  if (!any) return "";
  std::string figures;
  const auto add = [&](const char* key, const char* title, const char* caption) {
    std::string spoken = "Bar chart of alpha k for positions 1 to 10.";
    for (const Run* run : s.group.runs) {
      if (!run->evaluation) continue;
      const Row& row = std::string(key) == "alpha_k" ? run->evaluation->alpha_k : run->evaluation->alpha_k_raw;
      if (row.size() > 1)
        spoken += ' ' + escape(run->name) + ": " + significant(row[0]) + " at 1, " + significant(row[1]) + " at 2.";
    }
    figures += figure(s, std::string("data-kind=\"bars\" data-bars=\"") + key + "\"", title, caption, spoken);
  };
  if (s.group.has_proxy()) {
    add("alpha_k", "&alpha;<sub>k</sub>, proxy", "Share of each row on position k. Dotted: attention spread evenly.");
    add("alpha_k_raw", "&alpha;<sub>k</sub>, raw", "Weight on position k as it acts.");
  } else {
    add("alpha_k", "&alpha;<sub>k</sub>", "Attention on position k. Dotted: attention spread evenly.");
  }
  return bar("Is it only the first token?",
             "&alpha;<sub>k</sub>: the weight on position k, averaged over the queries that can see it.", "") +
         "<div class=\"grid\">" + figures + "</div>";
}

std::string group_section(const Section& s) {
  std::string legend;
  for (const Run* run : s.group.runs)
    legend += "<button type=\"button\" aria-pressed=\"true\" data-group=\"" + std::to_string(s.index) +
              "\" data-run=\"" + std::to_string(s.run_index(run)) + "\">" + swatch(s.styles[s.run_index(run)]) +
              "<span>" + escape(run->name) + "</span></button>";
  const std::string about = s.group.task == "text" ? kTextTask : s.group.task == "bigram-backcopy" ? kBackcopyTask : "";
  return "<section class=\"group\" id=\"task-" + std::to_string(s.index) + "\"><h2>" + task_title(s.group.task) +
         "</h2>" + (about.empty() ? "" : "<p class=\"muted\">" + about + "</p>") +
         "<div class=\"legend\" role=\"group\" aria-label=\"Runs shown in the charts\">" + legend + "</div>" +
         curves(s) +
         bar("Final numbers",
             "Sink<sub>1</sub> in percent of heads; v<sub>1</sub> ratio: length of the first value over the mean of "
             "the others.",
             "") +
         "<div class=\"panel\" style=\"margin-bottom:var(--space)\">" + final_table(s.group, s.runs, s.styles) +
         "</div>" + (s.group.task == "text" ? kPaperTable : "") + head_maps(s) + attention_maps(s) + norms(s) +
         first_positions(s) + "</section>\n";
}

}  // namespace

std::string page(const std::vector<Run>& runs, const std::string& title, const std::string& chart_js,
                 int reload_seconds) {
  const std::vector<Group> groups = group_by_task(runs);
  const std::vector<LineStyle> styles = line_styles(runs, groups);
  std::string sections, findings, navigation;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    sections += group_section({groups[i], i, runs, styles});
    findings += "<li><span class=\"task\">" + task_title(groups[i].task) + "</span>" + finding(groups[i]) + "</li>";
    navigation += "<a href=\"#task-" + std::to_string(i) + "\">" + task_title(groups[i].task) + "</a>";
  }
  navigation += "<a href=\"#configurations\">Configurations</a>";
  const auto open = std::count_if(runs.begin(), runs.end(), [](const Run& run) { return !run.finished; });
  const std::string overview = std::to_string(runs.size()) + (runs.size() == 1 ? " run" : " runs") + " on " +
                               std::to_string(groups.size()) + (groups.size() == 1 ? " task" : " tasks") +
                               (open > 0 ? ", " + std::to_string(open) + " still in progress" : "") + ".";
  const std::string reload =
      reload_seconds > 0 ? "<meta http-equiv=\"refresh\" content=\"" + std::to_string(reload_seconds) + "\">\n" : "";
  return fill(kPageFrame, {{"title", escape(title)},
                           {"reload", reload},
                           {"style", kPageStyle},
                           {"theme_script", kThemeScript},
                           {"overview", overview},
                           {"findings", findings},
                           {"navigation", navigation},
                           {"groups", sections},
                           {"configurations", configurations(runs, styles)},
                           {"data", script_json(page_data(runs, groups))},
                           {"chart_js", chart_js},
                           {"base_script", kBaseScript},
                           {"charts_script", kChartsScript},
                           {"maps_script", kMapsScript}});
}

}  // namespace sink::report
