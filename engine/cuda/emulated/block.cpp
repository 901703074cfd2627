// The threads of one block as fibers, which are switched directly from one to the next, and the checks of what they do.
#include "engine/cuda/emulated/block.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "engine/check.h"
#include "engine/cuda/emulated/block_memory.h"
#include "engine/cuda/emulated/block_threads.h"
#include "engine/cuda/emulated/context.h"
#include "engine/cuda/emulated/counters.h"
#include "engine/cuda/emulated/mbarriers.h"
#include "engine/cuda/emulated/named_barriers.h"
#include "engine/cuda/emulated/races.h"
#include "engine/cuda/emulated/scheduler.h"
#include "engine/cuda/emulated/source_line.h"
#include "engine/cuda/emulated/wgmma.h"

namespace sink::emulated {

thread_local Position here;

namespace {

constexpr unsigned kAllLanes = ~0u;

constexpr unsigned char kInFlight = 0xff;  // a NaN of any real type

std::string coordinates_of(const uint3& at) {
  std::string text = "(";
  text.append(std::to_string(at.x)).append(",").append(std::to_string(at.y)).append(",");
  return text.append(std::to_string(at.z)).append(")");
}

bool same(const Site& a, const Site& b) {
  return a.line() == b.line() && a.column() == b.column() &&
         (a.file_name() == b.file_name() || std::strcmp(a.file_name(), b.file_name()) == 0);
}

struct Copy {
  void* to;
  const void* from;  // null: zeros
  int bytes, group;
  Site site;  // of the instruction that started it
};

struct Fiber {
  Context context;
  Stack stack;
  const char* instruction = "start";  // the last one, and its call site
  Site site;
  std::vector<Copy> copies;  // in flight
  int group = 0;             // of the next copies
};

struct Barrier {
  int arrived = 0;
  Site site;
};

// The block that this thread of the system runs. It is reused for the next block.
struct Block {
  std::vector<Fiber> fibers;
  std::vector<Warp> warps;
  Barrier barrier;
  BlockMemory shared;
  Scheduler scheduler;
  int current = -1, alive = 0;  // the running thread; how many threads have not returned
  const std::function<void()>* kernel = nullptr;
  Context caller;  // of run_block()
  std::optional<std::string> error;

  Fiber& fiber() { return fibers[static_cast<std::size_t>(current)]; }
  Warp& warp() { return warps[static_cast<std::size_t>(current / kWarp)]; }
  int lane() const { return current % kWarp; }

  // Records what the current thread does, for messages.
  Fiber& at(const char* instruction, const Site& site) {
    Fiber& me = fiber();
    me.instruction = instruction;
    me.site = site;
    return me;
  }

  static uint3 position_of(int thread) {
    auto n = static_cast<unsigned>(thread);
    return {n % here.block_size.x, n / here.block_size.x % here.block_size.y,
            n / here.block_size.x / here.block_size.y};
  }

  std::string describe(int thread) const {
    const Fiber& that = fibers[static_cast<std::size_t>(thread)];
    std::string instruction;
    if (*that.instruction) instruction.append(" at ").append(that.instruction);
    if (that.site.line() > 0) instruction += ", " + text_of(that.site);
    return "block " + coordinates_of(here.block) + " thread " + coordinates_of(position_of(thread)) + instruction +
           " (schedule " + std::to_string(schedule()) + ")";
  }

  // Ends the block with this error and abandons its fibers.
  [[noreturn]] void stop(const std::string& message) {
    error = message;
    jump(fiber().context, caller, nullptr);
    std::abort();
  }
  [[noreturn]] void stop_here(const std::string& message) { stop(message + ": " + describe(current)); }

  void check_alignment(const void* p, int bytes) {
    if (reinterpret_cast<std::uintptr_t>(p) % static_cast<unsigned>(bytes) != 0)
      stop_here("an address that is no multiple of " + std::to_string(bytes) + " bytes");
  }
  void check_shared(const void* p, int bytes, const char* what) {
    check_alignment(p, bytes);
    if (!shared.contains(p, static_cast<std::size_t>(bytes)))
      stop_here(std::string(what) + " outside of the block's shared memory");
  }

  void switch_to(int thread, Context& from) {
    if (thread == current && &from != &caller) return;
    current = thread;
    here.thread = position_of(thread);
    jump(from, fibers[static_cast<std::size_t>(thread)].context, &from == &caller ? nullptr : &caller);
  }

  int next_thread() {
    complete_a_copy(false);
    int thread = scheduler.next(warps);
    while (thread < 0 && complete_a_copy(true)) thread = scheduler.next(warps);
    if (thread >= 0) return thread;
    std::string message = "deadlock: no thread can continue; the first at each place:";
    std::vector<const Fiber*> shown;
    for (int n = 0; n < static_cast<int>(warps.size()) * kWarp; ++n) {
      if (!(warps[static_cast<std::size_t>(n / kWarp)].alive >> n % kWarp & 1)) continue;
      const Fiber& that = fibers[static_cast<std::size_t>(n)];
      if (std::any_of(shown.begin(), shown.end(), [&](const Fiber* other) { return same(other->site, that.site); }))
        continue;
      shown.push_back(&that);
      message += "\n  " + describe(n);
    }
    stop(message + describe_mbarriers());
  }

  // Suspends the current thread until another one has made it runnable.
  void wait() {
    warp().runnable &= ~(1u << lane());
    switch_to(next_thread(), fiber().context);
  }

  void open_barrier() {
    if (const RaceHooks* races = race_hooks()) races->barrier();
    barrier.arrived = 0;
    for (Warp& each : warps) each.runnable = each.alive;
  }

  void start_threads(unsigned count, void (*entry)(transfer_t)) {
    if (fibers.size() < count) fibers.resize(count);
    warps.assign((count + kWarp - 1) / kWarp, {});
    barrier = {};
    alive = static_cast<int>(count);
    for (unsigned n = 0; n < count; ++n) {
      Fiber& each = fibers[n];
      each.context = each.stack.context(entry);
      each.instruction = "start";
      each.site = Site();
      each.copies.clear();
      each.group = 0;
      Warp& of = warps[n / kWarp];
      of.alive |= 1u << n % kWarp;
      of.runnable = of.alive;
    }
  }

  // The current thread has returned from the kernel.
  [[noreturn]] void exit_thread() {
    Fiber& me = fiber();
    Warp& mine = warp();
    if (!me.copies.empty() || mine.arrived) at("its end", Site());
    if (!me.copies.empty()) stop_here("a thread returned while its copies were in flight");
    if (std::string wrong = wgmma_at_end_of_thread(); !wrong.empty()) stop_here(wrong);
    if (mine.arrived)
      stop_here("a lane returned while others of its warp wait at " + std::string(mine.instruction) + ", " +
                text_of(mine.site));
    mine.alive &= ~(1u << lane());
    mine.runnable &= ~(1u << lane());
    if (--alive == 0) {
      for (const std::string& wrong : {mbarriers_at_end(), wgmma_at_end()})
        if (!wrong.empty()) stop_block(wrong);
      jump(me.context, caller, nullptr);
    } else {
      if (barrier.arrived == alive) open_barrier();
      switch_to(next_thread(), me.context);
    }
    std::abort();  // not reached
  }
};

Block& block() {
  static thread_local Block of_thread;
  return of_thread;
}

void fiber_main(transfer_t from) {
  begin_fiber(from, block().caller);
  (*block().kernel)();
  block().exit_thread();
}

}  // namespace

void run_block(const Shape3& grid, const std::function<void()>& kernel, std::int64_t index) {
  Block& b = block();
  b.kernel = &kernel;
  b.error.reset();
  here.grid_size = grid.blocks;
  here.block_size = grid.threads;
  auto x = static_cast<std::int64_t>(grid.blocks.x), y = static_cast<std::int64_t>(grid.blocks.y);
  here.block = {unsigned(index % x), unsigned(index / x % y), unsigned(index / x / y)};
  b.shared.prepare(grid.shared_bytes);
  b.start_threads(grid.threads.x * grid.threads.y * grid.threads.z, fiber_main);
  b.scheduler.start(index, b.warps);
  start_mbarriers();
  start_named_barriers();
  start_wgmma();
  if (const RaceHooks* races = race_hooks()) races->block(b.shared.begin(), b.shared.size(), b.alive);
  b.caller = {};
  b.current = -1;
  b.switch_to(b.scheduler.next(b.warps), b.caller);
  b.current = -1;
  if (!b.error && !b.shared.end_is_intact())
    b.error = "block " + coordinates_of(here.block) + " wrote after the " + std::to_string(grid.shared_bytes) +
              " bytes of shared memory that its kernel was launched with";
  if (!b.error) return;
  for (Fiber& each : b.fibers) each.stack.unpoison_all();
  fail("emulated device", *b.error, Exit::device);
}

std::byte* shared_memory() { return block().shared.begin(); }

void kernel_error(const char* instruction, const std::string& message, const Site& site) {
  block().at(instruction, site);
  block().stop_here(message);
}
void kernel_error(const std::string& message) { kernel_error("", message, Site()); }

void collective(const char* instruction, Together together, void* arguments, const Site& site) {
  Block& b = block();
  b.at(instruction, site);
  Warp& warp = b.warp();
  if (warp.arrived && (warp.instruction != instruction || !same(warp.site, site)))
    b.stop_here("lanes of one warp meet at different instructions, " + std::string(warp.instruction) + " at " +
                text_of(warp.site) + " and this one");
  warp.instruction = instruction;
  warp.site = site;
  warp.arguments[b.lane()] = arguments;
  warp.arrived |= 1u << b.lane();
  if (warp.arrived != warp.alive) return b.wait();
  if (warp.alive != kAllLanes) b.stop_here(std::string(instruction) + " needs all 32 lanes");
  warp.arrived = 0;
  warp.runnable = warp.alive;
  if (together) together(warp.arguments);
}

void barrier(const Site& site) {
  Block& b = block();
  b.at("sync_block", site);
  if (b.barrier.arrived && !same(b.barrier.site, site))
    b.stop_here("threads of one block meet at different barriers, " + text_of(b.barrier.site) + " and this one");
  b.barrier.site = site;
  if (++b.barrier.arrived < b.alive) return b.wait();
  b.open_barrier();
}

void warp_barrier(const Site& site) {
  auto met = [](void**) {
    if (const RaceHooks* races = race_hooks()) races->warp(current_thread() / kWarp);
  };
  collective("sync_warp", met, nullptr, site);
}

void read_shared(const void* from, int bytes, const Site& site) {
  block().at("a matrix load", site);
  block().check_shared(from, bytes, "a read");
  if (const RaceHooks* races = race_hooks())
    races->access(from, static_cast<std::size_t>(bytes), false, false, {nullptr, site});
}

void copy_async(void* to, const void* from, int bytes, const Site& site) {
  Block& b = block();
  Fiber& me = b.at("cp_async_16", site);
  b.check_alignment(from, bytes);
  b.check_shared(to, bytes, "a copy to");
  std::memset(to, kInFlight, static_cast<std::size_t>(bytes));
  me.copies.push_back({to, from, bytes, me.group, site});
}

void commit_copies() { ++block().fiber().group; }

void wait_for_copies(int groups) {
  Fiber& me = block().fiber();
  std::erase_if(me.copies, [&](const Copy& copy) {
    if (copy.group >= me.group - groups) return false;
    auto bytes = static_cast<std::size_t>(copy.bytes);
    if (const RaceHooks* races = race_hooks()) {
      races->access(copy.to, bytes, true, false, {nullptr, copy.site});
      if (copy.from) races->access(copy.from, bytes, false, false, {nullptr, copy.site});
    }
    if (copy.from) {
      counters().copied_bytes += copy.bytes;
      std::memcpy(copy.to, copy.from, bytes);
    } else {
      std::memset(copy.to, 0, bytes);
    }
    return true;
  });
}

int current_thread() { return block().current; }

// ---- block_threads.h ----

int threads_of_block() { return static_cast<int>(here.block_size.x * here.block_size.y * here.block_size.z); }

void suspend() { block().wait(); }

void resume(int thread) {
  Warp& warp = block().warps[static_cast<std::size_t>(thread / kWarp)];
  warp.runnable |= 1u << thread % kWarp & warp.alive;
}

void set_instruction(const char* instruction, const Site& site) { block().at(instruction, site); }
void stop_thread(const std::string& message) { block().stop_here(message); }
void stop_block(const std::string& message) {
  block().stop(message + ": block " + coordinates_of(here.block) + " (schedule " + std::to_string(schedule()) + ")");
}

std::string text_of(const Site& site) {
  return path_in_repository(site.file_name()) + ":" + std::to_string(site.line());
}

std::uint64_t chosen(std::uint64_t below) { return block().scheduler.choose(below); }

void check_shared(const void* address, std::size_t bytes, unsigned alignment, const char* what) {
  block().check_alignment(address, static_cast<int>(alignment));
  if (!block().shared.contains(address, bytes))
    stop_thread(std::string(what) + " outside of the block's shared memory");
}

namespace {
std::byte* shared_window() {
  constexpr std::uintptr_t kPage = 4096;
  return block().shared.begin() - reinterpret_cast<std::uintptr_t>(block().shared.begin()) % kPage;
}
}  // namespace

std::uint32_t shared_address(const void* address) {
  return static_cast<std::uint32_t>(static_cast<const std::byte*>(address) - shared_window());
}
std::byte* at_shared_address(std::uint32_t address) { return shared_window() + address; }

}  // namespace sink::emulated
