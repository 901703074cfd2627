// A recording of the emulated device (engine/recording.h): what was launched, written down in order. Memory that is
// asked for meanwhile is fresh at every run from there on, and freed memory from where it was freed on, so a kernel
// that relies on what the last run left behind is found out.
#pragma once

#include <functional>

namespace sink::emulated {

void begin_recording();
void* end_recording();
void run_recording(void* recording);
void drop_recording(void* recording);

// Whether a recording is being made; the launch is part of it then, else the caller is to run it.
bool is_recorded(const std::function<void()>& launch);

// What this thread launches is given to `put` instead of being run, from now on; {}: it runs at once. For kernels of
// another stream.
void put_launches(std::function<void(std::function<void()>)> put);
// Whether the launch was put somewhere.
bool is_put(const std::function<void()>& launch);

// What a recording must know of memory. Whether the memory is a recording's: then it is not to be freed yet.
void note_recorded_allocation(void* memory);
bool note_recorded_free(void* memory);

}  // namespace sink::emulated
