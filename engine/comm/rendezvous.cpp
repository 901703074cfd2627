#include "engine/comm/rendezvous.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <list>
#include <string>
#include <thread>

#include "engine/check.h"

namespace sink {
namespace {

constexpr std::uint32_t kMagic = 0x736e6b31;  // "snk1"
constexpr double kPatience = 5;               // seconds for a stranger to say who it is
constexpr std::size_t kTokenBytes = 64;

// What a rank says first, to rank 0 and to the others. All numbers are little-endian, as every machine is that we run
// on; one that is not says another magic.
struct Hello {
  std::uint32_t magic = kMagic;
  std::uint32_t rank = 0, size = 0;
  std::uint32_t port = 0;  // where it listens itself; to rank 0
  std::array<char, kTokenBytes> token{};
};

enum class Welcome : std::uint32_t { welcome = 1, same_rank = 2, other_size = 3 };

// Where a rank listens: of what rank 0 tells them all.
struct Place {
  std::array<char, 64> address{};
  std::uint32_t port = 0;
};

// Of any length, by a hash of each part: a longer token is no less of a secret than its 64 bytes are.
std::array<char, kTokenBytes> packed_token(const std::string& token) {
  std::array<char, kTokenBytes> packed{};
  std::uint64_t hash = 1469598103934665603u;
  for (char c : token) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  std::size_t kept = std::min(token.size(), kTokenBytes - sizeof hash);
  std::copy_n(token.data(), kept, packed.data());
  std::memcpy(packed.data() + kTokenBytes - sizeof hash, &hash, sizeof hash);
  return packed;
}

Hello hello_of(const RankPlace& place, int port) {
  return {.rank = static_cast<std::uint32_t>(place.rank),
          .size = static_cast<std::uint32_t>(place.size),
          .port = static_cast<std::uint32_t>(port),
          .token = packed_token(place.token)};
}

bool same_token(const Hello& a, const Hello& b) {
  unsigned differs = 0;  // of all bytes, so that the time it takes says nothing of them
  for (std::size_t i = 0; i < kTokenBytes; ++i) differs |= static_cast<unsigned char>(a.token[i] ^ b.token[i]);
  return differs == 0 && a.magic == b.magic;
}

std::string where(const RankPlace& place) { return place.address + ", port " + std::to_string(place.port); }

std::string missing_of(const std::vector<Socket>& links, int self) {
  std::string missing;
  int count = 0;
  for (std::size_t rank = 0; rank < links.size(); ++rank) {
    if (static_cast<int>(rank) == self || links[rank].is_open()) continue;
    if (++count > 16) continue;
    if (count > 1) missing += ", ";
    missing += std::to_string(rank);
  }
  if (count > 16) missing += ", ... (" + std::to_string(count) + " in all)";
  return (count == 1 ? "rank " : "ranks ") + missing;
}

// Somebody who has connected and not yet said all of its hello.
struct Guest {
  Socket socket;
  Deadline deadline;
  Hello hello;
  std::size_t received = 0;
};

// Reads what has come; false where the guest has gone.
bool listen_to(Guest& guest) {
  ssize_t got = ::recv(guest.socket.descriptor(), reinterpret_cast<char*>(&guest.hello) + guest.received,
                       sizeof(Hello) - guest.received, MSG_DONTWAIT);
  if (got > 0) guest.received += static_cast<std::size_t>(got);
  return got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR));
}

// Calls take(guest) for everybody who connects and knows the token, until it returns true or the time is over.
template <class Take>
bool receive_guests(const Socket& listening, const Hello& own, Deadline deadline, Take&& take) {
  std::list<Guest> guests;
  while (seconds_until(deadline) > 0) {
    std::vector<pollfd> waiting{{listening.descriptor(), POLLIN, 0}};
    for (const Guest& guest : guests) waiting.push_back({guest.socket.descriptor(), POLLIN, 0});
    ::poll(waiting.data(), waiting.size(), static_cast<int>(std::min(0.2, seconds_until(deadline)) * 1e3) + 1);
    if (Socket socket = accept_from(listening, deadline_in(0)); socket.is_open())
      guests.push_back({std::move(socket), deadline_in(kPatience), {}, 0});
    for (auto guest = guests.begin(); guest != guests.end();) {
      const bool stays = listen_to(*guest) && seconds_until(guest->deadline) > 0;
      if (guest->received == sizeof(Hello)) {
        if (same_token(guest->hello, own) && take(*guest)) return true;
        guest = guests.erase(guest);
      } else {
        guest = stays ? std::next(guest) : guests.erase(guest);
      }
    }
  }
  return false;
}

void answer(const Socket& socket, Welcome welcome) {
  send_all(socket, &welcome, sizeof welcome, deadline_in(kPatience));
}

[[noreturn]] void refuse_second(std::uint32_t rank) {
  fail("ranks", "two processes say that they are rank " + std::to_string(rank) + ": every rank must be started once",
       Exit::usage);
}

[[noreturn]] void refuse_size(int own, std::uint32_t rank, std::uint32_t size) {
  fail("ranks",
       "rank " + std::to_string(rank) + " was started as one of " + std::to_string(size) + ", rank 0 as one of " +
           std::to_string(own) + ": all must be told the same number",
       Exit::usage);
}

// Rank 0: hears all others, then tells them where each listens.
std::vector<Socket> receive_ranks(const RankPlace& place, double seconds) {
  Socket listening = place.listening >= 0 ? Socket(place.listening) : listen_on(place.port);
  std::vector<Socket> links(static_cast<std::size_t>(place.size));
  if (place.size == 1) return links;
  std::vector<Place> places(links.size());
  int present = 1;
  Deadline deadline = deadline_in(seconds);
  const bool all = receive_guests(listening, hello_of(place, 0), deadline, [&](Guest& guest) {
    const Hello& hello = guest.hello;
    if (hello.size != links.size()) {
      answer(guest.socket, Welcome::other_size);
      refuse_size(place.size, hello.rank, hello.size);
    }
    if (hello.rank == 0 || hello.rank >= links.size()) return false;
    if (links[hello.rank].is_open()) {
      answer(guest.socket, Welcome::same_rank);
      refuse_second(hello.rank);
    }
    std::string address = address_of_peer(guest.socket);
    // On rank 0's own host: the others reach it where they reach rank 0.
    if (address.starts_with("127.") || address == "::1") address = place.address;
    std::copy_n(address.data(), std::min(address.size(), places[0].address.size() - 1),
                places[hello.rank].address.data());
    places[hello.rank].port = hello.port;
    links[hello.rank] = std::move(guest.socket);
    return ++present == place.size;
  });
  if (!all && present < place.size)
    fail("ranks",
         missing_of(links, 0) + " of " + std::to_string(place.size) + " did not come to rank 0 (" + where(place) +
             ") within " + std::to_string(static_cast<int>(seconds)) +
             " s. Were all started, with the same MASTER_ADDR, MASTER_PORT and token?",
         Exit::device);
  for (std::size_t rank = 1; rank < links.size(); ++rank) {
    answer(links[rank], Welcome::welcome);
    if (!send_all(links[rank], places.data(), places.size() * sizeof(Place), deadline_in(kPatience)))
      fail("ranks", "rank " + std::to_string(rank) + " left while the ranks met", Exit::device);
  }
  return links;
}

// Another rank: one attempt after the other, until rank 0 is there.
Socket reach_rank_0(const RankPlace& place, int port, Deadline deadline, double seconds) {
  double pause = 0.02;
  const Hello hello = hello_of(place, port);
  while (seconds_until(deadline) > 0) {
    Socket socket = connect_to(place.address, place.port, std::min(kPatience, seconds_until(deadline)));
    Welcome welcome{};
    if (socket.is_open() && send_all(socket, &hello, sizeof hello, deadline) &&
        receive_all(socket, &welcome, sizeof welcome, deadline)) {
      if (welcome == Welcome::same_rank) refuse_second(hello.rank);
      if (welcome == Welcome::other_size)
        fail("ranks",
             "rank 0 was started with another number of ranks than rank " + std::to_string(place.rank) + ", one of " +
                 std::to_string(place.size),
             Exit::usage);
      if (welcome == Welcome::welcome) return socket;
    }
    std::this_thread::sleep_for(std::chrono::duration<double>(std::min(pause, seconds_until(deadline))));
    pause = std::min(1.0, pause * 1.5);
  }
  fail("ranks",
       "rank " + std::to_string(place.rank) + " of " + std::to_string(place.size) + " was not received by rank 0 at " +
           where(place) + " within " + std::to_string(static_cast<int>(seconds)) +
           " s. Is rank 0 there, started with the same MASTER_ADDR, MASTER_PORT and token, and are all other ranks?",
       Exit::device);
}

// Every other rank connects to those between rank 0 and itself, and hears those behind it.
std::vector<Socket> join_ranks(const RankPlace& place, double seconds) {
  Deadline deadline = deadline_in(seconds);
  Socket listening = listen_on(0);
  std::vector<Socket> links(static_cast<std::size_t>(place.size));
  std::vector<Place> places(links.size());
  links[0] = reach_rank_0(place, port_of(listening), deadline, seconds);
  if (!receive_all(links[0], places.data(), places.size() * sizeof(Place), deadline))
    fail("ranks", "rank 0 left while the ranks met; its own message says why", Exit::device);
  const Hello own = hello_of(place, 0);
  for (std::size_t rank = 1; rank < static_cast<std::size_t>(place.rank); ++rank) {
    places[rank].address.back() = 0;
    links[rank] = connect_to(places[rank].address.data(), static_cast<int>(places[rank].port), seconds_until(deadline));
    if (!links[rank].is_open() || !send_all(links[rank], &own, sizeof own, deadline))
      fail("ranks",
           "rank " + std::to_string(place.rank) + " cannot reach rank " + std::to_string(rank) + " at " +
               places[rank].address.data() + ", port " + std::to_string(places[rank].port) +
               ": is there a firewall between their hosts?",
           Exit::device);
  }
  int behind = place.size - 1 - place.rank;
  const bool all = behind == 0 || receive_guests(listening, own, deadline, [&](Guest& guest) {
                     if (guest.hello.rank <= own.rank || guest.hello.rank >= links.size()) return false;
                     links[guest.hello.rank] = std::move(guest.socket);
                     return --behind == 0;
                   });
  if (!all)
    fail("ranks",
         missing_of(links, place.rank) + " did not come to rank " + std::to_string(place.rank) + " within " +
             std::to_string(static_cast<int>(seconds)) + " s: is there a firewall between their hosts?",
         Exit::device);
  return links;
}

}  // namespace

std::vector<Socket> meet(const RankPlace& place, double seconds) {
  return place.rank == 0 ? receive_ranks(place, seconds) : join_ranks(place, seconds);
}

}  // namespace sink
