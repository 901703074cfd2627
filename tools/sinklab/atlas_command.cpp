// The command `sinklab atlas`: measures each model, and tells which could not be measured.
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "engine/io/bounded_json.h"
#include "engine/io/build_info.h"
#include "engine/io/compute_options.h"
#include "engine/io/file.h"
#include "engine/io/output_kind.h"
#include "engine/io/printable.h"
#include "engine/io/setting.h"
#include "engine/io/sha256.h"
#include "engine/io/str_format.h"
#include "eval/evaluated_model.h"
#include "eval/json_output.h"
#include "eval/model_path.h"
#include "eval/sink/even_attention.h"
#include "eval/sink/measured_input.h"
#include "eval/sink/trained_on.h"
#include "tools/sinklab/ablation_of_model.h"
#include "tools/sinklab/atlas.h"

namespace sink {
namespace {

const OutputKind kAtlasFile = kind_by_text("an atlas of sinklab", "{", {"\"atlas\""}),
                 kAtlasPicture =
                     kind_by_text("a picture of an atlas", "<svg xmlns", {"<title>attention sinks of models"});

struct AtlasOptions {
  std::vector<std::string> models, scores;
  std::string picture;
  InputOptions texts;
  ComputeOptions compute;
  JsonOutput output;
};

// Whether `line` of scores is a question that the model answers correctly.
bool is_right(const nlohmann::json& line) {
  const auto choice = line.find("choice"), gold = line.find("gold"), greedy = line.find("greedy");
  if (greedy != line.end() && greedy->is_boolean()) return greedy->get<bool>();
  if (choice == line.end() || gold == line.end() || !choice->is_number_unsigned() || !gold->is_number_unsigned())
    throw JsonFailure("expected a line of `sinklab score`, with `choice` and `gold`, or `greedy`");
  return *choice == *gold;
}

// Percent of the questions of each model, NaN for the file `-`. All files must have the same number of questions.
std::vector<double> accuracies(const AtlasOptions& options) {
  std::vector<double> accuracy(options.models.size(), kNotMeasured);
  if (options.scores.empty()) return accuracy;
  if (options.scores.size() != options.models.size())
    throw Error("--score must be given once for each of the " + counted(accuracy.size(), "model") + ", `-` for none",
                Exit::usage);
  std::int64_t of_others = 0;
  for (std::size_t m = 0; m < accuracy.size(); ++m) {
    if (options.scores[m] == "-") continue;
    std::int64_t questions = 0, right = 0;
    for_each_json_line("score", options.scores[m], [&](const nlohmann::json& line, std::int64_t) {
      right += is_right(line);
      return ++questions > 0;
    });
    if (questions == 0 || (of_others > 0 && questions != of_others))
      throw Error(options.scores[m] + " has " + counted(questions, "line") + ", and " +
                      (of_others > 0 ? "another file " + std::to_string(of_others) : "must have one") +
                      ": score the same questions with each model",
                  Exit::bad_input);
    of_others = questions;
    accuracy[m] = 100 * static_cast<double>(right) / static_cast<double>(questions);
  }
  return accuracy;
}

// "Softmax, extra=KeyBias, window 512 in 15 of 18 layers"
std::string attention_in_words(const std::string& policies, const Sizes& sizes) {
  std::vector<std::string> words;
  std::istringstream policy_texts(policies);
  for (std::string policy; policy_texts >> policy;)
    for (const char* kind : {"attention=", "query_key_norm=", "features=", "extra=", "gate="})
      if (policy.starts_with(kind)) words.push_back(policy.starts_with("attention=") ? policy.substr(10) : policy);
  std::int64_t windowed = 0;
  for (std::int64_t layer = 0; layer < sizes.layers; ++layer) windowed += !sizes.is_global(layer);
  if (windowed > 0)
    words.push_back(str_format("window %lld in %lld of %lld layers", static_cast<long long>(sizes.window),
                               static_cast<long long>(windowed), static_cast<long long>(sizes.layers)));
  return joined(words, ", ");
}

// The model on all texts as they are and, if it has a begin token, after it.
void add_rows(const AtlasOptions& options, const std::string& given, std::int64_t texts, double accuracy,
              std::vector<AtlasRow>& rows) {
  const Ablation& ablation = ablation_of_model(model_path(given));
  const auto [checkpoint, model] = load_evaluated(given, ablation, options.compute, {.needs_logits = false});
  const Sizes& sizes = model->sizes();
  TrainedOn run = trained_on(checkpoint, sizes);
  run.context = options.texts.context;
  require_context(run.context, sizes);
  const auto label = token_labels(checkpoint, nullptr);
  print_header(*model, given, ablation, options.compute);
  const bool has_begin = run.fixed_token >= 0 ? run.fixed_position == 1 && run.fixed_to <= 1
                                              : checkpoint.attributes.contains("begin_token") ||
                                                    checkpoint.attributes.contains("prefix_token");
  for (const bool begins : {false, true}) {
    if (begins && !has_begin) continue;
    InputOptions given_texts = options.texts;
    given_texts.bos = begins;
    const Input input = given_input(given_texts, checkpoint, run, sizes);
    if (input.tokens.sequences() != texts)
      throw Error("only " + std::to_string(input.tokens.sequences()) + " of the " + counted(texts, "text") + " have " +
                      counted(run.context, "token") +
                      " of this model, and rows are of the same texts: give a smaller "
                      "--context, or longer texts",
                  Exit::bad_input);
    AtlasRow row{.model = given, .family = ablation.name, .policies = ablation.policies};
    row.attention = attention_in_words(ablation.policies, sizes);
    row.parameters = model->parameters().count();
    if (begins) row.begin = label(static_cast<std::int32_t>(first_token(checkpoint, run, "atlas", true)));
    row.evaluation = evaluate_in_batches(*model, checkpoint, input.tokens, options.compute);
    row.entropy_over_even =
        row.evaluation.entropy / even_entropy(visible_keys(sizes, run.context, model->extra_tokens(),
                                                           row.evaluation.extra == Evaluation::Extra::key));
    row.accuracy = accuracy;
    rows.push_back(std::move(row));
  }
}

int run_atlas(const AtlasOptions& options) {
  if (!options.texts.is_jsonl())
    throw Error(
        "--text-file must be .jsonl with a text in each line, {\"text\": \"...\"}: every model reads the same "
        "texts, cut to --context of its tokens",
        Exit::usage);
  options.output.require_free(kAtlasFile);
  if (!options.picture.empty()) require_output(options.picture, kAtlasPicture, options.output.force);
  require_two_files({"--out", options.output.out}, {"--picture", options.picture});
  const std::vector<double> accuracy = accuracies(options);
  std::int64_t texts = 0;
  for_each_json_line("text", *options.texts.text_file,
                     [&](const nlohmann::json&, std::int64_t) { return ++texts > 0; });
  std::vector<AtlasRow> rows;
  bool all_measured = true;
  for (std::size_t m = 0; m < options.models.size(); ++m) {
    const std::size_t before = rows.size();
    try {
      add_rows(options, options.models[m], texts, accuracy[m], rows);
    } catch (const Error& error) {
      rows.resize(before);
      rows.push_back({.model = options.models[m], .error = error.what()});
      all_measured = false;
    }
  }
  const nlohmann::ordered_json about{{"texts", *options.texts.text_file},
                                     {"texts_sha256", sha256_hex(read_file("text", *options.texts.text_file))},
                                     {"sequences", texts},
                                     {"context", options.texts.context},
                                     {"precision", options.compute.precision},
                                     {"device", options.compute.device},
                                     {"commit", build_commit()}};
  if (!options.picture.empty()) write_file_atomically(options.picture, atlas_svg(rows));
  options.output.write(atlas_table(rows), atlas_json(rows, about.dump()));
  return all_measured ? 0 : static_cast<int>(Exit::bad_input);
}

}  // namespace

EvalCommand atlas_command(CLI::App& app, const Ablation&) {
  auto options = std::make_shared<AtlasOptions>();
  options->texts.context = kPaperContext;
  CLI::App* atlas = app.add_subcommand(
      "atlas",
      "Compares the sinks of several models. Each reads the same texts, with and without its begin token. A model that "
      "cannot be measured is a line with the reason, and the exit code is then 3.");
  atlas->add_option("models", options->models, kWhatIsEvaluated)->required();
  atlas->add_option("--text-file", options->texts.text_file, "JSONL of texts; {\"text\": \"...\"} in each line")
      ->required();
  atlas->add_option("--context", options->texts.context, "tokens per text, the begin token among them")
      ->check(whole_number(2))
      ->capture_default_str();
  atlas->add_option("--data", options->texts.data, "folder of a tokenizer; for models that have none");
  atlas
      ->add_option("--score", options->scores,
                   "scores of a model; what `sinklab score` wrote, once for each model in their order, - for none")
      ->allow_extra_args(false);
  atlas->add_option("--picture", options->picture, "write Sink_1 of all models as SVG to this file");
  add_compute_options(atlas, options->compute);
  add_json_output_options(atlas, options->output, "the JSON", "JSON");
  atlas->footer(
      "Example:\n  sinklab atlas SmolLM2-135M.gguf gemma-3-270m.gguf --text-file texts.jsonl \\\n"
      "    --out atlas.json --picture atlas.svg");
  return {atlas, [options] { return run_atlas(*options); }};
}

}  // namespace sink
