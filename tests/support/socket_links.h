// Links between the processes of a test, and of NCCL's mock, by sockets of this machine: a fake of MPI's.
#pragma once

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "engine/comm/links.h"

namespace sink {

struct RankPlace {
  int rank = 0, size = 1;
  std::string token;  // of this run alone
};

class SocketLinks : public Links {
 public:
  // Each rank listens, connects to those before it, and accepts those after it.
  SocketLinks(const RankPlace& place, double time_out)
      : Links(place.rank, place.size), sockets_(static_cast<std::size_t>(place.size), -1), time_out_(time_out) {
    local_rank_ = place.rank;
    const int listening = opened();
    sockaddr_un own = address(place, rank_);
    if (::bind(listening, reinterpret_cast<sockaddr*>(&own), sizeof own) != 0 || ::listen(listening, size_) != 0)
      throw RankLost(std::string("no socket: ") + std::strerror(errno));
    const auto start = std::chrono::steady_clock::now();
    for (int other = 0; other < rank_; ++other) {
      int& socket = sockets_[static_cast<std::size_t>(other)] = opened();
      sockaddr_un there = address(place, other);
      while (::connect(socket, reinterpret_cast<sockaddr*>(&there), sizeof there) != 0) come_in_time(start);
      while (::send(socket, &rank_, sizeof rank_, MSG_NOSIGNAL) < 0) come_in_time(start);
    }
    for (int met = rank_ + 1; met < size_; ++met) {
      int socket, other = 0;
      while ((socket = ::accept4(listening, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC)) < 0) come_in_time(start);
      while (::recv(socket, &other, sizeof other, 0) < 0) come_in_time(start);
      sockets_[static_cast<std::size_t>(other)] = socket;
    }
    ::close(listening);
  }
  ~SocketLinks() override {
    for (int socket : sockets_)
      if (socket >= 0) ::close(socket);
  }

  // Closes this end of all sockets, and waits until the other ends are closed. Between transfers.
  void leave_with_others() {
    for (int socket : sockets_)
      if (socket >= 0) ::shutdown(socket, SHUT_WR);
    for (int socket : sockets_)
      for (char byte; socket >= 0 && ::recv(socket, &byte, 1, 0) < 0 && (errno == EAGAIN || errno == EINTR);)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }

  const char* name() const override { return "sockets"; }
  void set_time_out(double seconds) { time_out_ = seconds; }

  void transfer(const TransferName& name, const std::vector<Send>& sends,
                const std::vector<Receive>& receives) override {
    std::vector<Message> messages;
    for (const Send& send : sends)
      messages.push_back(
          {true, send.to, {name.number, send.bytes}, static_cast<char*>(const_cast<void*>(send.data)), send.bytes});
    for (const Receive& receive : receives)
      messages.push_back({false, receive.from, {}, static_cast<char*>(receive.data), receive.bytes});
    auto start = std::chrono::steady_clock::now();
    for (;;) {
      std::vector<pollfd> polled;
      std::vector<int> others;
      for (Message& message : messages) {
        while (move(message, name)) start = std::chrono::steady_clock::now();
        if (message.done == sizeof(Head) + message.bytes) continue;
        polled.push_back({socket_of(message), static_cast<short>(message.is_send ? POLLOUT : POLLIN), 0});
        if (std::find(others.begin(), others.end(), message.other) == others.end()) others.push_back(message.other);
      }
      if (polled.empty()) return;
      wait_longer(name, others, seconds_since(start), time_out_);
      ::poll(polled.data(), polled.size(), 20);
    }
  }

 private:
  struct Head {
    std::uint64_t number = 0, bytes = 0;
  };
  struct Message {
    bool is_send;
    int other;
    Head head;
    char* data;
    std::size_t bytes, done = 0;  // done counts the head, too
  };

  static int opened() { return ::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0); }
  // Of the abstract kind, which leaves no file.
  static sockaddr_un address(const RankPlace& place, int rank) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string name = "sinklab-" + place.token + "-" + std::to_string(rank);
    std::copy_n(name.data(), std::min(name.size(), sizeof address.sun_path - 2), address.sun_path + 1);
    return address;
  }
  static double seconds_since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
  void come_in_time(std::chrono::steady_clock::time_point start) const {
    if (seconds_since(start) > time_out_) throw RankLost("a rank does not come");
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  int socket_of(const Message& message) const { return sockets_[static_cast<std::size_t>(message.other)]; }

  // Sends or receives what goes now; whether anything went.
  bool move(Message& message, const TransferName& name) const {
    const bool in_head = message.done < sizeof(Head);
    char* place =
        in_head ? reinterpret_cast<char*>(&message.head) + message.done : message.data + (message.done - sizeof(Head));
    const std::size_t left = (in_head ? sizeof(Head) : sizeof(Head) + message.bytes) - message.done;
    if (left == 0) return false;
    const ssize_t moved = message.is_send ? ::send(socket_of(message), place, left, MSG_NOSIGNAL)
                                          : ::recv(socket_of(message), place, left, 0);
    if (moved < 0 && (errno == EAGAIN || errno == EINTR)) return false;
    if (moved <= 0) throw RankLost("rank " + std::to_string(message.other) + " has ended");
    message.done += static_cast<std::size_t>(moved);
    if (!message.is_send && in_head && message.done == sizeof(Head) &&
        (message.head.number != name.number || message.head.bytes != message.bytes))
      throw Error("rank " + std::to_string(message.other) + " is at another transfer than " + name.str() +
                  ": they do not do the same");
    return true;
  }

  std::vector<int> sockets_;  // by rank
  double time_out_;
};

}  // namespace sink
