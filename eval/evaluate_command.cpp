#include "eval/evaluate_command.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <numeric>
#include <optional>

#include "engine/data/same_data.h"
#include "engine/data/tokenizer/tokenizer.h"
#include "engine/data/tokenizer/tokenizer_json.h"
#include "engine/io/build_info.h"
#include "engine/io/file.h"
#include "engine/io/output_kind.h"
#include "engine/io/program.h"
#include "engine/io/sha256.h"
#include "engine/reference_switch.h"
#include "engine/thread_start.h"
#include "eval/evaluation_json.h"
#include "eval/evaluation_maps.h"
#include "eval/evaluation_table.h"
#include "eval/given_text.h"
#include "eval/input_tokens.h"
#include "eval/logits_file.h"
#include "eval/token_sequences.h"
#include "model/model_checkpoint.h"
#include "train/run_config.h"

namespace sink {
namespace {

constexpr std::int64_t kStudyContext = 64;    // tokens of a sequence in the study's measurements
constexpr std::int64_t kTokensAtOnce = 4096;  // of a batch, where --batch is not given

const OutputKind kEvaluationFile =
    kind_by_text("an evaluation of eval_<ablation> sink", "{", {"\"schema\"", "\"policies\""});
const OutputKind kLogitsFile = {"a file of eval_<ablation> logits", is_logits_file};

// What a user gives the model to read: a file of ids, or text in one of two ways.
struct Given {
  std::optional<std::string> tokens, text, text_file;
  std::string data;          // the folder of a tokenizer, where the checkpoint has none
  std::int64_t context = 0;  // tokens a sequence of text; 0: as many as the text
  bool any() const { return tokens || text || text_file; }
};

struct SinkOptions {
  std::string checkpoint, out, precision = "f32", input = "text", map = "auto";
  Given given;
  std::int64_t sequences = 100, batch = 0, threads = 0;
  std::uint64_t seed = 0;
  bool reference = false, force = false;
};

struct LogitsOptions {
  std::string checkpoint, out, precision = "f32";
  Given given;
  std::vector<std::int64_t> layers;
  std::int64_t batch = 0, threads = 0;
  bool reference = false, force = false;
};

struct TokensOptions {
  std::string checkpoint;
  Given given;
};

std::int64_t batch_or_default(std::int64_t batch, std::int64_t T) {
  return batch > 0 ? batch : std::max<std::int64_t>(1, kTokensAtOnce / T);
}

// A checkpoint made by hand may lack what only training knows.
std::string attribute_or(const Checkpoint& checkpoint, const std::string& name, const std::string& otherwise) {
  return checkpoint.attributes.contains(name) ? checkpoint.attribute(name) : otherwise;
}

// What the checkpoint says of its run, the defaults where it says nothing. How its model is, is another matter: its
// attributes say that (sizes_of), and what was once given on a command line does not.
RunConfig run_config_of(const Checkpoint& checkpoint, const Sizes& sizes) {
  RunConfig config;
  try {
    config = run_config_from_toml(attribute_or(checkpoint, "config_toml", ""), checkpoint.path + " (config_toml)");
  } catch (const Error& error) { throw Error(error.what(), Exit::corrupt_checkpoint); }
  config.prefix = sizes.prefix;
  config.window = sizes.window;
  return config;
}

std::string text_of(const Given& given) {
  if (given.text) return *given.text;
  std::string text = read_file("text", *given.text_file);
  if (text.ends_with('\n')) text.pop_back();  // the end of the last line is the file's, not the text's
  return text;
}

// How a report names what was given: the file, or the beginning of the sentence.
std::string name_of(const Given& given) {
  constexpr std::size_t kLongestName = 40;
  if (given.tokens) return *given.tokens;
  if (given.text_file) return *given.text_file;
  return given.text->size() <= kLongestName ? *given.text : given.text->substr(0, kLongestName) + "...";
}

// Of the ids as they stand in memory.
std::string checksum_of(const Tensor& tokens_NT) {
  return sha256_hex({static_cast<const char*>(tokens_NT.raw()), tokens_NT.bytes()});
}

// The sequences that a user gave.
Tensor given_sequences(const Given& given, const Checkpoint& checkpoint, const Sizes& sizes) {
  if (given.tokens) return read_token_sequences(*given.tokens, sizes.vocabulary, sizes.context);
  RunConfig config = run_config_of(checkpoint, sizes);
  Tokenizer tokenizer = tokenizer_of(checkpoint, given.data.empty() ? config.data : given.data);
  return text_sequences(tokenizer, text_of(given),
                        {.vocabulary = sizes.vocabulary,
                         .longest = sizes.context,
                         .context = given.context,
                         .first_token = config.fixed_first_token});
}

void require_context(std::int64_t context, const Sizes& sizes) {
  if (context > sizes.context)
    throw Error("--context must be at most the " + std::to_string(sizes.context) + " tokens of the model, got " +
                    std::to_string(context),
                Exit::usage);
  if (context <= sizes.prefix)
    throw Error("--context must be more than the " + std::to_string(sizes.prefix) +
                    " tokens of the checkpoint's prefix, got " + std::to_string(context),
                Exit::usage);
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

// The validation sequences of the run's data, or of --data, which may be other text in the same tokens.
std::unique_ptr<DataSource> data_source(const SinkOptions& options, const Checkpoint& checkpoint, RunConfig config,
                                        const Sizes& sizes) {
  if (!options.given.data.empty()) config.data = options.given.data;
  if (config.task == "text" && config.data.empty())
    throw Error(options.checkpoint + " does not say what text it was trained on: give --data FOLDER, --text, --tokens" +
                    " or --input random",
                Exit::usage);
  std::unique_ptr<DataSource> data = make_data_source(config);
  if (data->vocabulary() > sizes.vocabulary)
    throw Error((config.data.empty() ? "the task " + config.task : config.data) + " has " +
                    std::to_string(data->vocabulary()) + " kinds of tokens, the model " +
                    std::to_string(sizes.vocabulary) + ": give the data that it was trained on",
                Exit::bad_input);
  if (!options.given.data.empty())
    require_same_tokenizer(checkpoint, *data, config.data);
  else
    require_same_data(checkpoint, *data, config.data,
                      "give the folder that holds it as --data, or this one to measure on other text");
  return data;
}

int run_sink(const SinkOptions& options, const Ablation& ablation) {
  use_reference() = options.reference;
  start_threads(options.threads);
  Checkpoint checkpoint = load_checkpoint(options.checkpoint);
  auto model = load_model(checkpoint, ablation, dtype_named(options.precision), "eval_" + ablation.name);
  const Sizes& sizes = model->sizes();
  std::string input_name = options.given.tokens ? "tokens" : options.given.any() ? "sentence" : options.input;
  std::int64_t context = options.given.context;
  if (context == 0) context = std::min(std::max(kStudyContext, sizes.prefix + 1), sizes.context);
  require_context(context, sizes);
  RunConfig config = run_config_of(checkpoint, sizes);
  config.context = context;
  config.eval_sequences = options.sequences;
  std::unique_ptr<DataSource> data = input_name == "text" ? data_source(options, checkpoint, config, sizes) : nullptr;
  // Which targets count is the data's business; here as there, what sees its next token has nothing to predict.
  std::int64_t ignored = std::max<std::int64_t>(0, sizes.prefix - 1);
  auto make_tokens = options.input == "random" ? random_tokens : repeated_tokens;
  InputTokens input = data ? text_tokens(*data, options.sequences)
                      : options.given.any()
                          ? given_tokens(given_sequences(options.given, checkpoint, sizes), sizes.prefix)
                          : make_tokens(sizes.vocabulary, options.sequences, context, options.seed, ignored);
  MapChoice map = map_choice(options.map, sizes);
  auto token_text = labels(checkpoint, data.get());

  if (!options.out.empty()) require_output(options.out, kEvaluationFile, options.force);
  std::int64_t batch = batch_or_default(options.batch, input.tokens_NT.dim(1));
  Evaluation evaluation = evaluate(*model, input.tokens_NT, input.targets_NT, batch, false);
  if (map.wanted) keep_maps(*model, input.tokens_NT, map.layer_head, evaluation);
  std::fputs(evaluation_table(evaluation, data ? config.task : input_name).c_str(), stderr);
  EvaluationContext about{
      .run = options.checkpoint,
      .task = config.task,
      .ablation = ablation.name,
      .policies = ablation.policies,
      .precision = options.precision,
      .commit = build_commit(),
      .config_toml = attribute_or(checkpoint, "config_toml", ""),
      .input = input_name,
      .input_seed = options.seed,
      .data_sha256 = attribute_or(checkpoint, "data_sha256", ""),
      .data = options.given.any()          ? name_of(options.given)
              : !data                      ? ""
              : options.given.data.empty() ? config.data
                                           : options.given.data,
      .input_sha256 = options.given.any() ? checksum_of(input.tokens_NT) : "",
      .seed = config.seed,
      .step = checkpoint.attributes.contains("step") ? checkpoint.integer("step") : 0,
      .steps = config.steps,
      .tokens = checkpoint.attributes.contains("tokens") ? checkpoint.integer("tokens") : 0,
      .parameters = model->parameters().count(),
      .token_text = token_text,
  };
  std::string json = evaluation_json(evaluation, about);
  if (options.out.empty())
    std::fputs(json.c_str(), stdout);
  else
    write_file_atomically(options.out, json);
  return 0;
}

int run_logits(const LogitsOptions& options, const Ablation& ablation) {
  if (!options.given.any()) throw Error("logits needs --tokens FILE, --text or --text-file; see --help", Exit::usage);
  use_reference() = options.reference;
  start_threads(options.threads);
  Checkpoint checkpoint = load_checkpoint(options.checkpoint);
  DType type = dtype_named(options.precision);
  auto model = load_model(checkpoint, ablation, type, "eval_" + ablation.name);
  Tensor tokens_NT = given_sequences(options.given, checkpoint, model->sizes());
  require_output(options.out, kLogitsFile, options.force);
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

int run_tokens(const TokensOptions& options, const Ablation& ablation) {
  if (!options.given.any()) throw Error("tokens needs --text or --text-file; see --help", Exit::usage);
  Checkpoint checkpoint = load_checkpoint(options.checkpoint);
  require_policy(checkpoint, ablation.name, ablation.policies, "eval_" + ablation.name);
  Sizes sizes = sizes_of(checkpoint);
  if (options.given.context > 0) require_context(options.given.context, sizes);
  Tensor tokens_NT = given_sequences(options.given, checkpoint, sizes);
  for (std::int64_t i = 0; i < tokens_NT.size(); ++i)
    std::printf("%d%c", tokens_NT.data<std::int32_t>()[i], (i + 1) % tokens_NT.dim(1) == 0 ? '\n' : ' ');
  return 0;
}

// --text, --text-file and --data; the caller adds --tokens and --context where it has them.
std::vector<CLI::Option*> add_text_options(CLI::App* command, Given& given) {
  CLI::Option* text = command->add_option("--text", given.text,
                                          "a text, tokenised as the checkpoint's data was and begun by its "
                                          "--fixed-first-token, if there was one");
  CLI::Option* file = command->add_option("--text-file", given.text_file, "the same, from a UTF-8 file");
  text->excludes(file);
  return {text, file};
}
CLI::Option* add_tokens_option(CLI::App* command, Given& given, const std::vector<CLI::Option*>& texts) {
  CLI::Option* tokens =
      command->add_option("--tokens", given.tokens,
                          "text file with one sequence of ids a line, or HDF5 with a dataset `tokens`, N x T whole "
                          "numbers; `tokens` prints such ids of a text");
  for (CLI::Option* text : texts) tokens->excludes(text);
  return tokens;
}
void add_threads_option(CLI::App* command, std::int64_t& threads) {
  command->add_option("--threads", threads, "0: as many as there are cores")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{4096}))
      ->capture_default_str();
}

CLI::App* add_sink(CLI::App& app, SinkOptions& options) {
  CLI::App* sink = app.add_subcommand(
      "sink",
      "Sink_k and alpha_k (k = 1 ... 10, and * for an extra key or sink token), raw and proxy; row mass, entropy, "
      "norms "
      "by position, massive activations, the split of q.k into norms and cosine, and maps. A table goes to stderr, "
      "evaluation JSON (eval/evaluation_json.h) to stdout or --out.");
  sink->add_option("checkpoint", options.checkpoint, "checkpoint.h5 of a run")->required();
  CLI::Option* input =
      sink->add_option(
              "--input", options.input,
              "text: validation sequences of the run's data; random: tokens uniform over the vocabulary; repeated: "
              "one uniform token a sequence")
          ->check(CLI::IsMember({"text", "random", "repeated"}))
          ->capture_default_str();
  std::vector<CLI::Option*> texts = add_text_options(sink, options.given);
  CLI::Option* tokens = add_tokens_option(sink, options.given, texts);
  CLI::Option* context = sink->add_option("--context", options.given.context,
                                          "tokens a sequence, at most the training context [64 or less; of --text all]")
                             ->check(CLI::PositiveNumber);
  CLI::Option* sequences =
      sink->add_option("--sequences", options.sequences, "how many")->check(CLI::PositiveNumber)->capture_default_str();
  CLI::Option* seed = sink->add_option("--seed", options.seed, "of random and repeated tokens")->capture_default_str();
  sink->add_option("--data", options.given.data, "another data folder than the run's");
  context->excludes(tokens);
  for (CLI::Option* given : {texts[0], texts[1], tokens})
    for (CLI::Option* other : {input, sequences, seed}) given->excludes(other);
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
  add_threads_option(sink, options.threads);
  sink->add_option("--out", options.out, "write the JSON to this file");
  sink->add_flag("--force", options.force, "let --out replace a file that is no such JSON");
  return sink;
}

CLI::App* add_logits(CLI::App& app, LogitsOptions& options) {
  CLI::App* logits = app.add_subcommand(
      "logits",
      "Everything the model computes on given tokens, as HDF5 for other programs to compare with: logits, losses, and "
      "of "
      "chosen layers hidden states, queries, keys, values and attention maps. engine/io/CHECKPOINT.md describes the "
      "file.");
  logits->add_option("--checkpoint", options.checkpoint, "checkpoint.h5 of a run, or one made by hand")->required();
  add_tokens_option(logits, options.given, add_text_options(logits, options.given));
  logits->add_option("--data", options.given.data,
                     "data folder whose tokenizer to take, where the checkpoint has none");
  logits->add_option("--out", options.out, "HDF5 file to write; all of it is in memory until it is written")
      ->required();
  logits->add_flag("--force", options.force, "let --out replace a file that is no such HDF5");
  logits->add_option("--layers", options.layers, "of maps and states, from 0, such as 0,3 [all]")->delimiter(',');
  logits->add_option("--precision", options.precision, "f64 runs the reference in double")
      ->check(CLI::IsMember({"f32", "f64"}))
      ->capture_default_str();
  logits->add_option("--batch", options.batch, "sequences at a time [about 4096 tokens]")->check(CLI::PositiveNumber);
  logits->add_flag("--reference", options.reference, "plain loops instead of the fast path");
  add_threads_option(logits, options.threads);
  return logits;
}

CLI::App* add_tokens(CLI::App& app, TokensOptions& options) {
  CLI::App* tokens = app.add_subcommand(
      "tokens", "Prints a text as token ids, one sequence a line, as `sink` and `logits` take them with --tokens.");
  tokens->add_option("checkpoint", options.checkpoint, "checkpoint.h5 of a run")->required();
  add_text_options(tokens, options.given);
  tokens
      ->add_option("--context", options.given.context,
                   "cut into sequences of so many tokens [as long as the text, at most the training context]")
      ->check(CLI::PositiveNumber);
  tokens->add_option("--data", options.given.data,
                     "data folder whose tokenizer to take, where the checkpoint has none");
  tokens->footer("Example:\n  eval_baseline tokens runs/first/checkpoint.h5 --text \"The cat sat on the mat.\"");
  return tokens;
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
    TokensOptions tokens_options;
    CLI::App* sink = add_sink(app, sink_options);
    CLI::App* logits = add_logits(app, logits_options);
    add_tokens(app, tokens_options);
    app.footer("Exit codes: 0 done, 2 usage, 3 bad input, 4 checkpoint damaged or of another policy, 8 disk.");
    try {
      app.parse(argc, argv);
    } catch (const CLI::Success& help) { return app.exit(help); } catch (const CLI::ParseError& error) {
      throw Error(std::string(error.what()) + "; --help lists the flags", Exit::usage);
    }
    if (sink->parsed()) return run_sink(sink_options, ablation);
    if (logits->parsed()) return run_logits(logits_options, ablation);
    return run_tokens(tokens_options, ablation);
  });
}

}  // namespace sink
