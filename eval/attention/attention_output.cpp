#include "eval/attention/attention_output.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "engine/io/printable.h"
#include "engine/io/str_format.h"
#include "engine/io/text_table.h"
#include "eval/sink/evaluation_table.h"

namespace sink {
namespace {

constexpr std::size_t kColumns = 100;
constexpr std::size_t kTokenLines = 4;  // of the text
constexpr std::size_t kHeadsShown = 7;  // in each of the two lists
constexpr std::size_t kSinksShown = 3;  // secondary ones
constexpr std::size_t kShortestRanges = 64;  // tokens of a text whose attention is listed by ranges of positions
constexpr std::size_t kLongestToken = 16;  // columns
constexpr double kEpsilon = kSinkEpsilons[kPaperEpsilonIndex];

// For lines of tokens.
std::string token_of(const AttentionSummary& summary, const SummaryLabels& labels, std::size_t t) {
  const std::string text = printable(labels.token_text(summary.tokens_T[t]));
  return text_width(text) <= kLongestToken ? text : cut_to(text, kLongestToken - 1) + "…";
}

// "1 The | 2  first | ...": position and token, in at most kTokenLines lines.
std::string token_lines(const AttentionSummary& summary, const SummaryLabels& labels) {
  std::string lines, line;
  std::size_t n_lines = 0;
  for (std::size_t t = 0; t < summary.tokens_T.size(); ++t) {
    const std::string token = std::to_string(t + 1) + ":" + token_of(summary, labels, t);
    if (!line.empty() && text_width(line) + text_width(token) + 3 > kColumns - 2) {
      lines += "  " + line + "\n";
      line.clear();
      if (++n_lines == kTokenLines)
        return lines + "  ... " + counted(static_cast<std::int64_t>(summary.tokens_T.size() - t), "more token") + "\n";
    }
    line += (line.empty() ? "" : " | ") + token;
  }
  return lines + "  " + line + "\n";
}

std::string quoted(const AttentionSummary& summary, const SummaryLabels& labels, std::size_t t) {
  return "\"" + token_of(summary, labels, t) + "\"";
}

std::string name_of_extra(const AttentionSummary& summary) {
  return summary.extra == Evaluation::Extra::key ? "extra key" : "sink token";
}

// " of layer 3", " of 4 layers from 2 to 9"
std::string layers_of(const SecondarySink& sink) {
  if (sink.layers == 1) return " of layer " + std::to_string(sink.first_layer);
  return " of " + std::to_string(sink.layers) + " layers from " + std::to_string(sink.first_layer) + " to " +
         std::to_string(sink.last_layer);
}

std::string sink_lines(const AttentionSummary& summary, const SummaryLabels& labels) {
  const auto n_heads = static_cast<double>(summary.head_LH.size());
  const double sink_1 = summary.sink_1(kEpsilon);
  std::string lines =
      str_format("alpha_1 %.3f (even: %.3f), Sink_1 %.1f %%: ", summary.alpha_1(), summary.even_alpha_1, sink_1) +
      quoted(summary, labels, 0) + str_format(" is a sink in %.0f of %.0f heads.\n", sink_1 / 100 * n_heads, n_heads);
  lines += window_line(summary.first_key_rows(), static_cast<std::int64_t>(summary.tokens_T.size()));
  if (summary.extra != Evaluation::Extra::none)
    lines += str_format("alpha_* %.3f (even: %.3f): the ", summary.alpha_star(), summary.even_alpha_star) +
             name_of_extra(summary) + ", which the model has before the text.\n";
  const std::vector<SecondarySink> others = secondary_sinks(summary);
  std::string list;
  for (std::size_t n = 0; n < std::min(others.size(), kSinksShown); ++n)
    list += (n > 0 ? ", " : "") + quoted(summary, labels, static_cast<std::size_t>(others[n].position - 1)) + " (" +
            std::to_string(others[n].position) + ") in " + counted(others[n].heads, "head") + layers_of(others[n]);
  if (others.size() > kSinksShown) list += ", and " + std::to_string(others.size() - kSinksShown) + " more";
  return lines + "Other sinks: " + (list.empty() ? "none" : list) + ".\n";
}

std::string massive_line(const AttentionSummary& summary) {
  const auto [ratio, l] = summary.massive_ratio();
  return str_format("|h_1| / mean |h_t| at most %.1f, ", ratio) +
         (l == 0 ? std::string("of the embedding") : "after layer " + std::to_string(l - 1)) +
         (ratio > 10 ? ": a massive activation.\n" : ".\n");
}

// One character for each layer, from ▁ (0) to █ (1); · for one without attention.
std::string layer_line(const AttentionSummary& summary) {
  static const char* const kBars[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  std::string bars;
  for (double alpha : summary.alpha_1_by_layer())
    bars += std::isnan(alpha) ? "·" : kBars[static_cast<std::size_t>(std::clamp(alpha, 0.0, 0.999) * 8)];
  return "alpha_1 by layer: 0 " + bars + " " + std::to_string(summary.layers - 1) + "\n";
}

// "2-3 0.51, 4-15 0.43, ..." for the values of positions `first`, first + 1, ...; `value` is of a range [begin, end).
std::string by_range(std::size_t first, std::size_t end, const auto& value) {
  std::string text;
  for (std::size_t begin = first, next; begin < end; begin = next) {
    next = std::min(end, begin < 4 ? (begin < 2 ? begin + 1 : 4) : 4 * begin);
    text += (text.empty() ? "" : ", ") + std::to_string(begin) +
            (next > begin + 1 ? "-" + std::to_string(next - 1) : "") + " " + value(begin, next);
  }
  return text;
}

// Of a text that is long enough for ranges of positions.
std::string position_lines(const AttentionSummary& summary) {
  const std::size_t T = summary.tokens_T.size();
  if (T < kShortestRanges) return "";
  std::string lines =
      "Attention in % by distance: " +
      by_range(0, T,
               [&](std::size_t begin, std::size_t end) {
                 const auto d = summary.by_distance_T.begin();
                 return str_format("%.0f", 100 * std::accumulate(d + static_cast<std::ptrdiff_t>(begin),
                                                                 d + static_cast<std::ptrdiff_t>(end), 0.0));
               }) +
      "\n";
  if (summary.alpha_1_by_query_T.empty()) return lines;
  double slope = 0;
  for (const HeadSummary& head : summary.head_LH)
    slope += head.margin_slope / static_cast<double>(summary.head_LH.size());
  // Positions count from 1.
  return lines + "Attention on token 1 by query: " +
         by_range(2, T + 1,
                  [&](std::size_t begin, std::size_t end) {
                    double sum = 0, n = 0;
                    for (std::size_t i = begin; i < end; ++i)
                      if (const double alpha = summary.alpha_1_by_query_T[i - 1]; !std::isnan(alpha)) sum += alpha, ++n;
                    return n > 0 ? str_format("%.2f", sum / n) : std::string("not seen");
                  }) +
         str_format("\nMargin of token 1: %+.2f nats per ln i of query i\n", slope);
}

// The three tokens with the largest share of the head's attention.
std::string most_looked_at(const AttentionSummary& summary, const HeadSummary& head, const SummaryLabels& labels) {
  std::vector<std::size_t> order(head.share_T.size());
  std::iota(order.begin(), order.end(), 0);
  const auto shown = static_cast<std::ptrdiff_t>(std::min<std::size_t>(3, order.size()));
  std::partial_sort(order.begin(), order.begin() + shown, order.end(),
                    [&](std::size_t a, std::size_t b) { return head.share_T[a] > head.share_T[b]; });
  std::string text;
  for (std::ptrdiff_t n = 0; n < shown; ++n) {
    const std::size_t t = order[static_cast<std::size_t>(n)];
    if (n > 0 && head.share_T[t] < 0.005) break;  // 0%
    text += (n > 0 ? "  " : "") + quoted(summary, labels, t) + str_format(" %.0f%%", 100 * head.share_T[t]);
  }
  return text;
}

std::string head_lines(const AttentionSummary& summary, const SummaryLabels& labels, const std::string& title,
                       std::vector<const HeadSummary*> heads) {
  if (heads.size() > kHeadsShown) heads.resize(kHeadsShown);
  const bool extra = summary.extra != Evaluation::Extra::none;
  std::string lines = title + "\n  layer head  alpha_1" + (extra ? "  alpha_*" : "") + "  self  previous  looks at\n";
  for (const HeadSummary* head : heads) {
    lines += str_format("  %5lld %4lld %8.3f", static_cast<long long>(head->layer), static_cast<long long>(head->head),
                        head->alpha_1());
    if (extra) lines += str_format(" %8.3f", head->alpha_star);
    lines += str_format("  %4.2f %9.2f  ", head->self, head->previous) + most_looked_at(summary, *head, labels) + "\n";
  }
  return lines;
}

}  // namespace

std::string attention_table(const AttentionSummary& summary, const SummaryLabels& labels) {
  const auto T = static_cast<std::int64_t>(summary.tokens_T.size());
  std::string table = counted(T, "token");
  if (T > labels.context) table += str_format(" (the model's context is %lld)", static_cast<long long>(labels.context));
  if (!std::isnan(summary.loss)) table += str_format(", loss %.4f nats", summary.loss);
  table += ", " + labels.begin + ":\n" + token_lines(summary, labels) + "\n" + sink_lines(summary, labels) +
           massive_line(summary) + layer_line(summary) + position_lines(summary);
  std::vector<const HeadSummary*> heads;
  for (const HeadSummary& head : summary.head_LH) heads.push_back(&head);
  auto weaker = [](const HeadSummary* a, const HeadSummary* b) { return a->alpha_1() < b->alpha_1(); };
  std::stable_sort(heads.rbegin(), heads.rend(), weaker);
  const std::size_t strongest = std::min(kHeadsShown, (heads.size() + 1) / 2);
  table += "\n" + head_lines(summary, labels, "Strongest sinks",
                             {heads.begin(), heads.begin() + static_cast<std::ptrdiff_t>(strongest)});
  if (heads.size() > strongest)
    table += "\n" + head_lines(summary, labels, "Weakest sinks",
                               {heads.rbegin(), heads.rend() - static_cast<std::ptrdiff_t>(strongest)});
  return table;
}

std::string attention_json(const AttentionSummary& summary, const SummaryLabels& labels) {
  using Json = nlohmann::ordered_json;
  const bool extra = summary.extra != Evaluation::Extra::none;
  auto or_null = [](bool known, double value) { return known ? Json(value) : Json(); };
  Json texts = Json::array(), sinks = Json::array(), heads = Json::array();
  for (std::int32_t id : summary.tokens_T) texts.push_back(labels.token_text(id));
  for (const SecondarySink& sink : secondary_sinks(summary))
    sinks.push_back({{"position", sink.position},
                     {"heads", sink.heads},
                     {"first_layer", sink.first_layer},
                     {"last_layer", sink.last_layer},
                     {"layers", sink.layers}});
  Json by_query = Json::array();
  for (double alpha : summary.alpha_1_by_query_T) by_query.push_back(or_null(!std::isnan(alpha), alpha));
  for (const HeadSummary& head : summary.head_LH)
    heads.push_back({{"layer", head.layer},
                     {"head", head.head},
                     {"alpha", head.alpha_T},
                     {"alpha_star", or_null(extra, head.alpha_star)},
                     {"self", head.self},
                     {"previous", head.previous},
                     {"row_sum", head.row_sum},
                     {"margin_slope", or_null(!std::isnan(head.margin_slope), head.margin_slope)}});
  const Json json{{"schema", 1},
                  {"model", labels.model},
                  {"ablation", labels.ablation},
                  {"policies", labels.policies},
                  {"context", labels.context},
                  {"tokens", summary.tokens_T},
                  {"token_text", texts},
                  {"begin", {{"added", labels.text_begins}, {"why", labels.begin}}},
                  {"loss", or_null(!std::isnan(summary.loss), summary.loss)},
                  {"alpha_1", summary.alpha_1()},
                  {"even_alpha_1", summary.even_alpha_1},
                  {"first_key_rows", summary.first_key_rows()},
                  {"sink_1", summary.sink_1(kEpsilon)},
                  {"alpha_star", or_null(extra, summary.alpha_star())},
                  {"even_alpha_star", or_null(extra, summary.even_alpha_star)},
                  {"secondary_sinks", sinks},
                  {"by_distance", summary.by_distance_T},
                  {"alpha_1_by_query", by_query},
                  {"hidden_norm", summary.hidden_norm_LT},
                  {"value_norm", summary.value_norm_LT},
                  {"heads", heads}};
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace sink
