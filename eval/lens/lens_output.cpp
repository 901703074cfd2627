#include "eval/lens/lens_output.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "engine/io/html.h"
#include "engine/io/printable.h"
#include "engine/io/str_format.h"
#include "engine/io/text_table.h"

namespace sink {
namespace {

constexpr std::size_t kLayerColumns = 6;                                    // layers in the table
constexpr double kCellWidth = 76, kCellHeight = 20, kLeft = 60, kTop = 64;  // of the picture, pixels
constexpr const char* kStyle =
    "text{font:11px sans-serif;fill:#222}.light{fill:#fff}.title{font-weight:bold;font-size:13px}.small{fill:#555}";

// What fits `most` characters, for a cell; blanks and line ends are visible.
std::string shown(const std::string& text, std::size_t most) {
  std::string visible;
  for (char c : printable(text)) visible += c == ' ' ? '_' : c;
  return cut_to(visible, most);
}

// The first layer from which on the prediction after token t is the last layer's.
std::size_t settled_from(const Lens& lens, std::size_t t) {
  std::size_t l = lens.size() - 1;
  while (l > 0 && lens[l - 1][t].token == lens.back()[t].token) --l;
  return l;
}

}  // namespace

std::string lens_table(const Lens& lens, const LensLabels& labels) {
  const std::size_t L = lens.size() - 1;
  std::vector<std::size_t> layers;
  for (std::size_t n = 0; n < kLayerColumns; ++n)
    if (const std::size_t l = n * L / (kLayerColumns - 1); layers.empty() || layers.back() != l) layers.push_back(l);
  Cells heading{"token"};
  for (std::size_t l : layers) heading.push_back(l == 0 ? "embedding" : "after " + std::to_string(l - 1));
  heading.insert(heading.end(), {"p", "settled"});
  std::vector<Cells> rows{heading};
  for (std::size_t t = 0; t < labels.tokens_T.size(); ++t) {
    Cells row{shown(labels.token_text(labels.tokens_T[t]), 12)};
    for (std::size_t l : layers) row.push_back(shown(labels.token_text(lens[l][t].token), 10));
    const std::size_t settled = settled_from(lens, t);
    row.push_back(str_format("%.2f", lens[L][t].probability));
    row.push_back(settled == 0 ? "embedding" : "after " + std::to_string(settled - 1));
    rows.push_back(row);
  }
  const auto is_target = [](const LensCell& cell) { return !std::isnan(cell.loss); };
  const auto targets = static_cast<double>(std::ranges::count_if(lens.back(), is_target));
  std::string losses = "loss by layer, nats:";
  for (std::size_t l : layers) {
    double loss = 0;
    for (const LensCell& cell : lens[l])
      if (is_target(cell)) loss += cell.loss / targets;
    losses += str_format(" %.2f", loss);
  }
  return aligned(rows) + (targets > 0 ? losses + "\n" : "");
}

std::string lens_json(const Lens& lens, const LensLabels& labels) {
  using Json = nlohmann::ordered_json;
  Json texts = Json::array(), layers = Json::array();
  for (std::int32_t id : labels.tokens_T) texts.push_back(labels.token_text(id));
  for (const std::vector<LensCell>& layer : lens) {
    Json row = Json::array();
    for (const LensCell& cell : layer)
      row.push_back({{"token", cell.token},
                     {"text", labels.token_text(cell.token)},
                     {"probability", cell.probability},
                     {"loss", std::isnan(cell.loss) ? Json() : Json(cell.loss)},
                     {"divergence", cell.divergence}});
    layers.push_back(row);
  }
  const Json json{
      {"schema", 1},         {"model", labels.model}, {"ablation", labels.ablation}, {"tokens", labels.tokens_T},
      {"token_text", texts}, {"lens", layers}};
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string lens_svg(const Lens& lens, const LensLabels& labels) {
  const auto T = static_cast<double>(labels.tokens_T.size()), rows = static_cast<double>(lens.size());
  const double width = kLeft + T * kCellWidth + 20, height = kTop + rows * kCellHeight + 40;
  std::string elements =
      svg::text_at(8, 20, "class=\"title\"", "What would come next if the model ended after this layer?") +
      svg::text_at(8, 38, "class=\"small\"", "The darker a cell, the more probable its token. Below: the text.") + "\n";
  for (std::size_t l = 0; l < lens.size(); ++l) {
    const double y = kTop + (rows - 1 - static_cast<double>(l)) * kCellHeight;
    elements += svg::text_at(kLeft - 8, y + 14, "class=\"small\" text-anchor=\"end\"",
                             l == 0 ? "embed." : std::to_string(l - 1));
    for (std::size_t t = 0; t < lens[l].size(); ++t) {
      const LensCell& cell = lens[l][t];
      const double x = kLeft + static_cast<double>(t) * kCellWidth;
      const int light = static_cast<int>(std::lround(255 - 205 * cell.probability));
      elements += "<rect x=\"" + svg::pixel(x) + "\" y=\"" + svg::pixel(y) + "\" width=\"" +
                  svg::pixel(kCellWidth - 1) + "\" height=\"" + svg::pixel(kCellHeight - 1) + "\" fill=\"" +
                  str_format("rgb(%d,%d,%d)", light - 25 * (255 - light) / 205, light, 255 - (255 - light) / 2) +
                  "\"><title>" +
                  escape(printable(labels.token_text(cell.token)) +
                         str_format(": p %.3f, KL %.3f nats", cell.probability, cell.divergence)) +
                  "</title></rect>" +
                  svg::text_at(x + 4, y + 14, cell.probability > 0.5 ? "class=\"light\"" : "",
                               shown(labels.token_text(cell.token), 10)) +
                  "\n";
    }
  }
  for (std::size_t t = 0; t < labels.tokens_T.size(); ++t)
    elements += svg::text_at(kLeft + 4 + static_cast<double>(t) * kCellWidth, kTop + rows * kCellHeight + 16,
                             "font-weight=\"bold\"", shown(labels.token_text(labels.tokens_T[t]), 10)) +
                "\n";
  return svg::figure(width, height, kStyle, "logit lens", elements);
}

}  // namespace sink
