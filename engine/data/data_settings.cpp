#include "engine/data/data_settings.h"

namespace sink {

const Settings<DataConfig>& data_settings() {
  using C = DataConfig;
  static const Settings<DataConfig> settings = [] {
    const char* data = "Data";
    Settings<DataConfig> table{
        {"task", data, &C::task, "natural text, or the synthetic task of Guo et al. 2024"},
        {"data", data, &C::data, "folder made by `prepare`; needed for task text"},
        {"fixed-first-token", data, &C::fixed_first_token,
         "token id put first in every sequence, -1: none (Gu et al., Table 10)", -1, 2147483647},
        {"accumulate", data, &C::accumulate, "micro-batches per optimiser step", 1, 1e6},
        {"seed", data, &C::seed, "of weights and of the order of the data"},
        {"eval-sequences", "Measuring and saving", &C::eval_sequences, "validation sequences measured", 1, 1e6},
        {"prefix-validation", "Measuring and saving", &C::prefix_validation,
         "with a prefix, the validation loss leaves out its first prefix-1 targets as the training loss does (ours), "
         "or counts them (study)"},
    };
    table.front().choices = {"text", "bigram-backcopy"};
    table.back().choices = {"ours", "study"};
    return table;
  }();
  return settings;
}

}  // namespace sink
