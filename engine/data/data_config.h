// The settings of a run's batches. Context and prefix, which batches also depend on, are sizes of the model.
#pragma once

#include <cstdint>
#include <string>

namespace sink {

struct DataConfig {
  std::string task = "text";            // text | bigram-backcopy
  std::string data;                     // folder made by `prepare` (task text)
  std::string data_order = "shuffled";  // shuffled | mixture | released (engine/data/block_order.h)
  std::int64_t loader_ranks = 4;        // for the order `released`
  double data_fraction = 1;             // fraction of the training blocks that is used, the same for every seed
  std::int64_t fixed_token = -1;        // id put at fixed_position of every block; -1: none
  std::int64_t fixed_position = 1;      // from 1
  std::int64_t fixed_to = 0;            // each block has it at one of fixed_position to fixed_to, drawn; 0: not drawn
  double fixed_probability = 1;         // that a block of training has it; validation has it always, at 0 never
  std::int64_t random_from = 0;         // positions random_from to random_to of every block, counted from 1 and both
  std::int64_t random_to = 0;           // included, get random ids; 0: none
  bool document_mask = false;           // tokens attend to their own document only
  bool reset_positions = false;         // positions restart at every document
  std::int64_t accumulate = 1;          // micro-batches per optimiser step
  std::int64_t eval_sequences = 100;    // for alpha, sink and validation loss
  // Whether the validation loss counts the first prefix - 1 targets: "ours": no, as in training; "study": yes.
  std::string prefix_validation = "ours";
  std::uint64_t seed = 0;
};

}  // namespace sink
