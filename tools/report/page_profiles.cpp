// Profiles along positions and layers: norms, kurtosis, largest number, value share and loss by position.
#include <algorithm>
#include <functional>

#include "tools/report/html_text.h"
#include "tools/report/page_figures.h"
#include "tools/report/page_frames.h"

namespace sink::report {
namespace {

using TableOf = Table Evaluation::*;

// A figure by position or by layer, and in its caption who lacks the measurement: not known is not zero.
std::string profile_figure(const Section& s, const std::string& key, const std::string& title, std::string caption,
                           const std::function<bool(const Evaluation&)>& has) {
  std::size_t missing = 0, known = 0;
  std::string names;
  for (const Run* run : s.group.runs) {
    if (run->evaluation && has(*run->evaluation)) {
      ++known;
    } else if (missing++ < 3) {
      names += (names.empty() ? "" : ", ") + escape(run->name);
    }
  }
  if (known == 0) return "";
  if (missing > 3) names += " and " + std::to_string(missing - 3) + " more";
  if (missing > 0) caption += " Not known of " + names + ".";
  return framed(std::to_string(s.index), "data-kind=\"profile\" data-norm=\"" + key + "\"", title, caption,
                "Line chart: " + title + ". Values in the table below.");
}

std::string layer_choice(const std::string& id, std::size_t levels) {
  std::string layer =
      "<label class=\"field\">Show <select name=\"layer-" + id + "\"><optgroup label=\"along the positions, in\">";
  for (std::size_t l = 0; l < levels; ++l)
    layer += "<option value=\"" + std::to_string(l) + "\"" + (l == shown_level(levels) ? " selected" : "") + ">" +
             (l == 0 ? "embedding (hidden state only)" : "layer " + std::to_string(l - 1)) + "</option>";
  return layer +
         "</optgroup><optgroup label=\"along the layers, at\"><option value=\"first\">position 1</option><option "
         "value=\"others\">all other positions (mean)</option></optgroup></select></label>";
}

// What no run of a task has been measured for, by name.
std::string not_measured(const Section& s) {
  std::string out;
  const auto ask = [&](const char* name, const std::function<bool(const Evaluation&)>& has) {
    const bool any = std::any_of(s.group.runs.begin(), s.group.runs.end(),
                                 [&](const Run* run) { return run->evaluation && has(*run->evaluation); });
    if (!any) out += (out.empty() ? "" : ", ") + std::string(name);
  };
  ask("kurtosis", [](const Evaluation& e) { return !e.hidden_kurtosis.empty(); });
  ask("largest number of the hidden state", [](const Evaluation& e) { return !e.hidden_largest.empty(); });
  ask("value share", [](const Evaluation& e) { return !e.value_share_layer_head.empty(); });
  ask("loss by position", [](const Evaluation& e) { return !e.loss_position.empty(); });
  return out;
}

}  // namespace

std::string profiles(const Section& s) {
  std::size_t levels = 0, positions = 0;
  for (const Run* run : s.group.runs)
    if (run->evaluation && !run->evaluation->hidden_norm.empty()) {
      levels = std::max(levels, run->evaluation->hidden_norm.size());
      positions = std::max(positions, run->evaluation->hidden_norm[0].size());
    }
  const auto has = [](TableOf table) { return [table](const Evaluation& e) { return !(e.*table).empty(); }; };
  const std::string figures =
      profile_figure(s, "hidden_norm", "Hidden state", "Length of the residual stream after the layer.",
                     has(&Evaluation::hidden_norm)) +
      profile_figure(s, "key_norm", "Key", "Length of the keys, mean over heads.", has(&Evaluation::key_norm)) +
      profile_figure(s, "value_norm", "Value", "Length of the values, mean over heads.", has(&Evaluation::value_norm)) +
      profile_figure(s, "hidden_kurtosis", "Kurtosis",
                     "Of the numbers of the hidden state after the layer; 3 for a normal distribution.",
                     has(&Evaluation::hidden_kurtosis)) +
      profile_figure(s, "hidden_largest", "Largest number", "Greatest size of a number of the hidden state.",
                     has(&Evaluation::hidden_largest)) +
      profile_figure(s, "value_share", "Value share by layer",
                     "Token 1&rsquo;s part of |a||v|, the weight times the length of the value, mean over heads.",
                     has(&Evaluation::value_share_layer_head)) +
      profile_figure(s, "loss_position", "Loss by position", "Mean cross-entropy of the prediction made there, nats.",
                     [](const Evaluation& e) { return !e.loss_position.empty(); });
  if (figures.empty()) return "";
  const std::string id = std::to_string(s.index), missing = not_measured(s);
  const bool token = std::any_of(s.group.runs.begin(), s.group.runs.end(),
                                 [](const Run* run) { return run->evaluation && run->evaluation->extra == "token"; });
  std::string note =
      "Means over sequences; of several seeds the mean, and a band from the least to the greatest. A sink usually "
      "shows as a large hidden state and a small value at position 1";
  note += token ? "; where a model has a sink token, that is position 1." : ".";
  if (positions > s.limits.positions)
    note += " The first " + std::to_string(s.limits.positions) + " of " + std::to_string(positions) + " positions.";
  if (!missing.empty()) note += " Not known of these runs: " + missing + ".";
  return bar("Hidden state, key and value by position and layer", note,
             layer_choice(id, levels) +
                 segments("norms-" + id, "Scale", {{"linear", "linear"}, {"logarithmic", "log"}})) +
         "<div class=\"grid three\">" + figures + "</div>";
}

}  // namespace sink::report
