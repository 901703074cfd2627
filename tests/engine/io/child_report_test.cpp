// Work in a child process: its report comes back, and however it ends, the parent continues and can report the cause.
#include "engine/io/child_report.h"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>

#include "tests/support/files.h"
#include "tests/support/processes.h"

using namespace sink;

TEST_CASE("child report: bytes come back as they are, empty and large ones too") {
  for (std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{3} << 20}) {
    std::string sent(size, '\0');
    for (std::size_t i = 0; i < size; ++i) sent[i] = static_cast<char>(i * 7);
    ChildReport report = report_of_child([&] { return sent; });
    CHECK(report.failure == "");
    CHECK(report.bytes == sent);
  }
}

TEST_CASE("child report: a child that crashes, throws or leaves is told from one that reports") {
  auto failure = [](auto work) { return report_of_child(work).failure; };
  CHECK(contains(failure([]() -> std::string {
                   std::raise(SIGKILL);
                   return "x";
                 }),
                 "it was killed by signal 9"));
  CHECK(contains(failure([]() -> std::string { throw std::runtime_error("x"); }), "it left without a report"));
  CHECK(contains(failure([]() -> std::string { ::_exit(0); }), "it left without a report"));
#if !defined(__SANITIZE_ADDRESS__)  // which turns these into exits of its own
  CHECK(contains(failure([]() -> std::string { std::abort(); }), "it was killed by signal 6"));
  CHECK(contains(failure([]() -> std::string {
                   std::raise(SIGSEGV);
                   return "x";
                 }),
                 "it was killed by signal 11"));
  CHECK(contains(failure([]() -> std::string { return std::string(std::size_t{1} << 40, 'x'); }),
                 "it ran out of memory"));
  // Held by the child alone, within the addresses that there are.
  CHECK(contains(failure([]() -> std::string { return std::string(std::size_t{600} << 20, 'x'); }),
                 "it ran out of memory"));
#endif
}

TEST_CASE("child report: time and size are bounded") {
  auto start = std::chrono::steady_clock::now();
  ChildLimits limits;
  limits.cpu_seconds = 1;
  CHECK(contains(report_of_child(
                     []() -> std::string {
                       for (volatile bool on = true; on;) {}
                       return "";
                     },
                     limits)
                     .failure,
                 "more than 1 s"));
  limits.wall_seconds = 1;
  CHECK(contains(report_of_child(
                     []() -> std::string {
                       ::pause();
                       return "";
                     },
                     limits)
                     .failure,
                 "more than 1 s"));
  limits.report_bytes = 1 << 20;
  CHECK(report_of_child([] { return std::string(2 << 20, 'x'); }, limits).failure != "");
  std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
  CHECK(passed.count() < 60);
}

TEST_CASE("child report: the child ends with a parent that is killed") {
  const pid_t parent = ::fork();
  if (parent == 0) {
    report_of_child([] { return std::string(static_cast<std::size_t>(::sleep(60)), 'x'); }, {.wall_seconds = 60});
    ::_exit(0);
  }
  const pid_t child = first_child_of(parent);
  REQUIRE(child > 0);
  ::usleep(200'000);  // until it sleeps
  ::kill(parent, SIGKILL);
  ::waitpid(parent, nullptr, 0);
  CHECK(ends_within(child, 5));
  ::kill(child, SIGKILL);
}

TEST_CASE("child report: the child has no voice and writes no file") {
  TemporaryFolder folder;
  ChildReport report = report_of_child([&] {
    std::fprintf(stderr, "SHOULD NOT BE SEEN\n");
    write_bytes(folder / "written", "x");
    return std::string("done");
  });
  CHECK(report.bytes == "done");
  CHECK(read_bytes(folder / "written") == "");
}
