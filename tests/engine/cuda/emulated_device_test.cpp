// The emulated device: an error of a kernel ends it with a message under every schedule; other kernels run as on a GPU.
#include <doctest/doctest.h>

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "engine/cuda/emulated/bit_flip.h"
#include "engine/cuda/emulated/memory.h"
#include "engine/cuda/gemm.h"
#include "engine/cuda/instructions.cuh"
#include "engine/cuda/vectors.cuh"
#include "engine/tensor.h"
#include "tests/support/compare.h"
#include "tests/support/in_child.h"
#include "tests/support/kernel_errors.h"
#include "tests/support/schedules.h"

using namespace sink;
using namespace sink::cuda;

namespace {

template <class F>
void for_each_schedule(F&& f) {
  for (unsigned schedule : {0u, 1u, 2u, 7u, 12u}) {
    Schedule only(schedule);
    CAPTURE(schedule);
    f();
  }
}

Tensor on_device(std::int64_t count) { return Tensor::zeros({count}, DType::F32, Device::cuda); }

// Reverses the values of the block's threads through shared memory, `rounds` times.
__global__ void reverse_kernel(float* y, int rounds, bool wait_before_use, bool wait_before_reuse) {
  float* shared = shared_memory<float>();
  unsigned t = threadIdx.x, n = blockDim.x;
  float mine = static_cast<float>(t);
  for (int round = 0; round < rounds; ++round) {
    shared[t] = mine;
    if (wait_before_use) sync_block();
    mine = shared[n - 1 - t];
    if (wait_before_reuse) sync_block();
  }
  y[blockIdx.x * n + t] = mine;
}

std::vector<float> reversed(int rounds, bool wait_before_use, bool wait_before_reuse) {
  Tensor y = on_device(3 * 96);
  launch({3, 96, 96 * sizeof(float)}, reverse_kernel, y.device_data<float>(), rounds, wait_before_use,
         wait_before_reuse);
  Tensor back = y.to(Device::cpu);
  return {back.data<float>(), back.data<float>() + back.size()};
}

__global__ void copy_kernel(const float* x, float* y, bool wait, bool misaligned, bool outside) {
  float* shared = shared_memory<float>();
  unsigned t = threadIdx.x;
  cp_async_16(shared + 4 * t + (misaligned ? 1 : 0) + (outside ? 4096 : 0), x + 4 * t, t != 5);
  cp_async_commit_group();
  if (wait) cp_async_wait_group<0>();
  for (int n = 0; n < 4; ++n) y[4 * t + n] = shared[4 * t + n];
  cp_async_wait_group<0>();
}

__global__ void shuffle_kernel(float* y) { y[threadIdx.x] = shuffle_xor(static_cast<float>(threadIdx.x), 5); }

__global__ void broken_kernel(int how) {
  unsigned t = threadIdx.x;
  if (how == 0 && t < 7) shuffle_xor(1, 1);                                   // without all lanes
  if (how == 1) t < 16 ? sync_warp() : static_cast<void>(shuffle_xor(1, 1));  // at different instructions
  if (how == 2) {
    if (t < 32) sync_block();
    if (t >= 32) sync_block();  // at different barriers
  }
  if (how == 3 && t < 32) {
    if (t == 0) sync_block();  // the others of its warp wait for it
    sync_warp();
  }
  if (how == 4) cp_async_16(shared_memory<float>() + 4 * t, nullptr, false);  // without a wait
  if (how == 5) shared_memory<float>()[300 + t % 4] = 1;                      // after the requested bytes
}

__global__ void touch_kernel(float* x, std::int64_t at) {
  if (threadIdx.x == 37 && blockIdx.x == 1) x[at] = 1;
}

__global__ void vector_kernel(float* x, int first) { store_vector(x, load_vector<4>(x + first)); }

// The output of a child process that runs `body` and exits with 7.
template <class Body>
std::string fault_of(Body&& body) {
  std::string output;
  CHECK(in_child(
            [&] {
              body();
              return 0;
            },
            &output) == static_cast<int>(Exit::device));
  return output;
}

}  // namespace

TEST_CASE("emulated device: threads of a block meet at barriers, and shared memory is filled with NaN") {
  for_each_schedule([] {
    std::vector<float> y = reversed(3, true, true);
    for (std::size_t i = 0; i < y.size(); ++i) CHECK(y[i] == static_cast<float>(95 - i % 96));
  });
}

TEST_CASE("emulated device: a missing barrier gives wrong results under some schedule") {
  int wrong_use = 0, wrong_reuse = 0;
  for_each_schedule([&] {
    wrong_use += reversed(3, false, true) != reversed(3, true, true);
    wrong_reuse += reversed(3, true, false) != reversed(3, true, true);
  });
  CHECK(wrong_use == 5);
  CHECK(wrong_reuse > 0);
}

TEST_CASE("emulated device: lanes exchange values") {
  for_each_schedule([] {
    Tensor y = on_device(64);
    launch({1, 64}, shuffle_kernel, y.device_data<float>());
    for (std::int64_t t = 0; t < 64; ++t) CHECK(y.item(t) == (t ^ 5));
  });
}

TEST_CASE("emulated device: copies arrive when they are waited for and not before") {
  Tensor x = Tensor::empty({64}), y = on_device(64);
  for (std::int64_t i = 0; i < 64; ++i) x.data<float>()[i] = static_cast<float>(i);
  Tensor x_device = x.to(Device::cuda);
  auto run = [&](bool wait, bool misaligned = false, bool outside = false) {
    launch({1, 16, 256}, copy_kernel, x_device.device_data<float>(), y.device_data<float>(), wait, misaligned, outside);
  };
  for_each_schedule([&] {
    run(true);
    for (std::int64_t i = 0; i < 64; ++i) CHECK(y.item(i) == (i / 4 == 5 ? 0 : i));
    run(false);
    for (std::int64_t i = 0; i < 64; ++i) CHECK(std::isnan(y.item(i)));
    check_says(error_of([&] { run(true, true); }),
               {"multiple of 16 bytes", "cp_async_16", "emulated_device_test.cpp:"});
    check_says(error_of([&] { run(true, false, true); }), {"outside of the block's shared memory"});
  });
}

TEST_CASE("emulated device: errors of a kernel are reported with block, thread and line") {
  const std::vector<std::vector<std::string>> says{
      {"shuffle_xor", "block (", "thread ("},
      {"different instructions", "sync_warp", "shuffle_xor"},
      {"different barriers"},
      {"deadlock", "sync_block", "sync_warp"},
      {"its copies were in flight"},
      {"wrote after the 1200 bytes of shared memory"},
  };
  for_each_schedule([&] {
    for (int how = 0; how < 6; ++how) {
      CAPTURE(how);
      std::string text = error_of([&] { launch({2, 64, 1200}, broken_kernel, how); });
      check_says(text, says[static_cast<std::size_t>(how)]);
      if (how < 4) check_says(text, {"tests/engine/cuda/emulated_device_test.cpp:", "schedule"});
    }
  });
  Tensor x = on_device(8);
  launch({1, 1}, vector_kernel, x.device_data<float>(), 4);
  check_says(error_of([&] {
               launch({1, 1}, vector_kernel, x.device_data<float>(), 1);
             }),
             {"accesses a vector of 16 bytes at an address that is no multiple of 16", "thread (0,0,0)"});
  check_says(error_of([] { launch({1, 2048}, broken_kernel, 9); }), {"1 to 1024 threads", "2048"});
  check_says(error_of([] { launch({1, 32, std::size_t{1} << 20}, broken_kernel, 9); }), {"shared memory"});
  CHECK(error_of([] { launch({2, 64, 1200}, broken_kernel, 9); }).empty());  // the next kernel runs normally
}

TEST_CASE("emulated device: an access out of bounds is reported with block, thread and line") {
  for (unsigned schedule : {0u, 1u}) {
    Schedule only(schedule);
    Tensor x = on_device(1024);  // a whole page, so that both ends are guarded
    auto touch = [&](std::int64_t at) {
      return fault_of([&] { launch({2, 64}, touch_kernel, x.device_data<float>(), at); });
    };
    std::vector<std::string> where{"block (1,0,0) thread (37,0,0) writes", "emulated_device_test.cpp:"};
    check_says(touch(1024), where);
    check_says(touch(1024), {"0 bytes after the end of an allocation of 4096 bytes"});
    check_says(touch(-1), {"4 bytes before the beginning of an allocation of 4096 bytes"});
    launch({2, 64}, touch_kernel, x.device_data<float>(), 1023);
    CHECK(x.item(1023) == 1);
  }
}

TEST_CASE("emulated device: host code and freed memory are out of bounds, and new memory is NaN") {
  Tensor x = on_device(64);
  float* data = x.device_data<float>();
  check_says(fault_of([&] { data[3] = 1; }), {"host code writes byte 12 of an allocation of 256 bytes"});
  check_says(fault_of([&] {
               float* freed = on_device(64).device_data<float>();
               launch({2, 64}, touch_kernel, freed, 0);
             }),
             {"thread (37,0,0)", "that was freed"});
  Tensor fresh = Tensor::empty({5}, DType::BF16, Device::cuda);
  for (std::int64_t i = 0; i < 5; ++i) CHECK(std::isnan(fresh.item(i)));
  CHECK(error_of([&] { emulated::copy_to_device(data + 60, &fresh, 32); }).find("one allocation") != std::string::npos);
}

TEST_CASE("emulated device: a byte written next to an allocation is found when it is freed") {
  Schedule reverse(1);  // allocations are aligned to the beginning of a page, and their ends are not guarded
  check_says(fault_of([] {
               Tensor x = on_device(10);
               launch({2, 64}, touch_kernel, x.device_data<float>(), 11);
             }),
             {"wrote next to an allocation of 40 bytes", "SINK_SCHEDULE=0"});
}

TEST_CASE("tensors on the device: its memory is counted separately from the CPU's") {
  AllocatorStats host = allocator_stats(), before = allocator_stats(Device::cuda);
  {
    Tensor x = Tensor::empty({1000}, DType::F32, Device::cuda);
    CHECK(allocator_stats(Device::cuda).bytes_in_use == before.bytes_in_use + 4000);
    CHECK(allocator_stats().bytes_in_use == host.bytes_in_use);
  }
  CHECK(allocator_stats(Device::cuda).bytes_in_use == before.bytes_in_use);
  CHECK(allocator_stats(Device::cuda).peak_bytes_in_use >= before.bytes_in_use + 4000);
}

TEST_CASE("emulated device: a size that is none is refused") {
  for (const char* wrong : {"", "0", "-1", "64M", "nan"}) {
    std::string said;
    CHECK(in_child(
              [wrong] {
                ::setenv("SINK_DEVICE_MIB", wrong, 1);
                try {
                  Tensor::zeros({1}, DType::F32, Device::cuda);
                } catch (const Error& error) {
                  std::fprintf(stderr, "%s", error.what());
                  return static_cast<int>(error.code);
                }
                return 0;
              },
              &said) == static_cast<int>(Exit::usage));
    CHECK(said.find("SINK_DEVICE_MIB is expected to be MiB above 0, got \"" + std::string(wrong) + "\"") !=
          std::string::npos);
  }
}

TEST_CASE("tensors on the device: only operations access their values") {
  Tensor x = Tensor::full({2, 3}, 1.5, DType::F32, Device::cuda);
  CHECK(x.str() == "f32 (2, 3) on cuda");
  CHECK(x.to(Device::cuda).same_data_ptr(x));
  auto refused = [](auto&& f) {
    try {
      f();
    } catch (const Error& error) { return std::string(error.what()); }
    return std::string();
  };
  check_says(refused([&] { x.data<float>(); }), {"f32 (2, 3) on cuda is not in the CPU's memory", "to(Device::cpu)"});
  check_says(refused([&] { x.raw(); }), {"f32 (2, 3) on cuda is not in the CPU's memory"});
  check_says(refused([&] { Tensor::zeros({2}).device_data<float>(); }), {"f32 (2) is on the CPU", "to(Device::cuda)"});
  CHECK(x.item(5) == 1.5);
  Tensor y = x.to(DType::BF16).to(Device::cpu);
  CHECK(y.dtype() == DType::BF16);
  CHECK(y.item(4) == 1.5);
  Tensor z = Tensor::zeros({6}, DType::F64);
  z.copy_from(x);  // converts device and type
  CHECK(z.item(2) == 1.5);
  CHECK(x.slice(2, {2}).to(Device::cpu).item() == 1.5);
}

// Pairs of offsets where both are aligned to 16 bytes, one of them, or neither.
TEST_CASE("emulated device: fills and conversions of every size, type and alignment") {
  auto check = [](std::int64_t n, std::int64_t first, std::int64_t to_first, DType from, DType to) {
    CAPTURE(n);
    CAPTURE(first);
    CAPTURE(to_first);
    Tensor x = from == DType::I32 ? Tensor::full({n + first}, 5, from) : random_tensor({n + first}, from, 1);
    Tensor there = x.to(Device::cuda);
    Tensor y = Tensor::full({n + 20}, 7, to, Device::cuda), expected = Tensor::full({n + 20}, 7, to);
    y.slice(to_first, {n}).copy_from(there.slice(first, {n}));
    expected.slice(to_first, {n}).copy_from(x.slice(first, {n}));
    check_close("converted", y.to(Device::cpu), expected, 0);
    y.slice(first, {n}).fill(3);
    expected.slice(first, {n}).fill(3);
    check_close("filled", y.to(Device::cpu), expected, 0);
  };
  for (std::int64_t n : {1, 3, 4, 6, 8, 1024, 1032})
    for (std::int64_t first : {0, 1, 2, 4, 8})
      for (std::int64_t to_first : {8 - first, 9 - first}) {
        for (DType from : {DType::F32, DType::BF16, DType::F64})
          for (DType to : {DType::F32, DType::BF16, DType::F64}) check(n, first, to_first, from, to);
        check(n, first, to_first, DType::I32, DType::I32);
      }
}

TEST_CASE("emulated device: a BF16 product is rounded before c is added, as by cuBLASLt on an H200") {
  // (1 + 2^-7)^2 = 1 + 2^-6 + 2^-14 is rounded to 1 + 2^-6; c makes that a tie, and the even neighbour is below.
  // Rounded once, the sum would be 1 + 2^-6 + 2^-7.
  auto bf16_of = [](float x) { return Tensor::from<float>({1}, {x}).to(DType::BF16).to(Device::cuda); };
  Tensor a = bf16_of(1 + 0x1p-7f), c = bf16_of(0x1p-8f);
  Tensor b = a.clone();
  cuda::Gemm g;
  g.m = g.n = g.k = g.lda = g.ldb = g.ldc = 1;
  g.in = g.out = DType::BF16, g.beta = 1;
  g.a = a.device_data<bf16>(), g.b = b.device_data<bf16>(), g.c = c.device_data<bf16>();
  cuda::gemm(g);
  CHECK(c.to(Device::cpu).item() == 1 + 0x1p-6);
}

TEST_CASE("emulated device: a planned bit flip changes one matrix product, in one sum or where a factor is read") {
  // (2  8)   (1 3)   (2 2)
  // (4 16) = (2 6) * (0 2)
  const Tensor a = Tensor::from<float>({4}, {1, 2, 3, 6}).to(Device::cuda),
               b = Tensor::from<float>({4}, {2, 0, 2, 2}).to(Device::cuda);
  using In = emulated::BitFlip::In;
  const auto product = [&] {
    Tensor c = on_device(4);
    Gemm g;
    g.m = g.n = g.k = g.lda = g.ldb = g.ldc = 2;
    g.a = a.device_data<float>(), g.b = b.device_data<float>(), g.c = c.device_data<float>();
    gemm(g);
    const Tensor found = c.to(Device::cpu);
    return std::vector<double>{found.item(0), found.item(1), found.item(2), found.item(3)};
  };
  const std::vector<double> sound = product();
  REQUIRE(sound == std::vector<double>{2, 4, 8, 16});
  const auto second_of_three = [&](In in) {
    emulated::flip_bit(emulated::BitFlip{.product = 1, .in = in, .row = 3, .column = 5, .depth = 7, .bit = 31});
    CHECK(product() == sound);
    const std::vector<double> changed = product();
    CHECK(product() == sound);
    CHECK(emulated::counted_products() == 3);
    emulated::flip_bit(std::nullopt);
    return changed;
  };
  // Row, column and depth 1 each, modulo 2: the sum 16, the factor 6 of a and the lower right one of b change sign.
  CHECK(second_of_three(In::sum) == std::vector<double>{2, 4, 8, -16});
  CHECK(second_of_three(In::a) == std::vector<double>{2, 4, 8, 4 - 12});
  CHECK(second_of_three(In::b) == std::vector<double>{2, 4, 2 - 6, 4 - 12});
}
