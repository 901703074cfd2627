#include "tools/report/page_frames.h"

#include "tools/report/html_text.h"

namespace sink::report {
namespace {

constexpr const char* kValues =
    "<details class=\"values\"><summary>Values as a table</summary><div class=\"scroll\" "
    "tabindex=\"0\"></div></details>";

std::string tools(bool zoom) {
  return std::string("<div class=\"tools\">") +
         (zoom ? "<button type=\"button\" data-zoom hidden>Reset zoom</button>" : "") +
         "<button type=\"button\" data-save=\"csv\" aria-label=\"Save the numbers of this figure as CSV\">CSV</button>"
         "<button type=\"button\" data-save=\"png\" aria-label=\"Save this figure as PNG\">PNG</button>"
         "<button type=\"button\" data-save=\"svg\" aria-label=\"Save this figure as SVG\">SVG</button></div>";
}

}  // namespace

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

std::string framed(const std::string& group, const std::string& attributes, const std::string& title,
                   const std::string& caption, const std::string& spoken) {
  const bool zoom = attributes.find("\"bars\"") == std::string::npos;
  return "<figure data-group=\"" + group + "\" " + attributes + "><figcaption>" + tools(zoom) + "<h4>" + title +
         "</h4><p>" + caption +
         "</p></figcaption><div class=\"plot\"><canvas role=\"img\" tabindex=\"0\" aria-label=\"" + spoken +
         (zoom ? " Plus and minus zoom, arrows move, 0 shows all." : "") + "\"></canvas></div>" + kValues + "</figure>";
}

std::string tiles(const char* which, const std::string& name, const Table& table) {
  double peak = -1;
  std::size_t layer = 0, head = 0;
  for (std::size_t l = 0; l < table.size(); ++l)
    for (std::size_t h = 0; h < table[l].size(); ++h)
      if (table[l][h] > peak) peak = table[l][h], layer = l, head = h;
  return "<div class=\"tilebox\"><p>" + name + (std::string(which) == "alpha_1" ? " of each head; rows: layers" : "") +
         "</p><div class=\"tiles\" data-tiles=\"" + which + "\" role=\"group\" aria-label=\"" + name +
         " by layer and head" +
         (table.empty() ? ""
                        : ", largest by proxy " + significant(peak) + " in layer " + std::to_string(layer) + ", head " +
                              std::to_string(head)) +
         ". Each head is a button that shows its map.\"></div></div>";
}

std::string framed_heads(const std::string& attributes, const std::string& title, const std::string& grids, bool maps) {
  return "<figure class=\"heads\" " + attributes + "><figcaption>" + tools(false) + "<h4>" + title +
         "</h4><p class=\"chosen\" aria-live=\"polite\">" + (maps ? "" : "No maps were stored with this run.") +
         "</p></figcaption><div class=\"tilerow\">" + grids +
         "</div><div class=\"mapbox\"><canvas tabindex=\"0\" role=\"img\" aria-label=\"Attention map\"" +
         (maps ? "" : " hidden") +
         "></canvas><div class=\"cursor\" hidden></div></div><div class=\"ramp\" aria-hidden=\"true\"></div>"
         "<p class=\"readout\" role=\"status\"></p>" +
         (maps ? kValues : "") + "</figure>";
}

}  // namespace sink::report
