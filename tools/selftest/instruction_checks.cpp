// Shuffles, barriers, asynchronous copies and approximations, against their documentation.
#include <limits>

#include "engine/rng.h"
#include "tools/selftest/finding.h"
#include "tools/selftest/selftest_kernels.h"

namespace sink::selftest {
namespace {

std::string lane_text(std::int64_t i) { return "warp " + std::to_string(i / 32) + " lane " + std::to_string(i % 32); }

Finding shuffles() {
  Finding found;
  Tensor x = Tensor::empty({4, 32}), y = Tensor::empty(x.shape(), DType::F32, Device::cuda);
  for (std::int64_t i = 0; i < x.size(); ++i) x.data<float>()[i] = static_cast<float>(i);
  Tensor on_device = x.to(Device::cuda);
  for (int mask = 0; mask < 32; ++mask) {
    shuffle_lanes(on_device, mask, y);
    Tensor back = y.to(Device::cpu);
    for (std::int64_t i = 0; i < x.size(); ++i)
      found.compare(back.data<float>()[i], static_cast<double>(i ^ mask), 0,
                    [&] { return lane_text(i) + ", mask " + std::to_string(mask); });
  }
  return found;
}

Finding barriers(bool of_block, int offset = 0) {
  constexpr int kRounds = 37;
  Finding found;
  Tensor y = Tensor::zeros({16, 1024}, DType::F32, Device::cuda);
  of_block ? pass_round_block(kRounds, y, offset) : pass_round_warps(kRounds, y);
  Tensor back = y.to(Device::cpu);
  std::int64_t n = of_block ? 1024 : 32;
  for (std::int64_t i = 0; i < y.size(); ++i)
    found.compare(back.data<float>()[i], static_cast<double>((i + kRounds) % n), 0, [&] { return lane_text(i); });
  return found;
}

Finding copies(int stages) {
  constexpr std::int64_t kSteps = 11, kChunks = 10 * 128 + 77;
  Finding found;
  Tensor x = Tensor::empty({kSteps * 512}), y = Tensor::zeros(x.shape(), DType::F32, Device::cuda);
  for (std::int64_t i = 0; i < x.size(); ++i) x.data<float>()[i] = static_cast<float>(i + 1);
  copy_in_steps(x.to(Device::cuda), stages, kChunks, y);
  Tensor back = y.to(Device::cpu);
  for (std::int64_t i = 0; i < x.size(); ++i)
    found.compare(back.data<float>()[i], i / 4 < kChunks ? static_cast<double>(i + 1) : 0, 0,
                  [&] { return "chunk " + std::to_string(i / 4) + ", value " + std::to_string(i % 4); });
  return found;
}

// Compares error(y, x) of the device's results y with the documented error.
template <class Error>
Finding approximations(Approximation which, const std::vector<float>& x, double documented, Error&& error) {
  Finding found;
  Tensor inputs = Tensor::from<float>({static_cast<std::int64_t>(x.size())}, x);
  Tensor y = Tensor::empty(inputs.shape(), DType::F32, Device::cuda);
  approximate(which, inputs.to(Device::cuda), y);
  Tensor back = y.to(Device::cpu);
  for (std::size_t i = 0; i < x.size(); ++i)
    found.compare(error(static_cast<double>(back.data<float>()[i]), static_cast<double>(x[i])), 0, documented,
                  [&] { return "x = " + std::to_string(x[i]) + ", the error"; });
  return found;
}

// 2^16 random values: uniform in [lowest, highest), or 2^x of such x.
std::vector<float> random_values(double lowest, double highest, bool by_exponent) {
  Rng random(0, "selftest");
  std::vector<float> x(1 << 16);
  for (std::size_t i = 0; i < x.size(); ++i) {
    double at = lowest + (highest - lowest) * random.uniform(i);
    x[i] = static_cast<float>(by_exponent ? std::exp2(at) : at);
  }
  return x;
}

double relative(double got, double exact) { return got / exact - 1; }

Finding exp2_errors() {
  return approximations(Approximation::exp2, random_values(-125.99, 127.99, false), 0x1p-22,
                        [](double y, double x) { return relative(y, std::exp2(x)); });
}

Finding log2_errors() {
  return approximations(Approximation::log2, random_values(-126, 127.99, true), 0x1p-22, [](double y, double x) {
    return x > 0.5 && x < 2 ? y - std::log2(x) : relative(y, std::log2(x));
  });
}

Finding log2_errors_near_one() {
  return approximations(Approximation::log2, random_values(0.5001, 1.9999, false), 0x1p-22,
                        [](double y, double x) { return y - std::log2(x); });
}

Finding reciprocal_errors() {
  std::vector<float> x = random_values(-125.99, 125.99, true);
  for (std::size_t i = 0; i < x.size(); i += 2) x[i] = -x[i];
  return approximations(Approximation::reciprocal, x, 0x1p-23, [](double y, double x) { return relative(y, 1 / x); });
}

// Zero, infinity, NaN, and values below 2^-126, which are flushed to zero.
Finding special_values() {
  constexpr float kInfinity = std::numeric_limits<float>::infinity(), kNan = std::numeric_limits<float>::quiet_NaN(),
                  kSmall = 0x1p-130f;
  struct Case {
    Approximation which;
    float x, y;
  };
  const std::vector<Case> cases{
      {Approximation::exp2, 0, 1},
      {Approximation::exp2, kInfinity, kInfinity},
      {Approximation::exp2, -kInfinity, 0},
      {Approximation::exp2, kNan, kNan},
      {Approximation::exp2, -127.5f, 0},
      {Approximation::exp2, 128.5f, kInfinity},
      {Approximation::log2, 0, -kInfinity},
      {Approximation::log2, kSmall, -kInfinity},
      {Approximation::log2, kInfinity, kInfinity},
      {Approximation::log2, kNan, kNan},
      {Approximation::log2, -1, kNan},
      {Approximation::reciprocal, 0, kInfinity},
      {Approximation::reciprocal, kSmall, kInfinity},
      {Approximation::reciprocal, kInfinity, 0},
      {Approximation::reciprocal, 0x1.8p126f, 0},
      {Approximation::reciprocal, kNan, kNan},
  };
  Finding found;
  for (const Case& one : cases) {
    Tensor y = Tensor::empty({1}, DType::F32, Device::cuda);
    approximate(one.which, Tensor::full({1}, one.x).to(Device::cuda), y);
    const char* name = one.which == Approximation::exp2   ? "exp2 of "
                       : one.which == Approximation::log2 ? "log2 of "
                                                          : "reciprocal of ";
    found.compare(y.item(), one.y, 0, [&] { return name + std::to_string(one.x); });
  }
  return found;
}

}  // namespace

std::vector<Check> instruction_checks() {
  return {{"shuffle_xor, every mask", shuffles},
          {"sync_block, 37 rounds of 1024 threads", [] { return barriers(true); }},
          {"sync_block, at the end of 96 KiB of shared memory", [] { return barriers(true, 23 * 1024); }},
          {"sync_warp, 37 rounds", [] { return barriers(false); }},
          {"cp_async_16, 1 stage, zeros at the end", [] { return copies(1); }},
          {"cp_async_16, 2 stages", [] { return copies(2); }},
          {"cp_async_16, 3 stages", [] { return copies(3); }},
          {"exp2_approx, relative error", exp2_errors},
          {"log2_approx, error", log2_errors},
          {"log2_approx near 1, absolute error", log2_errors_near_one},
          {"reciprocal_approx, relative error", reciprocal_errors},
          {"approximations of 0, infinity, NaN", special_values}};
}

}  // namespace sink::selftest
