#include "engine/comm/socket.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <memory>

#include "engine/check.h"

namespace sink {
namespace {

// Milliseconds for poll(2), rounded up.
int milliseconds(double seconds) { return static_cast<int>(std::ceil(std::min(seconds, 1e6) * 1e3)); }

// Whether `events` come before the deadline.
bool poll_for(int descriptor, short events, Deadline deadline) {
  for (;;) {
    pollfd waiting{descriptor, events, 0};
    int ready = ::poll(&waiting, 1, milliseconds(seconds_until(deadline)));
    if (ready > 0) return true;
    if (ready == 0) return false;
    if (errno != EINTR) return false;
  }
}

void set_blocking(int descriptor, bool blocking) {
  int flags = ::fcntl(descriptor, F_GETFL);
  ::fcntl(descriptor, F_SETFL, blocking ? flags & ~O_NONBLOCK : flags | O_NONBLOCK);
}

void set_option(int descriptor, int level, int option, int value) {
  ::setsockopt(descriptor, level, option, &value, sizeof value);
}

}  // namespace

Deadline deadline_in(double seconds) {
  return std::chrono::steady_clock::now() +
         std::chrono::duration_cast<std::chrono::steady_clock::duration>(std::chrono::duration<double>(seconds));
}

double seconds_until(Deadline deadline) {
  return std::max(0.0, std::chrono::duration<double>(deadline - std::chrono::steady_clock::now()).count());
}

void Socket::close() {
  if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
}

Socket listen_on(int port) {
  Socket socket(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in6 six{};
  six.sin6_family = AF_INET6;
  six.sin6_port = htons(static_cast<std::uint16_t>(port));
  sockaddr_in four{};
  four.sin_family = AF_INET;
  four.sin_port = six.sin6_port;
  auto* address = reinterpret_cast<sockaddr*>(&six);
  socklen_t length = sizeof six;
  if (socket.is_open()) {
    set_option(socket.descriptor(), IPPROTO_IPV6, IPV6_V6ONLY, 0);
  } else {  // a host without IPv6
    socket = Socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    address = reinterpret_cast<sockaddr*>(&four);
    length = sizeof four;
  }
  set_option(socket.descriptor(), SOL_SOCKET, SO_REUSEADDR, 1);  // the run before may have left a moment ago
  if (!socket.is_open() || ::bind(socket.descriptor(), address, length) != 0 ||
      ::listen(socket.descriptor(), SOMAXCONN) != 0)
    fail("ranks",
         "rank 0 cannot listen on port " + std::to_string(port) + ": " + std::strerror(errno) +
             ". Another run may be there: set MASTER_PORT to a free one",
         Exit::device);
  return socket;
}

int port_of(const Socket& listening) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  ::getsockname(listening.descriptor(), reinterpret_cast<sockaddr*>(&address), &length);
  return ntohs(address.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(address).sin6_port
                                             : reinterpret_cast<sockaddr_in&>(address).sin_port);
}

Socket connect_to(const std::string& host, int port, double seconds) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  int error = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (error == EAI_AGAIN) return {};
  if (error != 0)
    fail("ranks", "there is no host " + host + " (" + ::gai_strerror(error) + "), where rank 0 is said to be",
         Exit::device);
  std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> addresses(found, ::freeaddrinfo);
  Deadline deadline = deadline_in(seconds);
  for (const addrinfo* address = found; address; address = address->ai_next) {
    Socket socket(::socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!socket.is_open()) continue;
    set_blocking(socket.descriptor(), false);
    if (::connect(socket.descriptor(), address->ai_addr, address->ai_addrlen) != 0) {
      if (errno != EINPROGRESS || !poll_for(socket.descriptor(), POLLOUT, deadline)) continue;
      int failed = 0;
      socklen_t length = sizeof failed;
      ::getsockopt(socket.descriptor(), SOL_SOCKET, SO_ERROR, &failed, &length);
      if (failed != 0) continue;
    }
    return socket;
  }
  return {};
}

Socket accept_from(const Socket& listening, Deadline deadline) {
  if (!poll_for(listening.descriptor(), POLLIN, deadline)) return {};
  Socket socket(::accept4(listening.descriptor(), nullptr, nullptr, SOCK_CLOEXEC));
  if (socket.is_open()) set_blocking(socket.descriptor(), false);
  return socket;
}

std::string address_of_peer(const Socket& socket) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  char text[NI_MAXHOST] = "?";
  if (::getpeername(socket.descriptor(), reinterpret_cast<sockaddr*>(&address), &length) == 0)
    ::getnameinfo(reinterpret_cast<sockaddr*>(&address), length, text, sizeof text, nullptr, 0, NI_NUMERICHOST);
  std::string name = text;
  return name.starts_with("::ffff:") ? name.substr(7) : name;
}

bool send_all(const Socket& socket, const void* data, std::size_t bytes, Deadline deadline) {
  const char* next = static_cast<const char*>(data);
  while (bytes > 0) {
    ssize_t sent = ::send(socket.descriptor(), next, bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      if (!poll_for(socket.descriptor(), POLLOUT, deadline)) return false;
      continue;
    }
    if (sent <= 0) return false;
    next += sent;
    bytes -= static_cast<std::size_t>(sent);
  }
  return true;
}

bool receive_all(const Socket& socket, void* data, std::size_t bytes, Deadline deadline) {
  char* next = static_cast<char*>(data);
  while (bytes > 0) {
    ssize_t received = ::recv(socket.descriptor(), next, bytes, MSG_DONTWAIT);
    if (received < 0 && errno == EINTR) continue;
    if (received < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      if (!poll_for(socket.descriptor(), POLLIN, deadline)) return false;
      continue;
    }
    if (received <= 0) return false;
    next += received;
    bytes -= static_cast<std::size_t>(received);
  }
  return true;
}

void prepare_link(const Socket& socket, double seconds) {
  int descriptor = socket.descriptor(), whole = std::max(3, static_cast<int>(seconds));
  set_blocking(descriptor, false);
  set_option(descriptor, IPPROTO_TCP, TCP_NODELAY, 1);
  set_option(descriptor, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(descriptor, IPPROTO_TCP, TCP_KEEPIDLE, std::max(1, whole / 3));
  set_option(descriptor, IPPROTO_TCP, TCP_KEEPINTVL, std::max(1, whole / 6));
  set_option(descriptor, IPPROTO_TCP, TCP_KEEPCNT, 4);
  set_option(descriptor, IPPROTO_TCP, TCP_USER_TIMEOUT, whole * 1000);
}

}  // namespace sink
