// Which block of the text a sample of training is: a pure function of (seed, step, place in the step), so that a run
// that goes on needs nothing but its step.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/data/data_config.h"

namespace sink {

struct BlockPlace {
  std::size_t domain;
  std::int64_t block;  // of this domain, from 0
};

class BlockOrder {
 public:
  virtual ~BlockOrder() = default;
  // Sample `in_step` of the `step_samples` of a step, which counts from 0.
  virtual BlockPlace place(std::int64_t step, std::int64_t in_step, std::int64_t step_samples) const = 0;
  // Of every domain, how many blocks are ever used, and its part of all samples in the long run.
  virtual std::vector<std::int64_t> used() const = 0;
  virtual std::vector<double> shares() const = 0;
};

// `blocks` has the number of blocks of each domain, at least one block in all. The order is config.data_order:
//
//   shuffled   Epoch after epoch each block once, in a fresh permutation of all blocks of all domains.
//
// Of config.data_fraction = F, each domain with blocks keeps the part F of them, one at least: which ones is chosen
// once by a permutation that knows no seed, so all seeds see the same, and a smaller part lies within a larger one.
// Throws Error (Exit::usage).
std::unique_ptr<BlockOrder> make_block_order(const DataConfig& config, const std::vector<std::int64_t>& blocks);

}  // namespace sink
