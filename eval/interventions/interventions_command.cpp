// eval_<ablation> interventions: what the loss becomes without the first token's share, and with whatever a file says.
#include <algorithm>
#include <cstdio>
#include <memory>

#include "engine/io/file.h"
#include "eval/eval_command.h"
#include "eval/interventions/intervention_file.h"
#include "eval/interventions/intervention_options.h"

namespace sink {
namespace {

struct InterventionsLine : InterventionOptions {
  std::vector<std::int64_t> tokens{1, 5};
  std::string settings;
};

std::string table_of_interventions(const CheckpointInterventions& found) {
  const Interventions& all = found.measured;
  std::size_t width = 16;
  for (const InterventionResult& r : all.results) width = std::max(width, r.name.size());
  char line[512];
  std::snprintf(line, sizeof line, "%lld sequences of %lld tokens, loss %.4f nats\n%-*s %8s %8s %10s %8s %8s %8s\n",
                static_cast<long long>(all.sequences), static_cast<long long>(all.context), all.loss,
                static_cast<int>(width), "", "before", "loss", "change", "+-", "KL", "greedy %");
  std::string table = line;
  for (const InterventionResult& r : all.results) {
    std::snprintf(line, sizeof line, "%-*s %8.4f %8.4f %+10.4f %8.4f %8.4f %8.1f  ", static_cast<int>(width),
                  r.name.c_str(), r.before, r.loss, r.change, r.error, r.divergence, 100 * r.greedy_changed);
    table += line + r.meaning + "\n";
  }
  return table;
}

int run_interventions(InterventionsLine options, const Ablation& ablation) {
  options.request.interventions =
      options.settings.empty() ? default_interventions(options.tokens)
                               : interventions_from_toml(read_file("settings", options.settings), options.settings);
  return run_intervention_request(options, ablation, table_of_interventions);
}

}  // namespace

EvalCommand interventions_command(CLI::App& app, const Ablation& ablation) {
  auto options = std::make_shared<InterventionsLine>();
  CLI::App* line = app.add_subcommand(
      "interventions",
      "Changes something in a trained model while it runs and says what its loss becomes: what attention gets from the "
      "first token (taken out, made up for by other keys, or made the same for all queries), beside another token for "
      "comparison, and precision (weights and inputs rounded to 8 and 4 bits); or what --settings lists. Change and "
      "its standard error are over the same sequences; KL is the mean over positions of the divergence of the next "
      "token's probabilities after from those before, nats; greedy, at how many positions another token is the most "
      "probable. A terminal gets the table alone; a pipe, a file, --out or --json JSON, and stderr the table.");
  CLI::Option* tokens =
      line->add_option("--token", options->tokens,
                       "position, from 1, whose share is taken; again, or 1,5: of several, others for comparison")
          ->delimiter(',')
          ->allow_extra_args(false)
          ->capture_default_str();
  line->add_option(
          "--settings", options->settings,
          "TOML file that lists interventions: masked tokens, other values, steered keys, clipped activations, "
          "fewer bits, by layers and heads; eval/interventions/interventions_example.toml has one of each")
      ->excludes(tokens);
  add_intervention_options(line, *options);
  return {line, [options, ablation] { return run_interventions(*options, ablation); }};
}

}  // namespace sink
