#include "eval/generate/generation_options.h"

#include <CLI/CLI.hpp>

#include "engine/io/setting.h"
#include "eval/evaluated_model.h"

namespace sink {
namespace {

constexpr double kLeastTopP = 1e-9;  // of a billion tokens still one

}  // namespace

void add_eviction_options(CLI::App* command, Eviction& eviction) {
  CLI::Option* window =
      command
          ->add_option("--window", eviction.window,
                       "keep only this many recent tokens; reads and generates without limit, with positions in the "
                       "cache [all tokens, up to the context]")
          ->check(whole_number(1));
  command->add_option("--keep-first", eviction.first, "first tokens that are never evicted; 4 in StreamingLLM")
      ->check(whole_number(0))
      ->capture_default_str()
      ->needs(window);
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
    for (CLI::Option* unread : {top_p, seed})
      if (*unread && options.sampling.temperature == 0)
        throw CLI::ValidationError(unread->get_name(),
                                   "is read with a --temperature above 0 only: leave it out, or give one");
  });
  command->add_option("--data", options.data, "data folder of the tokenizer; for checkpoints without one");
  add_eviction_options(command, options.eviction);
  add_machine_options(command, options.compute);
}

}  // namespace sink
