#include "eval/generate/generation_options.h"

#include "engine/io/number_check.h"
#include "eval/evaluated_model.h"

namespace sink {
namespace {

constexpr double kLeastTopP = 1e-9;  // of a billion tokens still one

}  // namespace

void add_eviction_options(CLI::App* command, Eviction& eviction) {
  CLI::Option* window =
      command
          ->add_option("--window", eviction.window,
                       "of older tokens forget all but so many, and go on without end; tokens have their positions "
                       "among those that are kept [all are kept, up to the context]")
          ->check(whole_number(1));
  command
      ->add_option("--keep-first", eviction.first,
                   "tokens of the beginning that are never forgotten, 4 in StreamingLLM")
      ->check(whole_number(0))
      ->capture_default_str()
      ->needs(window);
}

void add_generation_options(CLI::App* command, GenerationOptions& options, std::int64_t most) {
  options.most = most;
  command->add_option("--checkpoint,--model,model", options.model, kWhatIsEvaluated)->required();
  command->add_option("--most", options.most, "tokens to generate at most")
      ->check(whole_number(1))
      ->capture_default_str();
  command
      ->add_option("--temperature", options.sampling.temperature,
                   "logits are divided by it; 0 takes the most likely token every time")
      ->check(real_number(0, 100))
      ->capture_default_str();
  command
      ->add_option("--top-p", options.sampling.top_p,
                   "draw from the most likely tokens alone, as few as have this much of the probability")
      ->check(real_number(kLeastTopP, 1))
      ->capture_default_str();
  command->add_option("--seed", options.sampling.seed, "of the tokens that are drawn: the same seed, the same text")
      ->check(seed_number())
      ->capture_default_str();
  command->add_option("--data", options.data, "data folder whose tokenizer to take, where the checkpoint has none");
  add_eviction_options(command, options.eviction);
  add_machine_options(command, options.compute, {"f32", "bf16", "tf32", "f64"});
}

}  // namespace sink
