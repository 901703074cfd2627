// The race detector for threads of a kernel, in shared and in device memory. SINK_RACES=1 or find_races(true) enables
// it.
//
// Kernels are compiled with -fsanitize=thread and linked with our own functions in place of the sanitizer's, which see
// every access. Two accesses to an address, one of them a write and one of them not atomic, must be ordered: they are
// of one thread or of two kernels, or barriers, sync_warp and mbarriers lead from one to the other. Otherwise the
// kernel ends with an Error that names both threads and both lines, whatever the schedule was. Atomic accesses order
// nothing.
//
// The order is kept in vector clocks (Mattern 1989). Tensor copies and wgmma access memory as *agents*, asynchronously
// to the thread that issued them: what they access is ordered before a thread only if it has waited for them. They also
// must not see what ordinary stores wrote, unless fence_proxy_async is on the way from the store to them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/cuda/emulated/keywords.h"

namespace sink::emulated {

// For later launches.
void find_races(bool on);

// The origin of an access: an instruction of this program, or a call site of a function of *instructions.cuh.
struct Origin {
  const void* instruction = nullptr;  // null: see site
  Site site = {};
};

// What is known to threads that wait at a barrier: for every thread and agent, the time up to which its accesses are
// complete; and the same for accesses that fence_proxy_async has made visible to asynchronous instructions.
struct Clock {
  std::vector<std::uint32_t> known, fenced;
};

// The events of the detector. Those without a thread are of the current one.
struct RaceHooks {
  void (*launch)();  // a kernel starts; its blocks run one after another
  void (*block)(const std::byte* shared, std::size_t bytes, int threads);  // a block starts
  void (*barrier)();                                                       // all its threads have arrived
  void (*warp)(int warp);                                                  // all lanes of one have arrived
  void (*access)(const void* address, std::size_t bytes, bool write, bool atomic, const Origin& origin);

  // The thread arrives at a barrier with this clock; it has waited there.
  void (*release)(Clock& clock);
  void (*acquire)(const Clock& clock);
  void (*fence_proxy)();

  // Agents are numbered from 0 in every block. Their accesses have times from 1 on, which never decrease.
  // A copy that the thread issues writes to shared memory, or reads device memory.
  void (*agent_access)(int agent, std::uint32_t time, const void* address, std::size_t bytes, bool write,
                       const Origin& origin);
  // A product that `warp` issues reads chunks of 16 bytes of shared memory, given by their offsets.
  void (*agent_reads)(int agent, std::uint32_t time, int warp, const std::vector<std::uint32_t>& chunks,
                      const Site& site);
  // The thread has waited until the agent's accesses up to this time are complete; they are also known at the clock.
  void (*complete)(int agent, std::uint32_t time);
  void (*complete_at)(Clock& clock, int agent, std::uint32_t time);
};
extern const RaceHooks* enabled_race_hooks;
// Null while the detector is disabled.
inline const RaceHooks* race_hooks() { return enabled_race_hooks; }
inline bool finds_races() { return race_hooks() != nullptr; }

inline constexpr int kAgents = 128;  // of a block, at most

}  // namespace sink::emulated
