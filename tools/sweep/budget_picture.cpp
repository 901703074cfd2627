#include "tools/sweep/budget_picture.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "engine/io/html.h"
#include "engine/io/printable.h"
#include "engine/io/svg.h"
#include "tools/sweep/budget_rows.h"

namespace sink {
namespace {

using namespace svg;

// Pixels.
constexpr double kRowHeight = 19, kTitleHeight = 27, kFirstRow = 128, kAxisHeight = 34, kWidth = 1370;
constexpr std::size_t kLongestLabel = 52;
constexpr const char* kFigureStyle =
    "text{font:12px sans-serif;fill:#222}.small{font-size:11px;fill:#555}.title{font-weight:bold}"
    ".headline{font-size:17px;font-weight:bold}.one text{fill:#999}.one{opacity:.55}"
    ".grid{stroke:#ddd}.axis{stroke:#888}.even{stroke:#111;stroke-width:2}"
    ".first{fill:#1f5fa8}.extra{fill:#e2902b}.others{fill:#d5dae1}.missing{fill:#fff;stroke:#aaa;stroke-dasharray:3 2}"
    ".interval{stroke:#111;stroke-width:1.5}.seed{fill:#111;fill-opacity:.45}.mean{fill:#1f5fa8}.star{fill:#e2902b}"
    ".paper{fill:none;stroke:#c4501b;stroke-width:1.5}.norm{fill:#7a4fa3}.massive{fill:none;stroke:#7a4fa3;stroke-"
    "width:1.5}"
    ".replicated{fill:#1a7f4b}.contradicted{fill:#c0312b}.underpowered{fill:#946b00}.none{fill:#777}";

// A horizontal scale, linear or logarithmic. Values beyond its ends are drawn at them.
struct Scale {
  double left, width, low, high;
  bool is_logarithmic = false;
  double operator()(double value) const {
    const auto place = [&](double v) { return is_logarithmic ? std::log(std::max(v, 1e-9)) : v; };
    const double part = (place(value) - place(low)) / (place(high) - place(low));
    return left + width * std::clamp(part, 0.0, 1.0);
  }
};

const Scale kBudget{360, 330, 0, 1}, kSinks{735, 120, 0, 100}, kRatios{900, 150, 0.1, 10, true};
constexpr double kLossLeft = 1095, kLossWidth = 130, kVerdictLeft = 1250, kMostLoss = 0.3;

std::string rectangle(const char* style, double x, double y, double width, double height) {
  return std::string("<rect class=\"") + style + "\" x=\"" + pixel(x) + "\" y=\"" + pixel(y) + "\" width=\"" +
         pixel(width) + "\" height=\"" + pixel(height) + "\"/>";
}

// Dots of the seeds and the interval of their mean.
std::string spread(const SeedValues& values, const Scale& x, double y) {
  std::string svg;
  if (values.mean.has_interval()) svg += line("interval", x(values.mean.low()), x(values.mean.high()), y, y);
  if (values.seeds.size() > 1)
    for (double seed : values.seeds) svg += circle("seed", x(seed), y, 2);
  return svg;
}

// The row of weights: first token, extra key, others, missing. Negative parts are left out. A row that sums to more
// than one is scaled to one, with its sum next to it.
std::string budget_bar(const BudgetRow& row, double y) {
  const double sum = 1 - row.missing, scale = sum > 1.005 ? 1 / sum : 1;
  std::string svg;
  double from = 0;
  for (const auto& [style, part] : {std::pair("first", row.on_first), std::pair("extra", row.on_extra),
                                    std::pair("others", row.on_others), std::pair("missing", row.missing)}) {
    const double to = std::min(1.0, from + std::max(0.0, part * scale));
    if (to - from > 0.002) svg += rectangle(style, kBudget(from), y - 6, kBudget(to) - kBudget(from), 12);
    from = to;
  }
  svg += line("even", kBudget(row.even_first * scale), kBudget(row.even_first * scale), y - 8, y + 8);
  SeedValues dots = row.first_and_extra;
  for (double& seed : dots.seeds) seed *= scale;
  dots.mean.mean *= scale, dots.mean.half *= scale;
  svg += spread(dots, kBudget, y);
  if (scale < 1) svg += text_at(kBudget(1) + 3, y + 4, "class=\"small\"", "\u00d7 " + formatted("%.3g", sum));
  return svg;
}

std::string mean_mark(const SeedValues& values, const char* style, const Scale& x, double y) {
  return values.mean.n == 0 ? "" : spread(values, x, y) + circle(style, x(values.mean.mean), y, 4);
}

std::string verdict_text(const BudgetRow& row, std::size_t seeds) {
  if (row.seeds < seeds) return std::to_string(row.seeds) + " of " + std::to_string(seeds) + " seeds";
  return row.verdict ? name_of(*row.verdict) : "no claim";
}

const char* verdict_style(const BudgetRow& row) {
  if (row.verdict == ClaimVerdict::replicated) return "replicated";
  if (row.verdict == ClaimVerdict::contradicted) return "contradicted";
  return row.verdict == ClaimVerdict::underpowered ? "underpowered" : "none";
}

std::string shortened(const std::string& label) {
  if (label.size() <= kLongestLabel) return label;
  return label.substr(0, label.rfind(' ', kLongestLabel - 3)) + "...";
}

std::string drawn_row(const BudgetRow& row, std::size_t seeds, const Scale& losses, double y) {
  std::string svg = row.seeds < 2 ? "<g class=\"one\">" : "<g>";
  svg += "<title>" + escape(printable(row.group)) + "</title>";
  svg += text_at(16, y + 4, "", printable(shortened(row.label)));
  svg += budget_bar(row, y);
  svg += mean_mark(row.sink_1, "mean", kSinks, y) + mean_mark(row.sink_star, "star", kSinks, y);
  if (row.paper_sink_1) svg += diamond("paper", kSinks(*row.paper_sink_1), y);
  if (row.value_ratio.mean.n > 0) svg += circle("norm", kRatios(row.value_ratio.mean.mean), y, 4);
  if (row.massive_ratio.mean.n > 0) svg += circle("massive", kRatios(row.massive_ratio.mean.mean), y, 4);
  if (row.loss_difference.mean.n > 0 && row.loss_difference.mean.mean > losses.high)
    svg += text_at(losses(losses.high), y + 4, "class=\"small\" text-anchor=\"end\"",
                   formatted("%+.2f", row.loss_difference.mean.mean) + " \u25b6");
  else
    svg += mean_mark(row.loss_difference, "mean", losses, y);
  svg += text_at(kVerdictLeft, y + 4, std::string("class=\"") + verdict_style(row) + "\"", verdict_text(row, seeds));
  return svg + "</g>\n";
}

// Grid lines with their values below, over all rows.
std::string axis(const Scale& x, const std::vector<double>& at, double zero, const char* format, double bottom) {
  std::string svg;
  for (double tick : at)
    svg += line(tick == zero ? "axis" : "grid", x(tick), x(tick), kFirstRow - 4, bottom) +
           text_at(x(tick), bottom + 14, "class=\"small\" text-anchor=\"middle\"",
                   formatted(format, tick == 0 ? 0.0 : tick));
  return svg + "\n";
}

std::string heading() {
  std::string svg = text_at(16, 26, "class=\"headline\"", "Where does the unspent attention go?") +
                    text_at(16, 46, "class=\"small\"",
                            "Mean row of attention weights of each design. Runs of one seed share initial weights and "
                            "batches; the first token of every sequence is the same.") +
                    "\n";
  double x = 16;
  const double y = 68;
  const auto entry = [&](const std::string& mark, const std::string& text) {
    svg += mark + text_at(x + 18, y + 4, "class=\"small\"", text);
    x += 30 + 6.1 * static_cast<double>(text.size());
  };
  for (const auto& [style, text] :
       {std::pair("first", "first token"), std::pair("extra", "extra key or token"),
        std::pair("others", "other tokens"), std::pair("missing", "missing: the row sums to less than one")})
    entry(rectangle(style, x, y - 6, 13, 12), text);
  entry(line("even", x + 6, x + 6, y - 8, y + 8), "first token if all keys were equal");
  entry(circle("seed", x + 2, y, 2) + circle("seed", x + 7, y, 2) + line("interval", x, x + 13, y, y),
        "seeds, mean with 95 % interval");
  entry(diamond("paper", x + 6, y), "Gu et al. 2025, same kind of input");
  svg += "\n";
  for (const auto& [left, title, below] :
       {std::tuple(kBudget.left, "attention weights, raw",
                   "dots: first token + extra key; \u00d7: the row sum, where above 1"),
        std::tuple(kSinks.left, "Sink_1, Sink_* %", "proxy, above 0.3"),
        std::tuple(kRatios.left, "norms, first to others", "\u25cf values  \u25cb residual stream"),
        std::tuple(kLossLeft, "loss minus softmax", "nats"),
        std::tuple(kVerdictLeft, "registered claim", "the first of the design")})
    svg += text_at(left, kFirstRow - 30, "class=\"title\"", title) +
           text_at(left, kFirstRow - 14, "class=\"small\"", below) + "\n";
  return svg;
}

// Holds 0 and all seeds up to kMostLoss; what is beyond is written as a number.
Scale loss_scale(const std::vector<Mechanism>& mechanisms) {
  double low = 0, high = 0.02;
  for (const Mechanism& mechanism : mechanisms)
    for (const BudgetRow& row : mechanism.rows)
      for (double seed : row.loss_difference.seeds)
        low = std::min(low, seed), high = std::max(high, std::min(seed, kMostLoss));
  const double margin = 0.06 * (high - low);
  return {kLossLeft, kLossWidth, low - margin, high + margin};
}

}  // namespace

std::string budget_svg(const Preregistration& registered, const RunsOfStudies& runs, const std::string& study) {
  const std::vector<Mechanism> mechanisms = budget_rows(registered, runs, study);
  if (mechanisms.empty()) return "";
  std::string rows;
  double y = kFirstRow;
  const Scale losses = loss_scale(mechanisms);
  for (const Mechanism& mechanism : mechanisms) {
    rows += text_at(8, y + 18, "class=\"title\"", mechanism.title) + "\n";
    y += kTitleHeight;
    for (const BudgetRow& row : mechanism.rows) {
      rows += drawn_row(row, registered.seeds.size(), losses, y + kRowHeight / 2);
      y += kRowHeight;
    }
  }
  std::string svg = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " + formatted("%g", kWidth) + " " +
                    formatted("%g", y + kAxisHeight) + "\" width=\"" + formatted("%g", kWidth) +
                    "\" role=\"img\"><style>" + kFigureStyle +
                    "</style>\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n" +
                    "<title>Where does the unspent attention go?</title>\n" + heading();
  svg += axis(kBudget, {0, 0.25, 0.5, 0.75, 1}, 0, "%.2f", y) + axis(kSinks, {0, 50, 100}, 0, "%.0f", y) +
         axis(kRatios, {0.1, 0.3, 1, 3, 10}, 1, "%g", y) + axis(losses, ticks(losses.low, losses.high), 0, "%.4g", y);
  return svg + rows + "</svg>\n";
}

}  // namespace sink
