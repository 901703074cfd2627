// Formulas for the memory, traffic and time of a rank. Tests compare them with runs. Bytes and seconds.
#pragma once

#include <cstdint>
#include <vector>

namespace sink {

struct RankPlan {
  // The size in elements of each bucket of the parameter arena, padded for `ranks` (ParameterArena::buckets): the
  // parameters before the blocks, each block, the parameters after the blocks.
  std::vector<std::int64_t> buckets;
  std::int64_t ranks = 1;
  std::int64_t zero = 0;           // 0 | 1
  std::int64_t micro_batches = 1;  // of a step, of all ranks
  bool ordered = true;             // --gradient-sum
  bool bf16 = false;               // whether products read a copy of 2 bytes
  int bytes = 4;                   // of a weight, a gradient, a moment: 8 with f64
  std::int64_t moments = 2;        // optimizer state per parameter element: OptimizerKind::moments

  std::int64_t elements() const;
  std::int64_t rounds() const { return micro_batches / ranks; }
};

// What one rank keeps between steps, without activations: these depend on --batch only (--dry-run without --nproc).
struct RankMemory {
  double weights = 0, copies = 0, gradients = 0, moments = 0;
  double sums = 0;  // of several rounds of micro-batches in their order
  double total() const { return weights + copies + gradients + moments + sums; }
};
RankMemory memory_of(const RankPlan& plan);

// Bytes that one rank sends in tensor collectives (gradients and parameters) in a step after the first. Losses and
// norms, a few bytes each, are not included. With N ranks, a sum or a gather of S bytes takes (N - 1) / N S bytes per
// rank.
double bytes_sent_of(const RankPlan& plan);

// Seconds of a step if a single rank trains `rate` tokens per second and sends `link` bytes per second. Transfers that
// overlap with backward (two thirds of the time of a micro-batch) cost nothing. Not overlapped are the bucket that is
// reduced last, after every micro-batch whose gradients are sent; with --zero 1 the weights after the update; and where
// several micro-batches of a rank are summed in order, the gradients that are gathered then.
struct RankTime {
  double computing = 0, waiting = 0;
  double step() const { return computing + waiting; }
};
RankTime time_of(const RankPlan& plan, double tokens_per_step, double rate, double link);

}  // namespace sink
