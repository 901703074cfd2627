// Builds the figures of a task: frames that the scripts draw into, with what they say to who does not see them.
#include "tools/report/page_figures.h"

#include <algorithm>
#include <cmath>

#include "tools/report/html_text.h"
#include "tools/report/loss_floor.h"
#include "tools/report/page_frames.h"
#include "tools/report/page_tables.h"

namespace sink::report {
namespace {

constexpr std::size_t kMostSpoken = 12;  // of runs in the text for who does not see a figure

std::string figure(const Section& section, const std::string& attributes, const std::string& title,
                   const std::string& caption, const std::string& spoken) {
  return framed(std::to_string(section.index), attributes, title, caption, spoken);
}

std::string curve_figure(const Section& s, const std::string& curve, const std::string& title,
                         const std::string& caption) {
  std::string spoken;
  std::size_t count = 0;
  for (const Run* run : s.group.runs) {
    const auto found = run->curves.find(curve);
    if (found == run->curves.end()) continue;
    const auto last =
        std::find_if(found->second.rbegin(), found->second.rend(), [](double y) { return std::isfinite(y); });
    if (last != found->second.rend() && count++ < kMostSpoken)
      spoken.append(" ").append(escape(run->name)) += " ends at " + significant(*last) + ".";
  }
  if (count == 0) return "";  // no run has it
  if (count > kMostSpoken) spoken += " And " + std::to_string(count - kMostSpoken) + " runs more, in the table.";
  return figure(s, "data-kind=\"curve\" data-curve=\"" + curve + "\"", title, caption,
                "Line chart over training steps." + spoken);
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
    return curve_figure(s, "alpha_" + name, alpha + ", raw = proxy",
                        "Attention on " + whose + "; rows sum to one." + even) +
           curve_figure(s, "sink_" + name, sink + ", raw = proxy", "Heads with " + alpha + " above 0.3, in percent.");
  return curve_figure(s, "alpha_" + name, alpha + ", proxy", "Share of each row on " + whose + "." + even) +
         curve_figure(s, "alpha_" + name + "_raw", alpha + ", raw", "Weight on " + whose + " as it acts.") +
         curve_figure(s, "sink_" + name, sink + ", proxy", "Heads with a proxy " + alpha + " above 0.3, in percent.") +
         curve_figure(s, "sink_" + name + "_raw", sink + ", raw",
                      "Heads with a raw " + alpha + " above 0.3, in percent.");
}

}  // namespace

bool has_floor(const Group& group) {
  return std::any_of(group.runs.begin(), group.runs.end(), [](const Run* run) { return loss_floor(*run).has_value(); });
}

std::string curves(const Section& s) {
  const std::string id = std::to_string(s.index);
  const bool floor = has_floor(s.group);
  const std::string even = std::isfinite(s.group.even(1))
                               ? " Thin dotted line: attention spread evenly (" + significant(s.group.even(1)) + ")."
                               : "";
  const bool any_long = std::any_of(s.group.runs.begin(), s.group.runs.end(), [&](const Run* run) {
    const auto step = run->curves.find("step");
    return step != run->curves.end() && step->second.size() > s.limits.points;
  });
  const std::string bucket =
      any_long ? "; longer runs in " + std::to_string(s.limits.points) +
                     " buckets of steps: the line is a bucket\u2019s mean, the band of a single run its least to its "
                     "greatest"
               : "";
  std::string figures =
      curve_figure(s, "val_loss", "Validation loss",
                   std::string("Mean cross-entropy on held-out sequences, in nats.") +
                       (floor ? " Dashed grey, in nats: the best possible on these very sequences." : "")) +
      curve_figure(
          s, "train_loss", "Training loss",
          "Per step" + bucket + "." +
              (floor ? " Dashed grey, in nats: the entropy of the task, which no model beats on average." : "")) +
      sink_figures(s, "1", "the first token", even) +
      curve_figure(s, "grad_norm", "Gradient norm", "Of all parameters, before clipping, per step" + bucket + ".");
  if (has_curve(s, "alpha_star")) figures += sink_figures(s, "*", "the extra key or sink token", "");
  if (figures.empty()) return "";
  return bar("Over training",
             "Runs that differ in the seed alone are one line: their mean, and a band from the least to the greatest "
             "of them, which is no interval of confidence. Where fewer of them have a value, the mean is of those. "
             "<span class=\"mouse\">Drag on a chart to zoom, double-click to see all of it again.</span>",
             segments("loss-" + id, "Loss",
                      {{"nats", "nats"}, {"above", floor ? "above the best (log)" : "above the lowest (log)"}}) +
                 segments("steps-" + id, "Steps", {{"linear", "linear"}, {"logarithmic", "log"}})) +
         "<div class=\"grid\">" + figures + "</div>";
}

namespace {

std::string head_figure(const Section& s, const Run* run) {
  const Evaluation& e = *run->evaluation;
  const std::string same = s.group.has_proxy() ? "" : ", raw = proxy";
  std::string grids = tiles("alpha_1", "&alpha;<sub>1</sub>" + same, e.alpha_1_layer_head);
  if (!e.alpha_star_layer_head.empty())
    grids += tiles("alpha_star", "&alpha;<sub>*</sub>" + same, e.alpha_star_layer_head);
  if (!e.value_share_layer_head.empty()) grids += tiles("value_share", kValueShare, e.value_share_layer_head);
  return framed_heads(
      "data-group=\"" + std::to_string(s.index) + "\" data-run=\"" + std::to_string(s.run_index(run)) + "\"",
      swatch(s.styles[s.run_index(run)]) + escape(run->name), grids, e.maps.has_value());
}

std::string sequence_choice(std::size_t group, std::size_t sequences) {
  const std::string name = "sequence-" + std::to_string(group);
  std::vector<std::pair<std::string, std::string>> choices;
  for (std::size_t i = 0; i < sequences; ++i) choices.emplace_back(std::to_string(i), std::to_string(i + 1));
  return segments(name, "Sequence", choices);
}

}  // namespace

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
      sequences = std::max(sequences, std::min(run->evaluation->maps->tokens.size(), s.limits.maps.sequences));
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

std::string sink_against_loss(const Section& s) {
  std::string missing;
  std::size_t known = 0, unknown = 0;
  for (const Run* run : s.group.runs) {
    const bool has = run->evaluation && std::isfinite(run->evaluation->get("val_loss")) &&
                     std::isfinite(run->evaluation->sink_at(0.3, false));
    if (has)
      ++known;
    else if (unknown++ < kMostSpoken)
      missing += (missing.empty() ? "" : ", ") + escape(run->name);
  }
  if (known < 2) return "";
  if (unknown > kMostSpoken) missing += " and " + std::to_string(unknown - kMostSpoken) + " more";
  const std::string id = std::to_string(s.index);
  std::string caption = "One point per run, &epsilon;&nbsp;0.3. Seeds of one line share colour and marker.";
  if (!missing.empty()) caption += " Without a point, as a loss or a sink is not known: " + missing + ".";
  return bar("Sink<sub>1</sub> against validation loss", "",
             s.group.has_proxy() ? segments("scatter-" + id, "Weights", {{"sink_1", "proxy"}, {"sink_1_raw", "raw"}})
                                 : "") +
         figure(s, "class=\"wide\" data-kind=\"scatter\"",
                std::string("Sink<sub>1</sub>") +
                    (s.group.has_proxy() ? ", proxy or raw as chosen," : ", raw = proxy,") + " and loss of every run",
                caption,
                "Scatter plot of " + std::to_string(known) +
                    " runs. Left and right arrows go from run to run, in order of their loss. Values in the table "
                    "below.");
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
    add("alpha_k", "&alpha;<sub>k</sub>, raw = proxy", "Attention on position k." + even);
  }
  return bar("Is it only the first token?",
             "&alpha;<sub>k</sub>: the weight on position k, averaged over the queries that can see it.", "") +
         "<div class=\"grid\">" + figures + "</div>";
}

}  // namespace sink::report
