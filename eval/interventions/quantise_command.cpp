// eval_<ablation> quantise: loss against bits, with the kurtosis of what is rounded beside it.
#include <algorithm>
#include <cstdio>
#include <memory>

#include "eval/eval_command.h"
#include "eval/interventions/intervention_options.h"

namespace sink {
namespace {

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
  char line[256];
  std::snprintf(line, sizeof line,
                "kurtosis (3: normal), the largest of any layer: residual stream %.1f of the first position (layer "
                "%zu), %.1f of the others (layer %zu);\n  largest |x| %.0f medians (layer %zu)\n  what products read:",
                first.value, first.at, others.value, others.at, outlier.value, outlier.at);
  std::string lines = line;
  const char* products[] = {"q k v", "out", "up", "down"};
  for (std::size_t product = 0; product < 4; ++product) {
    std::vector<double> of_layers;
    for (const std::vector<double>& layer : kurtosis.inputs) of_layers.push_back(layer[product]);
    const Largest most = largest_in(of_layers);
    std::snprintf(line, sizeof line, "%s %s %.1f (layer %zu)", product ? "," : "", products[product], most.value,
                  most.at);
    lines += line;
  }
  return lines + "\n";
}

// The change of loss: a row for each number of bits, a column for each scale, in the order of quantisations().
std::string table_of_quantisations(const CheckpointInterventions& found) {
  constexpr std::size_t kColumns = 8;
  const Interventions& all = found.measured;
  char line[256];
  std::snprintf(line, sizeof line, "%lld sequences of %lld tokens, loss %.4f nats; its change, a scale a ...\n",
                static_cast<long long>(all.sequences), static_cast<long long>(all.context), all.loss);
  std::string table = line;
  table +=
      "         weights                inputs                         both\n"
      "bits     tensor    channel    tensor    channel     token    tensor    channel     token\n";
  for (std::size_t n = 0; n < all.results.size(); ++n) {
    if (n % kColumns == 0) {
      const std::string& name = all.results[n].name;  // "weights 8 tensor"
      table += "   " + name.substr(name.find(' ') + 1, 1);
    }
    std::snprintf(line, sizeof line, " %+10.4f", all.results[n].change);
    table += line + std::string(n % kColumns == kColumns - 1 ? "\n" : "");
  }
  return table + lines_of_kurtosis(*found.kurtosis);
}

}  // namespace

EvalCommand quantise_command(CLI::App& app, const Ablation& ablation) {
  auto options = std::make_shared<InterventionOptions>();
  CLI::App* line = app.add_subcommand(
      "quantise",
      "What the loss becomes in 8, 6, 5, 4 and 3 bits: of the matrices of the blocks, of what all of them read, and of "
      "both; with one scale for a matrix or what is read of a sequence (tensor), one for each output of a matrix or "
      "number of a token (channel), or one for each token (of a matrix then for each output). Symmetric, up to the "
      "largest, kept as floats. Kurtosis says how far single numbers stand out. A terminal gets the table alone; a "
      "pipe, a file, --out or --json JSON with standard errors, and stderr the table. Other combinations: "
      "`interventions --settings`.");
  add_intervention_options(line, *options);
  options->request.interventions = quantisations();
  options->request.with_kurtosis = true;
  return {line, [options, ablation] { return run_intervention_request(*options, ablation, table_of_quantisations); }};
}

}  // namespace sink
