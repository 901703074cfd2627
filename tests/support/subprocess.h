// Runs one of our programs as a user would, for tests of exit codes, messages and signals.
#pragma once

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/files.h"

namespace sink {

inline std::string program_path(const std::string& name) {
  return name.starts_with("/") ? name : std::string(SINK_BINARY_DIR) + "/" + name;
}

// A command line as words; there is no quoting.
inline std::vector<std::string> words_of(const std::string& line) {
  std::istringstream stream(line);
  return {std::istream_iterator<std::string>(stream), {}};
}

class Subprocess {
 public:
  // words[0] is one of our programs, or any by its whole path; its output goes to files in `folder`.
  Subprocess(const TemporaryFolder& folder, const std::vector<std::string>& words)
      : out_(folder / "stdout"), err_(folder / "stderr") {
    std::string program = program_path(words[0]);
    pid_ = fork();
    if (pid_ == 0) {
      redirect(STDOUT_FILENO, out_);
      redirect(STDERR_FILENO, err_);
      std::vector<char*> arguments;
      for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
      arguments.push_back(nullptr);
      execv(program.c_str(), arguments.data());
      _exit(127);
    }
  }

  pid_t pid() const { return pid_; }
  void send(int signal) const { kill(pid_, signal); }
  // The exit code, or 128 + signal if a signal ended it.
  int wait() const {
    int status = 0;
    waitpid(pid_, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  // The same of a program that may hang: it is killed after so many seconds.
  int wait_for(int seconds) const {
    for (int i = 0; i < 100 * seconds; ++i) {
      siginfo_t about{};
      if (waitid(P_PID, static_cast<id_t>(pid_), &about, WEXITED | WNOHANG | WNOWAIT) != 0 || about.si_pid == pid_)
        return wait();
      usleep(10'000);
    }
    send(SIGKILL);
    return wait();
  }
  std::string out() const { return read_bytes(out_); }
  std::string err() const { return read_bytes(err_); }

 private:
  static void redirect(int descriptor, const std::string& path) {
    int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
    dup2(file, descriptor);
    close(file);
  }

  std::string out_, err_;
  pid_t pid_ = -1;
};

// A line of shell that begins in `folder`, with our programs on its PATH and the signals as a login leaves them.
inline Subprocess shell(const TemporaryFolder& folder, const std::string& line) {
  return {folder,
          {"/usr/bin/env", "--default-signal", "/bin/sh", "-c",
           "PATH=" + std::string(SINK_BINARY_DIR) + ":$PATH; cd " + folder.path + "; " + line}};
}

}  // namespace sink
