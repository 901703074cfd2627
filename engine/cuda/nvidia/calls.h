// Calls of the CUDA runtime and of cuBLASLt, checked: every one goes through SINK_CALL.
#pragma once

#include <cublasLt.h>
#include <cuda_runtime.h>

#include "engine/check.h"

namespace sink::nvidia {

// Throw Error with Exit::device, naming the call and its place, where `result` is no success.
void check(cudaError_t result, const char* call, const char* file, int line);
void check(cublasStatus_t result, const char* call, const char* file, int line);

// What this thread launches and copies goes to that stream from now on; null: to the engine's own.
void use_stream(cudaStream_t stream);

}  // namespace sink::nvidia

#define SINK_CALL(call) ::sink::nvidia::check((call), #call, __FILE__, __LINE__)
