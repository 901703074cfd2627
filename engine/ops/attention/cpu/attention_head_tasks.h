// Spreads the heads of attention over the threads: whole heads, or the tiles of each where heads are fewer than
// threads.
#pragma once

#include <atomic>
#include <functional>
#include <vector>

#include "engine/threads.h"

namespace sink::cpu {

// One stage of the work on a head: run(bh, n) for n in [0, tasks). A task may wait for one with a smaller n of its own
// head and stage, and for no other.
struct HeadStage {
  std::int64_t tasks;
  std::function<void(std::int64_t bh, std::int64_t n)> run;
};

class HeadTasks {
 public:
  HeadTasks(std::int64_t heads) : heads_(heads), split_(heads < thread_count()) {}

  // Scratch memory: of one head while it is worked on, and of one task.
  std::int64_t head_blocks() const { return split_ ? heads_ : thread_count(); }
  std::int64_t head_block(std::int64_t bh) const { return split_ ? bh : thread_index(); }
  static std::int64_t task_blocks() { return thread_count(); }
  static std::int64_t task_block() { return thread_index(); }

  // All stages of all heads; a stage of a head begins when the one before has ended.
  void run(const std::vector<HeadStage>& stages) const {
    if (split_) {
      for (const HeadStage& stage : stages) run_split(stage);
      return;
    }
    parallel_for(heads_, [&](std::int64_t bh) {
      for (const HeadStage& stage : stages)
        for (std::int64_t n = 0; n < stage.tasks; ++n) stage.run(bh, n);
    });
  }

 private:
  // Tasks are begun in the order of their numbers, whatever the scheduler does: what a task waits for is running.
  void run_split(const HeadStage& stage) const {
    std::atomic<std::int64_t> next = 0;
    parallel_for(heads_ * stage.tasks, [&](std::int64_t) {
      std::int64_t task = next.fetch_add(1);
      stage.run(task % heads_, task / heads_);
    });
  }

  std::int64_t heads_;
  bool split_;
};

}  // namespace sink::cpu
