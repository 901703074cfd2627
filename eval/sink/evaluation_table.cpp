#include "eval/sink/evaluation_table.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "engine/io/printable.h"
#include "engine/io/str_format.h"

namespace sink {
namespace {

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

std::string heading(const std::vector<double>& epsilons, const char* first) {
  std::string line = first;
  for (double epsilon : epsilons) line += str_format(" %8s", str_format("%%>%g", epsilon));
  return line;
}

std::string scores(double alpha, const std::vector<double>& sinks) {
  std::string line = str_format("%9.4f", alpha);
  for (double sink : sinks) line += str_format(" %8.2f", sink);
  return line;
}
std::string scores_of_star(const SinkScores& s) { return scores(s.alpha_star, s.sink_star); }
// Of key k, from 0.
std::string scores_of_key(const SinkScores& s, std::size_t k) {
  std::vector<double> sinks;
  for (const auto& sink_k : s.sink_k_epsilon) sinks.push_back(sink_k[k]);
  return scores(s.alpha_k[k], sinks);
}

// "row sum 1.0000, entropy 1.435 nats, ...": the measures that the model has, in lines of at most 100 columns.
std::string scalar_lines(const Evaluation& e) {
  std::string lines;
  std::size_t begin = 0;
  for_each_measure(e, [&](const Measure& measure, bool, const double* scalar, auto) {
    if (measure.decimals == 0 || std::isnan(*scalar)) return;
    std::string text = str_format("%s %.*f", measure.symbol, measure.decimals, *scalar);
    if (measure.unit == std::string("nats") || *measure.unit == '%') text += std::string(" ") + measure.unit;
    const bool fits = lines.size() - begin + text.size() < 98;
    if (!lines.empty()) lines += fits ? ", " : ",\n";
    if (!fits) begin = lines.size();
    lines += text;
  });
  return lines + "\n";
}

std::string layer_line(const Evaluation& e, std::size_t layer) {
  const auto at = static_cast<std::size_t>(e.layer_of_row(layer));
  const auto& alpha = e.proxy.alpha_1_layer_head[layer];
  auto strongest = std::max_element(alpha.begin(), alpha.end());
  return str_format("%5zu %8.3f %4td %7.2f %7.2f %7.2f | %8.2f %7.2f %6.2f | %8.2f %7.2f %6.2f\n", at, *strongest,
                    strongest - alpha.begin(), mean(e.row_sum_layer_head[layer]), mean(e.entropy_layer_head[layer]),
                    e.massive_ratio[at + 1], mean(e.first_key_dot[layer]), mean(e.first_key_norm_product[layer]),
                    mean(e.first_key_cosine[layer]), mean(e.other_keys_dot[layer]),
                    mean(e.other_keys_norm_product[layer]), mean(e.other_keys_cosine[layer]));
}

// Where hidden state l is, with layers from 0 as in the rows of the table: l is the output of layer l - 1.
std::string place_of(std::ptrdiff_t l) { return l == 0 ? "of the embedding" : "after layer " + std::to_string(l - 1); }

// Kurtosis of the residual stream, in the layer where that of the first position is largest.
std::string kurtosis_line(const Evaluation& e) {
  auto first = [](const std::vector<double>& a, const std::vector<double>& b) { return a.front() < b.front(); };
  auto layer = std::max_element(e.hidden_kurtosis.begin(), e.hidden_kurtosis.end(), first);
  double others = std::accumulate(layer->begin() + 1, layer->end(), 0.0) / static_cast<double>(layer->size() - 1);
  return str_format("kurtosis of h_1 at most %.1f (", layer->front()) + place_of(layer - e.hidden_kurtosis.begin()) +
         str_format(", others %.1f)\n", layer->size() > 1 ? others : layer->front());
}

}  // namespace

std::string window_line(const std::vector<std::int64_t>& first_key_rows, std::int64_t T) {
  const auto fewest = std::min_element(first_key_rows.begin(), first_key_rows.end());
  if (fewest == first_key_rows.end() || *fewest >= T) return "";
  const auto windowed = std::count(first_key_rows.begin(), first_key_rows.end(), *fewest);
  return str_format(
      "Window: in %td of %zu layers %lld of %lld queries see token 1. alpha_k: mean over those that see k.\n", windowed,
      first_key_rows.size(), static_cast<long long>(*fewest), static_cast<long long>(T));
}

std::string evaluation_table(const Evaluation& e, const std::string& input) {
  std::string table =
      str_format("%s of %s (%s), ", counted(e.sequences, "sequence"), counted(e.context, "token"), input) +
      (e.targets > 0 ? str_format("loss %.4f nats\n", e.loss) : "no loss: no next token is predicted\n") +
      "       proxy: alpha    %>0.2    %>0.3    %>0.4  | raw: alpha    %>0.2    %>0.3    %>0.4\n";
  if (e.proxy.has_star())
    table += (e.extra == Evaluation::Extra::key ? "  extra key" : " sink token") + scores_of_star(e.proxy) + "  | " +
             scores_of_star(e.raw) + "\n";
  for (std::size_t k = 0; k < e.proxy.alpha_k.size(); ++k)
    table += str_format("   token %2zu", k + 1) + scores_of_key(e.proxy, k) + "  | " + scores_of_key(e.raw, k) + "\n";
  if (!std::isnan(e.alpha_fixed))
    table += str_format("fixed token%9.4f, %.2f times even attention\n", e.alpha_fixed, e.alpha_fixed_over_even);
  table += window_line(e.first_key_rows, e.context);
  table += scalar_lines(e) + kurtosis_line(e);
  table += str_format("|h_1| / mean |h_t| of the embedding %.2f; means over heads, but alpha_1 (proxy):\n",
                      e.massive_ratio.front());
  table += "layer  alpha_1 head row sum entropy   h_1/h |    q.k_1  |q||k|    cos |  q.other  |q||k|    cos\n";
  for (std::size_t layer = 0; layer < e.row_sum_layer_head.size(); ++layer) table += layer_line(e, layer);
  return table;
}

std::string inputs_table(const std::vector<std::pair<std::string, Evaluation>>& measured) {
  std::size_t width = 5;
  for (const auto& [name, e] : measured) width = std::max(width, name.size());
  auto padded = [&](std::string name) { return name.append(width - name.size(), ' '); };
  std::string table = padded("input") +
                      "     N    T    loss | Sink_1 %: >0.2   >0.3   >0.4 raw>0.3 | Sink_2 alpha_1 | v share |v_1|/|v| "
                      "|h_1|/|h| where\n";
  for (const auto& [name, e] : measured) {
    const auto largest = std::max_element(e.massive_ratio.begin(), e.massive_ratio.end());
    const SinkScores& s = e.proxy;
    table += padded(name) +
             str_format(
                 " %5lld %4lld %7s |         %6.2f %6.2f %6.2f %7.2f | %6.2f %7.4f | %7.4f %9.3f "
                 "%9.2f ",
                 e.sequences, e.context, (e.targets > 0 ? str_format("%.3f", e.loss) : "none").c_str(), s.sink_1[0],
                 s.sink_1[1], s.sink_1[2], e.raw.sink_1[kPaperEpsilonIndex], s.alpha_k.size() > 1 ? s.sink_k[1] : 0.0,
                 s.alpha_1, e.value_share, e.first_value_norm_ratio, *largest) +
             place_of(largest - e.massive_ratio.begin()) + "\n";
  }
  return table + "Sinks and alpha_1 are of proxy weights, but for raw>0.3.\n";
}

std::string sinks_by_length_table(const Evaluation::ByLength& sinks, std::int64_t k) {
  std::string table =
      heading(sinks.epsilons, "first T tokens, proxy: alpha") + heading(sinks.epsilons, "  | raw: alpha") + "\n";
  for (std::size_t t = 0; t < sinks.lengths.size(); ++t) {
    const SinkScores &proxy = sinks.proxy[t], &raw = sinks.raw[t];
    for (std::int64_t key : k > 1 ? std::vector<std::int64_t>{1, k} : std::vector<std::int64_t>{1}) {
      const auto at = static_cast<std::size_t>(key);
      if (at > proxy.alpha_k.size()) continue;
      table += str_format("T %6lld  token %-4lld", sinks.lengths[t], key) + scores_of_key(proxy, at - 1) + "  |  " +
               scores_of_key(raw, at - 1) + "\n";
    }
    if (proxy.has_star())
      table += "          extra *   " + scores_of_star(proxy) + "  |  " + scores_of_star(raw) + "\n";
  }
  return table;
}

}  // namespace sink
