// The learning rate of every step.
#include "train/schedule.h"

#include <doctest/doctest.h>

#include <cmath>
#include <numbers>

using namespace sink;

namespace {

RunConfig config_with(const char* schedule) {
  RunConfig config;
  config.schedule = schedule;
  config.steps = 110;
  config.warmup = 10;
  config.learning_rate = 4e-3;
  config.min_learning_rate = 1e-3;
  return config;
}

doctest::Approx near(double value) { return doctest::Approx(value).epsilon(1e-12); }

}  // namespace

TEST_CASE("schedule: warm-up rises by equal steps to the full rate") {
  for (const char* schedule : {"constant", "cosine"}) {
    RunConfig config = config_with(schedule);
    CHECK(learning_rate_at(config, 1) == near(4e-4));
    CHECK(learning_rate_at(config, 5) == near(2e-3));
    CHECK(learning_rate_at(config, 9) == near(3.6e-3));
    CHECK(learning_rate_at(config, 10) == near(4e-3));
  }
}

TEST_CASE("schedule: constant stays") {
  RunConfig config = config_with("constant");
  for (std::int64_t step : {11, 60, 110, 1000}) CHECK(learning_rate_at(config, step) == 4e-3);
}

TEST_CASE("schedule: cosine goes from full to least by way of the middle") {
  // 100 steps after warm-up: cos(0) = 1, cos(pi/3) = 1/2, cos(pi/2) = 0, cos(pi) = -1.
  RunConfig config = config_with("cosine");
  CHECK(learning_rate_at(config, 60) == near(2.5e-3));
  CHECK(learning_rate_at(config, 110) == near(1e-3));
  CHECK(learning_rate_at(config, 500) == near(1e-3));  // a run made longer stays at the end
  for (std::int64_t step = 11; step <= 110; ++step)
    CHECK(learning_rate_at(config, step) < learning_rate_at(config, step - 1));
  config.steps = 310;
  CHECK(learning_rate_at(config, 110) == near(1e-3 + 3e-3 * 0.75));
}

TEST_CASE("schedule: without warm-up and with nothing but warm-up") {
  RunConfig config = config_with("constant");
  config.warmup = 0;
  CHECK(learning_rate_at(config, 1) == 4e-3);
  config = config_with("cosine");
  config.steps = config.warmup = 10;
  CHECK(learning_rate_at(config, 10) == near(4e-3));
}

TEST_CASE("schedule: counted in micro-batches it is the released code's, micro-batch by micro-batch") {
  // get_lr(it) of the released code, where a step's rate is that of its last micro-batch, it = step accumulate - 1.
  for (std::int64_t G : {1, 8})
    for (const char* schedule : {"constant", "cosine"}) {
      RunConfig config = config_with(schedule);
      config.schedule_counts = "micro-batches";
      config.accumulate = G;
      double W = static_cast<double>(10 * G), D = static_cast<double>(110 * G), peak = 4e-3, least = 1e-3;
      for (std::int64_t step : {1, 2, 9, 10, 11, 60, 110}) {
        auto it = static_cast<double>(step * G - 1);
        double decayed = least + 0.5 * (1 + std::cos(std::numbers::pi * (it - W) / (D - W))) * (peak - least);
        double after = config.schedule == "cosine" ? decayed : peak;
        CHECK(learning_rate_at(config, step) == near(it < W ? peak * it / W : after));
      }
    }
}
