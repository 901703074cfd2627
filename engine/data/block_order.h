// Which block of the text a sample of training is: a pure function of (seed, step, place in the step), so that a run
// that goes on needs nothing but its step.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
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

struct DomainBlocks {
  std::string name;
  std::int64_t blocks = 0;
  double weight = 0;  // beside the others'; 0 in all: by their blocks
};

// There is at least one block in all. The order is config.data_order:
//
//   shuffled   Epoch after epoch each block once, in a fresh permutation of all blocks of all domains.
//   mixture    Of every 10,000 samples each domain has as many as its weight says, to four digits, in a fresh
//              permutation; in itself it goes on epoch after epoch, as above. This is what a list of weights means.
//   released   What the study's released loader does (it never looks at the weights): 256 blocks of a domain are a
//              file, what is left is dropped, and so are domains with fewer files than config.loader_ranks = W. The
//              list of all files is shuffled once and cut to a multiple of W; rank r reads every W-th of it from r on,
//              for ever, and gives its part of each step from one file at a time, whose blocks it shuffles anew at each
//              visit. A step spans few domains.
//
// Of config.data_fraction = F, each domain with blocks keeps the part F of them, one at least (released: of the list of
// files): which ones is chosen once by a permutation that knows no seed, so all seeds see the same, and a smaller part
// lies within a larger one. Throws Error (Exit::usage; Exit::bad_input where a domain has no block to draw).
std::unique_ptr<BlockOrder> make_block_order(const DataConfig& config, const std::vector<DomainBlocks>& domains);

}  // namespace sink
