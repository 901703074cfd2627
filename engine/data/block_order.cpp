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

// Chooses the fraction of the data that is used; independent of the seed.
Rng kept_rng() { return {0, "data fraction"}; }

// Consecutive ranges of items, one per domain.
class Ranges {
 public:
  void add(std::int64_t size) { ends_.push_back(total() + size); }
  std::size_t count() const { return ends_.size(); }
  std::int64_t total() const { return ends_.empty() ? 0 : ends_.back(); }
  std::int64_t begin(std::size_t domain) const { return domain > 0 ? ends_[domain - 1] : 0; }
  std::int64_t size(std::size_t domain) const { return ends_[domain] - begin(domain); }
  // The domain of item i, and the index of i in it.
  BlockPlace find(std::int64_t i) const {
    auto domain = static_cast<std::size_t>(std::upper_bound(ends_.begin(), ends_.end(), i) - ends_.begin());
    return {domain, i - begin(domain)};
  }
  std::vector<double> shares() const {
    std::vector<double> shares;
    for (std::size_t d = 0; d < count(); ++d)
      shares.push_back(static_cast<double>(size(d)) / static_cast<double>(total()));
    return shares;
  }

 private:
  std::vector<std::int64_t> ends_;
};

// The blocks that a run uses, a fraction of each domain.
class KeptBlocks {
 public:
  KeptBlocks(const std::vector<DomainBlocks>& domains, double fraction) : all_(fraction >= 1) {
    for (const DomainBlocks& domain : domains) {
      std::int64_t n = domain.blocks;
      blocks_.push_back(n);
      auto part = static_cast<std::int64_t>(static_cast<double>(n) * fraction);
      kept_.push_back(all_ ? n : std::clamp<std::int64_t>(part, std::min<std::int64_t>(n, 1), n));
    }
  }
  const std::vector<std::int64_t>& kept() const { return kept_; }
  // Kept block i of a domain.
  BlockPlace place(std::size_t domain, std::int64_t i) const {
    return {domain, all_ ? i : shuffled(rng_, static_cast<std::int64_t>(domain), i, blocks_[domain])};
  }

 private:
  bool all_;
  Rng rng_ = kept_rng();
  std::vector<std::int64_t> blocks_, kept_;
};

class Shuffled : public BlockOrder {
 public:
  Shuffled(const DataConfig& config, KeptBlocks blocks) : rng_(config.seed, "text blocks"), blocks_(std::move(blocks)) {
    for (std::int64_t n : blocks_.kept()) domains_.add(n);
  }
  BlockPlace place(std::int64_t step, std::int64_t in_step, std::int64_t step_samples) const override {
    std::int64_t sample = step * step_samples + in_step, all = domains_.total();
    BlockPlace kept = domains_.find(shuffled(rng_, sample / all, sample % all, all));
    return blocks_.place(kept.domain, kept.block);
  }
  std::vector<std::int64_t> used() const override { return blocks_.kept(); }
  std::vector<double> shares() const override { return domains_.shares(); }

 private:
  Rng rng_;
  KeptBlocks blocks_;
  Ranges domains_;  // among all kept blocks
};

class Mixture : public BlockOrder {
 public:
  Mixture(const DataConfig& config, KeptBlocks blocks, const std::vector<DomainBlocks>& domains)
      : slots_rng_(config.seed, "mixture"), blocks_rng_(config.seed, "mixture blocks"), blocks_(std::move(blocks)) {
    for (std::int64_t n : slots_of(domains)) slots_.add(n);
  }
  BlockPlace place(std::int64_t step, std::int64_t in_step, std::int64_t step_samples) const override {
    std::int64_t sample = step * step_samples + in_step, round = sample / kRound;
    auto [domain, slot] = slots_.find(shuffled(slots_rng_, round, sample % kRound, kRound));
    std::int64_t draw = round * slots_.size(domain) + slot;  // of this domain since the beginning
    std::int64_t n = blocks_.kept()[domain];
    std::int64_t epoch_of_domain =
        draw / n * static_cast<std::int64_t>(slots_.count()) + static_cast<std::int64_t>(domain);
    return blocks_.place(domain, shuffled(blocks_rng_, epoch_of_domain, draw % n, n));
  }
  std::vector<std::int64_t> used() const override { return blocks_.kept(); }
  std::vector<double> shares() const override { return slots_.shares(); }

 private:
  static constexpr std::int64_t kRound = 10000;  // samples in which the weights are met exactly

  // The samples of each domain in a round, at least one: proportional to the weights, by the largest remainders.
  static std::vector<std::int64_t> slots_of(const std::vector<DomainBlocks>& domains) {
    bool by_size = std::all_of(domains.begin(), domains.end(), [](const auto& domain) { return domain.weight <= 0; });
    std::vector<double> parts;
    for (const DomainBlocks& domain : domains) {
      parts.push_back(by_size ? static_cast<double>(domain.blocks) : domain.weight);
      SINK_CHECK(domain.blocks > 0 || parts.back() <= 0, "data",
                 "the mixture draws from domain " + domain.name +
                     ", which has too little text for one block of this context: prepare more of it, or none",
                 Exit::bad_input);
    }
    double sum = std::accumulate(parts.begin(), parts.end(), 0.0);
    std::vector<std::int64_t> slots;
    for (double& part : parts) {
      part *= kRound / sum;
      slots.push_back(part > 0 ? std::max<std::int64_t>(1, static_cast<std::int64_t>(part)) : 0);
    }
    // How much closer to its exact share one sample more or less brings a domain; at least one sample stays.
    auto gain = [&](std::size_t d, std::int64_t by) {
      bool may = by > 0 ? parts[d] > 0 : slots[d] > 1;
      return may ? static_cast<double>(by) * (parts[d] - static_cast<double>(slots[d])) : -static_cast<double>(kRound);
    };
    for (std::int64_t sum_of_slots = std::accumulate(slots.begin(), slots.end(), std::int64_t{0});
         sum_of_slots != kRound;) {
      std::int64_t by = sum_of_slots < kRound ? 1 : -1;
      std::size_t next = 0;
      for (std::size_t d = 1; d < slots.size(); ++d)
        if (gain(d, by) > gain(next, by)) next = d;
      slots[next] += by;
      sum_of_slots += by;
    }
    return slots;
  }

  Rng slots_rng_, blocks_rng_;
  KeptBlocks blocks_;
  Ranges slots_;  // samples of a round
};

class Released : public BlockOrder {
 public:
  Released(const DataConfig& config, const std::vector<DomainBlocks>& domains)
      : ranks_(config.loader_ranks),
        all_(config.data_fraction >= 1),
        list_rng_(config.seed, "files"),
        blocks_rng_(config.seed, "blocks of a file") {
    for (const DomainBlocks& domain : domains) {
      std::int64_t files = domain.blocks / kFile;
      files_.add(files < ranks_ ? 0 : files);
    }
    listed_ = static_cast<std::int64_t>(static_cast<double>(files_.total()) * config.data_fraction);
    of_rank_ = listed_ / ranks_;
    SINK_CHECK(of_rank_ > 0, "data",
               "too little text for --data-order released: " + std::to_string(listed_) + " files of " +
                   std::to_string(kFile) + " blocks in domains that have enough of them, and " +
                   std::to_string(ranks_) +
                   " ranks that each need one: prepare more text, or choose a smaller context "
                   "or --loader-ranks",
               Exit::bad_input);
  }
  BlockPlace place(std::int64_t step, std::int64_t in_step, std::int64_t step_samples) const override {
    std::int64_t of_step = (step_samples + ranks_ - 1) / ranks_;  // of one rank
    std::int64_t rank = in_step / of_step, sample = step * of_step + in_step % of_step, visit = sample / kFile;
    BlockPlace file = file_at(rank + visit % of_rank_ * ranks_);
    return {file.domain, file.block * kFile + shuffled(blocks_rng_, visit * ranks_ + rank, sample % kFile, kFile)};
  }
  std::vector<std::int64_t> used() const override {
    std::vector<std::int64_t> used(files_.count());
    for (std::int64_t i = 0; i < of_rank_ * ranks_; ++i) used[file_at(i).domain] += kFile;
    return used;
  }
  std::vector<double> shares() const override {
    std::vector<double> shares;
    for (std::int64_t blocks : used())
      shares.push_back(static_cast<double>(blocks) / static_cast<double>(of_rank_ * ranks_ * kFile));
    return shares;
  }

 private:
  static constexpr std::int64_t kFile = 256;  // blocks

  // File i of the shuffled list.
  BlockPlace file_at(std::int64_t i) const {
    std::int64_t file = shuffled(list_rng_, 0, i, listed_);
    return files_.find(all_ ? file : shuffled(kept_rng(), 0, file, files_.total()));
  }

  std::int64_t ranks_;
  bool all_;
  Rng list_rng_, blocks_rng_;
  Ranges files_;
  std::int64_t listed_ = 0, of_rank_ = 0;
};

}  // namespace

std::unique_ptr<BlockOrder> make_block_order(const DataConfig& config, const std::vector<DomainBlocks>& domains) {
  SINK_CHECK(config.data_fraction > 0 && config.data_fraction <= 1, "data",
             "--data-fraction must be above 0 and at most 1, got " + std::to_string(config.data_fraction), Exit::usage);
  if (config.data_order == "released") return std::make_unique<Released>(config, domains);
  KeptBlocks blocks(domains, config.data_fraction);
  if (config.data_order == "mixture") return std::make_unique<Mixture>(config, std::move(blocks), domains);
  return std::make_unique<Shuffled>(config, std::move(blocks));
}

}  // namespace sink
