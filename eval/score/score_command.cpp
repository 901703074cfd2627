// eval_<ablation> score: the log-probability of continuations, and the accuracy of choices.
#include <cmath>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>

#include "engine/io/bounded_json.h"
#include "engine/io/compute_options.h"
#include "engine/io/output_kind.h"
#include "engine/io/setting.h"
#include "engine/io/str_format.h"
#include "eval/eval_command.h"
#include "eval/evaluated_model.h"
#include "eval/input_options.h"
#include "eval/json_output.h"
#include "eval/score/accuracy.h"
#include "eval/score/continuation_score.h"
#include "eval/score/scored_item.h"
#include "eval/sink/trained_on.h"
#include "eval/text_sequences.h"

namespace sink {
namespace {

const OutputKind kScoresFile = kind_by_text("scores of eval_<ablation> score", "{\"line\":", {"\"tokens\":"});

struct ScoreOptions {
  std::string model, file, data;
  JsonOutput output;
  std::int64_t limit = 0, prefix_token = -1;
  std::optional<bool> bos;
  ComputeOptions compute;
};

// The context of a continuation without one, as in lm-evaluation-harness: the begin token of texts, or the one in the
// files of the model (the tokenizer of SmolLM has one but does not add it), else the end-of-text token.
std::int32_t prefix_token_of(const Tokenizer& tokenizer, const Checkpoint& checkpoint,
                             const std::vector<std::int32_t>& begin) {
  if (!begin.empty()) return begin.back();
  if (const std::int64_t prefix = integer_or(checkpoint, "prefix_token", -1); prefix >= 0)
    return static_cast<std::int32_t>(prefix);
  try {
    return tokenizer.end_of_text();
  } catch (const Error&) { return -1; }
}

PairEncoder encoder_of(const ScoreOptions& options, const Tokenizer& tokenizer, const Checkpoint& checkpoint,
                       const TrainedOn& run, const Sizes& sizes) {
  PairEncoder encoder{.tokenizer = tokenizer, .begin = {}, .prefix = -1, .longest = sizes.context};
  const std::int64_t begin = first_token(checkpoint, run, "score", options.bos);
  if (begin >= 0) encoder.begin = {static_cast<std::int32_t>(begin)};
  if (options.prefix_token >= sizes.vocabulary)
    throw Error("--prefix-token must be below the " + std::to_string(sizes.vocabulary) +
                    " tokens of the model's vocabulary, got " + std::to_string(options.prefix_token),
                Exit::usage);
  encoder.prefix = options.prefix_token >= 0 ? static_cast<std::int32_t>(options.prefix_token)
                                             : prefix_token_of(tokenizer, checkpoint, encoder.begin);
  return encoder;
}

// [item][pair]
std::vector<std::vector<ContinuationScore>> scores_of(const std::vector<ScoredItem>& items, const PairEncoder& encode,
                                                      const std::string& file, LanguageModel& model,
                                                      const std::function<void()>& before_computation) {
  EncodeCache cache;
  std::vector<ContinuationTokens> tokens;
  std::vector<std::vector<std::size_t>> ends;
  for (const ScoredItem& item : items) {
    ends.emplace_back();
    for (const ScorePair& pair : item.pairs) try {
        const std::vector<ContinuationTokens> parts = encode(pair, cache);
        tokens.insert(tokens.end(), parts.begin(), parts.end());
        ends.back().push_back(tokens.size());
      } catch (const JsonFailure& failure) {
        fail("score", file + ": line " + std::to_string(item.line) + ": " + failure.what(), Exit::bad_input);
      }
  }
  before_computation();
  const std::vector<ContinuationScore> parts = score_continuations(model, tokens);
  std::vector<std::vector<ContinuationScore>> scores;
  std::size_t at = 0;
  for (const std::vector<std::size_t>& of_item : ends) {
    scores.emplace_back();
    for (const std::size_t end : of_item) {
      ContinuationScore whole;
      for (; at < end; ++at) {
        whole.logprobs.insert(whole.logprobs.end(), parts[at].logprobs.begin(), parts[at].logprobs.end());
        whole.greedy.insert(whole.greedy.end(), parts[at].greedy.begin(), parts[at].greedy.end());
      }
      scores.back().push_back(whole);
    }
  }
  return scores;
}

Choices choices_of(const ScoredItem& item, const std::vector<ContinuationScore>& scores) {
  Choices choices{.logprobs = {}, .bytes = item.bytes, .gold = *item.gold};
  for (const ContinuationScore& score : scores) choices.logprobs.push_back(score.sum());
  return choices;
}

std::string json_line(const ScoredItem& item, const std::vector<ContinuationScore>& scores) {
  nlohmann::ordered_json line{{"line", item.line}};
  if (item.gold) {
    const Choices choices = choices_of(item, scores);
    std::vector<std::size_t> tokens;
    for (const ContinuationScore& score : scores) tokens.push_back(score.logprobs.size());
    line.update({{"logprobs", choices.logprobs},
                 {"tokens", tokens},
                 {"choice", choices.by_sum()},
                 {"choice_by_bytes", choices.by_bytes()},
                 {"gold", choices.gold}});
  } else {
    line.update({{"logprob", scores[0].sum()},
                 {"tokens", scores[0].logprobs.size()},
                 {"greedy", scores[0].all_greedy()},
                 {"token_logprobs", scores[0].logprobs},
                 {"token_greedy", scores[0].greedy}});
  }
  return line.dump() + "\n";
}

std::string summary_of(const std::vector<ScoredItem>& items,
                       const std::vector<std::vector<ContinuationScore>>& scores) {
  if (items[0].gold) {
    std::vector<Choices> questions;
    for (std::size_t i = 0; i < items.size(); ++i) questions.push_back(choices_of(items[i], scores[i]));
    return accuracy_table(accuracy_of(questions));
  }
  std::int64_t tokens = 0, greedy = 0;
  double sum = 0;
  for (const std::vector<ContinuationScore>& score : scores) {
    tokens += static_cast<std::int64_t>(score[0].logprobs.size());
    greedy += score[0].all_greedy();
    sum += score[0].sum();
  }
  const Share share = share_of(greedy, static_cast<std::int64_t>(items.size()));
  return str_format("%zu continuations of %lld tokens, perplexity of a token %.4f, greedy %.2f %% +- %.2f\n",
                    items.size(), tokens, std::exp(-sum / static_cast<double>(tokens)), 100 * share.share,
                    100 * share.error);
}

int run_score(const ScoreOptions& options, const Ablation& ablation) {
  const std::vector<ScoredItem> items = read_scored_items(options.file, options.limit);
  options.output.require_free(kScoresFile);
  auto [checkpoint, model] = load_evaluated(options.model, ablation, options.compute);
  const TrainedOn run = trained_on(checkpoint, model->sizes());
  const Tokenizer tokenizer = tokenizer_of(checkpoint, options.data.empty() ? run.data : options.data);
  const PairEncoder encoder = encoder_of(options, tokenizer, checkpoint, run, model->sizes());
  const auto scores = scores_of(items, encoder, options.file, *model,
                                [&] { print_header(*model, options.model, ablation, options.compute); });
  std::string lines;
  for (std::size_t i = 0; i < items.size(); ++i) lines += json_line(items[i], scores[i]);
  options.output.write(summary_of(items, scores), lines);
  return 0;
}

}  // namespace

EvalCommand score_command(CLI::App& app, const Ablation& ablation) {
  auto options = std::make_shared<ScoreOptions>();
  CLI::App* score = app.add_subcommand(
      "score",
      "Scores continuations by their log-probability. It follows lm-evaluation-harness. Each line of FILE is "
      "{\"context\", \"continuation\"}; {\"query\", \"choices\", \"gold\"} (the most probable choice is taken); "
      "{\"sentence\", \"option1\", \"option2\", \"answer\"} as in WinoGrande; or {\"text\"}, whose last word is "
      "scored, as in LAMBADA. A terminal shows the accuracy next to that of chance. A pipe, --out and --json get one "
      "line of JSON per line of FILE: log-probabilities in nats, the number of tokens, and whether every token is the "
      "most probable one. Its accuracy by log-probability per byte is acc_bytes of lm-evaluation-harness, whose "
      "acc_norm divides by characters.");
  score->add_option("checkpoint,--model", options->model, kWhatIsEvaluated)->required();
  score->add_option("file", options->file, "JSONL; - is standard input (of a packed file: xz -dc FILE | ... -)")
      ->required();
  score->add_option("--limit", options->limit, "number of lines to score [all]")->check(whole_number(1));
  score
      ->add_option("--prefix-token", options->prefix_token,
                   "id of the token before text without a context [the begin token of the model, or its "
                   "end-of-text token]")
      ->check(whole_number(0, INT32_MAX));
  add_bos_option(score, options->bos);
  score->add_option("--data", options->data, "data folder of the tokenizer; for checkpoints without one");
  add_machine_options(score, options->compute);
  add_json_output_options(score, options->output, "the lines", "JSONL");
  score->footer(
      "Example:\n  xz -dc sciq.jsonl.xz | eval_llama score MODEL.gguf - \\\n    --limit 100 --out sciq.scores.jsonl");
  return {score, [options, ablation] { return run_score(*options, ablation); }};
}

}  // namespace sink
