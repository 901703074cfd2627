// Loops over threads. Work is cut into pieces by size alone, and the next free thread takes the next piece. So results
// do not depend on how threads are scheduled, and a thread whose core is busy with another program delays nothing: the
// others take its pieces. Waiting threads spin for a moment, then sleep.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

namespace sink {

// The count of threads that loops are cut for, including the calling one: the value of set_thread_count(), else
// OMP_NUM_THREADS, else one per core that the process may use.
int thread_count();

// Ends the threads there are; the next loop starts `count` - 1. Never inside a loop.
void set_thread_count(int count);

// The index of this thread, from 0 (the caller of the loop) to thread_count() - 1. Selects per-thread scratch memory.
int thread_index();

// Whether this thread is inside a piece of a loop. A loop called there runs on this thread alone.
bool inside_loop();

// Starts the threads of thread_count() now and returns how many there are, fewer where the system gives no more.
int start_all_threads();

// Starts `threads` threads; 0: thread_count(). Throws Error where the system refuses that many: Exit::usage where the
// number was given, else Exit::out_of_memory.
void start_threads(std::int64_t threads);

// Calls piece(loop, i) once for every i in [0, count), on all threads; returns when all are done. If count <=
// thread_count(), pieces may wait for each other (oneDNN's do). Rethrows the first exception of a piece. Returns false,
// having done nothing, if a loop cannot be shared: inside another loop, or while another one runs.
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
