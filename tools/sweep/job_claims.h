// Which of several sweeps has which job, wherever they run: files of a folder that all of them see, <job>.<n>. Whoever
// creates the n-th file of a job (O_EXCL) has it, and writes into it who it is and, again and again, that it lives. It
// lets go by a mark in its file. The next to have it, then or after the holder's death, creates file n + 1. No file is
// ever removed or renamed, so that no two can take over from the same dead one.
//
// A holder on this system is known by its process. One elsewhere is dead when its file has not changed for a lease of
// this process's own clock; no two clocks are compared.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

namespace sink {

enum class ClaimStanding {
  free,  // nobody has it
  ours,
  living,   // another has it
  unheard,  // another has it, elsewhere, and nothing was heard of it yet: look again, for a lease at most
  dead,     // another had it
};

class JobClaims {
 public:
  // Makes the folder. Throws Error (Exit::io) where it cannot be written into.
  JobClaims(std::string folder, double lease_seconds);
  ~JobClaims();  // lets go of everything
  JobClaims(const JobClaims&) = delete;
  JobClaims& operator=(const JobClaims&) = delete;

  // Throws Error (Exit::bad_input) where something else stands in a file's place.
  ClaimStanding look(const std::string& job);
  // Of a job that was free or dead at the last look: false where another was faster. Throws Error (Exit::io) where no
  // file can be made.
  bool take(const std::string& job);
  void let_go(const std::string& job);
  // Says in the files of all jobs that are ours that we live, four times a lease however often it is called. Returns
  // those that others have taken because it was called too late; they are no longer ours.
  std::vector<std::string> beat();

  // As of the last look: how often it was taken by anyone, and "process 1234 (sweep) on host since ..." of the last.
  int times_taken(const std::string& job) const;
  std::string holder(const std::string& job) const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Job {
    int last = 0;  // of its files
    bool ours = false;
    std::string text;  // of that file
    Clock::time_point changed = Clock::now();
    bool heard = false;  // it changed before our eyes
  };
  std::string path(const std::string& job, int n) const { return folder_ + "/" + job + "." + std::to_string(n); }
  std::string own_text(bool held) const;
  void write(const std::string& job, bool held) const;

  std::string folder_;
  double lease_;
  std::string system_, own_;  // where this process is; what its files say of it
  long beats_ = 0;
  Clock::time_point beaten_ = Clock::now();
  std::map<std::string, Job> jobs_;
};

}  // namespace sink
