#include "eval/generate/streaming.h"

#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "engine/check.h"
#include "engine/io/str_format.h"
#include "eval/generate/sampling.h"

namespace sink {
namespace {

// A whole number of 1 to 9 digits; none otherwise.
std::optional<std::int64_t> count_of(const std::string& text) {
  if (text.empty() || text.size() > 9 || text.find_first_not_of("0123456789") != std::string::npos) return {};
  return std::stoll(text);
}

}  // namespace

Eviction eviction_named(const std::string& text) {
  if (text == "all") return {};
  const std::size_t plus = text.find('+');
  const std::string window = plus == std::string::npos ? text : text.substr(plus + 1);
  const std::optional<std::int64_t> first = plus == std::string::npos ? 0 : count_of(text.substr(0, plus)),
                                    last = count_of(window);
  if (!first || !last || *last < 1)
    throw Error(
        "expected what is kept as all, as the last tokens such as 1024, or as the first and the last such as "
        "4+1020; got `" +
            text + "`",
        Exit::usage);
  return {*first, *last};
}

StreamLoss stream_loss(LanguageModel& model, std::span<const std::int32_t> ids, const Eviction& eviction,
                       std::int64_t stretches, const std::function<void(std::int64_t)>& on_read) {
  SINK_CHECK(ids.size() >= 2, "stream", "expected at least two tokens, got " + std::to_string(ids.size()), Exit::usage);
  const auto start = std::chrono::steady_clock::now();
  const auto targets = static_cast<std::int64_t>(ids.size()) - 1;
  const std::int64_t length = (targets + stretches - 1) / stretches;
  TokenReader reader(model, eviction);
  StreamLoss all{.eviction = eviction, .stretches = {}};
  for (std::int64_t t = 0; t < targets;) {
    const auto from = static_cast<std::size_t>(t);
    const Tensor logits_1TV = reader.read_part(ids.subspan(from, ids.size() - 1 - from));
    for (std::int64_t n = 0, T = logits_1TV.dim(1), V = logits_1TV.dim(2); n < T; ++n, ++t) {
      if (t % length == 0) all.stretches.push_back({t, t, 0});
      const double loss = -log_probability(logits_1TV.slice(n * V, {V}), ids[static_cast<std::size_t>(t) + 1]);
      all.loss += loss;
      all.stretches.back().loss += loss;
      all.stretches.back().end = t + 1;
    }
    on_read(t + 1);
  }
  for (StreamStretch& stretch : all.stretches) stretch.loss /= static_cast<double>(stretch.end - stretch.begin);
  all.loss /= static_cast<double>(targets);
  all.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return all;
}

std::string stream_table(const std::vector<StreamLoss>& losses) {
  auto cell = [](double loss) {
    const double perplexity = std::exp(loss);
    return str_format(perplexity < 1e5 ? "%12.2f" : "%12.2e", perplexity);
  };
  std::string table =
      str_format("Perplexity by what is kept, of all tokens and of tokens up to\n%-24s%12s", "kept", "all");
  for (const StreamStretch& stretch : losses.front().stretches) table += str_format("%12lld", stretch.end + 1);
  for (const StreamLoss& loss : losses) {
    table += str_format("\n%-24s", loss.eviction.name()) + cell(loss.loss);
    for (const StreamStretch& stretch : loss.stretches) table += cell(stretch.loss);
  }
  return table + "\n";
}

std::string stream_json(const std::string& model, const std::string& ablation, std::int64_t context,
                        std::int64_t tokens, const std::vector<StreamLoss>& losses) {
  nlohmann::ordered_json json{{"schema", "sinklab stream 1"},
                              {"model", model},
                              {"ablation", ablation},
                              {"context", context},
                              {"tokens", tokens}};
  for (const StreamLoss& loss : losses) {
    nlohmann::ordered_json one{{"kept", loss.eviction.name()},      {"first", loss.eviction.first},
                               {"window", loss.eviction.window},    {"loss", loss.loss},
                               {"perplexity", std::exp(loss.loss)}, {"seconds", loss.seconds}};
    for (const StreamStretch& stretch : loss.stretches)
      one["stretches"].push_back({{"begin", stretch.begin}, {"end", stretch.end}, {"loss", stretch.loss}});
    json["policies"].push_back(one);
  }
  return json.dump(1) + "\n";
}

}  // namespace sink
