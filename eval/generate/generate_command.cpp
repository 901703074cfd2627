// eval_<ablation> generate: continues a text.
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "engine/io/printable.h"
#include "eval/eval_command.h"
#include "eval/evaluated_model.h"
#include "eval/generate/continuation.h"
#include "eval/generate/generation_options.h"
#include "eval/input_options.h"
#include "eval/sink/trained_on.h"

namespace sink {
namespace {

struct GenerateOptions : GenerationOptions {
  InputOptions given;
  bool json = false, past_stops = false;
};

// None without a tokenizer: ids are printed.
std::optional<Tokenizer> tokenizer_for_text(const GenerateOptions& options, const Checkpoint& checkpoint,
                                            const Sizes& sizes) {
  const std::string data = options.data.empty() ? trained_on(checkpoint, sizes).data : options.data;
  if (!checkpoint.attributes.contains("tokenizer_json") && (options.given.tokens || data.empty())) return {};
  return tokenizer_of(checkpoint, data);
}

void print_rates(const Continuation& text, std::size_t prompt) {
  const char* why = text.end == ContinuationEnd::stop_token ? ", where the text ends"
                    : text.end == ContinuationEnd::context  ? ", where the context ends (--window continues)"
                                                            : "";
  std::fprintf(stderr, "%zu tokens read in %.2f s, %zu generated in %.2f s (%.1f a second)%s\n", prompt,
               text.prompt_seconds, text.ids.size(), text.seconds,
               static_cast<double>(text.ids.size()) / std::max(1e-9, text.seconds), why);
}

// Some tokenizers leave out a space at the beginning of a text, so the prompt is decoded with it.
std::string text_after(const Tokenizer& tokenizer, std::vector<std::int32_t> prompt,
                       const std::vector<std::int32_t>& ids) {
  const std::size_t begin = tokenizer.decode(prompt).size();
  prompt.insert(prompt.end(), ids.begin(), ids.end());
  return tokenizer.decode(prompt).substr(begin);
}

int run_generate(GenerateOptions options, const Ablation& ablation) {
  options.given.data = options.data;
  if (!options.given.any()) throw Error("generate needs --text, --text-file or --tokens; see --help", Exit::usage);
  auto [checkpoint, model] = load_evaluated(options.model, ablation, options.compute);
  TokenReader reader(*model, options.eviction, options.cache_rounding());
  const std::vector<std::int32_t> prompt = options.given.one_sequence(checkpoint, model->sizes(), reader.room());
  options.rounding.roundings(static_cast<std::int64_t>(prompt.size()) + options.most);  // refuses positions after that
  const std::optional<Tokenizer> tokenizer = tokenizer_for_text(options, checkpoint, model->sizes());
  std::optional<TextPieces> pieces;
  if (tokenizer) pieces.emplace(*tokenizer, prompt);
  std::vector<std::int32_t> stops;
  if (!options.past_stops) stops = stop_tokens(checkpoint, tokenizer ? &*tokenizer : nullptr);
  print_header(*model, options.model, ablation, options.compute);
  auto print = [&](std::int32_t id) {
    if (options.json) return;
    put_text(stdout, pieces ? pieces->add(id) : std::to_string(id) + " ");
    std::fflush(stdout);
  };
  if (!options.json && options.given.text) put_text(stdout, *options.given.text);
  const Continuation text = continue_text(reader, prompt, options.most, options.sampling, stops, print);
  if (options.json) {
    nlohmann::ordered_json out{{"prompt", prompt}, {"tokens", text.ids}};
    if (tokenizer) out["text"] = text_after(*tokenizer, prompt, text.ids);
    put_text(stdout, out.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
  } else {
    put_text(stdout, (pieces ? pieces->rest() : "") + "\n");
  }
  print_rates(text, prompt.size());
  return 0;
}

}  // namespace

EvalCommand generate_command(CLI::App& app, const Ablation& ablation) {
  auto options = std::make_shared<GenerateOptions>();
  CLI::App* generate = app.add_subcommand(
      "generate", "Continues a text. Keys and values are cached, so each new token computes one row of attention.");
  add_generation_options(generate, *options, 128);
  add_tokens_option(generate, options->given, add_text_options(generate, options->given));
  generate->add_flag("--ignore-eos,--past-stops", options->past_stops,
                     "continue after an end-of-text or end-of-turn token");
  generate->add_flag("--json", options->json, "print the ids of text and continuation at the end");
  generate->footer(
      "Example:\n  eval_llama generate MODEL.gguf --text \"Once upon a time\" \\\n    --temperature 0.8 --top-p 0.9");
  return {generate, [options, ablation] { return run_generate(*options, ablation); }};
}

}  // namespace sink
