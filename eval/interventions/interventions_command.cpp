// eval_<ablation> interventions and quantise: the loss without the attention to the first token, or with the
// interventions of a file; and the loss against bits, with the kurtosis of the rounded activations.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>

#include "engine/io/compute_options.h"
#include "engine/io/file.h"
#include "engine/io/output_kind.h"
#include "engine/io/printable.h"
#include "engine/io/setting.h"
#include "engine/io/settings_toml.h"
#include "engine/io/str_format.h"
#include "eval/eval_command.h"
#include "eval/evaluated_model.h"
#include "eval/generate/generation_options.h"
#include "eval/generate/streaming.h"
#include "eval/interventions/checkpoint_interventions.h"
#include "eval/interventions/intervention_file.h"
#include "eval/interventions/place_map.h"
#include "eval/json_output.h"

namespace sink {
namespace {

const OutputKind kInterventionsFile =
    kind_by_text("interventions of eval_<ablation>", "{", {"\"interventions\"", "\"policies\""});

struct InterventionOptions {
  InterventionRequest request;
  JsonOutput output;
  ComputeOptions compute;
};

// Model, input, device and precision, --json, --out and --force.
void add_intervention_options(CLI::App* line, InterventionOptions& options) {
  InterventionRequest& request = options.request;
  line->add_option("checkpoint,--model", request.checkpoint, kWhatIsEvaluated)->required();
  const std::vector<CLI::Option*> texts = add_text_options(line, request.given);
  CLI::Option* tokens = add_tokens_option(line, request.given, texts);
  line->add_option("--sequences", request.sequences, "maximum number of sequences")
      ->check(whole_number(1))
      ->capture_default_str();
  line->add_option("--context", request.given.context, "tokens per sequence [the training context; of --text all]")
      ->check(whole_number(1))
      ->excludes(tokens);
  line->add_option("--data", request.given.data, "data folder, instead of that of the run");
  add_compute_options(line, options.compute, {"f32", "f64"});
  line->get_option("--device")->description("interventions run on the CPU only");
  add_json_output_options(line, options.output, "the JSON", "JSON");
}

// Measures, writes the table and the JSON (json_output.h), and returns the exit code.
int run_intervention_request(const InterventionOptions& options, const Ablation& ablation,
                             const std::function<std::string(const CheckpointInterventions&)>& table_of) {
  if (options.compute.device != "cpu")
    throw Error("interventions run on the CPU only: leave out --device " + options.compute.device, Exit::usage);
  options.compute.apply();
  options.output.require_free(kInterventionsFile);
  InterventionRequest request = options.request;
  request.precision = options.compute.precision;
  request.batch = options.compute.batch;
  request.before_computation = [&](const LanguageModel& model) {
    print_header(model, request.checkpoint, ablation, options.compute);
  };
  const CheckpointInterventions all = intervene_on_checkpoint(request, ablation);
  options.output.write(table_of(all), all.json);
  return 0;
}

struct InterventionsOptions : InterventionOptions {
  std::vector<std::int64_t> tokens{1, 5};
  std::string settings, each_head, picture;
};

const OutputKind kPicture = kind_by_text("a picture of interventions", "<svg xmlns", {"<title>interventions</title>"});
constexpr std::size_t kMostPlaces = 20;  // lines of a table

// All results, or of more than kMostPlaces with a place those with the largest change, the largest first.
std::vector<InterventionResult> lines_of(const Interventions& all) {
  std::vector<InterventionResult> lines, placed;
  for (const InterventionResult& result : all.results) (has_place(result) ? placed : lines).push_back(result);
  if (placed.size() <= kMostPlaces) return all.results;
  std::ranges::stable_sort(placed, std::greater(), [](const auto& r) { return std::abs(change_of(r)); });
  lines.insert(lines.end(), placed.begin(), placed.begin() + kMostPlaces);
  return lines;
}

std::string table_of_interventions(const CheckpointInterventions& found) {
  const Interventions& all = found.measured;
  std::size_t width = 16;
  for (const InterventionResult& r : all.results) width = std::max(width, r.name.size());
  const int columns = static_cast<int>(width);
  std::string table = str_format("%s of %s, loss %.4f nats\n%-*s %8s %8s %10s %8s %8s %8s %8s\n",
                                 counted(all.sequences, "sequence"), counted(all.context, "token"), all.loss, columns,
                                 "", "before", "loss", "change", "+-", "last", "KL", "greedy %");
  for (const InterventionResult& r : lines_of(all)) {
    const std::string error = all.sequences > 1 ? str_format("%.4f", r.error) : "-";  // one sequence has none
    table += str_format("%-*s %8.4f %8.4f %+10.4f %8s %+8.3f %8.4f %8.1f  %s\n", columns, r.name, r.before, r.loss,
                        r.change, error, r.last_change, r.divergence, 100 * r.greedy_changed, r.meaning);
  }
  if (const auto places = static_cast<std::size_t>(std::ranges::count_if(all.results, has_place)); places > kMostPlaces)
    table +=
        str_format("the %zu largest changes of %zu heads or tokens; --out FILE writes all, --picture FILE draws them\n",
                   kMostPlaces, places);
  return table;
}

std::vector<Intervention> interventions_of(const InterventionsOptions& options) {
  if (!options.each_head.empty()) return {without_each_head(options.each_head == "mean")};
  if (options.settings.empty()) return default_interventions(options.tokens);
  return interventions_from_toml(read_file("settings", options.settings, kMaxSettingsBytes + 1), options.settings);
}

int run_interventions(InterventionsOptions options, const Ablation& ablation) {
  options.request.interventions = interventions_of(options);
  if (options.picture.empty()) return run_intervention_request(options, ablation, table_of_interventions);
  if (std::ranges::none_of(options.request.interventions,
                           [](const auto& one) { return one.per_head || one.per_token; }))
    throw Error(
        "--picture draws results for each head or token: give --each-head, or per-head or per-token in "
        "--settings",
        Exit::usage);
  require_two_files({"--out", options.output.out}, {"--picture", options.picture});
  require_output(options.picture, kPicture, options.output.force);
  return run_intervention_request(options, ablation, [&](const CheckpointInterventions& found) {
    write_file_atomically(options.picture, place_maps_svg(found.measured, found.tokens));
    return table_of_interventions(found);
  });
}

struct Largest {
  double value = 0;
  std::size_t at = 0;
};
Largest largest_in(const std::vector<double>& values) {
  const auto largest = std::max_element(values.begin(), values.end());
  return {*largest, static_cast<std::size_t>(largest - values.begin())};
}

std::string lines_of_kurtosis(const ActivationKurtosis& kurtosis) {
  const Largest first = largest_in(kurtosis.residual_first), others = largest_in(kurtosis.residual_others),
                outlier = largest_in(kurtosis.residual_largest_by_median);
  std::string lines = str_format(
      "kurtosis (3: normal), the largest of any layer: residual stream %.1f of the first position (layer "
      "%zu), %.1f of the others (layer %zu);\n  largest |x| %.0f medians (layer %zu)\n  what products read:",
      first.value, first.at, others.value, others.at, outlier.value, outlier.at);
  const char* products[] = {"q k v", "out", "up", "down"};
  for (std::size_t product = 0; product < 4; ++product) {
    std::vector<double> of_layers;
    for (const std::vector<double>& layer : kurtosis.inputs) of_layers.push_back(layer[product]);
    const Largest most = largest_in(of_layers);
    lines += str_format("%s %s %.1f (layer %zu)", product ? "," : "", products[product], most.value, most.at);
  }
  return lines + "\n";
}

// The change of loss: a row for each number of bits, a column for each grain, in the order of quantisations().
std::string table_of_quantisations(const CheckpointInterventions& found) {
  constexpr std::size_t kColumns = 8;
  const Interventions& all = found.measured;
  std::string table = str_format("%s of %s, loss %.4f nats; its change, a scale a ...\n",
                                 counted(all.sequences, "sequence"), counted(all.context, "token"), all.loss) +
                      "         weights                inputs                         both\n"
                      "bits     tensor    channel    tensor    channel     token    tensor    channel     token\n";
  auto add_rows = [&](const std::function<std::string(const InterventionResult&)>& cell) {
    for (std::size_t n = 0; n < all.results.size(); ++n) {
      const std::string& name = all.results[n].name;  // "weights 8 tensor"
      if (n % kColumns == 0) table.append("   ").append(name, name.find(' ') + 1, 1);
      table += cell(all.results[n]) + (n % kColumns == kColumns - 1 ? "\n" : "");
    }
  };
  add_rows([](const InterventionResult& result) { return str_format(" %+10.4f", result.change); });
  if (!all.results[0].tokens.empty()) {
    table += "destroyed tokens, %: the change of the hidden state after the last block is at least its size\n";
    add_rows(
        [](const InterventionResult& result) { return str_format(" %10.1f", 100 * share_destroyed(result.tokens)); });
  }
  return table + lines_of_kurtosis(*found.kurtosis);
}

const OutputKind kTokenChanges =
    kind_by_text("the tokens of eval_<ablation> quantise", "intervention,sequence,position,");

struct QuantiseOptions : InterventionOptions {
  std::string each_token;
  RoundingOptions cache;
};

// --kv-bits: each sequence is read through an exact cache and through rounded ones.
int run_quantise_cache(const QuantiseOptions& options, const Ablation& ablation) {
  constexpr std::int64_t kStretches = 4;
  options.compute.apply();
  options.output.require_free(kInterventionsFile);
  const EvaluatedModel evaluated = load_evaluated(options.request.checkpoint, ablation, options.compute);
  LanguageModel& model = *evaluated.model;
  const Tensor tokens_NT = sequences_of(options.request, evaluated.checkpoint, model.sizes()).tokens_BT();
  const std::int64_t N = tokens_NT.dim(0), T = tokens_NT.dim(1);
  const std::vector<CacheRounding> roundings = options.cache.roundings(T);
  print_header(model, options.request.checkpoint, ablation, options.compute);
  std::vector<std::vector<StreamLoss>> losses;
  for (std::int64_t n = 0; n < N; ++n)
    losses.push_back(stream_losses(model, {tokens_NT.data<std::int32_t>() + n * T, static_cast<std::size_t>(T)}, {},
                                   roundings, kStretches, [](std::int64_t) {}));
  const std::vector<StreamLoss> mean = mean_of(losses);
  options.output.write(counted(N, "sequence") + " of " + counted(T, "token") + "\n" + stream_table(mean),
                       stream_json(options.request.checkpoint, ablation.name, model.sizes().context, T, mean));
  return 0;
}

int run_quantise(QuantiseOptions options, const Ablation& ablation) {
  if (!options.cache.bits.empty()) return run_quantise_cache(options, ablation);
  options.request.each_token = !options.each_token.empty();
  require_two_files({"--out", options.output.out}, {"--each-token", options.each_token});
  if (options.request.each_token) require_output(options.each_token, kTokenChanges, options.output.force);
  return run_intervention_request(options, ablation, [&](const CheckpointInterventions& found) {
    if (options.request.each_token)
      write_file_atomically(options.each_token, token_changes_csv(found.measured, found.tokens));
    return table_of_quantisations(found);
  });
}

}  // namespace

EvalCommand interventions_command(CLI::App& app, const Ablation& ablation) {
  auto options = std::make_shared<InterventionsOptions>();
  CLI::App* line = app.add_subcommand(
      "interventions",
      "Measures the loss after a change inside the model. The attention to the first token is "
      "removed, given to the other keys, or made equal for all queries, next to the same change for another token; "
      "weights and inputs are rounded to 8 and 4 bits. --settings FILE lists other changes. Differences and standard "
      "errors are over the same sequences; last is the change for the last token of a text; KL is the mean divergence "
      "of the next token's distribution in nats; greedy "
      "counts positions whose most probable token changes. Prints a table on a terminal. With --json or --out, or into "
      "a pipe, it writes JSON and prints the table on stderr.");
  CLI::Option* tokens = line->add_option("--token", options->tokens,
                                         "position of the token, from 1; several, such as 1,5, for comparison")
                            ->delimiter(',')
                            ->allow_extra_args(false)
                            ->capture_default_str();
  line->add_option(
          "--settings", options->settings,
          "TOML file of interventions; masked tokens, other values, steered keys, heads without output, activations of "
          "another text, clipped activations, fewer bits, by layers and heads: "
          "eval/interventions/interventions_example.toml has one of each")
      ->excludes(tokens);
  CLI::Option* settings = line->get_option("--settings");
  line->add_option("--each-head", options->each_head,
                   "one result per head, with this as its output; the mean is over all tokens")
      ->check(CLI::IsMember({"zero", "mean"}))
      ->excludes(tokens)
      ->excludes(settings)
      ->type_name("zero|mean");
  line->add_option("--picture", options->picture,
                   "heat map of the results for each head or token; an SVG file to write")
      ->type_name("FILE");
  add_intervention_options(line, *options);
  return {line, [options, ablation] { return run_interventions(*options, ablation); }};
}

EvalCommand quantise_command(CLI::App& app, const Ablation& ablation) {
  auto options = std::make_shared<QuantiseOptions>();
  CLI::App* line = app.add_subcommand(
      "quantise",
      "Measures the loss after rounding to 3 to 8 bits. Weights of the blocks, their inputs, and both are "
      "rounded to 8, 6, 5, 4 and 3 bits, with one scale per matrix or sequence (tensor), per output or input feature "
      "(channel), or per token. Rounding is symmetric and simulated in floating point. The kurtosis shows outliers. "
      "Prints a table on a terminal. With --json or --out, or into a pipe, it writes JSON and prints the table on "
      "stderr. `interventions --settings` takes other combinations. --kv-bits rounds cached keys and values in place "
      "of "
      "weights and inputs, and compares the next token with that of the exact cache.");
  CLI::Option* each_token =
      line->add_option("--each-token", options->each_token,
                       "changes of each token's loss and states; a CSV file to write. A token is destroyed if "
                       "the change of its hidden state after the last block is at least as large as the state")
          ->type_name("FILE");
  add_rounding_options(line, options->cache);
  line->get_option("--kv-bits")->excludes(each_token);
  add_intervention_options(line, *options);
  options->request.interventions = quantisations();
  options->request.with_kurtosis = true;
  return {line, [options, ablation] { return run_quantise(*options, ablation); }};
}

}  // namespace sink
