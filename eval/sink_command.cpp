// eval_<ablation> sink: everything that is measured of attention, as a table and as JSON.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>

#include "engine/data/data_source.h"
#include "engine/io/build_info.h"
#include "engine/io/file.h"
#include "engine/io/output_kind.h"
#include "engine/io/sha256.h"
#include "engine/precision.h"
#include "eval/compute_options.h"
#include "eval/eval_command.h"
#include "eval/evaluated_model.h"
#include "eval/evaluation_json.h"
#include "eval/evaluation_maps.h"
#include "eval/evaluation_table.h"
#include "eval/given_input.h"
#include "eval/given_text.h"
#include "eval/input_tokens.h"
#include "eval/sink_by_length.h"
#include "eval/trained_on.h"
#include "eval/validation_text.h"
#include "eval/what_fits.h"

namespace sink {
namespace {

constexpr std::int64_t kStudyContext = 64;  // tokens of a sequence in the study's measurements

const OutputKind kEvaluationFile =
    kind_by_text("an evaluation of eval_<ablation> sink", "{", {"\"schema\"", "\"policies\""});

struct SinkOptions {
  std::string checkpoint, out, input = "text", map = "auto";
  GivenInput given;
  ComputeOptions compute;
  std::int64_t sequences = 100;
  std::vector<double> epsilons;
  std::vector<std::int64_t> lengths;
  std::uint64_t seed = 0;
  bool force = false;

  std::string input_name() const { return given.tokens ? "tokens" : given.any() ? "sentence" : input; }
};

// Of the ids as they stand in memory.
std::string checksum_of(const Tensor& tokens_NT) {
  return sha256_hex({static_cast<const char*>(tokens_NT.raw()), tokens_NT.bytes()});
}

// Validation sequences of T tokens of the data the run was trained on.
Batch text_tokens(const DataSource& data, std::int64_t sequences) {
  return data.validation_batch(0, std::min(sequences, data.validation_sequences()));
}

// Which map is asked for, known to be there: "auto", "none" or "LAYER,HEAD".
struct MapChoice {
  bool wanted = true;
  std::optional<std::pair<std::int64_t, std::int64_t>> layer_head;  // none: chosen by weight (eval/evaluation_maps.h)
};
MapChoice map_choice(const std::string& asked, const Sizes& sizes) {
  if (asked == "none" || asked == "auto") return {.wanted = asked == "auto", .layer_head = {}};
  long long layer = 0, head = 0;
  int read = 0;
  if (std::sscanf(asked.c_str(), "%lld,%lld%n", &layer, &head, &read) != 2 ||
      asked.size() != static_cast<std::size_t>(read))
    throw Error("--map must be auto, none or LAYER,HEAD such as 0,3; got `" + asked + "`", Exit::usage);
  if (layer < 0 || layer >= sizes.layers || head < 0 || head >= sizes.heads)
    throw Error("--map must be of a layer from 0 to " + std::to_string(sizes.layers - 1) + " and a head from 0 to " +
                    std::to_string(sizes.heads - 1) + ", got `" + asked + "`",
                Exit::usage);
  return {.wanted = true, .layer_head = std::pair<std::int64_t, std::int64_t>{layer, head}};
}

// What the model is to read. `data` is there for the input "text".
Batch input_of(const SinkOptions& options, const Checkpoint& checkpoint, const Sizes& sizes, const DataSource* data,
               std::int64_t context) {
  if (data) return text_tokens(*data, options.sequences);
  if (options.given.any())
    return given_tokens(options.given.sequences(checkpoint, sizes), sizes.vocabulary, sizes.prefix);
  // Which targets count is the data's business; here as there, what sees its next token has nothing to predict.
  std::int64_t ignored = std::max<std::int64_t>(0, sizes.prefix - 1);
  auto make_tokens = options.input == "random" ? random_tokens : repeated_tokens;
  return make_tokens(sizes.vocabulary, options.sequences, context, options.seed, ignored);
}

// Everything the JSON says beside the numbers.
EvaluationContext context_of(const SinkOptions& options, const Ablation& ablation, const Checkpoint& checkpoint,
                             const LanguageModel& model, const TrainedOn& run, const DataSource* data,
                             const Batch& input) {
  auto whole = [&](const char* name) { return checkpoint.attributes.contains(name) ? checkpoint.integer(name) : 0; };
  const GivenInput& given = options.given;
  return {
      .run = options.checkpoint,
      .task = run.task,
      .ablation = ablation.name,
      .policies = ablation.policies,
      .precision = options.compute.precision,
      .device = description_of(device_named(options.compute.device)),
      .commit = build_commit(),
      .config_toml = attribute_or(checkpoint, "config_toml", ""),
      .input = options.input_name(),
      .input_seed = options.seed,
      .data_sha256 = attribute_or(checkpoint, "data_sha256", ""),
      .data = given.any()          ? given.name()
              : !data              ? ""
              : given.data.empty() ? run.data
                                   : given.data,
      .input_sha256 = given.any() ? checksum_of(input.tokens_BT()) : "",
      .seed = run.seed,
      .step = whole("step"),
      .steps = run.steps,
      .tokens = whole("tokens"),
      .parameters = model.parameters().count(),
      .token_text = token_labels(checkpoint, data),
  };
}

// What of the two was not given: the thresholds of the other scores; the length of the sequences.
std::vector<double> epsilons_of(const SinkOptions& options) {
  if (!options.epsilons.empty()) return options.epsilons;
  return {kSinkEpsilons.begin(), kSinkEpsilons.end()};
}
std::vector<std::int64_t> lengths_of(const SinkOptions& options, const Batch& input) {
  for (std::int64_t length : options.lengths)
    if (length > input.context())
      throw Error("--length must be at most the " + std::to_string(input.context()) + " tokens that are read, got " +
                      std::to_string(length),
                  Exit::usage);
  if (!options.lengths.empty()) return options.lengths;
  return {input.context()};
}

int run_sink(const SinkOptions& options, const Ablation& ablation) {
  options.compute.apply();
  auto [checkpoint, model] = load_evaluated(options.checkpoint, ablation, stored_type(options.compute.precision),
                                            device_named(options.compute.device));
  const Sizes& sizes = model->sizes();
  TrainedOn run = trained_on(checkpoint, sizes);
  run.context = options.given.context;
  for (std::int64_t length : options.lengths) require_context(length, sizes, "--length");
  if (run.context == 0 && !options.lengths.empty())
    run.context = *std::max_element(options.lengths.begin(), options.lengths.end());
  if (run.context == 0) run.context = std::min(std::max(kStudyContext, sizes.prefix + 1), sizes.context);
  require_context(run.context, sizes);
  run.eval_sequences = options.sequences;
  bool is_text = options.input_name() == "text";
  std::unique_ptr<DataSource> data =
      is_text ? validation_text(options.checkpoint, checkpoint, run, options.given.data, sizes) : nullptr;
  Batch input = input_of(options, checkpoint, sizes, data.get(), run.context);
  MapChoice map = map_choice(options.map, sizes);

  if (!options.out.empty()) require_output(options.out, kEvaluationFile, options.force);
  std::int64_t batch = std::min(options.compute.batch_of(input.context()), input.sequences());
  const bool by_length = !options.epsilons.empty() || !options.lengths.empty();
  const std::vector<std::int64_t> lengths = by_length ? lengths_of(options, input) : std::vector<std::int64_t>();
  Evaluation evaluation = in_batches_that_fit(batch, [&](std::int64_t n) {
    Evaluation measured = evaluate(*model, input, n, false);
    keep_sinks_by_length(*model, input, n, epsilons_of(options), lengths, measured);
    return measured;
  });
  if (map.wanted) keep_maps(*model, input, map.layer_head, evaluation);
  std::fputs(evaluation_table(evaluation, data ? run.task : options.input_name()).c_str(), stderr);
  if (!evaluation.by_length.lengths.empty()) std::fputs(sinks_by_length_table(evaluation.by_length).c_str(), stderr);
  std::string json =
      evaluation_json(evaluation, context_of(options, ablation, checkpoint, *model, run, data.get(), input));
  if (options.out.empty())
    std::fputs(json.c_str(), stdout);
  else
    write_file_atomically(options.out, json);
  return 0;
}

// What is read: the run's own text, tokens that are drawn, or what is given.
void add_input_options(CLI::App* sink, SinkOptions& options) {
  CLI::Option* input =
      sink->add_option(
              "--input", options.input,
              "text: validation sequences of the run's data; random: tokens uniform over the vocabulary; repeated: "
              "one uniform token per sequence")
          ->check(CLI::IsMember({"text", "random", "repeated"}))
          ->capture_default_str();
  std::vector<CLI::Option*> texts = add_text_options(sink, options.given);
  CLI::Option* tokens = add_tokens_option(sink, options.given, texts);
  CLI::Option* context =
      sink->add_option("--context", options.given.context,
                       "tokens per sequence, at most the training context [64 or less; of --text all]")
          ->check(CLI::PositiveNumber);
  CLI::Option* sequences =
      sink->add_option("--sequences", options.sequences, "how many")->check(CLI::PositiveNumber)->capture_default_str();
  CLI::Option* seed = sink->add_option("--seed", options.seed, "of random and repeated tokens")->capture_default_str();
  sink->add_option("--data", options.given.data, "another data folder than the run's");
  sink->add_option("--length", options.lengths,
                   "Sink_k also of the first T tokens of every sequence, for these T, such as 16,32,64; without "
                   "--context, sequences are as long as the longest")
      ->delimiter(',')
      ->check(CLI::PositiveNumber);
  sink->add_option("--epsilon", options.epsilons,
                   "Sink_k also at these thresholds, such as 0.1,0.2,0.3 [with --length 0.2,0.3,0.4]; the other scores "
                   "keep theirs, the study's 0.3 among them")
      ->delimiter(',')
      ->check(CLI::Range(0.0, 1.0));
  context->excludes(tokens);
  for (CLI::Option* given : {texts[0], texts[1], tokens})
    for (CLI::Option* other : {input, sequences, seed}) given->excludes(other);
}

}  // namespace

EvalCommand sink_command(CLI::App& app, const Ablation& ablation) {
  auto options = std::make_shared<SinkOptions>();
  CLI::App* sink = app.add_subcommand(
      "sink",
      "Sink_k and alpha_k (k = 1 ... 10, and * for an extra key or sink token), raw and proxy; row mass, entropy, "
      "norms by position, massive activations, the split of q.k into norms and cosine, and maps. A table goes to "
      "stderr, evaluation JSON (eval/evaluation_json.h) to stdout or --out.");
  sink->add_option("checkpoint,--model", options->checkpoint, kWhatIsEvaluated)->required();
  add_input_options(sink, *options);
  sink->add_option(
          "--map", options->map,
          "maps in the JSON: auto (of all heads, of as many of the first sequences as make a small file, up to 256 "
          "tokens), none, or LAYER,HEAD to be shown first, of any length")
      ->capture_default_str();
  add_compute_options(sink, options->compute, {"f32", "bf16", "tf32", "f64"});
  sink->add_option("--out", options->out, "write the JSON to this file");
  sink->add_flag("--force", options->force, "let --out replace a file that is no such JSON");
  return {sink, [options, ablation] { return run_sink(*options, ablation); }};
}

}  // namespace sink
