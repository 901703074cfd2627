// Runs one of our programs at a terminal, for tests of what a person sees.
#pragma once

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "tests/support/subprocess.h"

namespace sink {

struct AtTerminal {
  int code = 0;     // the exit code, 128 + signal if a signal ended it
  std::string out;  // what the terminal got on standard output, line ends as the terminal makes them: "\r\n"
  std::string err;  // standard error, which is a file
};

// words[0] is one of our programs; its standard output is a pseudo-terminal.
inline AtTerminal at_terminal(const TemporaryFolder& folder, const std::vector<std::string>& words) {
  const int terminal = posix_openpt(O_RDWR | O_NOCTTY);
  if (terminal < 0 || grantpt(terminal) != 0 || unlockpt(terminal) != 0) return {-1, "", "no pseudo-terminal"};
  const int other_end = open(ptsname(terminal), O_RDWR | O_NOCTTY);
  const std::string program = program_path(words[0]), err = folder / "terminal_err";
  const pid_t child = fork();
  if (child == 0) {
    dup2(other_end, STDOUT_FILENO);
    dup2(open(err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644), STDERR_FILENO);
    std::vector<char*> arguments;
    for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    execv(program.c_str(), arguments.data());
    _exit(127);
  }
  close(other_end);
  AtTerminal seen;
  char bytes[4096];  // reading fails once no process has the other end open
  for (ssize_t n; (n = read(terminal, bytes, sizeof bytes)) > 0;) seen.out.append(bytes, static_cast<std::size_t>(n));
  close(terminal);
  int status = 0;
  waitpid(child, &status, 0);
  seen.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  seen.err = read_bytes(err);
  return seen;
}

}  // namespace sink
