#include "engine/comm/tcp_links.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "engine/comm/rendezvous.h"

namespace sink {
namespace {

constexpr std::uint64_t kGoodbye = ~std::uint64_t{0};
constexpr std::size_t kLongestGoodbye = 4096;
// After which an end that does not acknowledge is taken for gone; a link that drops packets gets through in it.
constexpr double kSilence = 30;
constexpr double kGoodbyePatience = 2, kLookEvery = 0.2;

struct Head {
  std::uint64_t number = 0;  // of the transfer; kGoodbye
  std::uint64_t bytes = 0;   // behind the head
};

struct Goodbye {
  std::int32_t code;
  char why[kLongestGoodbye];
};

std::string text_of(const std::vector<int>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t n = 0; n < ranks.size() && n < 16; ++n) {
    if (n > 0) text += ", ";
    text += std::to_string(ranks[n]);
  }
  if (ranks.size() > 16) text += ", ...";
  return text;
}

}  // namespace

// A message on its way; `done` counts its head, too.
struct TcpLinks::Outgoing {
  int to;
  Head head;
  const char* data;
  std::size_t done = 0;
  std::size_t bytes() const { return sizeof(Head) + head.bytes; }
};

struct TcpLinks::Incoming {
  int from;
  TransferName name;
  char* data;
  std::size_t expected;
  Head head = {};
  std::size_t done = 0;
  std::size_t bytes() const { return sizeof(Head) + expected; }
};

TcpLinks::TcpLinks(const RankPlace& place, double time_out) : TcpLinks(place.rank, meet(place, time_out), time_out) {}

TcpLinks::TcpLinks(int rank, std::vector<Socket> sockets, double time_out)
    : Links(rank, static_cast<int>(sockets.size())), sockets_(std::move(sockets)), time_out_(time_out) {
  for (const Socket& socket : sockets_)
    if (socket.is_open()) prepare_link(socket, std::min(kSilence, time_out));
}

void TcpLinks::lose(int rank, const std::string& how) const {
  throw RankLost("[ranks] rank " + std::to_string(rank) + " of " + std::to_string(size_) + " is lost: " + how, rank);
}

void TcpLinks::hear_goodbye(int rank, std::uint64_t bytes) const {
  Goodbye goodbye{};
  const Socket& socket = sockets_[static_cast<std::size_t>(rank)];
  if (bytes < sizeof goodbye.code || bytes > sizeof goodbye - 1 ||
      !receive_all(socket, &goodbye, bytes, deadline_in(kGoodbyePatience)))
    lose(rank, "it left");
  throw RankLost("[ranks] rank " + std::to_string(rank) + " of " + std::to_string(size_) + " has left: " + goodbye.why,
                 rank, static_cast<Exit>(goodbye.code));
}

// Sends what goes; whether anything went.
bool TcpLinks::push(Outgoing& message) {
  iovec parts[2];
  std::size_t count = 0, behind = message.done;
  if (message.done < sizeof(Head)) {
    parts[count++] = {reinterpret_cast<char*>(&message.head) + message.done, sizeof(Head) - message.done};
    behind = sizeof(Head);
  }
  if (message.head.bytes > 0)
    parts[count++] = {const_cast<char*>(message.data) + (behind - sizeof(Head)), message.bytes() - behind};
  msghdr all{};
  all.msg_iov = parts;
  all.msg_iovlen = count;
  ssize_t sent = ::sendmsg(sockets_[static_cast<std::size_t>(message.to)].descriptor(), &all, MSG_NOSIGNAL);
  if (sent < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  // It may have said why before it left.
  if (sent < 0) {
    const int error = errno;
    look();
    lose(message.to, std::strerror(error));
  }
  message.done += static_cast<std::size_t>(sent);
  return sent > 0;
}

bool TcpLinks::pull(Incoming& message) {
  const int socket = sockets_[static_cast<std::size_t>(message.from)].descriptor();
  const bool in_head = message.done < sizeof(Head);
  char* to =
      in_head ? reinterpret_cast<char*>(&message.head) + message.done : message.data + (message.done - sizeof(Head));
  ssize_t got = ::recv(socket, to, in_head ? sizeof(Head) - message.done : message.bytes() - message.done, 0);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  if (got < 0) lose(message.from, std::strerror(errno));
  if (got == 0) lose(message.from, "it ended, or its host closed the connection");
  message.done += static_cast<std::size_t>(got);
  if (in_head && message.done == sizeof(Head)) {
    if (message.head.number == kGoodbye) hear_goodbye(message.from, message.head.bytes);
    if (message.head.number != message.name.number || message.head.bytes != message.expected)
      fail("ranks", "rank " + std::to_string(message.from) + " is at transfer " + std::to_string(message.head.number) +
                        " of " + std::to_string(message.head.bytes) + " bytes, rank " + std::to_string(rank_) + " at " +
                        message.name.str() + " of " + std::to_string(message.expected) + ": they do not do the same");
  }
  return true;
}

void TcpLinks::transfer(const TransferName& name, const std::vector<Send>& sends,
                        const std::vector<Receive>& receives) {
  auto start = std::chrono::steady_clock::now();
  std::vector<Outgoing> outgoing;
  std::vector<Incoming> incoming;
  for (const Send& send : sends)
    outgoing.push_back({send.to, {name.number, send.bytes}, static_cast<const char*>(send.data)});
  for (const Receive& receive : receives)
    incoming.push_back({receive.from, name, static_cast<char*>(receive.data), receive.bytes});

  Deadline deadline = deadline_in(time_out_);
  for (;;) {
    std::vector<pollfd> waiting;
    std::vector<int> silent;
    bool moved = false;
    for (Outgoing& message : outgoing)
      if (message.done < message.bytes()) {
        moved |= push(message);
        if (message.done < message.bytes()) {
          waiting.push_back({sockets_[static_cast<std::size_t>(message.to)].descriptor(), POLLOUT, 0});
          silent.push_back(message.to);
        }
      }
    for (Incoming& message : incoming)
      if (message.done < message.bytes()) {
        moved |= pull(message);
        if (message.done < message.bytes()) {
          waiting.push_back({sockets_[static_cast<std::size_t>(message.from)].descriptor(), POLLIN, 0});
          if (std::find(silent.begin(), silent.end(), message.from) == silent.end()) silent.push_back(message.from);
        }
      }
    if (waiting.empty()) break;
    if (moved) {
      deadline = deadline_in(time_out_);
      continue;
    }
    const double left = seconds_until(deadline);
    if (left == 0)
      throw RankLost("[ranks] rank " + std::to_string(rank_) + " of " + std::to_string(size_) + " waited " +
                         std::to_string(static_cast<int>(time_out_)) + " s in " + name.str() + " for " +
                         text_of(silent) + ", of which nothing came (--comm-timeout)",
                     silent.front());
    throw_if_interrupted();
    ::poll(waiting.data(), waiting.size(), static_cast<int>(std::min(left, kLookEvery) * 1e3) + 1);
  }
  for (const Send& send : sends) traffic_.sent += send.bytes;
  for (const Receive& receive : receives) traffic_.received += receive.bytes;
  traffic_.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void TcpLinks::look() {
  for (std::size_t rank = 0; rank < sockets_.size(); ++rank) {
    if (!sockets_[rank].is_open()) continue;
    pollfd end{sockets_[rank].descriptor(), POLLIN | POLLRDHUP, 0};
    if (::poll(&end, 1, 0) <= 0) continue;
    Head head;
    ssize_t got = ::recv(end.fd, &head, sizeof head, MSG_PEEK | MSG_DONTWAIT);
    if (got == sizeof head && head.number == kGoodbye) {
      receive_all(sockets_[rank], &head, sizeof head, deadline_in(kGoodbyePatience));
      hear_goodbye(static_cast<int>(rank), head.bytes);
    }
    if ((end.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0 && got < static_cast<ssize_t>(sizeof head))
      lose(static_cast<int>(rank), "it ended, or its host closed the connection");
  }
}

void TcpLinks::say_goodbye(const std::string& why, Exit code) {
  struct {
    Head head;
    Goodbye goodbye;
  } message{};
  std::size_t length = std::min(why.size(), kLongestGoodbye - 2);
  message.goodbye.code = static_cast<std::int32_t>(code);
  std::copy_n(why.data(), length, message.goodbye.why);
  message.head = {kGoodbye, sizeof message.goodbye.code + length};
  for (Socket& socket : sockets_)
    if (socket.is_open()) {
      send_all(socket, &message, sizeof(Head) + message.head.bytes, deadline_in(0));
      ::shutdown(socket.descriptor(), SHUT_WR);  // what was sent still arrives
    }
}

}  // namespace sink
