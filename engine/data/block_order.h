// The order of the blocks in training: a pure function of (seed, step, index in the step), so that a resumed run needs
// only its step.
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
  // Per domain: how many blocks are ever used, and the long-run fraction of all samples.
  virtual std::vector<std::int64_t> used() const = 0;
  virtual std::vector<double> shares() const = 0;
};

struct DomainBlocks {
  std::string name;
  std::int64_t blocks = 0;
  double weight = 0;  // relative to the others; all 0: by their blocks
};

// There must be at least one block. The order is config.data_order:
//
//   shuffled   Every epoch uses each block once, in a new permutation of all blocks of all domains.
//   mixture    Every 10,000 samples are divided among the domains by their weights, in a new permutation; the blocks of
//              each domain are shuffled per epoch as above.
//   released   The order of the paper's released loader, which ignores the weights: 256 blocks of a domain are a file,
//              incomplete files are dropped, and so are domains with fewer files than config.loader_ranks = W. The list
//              of all files is shuffled once and cut to a multiple of W. Rank r reads files r, r + W, ... in a cycle,
//              takes its samples of each step from one file at a time and shuffles the blocks of a file at each visit.
//              A step spans few domains.
//
// config.data_fraction = F keeps a fraction F of the blocks of each domain, at least one (released: of the list of
// files). They are chosen by one permutation that does not depend on the seed: all seeds use the same blocks, and a
// smaller fraction is a subset of a larger one. Throws Error (Exit::usage; Exit::bad_input where a domain has no
// block).
std::unique_ptr<BlockOrder> make_block_order(const DataConfig& config, const std::vector<DomainBlocks>& domains);

}  // namespace sink
