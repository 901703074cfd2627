// DistributedStrategy: what the processes of a run do together in a training step. TrainingRun calls it at the named
// points of a step and knows nothing else of other processes. Two implementations: SingleProcess, and DataParallel, of
// which every process computes some of the micro-batches of a step.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "autograd/parameter_arena.h"
#include "engine/comm/communicator.h"
#include "model/forward_hooks.h"

namespace sink {

struct RunConfig;

// ParameterShards: the elements of a parameter arena that a process updates and keeps optimizer state of: all, or with
// --zero 1 one shard of every bucket (ZeRO-1, Rajbhandari et al. 2020).
class ParameterShards {
 public:
  // All elements.
  explicit ParameterShards(const ParameterArena& arena);
  // Shard `rank` of `world_size` equal shards of every bucket. The arena is padded for as many (pad_buckets()).
  ParameterShards(const ParameterArena& arena, int rank, int world_size);

  bool is_whole() const { return whole_; }
  // In order.
  const std::vector<Segment>& owned() const { return owned_; }
  // The number of elements. local() returns the position among them of a segment inside one of owned().
  std::int64_t size() const { return size_; }
  Segment local(const Segment& segment) const;

 private:
  bool whole_;
  std::vector<Segment> owned_;
  std::vector<std::int64_t> begin_;  // of each shard among the elements
  std::int64_t size_ = 0;
};

// What signals ask of a run. The processes of a run agree on them after every step.
struct ControlFlags {
  int stop_signal = 0;  // the signal that asks to stop; 0: none
  bool save = false;    // SIGUSR1 asks to save
};

class DistributedStrategy {
 public:
  virtual ~DistributedStrategy() = default;
  DistributedStrategy(const DistributedStrategy&) = delete;
  DistributedStrategy& operator=(const DistributedStrategy&) = delete;

  // The elements that this process updates.
  const ParameterShards& shards() const { return shards_; }

  // ---- The points of a step, in their order.

  virtual void begin_step(std::int64_t /*step*/) {}
  // One value per micro-batch of this process in, one per micro-batch of the step out, in the order of micro-batches.
  virtual std::vector<std::int64_t> all_gather_counts(const std::vector<std::int64_t>& own) { return own; }
  // Micro-batch n of this process, from 0.
  virtual void begin_micro_batch(std::int64_t n) = 0;
  // The hooks of its forward pass, by which gradients are sent while the rest of backward is computed.
  virtual ForwardHooks* forward_hooks() { return &ForwardHooks::none(); }
  // After its backward pass. After the last micro-batch the arena's gradients() hold the sum over all micro-batches of
  // the step: all of it, or with --zero 1 this process's shards.
  virtual void reduce_gradients() = 0;
  // loss += the losses of this micro-batch of every process, in their order.
  virtual void add_loss(const Tensor& loss_of_batch, Tensor& loss) = 0;
  // `values` holds one value per `elements` elements of the arena, of which this process has computed those of its
  // shards. Every process gets all of them.
  virtual void all_gather_shards(Tensor& /*values*/, std::int64_t /*elements*/ = 1) {}
  // After the update: every process gets all parameters.
  virtual void gather_parameters() {}
  virtual void end_step() {}

  // ---- Control, on the host.

  // The flags of all processes together. Where signals differ, that of the first process counts.
  virtual ControlFlags agree(const ControlFlags& own) { return own; }
  // Whether `own` is true on any process.
  virtual bool any(bool own) { return own; }
  // `own` of the first process.
  virtual bool broadcast(bool own) { return own; }

  // Of the communication in all steps of this process.
  struct Traffic {
    std::int64_t steps = 0;
    double bytes_sent = 0;      // by this process
    double seconds_busy = 0;    // of the communication
    double seconds_waited = 0;  // of them, while nothing was computed
  };
  virtual Traffic traffic() const { return {}; }

 protected:
  explicit DistributedStrategy(ParameterShards shards) : shards_(std::move(shards)) {}

  ParameterShards shards_;
};

// Pads the arena for the number of processes; call it before the optimiser allocates gradients. Throws Error
// (Exit::usage) where the micro-batches of a step cannot be shared out evenly.
std::unique_ptr<DistributedStrategy> make_distributed_strategy(ParameterArena& parameters, const RunConfig& config,
                                                               Communicator& ranks);
// With several processes (train/distributed/data_parallel.cpp). `micro_batches`: of this process in a step.
std::unique_ptr<DistributedStrategy> make_data_parallel(ParameterArena& parameters, Communicator& ranks,
                                                        std::int64_t micro_batches, bool ordered, bool shards_state);

}  // namespace sink
