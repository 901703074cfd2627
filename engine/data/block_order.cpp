#include "engine/data/block_order.h"

#include <algorithm>
#include <numeric>
#include <string>

#include "engine/check.h"
#include "engine/data/permutation.h"

namespace sink {
namespace {

// The permutation number `key` of n items, at item i.
std::int64_t shuffled(const Rng& rng, std::int64_t key, std::int64_t i, std::int64_t n) {
  return static_cast<std::int64_t>(
      permuted(rng, static_cast<std::uint64_t>(key), static_cast<std::uint64_t>(i), static_cast<std::uint64_t>(n)));
}

// The blocks of which a run uses a part, domain by domain.
class KeptBlocks {
 public:
  KeptBlocks(const std::vector<std::int64_t>& blocks, double fraction)
      : all_(fraction >= 1), rng_(0, "data fraction"), blocks_(blocks) {
    for (std::int64_t n : blocks) {
      auto part = static_cast<std::int64_t>(static_cast<double>(n) * fraction);
      kept_.push_back(all_ ? n : std::clamp<std::int64_t>(part, std::min<std::int64_t>(n, 1), n));
    }
  }
  const std::vector<std::int64_t>& kept() const { return kept_; }
  // The block that is number i of those kept of a domain.
  BlockPlace place(std::size_t domain, std::int64_t i) const {
    return {domain, all_ ? i : shuffled(rng_, static_cast<std::int64_t>(domain), i, blocks_[domain])};
  }

 private:
  bool all_;
  Rng rng_;
  std::vector<std::int64_t> blocks_, kept_;
};

class Shuffled : public BlockOrder {
 public:
  Shuffled(const DataConfig& config, KeptBlocks blocks) : rng_(config.seed, "text blocks"), blocks_(std::move(blocks)) {
    for (std::int64_t n : blocks_.kept()) ends_.push_back((ends_.empty() ? 0 : ends_.back()) + n);
  }
  BlockPlace place(std::int64_t step, std::int64_t in_step, std::int64_t step_samples) const override {
    std::int64_t sample = step * step_samples + in_step, all = ends_.back();
    std::int64_t i = shuffled(rng_, sample / all, sample % all, all);
    auto domain = static_cast<std::size_t>(std::upper_bound(ends_.begin(), ends_.end(), i) - ends_.begin());
    return blocks_.place(domain, i - (ends_[domain] - blocks_.kept()[domain]));
  }
  std::vector<std::int64_t> used() const override { return blocks_.kept(); }
  std::vector<double> shares() const override {
    std::vector<double> shares;
    for (std::int64_t n : blocks_.kept()) shares.push_back(static_cast<double>(n) / static_cast<double>(ends_.back()));
    return shares;
  }

 private:
  Rng rng_;
  KeptBlocks blocks_;
  std::vector<std::int64_t> ends_;  // of each domain among the blocks of all
};

}  // namespace

std::unique_ptr<BlockOrder> make_block_order(const DataConfig& config, const std::vector<std::int64_t>& blocks) {
  SINK_CHECK(config.data_fraction > 0 && config.data_fraction <= 1, "data",
             "--data-fraction must be above 0 and at most 1, got " + std::to_string(config.data_fraction), Exit::usage);
  return std::make_unique<Shuffled>(config, KeptBlocks(blocks, config.data_fraction));
}

}  // namespace sink
