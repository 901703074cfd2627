#include "engine/ops/matmul/onednn_threads.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "engine/threads.h"

namespace {

// What OpenMP calls a team: the pieces of one loop, each of which knows its number and may wait for the others.
struct Team {
  void (*function)(void*);
  void* data;
  std::uint32_t size;
  std::atomic<std::uint32_t> arrived{0}, barriers{0};
};

thread_local Team* team = nullptr;
thread_local int number_in_team = 0;
std::atomic<std::int64_t> loops{0};

void run_member(void* loop, std::int64_t i) {
  Team* outer = std::exchange(team, static_cast<Team*>(loop));
  int outer_number = std::exchange(number_in_team, static_cast<int>(i));
  team->function(team->data);
  team = outer;
  number_in_team = outer_number;
}

}  // namespace

extern "C" {

void GOMP_parallel(void (*function)(void*), void* data, unsigned threads, unsigned /*flags*/) {
  std::uint32_t most = static_cast<std::uint32_t>(sink::thread_count());
  Team all{function, data, threads == 0 ? most : std::min(threads, most)};
  loops.fetch_add(1, std::memory_order_relaxed);
  if (all.size > 1 && sink::run_pieces(all.size, run_member, &all)) return;
  all.size = 1;
  run_member(&all, 0);
}

void GOMP_barrier() {
  if (!team || team->size == 1) return;
  std::uint32_t barrier = team->barriers.load(std::memory_order_relaxed);
  if (team->arrived.fetch_add(1) + 1 == team->size) {
    team->arrived.store(0);
    team->barriers.fetch_add(1);
    team->barriers.notify_all();
  } else {
    team->barriers.wait(barrier);
  }
}

// How many is for the program to say. (Version 3 asks this in its graph interface, which is not used here.)
void omp_set_num_threads(int) {}
int omp_get_max_threads() { return sink::thread_count(); }
int omp_get_num_threads() { return team ? static_cast<int>(team->size) : 1; }
int omp_get_thread_num() { return number_in_team; }
int omp_in_parallel() { return sink::inside_loop(); }

}  // extern "C"

namespace sink::cpu {

std::int64_t onednn_loops() { return loops.load(std::memory_order_relaxed); }

}  // namespace sink::cpu
