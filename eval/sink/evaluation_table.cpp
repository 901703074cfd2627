#include "eval/sink/evaluation_table.h"

#include <algorithm>
#include <cstdio>
#include <numeric>

namespace sink {
namespace {

template <class... Arguments>
std::string text(const char* format, Arguments... arguments) {
  char line[256];
  std::snprintf(line, sizeof line, format, arguments...);
  return line;
}

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

std::string scores(double alpha, double at_02, double at_03, double at_04) {
  return text("%9.4f %8.2f %8.2f %8.2f", alpha, at_02, at_03, at_04);
}
std::string scores_of_star(const SinkScores::Star& star) {
  return scores(star.alpha, star.sink[0], star.sink[1], star.sink[2]);
}
std::string scores_of_key(const SinkScores& s, std::size_t k) {
  return scores(s.alpha_k[k], s.sink_k[0][k], s.sink_k[1][k], s.sink_k[2][k]);
}

std::string layer_line(const Evaluation& e, std::size_t layer) {
  const auto& alpha = e.proxy.alpha_1_layer_head[layer];
  auto strongest = std::max_element(alpha.begin(), alpha.end());
  return text("%5zu %8.3f %4td %7.2f %7.2f %7.2f | %8.2f %7.2f %6.2f | %8.2f %7.2f %6.2f\n", layer, *strongest,
              strongest - alpha.begin(), mean(e.row_mass_layer_head[layer]), mean(e.entropy_layer_head[layer]),
              e.massive_ratio[layer + 1], mean(e.first_key.dot[layer]), mean(e.first_key.norm_product[layer]),
              mean(e.first_key.cosine[layer]), mean(e.other_keys.dot[layer]), mean(e.other_keys.norm_product[layer]),
              mean(e.other_keys.cosine[layer]));
}

// Of the residual stream, by the layer where that of the first position is largest.
std::string kurtosis_line(const Evaluation& e) {
  auto first = [](const std::vector<double>& a, const std::vector<double>& b) { return a.front() < b.front(); };
  auto layer = std::max_element(e.hidden_kurtosis.begin(), e.hidden_kurtosis.end(), first);
  double others = std::accumulate(layer->begin() + 1, layer->end(), 0.0) / static_cast<double>(layer->size() - 1);
  return text("kurtosis of h_1 at most %.1f (after layer %td, others %.1f)\n", layer->front(),
              layer - e.hidden_kurtosis.begin(), layer->size() > 1 ? others : layer->front());
}

}  // namespace

std::string evaluation_table(const Evaluation& e, const std::string& input) {
  std::string table = text("%lld sequences of %lld tokens (%s), loss %.4f nats\n", static_cast<long long>(e.sequences),
                           static_cast<long long>(e.context), input.c_str(), e.loss) +
                      "       proxy: alpha    %>0.2    %>0.3    %>0.4  | raw: alpha    %>0.2    %>0.3    %>0.4\n";
  if (e.proxy.star)
    table += (e.extra == Evaluation::Extra::key ? "  extra key" : " sink token") + scores_of_star(*e.proxy.star) +
             "  | " + scores_of_star(*e.raw.star) + "\n";
  for (std::size_t k = 0; k < e.proxy.alpha_k.size(); ++k)
    table += text("   token %2zu", k + 1) + scores_of_key(e.proxy, k) + "  | " + scores_of_key(e.raw, k) + "\n";
  table += text("row mass %.4f, ", e.row_mass);
  if (e.extra == Evaluation::Extra::key) table += text("on the extra key %.4f, ", e.extra_key_mass);
  table += text("entropy %.3f nats, |v_1| / mean |v_t| %.3f\n", e.entropy, e.first_value_norm_ratio);
  table += text("of what values give, by length, the first one's share %.4f; ", e.value_share) + kurtosis_line(e);
  table += text("|h_1| / mean |h_t| of the embedding %.2f; means over heads, but alpha_1 (proxy):\n",
                e.massive_ratio.front());
  table += "layer  alpha_1 head    mass entropy   h_1/h |    q.k_1  |q||k|    cos |  q.other  |q||k|    cos\n";
  for (std::size_t layer = 0; layer < e.row_mass_layer_head.size(); ++layer) table += layer_line(e, layer);
  return table;
}

}  // namespace sink
