// A recording (engine/recording.h) on a GPU: a CUDA graph captured from the engine's stream.
#pragma once

namespace sink::nvidia {

void begin_recording();
void* end_recording();
void run_recording(void* recording);
void drop_recording(void* recording);
// Whether a capture is in progress; then no call may wait for the GPU.
bool is_recording();

}  // namespace sink::nvidia
