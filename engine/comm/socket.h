// A TCP socket that closes itself, and what ranks do with one.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <utility>

namespace sink {

using Deadline = std::chrono::steady_clock::time_point;
Deadline deadline_in(double seconds);
double seconds_until(Deadline deadline);  // at least 0

class Socket {
 public:
  Socket() = default;
  explicit Socket(int descriptor) : descriptor_(descriptor) {}
  Socket(Socket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  Socket& operator=(Socket&& other) noexcept {
    if (this != &other) close(), descriptor_ = std::exchange(other.descriptor_, -1);
    return *this;
  }
  ~Socket() { close(); }

  int descriptor() const { return descriptor_; }
  bool is_open() const { return descriptor_ >= 0; }
  int release() { return std::exchange(descriptor_, -1); }
  void close();

 private:
  int descriptor_ = -1;
};

// Listens on `port` of all addresses, 0: any that is free. Throws Error (Exit::device) where it is taken.
Socket listen_on(int port);
int port_of(const Socket& listening);

// One attempt to connect; not open where nobody answers in `seconds`. Throws Error (Exit::device) where there is no
// such host.
Socket connect_to(const std::string& host, int port, double seconds);
// Who comes next; not open where nobody does before the deadline.
Socket accept_from(const Socket& listening, Deadline deadline);
// The other end, as in "10.0.0.2"
std::string address_of_peer(const Socket& socket);

// All of the bytes before the deadline; false where the other end has closed or the time is over.
bool send_all(const Socket& socket, const void* data, std::size_t bytes, Deadline deadline);
bool receive_all(const Socket& socket, void* data, std::size_t bytes, Deadline deadline);

// Not blocking, no delays of small messages, and an end that is silent for `seconds` (a cut cable, a host without
// power) closes the connection.
void prepare_link(const Socket& socket, double seconds);

}  // namespace sink
