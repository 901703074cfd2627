// The device memory that kernels access, the launches and the matrix products, by kernel. It sees every access as the
// race detector does (races.h), which it replaces while it is on.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace sink::cuda {
struct Gemm;
}

namespace sink::emulated {

struct KernelTraffic {
  std::int64_t launches = 0;
  std::int64_t requested = 0;  // bytes that threads load and store, repeated accesses included
  // Bytes of the 32-byte sectors that a launch loads and stores, each sector once: the traffic of a perfect cache.
  std::int64_t read = 0, written = 0;
  std::int64_t tensor_flops = 0;    // of the tensor cores: two per multiplication
  std::int64_t approximations = 0;  // values computed by MUFU instructions
};

void start_traffic();
// Ends it. Keys are kernels' names without template arguments, and "gemm".
std::map<std::string, KernelTraffic> stop_traffic();

// For the launches of the device.
void note_kernel(const void* kernel);
void note_gemm(const cuda::Gemm& g);

}  // namespace sink::emulated
