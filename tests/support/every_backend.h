// Every backend of an operation that this build has against the reference in double: the reference on other types, the
// CPU's with one thread and with three, and the device's, which is emulated or a GPU.
#pragma once

#include <cstring>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "engine/threads.h"
#include "tests/support/compare.h"
#include "tests/support/with_reference.h"
#ifdef SINK_CUDA
#include <optional>

#include "tests/support/schedules.h"
#endif

namespace sink {

using Tensors = std::vector<Tensor>;

// The devices of this build, with the CPU and without it.
#ifdef SINK_CUDA
inline const std::vector<Device> kDevices{Device::cpu, Device::cuda}, kAccelerators{Device::cuda};
#else
inline const std::vector<Device> kDevices{Device::cpu}, kAccelerators;
#endif

// Of two tensors whose types do not depend on each other.
inline constexpr std::pair<DType, DType> kPairsOfTypes[]{
    {DType::F32, DType::F32}, {DType::BF16, DType::BF16}, {DType::F32, DType::BF16}, {DType::BF16, DType::F32}};

// run(tensors) calls operations that read and write copies of `given` (CPU tensors) on one device. Every backend must
// write what the reference writes in double, within `f32` or `bf16` of the largest element of each tensor
// (check_close), and the same bits with every number of threads and under every schedule of the emulated device. The
// emulated device also looks for races under one schedule.
inline void check_backends(const std::string& what, const Tensors& given, const std::function<void(Tensors&)>& run,
                           double f32 = 1e-5, double bf16 = 1e-2) {
  Tensors expected;
  for (const Tensor& x : given) expected.push_back(x.dtype() == DType::I32 ? x.clone() : x.clone().to(DType::F64));
  run(expected);
  auto check_run = [&](const std::string& backend, Device device) {
    Tensors tensors;
    for (const Tensor& x : given) tensors.push_back(device == Device::cpu ? x.clone() : x.to(device));
    run(tensors);
    for (std::size_t n = 0; n < given.size(); ++n) {
      const std::string name = what + ", tensor " + std::to_string(n) + ", " + backend;
      tensors[n] = tensors[n].to(Device::cpu);
      CHECK_MESSAGE(tensors[n].dtype() == given[n].dtype(), name);
      check_close(name, tensors[n], expected[n], given[n].dtype() == DType::BF16 ? bf16 : f32);
    }
    return tensors;
  };
  auto check_same_bits = [&](const std::string& backend, const Tensors& first, const Tensors& tensors) {
    for (std::size_t n = 0; n < given.size(); ++n)
      CHECK_MESSAGE(std::memcmp(tensors[n].raw(), first[n].raw(), first[n].bytes()) == 0, what, ", tensor ", n, ": ",
                    backend, " gives other bits");
  };
  in_reference([&] { check_run("reference", Device::cpu); });
  const int threads = thread_count();
  set_thread_count(1);
  const Tensors on_cpu = check_run("CPU", Device::cpu);
  set_thread_count(3);
  check_same_bits("CPU with 3 threads", on_cpu, check_run("CPU with 3 threads", Device::cpu));
  set_thread_count(threads);
#ifdef SINK_CUDA
  Tensors on_device;
  for (unsigned schedule : {0u, 1u, 7u}) {
    cuda::Schedule only(schedule);
    std::optional<cuda::FindRaces> races;
    if (schedule == 0) races.emplace();
    const std::string backend = "device, schedule " + std::to_string(schedule);
    Tensors tensors = check_run(backend, Device::cuda);
    if (schedule == 0)
      on_device = std::move(tensors);
    else
      check_same_bits(backend, on_device, tensors);
  }
#endif
}

// The same with each tensor in turn one element after the start of its memory, where vectors are not aligned.
inline void check_unaligned_backends(const std::string& what, const Tensors& given,
                                     const std::function<void(Tensors&)>& run, double f32 = 1e-5, double bf16 = 1e-2) {
  for (std::size_t n = 0; n < given.size(); ++n) {
    Tensors moved = given;
    moved[n] = Tensor::zeros({given[n].size() + 1}, given[n].dtype());
    moved[n].slice(1, given[n].shape()).copy_from(given[n]);
    auto run_moved = [&](Tensors& t) {
      Tensors slices = t;
      slices[n] = t[n].slice(1, given[n].shape());
      run(slices);
    };
    check_backends(what + ", unaligned " + std::to_string(n), moved, run_moved, f32, bf16);
  }
}

}  // namespace sink
