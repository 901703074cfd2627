// Loops over threads: what runs, on which threads, who waits for whom, and that oneDNN has the same threads.
#include "engine/threads.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <functional>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "engine/ops/matmul/matmul.h"
#include "engine/ops/matmul/onednn_threads.h"
#include "tests/support/in_child.h"
#include "tests/support/in_turn.h"

using namespace sink;

extern "C" {  // those of oneDNN that a test can call
void GOMP_parallel(void (*)(void*), void*, unsigned, unsigned);
void GOMP_barrier();
int omp_get_num_threads();
int omp_get_thread_num();
}

namespace {

// So many threads while it lives.
struct ThreadCount {
  explicit ThreadCount(int count) : before(thread_count()) { set_thread_count(count); }
  ~ThreadCount() { set_thread_count(before); }
  int before;
};

// Waits until `done`, a minute at most: false is a deadlock.
bool eventually(const std::function<bool()>& done) {
  auto give_up = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (!done())
    if (std::chrono::steady_clock::now() > give_up) return false;
  return true;
}

}  // namespace

TEST_CASE("threads: every piece runs once, and each thread has a number of its own") {
  for (int threads : {1, 2, 3, 7}) {
    ThreadCount set(threads);
    CHECK(thread_count() == threads);
    for (std::int64_t count : {0, 1, 2, 3, 64, 5000}) {
      CAPTURE(count);
      std::vector<std::atomic<int>> runs(static_cast<std::size_t>(count)), inside(static_cast<std::size_t>(threads));
      std::atomic<bool> alone = true;
      parallel_for(count, [&](std::int64_t i) {
        std::size_t self = static_cast<std::size_t>(thread_index());
        if (inside.at(self).fetch_add(1) != 0) alone = false;
        runs[static_cast<std::size_t>(i)].fetch_add(1);
        inside[self].fetch_sub(1);
      });
      CHECK(alone);
      for (const auto& run : runs) CHECK(run == 1);
    }
  }
}

TEST_CASE("threads: short and long loops that follow each other at once: nobody takes a piece of one for the other") {
  ThreadCount set(3);
  alarm(60);  // pieces that run twice end in a loop that never does
  int wrong = 0;
  std::vector<int> runs(40);
  for (int loop = 0; loop < (test::is_short() ? 100000 : 400000); ++loop) {
    std::int64_t count = loop % 2 == 0 ? 2 : 40;
    std::fill(runs.begin(), runs.end(), 0);
    parallel_for(count,
                 [&](std::int64_t i) { __atomic_fetch_add(&runs[static_cast<std::size_t>(i)], 1, __ATOMIC_RELAXED); });
    for (std::int64_t i = 0; i < 40; ++i) wrong += runs[static_cast<std::size_t>(i)] != (i < count ? 1 : 0);
  }
  alarm(0);
  CHECK(wrong == 0);
}

TEST_CASE("threads: chunks cover everything, are cut by size alone, and none is below the grain") {
  ThreadCount set(3);
  for (auto [count, grain, pieces] : {std::tuple{10, 1, 3}, {10, 5, 2}, {10, 6, 1}, {2, 1, 2}, {0, 1, 0}}) {
    std::vector<std::atomic<int>> covered(static_cast<std::size_t>(count));
    std::atomic<int> chunks = 0;
    parallel_chunks(count, grain, [&](std::int64_t begin, std::int64_t end) {
      chunks.fetch_add(1);
      for (std::int64_t i = begin; i < end; ++i) covered[static_cast<std::size_t>(i)].fetch_add(1);
    });
    CHECK(chunks == pieces);
    for (const auto& times : covered) CHECK(times == 1);
  }
}

TEST_CASE("threads: one that is held up is not waited for: the others do its share") {
  ThreadCount set(2);
  constexpr int kPieces = 100;
  for (int slow : {0, 1})
    for (int round = 0; round < 20; ++round) {
      std::atomic<int> done = 0;
      std::atomic<bool> deadlock = false;
      parallel_for(kPieces, [&](std::int64_t) {
        if (thread_index() == slow && !eventually([&] { return done == kPieces - 1; })) deadlock = true;
        done.fetch_add(1);
      });
      REQUIRE_FALSE(deadlock);
      CHECK(done == kPieces);
    }
}

TEST_CASE("threads: as many pieces as threads may wait for each other") {
  ThreadCount set(4);
  for (int round = 0; round < 50; ++round) {
    std::atomic<int> arrived = 0;
    std::atomic<bool> deadlock = false;
    parallel_for(4, [&](std::int64_t) {
      arrived.fetch_add(1);
      if (!eventually([&] { return arrived == 4; })) deadlock = true;
    });
    REQUIRE_FALSE(deadlock);
  }
}

TEST_CASE("threads: those that wait sleep, and wake for the next loop") {
  ThreadCount set(4);
  for (int round = 0; round < 3; ++round) {
    std::atomic<int> sum = 0;
    parallel_for(1000, [&](std::int64_t i) { sum.fetch_add(static_cast<int>(i)); });
    CHECK(sum == 499500);
    std::clock_t begin = std::clock();
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    // Three threads that spin would use up to 600 ms of processor time; here each may look for a moment.
    CHECK(static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC < 0.05);
  }
}

TEST_CASE("threads: they end while they work, look for work or fall asleep") {
  // A call to end that one of them misses is a program that never ends: the pauses are around the time that they look.
  for (int time = 0; time < 3000; ++time) {
    ThreadCount set(time % 3 + 2);
    std::atomic<int> runs = 0;
    parallel_for(4, [&](std::int64_t) { ++runs; });
    CHECK(runs == 4);
    auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(time % 120 + 40);
    while (std::chrono::steady_clock::now() < end) {}
  }
}

TEST_CASE("threads: what a piece throws arrives where the loop was called, and the next loop is as ever") {
  ThreadCount set(3);
  for (int thrower : {0, 17, 99}) {
    std::atomic<int> others = 0;
    auto loop = [&] {
      parallel_for(100, [&](std::int64_t i) {
        if (i == thrower) throw std::runtime_error("piece " + std::to_string(i));
        others.fetch_add(1);
      });
    };
    CHECK_THROWS_WITH_AS(loop(), ("piece " + std::to_string(thrower)).c_str(), std::runtime_error);
    CHECK(others == 99);
  }
}

TEST_CASE("threads: a loop inside a loop, or called while another thread's runs, stays on its own thread") {
  ThreadCount set(3);
  std::atomic<int> runs = 0, elsewhere = 0;
  auto inner = [&] {
    auto self = std::this_thread::get_id();
    parallel_for(10, [&](std::int64_t) {
      runs.fetch_add(1);
      if (std::this_thread::get_id() != self) elsewhere.fetch_add(1);
    });
  };
  parallel_for(10, [&](std::int64_t i) {
    if (i == 5) std::thread(inner).join();
    inner();
  });
  CHECK(runs == 110);
  CHECK(elsewhere == 0);
}

#if !defined(__SANITIZE_THREAD__)  // which lets no child of a program with threads start any
TEST_CASE("threads: a child of fork() starts its own") {
  ThreadCount set(2);
  parallel_for(2, [](std::int64_t) {});
  CHECK(in_child([] {
          std::atomic<int> arrived = 0;
          bool together = true;
          parallel_for(2, [&](std::int64_t) {
            arrived.fetch_add(1);
            if (!eventually([&] { return arrived == 2; })) together = false;
          });
          return together ? 0 : 1;
        }) == 0);
}
#endif

TEST_CASE("threads: oneDNN's are ours, in every way it asks for them") {
  ThreadCount set(2);
  std::int64_t before = cpu::onednn_loops();
  Tensor a = Tensor::zeros({512, 512}), b = Tensor::zeros({512, 512}), c = Tensor::zeros({512, 512});
  matmul({a}, {b}, c);
  CHECK(cpu::onednn_loops() > before);

  // nm lists what the library asks of others: another function of OpenMP would come from libgomp and know nothing of
  // us.
  std::string library;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; library.empty() && std::getline(maps, line);)
    if (line.find("libdnnl") != std::string::npos) library = line.substr(line.find('/'));
  REQUIRE_FALSE(library.empty());
  FILE* nm = popen(("nm -D --undefined-only " + library).c_str(), "r");
  REQUIRE(nm);
  std::set<std::string> asked;
  char word[512];
  while (std::fscanf(nm, "%511s", word) == 1) {
    std::string name = word;
    name = name.substr(0, name.find('@'));
    for (const char* prefix : {"GOMP_", "omp_", "__kmpc_"})
      if (name.starts_with(prefix)) asked.insert(name);
  }
  REQUIRE(pclose(nm) == 0);
  CHECK(asked.contains("GOMP_parallel"));
  const std::set<std::string> ours{"GOMP_parallel",       "GOMP_barrier",       "omp_get_max_threads",
                                   "omp_get_num_threads", "omp_get_thread_num", "omp_in_parallel",
                                   "omp_set_num_threads"};
  for (const std::string& name : asked)
    CHECK_MESSAGE(ours.contains(name), name, " is not in engine/ops/matmul/onednn_threads.cpp");
}

TEST_CASE("threads: a team as oneDNN uses it: numbers, size and barriers") {
  ThreadCount set(4);
  struct Shared {
    std::atomic<int> arrived[3] = {}, numbers = 0;
    std::atomic<bool> right = true;
  } shared;
  GOMP_parallel(
      [](void* data) {
        Shared& all = *static_cast<Shared*>(data);
        if (omp_get_num_threads() != 3) all.right = false;
        all.numbers.fetch_or(1 << omp_get_thread_num());
        for (auto& arrived : all.arrived) {
          arrived.fetch_add(1);
          GOMP_barrier();
          if (arrived != 3) all.right = false;
        }
      },
      &shared, 3, 0);
  CHECK(shared.right);
  CHECK(shared.numbers == 7);
  CHECK(omp_get_num_threads() == 1);
  CHECK(omp_get_thread_num() == 0);
}
