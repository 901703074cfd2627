// eval_<ablation> sink: measures the attention sink, as a table and as JSON.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "engine/data/data_source.h"
#include "engine/io/build_info.h"
#include "engine/io/compute_options.h"
#include "engine/io/output_kind.h"
#include "engine/io/setting.h"
#include "engine/io/sha256.h"
#include "eval/eval_command.h"
#include "eval/evaluated_model.h"
#include "eval/input_options.h"
#include "eval/input_tokens.h"
#include "eval/interventions/position_intervention.h"
#include "eval/json_output.h"
#include "eval/sink/attention_patterns.h"
#include "eval/sink/evaluation_json.h"
#include "eval/sink/evaluation_table.h"
#include "eval/sink/measured_input.h"
#include "eval/sink/trained_on.h"
#include "eval/text_sequences.h"
#include "model/size_settings.h"

namespace sink {
namespace {

// Not what a run measured at its end, which names the machine of its training.
OutputKind evaluation_file() {
  const OutputKind any = kind_by_text("an evaluation of eval_<ablation> sink", "{", {"\"schema\"", "\"sink_epsilon\""}),
                   of_run = kind_by_text("", "{", {"\n \"machine\": "});
  return {any.noun, [=](const std::string& path) { return any.recognises(path) && !of_run.recognises(path); }};
}

struct SinkOptions {
  std::string checkpoint, input = "text", map = "auto", positions;
  JsonOutput output;
  InputOptions given;
  ComputeOptions compute;
  std::int64_t sequences = 100;
  std::vector<double> epsilons;
  std::vector<std::int64_t> lengths;
  std::uint64_t seed = 0;
  bool all_inputs = false;

  std::string input_name() const {
    return given.tokens ? "tokens" : given.is_jsonl() ? "texts" : given.any() ? "sentence" : input;
  }
};

// --map: "auto", "none" or "LAYER,HEAD", which exists.
struct PatternChoice {
  bool wanted = true;
  std::optional<std::pair<std::int64_t, std::int64_t>> layer_head = {};  // none: head_to_show()
};
PatternChoice pattern_choice(const std::string& map, const Sizes& sizes) {
  if (map == "none" || map == "auto") return {.wanted = map == "auto"};
  long long layer = 0, head = 0;
  int read = 0;
  if (std::sscanf(map.c_str(), "%lld,%lld%n", &layer, &head, &read) != 2 ||
      map.size() != static_cast<std::size_t>(read))
    throw Error("--map must be auto, none or LAYER,HEAD such as 0,3; got `" + map + "`", Exit::usage);
  if (layer < 0 || layer >= sizes.layers || head < 0 || head >= sizes.heads)
    throw Error("--map must be of a layer from 0 to " + std::to_string(sizes.layers - 1) + " and a head from 0 to " +
                    std::to_string(sizes.heads - 1) + ", got `" + map + "`",
                Exit::usage);
  if (!sizes.has_attention(layer))
    throw Error("--map must be of a layer with attention, of " + layers_with_attention(sizes) + "; got `" + map + "`",
                Exit::usage);
  return {.layer_head = std::pair<std::int64_t, std::int64_t>{sizes.attention_index(layer), head}};
}

// `kind`: "random" or "repeated". With a prefix, targets that the model sees are ignored.
Batch sampled_tokens(const SinkOptions& options, const std::string& kind, const Sizes& sizes, std::int64_t context) {
  auto sample = kind == "random" ? random_tokens : repeated_tokens;
  return sample(sizes.vocabulary, options.sequences, context, options.seed,
                std::max<std::int64_t>(0, sizes.prefix - 1));
}

// The sequences to measure; `data` is set for the input "text".
Input input_of(const SinkOptions& options, const Checkpoint& checkpoint, const TrainedOn& run, const Sizes& sizes,
               const DataSource* data) {
  if (data) return {data->validation_batch(0, std::min(options.sequences, data->validation_sequences()))};
  if (!options.given.any()) return {sampled_tokens(options, options.input, sizes, run.context)};
  return given_input(options.given, checkpoint, run, sizes);
}

using TokenLabels = std::function<std::string(std::int32_t)>;

// One measurement: the model, the options, and where the model comes from.
struct SinkRun {
  const SinkOptions& options;
  const Ablation& ablation;
  const Checkpoint& checkpoint;
  LanguageModel& model;
  TrainedOn run;
  PatternChoice patterns;
  TokenLabels model_labels;  // by the tokenizer of the model, or ids

  std::int64_t replaced_position() const {
    return options.positions.empty() ? 1 : position_intervention(options.positions).t;
  }

  // The lengths of by_length: --length, or else that of the sequences if another option asks for by_length.
  std::vector<std::int64_t> lengths_of(const Batch& input) const {
    for (std::int64_t length : options.lengths)
      if (length > input.context())
        throw Error("--length must be at most the " + std::to_string(input.context()) + " tokens that are read, got " +
                        std::to_string(length),
                    Exit::usage);
    if (!options.lengths.empty()) return options.lengths;
    if (options.epsilons.empty() && options.positions.empty()) return {};
    return {input.context()};
  }

  // Text has the fixed token of the run where the run has it; tokens of another kind do not.
  std::optional<FixedToken> fixed_token(const DataSource* data) const {
    const bool text = data || (options.given.any() && !options.given.tokens);
    return text ? moved_fixed_token(run) : std::nullopt;
  }

  Evaluation measure(const Batch& given, bool with_patterns, const DataSource* data) const {
    const std::vector<std::int64_t> lengths = lengths_of(given);
    const std::vector<double> epsilons =
        options.epsilons.empty() ? std::vector<double>{kSinkEpsilons.begin(), kSinkEpsilons.end()} : options.epsilons;
    Evaluation evaluation = evaluate_in_batches(model, checkpoint, given, options.compute, fixed_token(data),
                                                [&](const Batch& input, std::int64_t n, Evaluation& measured) {
                                                  add_sinks_by_length(model, input, n, epsilons, lengths, measured,
                                                                      std::max(kSinkPositions, replaced_position()));
                                                });
    if (patterns.wanted && with_patterns) add_patterns(model, given, patterns.layer_head, evaluation);
    return evaluation;
  }

  std::string json(const Evaluation& evaluation, const Batch& input, const DataSource* data) const {
    const InputOptions& given = options.given;
    const Tensor& ids = input.tokens_BT();
    return evaluation_json(
        evaluation, {.run = options.checkpoint,
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
                     .initial_sha256 = attribute_or(checkpoint, "initial_sha256", ""),
                     .positions = options.positions,
                     .data = given.any()          ? given.name()
                             : !data              ? ""
                             : given.data.empty() ? run.data
                                                  : given.data,
                     .measured_data_sha256 = data ? data->checksum() : "",
                     .input_sha256 = given.any() ? sha256_hex({static_cast<const char*>(ids.raw()), ids.bytes()}) : "",
                     .seed = run.seed,
                     .step = integer_or(checkpoint, "step", 0),
                     .steps = run.steps,
                     .tokens = integer_or(checkpoint, "tokens", 0),
                     .parameters = model.parameters().count(),
                     .token_text = data ? token_labels(checkpoint, data) : model_labels});
  }
};

void measure_input(const SinkRun& run, const Batch& input, const DataSource* data) {
  const Evaluation evaluation = run.measure(input, true, data);
  std::string table = evaluation_table(evaluation, data ? run.run.task : run.options.input_name());
  if (!evaluation.by_length.lengths.empty())
    table += sinks_by_length_table(evaluation.by_length, run.replaced_position());
  run.options.output.write(table, run.json(evaluation, input, data));
}

// Natural tokens, all and by domain; random and repeated tokens, also after the begin token if the model has one.
void measure_all_inputs(const SinkRun& run, const Input& natural, const DataSource* data) {
  std::vector<NamedInput> inputs = inputs_by_domain(natural.tokens, natural.domains);
  inputs.insert(inputs.begin(), {"natural", natural.tokens});
  const std::size_t n_natural = inputs.size();
  for (const std::string kind : {"random", "repeated"})
    inputs.push_back({kind, sampled_tokens(run.options, kind, run.model.sizes(), natural.tokens.context())});
  if (const std::int64_t begin = integer_or(run.checkpoint, "begin_token", -1); begin >= 0)
    for (std::size_t i : {n_natural, n_natural + 1})
      inputs.push_back(
          {"begin+" + inputs[i].name, with_first_token(inputs[i].tokens, static_cast<std::int32_t>(begin))});
  std::vector<std::pair<std::string, Evaluation>> measured;
  std::string json =
      "{\n\"schema\": 1,\n\"policies\": " + nlohmann::json(run.ablation.policies).dump() + ",\n\"inputs\": {";
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    SinkOptions options = run.options;
    if (i >= n_natural) {
      options.given = {};
      options.input = inputs[i].name;
    }
    const SinkRun of_input{options, run.ablation, run.checkpoint, run.model, run.run, run.patterns, run.model_labels};
    const DataSource* from = i < n_natural ? data : nullptr;
    measured.emplace_back(inputs[i].name, of_input.measure(inputs[i].tokens, i == 0 || i >= n_natural, from));
    json += (i > 0 ? ",\n" : "\n") +
            nlohmann::json(inputs[i].name).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + ": " +
            of_input.json(measured.back().second, inputs[i].tokens, from);
    measured.back().second.patterns = {};
  }
  std::string table = inputs_table(measured);
  for (const auto& [name, evaluation] : measured)
    if (!evaluation.by_length.lengths.empty())
      table += name + ":\n" + sinks_by_length_table(evaluation.by_length, run.replaced_position());
  run.options.output.write(table, json + "}\n}\n");
}

// --data is also read for the text of the run.
void require_read_data(const SinkOptions& options, const Checkpoint& checkpoint) {
  options.given.require_read_data(checkpoint);
  if (!options.given.any() && !options.given.data.empty() && options.input_name() != "text")
    throw Error("--data is not read for this input: leave it out", Exit::usage);
}

int run_sink(const SinkOptions& options, const Ablation& ablation) {
  if (!options.positions.empty()) position_intervention(options.positions);  // throws before the model is loaded
  auto [checkpoint, model] = load_evaluated(options.checkpoint, ablation, options.compute,
                                            {.in_place = options.positions.empty(), .needs_logits = false});
  if (!options.positions.empty()) apply_to_positions(*model, position_intervention(options.positions));
  require_read_data(options, checkpoint);
  const Sizes& sizes = model->sizes();
  TrainedOn run = trained_on(checkpoint, sizes);
  run.context = options.given.context;
  for (std::int64_t length : options.lengths) require_context(length, sizes, "--length");
  if (run.context == 0 && !options.lengths.empty())
    run.context = *std::max_element(options.lengths.begin(), options.lengths.end());
  if (run.context == 0) run.context = std::min(std::max(kPaperContext, sizes.prefix + 1), sizes.context);
  require_context(run.context, sizes);
  run.eval_sequences = options.sequences;
  std::unique_ptr<DataSource> data;
  if (options.input_name() == "text") data = validation_text(checkpoint, run, options.given.data, sizes);
  const Input input = input_of(options, checkpoint, run, sizes, data.get());
  const PatternChoice patterns = pattern_choice(options.map, sizes);
  options.output.require_free(evaluation_file());
  // The tokenizer is read first, so that the measurement knows how much memory is left.
  const SinkRun sink_run{options, ablation, checkpoint, *model, run, patterns, token_labels(checkpoint, nullptr)};
  sink_run.lengths_of(input.tokens);  // throws before the header is printed
  print_header(*model, options.checkpoint, ablation, options.compute);
  if (options.all_inputs)
    measure_all_inputs(sink_run, input, data.get());
  else
    measure_input(sink_run, input.tokens, data.get());
  return 0;
}

// The input: validation text of the run, sampled tokens, or tokens and text that the user gives.
void add_sink_input_options(CLI::App* sink, SinkOptions& options) {
  CLI::Option* input =
      sink->add_option(
              "--input", options.input,
              "kind of tokens; text: validation sequences of the run's data; random: uniform over the vocabulary; "
              "repeated: one uniform token per sequence")
          ->check(CLI::IsMember({"text", "random", "repeated"}))
          ->capture_default_str();
  CLI::Option* all_inputs = sink->add_flag(
      "--all-inputs", options.all_inputs,
      "natural, random and repeated tokens in one table; and one JSON ({inputs: {natural: ..., ...}}), the latter two "
      "also after the begin token of the model; natural tokens are those of --text-file, --tokens or the run");
  all_inputs->excludes(input);
  std::vector<CLI::Option*> texts = add_text_options(sink, options.given);
  texts[1]->description(texts[1]->get_description() +
                        "; of .jsonl the first tokens of each line's `text`, with --all-inputs by its `domain`, too");
  CLI::Option* tokens = add_tokens_option(sink, options.given, texts);
  CLI::Option* context =
      sink->add_option("--context", options.given.context,
                       "tokens per sequence, at most the training context [64 or less; of --text all]")
          ->check(whole_number(1));
  CLI::Option* sequences = sink->add_option("--sequences", options.sequences, "number of sequences")
                               ->check(whole_number(1))
                               ->capture_default_str();
  CLI::Option* seed = sink->add_option("--seed", options.seed, "seed of random and repeated tokens")
                          ->check(seed_number())
                          ->capture_default_str();
  sink->add_option("--data", options.given.data, "data folder, instead of that of the run");
  sink->add_option("--length", options.lengths,
                   "also Sink_k of the first T tokens; of every sequence, such as 16,32,64; without "
                   "--context, sequences of the run, random ones and .jsonl are as long as the longest")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(whole_number(1));
  sink->add_option("--epsilon", options.epsilons,
                   "also Sink_k at these thresholds, such as 0.1,0.2; [with --length 0.2,0.3,0.4]; the other scores "
                   "keep theirs, the paper's 0.3 among them")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(real_number(0, 1));
  context->excludes(tokens);
  for (CLI::Option* given : {texts[0], texts[1], tokens}) given->excludes(input);
  sink->callback([&options, texts, tokens, sequences, seed] {
    if (options.all_inputs) return;
    if (*seed && options.input == "text" && !options.given.any())
      throw CLI::ValidationError("--seed", "is of random and repeated tokens, and the input is text: leave it out");
    for (CLI::Option* given : {texts[0], texts[1], tokens})
      for (CLI::Option* other : {sequences, seed})
        if (*given && *other) throw CLI::ExcludesError(given->get_name(), other->get_name());
  });
}

}  // namespace

EvalCommand sink_command(CLI::App& app, const Ablation& ablation) {
  auto options = std::make_shared<SinkOptions>();
  options->given.min_tokens = 1;
  CLI::App* sink = app.add_subcommand(
      "sink",
      "Measures the attention sink of a model. Reports Sink_k and alpha_k (k = 1 ... 10, and * for an extra key or "
      "sink token), raw and proxy; row sums, entropy, norms by position, massive activations, the split of q.k into "
      "norms and cosine, and attention patterns. Prints a table on a terminal. With --json or --out, or into a pipe, "
      "it writes JSON and prints the table on stderr. eval/sink/evaluation_json.h describes the JSON.");
  sink->add_option("checkpoint,--model", options->checkpoint, kWhatIsEvaluated)->required();
  add_sink_input_options(sink, *options);
  sink->add_option(
          "--map", options->map,
          "attention patterns: auto, none or LAYER,HEAD; in the JSON; auto: of all heads, for as many of the first "
          "sequences as make a small file, up to 256 tokens; LAYER,HEAD is shown first, of any length")
      ->capture_default_str();
  add_compute_options(sink, options->compute);
  sink->add_option(
      "--positions", options->positions,
      "replace:T or swap:T; edits the learned vectors of positions first: p_1 <- p_T, or both change places; adds a "
      "table with Sink_T");
  add_json_output_options(sink, options->output, "the JSON", "JSON");
  return {sink, [options, ablation] { return run_sink(*options, ablation); }};
}

}  // namespace sink
