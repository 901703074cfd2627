// eval_<ablation> sink: everything that is measured of attention, as a table and as JSON.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "engine/data/data_source.h"
#include "engine/io/build_info.h"
#include "engine/io/compute_options.h"
#include "engine/io/number_check.h"
#include "engine/io/output_kind.h"
#include "engine/io/sha256.h"
#include "engine/precision.h"
#include "eval/eval_command.h"
#include "eval/evaluated_model.h"
#include "eval/given_input.h"
#include "eval/given_text.h"
#include "eval/input_tokens.h"
#include "eval/interventions/position_edit.h"
#include "eval/json_output.h"
#include "eval/sink/all_inputs.h"
#include "eval/sink/evaluation_json.h"
#include "eval/sink/evaluation_maps.h"
#include "eval/sink/evaluation_table.h"
#include "eval/sink/sink_by_length.h"
#include "eval/sink/trained_on.h"
#include "eval/sink/validation_text.h"
#include "eval/text_lines.h"
#include "eval/what_fits.h"

namespace sink {
namespace {

constexpr std::int64_t kStudyContext = 64;  // tokens of a sequence in the study's measurements

const OutputKind kEvaluationFile =
    kind_by_text("an evaluation of eval_<ablation> sink", "{", {"\"schema\"", "\"policies\""});

struct SinkOptions {
  std::string checkpoint, input = "text", map = "auto", positions;
  JsonOutput output;
  GivenInput given;
  ComputeOptions compute;
  std::int64_t sequences = 100;
  std::vector<double> epsilons;
  std::vector<std::int64_t> lengths;
  std::uint64_t seed = 0;
  bool all_inputs = false;

  // Whether each line of the file of text is one.
  bool lines() const { return given.text_file && given.text_file->ends_with(".jsonl"); }
  std::string input_name() const {
    return given.tokens ? "tokens" : lines() ? "texts" : given.any() ? "sentence" : input;
  }
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
  std::optional<std::pair<std::int64_t, std::int64_t>>
      layer_head;  // none: chosen by weight (eval/sink/evaluation_maps.h)
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

// What is drawn, "random" or "repeated".
Batch drawn_tokens(const SinkOptions& options, const std::string& kind, const Sizes& sizes, std::int64_t context) {
  // Which targets count is the data's business; here as there, what sees its next token has nothing to predict.
  std::int64_t ignored = std::max<std::int64_t>(0, sizes.prefix - 1);
  auto make_tokens = kind == "random" ? random_tokens : repeated_tokens;
  return make_tokens(sizes.vocabulary, options.sequences, context, options.seed, ignored);
}

struct Read {
  Batch tokens;
  std::vector<std::string> domains = {};  // of texts of JSONL, a sequence each
};

// What the model is to read. `data` is there for the input "text".
Read input_of(const SinkOptions& options, const Checkpoint& checkpoint, const TrainedOn& run, const Sizes& sizes,
              const DataSource* data) {
  if (data) return {text_tokens(*data, options.sequences)};
  if (options.lines()) {
    TextCut cut = options.given.cut(checkpoint, run, sizes);
    cut.context = run.context;
    const std::string folder = options.given.data.empty() ? run.data : options.given.data;
    TextLines texts = read_text_lines(*options.given.text_file, tokenizer_of(checkpoint, folder), cut);
    return {given_tokens(texts.tokens_NT, sizes.vocabulary, sizes.prefix), texts.domains};
  }
  if (options.given.any())
    return {given_tokens(options.given.sequences(checkpoint, sizes), sizes.vocabulary, sizes.prefix)};
  return {drawn_tokens(options, options.input, sizes, run.context)};
}

using TokenLabels = std::function<std::string(std::int32_t)>;

// Everything the JSON says beside the numbers.
EvaluationContext context_of(const SinkOptions& options, const Ablation& ablation, const Checkpoint& checkpoint,
                             const LanguageModel& model, const TrainedOn& run, const DataSource* data,
                             const Batch& input, const TokenLabels& labels) {
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
      .positions = options.positions,
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
      .token_text = labels,
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

// A model, and what is asked of it.
struct SinkRun {
  const SinkOptions& options;
  const Ablation& ablation;
  const Checkpoint& checkpoint;
  LanguageModel& model;
  TrainedOn run;
  MapChoice map;
  TokenLabels own_labels;  // by the tokenizer that comes with the model, or ids

  Evaluation measure(const Batch& input, bool with_maps) const {
    const bool by_length = !options.epsilons.empty() || !options.lengths.empty() || !options.positions.empty();
    const std::vector<std::int64_t> lengths = by_length ? lengths_of(options, input) : std::vector<std::int64_t>();
    Evaluation evaluation =
        in_batches_that_fit(std::min(options.compute.batch_of(input.context(), model.sizes().width), input.sequences()),
                            [&](std::int64_t n) {
                              Evaluation measured = evaluate(model, input, n, false);
                              keep_sinks_by_length(model, input, n, epsilons_of(options), lengths, measured,
                                                   std::max(kSinkPositions, edited_position()));
                              return measured;
                            });
    if (map.wanted && with_maps) keep_maps(model, input, map.layer_head, evaluation);
    return evaluation;
  }
  std::int64_t edited_position() const { return options.positions.empty() ? 1 : position_edit(options.positions).t; }
  std::string json(const Evaluation& evaluation, const Batch& input, const DataSource* data) const {
    const TokenLabels labels = data ? token_labels(checkpoint, data) : own_labels;
    return evaluation_json(evaluation, context_of(options, ablation, checkpoint, model, run, data, input, labels));
  }
};

void measure_input(const SinkRun& run, const Batch& input, const DataSource* data) {
  const Evaluation evaluation = run.measure(input, true);
  std::string table = evaluation_table(evaluation, data ? run.run.task : run.options.input_name());
  if (!evaluation.by_length.lengths.empty())
    table += sinks_by_length_table(evaluation.by_length, run.edited_position());
  run.options.output.write(table, run.json(evaluation, input, data));
}

// Natural tokens, the same by domain, random and repeated ones; those also behind the token with which the model's
// texts begin, if there is one.
void measure_all_inputs(const SinkRun& run, const Read& natural, const DataSource* data) {
  std::vector<NamedInput> inputs = inputs_by_domain(natural.tokens, natural.domains);
  inputs.insert(inputs.begin(), {"natural", natural.tokens});
  const std::size_t of_text = inputs.size();
  for (const std::string kind : {"random", "repeated"})
    inputs.push_back({kind, drawn_tokens(run.options, kind, run.model.sizes(), natural.tokens.context())});
  if (run.checkpoint.attributes.contains("begin_token")) {
    const auto begin = static_cast<std::int32_t>(run.checkpoint.integer("begin_token"));
    for (std::size_t i : {of_text, of_text + 1})
      inputs.push_back({"begin+" + inputs[i].name, with_first_token(inputs[i].tokens, begin)});
  }
  std::vector<std::pair<std::string, Evaluation>> measured;
  std::string json =
      "{\n\"schema\": 1,\n\"policies\": " + nlohmann::json(run.ablation.policies).dump() + ",\n\"inputs\": {";
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    SinkOptions named = run.options;
    if (i >= of_text) {
      named.given = {};
      named.input = inputs[i].name;
    }
    const SinkRun of_input{named, run.ablation, run.checkpoint, run.model, run.run, run.map, run.own_labels};
    measured.emplace_back(inputs[i].name, of_input.measure(inputs[i].tokens, i == 0 || i >= of_text));
    json += (i > 0 ? ",\n" : "\n") +
            nlohmann::json(inputs[i].name).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + ": " +
            of_input.json(measured.back().second, inputs[i].tokens, i < of_text ? data : nullptr);
    measured.back().second.maps = {};
  }
  run.options.output.write(inputs_table(measured), json + "}\n}\n");
}

int run_sink(const SinkOptions& options, const Ablation& ablation) {
  options.compute.apply();
  if (!options.positions.empty()) position_edit(options.positions);
  auto [checkpoint, model] =
      load_evaluated(options.checkpoint, ablation, stored_type(options.compute.precision),
                     device_named(options.compute.device), {.in_place = options.positions.empty()});
  if (!options.positions.empty()) edit_positions(*model, position_edit(options.positions));
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
  const Read input = input_of(options, checkpoint, run, sizes, data.get());
  MapChoice map = map_choice(options.map, sizes);
  options.output.require_free(kEvaluationFile);
  // Before anything is computed: reading a tokenizer takes memory that the measurement then has.
  const SinkRun sink_run{options, ablation, checkpoint, *model, run, map, token_labels(checkpoint, nullptr)};
  if (options.all_inputs)
    measure_all_inputs(sink_run, input, data.get());
  else
    measure_input(sink_run, input.tokens, data.get());
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
  CLI::Option* all_inputs = sink->add_flag(
      "--all-inputs", options.all_inputs,
      "natural, random and repeated tokens in one table and one JSON ({inputs: {natural: ..., ...}}), the latter two "
      "also behind the model's begin token; natural is what --text-file, --tokens or the run's data give");
  all_inputs->excludes(input);
  std::vector<CLI::Option*> texts = add_text_options(sink, options.given);
  texts[1]->description(texts[1]->get_description() +
                        "; of .jsonl the first tokens of each line's `text`, with --all-inputs by its `domain`, too");
  CLI::Option* tokens = add_tokens_option(sink, options.given, texts);
  CLI::Option* context =
      sink->add_option("--context", options.given.context,
                       "tokens per sequence, at most the training context [64 or less; of --text all]")
          ->check(whole_number(1));
  CLI::Option* sequences =
      sink->add_option("--sequences", options.sequences, "how many")->check(whole_number(1))->capture_default_str();
  CLI::Option* seed = sink->add_option("--seed", options.seed, "of random and repeated tokens")
                          ->check(seed_number())
                          ->capture_default_str();
  sink->add_option("--data", options.given.data, "another data folder than the run's");
  sink->add_option("--length", options.lengths,
                   "Sink_k also of the first T tokens of every sequence, for these T, such as 16,32,64; without "
                   "--context, sequences are as long as the longest")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(whole_number(1));
  sink->add_option("--epsilon", options.epsilons,
                   "Sink_k also at these thresholds, such as 0.1,0.2,0.3 [with --length 0.2,0.3,0.4]; the other scores "
                   "keep theirs, the study's 0.3 among them")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(real_number(0, 1));
  context->excludes(tokens);
  for (CLI::Option* given : {texts[0], texts[1], tokens}) given->excludes(input);
  sink->callback([&options, texts, tokens, sequences, seed] {
    if (options.all_inputs) return;
    for (CLI::Option* given : {texts[0], texts[1], tokens})
      for (CLI::Option* other : {sequences, seed})
        if (*given && *other) throw CLI::ExcludesError(given->get_name(), other->get_name());
  });
}

}  // namespace

EvalCommand sink_command(CLI::App& app, const Ablation& ablation) {
  auto options = std::make_shared<SinkOptions>();
  CLI::App* sink = app.add_subcommand(
      "sink",
      "Sink_k and alpha_k (k = 1 ... 10, and * for an extra key or sink token), raw and proxy; row mass, entropy, "
      "norms by position, massive activations, the split of q.k into norms and cosine, and maps. A terminal gets the "
      "table alone; a pipe, a file, --out or --json evaluation JSON (eval/sink/evaluation_json.h), and stderr the "
      "table.");
  sink->add_option("checkpoint,--model", options->checkpoint, kWhatIsEvaluated)->required();
  add_input_options(sink, *options);
  sink->add_option(
          "--map", options->map,
          "maps in the JSON: auto (of all heads, of as many of the first sequences as make a small file, up to 256 "
          "tokens), none, or LAYER,HEAD to be shown first, of any length")
      ->capture_default_str();
  add_compute_options(sink, options->compute, {"f32", "bf16", "tf32", "f64"});
  sink->add_option(
      "--positions", options->positions,
      "replace:T or swap:T: learned vectors of positions edited first, p_1 <- p_T or both changing places; "
      "adds a table with Sink_T");
  add_json_output_options(sink, options->output, "the JSON", "JSON");
  return {sink, [options, ablation] { return run_sink(*options, ablation); }};
}

}  // namespace sink
