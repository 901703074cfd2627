// Loops over threads. Work is cut into pieces by size alone and whichever thread is free takes the next, so results do
// not depend on how threads are scheduled, and a thread whose core is busy with another program is not waited for: the
// others do its share. Threads that wait spin for a moment, then sleep.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

namespace sink {

// Threads that loops are cut for, the calling one included: what set_thread_count() has said, else OMP_NUM_THREADS,
// else one per core that the process may use.
int thread_count();

// Ends the threads there are; the next loop starts `count` - 1. Never inside a loop.
void set_thread_count(int count);

// Which thread this is, from 0 (whoever calls a loop) to thread_count() - 1: to index scratch of one row per thread.
int thread_index();

// Whether this thread is inside a piece of a loop. A loop called there runs on this thread alone.
bool inside_loop();

// Starts the threads of thread_count() now and returns how many there are, fewer where the system gives no more.
int start_all_threads();

// piece(loop, i) for every i in [0, count), each once, on all threads; returns when all are done. With count <=
// thread_count() pieces may wait for each other (oneDNN's do). Whatever a piece throws, the first such is thrown again
// here. Returns false, having done nothing, where a loop cannot be shared: inside another, or while another runs.
bool run_pieces(std::int64_t count, void (*piece)(void* loop, std::int64_t i), void* loop);

// f(i) for every i in [0, count); for bodies that are worth a task of their own.
template <class F>
void parallel_for(std::int64_t count, F&& f) {
  using Body = std::remove_reference_t<F>;
  auto piece = [](void* body, std::int64_t i) { (*static_cast<Body*>(body))(i); };
  if (count > 1 && run_pieces(count, piece, const_cast<std::remove_const_t<Body>*>(&f))) return;
  for (std::int64_t i = 0; i < count; ++i) f(i);
}

// f(begin, end) over [0, count) cut into one contiguous piece per thread, none smaller than `grain` elements.
template <class F>
void parallel_chunks(std::int64_t count, std::int64_t grain, F&& f) {
  if (count <= 0) return;
  std::int64_t pieces = std::min<std::int64_t>(thread_count(), std::max<std::int64_t>(1, count / grain));
  if (pieces == 1) return f(std::int64_t{0}, count);
  parallel_for(pieces, [&](std::int64_t p) { f(count * p / pieces, count * (p + 1) / pieces); });
}

}  // namespace sink
