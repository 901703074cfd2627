#include "eval/generate/streaming.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <deque>
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

// Adds to means until they are divided.
void add(StreamStretch& sum, const StreamStretch& more) {
  sum.loss += more.loss;
  sum.divergence += more.divergence;
  sum.same_top += more.same_top;
  sum.end = more.end;
}
void divide(StreamStretch& sum) {
  for (double* x : {&sum.loss, &sum.divergence, &sum.same_top}) *x /= static_cast<double>(sum.end - sum.begin);
}

std::size_t most_likely(const std::vector<double>& logprobs_V) {
  return static_cast<std::size_t>(std::ranges::max_element(logprobs_V) - logprobs_V.begin());
}

// Target t, which is `id`. `exact_V`: ln p with the exact cache; null for that itself.
StreamStretch part_of(std::int64_t t, std::int32_t id, const std::vector<double>& logprobs_V,
                      const std::vector<double>* exact_V) {
  StreamStretch one{t, t + 1, -logprobs_V.at(static_cast<std::size_t>(id)), 0, 1};
  SINK_CHECK(!std::isnan(one.loss), "stream", "the model gives an infinite logit", Exit::diverged);
  if (!exact_V) return one;
  for (std::size_t v = 0; v < logprobs_V.size(); ++v)
    if (const double p = std::exp((*exact_V)[v]); p > 0) one.divergence += p * ((*exact_V)[v] - logprobs_V[v]);
  one.same_top = most_likely(*exact_V) == most_likely(logprobs_V);
  return one;
}

}  // namespace

Eviction eviction_named(const std::string& text) {
  if (text == "all") return {};
  const std::size_t plus = text.find('+');
  const bool heavy = text.starts_with('h') && plus != std::string::npos;
  const std::string window = plus == std::string::npos ? text : text.substr(plus + 1);
  const std::optional<std::int64_t> first = plus == std::string::npos ? 0 : count_of(text.substr(heavy, plus - heavy)),
                                    last = count_of(window);
  if (!first || !last || *last < 1 || (heavy && *first < 1))
    throw Error(
        "expected what is kept as all, as the last tokens such as 1024, as the first and the last such as 4+1020, or "
        "as heavy hitters and the last such as h64+960; got `" +
            text + "`",
        Exit::usage);
  return heavy ? Eviction{0, *last, *first} : Eviction{*first, *last};
}

std::vector<StreamLoss> stream_losses(LanguageModel& model, std::span<const std::int32_t> ids, const Eviction& eviction,
                                      const std::vector<CacheRounding>& roundings, std::int64_t stretches,
                                      const std::function<void(std::int64_t)>& on_read) {
  SINK_CHECK(ids.size() >= 2, "stream", "expected at least two tokens, got " + std::to_string(ids.size()), Exit::usage);
  const auto targets = static_cast<std::int64_t>(ids.size()) - 1;
  const std::int64_t length = (targets + stretches - 1) / stretches;
  std::vector<StreamLoss> losses{{.eviction = eviction}};
  std::deque<TokenReader> readers;
  readers.emplace_back(model, eviction);
  for (const CacheRounding& rounding : roundings) {
    losses.push_back({.eviction = eviction, .rounding = rounding});
    readers.emplace_back(model, eviction, rounding);
  }
  std::vector<std::vector<double>> exact_TV;
  for (std::int64_t begin = 0, end = targets; begin < targets; begin = end, end = targets) {
    for (std::size_t n = 0; n < readers.size(); ++n) {
      const auto start = std::chrono::steady_clock::now();
      for (std::int64_t t = begin; t < end;) {
        const Tensor logits_1TV =
            readers[n].read_part(ids.subspan(static_cast<std::size_t>(t), static_cast<std::size_t>(end - t)));
        const std::int64_t T = logits_1TV.dim(1), V = logits_1TV.dim(2);
        if (n == 0) {  // the others follow
          end = t + T;
          exact_TV.clear();
        }
        for (std::int64_t i = 0; i < T; ++i, ++t) {
          const std::vector<double> logprobs_V = log_probabilities(logits_1TV.slice(i * V, {V}));
          if (n == 0 && !roundings.empty()) exact_TV.push_back(logprobs_V);
          const StreamStretch one = part_of(t, ids[static_cast<std::size_t>(t) + 1], logprobs_V,
                                            n == 0 ? nullptr : &exact_TV[static_cast<std::size_t>(t - begin)]);
          if (t % length == 0) losses[n].stretches.push_back({t, t});
          add(losses[n].stretches.back(), one);
          add(losses[n].all, one);
        }
      }
      losses[n].seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    }
    on_read(end + 1);
  }
  for (StreamLoss& loss : losses) {
    for (StreamStretch& stretch : loss.stretches) divide(stretch);
    divide(loss.all);
  }
  return losses;
}

std::vector<StreamLoss> mean_of(const std::vector<std::vector<StreamLoss>>& texts) {
  std::vector<StreamLoss> mean = texts.at(0);
  auto average = [&](auto part) {
    StreamStretch sum = part(texts[0]);
    sum.loss = sum.divergence = sum.same_top = 0;
    for (const auto& text : texts) add(sum, part(text));
    for (double* x : {&sum.loss, &sum.divergence, &sum.same_top}) *x /= static_cast<double>(texts.size());
    return sum;
  };
  for (std::size_t n = 0; n < mean.size(); ++n) {
    mean[n].all = average([n](const auto& text) { return text[n].all; });
    for (std::size_t i = 0; i < mean[n].stretches.size(); ++i)
      mean[n].stretches[i] = average([n, i](const auto& text) { return text[n].stretches[i]; });
  }
  return mean;
}

std::string stream_table(const std::vector<StreamLoss>& losses) {
  auto row = [](const StreamLoss& loss, auto cell) {
    std::string line = str_format("\n%-22s %-28s", loss.eviction.name(), loss.rounding.name()) + cell(loss.all);
    for (const StreamStretch& stretch : loss.stretches) line += cell(stretch);
    return line;
  };
  std::string table = str_format("Perplexity by what is kept, of all tokens and of tokens up to\n%-22s %-28s%14s",
                                 "kept", "cache", "all");
  for (const StreamStretch& stretch : losses.front().stretches) table += str_format("%14lld", stretch.end + 1);
  for (const StreamLoss& loss : losses)
    table += row(loss, [](const StreamStretch& part) {
      const double perplexity = std::exp(part.loss);
      return str_format(perplexity < 1e5 ? "%14.2f" : "%14.2e", perplexity);
    });
  if (std::ranges::none_of(losses, [](const StreamLoss& loss) { return loss.rounding.any(); })) return table + "\n";
  table += "\nKL of the next token to the exact cache in nats, and how often both have the same most likely token, %";
  for (const StreamLoss& loss : losses)
    if (loss.rounding.any())
      table += row(loss, [](const StreamStretch& part) {
        return str_format(" %7.4f %5.1f", part.divergence, 100 * part.same_top);
      });
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
    nlohmann::ordered_json one{
        {"kept", loss.eviction.name()},  {"first", loss.eviction.first}, {"window", loss.eviction.window},
        {"heavy", loss.eviction.heavy},  {"loss", loss.all.loss},        {"perplexity", std::exp(loss.all.loss)},
        {"cache", loss.rounding.name()}, {"bits", loss.rounding.bits},   {"keep_first", loss.rounding.keep_first},
        {"seconds", loss.seconds}};
    const bool rounded = loss.rounding.any();
    auto add_compared = [rounded](nlohmann::ordered_json& to, const StreamStretch& part) {
      if (rounded) to.update({{"divergence", part.divergence}, {"same_top", part.same_top}});
    };
    add_compared(one, loss.all);
    for (const StreamStretch& stretch : loss.stretches) {
      one["stretches"].push_back({{"begin", stretch.begin}, {"end", stretch.end}, {"loss", stretch.loss}});
      add_compared(one["stretches"].back(), stretch);
    }
    json["policies"].push_back(one);
  }
  return json.dump(1) + "\n";
}

}  // namespace sink
