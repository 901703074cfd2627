#include "engine/comm/links.h"

namespace sink {

std::string text_of_ranks(const std::vector<int>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t n = 0; n < ranks.size() && n < 16; ++n) text += (n > 0 ? ", " : "") + std::to_string(ranks[n]);
  return ranks.size() > 16 ? text + ", ..." : text;
}

void Links::wait_longer(const TransferName& name, const std::vector<int>& ranks, double seconds,
                        double time_out) const {
  if (interrupted_) throw RankLost("this rank leaves");
  if (waiting_) waiting_(name, ranks);
  if (seconds > time_out)
    throw RankLost("rank " + std::to_string(rank_) + " of " + std::to_string(size_) + " waited " +
                   std::to_string(static_cast<int>(time_out)) + " s in " + name.str() + " for " + text_of_ranks(ranks) +
                   " (--comm-timeout)");
}

}  // namespace sink
