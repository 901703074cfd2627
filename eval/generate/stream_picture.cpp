// The picture of `stream`: perplexity against position, a line for each row.
#include <algorithm>
#include <cmath>

#include "engine/io/html.h"
#include "engine/io/str_format.h"
#include "eval/generate/streaming.h"

namespace sink {
namespace {

constexpr double kPlotLeft = 60, kPlotTop = 52, kPlotWidth = 560, kPlotHeight = 260, kLegendWidth = 250;
constexpr const char* kPlotStyle =
    "text{font:11px sans-serif;fill:#222}.title{font-weight:bold;font-size:13px}.small{fill:#555}"
    "polyline{fill:none;stroke-width:2}.grid{stroke:#ddd}";
constexpr const char* kLineColors[] = {"#222222", "#d55e00", "#0072b2", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"};

}  // namespace

std::string stream_svg(const std::vector<StreamLoss>& losses) {
  double least = INFINITY, largest = -INFINITY;
  for (const StreamLoss& loss : losses)
    for (const StreamStretch& part : loss.stretches) {
      least = std::min(least, part.loss);
      largest = std::max(largest, part.loss);
    }
  const double low = std::floor(least / std::log(2.0)), high = std::max(low + 1, std::ceil(largest / std::log(2.0)));
  const auto end = static_cast<double>(losses.front().stretches.back().end + 1);
  auto x_of = [&](double tokens) { return kPlotLeft + kPlotWidth * tokens / end; };
  auto y_of = [&](double loss) { return kPlotTop + kPlotHeight * (high - loss / std::log(2.0)) / (high - low); };
  std::string elements =
      svg::text_at(8, 20, "class=\"title\"", "Perplexity by the position in the text and by what the cache keeps") +
      svg::text_at(8, 38, "class=\"small\"", "Each point is the mean of a stretch of the text.") + "\n";
  for (double power = low; power <= high; ++power) {
    const std::string y = svg::pixel(y_of(power * std::log(2.0)));
    elements += "<line class=\"grid\" x1=\"" + svg::pixel(kPlotLeft) + "\" x2=\"" + svg::pixel(kPlotLeft + kPlotWidth) +
                "\" y1=\"" + y + "\" y2=\"" + y + "\"/>" +
                svg::text_at(kPlotLeft - 6, y_of(power * std::log(2.0)) + 4, "class=\"small\" text-anchor=\"end\"",
                             str_format("%.4g", std::exp2(power))) +
                "\n";
  }
  for (const StreamStretch& part : losses.front().stretches)
    elements += svg::text_at(x_of(static_cast<double>(part.end + 1)), kPlotTop + kPlotHeight + 16,
                             "class=\"small\" text-anchor=\"middle\"", std::to_string(part.end + 1));
  elements += svg::text_at(kPlotLeft + kPlotWidth / 2, kPlotTop + kPlotHeight + 34,
                           "class=\"small\" text-anchor=\"middle\"", "tokens");
  for (std::size_t n = 0; n < losses.size(); ++n) {
    const std::string color = kLineColors[n % std::size(kLineColors)];
    elements += "\n<polyline stroke=\"" + color + "\" points=\"";
    for (const StreamStretch& part : losses[n].stretches)
      elements +=
          svg::pixel(x_of(static_cast<double>(part.begin + part.end) / 2)) + "," + svg::pixel(y_of(part.loss)) + " ";
    const double y = kPlotTop + 16 * static_cast<double>(n) + 8;
    elements +=
        "\"/><line stroke-width=\"2\" stroke=\"" + color + "\" x1=\"" + svg::pixel(kPlotLeft + kPlotWidth + 12) +
        "\" x2=\"" + svg::pixel(kPlotLeft + kPlotWidth + 32) + "\" y1=\"" + svg::pixel(y) + "\" y2=\"" + svg::pixel(y) +
        "\"/>" +
        svg::text_at(kPlotLeft + kPlotWidth + 38, y + 4, "",
                     losses[n].eviction.name() + (losses[n].rounding.any() ? ", " + losses[n].rounding.name() : ""));
  }
  return svg::figure(kPlotLeft + kPlotWidth + kLegendWidth, kPlotTop + kPlotHeight + 44, kPlotStyle, "stream",
                     elements + "\n");
}

}  // namespace sink
