// What fits into memory, found by trying it: advice for who ran out.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "engine/check.h"

namespace sink {

// Whether attempt() ends without running out of memory.
template <class F>
bool fits(F&& attempt) {
  try {
    attempt();
    return true;
  } catch (const OutOfMemory&) { return false; }
}

// The largest n below `below` for which fits(n) is true, found by halves; 0: none.
template <class F>
std::int64_t largest_that_fits(std::int64_t below, F&& fits) {
  std::int64_t fitting = 0;
  while (below - fitting > 1) {
    std::int64_t n = fitting + (below - fitting) / 2;
    (fits(n) ? fitting : below) = n;
  }
  return fitting;
}

// evaluate(n) with n = `batch` sequences at a time. Where they do not fit it throws Error (Exit::out_of_memory), which
// names the --batch that does.
template <class F>
auto in_batches_that_fit(std::int64_t batch, F&& evaluate) {
  try {
    return evaluate(batch);
  } catch (const OutOfMemory& error) {
    std::int64_t fitting = largest_that_fits(batch, [&](std::int64_t n) { return fits([&] { evaluate(n); }); });
    throw Error(error.what() + (fitting > 0 ? ". --batch " + std::to_string(fitting) + " fits"
                                            : std::string(". Not even one sequence at a time (--batch 1) fits: a "
                                                          "smaller --context needs less")),
                error.code);
  }
}

}  // namespace sink
