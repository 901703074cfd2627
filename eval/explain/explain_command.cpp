// eval_<ablation> explain: one query's whole computation in scalars, forward and backward.
#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/data/tokenizer/bpe_trainer.h"
#include "engine/io/file.h"
#include "engine/io/printable.h"
#include "engine/io/setting.h"
#include "engine/threads.h"
#include "eval/eval_command.h"
#include "eval/evaluated_model.h"
#include "eval/explain/explanation_output.h"
#include "eval/input_options.h"
#include "eval/sink/trained_on.h"
#include "model/size_settings.h"

namespace sink {

// The model and tokens that are explained: a checkpoint, or without one a small model with initial values. The
// debugger knows this name (tools/gdb/sinklab/tokens.py).
struct ExplainedModel {
  std::unique_ptr<LanguageModel> model;  // F64
  Tensor tokens_1T;
  std::function<std::string(std::int32_t)> token_text;
  std::vector<std::string> words_T;  // texts of tokens_1T, for the command sink-row of the debugger
  bool trained = false;
  std::string what;  // "runs/sink/checkpoint.h5, step 2000", "an initial model (seed 0), not trained: ..."
};

namespace {

constexpr std::int64_t kLongestInitial = 1024;  // tokens; the naive attention then takes seconds

// Sizes that the user gives for the initial model, by flag without dashes.
using GivenSizes = std::map<std::string, std::string>;

Tensor first_sequence(const Tensor& tokens_NT) {
  if (tokens_NT.dim(0) > 1)
    std::fprintf(stderr, "note: the first of %lld sequences is explained\n", static_cast<long long>(tokens_NT.dim(0)));
  return tokens_NT.rows(0, 1);
}

std::vector<std::string> words_of(const ExplainedModel& explained) {
  std::vector<std::string> words;
  for (std::int64_t t = 0; t < explained.tokens_1T.size(); ++t)
    words.push_back(explained.token_text(static_cast<std::int32_t>(explained.tokens_1T.item(t))));
  return words;
}

// The sizes of train_<name> --tiny with these changes and a context of at least T tokens. Throws Exit::usage for
// invalid sizes.
Sizes tiny_sizes(const GivenSizes& given, std::int64_t T, std::int64_t vocabulary) {
  Sizes sizes{.layers = 2, .heads = 2, .width = 16, .feed_forward = 16, .context = 16, .vocabulary = vocabulary};
  sizes.context = std::max(sizes.context, T);
  for (const auto& [flag, text] : given) setting_named(size_settings(), flag)->set(sizes, text, option_of_size(flag));
  std::string error = validate(sizes, option_of_size);
  if (!error.empty()) throw Error(error, Exit::usage);
  return sizes;
}

// Throws Error like load_model and InputOptions::sequences.
ExplainedModel model_of_checkpoint(const std::string& path, const InputOptions& given, const Ablation& ablation) {
  ExplainedModel explained;
  auto [checkpoint, model] = load_evaluated(path, ablation, DType::F64);
  explained.model = std::move(model);
  const Sizes& sizes = explained.model->sizes();
  explained.tokens_1T = first_sequence(given.sequences(checkpoint, sizes));
  TrainedOn run = trained_on(checkpoint, sizes);
  std::shared_ptr<DataSource> data;
  if (run.task != "text")
    data =
        make_data_source(run, run.context, run.prefix);  // a synthetic task has token texts; text data may have moved
  explained.token_text = [data, of_id = token_labels(checkpoint, data.get())](std::int32_t id) {
    return data && id >= data->vocabulary() ? std::to_string(id) : of_id(id);
  };
  explained.words_T = words_of(explained);
  const std::int64_t step = integer_or(checkpoint, "step", -1);
  explained.trained = step != 0;
  explained.what = path + (step < 0 ? "" : ", step " + std::to_string(step) + (step == 0 ? ": not trained" : ""));
  return explained;
}

// Initial values by `seed`, one token for each byte of the text.
ExplainedModel initial_model(const InputOptions& given, const GivenSizes& sizes, std::uint64_t seed,
                             const Ablation& ablation) {
  set_thread_count(1);  // so that a debugger stops at the rows in order
  auto bytes = std::make_shared<Tokenizer>(Tokenizer::train({}, kSmallestVocabulary));
  ExplainedModel explained;
  explained.tokens_1T = first_sequence(given.sequences(*bytes, kLongestInitial));
  explained.model = ablation.make_model(tiny_sizes(sizes, explained.tokens_1T.dim(1), bytes->vocabulary()),
                                        InitScheme::torch, seed, DType::F64);
  explained.token_text = [bytes](std::int32_t id) { return bytes->token_text(id); };
  explained.words_T = words_of(explained);
  explained.what = "an initial model, NOT TRAINED: seed " + std::to_string(seed) +
                   ", one token for each byte (give a checkpoint to explain a trained one)";
  return explained;
}

struct ExplainRequest {
  std::string checkpoint;
  InputOptions given;
  GivenSizes sizes;
  std::optional<std::uint64_t> seed;
  ExplainOptions what;
  std::string html;
  bool all_numbers = false, json = false, force = false;
};

void write_page(const ExplainRequest& request, const Explanation& explanation, const ExplanationStyle& style,
                const std::string& command) {
  std::string page = explanation_page(explanation, style, command);
  write_file_atomically(request.html, page);
  std::fprintf(stderr, "%s, %.2f MB\n", printable(request.html).c_str(), static_cast<double>(page.size()) / 1e6);
}

int run_explain(const ExplainRequest& request, const Ablation& ablation) {
  if (!request.given.any()) throw Error("explain needs --text, --text-file or --tokens; see --help", Exit::usage);
  if (!request.checkpoint.empty() && (request.seed || !request.sizes.empty()))
    throw Error(
        "--seed and sizes are of the initial model that is explained without a checkpoint; leave them or it out",
        Exit::usage);
  ExplainedModel explained = request.checkpoint.empty()
                                 ? initial_model(request.given, request.sizes, request.seed.value_or(0), ablation)
                                 : model_of_checkpoint(request.checkpoint, request.given, ablation);
  if (!request.html.empty()) require_output(request.html, explanation_page_kind(), request.force);
  ExplainOptions what = request.what;
  what.all_queries = !request.html.empty();
  Explanation explanation = explain(*explained.model, explained.tokens_1T, what);
  ExplanationStyle style{explained.what, explained.token_text, request.all_numbers};
  put_text(request.json ? stderr : stdout, explanation_table(explanation, style));
  if (request.json)
    put_text(stdout, explanation_json(explanation, style, ablation.name, ablation.policies, explained.trained));
  if (!request.html.empty()) write_page(request, explanation, style, "eval_" + ablation.name + " explain");
  return 0;
}

// What belongs to the initial model alone.
void add_initial_options(CLI::App* explain, ExplainRequest& request) {
  const char* group = "The initial model that eval_<ablation> explains without a checkpoint";
  const SettingRule seed{.flag = "seed", .group = group, .help = "of its initial values", .of_kind = std::uint64_t{0}};
  auto keep_seed = [&request, seed](const std::string& text) {
    request.seed = std::get<std::uint64_t>(seed.read(text, "--seed"));
  };
  explain->add_option_function<std::string>("--seed", keep_seed, seed.help)->option_text("INT [0]")->group(group);
  const Sizes usual = tiny_sizes({}, 0, 0);
  for (const Setting<Sizes>& size : size_settings()) {
    if (size.flag == "context" || size.flag == "vocabulary") continue;  // from the text; 256 bytes
    auto keep = [&request, flag = size.flag](const std::string& text) { request.sizes[flag] = text; };
    explain->add_option_function<std::string>(size.options(), keep, size.help)
        ->option_text(size.kind() + " [" + plain_text(size.value(usual)) + "]")
        ->group(group);
  }
}

}  // namespace

EvalCommand explain_command(CLI::App& app, const Ablation& ablation) {
  auto request = std::make_shared<ExplainRequest>();
  CLI::App* explain = app.add_subcommand(
      "explain",
      "Shows how one row of attention is computed. All values are in double, named as in "
      "engine/ops/attention/attention.h: the scores, split into norms, cosine and bias, m, S, the "
      "weights, and what each value adds to the output; with --backward also the gradients. The "
      "default is the last token as the query, in the first head of the first layer that has it. Without a "
      "checkpoint, eval_<ablation> explains a small untrained model; there, `--text ...` alone "
      "does the same.");
  explain->add_option("--checkpoint,--model,model", request->checkpoint, kWhatIsEvaluated);
  add_tokens_option(explain, request->given, add_text_options(explain, request->given));
  explain->add_option("--data", request->given.data, "data folder of the tokenizer; for checkpoints without one");
  explain->add_option("--layer", request->what.place.layer, "layer, from 0 [the first that has attention]")
      ->check(whole_number(0));
  explain->add_option("--head", request->what.place.head, "head, from 0")
      ->check(whole_number(0))
      ->capture_default_str();
  explain
      ->add_option("--query", request->what.place.query,
                   "position of the query, from 0; a sink token, where there is one, is 0 [the last; with "
                   "--backward the one before, since the last predicts nothing]")
      ->check(whole_number(0));
  explain->add_flag("--backward", request->what.backward,
                    "also gradients; of the mean cross-entropy of the next tokens");
  explain->add_flag("--full", request->all_numbers,
                    "whole vectors and all keys; without it, the first four elements and keys of a short row");
  explain->add_flag("--json", request->json,
                    "print JSON on stdout, the table on stderr; eval/explain/explanation_output.h describes the JSON");
  explain->add_option("--html", request->html,
                      "write a page that steps through the row; for any browser, without network");
  explain->add_flag("--force", request->force, "let --html replace a file that is no such page");
  add_initial_options(explain, *request);
  explain->footer(
      "Examples:\n  eval_baseline --text \"hello\"\n"
      "  eval_baseline explain runs/sink/checkpoint.h5 --tokens ids.txt \\\n"
      "    --layer 1 --head 3 --backward\n"
      "  gdb -ix tools/gdb/sinklab.py -ex 'break attention_row' --args \\\n"
      "    build/debug/eval_baseline --text \"hello\"");
  return {explain, [request, ablation] {
            request->given.min_tokens = request->what.backward ? 2 : 1;
            return run_explain(*request, ablation);
          }};
}

}  // namespace sink
