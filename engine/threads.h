// Loops over OpenMP threads. Work is cut by size alone, so results do not depend on how threads are scheduled.
#pragma once

#include <omp.h>

#include <algorithm>
#include <cstdint>

namespace sink {

inline int thread_count() { return omp_get_max_threads(); }

// f(i) for every i in [0, count), each one on some thread; for bodies that are worth a task of their own.
template <class F>
void parallel_for(std::int64_t count, F&& f) {
#pragma omp parallel for schedule(dynamic, 1) if (count > 1)
  for (std::int64_t i = 0; i < count; ++i) f(i);
}

// f(begin, end) over [0, count) cut into one contiguous piece a thread, none smaller than `grain` elements.
template <class F>
void parallel_chunks(std::int64_t count, std::int64_t grain, F&& f) {
  if (count <= 0) return;
  std::int64_t pieces = std::min<std::int64_t>(thread_count(), std::max<std::int64_t>(1, count / grain));
  if (pieces == 1) return f(std::int64_t{0}, count);
#pragma omp parallel for schedule(static, 1) num_threads(static_cast <int>(pieces))
  for (std::int64_t p = 0; p < pieces; ++p) f(count * p / pieces, count * (p + 1) / pieces);
}

}  // namespace sink
