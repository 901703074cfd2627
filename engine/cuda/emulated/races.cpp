// The detector, and the calls that -fsanitize=thread puts before every access. Not itself compiled with
// -fsanitize=thread, nor linked with its library.
#include "engine/cuda/emulated/races.h"

#include <cstdint>
#include <cstdlib>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/cuda/emulated/block.h"
#include "engine/cuda/emulated/memory.h"
#include "engine/cuda/emulated/source_line.h"

namespace sink::emulated {
namespace {

bool looking = [] {
  const char* said = std::getenv("SINK_RACES");
  return said && *said && *said != '0';
}();

constexpr std::size_t kCell = 2;  // bytes that are watched as one: the smallest number of a kernel is a bf16

struct Access {
  std::uint64_t launch = 0;
  std::uint64_t block = 0, block_epoch = 0, warp_epoch = 0;
  int thread = -1;
  Origin origin;
};

// The last write of a place, and its last reads by two different threads.
struct Cell {
  Access write, read, other_read;
};

// Blocks of a race build run one after the other on one thread of the system, so nothing here is locked.
struct Detector {
  std::uint64_t launch = 0, block = 0, block_epoch = 0;
  std::vector<std::uint64_t> warp_epochs;
  const std::byte* shared = nullptr;
  std::size_t shared_bytes = 0;
  std::vector<Cell> of_shared;
  std::unordered_map<std::uintptr_t, Cell> of_device;  // by address / kCell
};
Detector& detector() {
  static Detector* one = new Detector;
  return *one;
}

bool in_order(const Access& before, const Access& now) {
  if (before.thread < 0 || before.launch != now.launch) return true;
  if (before.block != now.block) return false;  // blocks of a grid are in no order
  return before.thread == now.thread || before.block_epoch < now.block_epoch ||
         (before.thread / 32 == now.thread / 32 && before.warp_epoch < now.warp_epoch);
}

std::string text_of(const Origin& origin) {
  if (origin.instruction) return source_line(origin.instruction);
  return path_in_repository(origin.site.file_name()) + ":" + std::to_string(origin.site.line());
}

[[noreturn]] void report(const char* does, bool in_shared, const Access& now, const Access& before, const char* did) {
  bool same_block = before.block == now.block;
  std::string other =
      "thread " + std::to_string(before.thread) + (same_block ? " of its block " : " of another block ");
  kernel_error("race in " + std::string(in_shared ? "shared" : "device") + " memory: a thread " + does + " at " +
               text_of(now.origin) + " what " + other + did + " at " + text_of(before.origin) +
               ", with nothing that orders the two; the first is");
}

void check(Cell& cell, const Access& now, bool write, bool in_shared) {
  if (!in_order(cell.write, now)) report(write ? "writes" : "reads", in_shared, now, cell.write, "wrote");
  if (!write) {
    if (cell.read.thread != now.thread || cell.read.block != now.block) cell.other_read = cell.read;
    cell.read = now;
    return;
  }
  for (const Access* read : {&cell.read, &cell.other_read})
    if (!in_order(*read, now)) report("writes", in_shared, now, *read, "read");
  cell.write = now;
}

void access(const void* place, std::size_t bytes, bool write, const Origin& origin) {
  int thread = current_thread();
  if (thread < 0) return;  // host code
  Detector& d = detector();
  auto* p = static_cast<const std::byte*>(place);
  bool in_shared = p >= d.shared && p < d.shared + d.shared_bytes;
  if (!in_shared && !is_device_memory(place)) return;  // a stack
  Access now{d.launch, d.block, d.block_epoch, d.warp_epochs[static_cast<std::size_t>(thread / 32)], thread, origin};
  auto begin = in_shared ? static_cast<std::uintptr_t>(p - d.shared) : reinterpret_cast<std::uintptr_t>(p);
  for (std::uintptr_t cell = begin / kCell; cell < (begin + bytes + kCell - 1) / kCell; ++cell)
    check(in_shared ? d.of_shared[cell] : d.of_device[cell], now, write, in_shared);
}

const RaceHooks kHooks{
    .launch =
        [] {
          Detector& d = detector();
          ++d.launch;
          d.of_device.clear();
        },
    .block =
        [](const std::byte* shared, std::size_t bytes) {
          Detector& d = detector();
          ++d.block;
          d.block_epoch = 0;
          d.warp_epochs.assign(32, 0);
          d.shared = shared;
          d.shared_bytes = bytes;
          d.of_shared.assign(bytes / kCell + 1, {});
        },
    .barrier = [] { ++detector().block_epoch; },
    .warp = [](int warp) { ++detector().warp_epochs[static_cast<std::size_t>(warp)]; },
    .access = access,
};

}  // namespace

void find_races(bool on) { looking = on; }
bool finds_races() { return looking; }
const RaceHooks* race_hooks() { return looking ? &kHooks : nullptr; }

}  // namespace sink::emulated

#define SINK_ACCESS(name, bytes, write)                                       \
  void __tsan_##name(void* p) {                                               \
    if (sink::emulated::looking) [[unlikely]]                                 \
      sink::emulated::access(p, bytes, write, {__builtin_return_address(0)}); \
  }
#define SINK_ACCESSES(bytes)                       \
  SINK_ACCESS(read##bytes, bytes, false)           \
  SINK_ACCESS(write##bytes, bytes, true)           \
  SINK_ACCESS(unaligned_read##bytes, bytes, false) \
  SINK_ACCESS(unaligned_write##bytes, bytes, true) \
  SINK_ACCESS(volatile_read##bytes, bytes, false)  \
  SINK_ACCESS(volatile_write##bytes, bytes, true)
// Of the host code that stands in a kernel's file; kernels have none.
#define SINK_ATOMIC(bits)                                                                                        \
  using Int##bits = std::uint##bits##_t;                                                                         \
  Int##bits __tsan_atomic##bits##_load(const Int##bits* p, int) { return __atomic_load_n(p, __ATOMIC_SEQ_CST); } \
  void __tsan_atomic##bits##_store(Int##bits* p, Int##bits x, int) { __atomic_store_n(p, x, __ATOMIC_SEQ_CST); } \
  Int##bits __tsan_atomic##bits##_exchange(Int##bits* p, Int##bits x, int) {                                     \
    return __atomic_exchange_n(p, x, __ATOMIC_SEQ_CST);                                                          \
  }                                                                                                              \
  Int##bits __tsan_atomic##bits##_fetch_add(Int##bits* p, Int##bits x, int) {                                    \
    return __atomic_fetch_add(p, x, __ATOMIC_SEQ_CST);                                                           \
  }                                                                                                              \
  Int##bits __tsan_atomic##bits##_fetch_sub(Int##bits* p, Int##bits x, int) {                                    \
    return __atomic_fetch_sub(p, x, __ATOMIC_SEQ_CST);                                                           \
  }                                                                                                              \
  bool __tsan_atomic##bits##_compare_exchange_strong(Int##bits* p, Int##bits* old, Int##bits x, int, int) {      \
    return __atomic_compare_exchange_n(p, old, x, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);                    \
  }                                                                                                              \
  bool __tsan_atomic##bits##_compare_exchange_weak(Int##bits* p, Int##bits* old, Int##bits x, int, int) {        \
    return __atomic_compare_exchange_n(p, old, x, true, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);                     \
  }

extern "C" {
SINK_ACCESSES(1)
SINK_ACCESSES(2)
SINK_ACCESSES(4)
SINK_ACCESSES(8)
SINK_ACCESSES(16)
SINK_ATOMIC(8)
SINK_ATOMIC(16)
SINK_ATOMIC(32)
SINK_ATOMIC(64)
void __tsan_read_range(void* p, unsigned long bytes) {
  if (sink::emulated::looking) sink::emulated::access(p, bytes, false, {__builtin_return_address(0)});
}
void __tsan_write_range(void* p, unsigned long bytes) {
  if (sink::emulated::looking) sink::emulated::access(p, bytes, true, {__builtin_return_address(0)});
}
void __tsan_atomic_thread_fence(int) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_init() {}
}
