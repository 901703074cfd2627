// The rendezvous. The ranks of a run meet at rank 0's port and leave with a connection to each other. Who does not know
// the run's token is sent away, whoever it is; who stays away is named when the time is over. Nothing is left behind
// that a later run could take for its own.
#pragma once

#include <vector>

#include "engine/comm/rank_place.h"
#include "engine/comm/socket.h"

namespace sink {

// [rank]: the connection to it; that of this rank itself is not open. Throws Error (Exit::device) after `seconds`, and
// (Exit::usage) where two processes say that they are the same rank, or ranks disagree on how many there are.
std::vector<Socket> meet(const RankPlace& place, double seconds);

}  // namespace sink
