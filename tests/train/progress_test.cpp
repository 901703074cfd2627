// The progress line, and the signals that end a run.
#include "train/progress.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <limits>
#include <string>
#include <thread>

#include "tests/support/files.h"
#include "tests/support/in_child.h"
#include "tests/support/pseudo_terminal.h"
#include "train/interrupt.h"

using namespace sink;

namespace {

StepRecord record_at(std::int64_t step) {
  StepRecord record;
  record.step = step;
  record.train_loss = 5.43216;
  record.tokens_per_second = 45230;
  return record;
}

Evaluation measured_with(double sink_1) {
  Evaluation measured;
  measured.proxy.sink_1 = {99, sink_1, 0};
  return measured;
}

}  // namespace

TEST_CASE("progress: the line says step, loss, sink, speed and time left") {
  CHECK(progress_line(record_at(120), 1000, measured_with(12.34), 133, 200) ==
        "step 120/1000  12%  loss 5.4322  sink_1 12.3%  45.2k tok/s  2m13s left");
  CHECK(progress_line(record_at(1), 1000, {}, -1, 200) == "step 1/1000  0%  loss 5.4322  45.2k tok/s");
  Evaluation keyed = measured_with(0);
  keyed.proxy.sink_star = {99, 25, 0};
  CHECK(progress_line(record_at(120), 1000, keyed, 133, 200) ==
        "step 120/1000  12%  loss 5.4322  sink_1 0.0%  sink_* 25.0%  45.2k tok/s  2m13s left");
  StepRecord skipped = record_at(5);
  skipped.skipped = true;
  CHECK(progress_line(skipped, 10, {}, -1, 200) == "step 5/10  50%  loss nan, step skipped  45.2k tok/s");
  StepRecord without_targets = record_at(5);
  without_targets.train_loss = std::numeric_limits<double>::quiet_NaN();
  CHECK(progress_line(without_targets, 10, {}, -1, 200) == "step 5/10  50%  no targets in this step  45.2k tok/s");
}

TEST_CASE("progress: the line never exceeds the terminal") {
  std::string whole = progress_line(record_at(120), 1000, measured_with(12.34), 133, 200);
  for (int width = 0; width < 100; ++width) {
    std::string line = progress_line(record_at(120), 1000, measured_with(12.34), 133, width);
    CHECK(static_cast<int>(line.size()) <= width);
    CHECK(whole.starts_with(line));
  }
}

TEST_CASE("progress: durations") {
  CHECK(duration(0) == "0s");
  CHECK(duration(59.4) == "59s");
  CHECK(duration(133) == "2m13s");
  CHECK(duration(3900) == "1h05m");
  CHECK(duration(3 * 86400 + 4 * 3600) == "3d04h");
}

TEST_CASE("progress: the evaluation line") {
  StepRecord record = record_at(100);
  record.evaluation = measured_with(12.34);
  Evaluation& e = *record.evaluation;
  e.loss = 5.31;
  e.raw.sink_1 = {99, 3.21, 0};
  e.proxy.alpha_1 = 0.123;
  e.alpha_1_max = 0.456;
  e.row_sum = 1;
  CHECK(evaluation_line(record) ==
        "step 100: val loss 5.3100, sink_1 12.34% (raw 3.21%), alpha_1 0.1230 (max 0.4560), row sum 1.000");
  // The row sum includes the extra key's weight.
  e.row_sum = 0.73;
  e.extra = Evaluation::Extra::key;
  e.extra_key_weight = 0.27;
  e.proxy.sink_star = {99, 25, 0};
  e.raw.sink_star = {99, 24.5, 0};
  e.proxy.alpha_star = 0.28;
  e.raw.alpha_star = 0.275;
  CHECK(
      evaluation_line(record) ==
      "step 100: val loss 5.3100, sink_1 12.34% (raw 3.21%), sink_* 25.00% (raw 24.50%), alpha_1 0.1230 (max 0.4560), "
      "alpha_* 0.2800 (raw 0.2750), row sum 1.000, of it 0.270 on the extra key");
  e.extra = Evaluation::Extra::token;  // a sink token is one of the row's tokens
  CHECK(evaluation_line(record).ends_with("alpha_* 0.2800 (raw 0.2750), row sum 0.730"));
}

TEST_CASE("progress: without a terminal one plain line every log_every steps") {
  std::string said;
  in_child(
      [] {
        Progress progress(25, 10);
        for (int step = 1; step <= 25; ++step) progress.show(record_at(step));
        std::fflush(stderr);
        return 0;
      },
      &said);
  CHECK(std::count(said.begin(), said.end(), '\n') == 3);  // steps 10, 20 and the last
  CHECK(said.find("step 10/25") == 0);
  CHECK(said.find('\r') == std::string::npos);
  CHECK(said.find("step 25/25") != std::string::npos);
}

TEST_CASE("progress: on a terminal the run's folder has a line of its own after the redrawn one") {
  TemporaryFolder folder;
  const TerminalOutput seen = run_on_terminal({"train_pos_learnable",
                                               "--task",
                                               "bigram-backcopy",
                                               "--steps",
                                               "3",
                                               "--layers",
                                               "1",
                                               "--heads",
                                               "1",
                                               "--width",
                                               "16",
                                               "--feed-forward",
                                               "16",
                                               "--context",
                                               "64",
                                               "--batch",
                                               "2",
                                               "--warmup",
                                               "0",
                                               "--eval-sequences",
                                               "2",
                                               "--run",
                                               folder / "run"});
  CHECK(seen.code == 0);
  CHECK(seen.bytes.find("tok/s") != std::string::npos);
  CHECK_MESSAGE(seen.bytes.ends_with("\n" + (folder / "run") + "\n"), seen.bytes);
}

TEST_CASE("interrupt: SIGTERM asks to stop, SIGUSR1 to save, once") {
  CHECK(in_child([] {
          InterruptGuard guard;
          if (stop_requested() != 0 || take_save_request()) return 1;
          ::raise(SIGUSR1);
          if (!take_save_request() || take_save_request()) return 2;
          ::raise(SIGTERM);
          return 128 + stop_requested();
        }) == 128 + SIGTERM);
}

TEST_CASE("interrupt: a second SIGINT leaves at once with 130, but not within 0.3 s of the first") {
  auto raise_twice = [](std::chrono::milliseconds apart) {
    return in_child([apart] {
      InterruptGuard guard;
      ::raise(SIGINT);
      if (stop_requested() != SIGINT) return 1;
      std::this_thread::sleep_for(apart);
      ::raise(SIGINT);
      return 2;
    });
  };
  CHECK(raise_twice(std::chrono::milliseconds(500)) == 130);
  CHECK(raise_twice(std::chrono::milliseconds(0)) == 2);  // as `timeout -s INT` does
}

TEST_CASE("interrupt: the handlers that were there before come back") {
  CHECK(in_child([] {
          std::signal(SIGTERM, [](int) { ::_exit(77); });
          { InterruptGuard guard; }
          ::raise(SIGTERM);
          return 1;
        }) == 77);
}

TEST_CASE("interrupt: SIGHUP asks to stop, but stays ignored where it was") {
  CHECK(in_child([] {
          InterruptGuard guard;
          ::raise(SIGHUP);
          return stop_requested();
        }) == SIGHUP);
  CHECK(in_child([] {
          std::signal(SIGHUP, SIG_IGN);
          InterruptGuard guard;
          ::raise(SIGHUP);
          return stop_requested();
        }) == 0);
}
