// Races between threads of a kernel, in shared and in device memory, where they are looked for: SINK_RACES=1, or
// find_races(true).
//
// Kernels are compiled with -fsanitize=thread and linked with functions of our own in place of the sanitizer's, which
// see every access. Two accesses of one place, one of them a write, are in order if one thread makes both, if the block
// met at a barrier in between, if their warp met at sync_warp in between, or if they are of two kernels. If they are
// not, the kernel ends with an Error that names both threads and both lines, whatever the schedule was.
#pragma once

#include <cstddef>

#include "engine/cuda/emulated/keywords.h"

namespace sink::emulated {

// Of the kernels launched from now on.
void find_races(bool on);
bool finds_races();

// What reads or writes: an instruction of this program, or where a function of instructions.cuh was called.
struct Origin {
  const void* instruction = nullptr;  // null: the site
  Site site = {};
};

// What the detector is told of a block's life.
struct RaceHooks {
  void (*launch)();                                           // a kernel begins; its blocks run one after the other
  void (*block)(const std::byte* shared, std::size_t bytes);  // a block begins
  void (*barrier)();                                          // all its threads have met
  void (*warp)(int warp);                                     // all lanes of one have met
  void (*access)(const void* place, std::size_t bytes, bool write, const Origin& origin);
};
// Null while no races are looked for.
const RaceHooks* race_hooks();

}  // namespace sink::emulated
