// Two runs side by side: choices, places for tables, and templates of the figures that pair.js fills.
#include "tools/report/html_text.h"
#include "tools/report/page_figures.h"
#include "tools/report/page_frames.h"

namespace sink::report {

std::string two_runs(const std::vector<Run>& runs) {
  if (runs.size() < 2) return "";
  const auto selected = [&](const char* name, const char* label, std::size_t chosen) {
    std::string out = std::string("<label class=\"field\">") + label + " <select name=\"" + name + "-pair\">";
    for (std::size_t i = 0; i < runs.size(); ++i)
      out += "<option value=\"" + std::to_string(i) + "\"" + (i == chosen ? " selected" : "") + ">" +
             escape(runs[i].name) + "</option>";
    return out + "</select></label>";
  };
  const auto table = [](const char* id, const char* label) {
    return std::string("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"") + label + "\" id=\"" + id +
           "\"></div>";
  };
  const std::string curve = framed("pair", "data-kind=\"pair\"", "", "", "");
  const std::string heads =
      framed_heads("data-group=\"pair\"", "",
                   tiles("alpha_1", "&alpha;<sub>1</sub>", {}) + tiles("alpha_star", "&alpha;<sub>*</sub>", {}) +
                       tiles("value_share", kValueShare, {}),
                   true);
  return "<template id=\"pair-curve\">" + curve + "</template><template id=\"pair-head\">" + heads + "</template>" +
         "<section class=\"group\" id=\"two-runs\"><h2>Two runs side by side</h2>" +
         bar("What differs", "Settings and final numbers in which the two are not alike.",
             selected("a", "Left", 0) + selected("b", "Right", 1) +
                 "<button type=\"button\" id=\"swap\">Swap</button>") +
         "<div class=\"grid\">" + table("pair-settings", "Settings that differ") +
         table("pair-numbers", "Numbers of both runs") + "</div>" +
         bar("Over training", "",
             segments("loss-pair", "Loss", {{"nats", "nats"}, {"above", "above the lowest (log)"}}) +
                 segments("steps-pair", "Steps", {{"linear", "linear"}, {"logarithmic", "log"}})) +
         "<div class=\"legend\" id=\"pair-legend\"></div><div class=\"grid\" id=\"pair-curves\"></div><div "
         "class=\"mapgroup\"><div "
         "class=\"bar\"><div><h3>Maps</h3></div>"
         "<div class=\"controls\">" +
         segments("sequence-pair", "Sequence", {{"0", "1"}, {"1", "2"}, {"2", "3"}, {"3", "4"}}) +
         segments("weights-pair", "Weights", {{"raw", "raw"}, {"proxy", "proxy"}}) +
         segments("colour-pair", "Colour", {{"linear", "linear"}, {"log", "log"}}) +
         "<label class=\"field\"><input type=\"checkbox\" name=\"linked-pair\" checked> same head in "
         "both</label></div></div>"
         "<div class=\"grid maps\" id=\"pair-maps\"></div></div></section>\n";
}
}  // namespace sink::report
