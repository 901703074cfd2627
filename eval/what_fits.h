// Finds by trial what fits into memory, for error messages.
#pragma once

#include <cstdint>
#include <string>

#include "engine/check.h"

namespace sink {

// Whether attempt() does not throw OutOfMemory.
template <class F>
bool fits(F&& attempt) {
  try {
    attempt();
    return true;
  } catch (const OutOfMemory&) { return false; }
}

// The largest n < `below` with fits(n), by bisection; 0: none.
template <class F>
std::int64_t largest_that_fits(std::int64_t below, F&& fits) {
  std::int64_t fitting = 0;
  while (below - fitting > 1) {
    std::int64_t n = fitting + (below - fitting) / 2;
    (fits(n) ? fitting : below) = n;
  }
  return fitting;
}

// evaluate(batch). If that runs out of memory, throws Error (Exit::out_of_memory) that names the --batch that fits.
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
