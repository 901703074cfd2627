// Puts the page together: lead, one section per task with its figures and tables, configurations, data and scripts.
#include "tools/report/page.h"

#include <algorithm>
#include <cmath>

#include "tools/report/html_text.h"
#include "tools/report/loss_floor.h"
#include "tools/report/page_data.h"
#include "tools/report/page_files.h"
#include "tools/report/page_tables.h"

namespace sink::report {
namespace {

struct Section {
  const Group& group;
  std::size_t index;  // of the group, as in the page's data
  const std::vector<Run>& runs;
  const std::vector<LineStyle>& styles;
  const MapLimits& limits;

  std::size_t run_index(const Run* run) const { return static_cast<std::size_t>(run - runs.data()); }
};

std::string task_title(const std::string& task) {
  if (task == "text") return "Text";
  if (task == "bigram-backcopy") return "Bigram-Backcopy";
  return escape(task);
}

constexpr const char* kTextTask =
    "A small language model reads plain text and predicts each next token. Nothing in the task asks for a sink.";
constexpr const char* kBackcopyTask =
    "Bigram-Backcopy (Guo et al. 2024) is a synthetic language small enough to understand: the next token usually "
    "depends on the current one alone, but after a trigger token the model must copy the token that came before the "
    "trigger. A head that copies has nothing to do at all other positions, and softmax still makes it put its "
    "attention somewhere.";

constexpr const char* kValues =
    "<details class=\"values\"><summary>Values as a table</summary><div class=\"scroll\" "
    "tabindex=\"0\"></div></details>";

std::string tools(bool zoom) {
  return std::string("<div class=\"tools\">") +
         (zoom ? "<button type=\"button\" data-zoom hidden>Reset zoom</button>" : "") +
         "<button type=\"button\" data-save=\"png\" aria-label=\"Save this figure as PNG\">PNG</button>"
         "<button type=\"button\" data-save=\"svg\" aria-label=\"Save this figure as SVG\">SVG</button></div>";
}

// A figure holds a canvas that the scripts draw, named by its data- attributes, and a table of its values.
std::string figure(const Section& section, const std::string& attributes, const std::string& title,
                   const std::string& caption, const std::string& spoken) {
  const bool zoom = attributes.find("\"bars\"") == std::string::npos;
  return "<figure data-group=\"" + std::to_string(section.index) + "\" " + attributes + "><figcaption>" + tools(zoom) +
         "<h4>" + title + "</h4><p>" + caption +
         "</p></figcaption><div class=\"plot\"><canvas role=\"img\" tabindex=\"0\" aria-label=\"" + spoken +
         (zoom ? " Plus and minus zoom, arrows move, 0 shows all." : "") + "\"></canvas></div>" + kValues + "</figure>";
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

bool has_floor(const Group& group) {
  return std::any_of(group.runs.begin(), group.runs.end(), [](const Run* run) { return loss_floor(*run).has_value(); });
}

bool has_curve(const Section& s, const char* name) {
  return std::any_of(s.group.runs.begin(), s.group.runs.end(),
                     [&](const Run* run) { return run->curves.contains(name); });
}

// The first token's alpha and Sink, or the extra key's.
std::string sink_figures(const Section& s, const std::string& key, const std::string& whose, const std::string& even) {
  const std::string alpha = "&alpha;<sub>" + key + "</sub>", sink = "Sink<sub>" + key + "</sub>",
                    name = key == "*" ? "star" : key;
  if (!s.group.has_proxy())
    return curve_figure(s, "alpha_" + name, alpha, "Attention on " + whose + "; rows sum to one." + even) +
           curve_figure(s, "sink_" + name, sink, "Heads with " + alpha + " above 0.3, in percent.");
  return curve_figure(s, "alpha_" + name, alpha + ", proxy", "Share of each row on " + whose + "." + even) +
         curve_figure(s, "alpha_" + name + "_raw", alpha + ", raw", "Weight on " + whose + " as it acts.") +
         curve_figure(s, "sink_" + name, sink + ", proxy", "Heads with a proxy " + alpha + " above 0.3, in percent.") +
         curve_figure(s, "sink_" + name + "_raw", sink + ", raw",
                      "Heads with a raw " + alpha + " above 0.3, in percent.");
}

std::string curves(const Section& s) {
  const std::string id = std::to_string(s.index);
  const bool floor = has_floor(s.group);
  const std::string even = std::isfinite(s.group.even(1))
                               ? " Thin dotted line: attention spread evenly (" + significant(s.group.even(1)) + ")."
                               : "";
  std::string figures =
      curve_figure(s, "val_loss", "Validation loss",
                   std::string("Mean cross-entropy on held-out sequences, in nats.") +
                       (floor ? " Dashed grey, in nats: the best possible on these very sequences." : "")) +
      curve_figure(
          s, "train_loss", "Training loss",
          std::string("Per step; long runs are averaged in small buckets.") +
              (floor ? " Dashed grey, in nats: the entropy of the task, which no model beats on average." : "")) +
      sink_figures(s, "1", "the first token", even);
  if (has_curve(s, "alpha_star")) figures += sink_figures(s, "*", "the extra key or sink token", "");
  if (figures.empty()) return "";
  return bar("Over training",
             "<span class=\"mouse\">Drag on a chart to zoom, double-click to see all of it again.</span>",
             segments("loss-" + id, "Loss",
                      {{"nats", "nats"}, {"above", floor ? "above the best (log)" : "above the lowest (log)"}}) +
                 segments("steps-" + id, "Steps", {{"linear", "linear"}, {"logarithmic", "log"}})) +
         "<div class=\"grid\">" + figures + "</div>";
}

std::string tiles(const char* which, const std::string& name, const Table& table) {
  double peak = -1;
  std::size_t layer = 0, head = 0;
  for (std::size_t l = 0; l < table.size(); ++l)
    for (std::size_t h = 0; h < table[l].size(); ++h)
      if (table[l][h] > peak) peak = table[l][h], layer = l, head = h;
  return "<div class=\"tilebox\"><p>" + name + " of each head; rows: layers</p><div class=\"tiles\" data-tiles=\"" +
         which + "\" role=\"group\" aria-label=\"" + name + " by layer and head, largest " + significant(peak) +
         " in layer " + std::to_string(layer) + ", head " + std::to_string(head) +
         ". Each head is a button that shows its map.\"></div></div>";
}

// Tiles to choose a head by, and its map.
std::string head_figure(const Section& s, const Run* run) {
  const Evaluation& e = *run->evaluation;
  std::string grids = tiles("alpha_1", "&alpha;<sub>1</sub>", e.alpha_1_layer_head);
  if (!e.alpha_star_layer_head.empty()) grids += tiles("alpha_star", "&alpha;<sub>*</sub>", e.alpha_star_layer_head);
  return "<figure class=\"heads\" data-group=\"" + std::to_string(s.index) + "\" data-run=\"" +
         std::to_string(s.run_index(run)) + "\"><figcaption>" + tools(false) + "<h4>" +
         swatch(s.styles[s.run_index(run)]) + escape(run->name) + "</h4><p class=\"chosen\" aria-live=\"polite\">" +
         (e.maps ? "" : "No maps were stored with this run.") + "</p></figcaption><div class=\"tilerow\">" + grids +
         "</div>" + "<div class=\"mapbox\"><canvas tabindex=\"0\" role=\"img\" aria-label=\"Attention map\"" +
         (e.maps ? "" : " hidden") +
         "></canvas><div class=\"cursor\" hidden></div></div><div class=\"ramp\" aria-hidden=\"true\"></div>"
         "<p class=\"readout\" role=\"status\"></p>" +
         (e.maps ? kValues : "") + "</figure>";
}

std::string sequence_choice(std::size_t group, std::size_t sequences) {
  const std::string name = "sequence-" + std::to_string(group);
  std::vector<std::pair<std::string, std::string>> choices;
  for (std::size_t i = 0; i < sequences; ++i) choices.emplace_back(std::to_string(i), std::to_string(i + 1));
  return segments(name, "Sequence", choices);
}

std::string head_maps(const Section& s) {
  std::string figures;
  std::size_t sequences = 0, count = 0;
  for (const Run* run : s.group.runs) {
    if (!run->evaluation || run->evaluation->alpha_1_layer_head.empty() ||
        run->evaluation->alpha_1_layer_head[0].empty())
      continue;
    figures += head_figure(s, run);
    ++count;
    if (run->evaluation->maps)
      sequences = std::max(sequences, std::min(run->evaluation->maps->tokens.size(), s.limits.sequences));
  }
  if (figures.empty()) return "";
  const std::string id = std::to_string(s.index);
  std::string controls;
  if (sequences > 1) controls += sequence_choice(s.index, sequences);
  if (s.group.has_proxy())
    controls += segments("weights-" + id, "Weights", {{"raw", "raw (as they act)"}, {"proxy", "proxy (share)"}});
  controls += segments("colour-" + id, "Map colours", {{"linear", "linear"}, {"log", "log"}});
  if (count > 1)
    controls +=
        "<label class=\"field\"><input type=\"checkbox\" name=\"linked-" + id + "\"> same head in every run</label>";
  return "<div class=\"mapgroup\"><div class=\"intro\"><h3>Which heads are sinks, and where they look</h3>"
         "<p class=\"note\">A tile is the &alpha; of one head, mean over sequences; layers and heads count from 0. "
         "Choose a tile to "
         "see that head&rsquo;s map: each row is a query looking back at the keys before it, a sink is a strong stripe "
         "in "
         "the first column.</p></div><div class=\"bar\"><div class=\"controls\">" +
         controls + "</div></div><div class=\"grid maps\">" + figures + "</div></div>";
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
  const bool token = std::any_of(s.group.runs.begin(), s.group.runs.end(),
                                 [](const Run* run) { return run->evaluation && run->evaluation->extra == "token"; });
  return bar("Hidden state, key and value by position",
             "Mean &ell;<sub>2</sub> norm over sequences. A sink usually shows as a large hidden state and a small "
             "value at position 1" +
                 std::string(token ? "; where a model has a sink token, that is position 1." : "."),
             layer + segments("norms-" + id, "Scale", {{"linear", "linear"}, {"logarithmic", "log"}})) +
         "<div class=\"grid three\">" + figures + "</div>";
}

std::string first_positions(const Section& s) {
  const bool any = std::any_of(s.group.runs.begin(), s.group.runs.end(),
                               [](const Run* run) { return run->evaluation && !run->evaluation->alpha_k.empty(); });
  if (!any) return "";
  std::string figures;
  const std::string even = std::isfinite(s.group.even(1)) ? " Dotted: attention spread evenly." : "";
  const auto add = [&](const char* key, const char* title, const std::string& caption) {
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
    add("alpha_k", "&alpha;<sub>k</sub>, proxy", "Share of each row on position k." + even);
    add("alpha_k_raw", "&alpha;<sub>k</sub>, raw", "Weight on position k as it acts.");
  } else {
    add("alpha_k", "&alpha;<sub>k</sub>", "Attention on position k." + even);
  }
  return bar("Is it only the first token?",
             "&alpha;<sub>k</sub>: the weight on position k, averaged over the queries that can see it.", "") +
         "<div class=\"grid\">" + figures + "</div>";
}

std::string numbers_note(const Group& group) {
  std::string note =
      "Sink in percent of heads; max: of the strongest head; v<sub>1</sub> ratio: length of the first value over the "
      "mean of the others";
  if (has_floor(group)) note += "; above best: nats above the best possible predictor on the same sequences";
  const std::string common = common_settings(group);
  return note + (common.empty() ? "." : "; " + common + ".");
}

std::string group_section(const Section& s) {
  std::string legend;
  for (const Run* run : s.group.runs)
    legend += "<button type=\"button\" aria-pressed=\"true\" data-group=\"" + std::to_string(s.index) +
              "\" data-run=\"" + std::to_string(s.run_index(run)) + "\">" + swatch(s.styles[s.run_index(run)]) +
              "<span>" + escape(run->name) + "</span></button>";
  const std::string about = s.group.task == "text" ? kTextTask : s.group.task == "bigram-backcopy" ? kBackcopyTask : "";
  return "<section class=\"group\" id=\"task-" + std::to_string(s.index) + "\"><h2>" + task_title(s.group.task) +
         "</h2>" + (about.empty() ? "" : "<p>" + about + "</p>") + bar("Final numbers", numbers_note(s.group), "") +
         final_table(s.group, s.runs, s.styles) + (s.group.task == "text" ? page_file("paper.html") : "") +
         head_maps(s) +
         "<div class=\"charts\"><div class=\"legend\" role=\"group\" aria-label=\"Runs shown in the charts\">" +
         legend + "</div>" + curves(s) + norms(s) + first_positions(s) + "</div></section>\n";
}

}  // namespace

std::string page(const std::vector<Run>& runs, const std::string& title, const std::string& chart_js,
                 int reload_seconds, const std::string& lead) {
  const std::vector<Group> groups = group_by_task(runs);
  const std::vector<LineStyle> styles = line_styles(runs, groups);
  const MapLimits limits = map_limits(runs, kMapBytes);
  std::string sections, findings, navigation;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    sections += group_section({groups[i], i, runs, styles, limits});
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
  return fill(page_file("page.html"), {{"title", escape(title)},
                                       {"reload", reload},
                                       {"style", page_file("style.css")},
                                       {"theme_script", page_file("theme.js")},
                                       {"overview", overview},
                                       {"findings", findings},
                                       {"navigation", navigation},
                                       {"groups", lead + sections},
                                       {"configurations", configurations(runs, styles)},
                                       {"data", script_json(page_data(runs, groups, limits))},
                                       {"chart_js", chart_js},
                                       {"base_script", page_file("base.js")},
                                       {"svg_script", page_file("svg.js")},
                                       {"charts_script", page_file("charts.js")},
                                       {"maps_script", page_file("maps.js")}});
}

}  // namespace sink::report
