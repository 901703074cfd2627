// One block: its threads as fibers, switched directly from one to the next, and what they may not do.
#include "engine/cuda/emulated/block.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "engine/check.h"
#include "engine/cuda/emulated/block_memory.h"
#include "engine/cuda/emulated/context.h"
#include "engine/cuda/emulated/counters.h"
#include "engine/cuda/emulated/races.h"
#include "engine/cuda/emulated/source_line.h"
#include "engine/rng.h"

namespace sink::emulated {

thread_local Position here;

namespace {

constexpr int kWarp = 32;
constexpr unsigned kAllLanes = ~0u;

constexpr unsigned char kOnItsWay = 0xff;  // a NaN of any real type

std::string text_of(const Site& site) {
  return path_in_repository(site.file_name()) + ":" + std::to_string(site.line());
}

std::string text_of(const uint3& at) {
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
  Site site;  // of what began it
};

struct Fiber {
  Context context;
  Stack stack;
  bool done = false;
  const char* waits_at = "start";
  Site site;
  std::vector<Copy> copies;
  int group = 0;  // that the next copies belong to
};

struct Warp {
  unsigned alive = 0, runnable = 0, arrived = 0;  // a bit per lane
  void* arguments[kWarp] = {};
  const char* instruction = nullptr;
  Site site;
  unsigned priority = 0;
};

struct Barrier {
  int arrived = 0;
  Site site;
};

// What a thread of the system keeps from block to block.
class Block {
 public:
  static Block& current() {
    static thread_local Block block;
    return block;
  }

  void run(const Shape3& grid, const std::function<void()>& kernel, std::int64_t index) {
    kernel_ = &kernel;
    error_.reset();
    here.grid_size = grid.blocks;
    here.block_size = grid.threads;
    auto x = static_cast<std::int64_t>(grid.blocks.x), y = static_cast<std::int64_t>(grid.blocks.y);
    here.block = {unsigned(index % x), unsigned(index / x % y), unsigned(index / x / y)};
    shared_.prepare(grid.shared_bytes);
    prepare_threads(grid.threads.x * grid.threads.y * grid.threads.z);
    random_ = Rng(schedule(), "emulated block");
    draws_ = static_cast<std::uint64_t>(index) << 32;
    choose_priorities();
    if (const RaceHooks* races = race_hooks()) races->block(shared_.begin(), shared_.size());
    home_ = {};
    current_ = -1;
    go_to(pick(), home_);
    current_ = -1;
    if (!error_ && !shared_.end_is_whole())
      error_ = "block " + text_of(here.block) + " wrote behind the " + std::to_string(grid.shared_bytes) +
               " bytes of shared memory that its kernel was launched with";
    if (!error_) return;
    for (Fiber& fiber : fibers_) fiber.stack.unpoison_all();
    fail("emulated device", *error_, Exit::device);
  }

  std::byte* shared_memory() { return shared_.begin(); }

  [[noreturn]] void error(const char* instruction, const std::string& message, const Site& site) {
    Fiber& me = fibers_[static_cast<std::size_t>(current_)];
    me.waits_at = instruction;
    me.site = site;
    end_with(message + ": " + describe(current_));
  }

  void collective(const char* instruction, Together together, void* arguments, const Site& site) {
    Fiber& me = note(instruction, site);
    Warp& warp = warps_[static_cast<std::size_t>(current_ / kWarp)];
    if (warp.arrived && (warp.instruction != instruction || !same(warp.site, site)))
      end_with("lanes of one warp meet at different instructions, " + std::string(warp.instruction) + " at " +
               text_of(warp.site) + " and this one: " + describe(current_));
    warp.instruction = instruction;
    warp.site = site;
    warp.arguments[lane()] = arguments;
    warp.arrived |= 1u << lane();
    if (warp.arrived != warp.alive) return wait(me);
    if (warp.alive != kAllLanes) end_with(std::string(instruction) + " needs all 32 lanes: " + describe(current_));
    warp.arrived = 0;
    warp.runnable = warp.alive;
    if (together) together(warp.arguments);
  }

  void barrier(const Site& site) {
    Fiber& me = note("sync_block", site);
    if (barrier_.arrived && !same(barrier_.site, site))
      end_with("threads of one block meet at different barriers, " + text_of(barrier_.site) +
               " and this one: " + describe(current_));
    barrier_.site = site;
    if (++barrier_.arrived < alive_) return wait(me);
    open_barrier();
  }

  void copy_async(void* to, const void* from, int bytes, const Site& site) {
    Fiber& me = note("copy_async", site);
    check_alignment(from, bytes);
    check_shared(to, bytes, "a copy to");
    std::memset(to, kOnItsWay, static_cast<std::size_t>(bytes));
    me.copies.push_back({to, from, bytes, me.group, site});
  }

  void read_shared(const void* from, int bytes, const Site& site) {
    note("a matrix load", site);
    check_shared(from, bytes, "a read");
    if (const RaceHooks* races = race_hooks())
      races->access(from, static_cast<std::size_t>(bytes), false, {nullptr, site});
  }

  void commit_copies() { ++fibers_[static_cast<std::size_t>(current_)].group; }

  void wait_for_copies(int groups) {
    Fiber& me = fibers_[static_cast<std::size_t>(current_)];
    std::erase_if(me.copies, [&](const Copy& copy) {
      if (copy.group >= me.group - groups) return false;
      auto bytes = static_cast<std::size_t>(copy.bytes);
      if (const RaceHooks* races = race_hooks()) {
        races->access(copy.to, bytes, true, {nullptr, copy.site});
        if (copy.from) races->access(copy.from, bytes, false, {nullptr, copy.site});
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

  int lane() const { return current_ % kWarp; }
  int current_thread() const { return current_; }

 private:
  void check_alignment(const void* p, int bytes) {
    if (reinterpret_cast<std::uintptr_t>(p) % static_cast<unsigned>(bytes) != 0)
      end_with("an address that is no multiple of " + std::to_string(bytes) + " bytes: " + describe(current_));
  }

  void check_shared(const void* place, int bytes, const char* what) {
    check_alignment(place, bytes);
    if (!shared_.contains(place, static_cast<std::size_t>(bytes)))
      end_with(std::string(what) + " outside of the block's shared memory: " + describe(current_));
  }

  void prepare_threads(unsigned count) {
    if (fibers_.size() < count) fibers_.resize(count);
    warps_.assign((count + kWarp - 1) / kWarp, {});
    barrier_ = {};
    alive_ = static_cast<int>(count);
    for (unsigned n = 0; n < count; ++n) {
      Fiber& fiber = fibers_[n];
      fiber.context = fiber.stack.context(&Block::entry);
      fiber.done = false;
      fiber.waits_at = "start";
      fiber.site = Site();
      fiber.copies.clear();
      fiber.group = 0;
      Warp& warp = warps_[n / kWarp];
      warp.alive |= 1u << n % kWarp;
      warp.runnable = warp.alive;
    }
  }

  static void entry(transfer_t from) {
    Block& block = current();
    begin_fiber(from, block.home_);
    (*block.kernel_)();
    block.leave();
  }

  // The current thread has returned from the kernel.
  [[noreturn]] void leave() {
    Fiber& me = fibers_[static_cast<std::size_t>(current_)];
    if (!me.copies.empty()) {
      me.waits_at = "its end";
      me.site = Site();
      end_with("a thread returned while copies of its own were on their way: " + describe(current_));
    }
    Warp& warp = warps_[static_cast<std::size_t>(current_ / kWarp)];
    if (warp.arrived) {
      me.waits_at = "its end";
      me.site = Site();
      end_with("a lane returned while others of its warp wait at " + std::string(warp.instruction) + ", " +
               text_of(warp.site) + ": " + describe(current_));
    }
    me.done = true;
    warp.alive &= ~(1u << lane());
    warp.runnable &= ~(1u << lane());
    if (--alive_ == 0) {
      jump(me.context, home_, nullptr);
    } else {
      if (barrier_.arrived == alive_) open_barrier();
      go_to(next(), me.context);
    }
    std::abort();  // nobody comes back
  }

  Fiber& note(const char* instruction, const Site& site) {
    Fiber& me = fibers_[static_cast<std::size_t>(current_)];
    me.waits_at = instruction;
    me.site = site;
    return me;
  }

  // Until another thread has made this one runnable again.
  void wait(Fiber& me) {
    warps_[static_cast<std::size_t>(current_ / kWarp)].runnable &= ~(1u << lane());
    go_to(next(), me.context);
  }

  void open_barrier() {
    if (const RaceHooks* races = race_hooks()) races->barrier();
    barrier_.arrived = 0;
    for (Warp& warp : warps_) warp.runnable = warp.alive;
  }

  std::uint64_t draw(std::uint64_t below) { return random_.below(draws_++, below); }

  void choose_priorities() {
    unsigned by = schedule();
    for (std::size_t w = 0; w < warps_.size(); ++w)
      warps_[w].priority = by == 0   ? static_cast<unsigned>(w)
                           : by == 1 ? static_cast<unsigned>(warps_.size() - 1 - w)
                                     : static_cast<unsigned>(draw(1000));
    until_change_ = by < 2 ? -1 : 1 + static_cast<long>(draw(200));
  }

  // The runnable thread to go on with, or -1.
  int pick() {
    if (--until_change_ == 0) choose_priorities();
    const Warp* best = nullptr;
    for (const Warp& warp : warps_)
      if (warp.runnable && (!best || warp.priority < best->priority)) best = &warp;
    if (!best) return -1;
    int lane = schedule() % 2 ? 31 - __builtin_clz(best->runnable) : __builtin_ctz(best->runnable);
    return static_cast<int>(best - warps_.data()) * kWarp + lane;
  }

  int next() {
    int thread = pick();
    if (thread >= 0) return thread;
    std::string message = "deadlock: no thread can go on; the first at each place:";
    std::vector<const Fiber*> shown;
    for (int n = 0; n < static_cast<int>(warps_.size()) * kWarp; ++n) {
      if (!(warps_[static_cast<std::size_t>(n / kWarp)].alive >> n % kWarp & 1)) continue;
      const Fiber& fiber = fibers_[static_cast<std::size_t>(n)];
      if (std::any_of(shown.begin(), shown.end(), [&](const Fiber* other) { return same(other->site, fiber.site); }))
        continue;
      shown.push_back(&fiber);
      message += "\n  " + describe(n);
    }
    end_with(message);
  }

  void go_to(int thread, Context& from) {
    if (thread == current_ && &from != &home_) return;
    current_ = thread;
    here.thread = position_of(thread);
    jump(from, fibers_[static_cast<std::size_t>(thread)].context, &from == &home_ ? nullptr : &home_);
  }

  static uint3 position_of(int thread) {
    auto n = static_cast<unsigned>(thread);
    return {n % here.block_size.x, n / here.block_size.x % here.block_size.y,
            n / here.block_size.x / here.block_size.y};
  }

  std::string describe(int thread) const {
    const Fiber& fiber = fibers_[static_cast<std::size_t>(thread)];
    std::string at;
    if (*fiber.waits_at) at.append(" at ").append(fiber.waits_at);
    if (fiber.site.line() > 0) at += ", " + text_of(fiber.site);
    return "block " + text_of(here.block) + " thread " + text_of(position_of(thread)) + at + " (schedule " +
           std::to_string(schedule()) + ")";
  }

  // Leaves the block as it is, for good.
  [[noreturn]] void end_with(const std::string& message) {
    error_ = message;
    jump(fibers_[static_cast<std::size_t>(current_)].context, home_, nullptr);
    std::abort();
  }

  std::vector<Fiber> fibers_;
  std::vector<Warp> warps_;
  Barrier barrier_;
  BlockMemory shared_;
  int current_ = -1, alive_ = 0;
  long until_change_ = -1;
  Rng random_{0, ""};
  std::uint64_t draws_ = 0;
  const std::function<void()>* kernel_ = nullptr;
  Context home_;
  std::optional<std::string> error_;
};

}  // namespace

void run_block(const Shape3& grid, const std::function<void()>& kernel, std::int64_t index) {
  Block::current().run(grid, kernel, index);
}
std::byte* shared_memory() { return Block::current().shared_memory(); }
void kernel_error(const std::string& message) { Block::current().error("", message, Site()); }
void kernel_error(const char* instruction, const std::string& message, const Site& site) {
  Block::current().error(instruction, message, site);
}
void collective(const char* instruction, Together together, void* arguments, const Site& site) {
  Block::current().collective(instruction, together, arguments, site);
}
void barrier(const Site& site) { Block::current().barrier(site); }
void copy_async(void* to, const void* from, int bytes, const Site& site) {
  Block::current().copy_async(to, from, bytes, site);
}
void read_shared(const void* from, int bytes, const Site& site) { Block::current().read_shared(from, bytes, site); }
void commit_copies() { Block::current().commit_copies(); }
void wait_for_copies(int groups) { Block::current().wait_for_copies(groups); }
int lane() { return Block::current().lane(); }
int current_thread() { return Block::current().current_thread(); }

void warp_barrier(const Site& site) {
  auto met = [](void**) {
    if (const RaceHooks* races = race_hooks()) races->warp(current_thread() / kWarp);
  };
  Block::current().collective("sync_warp", met, nullptr, site);
}

}  // namespace sink::emulated
