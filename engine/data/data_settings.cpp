#include "engine/data/data_settings.h"

#include <algorithm>

namespace sink {

const Settings<DataConfig>& data_settings() {
  using C = DataConfig;
  static const Settings<DataConfig> settings = [] {
    const char* data = "Data";
    Settings<DataConfig> table{
        {"task", data, &C::task, "natural text or the synthetic task; of Guo et al. 2024"},
        {"data", data, &C::data, "folder made by `prepare`; needed for task text"},
        {"data-order", data, &C::data_order,
         "shuffled: each block once an epoch; mixture: domains drawn by the weights that `prepare` was given; "
         "released: "
         "as the paper's loader does, file by file (engine/data/block_order.h)"},
        {"loader-ranks", data, &C::loader_ranks,
         "--data-order released: readers that share a step, each of one file at a time; the paper had 4 or 8", 1, 4096},
        {"data-fraction", data, &C::data_fraction,
         "part of the training blocks that is used, the same one for every seed (Gu et al., section 5)", 0, 1},
        {"fixed-token", data, &C::fixed_token,
         "token id put at --fixed-position of every block of training and validation, -1: none (Gu et al., Table 10)",
         -1, 2147483647},
        {"fixed-position", data, &C::fixed_position,
         "where: 1 is a block's first token; from 2 on the id is also what the position before has to predict", 1, 1e9},
        {"fixed-to", data, &C::fixed_to,
         "the position is drawn for each block, uniformly from --fixed-position to this one; 0: it is --fixed-position",
         0, 1e9},
        {"fixed-probability", data, &C::fixed_probability,
         "that a block of training has the fixed token, drawn for each block, the same in every epoch. Blocks of "
         "validation all have it, but at 0 none: the sink is measured with the token, if training has it at all",
         0, 1},
        {"random-from", data, &C::random_from,
         "positions from this one to --random-to, counted from 1 and both included, hold ids drawn uniformly from the "
         "vocabulary, in training and validation, the same in every epoch; 0: none (Gu et al., section 5)",
         0, 1e9},
        {"random-to", data, &C::random_to, "last random position; 0: none", 0, 1e9},
        {"document-mask", data, &C::document_mask,
         "tokens see those of their own document alone, where a block holds parts of several; the paper has no such "
         "mask"},
        {"reset-positions", data, &C::reset_positions,
         "with --document-mask: positions restart at every document. Distances within one are the same: without "
         "learned keys it is what learned and sinusoidal positions see"},
        {"accumulate", data, &C::accumulate, "micro-batches per optimiser step", 1, 1e6},
        {"seed", data, &C::seed, "of weights and of the order of the data"},
        {"eval-sequences", "Measuring and saving", &C::eval_sequences, "validation sequences measured", 1, 1e6},
        {"prefix-validation", "Measuring and saving", &C::prefix_validation,
         "with a prefix, the validation loss leaves out its first prefix-1 targets as the training loss does (ours), "
         "or counts them (study)"},
    };
    auto named = [&](const char* flag) -> Setting<DataConfig>& {
      return *std::find_if(table.begin(), table.end(), [&](const auto& setting) { return setting.flag == flag; });
    };
    named("task").choices = {"text", "bigram-backcopy"};
    named("data-order").choices = {"shuffled", "mixture", "released"};
    named("fixed-token").older_names = {"fixed-first-token"};
    named("prefix-validation").choices = {"ours", "study"};
    return table;
  }();
  return settings;
}

}  // namespace sink
