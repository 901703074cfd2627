#include "engine/cuda/emulated/counters.h"

#include <memory>
#include <mutex>
#include <vector>

namespace sink::emulated {
namespace {

struct AllCounters {
  std::mutex mutex;
  std::vector<std::unique_ptr<Counters>> of_threads;  // outlive their threads
};
AllCounters& all_counters() {
  static AllCounters* all = new AllCounters;
  return *all;
}

}  // namespace

Counters& counters() {
  static thread_local Counters* own = [] {
    AllCounters& all = all_counters();
    std::lock_guard lock(all.mutex);
    return all.of_threads.emplace_back(std::make_unique<Counters>()).get();
  }();
  return *own;
}

Counters take_counters() {
  AllCounters& all = all_counters();
  std::lock_guard lock(all.mutex);
  Counters sum;
  for (auto& one : all.of_threads) {
    sum.matrix_products += one->matrix_products;
    sum.matrix_loads += one->matrix_loads;
    sum.extra_wavefronts += one->extra_wavefronts;
    sum.copied_bytes += one->copied_bytes;
    sum.approximations += one->approximations;
    *one = {};
  }
  return sum;
}

}  // namespace sink::emulated
