// Distributes attention over the threads: by head, or by tile where there are fewer heads than threads.
#pragma once

#include <atomic>
#include <functional>
#include <vector>

#include "engine/threads.h"

namespace sink::cpu {

// One stage of a head: run(bh, n) for n in [0, tasks). A task may wait only for tasks of its head and stage with
// smaller n.
struct HeadStage {
  std::int64_t tasks;
  std::function<void(std::int64_t bh, std::int64_t n)> run;
};

class HeadTasks {
 public:
  HeadTasks(std::int64_t heads) : heads_(heads), split_(heads < thread_count()) {}

  // Indices of scratch memory: per head in progress, and per task.
  std::int64_t head_blocks() const { return split_ ? heads_ : thread_count(); }
  std::int64_t head_block(std::int64_t bh) const { return split_ ? bh : thread_index(); }
  static std::int64_t task_blocks() { return thread_count(); }
  static std::int64_t task_block() { return thread_index(); }

  // Runs all stages of all heads. A stage of a head starts after the previous one has finished.
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
  // Tasks start in ascending order, whatever the scheduler does: a task never waits for one that has not started.
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
