// Runs a piece of a test in a process of its own: for what ends a process, or changes it for good.
#pragma once

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <string>

namespace sink {

// Exit code of a child process that runs `body`, its stderr written to `said`.
template <class Body>
int in_child(Body&& body, std::string* said = nullptr) {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  std::fflush(nullptr);  // or the child would print what waits in our buffers once more
  pid_t child = ::fork();
  if (child == 0) {
    ::dup2(ends[1], STDERR_FILENO);
    ::close(ends[0]);
    ::_exit(body());
  }
  ::close(ends[1]);
  char buffer[512];
  std::string text;
  for (ssize_t got; (got = ::read(ends[0], buffer, sizeof(buffer))) > 0;) text.append(buffer, got);
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  if (said) *said = text;
  REQUIRE(WIFEXITED(status));
  return WEXITSTATUS(status);
}

}  // namespace sink
