#include "eval/generate/generation_options.h"

#include <CLI/CLI.hpp>

#include "engine/io/setting.h"
#include "eval/evaluated_model.h"

namespace sink {
namespace {

constexpr double kLeastTopP = 1e-9;  // of a billion tokens still one

}  // namespace

std::vector<CacheRounding> RoundingOptions::roundings(std::int64_t tokens) const {
  CacheRounding one{.scheme = scheme == "kivi" ? CacheRounding::Scheme::kivi : CacheRounding::Scheme::token};
  for (const auto& [flag, kept] : {std::pair{"--keep-first ", &keep_first}, std::pair{"--keep-tokens ", &keep}})
    for (std::int64_t n : *kept)
      if (n > tokens)
        throw Error(flag + std::to_string(n) + ": the text has " + std::to_string(tokens) + " tokens", Exit::usage);
  for (std::int64_t position : keep) one.keep.push_back(position - 1);
  std::vector<CacheRounding> all;
  for (std::int64_t b : bits)
    for (std::int64_t first : keep_first.empty() ? std::vector<std::int64_t>{0} : keep_first) {
      one.bits = static_cast<int>(b);
      one.keep_first = first;
      all.push_back(one);
    }
  return all;
}

CacheRounding GenerationOptions::cache_rounding() const {
  RoundingOptions with_first = rounding;
  with_first.keep_first = {eviction.first};
  const std::vector<CacheRounding> one = with_first.roundings();
  return one.empty() ? CacheRounding() : one[0];
}

void add_rounding_options(CLI::App* command, RoundingOptions& rounding) {
  const bool several = command->get_option_no_throw("--keep-first") == nullptr;
  CLI::Option* bits = command
                          ->add_option("--kv-bits", rounding.bits,
                                       several ? "bits of cached keys and values; from 2 to 8; several, such as 4,3,2, "
                                                 "a row each"
                                               : "bits of cached keys and values; from 2 to 8 [exact]")
                          ->check(whole_number(2, 8));
  command
      ->add_option("--kv-scheme", rounding.scheme,
                   "what shares a scale; kivi: keys by channel in groups of 32 tokens once all are read, values by "
                   "token in groups of 32 "
                   "channels; token: keys and values by token in groups of 32 channels. A group has 2^bits even steps "
                   "from its least to its largest value. Keys are rounded after rotation, with eviction before it")
      ->check(CLI::IsMember({"kivi", "token"}))
      ->capture_default_str()
      ->needs(bits);
  std::vector<CLI::Option*> lists{
      command->add_option("--keep-tokens", rounding.keep, "tokens that stay exact; their positions, from 1")
          ->check(whole_number(1))
          ->needs(bits)};
  if (several) {
    lists.push_back(command
                        ->add_option("--keep-first", rounding.keep_first,
                                     "first tokens whose keys and values stay exact; several, such as 0,4, a row each")
                        ->check(whole_number(0))
                        ->needs(bits));
    lists.push_back(bits);
  } else {
    bits->expected(1);
  }
  for (CLI::Option* list : lists) list->delimiter(',')->allow_extra_args(false);
}

void add_generation_options(CLI::App* command, GenerationOptions& options, std::int64_t most) {
  options.most = most;
  command->add_option("--checkpoint,--model,model", options.model, kWhatIsEvaluated)->required();
  command->add_option("--max-new-tokens,--most", options.most, "maximum number of tokens to generate")
      ->check(whole_number(1))
      ->capture_default_str();
  CLI::Option* temperature = command
                                 ->add_option("--temperature", options.sampling.temperature,
                                              "divides the logits; 0 takes the most likely token")
                                 ->check(real_number(0, 100))
                                 ->capture_default_str();
  CLI::Option* top_p =
      command
          ->add_option("--top-p", options.sampling.top_p,
                       "sample from the most likely tokens up to this sum; the fewest whose probabilities reach it")
          ->check(real_number(kLeastTopP, 1))
          ->capture_default_str()
          ->needs(temperature);
  CLI::Option* seed = command->add_option("--seed", options.sampling.seed, "seed of the sampled tokens")
                          ->check(seed_number())
                          ->capture_default_str()
                          ->needs(temperature);
  command->callback([&options, top_p, seed] {
    if (options.eviction.first > 0 && !options.eviction.any() && options.rounding.bits.empty())
      throw CLI::ValidationError("--keep-first", "is read with --window or --kv-bits: give one of them");
    for (CLI::Option* unread : {top_p, seed})
      if (*unread && options.sampling.temperature == 0)
        throw CLI::ValidationError(unread->get_name(),
                                   "is read with a --temperature above 0 only: leave it out, or give one");
  });
  command->add_option("--data", options.data, "data folder of the tokenizer; for checkpoints without one");
  CLI::Option* window =
      command
          ->add_option("--window", options.eviction.window,
                       "keep only this many recent tokens; reads and generates without limit, with positions in the "
                       "cache [all tokens, up to the context]")
          ->check(whole_number(1));
  CLI::Option* heavy = command
                           ->add_option("--heavy", options.eviction.heavy,
                                        "heavy hitters that each head keeps; in addition, the tokens with the most "
                                        "attention so far, as H2O. Positions are those of the text, up to the context")
                           ->check(whole_number(1))
                           ->needs(window);
  command
      ->add_option("--keep-first", options.eviction.first,
                   "first tokens that stay; they are never evicted and, with --kv-bits, exact; 4 in StreamingLLM")
      ->check(whole_number(0))
      ->capture_default_str()
      ->excludes(heavy);
  add_rounding_options(command, options.rounding);
  add_machine_options(command, options.compute);
}

}  // namespace sink
