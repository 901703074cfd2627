// eval_<ablation> score: the log-probability of continuations, and how often a model's choice is the right one.
#include <cmath>
#include <cstdio>
#include <memory>

#include "engine/io/compute_options.h"
#include "engine/io/json_lines.h"
#include "engine/io/number_check.h"
#include "engine/io/output_kind.h"
#include "engine/precision.h"
#include "eval/eval_command.h"
#include "eval/evaluated_model.h"
#include "eval/given_text.h"
#include "eval/json_output.h"
#include "eval/score/accuracy.h"
#include "eval/score/continuation_score.h"
#include "eval/score/scored_item.h"
#include "eval/sink/trained_on.h"

namespace sink {
namespace {

const OutputKind kScoresFile = kind_by_text("scores of eval_<ablation> score", "{\"line\":", {"\"tokens\":"});

struct ScoreOptions {
  std::string model, file, data;
  JsonOutput output;
  std::int64_t limit = 0, prefix_token = -1;
  ComputeOptions compute;
};

// What a continuation without context stands behind: as in lm-evaluation-harness the token that begins a text, or that
// the model's files name for it (SmolLM's tokenizer has one and puts it nowhere), else that which ends one.
std::int32_t prefix_token_of(const Tokenizer& tokenizer, const Checkpoint& checkpoint,
                             const std::vector<std::int32_t>& begin) {
  if (!begin.empty()) return begin.back();
  if (checkpoint.attributes.contains("prefix_token"))
    return static_cast<std::int32_t>(checkpoint.integer("prefix_token"));
  try {
    return tokenizer.end_of_text();
  } catch (const Error&) { return -1; }
}

PairEncoder encoder_of(const ScoreOptions& options, const Tokenizer& tokenizer, const Checkpoint& checkpoint,
                       const TrainedOn& run, const Sizes& sizes) {
  PairEncoder encoder{.tokenizer = tokenizer, .begin = {}, .prefix = -1, .longest = sizes.context};
  if (run.fixed_token >= 0 && run.fixed_position != 1)
    throw Error(options.model + " was trained with a fixed token at position " + std::to_string(run.fixed_position) +
                    " of every sequence; score takes models where it stands first, or that have none",
                Exit::usage);
  if (run.fixed_token >= 0) encoder.begin = {static_cast<std::int32_t>(run.fixed_token)};
  if (checkpoint.attributes.contains("begin_token"))
    encoder.begin = {static_cast<std::int32_t>(checkpoint.integer("begin_token"))};
  encoder.prefix = options.prefix_token >= 0 ? static_cast<std::int32_t>(options.prefix_token)
                                             : prefix_token_of(tokenizer, checkpoint, encoder.begin);
  return encoder;
}

// Scores of all parts of all continuations of all items, in order.
std::vector<std::vector<ContinuationScore>> scores_of(const std::vector<ScoredItem>& items, const PairEncoder& encode,
                                                      const std::string& file, LanguageModel& model) {
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
  char line[160];
  std::snprintf(line, sizeof line,
                "%zu continuations of %lld tokens, perplexity of a token %.4f, greedy %.2f %% +- %.2f\n", items.size(),
                static_cast<long long>(tokens), std::exp(-sum / static_cast<double>(tokens)), 100 * share.share,
                100 * share.error);
  return line;
}

int run_score(const ScoreOptions& options, const Ablation& ablation) {
  options.compute.apply();
  const std::vector<ScoredItem> items = read_scored_items(options.file, options.limit);
  options.output.require_free(kScoresFile);
  auto [checkpoint, model] = load_evaluated(options.model, ablation, stored_type(options.compute.precision),
                                            device_named(options.compute.device));
  const TrainedOn run = trained_on(checkpoint, model->sizes());
  const Tokenizer tokenizer = tokenizer_of(checkpoint, options.data.empty() ? run.data : options.data);
  const auto scores =
      scores_of(items, encoder_of(options, tokenizer, checkpoint, run, model->sizes()), options.file, *model);
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
      "The log-probability, in nats, of continuations, tokenised as lm-evaluation-harness does it. Each line of FILE "
      "is "
      "{\"context\", \"continuation\"}; {\"query\", \"choices\", \"gold\"}, of which the most likely choice is taken; "
      "{\"sentence\", \"option1\", \"option2\", \"answer\"} as of WinoGrande; or {\"text\"}, whose last word is "
      "scored, "
      "as of LAMBADA. A terminal gets only the accuracy, next to that of chance. A pipe, --out and --json get a line "
      "of JSON for each, in the same order: log-probabilities, how many tokens, whether each token is the most likely "
      "one.");
  score->add_option("checkpoint,--model", options->model, kWhatIsEvaluated)->required();
  score->add_option("file", options->file, "JSONL; - is standard input (of a packed file: xz -dc FILE | ... -)")
      ->required();
  score->add_option("--limit", options->limit, "the first so many lines alone [all]")->check(whole_number(1));
  score
      ->add_option("--prefix-token", options->prefix_token,
                   "id that a continuation without context stands behind [the token that begins texts, by the model's "
                   "own files, or ends them]")
      ->check(whole_number(0, INT32_MAX));
  score->add_option("--data", options->data, "data folder whose tokenizer to take, where the checkpoint has none");
  add_machine_options(score, options->compute, {"f32", "bf16", "tf32", "f64"});
  add_json_output_options(score, options->output, "the lines", "JSONL");
  score->footer("Example:\n  xz -dc sciq.jsonl.xz | eval_llama score MODEL.gguf - --limit 100 --out sciq.scores.jsonl");
  return {score, [options, ablation] { return run_score(*options, ablation); }};
}

}  // namespace sink
