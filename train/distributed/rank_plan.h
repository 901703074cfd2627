// What ranks would keep, send and take: formulas, of which tests hold that runs are as they say. Bytes and seconds.
#pragma once

#include <cstdint>
#include <vector>

namespace sink {

struct RankPlan {
  // Numbers in the sections of the parameter arena, filled up for `ranks` (ParameterArena::sections): what is before
  // the blocks, each block, what is behind them.
  std::vector<std::int64_t> sections;
  std::int64_t ranks = 1;
  std::int64_t zero = 0;           // 0 | 1
  std::int64_t micro_batches = 1;  // of a step, of all ranks
  bool ordered = true;             // --gradient-sum
  bool bf16 = false;               // whether products read a copy of 2 bytes
  std::int64_t moments = 2;        // numbers that the optimiser keeps for each parameter: 2 of AdamW, 1 of SGD and Lion

  std::int64_t numbers() const;
  std::int64_t rounds() const { return micro_batches / ranks; }
};

// What one rank keeps between steps, without activations, which depend on --batch alone (--dry-run without --nproc).
struct RankMemory {
  double weights = 0, copies = 0, gradients = 0, moments = 0;
  double sums = 0;  // of several rounds of micro-batches in their order
  double total() const { return weights + copies + gradients + moments + sums; }
};
RankMemory memory_of(const RankPlan& plan);

// Bytes that one rank sends for collectives of tensors in a step after the first: gradients, and parameters; losses and
// norms, a few bytes each, are not in it. With N ranks a sum or a gather of S bytes is (N - 1) / N S of each.
double bytes_sent_of(const RankPlan& plan);

// Seconds of a step where one rank alone trains `rate` tokens a second and sends `link` bytes a second. What travels
// while backward computes (two thirds of a micro-batch's time) costs nothing; the section that is last does, and with
// --zero 1 weights behind the update.
struct RankTime {
  double computing = 0, waiting = 0;
  double step() const { return computing + waiting; }
};
RankTime time_of(const RankPlan& plan, double tokens_per_step, double rate, double link);

}  // namespace sink
