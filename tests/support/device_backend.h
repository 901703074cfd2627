// An operation on the CUDA device against its reference in double, under three schedules of the emulated device,
// which looks for races under one of them.
#pragma once

#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/cuda/schedules.h"
#include "tests/support/compare.h"

namespace sink {

using Tensors = std::vector<Tensor>;

// Of two tensors whose types do not depend on each other.
inline constexpr std::pair<DType, DType> kPairsOfTypes[]{
    {DType::F32, DType::F32}, {DType::BF16, DType::BF16}, {DType::F32, DType::BF16}, {DType::BF16, DType::F32}};

// run(tensors) calls operations, which read and write the tensors given, all of the CPU. It must write to them on the
// device what it writes in double, within `f32` or `bf16` of the largest number of each (check_close), and the same
// bits under every schedule.
inline void check_device_backend(const std::string& what, const Tensors& given,
                                 const std::function<void(Tensors&)>& run, double f32 = 1e-5, double bf16 = 1e-2) {
  Tensors expected, first;
  for (const Tensor& x : given) expected.push_back(x.dtype() == DType::I32 ? x.clone() : x.clone().to(DType::F64));
  run(expected);
  for (unsigned schedule : {0u, 1u, 7u}) {
    cuda::Schedule only(schedule);
    std::optional<cuda::FindRaces> races;
    if (schedule == 0) races.emplace();
    Tensors on_device;
    for (const Tensor& x : given) on_device.push_back(x.to(Device::cuda));
    run(on_device);
    for (std::size_t n = 0; n < given.size(); ++n) {
      Tensor got = on_device[n].to(Device::cpu);
      std::string name = what + ", tensor " + std::to_string(n) + ", schedule " + std::to_string(schedule);
      CHECK_MESSAGE(got.dtype() == given[n].dtype(), name);
      check_close(name, got, expected[n], got.dtype() == DType::BF16 ? bf16 : f32);
      if (first.size() < given.size()) {
        first.push_back(got);
      } else {
        CHECK_MESSAGE(std::memcmp(got.raw(), first[n].raw(), got.bytes()) == 0, name, ": other bits than schedule 0's");
      }
    }
  }
}

// The same with each tensor in turn beginning one number behind its memory, where no vector of numbers may be read.
inline void check_unaligned_backend(const std::string& what, const Tensors& given,
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
    check_device_backend(what + ", unaligned " + std::to_string(n), moved, run_moved, f32, bf16);
  }
}

}  // namespace sink
