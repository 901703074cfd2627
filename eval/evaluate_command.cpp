#include "eval/evaluate_command.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <numeric>

#include "engine/file.h"
#include "engine/reference_switch.h"
#include "eval/evaluation_json.h"
#include "eval/evaluation_maps.h"
#include "eval/evaluation_table.h"
#include "eval/input_tokens.h"
#include "eval/logits_file.h"
#include "eval/token_sequences.h"
#include "model/build_info.h"
#include "model/model_checkpoint.h"
#include "model/tokenizer/tokenizer.h"
#include "model/tokenizer/tokenizer_json.h"
#include "train/data/data_source.h"
#include "train/program.h"
#include "train/run_config.h"

namespace sink {
namespace {

constexpr std::int64_t kStudyContext = 64;    // tokens of a sequence in the study's measurements
constexpr std::int64_t kTokensAtOnce = 4096;  // of a batch, where --batch is not given

struct SinkOptions {
  std::string checkpoint, data, out, precision = "f32", input = "text", map = "auto";
  std::int64_t sequences = 100, context = 0, batch = 0;
  std::uint64_t seed = 0;
  bool reference = false;
};

struct LogitsOptions {
  std::string checkpoint, tokens, out, precision = "f32";
  std::vector<std::int64_t> layers;
  std::int64_t batch = 0;
  bool reference = false;
};

std::int64_t batch_or_default(std::int64_t batch, std::int64_t T) {
  return batch > 0 ? batch : std::max<std::int64_t>(1, kTokensAtOnce / T);
}

// A checkpoint made by hand may lack what only training knows.
std::string attribute_or(const Checkpoint& checkpoint, const std::string& name, const std::string& otherwise) {
  return checkpoint.attributes.contains(name) ? checkpoint.attribute(name) : otherwise;
}

// Validation sequences of T tokens of the data the run was trained on.
InputTokens text_tokens(const DataSource& data, std::int64_t sequences) {
  Batch batch = data.validation_batch(0, std::min(sequences, data.validation_sequences()));
  return {batch.tokens_BT, batch.targets_BT};
}

// Labels of tokens: the data's, the checkpoint's tokenizer's, or just the numbers.
std::function<std::string(std::int32_t)> labels(const Checkpoint& checkpoint, const DataSource* data) {
  if (data) return [data](std::int32_t id) { return data->token_text(id); };
  if (!checkpoint.attributes.contains("tokenizer_json")) return [](std::int32_t id) { return std::to_string(id); };
  auto tokenizer = std::make_shared<Tokenizer>(
      parse_tokenizer_json(checkpoint.attribute("tokenizer_json"), checkpoint.path + " (tokenizer_json)"));
  return [tokenizer](std::int32_t id) {
    return id < tokenizer->vocabulary() ? tokenizer->token_text(id) : std::to_string(id);
  };
}

// "auto", "none" or "LAYER,HEAD".
void add_maps(const std::string& asked, LanguageModel& model, const Tensor& tokens_NT, Evaluation& evaluation) {
  if (asked == "none") return;
  if (asked == "auto") {
    keep_maps(model, tokens_NT, std::nullopt, evaluation);
    return;
  }
  long long layer = 0, head = 0;
  int read = 0;
  if (std::sscanf(asked.c_str(), "%lld,%lld%n", &layer, &head, &read) != 2 ||
      asked.size() != static_cast<std::size_t>(read))
    throw Error("--map must be auto, none or LAYER,HEAD such as 0,3; got `" + asked + "`", Exit::usage);
  keep_maps(model, tokens_NT, std::pair<std::int64_t, std::int64_t>{layer, head}, evaluation);
}

int run_sink(const SinkOptions& options, const Ablation& ablation) {
  use_reference() = options.reference;
  Checkpoint checkpoint = load_checkpoint(options.checkpoint);
  auto model = load_model(checkpoint, ablation, dtype_named(options.precision), "eval_" + ablation.name);
  const Sizes& sizes = model->sizes();
  std::int64_t context = options.context > 0 ? options.context : std::min(kStudyContext, sizes.context);
  if (context > sizes.context)
    throw Error("--context must be at most the " + std::to_string(sizes.context) + " tokens of the model, got " +
                    std::to_string(context),
                Exit::usage);
  std::string config_toml = attribute_or(checkpoint, "config_toml", "");
  RunConfig config = run_config_from_toml(config_toml, options.checkpoint);
  if (!options.data.empty()) config.data = options.data;
  config.context = context;
  config.eval_sequences = options.sequences;
  if (options.input == "text" && config.task == "text" && config.data.empty())
    throw Error(options.checkpoint + " does not say what text it was trained on: give --data FOLDER, or --input random",
                Exit::usage);
  std::unique_ptr<DataSource> data = options.input == "text" ? make_data_source(config) : nullptr;
  // Which targets count is the data's business; here as there, what sees its next token has nothing to predict.
  std::int64_t ignored = std::max<std::int64_t>(0, sizes.prefix - 1);
  auto make_tokens = options.input == "random" ? random_tokens : repeated_tokens;
  InputTokens input = data ? text_tokens(*data, options.sequences)
                           : make_tokens(sizes.vocabulary, options.sequences, context, options.seed, ignored);

  std::int64_t batch = batch_or_default(options.batch, context);
  Evaluation evaluation = evaluate(*model, input.tokens_NT, input.targets_NT, batch, false);
  add_maps(options.map, *model, input.tokens_NT, evaluation);
  std::fputs(evaluation_table(evaluation, data ? config.task : options.input).c_str(), stderr);
  EvaluationContext about{
      .run = options.checkpoint,
      .task = config.task,
      .ablation = ablation.name,
      .policies = ablation.policies,
      .precision = options.precision,
      .commit = build_commit(),
      .config_toml = config_toml,
      .input = options.input,
      .input_seed = options.seed,
      .data = data ? config.data : "",
      .seed = config.seed,
      .step = checkpoint.attributes.contains("step") ? checkpoint.integer("step") : 0,
      .steps = config.steps,
      .tokens = checkpoint.attributes.contains("tokens") ? checkpoint.integer("tokens") : 0,
      .parameters = model->parameter_count(),
      .token_text = labels(checkpoint, data.get()),
  };
  std::string json = evaluation_json(evaluation, about);
  if (options.out.empty())
    std::fputs(json.c_str(), stdout);
  else
    write_file_atomically(options.out, json);
  return 0;
}

int run_logits(const LogitsOptions& options, const Ablation& ablation) {
  use_reference() = options.reference;
  Checkpoint checkpoint = load_checkpoint(options.checkpoint);
  DType type = dtype_named(options.precision);
  auto model = load_model(checkpoint, ablation, type, "eval_" + ablation.name);
  Tensor tokens_NT = read_token_sequences(options.tokens, model->sizes().vocabulary, model->sizes().context);
  std::vector<std::int64_t> layers = options.layers;
  if (layers.empty()) {
    layers.resize(static_cast<std::size_t>(model->sizes().layers));
    std::iota(layers.begin(), layers.end(), 0);
  }
  write_logits_file(options.out, *model, tokens_NT, layers, batch_or_default(options.batch, tokens_NT.dim(1)), type,
                    {{"ablation", ablation.name},
                     {"policies", ablation.policies},
                     {"checkpoint", options.checkpoint},
                     {"precision", options.precision},
                     {"commit", build_commit()}});
  std::printf("%s\n", options.out.c_str());
  return 0;
}

CLI::App* add_sink(CLI::App& app, SinkOptions& options) {
  CLI::App* sink = app.add_subcommand(
      "sink",
      "Sink_k and alpha_k (k = 1 ... 10, and * for an extra key or sink token), raw and proxy; row mass, entropy, "
      "norms "
      "by position, massive activations, the split of q.k into norms and cosine, and maps. A table goes to stderr, "
      "evaluation JSON (eval/evaluation_json.h) to stdout or --out.");
  sink->add_option("checkpoint", options.checkpoint, "checkpoint.h5 of a run")->required();
  sink->add_option(
          "--input", options.input,
          "text: validation sequences of the run's data; random: tokens uniform over the vocabulary; repeated: "
          "one uniform token a sequence")
      ->check(CLI::IsMember({"text", "random", "repeated"}))
      ->capture_default_str();
  sink->add_option("--context", options.context, "tokens a sequence, at most the training context [64 or less]")
      ->check(CLI::PositiveNumber);
  sink->add_option("--sequences", options.sequences, "how many")->check(CLI::PositiveNumber)->capture_default_str();
  sink->add_option("--seed", options.seed, "of random and repeated tokens")->capture_default_str();
  sink->add_option("--data", options.data, "another data folder than the run's");
  sink->add_option(
          "--map", options.map,
          "maps in the JSON: auto (of all heads, of as many of the first sequences as make a small file, up to 256 "
          "tokens), none, or LAYER,HEAD to be shown first, of any length")
      ->capture_default_str();
  sink->add_option("--batch", options.batch, "sequences at a time [about 4096 tokens]")->check(CLI::PositiveNumber);
  sink->add_option("--precision", options.precision)
      ->check(CLI::IsMember({"f32", "bf16", "f64"}))
      ->capture_default_str();
  sink->add_flag("--reference", options.reference, "plain loops instead of the fast path");
  sink->add_option("--out", options.out, "write the JSON to this file");
  return sink;
}

CLI::App* add_logits(CLI::App& app, LogitsOptions& options) {
  CLI::App* logits = app.add_subcommand(
      "logits",
      "Everything the model computes on given tokens, as HDF5 for other programs to compare with: logits, losses, and "
      "of "
      "chosen layers hidden states, queries, keys, values and attention maps. model/CHECKPOINT.md describes the file.");
  logits->add_option("--checkpoint", options.checkpoint, "checkpoint.h5 of a run, or one made by hand")->required();
  logits
      ->add_option("--tokens", options.tokens,
                   "text file with one sequence of ids a line, or HDF5 with a dataset `tokens`, N x T whole numbers")
      ->required();
  logits->add_option("--out", options.out, "HDF5 file to write; all of it is in memory until it is written")
      ->required();
  logits->add_option("--layers", options.layers, "of maps and states, from 0, such as 0,3 [all]")->delimiter(',');
  logits->add_option("--precision", options.precision, "f64 runs the reference in double")
      ->check(CLI::IsMember({"f32", "f64"}))
      ->capture_default_str();
  logits->add_option("--batch", options.batch, "sequences at a time [about 4096 tokens]")->check(CLI::PositiveNumber);
  logits->add_flag("--reference", options.reference, "plain loops instead of the fast path");
  return logits;
}

}  // namespace

int eval_main(int argc, char** argv, const Ablation& ablation) {
  std::string program = "eval_" + ablation.name;
  return run_program(program.c_str(), [&] {
    CLI::App app("Measures checkpoints of the `" + ablation.name + "` ablation.\nPolicies: " + ablation.policies,
                 program);
    app.require_subcommand(1);
    app.set_version_flag("--version", program + "\npolicies: " + ablation.policies + "\ncommit: " + build_commit());
    SinkOptions sink_options;
    LogitsOptions logits_options;
    CLI::App* sink = add_sink(app, sink_options);
    add_logits(app, logits_options);
    app.footer("Exit codes: 0 done, 2 usage, 3 bad input, 4 checkpoint damaged or of another policy, 8 disk.");
    try {
      app.parse(argc, argv);
    } catch (const CLI::Success& help) { return app.exit(help); } catch (const CLI::ParseError& error) {
      throw Error(std::string(error.what()) + "; --help lists the flags", Exit::usage);
    }
    return sink->parsed() ? run_sink(sink_options, ablation) : run_logits(logits_options, ablation);
  });
}

}  // namespace sink
