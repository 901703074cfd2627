// A recording (engine/recording.h) of a GPU: a CUDA graph of what goes to the engine's stream meanwhile.
#pragma once

namespace sink::nvidia {

void begin_recording();
void* end_recording();
void run_recording(void* recording);
void drop_recording(void* recording);
// Whether one is being made; what waits for the GPU may not be called then.
bool is_recording();

// Waits, and gives the driver back the memory that is kept for reuse, graphs' too (nvidia_device.cpp).
void give_back_kept();

}  // namespace sink::nvidia
