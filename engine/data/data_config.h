// What the batches of a run depend on.
#pragma once

#include <cstdint>
#include <string>

namespace sink {

struct DataConfig {
  std::string task = "text";            // text | bigram-backcopy
  std::string data;                     // folder made by `prepare` (task text)
  std::int64_t fixed_first_token = -1;  // token id put at position 1 of every block; -1 leaves the text alone
  std::int64_t context = 64;            // T
  std::int64_t prefix = 0;              // tokens that every token sees; 0: none (1 counts only under a window)
  std::int64_t accumulate = 1;          // micro-batches an optimiser step
  std::int64_t eval_sequences = 100;    // for alpha, sink and validation loss
  // Whether the validation loss counts the first prefix - 1 targets: ours, no, as in training; study: yes.
  std::string prefix_validation = "ours";
  std::uint64_t seed = 0;
};

}  // namespace sink
