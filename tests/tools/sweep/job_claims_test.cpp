// Who has a job: taken by one of many, let go, taken over from the dead; what no clock of another host decides.
#include "tools/sweep/job_claims.h"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <thread>

#include "engine/check.h"
#include "tests/support/files.h"

using namespace sink;

namespace {

constexpr double kLease = 0.4;

void pass(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

// As another host would write it.
std::string elsewhere(int beat) {
  return "held\nprocess 1 1 another-boot/pid:[1]\nlease " + std::to_string(kLease) + "\nbeat " + std::to_string(beat) +
         "\nholder process 1 (sweep) on far since then\n";
}

}  // namespace

TEST_CASE("a job is taken, let go and taken by another; its files stay") {
  TemporaryFolder place;
  const std::string folder = place / "queue";
  JobClaims first(folder, kLease), second(folder, kLease);
  CHECK(first.look("run-1") == ClaimStanding::free);
  CHECK(first.take("run-1"));
  CHECK(first.look("run-1") == ClaimStanding::ours);
  CHECK(second.look("run-1") == ClaimStanding::living);
  CHECK(second.holder("run-1").find("process " + std::to_string(getpid())) == 0);
  CHECK(second.look("run-10") == ClaimStanding::free);  // another job, whatever its name begins with
  first.let_go("run-1");
  CHECK(first.look("run-1") == ClaimStanding::free);
  CHECK(second.look("run-1") == ClaimStanding::free);
  CHECK(second.times_taken("run-1") == 1);
  CHECK(second.take("run-1"));
  CHECK_FALSE(first.take("run-1"));  // what it last saw was free
  CHECK(first.look("run-1") == ClaimStanding::living);
  CHECK(first.times_taken("run-1") == 2);
  for (const char* file : {"/run-1.1", "/run-1.2"}) CHECK(std::filesystem::exists(folder + file));
  {
    JobClaims third(folder, kLease);
    CHECK(third.take("run-2"));
  }
  CHECK(first.look("run-2") == ClaimStanding::free);  // its end lets go
}

TEST_CASE("of many that take the same job at the same moment one has it, from the living and from the dead") {
  constexpr int kProcesses = 6, kJobs = 150;
  TemporaryFolder place;
  const std::string folder = place / "queue";
  std::filesystem::create_directories(folder);
  // Of every other job a process had it that is gone: one of this number that began at another time.
  JobClaims gone(folder, kLease);
  for (int job = 0; job < kJobs; job += 2) {
    gone.look("job-" + std::to_string(job));
    REQUIRE(gone.take("job-" + std::to_string(job)));
    std::string text = read_bytes(folder + "/job-" + std::to_string(job) + ".1");
    const std::size_t number = text.find(' ', text.find("process ") + 8);
    text.insert(number + 1, "9");
    write_bytes(folder + "/job-" + std::to_string(job) + ".1", text);
  }
  int start[2];
  REQUIRE(pipe(start) == 0);
  std::vector<pid_t> children;
  for (int process = 0; process < kProcesses; ++process) {
    children.push_back(fork());
    if (children.back() != 0) continue;
    char go;
    close(start[1]);
    (void)!read(start[0], &go, 1);  // all are let go at once
    JobClaims claims(folder, kLease);
    std::string got;
    for (int job = 0; job < kJobs; ++job) {
      const std::string name = "job-" + std::to_string(job);
      const ClaimStanding standing = claims.look(name);
      if ((standing == ClaimStanding::free || standing == ClaimStanding::dead) && claims.take(name)) got += name + "\n";
    }
    write_bytes(place / ("got-" + std::to_string(process)), got);
    pass(0.2);  // all had their look while each lived
    _exit(0);
  }
  close(start[0]);
  close(start[1]);
  for (pid_t child : children) waitpid(child, nullptr, 0);
  std::map<std::string, int> owners;
  for (int process = 0; process < kProcesses; ++process) {
    std::istringstream lines(read_bytes(place / ("got-" + std::to_string(process))));
    for (std::string job; std::getline(lines, job);) ++owners[job];
  }
  CHECK(owners.size() == kJobs);
  for (const auto& [job, count] : owners) CHECK_MESSAGE(count == 1, job);
}

TEST_CASE("who is killed on this system is dead at once; a zombie is no more than that") {
  TemporaryFolder place;
  int told[2];
  REQUIRE(pipe(told) == 0);
  const pid_t child = fork();
  if (child == 0) {
    JobClaims claims(place / "queue", 1000);
    claims.take("run");
    (void)!write(told[1], "x", 1);
    for (;;) pause();
  }
  char byte;
  REQUIRE(read(told[0], &byte, 1) == 1);
  JobClaims claims(place / "queue", 1000);
  CHECK(claims.look("run") == ClaimStanding::living);
  kill(child, SIGSTOP);
  CHECK(claims.look("run") == ClaimStanding::living);
  kill(child, SIGKILL);
  siginfo_t ended;
  waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT);
  CHECK(claims.look("run") == ClaimStanding::dead);
  waitpid(child, nullptr, 0);
  CHECK(claims.look("run") == ClaimStanding::dead);
  CHECK(claims.take("run"));
  CHECK(claims.times_taken("run") == 2);
}

TEST_CASE("a holder elsewhere lives while its file changes, and is dead a lease after the last change") {
  TemporaryFolder place;
  std::filesystem::create_directories(place / "queue");
  const std::string file = place / "queue/run.1";
  write_bytes(file, elsewhere(1));
  // Old or of the future by another host's clock: nothing follows.
  std::filesystem::last_write_time(file, std::filesystem::file_time_type::clock::now() - std::chrono::hours(24));
  JobClaims claims(place / "queue", kLease);
  CHECK(claims.look("run") == ClaimStanding::unheard);
  pass(kLease / 2);
  CHECK(claims.look("run") == ClaimStanding::unheard);
  for (int beat = 2; beat < 6; ++beat) {
    write_bytes(file, elsewhere(beat));
    CHECK(claims.look("run") == ClaimStanding::living);
    pass(kLease / 2);
    CHECK(claims.look("run") == ClaimStanding::living);
  }
  pass(kLease);
  CHECK(claims.look("run") == ClaimStanding::dead);
  CHECK(claims.holder("run") == "process 1 (sweep) on far since then");
  CHECK(claims.take("run"));

  SUBCASE("its own lease counts where it is longer") {
    std::string text = elsewhere(1);
    text.replace(text.find("lease 0"), 7, "lease 9");
    write_bytes(place / "queue/slow.1", text);
    claims.look("slow");
    pass(2 * kLease);
    CHECK(claims.look("slow") == ClaimStanding::unheard);
  }
  SUBCASE("a file that nobody has written yet, or a damaged one, is given a lease") {
    for (const char* text : {"", "held\nprocess", "\xff\xfe garbage", "held\nprocess x y z\nlease nan\n"}) {
      CAPTURE(text);
      const std::string name = "odd-" + std::to_string(std::string(text).size());
      write_bytes(place / ("queue/" + name + ".1"), text);
      CHECK(claims.look(name) == ClaimStanding::unheard);
      pass(kLease * 1.2);
      CHECK(claims.look(name) == ClaimStanding::dead);
    }
  }
}

TEST_CASE("one who was not heard of for so long that another took over is told by its next beat") {
  TemporaryFolder place;
  JobClaims claims(place / "queue", kLease);
  REQUIRE(claims.take("run"));
  REQUIRE(claims.take("other"));
  const std::string before = read_bytes(place / "queue/run.1");
  CHECK(claims.beat().empty());
  CHECK(read_bytes(place / "queue/run.1") == before);  // four times a lease, not more often
  pass(kLease / 3);
  CHECK(claims.beat().empty());
  CHECK(read_bytes(place / "queue/run.1") != before);
  write_bytes(place / "queue/run.2", elsewhere(1));
  pass(kLease / 3);
  CHECK(claims.beat() == std::vector<std::string>{"run"});
  CHECK(claims.look("run") != ClaimStanding::ours);
  CHECK(claims.look("other") == ClaimStanding::ours);
  CHECK(claims.holder("run") == "process 1 (sweep) on far since then");
}

TEST_CASE("what is no such file is refused, not waited for or written to") {
  TemporaryFolder place;
  JobClaims claims(place / "queue", kLease);
  std::filesystem::create_directory(place / "queue/folder.1");
  REQUIRE(mkfifo((place / "queue/pipe.1").c_str(), 0666) == 0);
  write_bytes(place / "precious", "precious");
  std::filesystem::create_symlink(place / "precious", place / "queue/link.1");
  for (const char* job : {"folder", "pipe", "link"}) {
    CAPTURE(job);
    try {
      claims.look(job);
      FAIL("accepted");
    } catch (const Error& error) {
      CHECK(error.code == Exit::bad_input);
      CHECK(std::string(error.what()).find(std::string(job) + ".1") != std::string::npos);
    }
    CHECK_FALSE(claims.take(job));
  }
  CHECK(read_bytes(place / "precious") == "precious");
  write_bytes(place / "file", "");
  CHECK_THROWS_AS(JobClaims(place / "file", kLease), Error);
  std::filesystem::create_symlink(place / "queue", place / "elsewhere");
  CHECK_THROWS_AS(JobClaims(place / "elsewhere", kLease), Error);
}
