// Ranks of a test: forked processes, linked by sockets where a run has MPI.
#pragma once

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <functional>
#include <string>
#include <vector>

#include "tests/support/socket_links.h"

namespace sink {

// Exit codes of `size` processes, each running body(its place); 99: it threw, with what it said on stderr.
inline std::vector<int> in_ranks(int size, const std::function<int(const RankPlace&)>& body) {
  static int runs = 0;
  const std::string token = std::to_string(::getpid()) + "-" + std::to_string(++runs);
  std::vector<pid_t> children;
  std::fflush(nullptr);
  for (int rank = 0; rank < size; ++rank) {
    const RankPlace place{rank, size, token};
    pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      int code = 99;
      try {
        code = body(place);
      } catch (const std::exception& error) { std::fprintf(stderr, "rank %d: %s\n", place.rank, error.what()); }
      std::fflush(nullptr);
      ::_exit(code);
    }
    children.push_back(child);
  }
  std::vector<int> codes;
  for (pid_t child : children) {
    int status = 0;
    ::waitpid(child, &status, 0);
    codes.push_back(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
  }
  return codes;
}

// A check in a forked rank, where doctest does not report: prints on stderr what does not hold.
inline bool expect(bool holds, const std::string& what) {
  if (!holds) std::fprintf(stderr, "not so: %s\n", what.c_str());
  return holds;
}

}  // namespace sink
