// The detector: what threads know of each other, the accesses so far, and the checks of new ones.
#include "engine/cuda/emulated/races.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/cuda/emulated/block.h"
#include "engine/cuda/emulated/memory.h"
#include "engine/cuda/emulated/race_clocks.h"
#include "engine/cuda/emulated/source_line.h"
#include "engine/cuda/emulated/wgmma.h"

namespace sink::emulated {
namespace {

constexpr std::size_t kCell = 2;    // bytes per cell; the smallest type of a kernel is bf16
constexpr std::size_t kChunk = 16;  // bytes; an asynchronous product reads whole chunks of shared memory

struct Access {
  std::uint64_t launch = 0, block = 0;
  int thread = -1;  // that executed or issued it
  int entity = 0;   // whose time it has: a thread, or an agent after the threads
  Time time = 0;
  Origin origin;
};

// The last accesses of one kind by two different threads.
struct LastTwo {
  Access last, before;
  void add(const Access& access) {
    if (last.thread != access.thread || last.block != access.block) before = last;
    last = access;
  }
};

// The last ordinary write of a cell, and the ordinary reads.
struct Cell {
  Access write;
  LastTwo reads;
};

// The atomic accesses of a cell, those that write and those that only read.
struct AtomicCell {
  LastTwo writes, reads;
};
using AtomicCells = std::unordered_map<std::uintptr_t, AtomicCell>;  // by address / kCell

// The reads of shared memory by asynchronous products: by chunk and agent, the time of the last one.
struct AgentReads {
  std::vector<Time> last;
  std::vector<std::vector<std::pair<Time, Site>>> sites;  // of each agent
  bool any = false;

  void use(std::size_t shared_bytes) {
    if (std::exchange(any, true)) return;
    last.assign((shared_bytes / kChunk + 1) * kAgents, 0);
    sites.assign(kAgents, {});
  }
  Site site_of(std::size_t agent, Time time) const {
    for (const auto& [at, site] : sites[agent])
      if (at == time) return site;
    return {};
  }
};

// With the detector, blocks run one after another on one thread of the system, so it needs no lock.
struct Detector {
  std::uint64_t launch = 0, block = 0;
  Knowledge knowledge;
  bool has_agents = false;  // since the first one of the block
  const std::byte* shared = nullptr;
  std::size_t shared_bytes = 0;
  std::vector<Cell> of_shared;
  std::unordered_map<std::uintptr_t, Cell> of_device;  // by address / kCell
  AtomicCells atomics_of_shared, atomics_of_device;
  AgentReads agent_reads;

  bool is_shared(const void* address) const {
    auto* p = static_cast<const std::byte*>(address);
    return p >= shared && p < shared + shared_bytes;
  }
  // The cells of these bytes: f(cell, its number).
  template <class F>
  void for_each_cell(const void* address, std::size_t bytes, bool in_shared, F f) {
    auto begin = in_shared ? static_cast<std::uintptr_t>(static_cast<const std::byte*>(address) - shared)
                           : reinterpret_cast<std::uintptr_t>(address);
    for (std::uintptr_t cell = begin / kCell; cell < (begin + bytes + kCell - 1) / kCell; ++cell)
      f(in_shared ? of_shared[cell] : of_device[cell], cell);
  }
  AtomicCells& atomics(bool in_shared) { return in_shared ? atomics_of_shared : atomics_of_device; }
  // Null for a cell without atomic accesses.
  const AtomicCell* atomics_at(std::uintptr_t cell, bool in_shared) {
    const AtomicCells& cells = atomics(in_shared);
    if (cells.empty()) return nullptr;
    const auto found = cells.find(cell);
    return found == cells.end() ? nullptr : &found->second;
  }
};
Detector& detector() {
  static Detector* one = new Detector;
  return *one;
}

std::size_t index(int n) { return static_cast<std::size_t>(n); }

// Whether `before` is complete for the current thread.
bool in_order(const Access& before, const Access& now) {
  if (before.thread < 0 || before.launch != now.launch) return true;
  if (before.block != now.block) return false;  // blocks of a grid are not ordered
  Detector& d = detector();
  Knowledge& k = d.knowledge;
  return before.entity == now.thread || before.time <= k.at_barrier[index(before.entity)] ||
         (k.has_row(index(now.thread), d.block) && before.time <= k.known_row(index(now.thread))[index(before.entity)]);
}

std::string text_of(const Origin& origin) {
  if (origin.instruction) return source_line(origin.instruction);
  return path_in_repository(origin.site.file_name()) + ":" + std::to_string(origin.site.line());
}

[[noreturn]] void report(const char* verb, bool in_shared, const Access& now, const Access& before,
                         const char* before_verb) {
  bool same_block = before.block == now.block;
  std::string other =
      "thread " + std::to_string(before.thread) + (same_block ? " of its block " : " of another block ");
  kernel_error("race in " + std::string(in_shared ? "shared" : "device") + " memory: a thread " + verb + " at " +
               text_of(now.origin) + " what " + other + before_verb + " at " + text_of(before.origin) +
               ", with nothing that orders the two; the first is");
}

[[noreturn]] void report_proxy(const char* verb, const Origin& now, const Access& before) {
  kernel_error("without fence_proxy_async: an asynchronous instruction " + std::string(verb) + " at " + text_of(now) +
               " what thread " + std::to_string(before.thread) + " of its block wrote with an ordinary store at " +
               text_of(before.origin) + "; the first is of");
}

void require_order(const LastTwo& before, const char* before_verb, const Access& now, const char* verb,
                   bool in_shared) {
  for (const Access* access : {&before.last, &before.before})
    if (!in_order(*access, now)) report(verb, in_shared, now, *access, before_verb);
}

// `atomics`: the atomic accesses of the cell; null: none.
void check(Cell& cell, const AtomicCell* atomics, const Access& now, bool write, bool in_shared) {
  const char* verb = write ? "writes" : "reads";
  if (!in_order(cell.write, now)) report(verb, in_shared, now, cell.write, "wrote");
  if (atomics) require_order(atomics->writes, "changed atomically", now, verb, in_shared);
  if (!write) return cell.reads.add(now);
  require_order(cell.reads, "read", now, verb, in_shared);
  if (atomics) require_order(atomics->reads, "read atomically", now, verb, in_shared);
  cell.write = now;
}

// Two atomic accesses need no order.
void check_atomic(Cell& cell, AtomicCell& atomics, const Access& now, bool write, bool in_shared) {
  const char* verb = write ? "changes atomically" : "reads atomically";
  if (!in_order(cell.write, now)) report(verb, in_shared, now, cell.write, "wrote");
  if (write) require_order(cell.reads, "read", now, verb, in_shared);
  (write ? atomics.writes : atomics.reads).add(now);
}

// A write to shared memory that asynchronous products may still read.
void check_agent_reads(const void* address, std::size_t bytes, const Access& now) {
  Detector& d = detector();
  if (!d.agent_reads.any) return;
  Knowledge& k = d.knowledge;
  auto begin = static_cast<std::size_t>(static_cast<const std::byte*>(address) - d.shared);
  const Time* known = k.has_row(index(now.thread), d.block) ? k.known_row(index(now.thread)) : nullptr;
  for (std::size_t chunk = begin / kChunk; chunk <= (begin + bytes - 1) / kChunk; ++chunk)
    for (std::size_t agent = 0; agent < kAgents; ++agent) {
      Time read = d.agent_reads.last[chunk * kAgents + agent];
      std::size_t entity = k.threads + agent;
      if (read <= k.at_barrier[entity] || (known && read <= known[entity])) continue;
      Access before = now;
      before.thread = static_cast<int>(agent) * 32;  // the first lane of its warp
      before.origin = {nullptr, d.agent_reads.site_of(agent, read)};
      report("writes", true, now, before, "reads with a wgmma");
    }
}

Access access_of_thread(int thread, const Origin& origin) {
  Detector& d = detector();
  return {d.launch, d.block, thread, thread, d.knowledge.now[index(thread)], origin};
}

void access(const void* address, std::size_t bytes, bool write, bool atomic, const Origin& origin) {
  int thread = current_thread();
  if (thread < 0) return;  // host code
  Detector& d = detector();
  bool in_shared = d.is_shared(address);
  if (const Site* site = product_that_accumulates_at(address))
    kernel_error("a thread accesses at " + text_of(origin) + " an accumulator of the wgmma at " +
                 text_of(Origin{nullptr, *site}) + ", which is in flight; the thread is");
  if (!in_shared && !is_device_memory(address)) return;  // a stack
  Access now = access_of_thread(thread, origin);
  if (in_shared && write) check_agent_reads(address, bytes, now);
  d.for_each_cell(address, bytes, in_shared, [&](Cell& cell, std::uintptr_t number) {
    if (atomic) return check_atomic(cell, d.atomics(in_shared)[number], now, write, in_shared);
    check(cell, d.atomics_at(number, in_shared), now, write, in_shared);
  });
}

// Since the first agent of a block, its threads have rows.
void use_agents() {
  Detector& d = detector();
  if (std::exchange(d.has_agents, true)) return;
  for (std::size_t t = 0; t < d.knowledge.threads; ++t) d.knowledge.make_row(t, d.block);
}

void agent_access(int agent, Time time, const void* address, std::size_t bytes, bool write, const Origin& origin) {
  use_agents();
  Detector& d = detector();
  int thread = current_thread();
  bool in_shared = d.is_shared(address);
  Access now = access_of_thread(thread, origin);
  if (in_shared && write) check_agent_reads(address, bytes, now);
  const Time* fenced = d.knowledge.fenced_row(index(thread));
  d.for_each_cell(address, bytes, in_shared, [&](Cell& cell, std::uintptr_t number) {
    const Access& before = cell.write;
    bool of_block = before.thread >= 0 && before.launch == now.launch && before.block == now.block;
    if (of_block && before.entity == before.thread && in_order(before, now) &&
        before.time > fenced[index(before.entity)])
      report_proxy(write ? "overwrites" : "reads", origin, before);
    check(cell, d.atomics_at(number, in_shared), now, write, in_shared);
    Access& made = write ? cell.write : cell.reads.last;
    made.entity = static_cast<int>(d.knowledge.threads) + agent;
    made.time = time;
  });
}

void agent_reads(int agent, Time time, int warp, const std::vector<std::uint32_t>& chunks, const Site& site) {
  use_agents();
  Detector& d = detector();
  Knowledge& k = d.knowledge;
  d.agent_reads.use(d.shared_bytes);
  d.agent_reads.sites[index(agent)].emplace_back(time, site);
  // What all lanes of the warp know.
  std::size_t first = index(warp) * 32;
  std::vector<Time> known(k.known_row(first), k.known_row(first) + k.entities),
      fenced(k.fenced_row(first), k.fenced_row(first) + k.entities);
  for (std::size_t lane = 0; lane < 32; ++lane) {
    std::vector<Time> own(k.known_row(first + lane), k.known_row(first + lane) + k.entities);
    own[first + lane] = k.now[first + lane];
    lower(known.data(), own.data(), k.entities);
    lower(fenced.data(), k.fenced_row(first + lane), k.entities);
  }
  raise(known.data(), k.at_barrier.data(), k.entities);
  Access now = access_of_thread(current_thread(), {nullptr, site});
  for (std::uint32_t chunk : chunks) {
    d.agent_reads.last[chunk * kAgents + index(agent)] = time;
    for (std::size_t cell = chunk * kChunk / kCell; cell < (chunk + 1) * kChunk / kCell; ++cell) {
      const Access& before = d.of_shared[cell].write;
      if (before.thread < 0 || before.launch != now.launch || before.block != now.block) continue;
      if (before.time > known[index(before.entity)]) report("reads with a wgmma", true, now, before, "wrote");
      if (before.entity == before.thread && before.time > fenced[index(before.entity)])
        report_proxy("reads", now.origin, before);
    }
  }
}

void complete(int agent, Time time) {
  use_agents();
  Knowledge& k = detector().knowledge;
  Time& known = k.known_row(index(current_thread()))[k.threads + index(agent)];
  known = std::max(known, time);
}

void complete_at(Clock& clock, int agent, Time time) {
  use_agents();
  Knowledge& k = detector().knowledge;
  clock.known.resize(k.entities, 0);
  Time& known = clock.known[k.threads + index(agent)];
  known = std::max(known, time);
}

void release(Clock& clock) {
  Detector& d = detector();
  Knowledge& k = d.knowledge;
  std::size_t t = index(current_thread());
  k.make_row(t, d.block);
  clock.known.resize(k.entities, 0);
  clock.fenced.resize(k.entities, 0);
  raise(clock.known.data(), k.known_row(t), k.entities);
  raise(clock.fenced.data(), k.fenced_row(t), k.entities);
  clock.known[t] = k.now[t]++;
}

void acquire(const Clock& clock) {
  Detector& d = detector();
  Knowledge& k = d.knowledge;
  std::size_t t = index(current_thread());
  k.make_row(t, d.block);
  raise(k.known_row(t), clock.known.data(), clock.known.size());
  raise(k.fenced_row(t), clock.fenced.data(), clock.fenced.size());
}

void fence_proxy() {
  use_agents();
  Knowledge& k = detector().knowledge;
  std::size_t t = index(current_thread());
  raise(k.fenced_row(t), k.known_row(t), k.entities);
  raise(k.fenced_row(t), k.at_barrier.data(), k.entities);
  k.fenced_row(t)[t] = k.now[t]++;
}

// All threads from `first` on know what each of them knows.
void join(std::size_t first, std::size_t count) {
  Detector& d = detector();
  Knowledge& k = d.knowledge;
  for (std::size_t t = first; t < first + count; ++t) {
    k.make_row(t, d.block);
    k.known_row(t)[t] = k.now[t]++;
  }
  for (std::size_t t = first + 1; t < first + count; ++t) {
    raise(k.known_row(first), k.known_row(t), k.entities);
    if (d.has_agents) raise(k.fenced_row(first), k.fenced_row(t), k.entities);
  }
  for (std::size_t t = first + 1; t < first + count; ++t) {
    std::copy_n(k.known_row(first), k.entities, k.known_row(t));
    if (d.has_agents) std::copy_n(k.fenced_row(first), k.entities, k.fenced_row(t));
  }
}

void block_barrier() {
  Detector& d = detector();
  Knowledge& k = d.knowledge;
  if (d.has_agents) join(0, k.threads);
  if (d.has_agents) std::copy_n(k.known_row(0) + k.threads, kAgents, k.at_barrier.data() + k.threads);
  for (std::size_t t = 0; t < k.threads; ++t) k.at_barrier[t] = k.now[t]++;
}

void start_block(const std::byte* shared, std::size_t bytes, int threads) {
  Detector& d = detector();
  ++d.block;
  d.knowledge.start(index((threads + 31) / 32 * 32));
  d.has_agents = false;
  d.shared = shared;
  d.shared_bytes = bytes;
  d.of_shared.assign(bytes / kCell + 1, {});
  d.atomics_of_shared.clear();
  d.agent_reads.any = false;
}

const RaceHooks kHooks{
    .launch =
        [] {
          ++detector().launch;
          detector().of_device.clear();
          detector().atomics_of_device.clear();
        },
    .block = start_block,
    .barrier = block_barrier,
    .warp = [](int warp) { join(index(warp) * 32, 32); },
    .access = access,
    .release = release,
    .acquire = acquire,
    .fence_proxy = fence_proxy,
    .agent_access = agent_access,
    .agent_reads = agent_reads,
    .complete = complete,
    .complete_at = complete_at,
};

}  // namespace

const RaceHooks* enabled_race_hooks = []() -> const RaceHooks* {
  const char* variable = std::getenv("SINK_RACES");
  const std::string value = variable ? variable : "";
  if (value == "1") return &kHooks;
  if (value.empty() || value == "0") return nullptr;
  std::fprintf(stderr, "error: SINK_RACES must be 0 or 1, got `%s`\n", value.c_str());
  std::_Exit(2);  // nothing catches what is thrown before main
}();

void find_races(bool on) { enabled_race_hooks = on ? &kHooks : nullptr; }

}  // namespace sink::emulated
