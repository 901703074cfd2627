// Runs one of our programs with a terminal as its output, for tests of what a terminal is sent.
#pragma once

#include <pty.h>
#include <termios.h>

#include <stdexcept>

#include "tests/support/subprocess.h"

namespace sink {

struct TerminalOutput {
  int code;
  std::string bytes;  // stdout and stderr, in the order in which they came
};

// words[0] as for Subprocess. The terminal changes no byte. Where `errors` is a path, stderr goes to that file.
inline TerminalOutput run_on_terminal(const std::vector<std::string>& words, const std::string& errors = "") {
  termios raw = {};
  cfmakeraw(&raw);
  int screen = -1, terminal = -1;
  if (openpty(&screen, &terminal, nullptr, &raw, nullptr) != 0) throw std::runtime_error("there is no pseudo-terminal");
  const std::string program = program_path(words[0]);
  const pid_t child = fork();
  if (child == 0) {
    close(screen);
    dup2(terminal, STDOUT_FILENO);
    dup2(errors.empty() ? terminal : open(errors.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644), STDERR_FILENO);
    std::vector<char*> arguments;
    for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    execv(program.c_str(), arguments.data());
    _exit(127);
  }
  close(terminal);
  TerminalOutput output{};
  char buffer[4096];
  for (ssize_t got; (got = read(screen, buffer, sizeof buffer)) > 0;)  // EIO where the program has closed it
    output.bytes.append(buffer, static_cast<std::size_t>(got));
  close(screen);
  int status = 0;
  waitpid(child, &status, 0);
  output.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return output;
}

}  // namespace sink
