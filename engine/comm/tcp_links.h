// Links by TCP: a connection between every two ranks, made by rendezvous.h.
//
// Every message has a head, which says the transfer it belongs to and its bytes, so that ranks that are not at the same
// one find out. A good-bye is a message, too.
#pragma once

#include "engine/comm/links.h"
#include "engine/comm/rank_place.h"
#include "engine/comm/socket.h"

namespace sink {

class TcpLinks : public Links {
 public:
  // Meets the others. `time_out`: seconds in which something must move in a transfer, and until all must have come.
  TcpLinks(const RankPlace& place, double time_out);
  // Of connections that are there: [rank].
  TcpLinks(int rank, std::vector<Socket> sockets, double time_out);

  const char* name() const override { return "tcp"; }
  void transfer(const TransferName& name, const std::vector<Send>& sends,
                const std::vector<Receive>& receives) override;
  void look() override;
  void say_goodbye(const std::string& why, Exit code) override;
  // From now on a transfer waits until it is interrupted.
  void never_give_up() { time_out_ = 1e9; }

 private:
  struct Outgoing;
  struct Incoming;
  [[noreturn]] void lose(int rank, const std::string& how) const;
  [[noreturn]] void hear_goodbye(int rank, std::uint64_t bytes) const;
  bool push(Outgoing& message);
  bool pull(Incoming& message);

  std::vector<Socket> sockets_;
  double time_out_;
};

}  // namespace sink
