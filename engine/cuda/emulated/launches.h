// A recording of the emulated device (engine/recording.h): the launches, in order. In every run, memory that was
// allocated during the recording is filled with NaN where it was allocated and inaccessible after it was freed, so that
// a kernel cannot rely on data of the last run.
#pragma once

#include <functional>

namespace sink::emulated {

void begin_recording();
void* end_recording();
void run_recording(void* recording);
void drop_recording(void* recording);

// Adds the launch to the recording in progress and returns true; returns false if there is none, and the caller runs
// it.
bool is_recorded(const std::function<void()>& launch);

// From now on this thread passes its launches to `enqueue` instead of running them; {} ends this. For kernels of
// another stream.
void enqueue_launches(std::function<void(std::function<void()>)> enqueue);
// Whether the launch was enqueued.
bool is_enqueued(const std::function<void()>& launch);

// `wait` is called before every launch, copy and free that is neither recorded nor enqueued: by a stream that waits for
// an event of another one.
void wait_before_work(void (*wait)());
void wait_for_other_streams();

// Tell the recording in progress about memory. The second returns whether the memory is the recording's and must be
// kept.
void note_recorded_allocation(void* memory);
bool note_recorded_free(void* memory);

}  // namespace sink::emulated
