// Ranks of a test: processes that meet by TCP on this machine.
#pragma once

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <functional>
#include <string>
#include <vector>

#include "engine/comm/rank_place.h"
#include "engine/comm/socket.h"

namespace sink {

// A place for every rank of a run that meets at a port that is listened on already.
inline std::vector<RankPlace> places_of_ranks(int size, const Socket& listening) {
  std::vector<RankPlace> places;
  for (int rank = 0; rank < size; ++rank)
    places.push_back({.rank = rank,
                      .size = size,
                      .local_rank = rank,
                      .port = port_of(listening),
                      .listening = rank == 0 ? ::dup(listening.descriptor()) : -1,
                      .token = "a test's",
                      .launcher = "a test"});
  return places;
}

// Exit codes of `size` processes, each running body(its place); 99: it threw, with what it said on stderr.
inline std::vector<int> in_ranks(int size, const std::function<int(const RankPlace&)>& body) {
  Socket listening = listen_on(0);
  std::vector<RankPlace> places = places_of_ranks(size, listening);
  std::vector<pid_t> children;
  std::fflush(nullptr);
  for (const RankPlace& place : places) {
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
  ::close(places[0].listening);
  listening.close();
  std::vector<int> codes;
  for (pid_t child : children) {
    int status = 0;
    ::waitpid(child, &status, 0);
    codes.push_back(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
  }
  return codes;
}

// In such a process, whose doctest nobody hears: says on stderr what does not hold.
inline bool expect(bool holds, const std::string& what) {
  if (!holds) std::fprintf(stderr, "not so: %s\n", what.c_str());
  return holds;
}

}  // namespace sink
