// Runs a kernel under several schedules and says of each what was found. plant_faults.py links it with kernels in which
// it has planted a fault.
//
//   fault_trial forward|backward|hopper|hopper_backward|tile_info FIRST SCHEDULES races|plain
//
// One line per schedule from FIRST on: the schedule, whether the fault's line has run (1 or 0), and "right", "wrong" (a
// result has a larger error than the tests of attention allow), or "report" and the message of the emulated device.
#include <atomic>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "engine/check.h"
#include "tests/emulated_device/reached.h"
#include "tests/engine/ops/attention_backend.h"
#include "tests/engine/ops/attention_naive.h"
#include "tests/support/schedules.h"

namespace sink::test {

std::atomic<bool> reached = false;
void note_reached() { reached.store(true, std::memory_order_relaxed); }
bool take_reached() { return reached.exchange(false); }

bool tile_info_is_right();

namespace {

// The root mean square of x - y; infinite if a value is not finite.
double typical_difference(const Tensor& x, const Tensor& y) {
  double sum = 0;
  for (std::int64_t n = 0; n < x.size(); ++n) sum += (x.item(n) - y.item(n)) * (x.item(n) - y.item(n));
  return std::isfinite(sum) ? std::sqrt(sum / static_cast<double>(x.size())) : INFINITY;
}

// A case with its results in double and those of the naive computation in BF16. The bounds of errors are those of
// tests/engine/ops/attention_tiles_cuda_test.cpp.
template <class Op>
struct Trial {
  AttentionCase expected, naive, there;
  Conditions conditions;

  explicit Trial(const AttentionCase& c)
      : expected(c.to(DType::F64)), naive(naive_in_bf16(expected, Op())), there(c.to(Device::cuda)) {
    expected.forward<Op>();
    expected.backward<Op>();
    conditions = worst_conditions(expected, Op());
    if (!c.config.bias_gradient) expected.gradients.dbias_HT = naive.gradients.dbias_HT = Tensor();
  }

  bool is_close(const Tensor& x, const Tensor& by_naive, const Tensor& exact, double size, bool many) const {
    double rounding = (many ? 1e-5 : 1e-2) * conditions.weights * size;
    if (many && !(typical_difference(x, exact) <= 2 * typical_difference(by_naive, exact) + rounding)) return false;
    return largest_difference(x, exact) <= 6 * largest_difference(by_naive, exact) + rounding;
  }

  bool forward_is_right() const {
    AttentionCase now = there;
    now.make_outputs();
    now = now.to(Device::cuda);
    now.forward<Op>();
    now = now.to(Device::cpu);
    return relative_error(now.m, expected.m) <= 1e-5 && relative_error(now.S, expected.S) <= 1e-5 &&
           is_close(now.o, naive.o, expected.o, largest_magnitude(expected.o), true);
  }

  // With the outputs of the reference, so that no other kernel runs.
  bool backward_is_right() const {
    AttentionCase now = there;
    now.o = expected.o.to(DType::BF16).to(Device::cuda);
    now.m = expected.m.to(DType::F32).to(Device::cuda);
    now.S = expected.S.to(DType::F32).to(Device::cuda);
    now.backward<Op>();
    now = now.to(Device::cpu);
    std::vector<const Tensor*> found = now.all_gradients(), by_naive = naive.all_gradients(),
                               exact = expected.all_gradients();
    for (std::size_t n = 0; n < found.size(); ++n)
      if (!is_close(*found[n], *by_naive[n], *exact[n], std::max(conditions.gradients, largest_magnitude(*exact[n])),
                    n < 3))
        return false;
    return true;
  }
};

// Small cases that together run every line: masks, a prefix, documents, a chunk of queries, every width, two passes,
// lengths at which every buffer is filled again.
struct Trials {
  std::vector<Trial<Softmax>> softmax;
  std::vector<Trial<ClippedSoftmax>> clipped;

  static AttentionCase make(std::int64_t T, std::int64_t D, KeyRange range, Extra extra, std::int64_t B = 1,
                            std::int64_t H = 1, std::int64_t G = 0) {
    return AttentionCase(B, H, T, D, DType::BF16, range, 1, extra, G);
  }

  explicit Trials(const std::string& kernel) {
    if (kernel == "hopper_backward") {
      add_hopper_backward();
      return;
    }
    const bool hopper = kernel == "hopper";
    const std::int64_t long_T = hopper ? 390 : 200;
    softmax.emplace_back(make(77, 64, {.prefix = 3, .window = 20}, Extra::everything, 1, 2, 1));
    softmax.emplace_back(make(long_T, 64, {}, Extra::bias));
    clipped.emplace_back(make(hopper ? 300 : 150, 128, {.window = 65}, Extra::everything));
    softmax.emplace_back(make(150, 96, {.prefix = 70, .window = 100}, Extra::none));
    AttentionCase documents = make(77, 40, {}, Extra::everything, 2);
    documents.cut_into_documents(1);
    softmax.emplace_back(documents);
    softmax.emplace_back(make(199, 64, {.prefix = 2, .window = 40}, Extra::bias).chunk(63, 199));
    if (kernel == "backward") {
      // Two passes over an odd number of tiles; a group of two heads, and blocks of keys after the last query.
      clipped.emplace_back(make(150, 64, {}, Extra::none));
      softmax.emplace_back(make(199, 64, {}, Extra::none, 1, 2, 1).chunk(62, 90));
    }
  }

  // The kernels on Hopper have four stages of tiles of 64 rows, whose parity repeats after eight tiles. Softmax and
  // ClippedSoftmax have code of their own at width 128; ClippedSoftmax has a second pass for dq.
  void add_hopper_backward() {
    auto add = [](auto& trials, AttentionCase c) {
      c.config.bias_gradient = false;  // which another kernel computes
      trials.emplace_back(c);
    };
    add(softmax, make(77, 64, {.prefix = 3, .window = 20}, Extra::everything, 1, 2, 1));
    add(softmax, make(150, 64, {}, Extra::bias, 1, 3, 1));
    add(softmax, make(150, 96, {.prefix = 70, .window = 100}, Extra::none));
    AttentionCase documents = make(77, 40, {}, Extra::everything, 2);
    documents.cut_into_documents(1);
    add(softmax, documents);
    // No query sees a key of the first block or of the last. In the second case the last begins after the queries end.
    add(softmax, make(390, 128, {.window = 40}, Extra::key).chunk(200, 300));
    add(softmax, make(390, 64, {.window = 3}, Extra::none).chunk(130, 160));
    add(clipped, make(300, 64, {}, Extra::bias));
    add(clipped, make(150, 128, {.prefix = 2, .window = 100}, Extra::everything, 1, 2, 1));
  }

  bool all_right(bool backward) const {
    auto right = [&](const auto& trial) { return backward ? trial.backward_is_right() : trial.forward_is_right(); };
    for (const auto& trial : softmax)
      if (!right(trial)) return false;
    for (const auto& trial : clipped)
      if (!right(trial)) return false;
    return true;
  }
};

std::string outcome_of(const auto& is_right) {
  try {
    return is_right() ? "right" : "wrong";
  } catch (const std::exception& error) {
    std::string text = error.what();
    for (char& c : text)
      if (c == '\n') c = ' ';
    return "report " + text;
  }
}

int run(const std::string& kernel, unsigned first, unsigned schedules) {
  const bool backward = kernel == "backward" || kernel == "hopper_backward";
  std::vector<Trials> trials;
  if (kernel != "tile_info") trials.emplace_back(kernel);
  for (unsigned schedule = first; schedule < schedules; ++schedule) {
    cuda::Schedule only(schedule);
    take_reached();
    std::string outcome =
        outcome_of([&] { return trials.empty() ? tile_info_is_right() : trials[0].all_right(backward); });
    std::printf("%u %d %s\n", schedule, take_reached() ? 1 : 0, outcome.c_str());
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace
}  // namespace sink::test

int main(int count, char** arguments) {
  if (count != 5) {
    std::fprintf(stderr,
                 "usage: fault_trial forward|backward|hopper|hopper_backward|tile_info FIRST SCHEDULES races|plain\n");
    return 2;
  }
  const auto first = static_cast<unsigned>(std::atoi(arguments[2]));
  const auto schedules = static_cast<unsigned>(std::atoi(arguments[3]));
  if (std::string(arguments[4]) != "races") return sink::test::run(arguments[1], first, schedules);
  sink::cuda::FindRaces on;
  return sink::test::run(arguments[1], first, schedules);
}
