// Tests of the orders in which blocks are read: how often each is, and in whose company.
#include "engine/data/block_order.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "tests/support/files.h"

using namespace sink;

namespace {

using Block = std::pair<std::size_t, std::int64_t>;  // domain, block

DataConfig config_for(const std::string& order, std::uint64_t seed = 3) {
  DataConfig config;
  config.data_order = order;
  config.seed = seed;
  return config;
}

std::vector<Block> samples(const BlockOrder& order, std::int64_t steps, std::int64_t step_samples) {
  std::vector<Block> all;
  for (std::int64_t step = 0; step < steps; ++step)
    for (std::int64_t i = 0; i < step_samples; ++i) {
      BlockPlace place = order.place(step, i, step_samples);
      all.emplace_back(place.domain, place.block);
    }
  return all;
}

std::map<Block, int> counts(const std::vector<Block>& samples) {
  std::map<Block, int> count;
  for (const Block& block : samples) ++count[block];
  return count;
}

double share_of(const std::vector<Block>& samples, std::size_t domain) {
  auto own = std::count_if(samples.begin(), samples.end(), [&](const Block& block) { return block.first == domain; });
  return static_cast<double>(own) / static_cast<double>(samples.size());
}

}  // namespace

TEST_CASE("block order: shuffled goes through all domains as through one text") {
  auto order = make_block_order(config_for("shuffled"), {{"a", 30, 1}, {"b", 0, 1}, {"c", 12, 8}});
  auto epoch = samples(*order, 6, 7);
  CHECK(counts(epoch).size() == 42);
  CHECK(order->used() == std::vector<std::int64_t>{30, 0, 12});
  CHECK(order->shares()[2] == 12.0 / 42);
  CHECK(samples(*make_block_order(config_for("shuffled", 4), {{"a", 30, 1}, {"b", 0, 1}, {"c", 12, 8}}), 6, 7) !=
        epoch);
}

TEST_CASE("block order: a mixture has its weights exactly in 10,000 samples, and each domain its own epochs") {
  // The first four of the paper's list, times ten, and one that is almost nothing.
  const std::vector<DomainBlocks> domains{
      {"arxiv", 5000, 1.052}, {"freelaw", 70, 0.386}, {"nih_exporter", 3, 0.052}, {"crumb", 1, 1e-9}};
  double sum = 1.052 + 0.386 + 0.052;
  auto order = make_block_order(config_for("mixture"), domains);
  auto round = samples(*order, 100, 100);
  std::vector<double> shares = order->shares();
  for (std::size_t d = 0; d < 4; ++d) {
    CHECK(share_of(round, d) == doctest::Approx(shares[d]).epsilon(1e-12));
    CHECK(std::abs(shares[d] - domains[d].weight / sum) < 1.1e-4);
  }
  CHECK(shares[3] == 1e-4);
  // In whole rounds every block of a domain was seen equally often, or once more.
  auto ten = samples(*order, 100, 1000);
  CHECK(std::equal(round.begin(), round.end(), ten.begin()));  // whatever a step is
  std::map<Block, int> count = counts(ten);
  for (std::size_t d = 0; d < 4; ++d) {
    std::int64_t draws = std::llround(shares[d] * 1e5);
    for (std::int64_t block = 0; block < domains[d].blocks; ++block) {
      auto whole = static_cast<int>(draws / domains[d].blocks);
      CHECK((count[{d, block}] == whole || count[{d, block}] == whole + 1));
    }
  }
  // Any stretch is mixed: the binomial's spread around the weight.
  for (std::size_t begin = 0; begin < 10000; begin += 1000)
    CHECK(std::abs(share_of({round.begin() + static_cast<std::ptrdiff_t>(begin),
                             round.begin() + static_cast<std::ptrdiff_t>(begin) + 1000},
                            0) -
                   shares[0]) < 0.06);
  CHECK(samples(*make_block_order(config_for("mixture", 4), domains), 100, 100) != round);

  auto by_size = make_block_order(config_for("mixture"), {{"a", 300, 0}, {"b", 0, 0}, {"c", 100, 0}});
  CHECK(by_size->shares() == std::vector<double>{0.75, 0, 0.25});
  DataConfig half = config_for("mixture");
  half.data_fraction = 0.5;
  auto part = make_block_order(half, domains);
  CHECK(part->used() == std::vector<std::int64_t>{2500, 35, 1, 1});
  CHECK(part->shares() == shares);
  CHECK(counts(samples(*part, 100, 1000)).size() == 2537);
  CHECK(error_of([&] {
          make_block_order(config_for("mixture"), {{"a", 1, 1}, {"b", 0, 1}});
        }) ==
        "exit 3 the mixture draws from domain b, which has too little text for one block of this context: "
        "prepare more of it, or none");
}

TEST_CASE("block order: released reads whole files, each rank one at a time, and no weights") {
  // 10 files, 2 (fewer than ranks: dropped), 7 and a part of one that is dropped.
  const std::vector<DomainBlocks> domains{{"a", 10 * 256, 1}, {"b", 2 * 256, 1000}, {"c", 7 * 256 + 255, 1}};
  DataConfig config = config_for("released");
  config.loader_ranks = 4;
  auto order = make_block_order(config, domains);
  std::vector<std::int64_t> used = order->used();
  CHECK(used[0] + used[2] == 16 * 256);  // of 17 files, a multiple of the ranks
  CHECK(used[1] == 0);
  CHECK(order->shares()[0] == static_cast<double>(used[0]) / (16 * 256));

  constexpr std::int64_t kStep = 64, kSteps = 64;  // one pass: 16 files of 256 blocks
  auto pass = samples(*order, 2 * kSteps, kStep);
  std::vector<Block> first(pass.begin(), pass.begin() + kSteps * kStep);
  std::map<Block, int> count = counts(first);
  CHECK(count.size() == 16 * 256);
  for (const auto& [block, times] : count) {
    CHECK(times == 1);
    CHECK(block.second < 256 * (block.first == 0 ? 10 : 7));
  }
  auto file_of = [](const Block& block) { return Block{block.first, block.second / 256}; };
  for (std::size_t step = 0; step < kSteps; ++step) {
    std::set<Block> files;
    for (std::size_t i = 0; i < kStep; ++i) {
      const Block& block = pass[step * kStep + i];
      files.insert(file_of(block));
      CHECK(file_of(block) == file_of(pass[step * kStep + i / 16 * 16]));            // a rank has one file in a step,
      CHECK(file_of(block) == file_of(pass[step / 16 * 16 * kStep + i / 16 * 16]));  // for 16 steps of 16 blocks,
      CHECK(file_of(block) == file_of(pass[(step + kSteps) * kStep + i]));           // the same in the next pass,
    }
    CHECK(files.size() == 4);
  }
  CHECK(std::vector<Block>(pass.begin() + kSteps * kStep, pass.end()) != first);  // blocks in another order

  config.data_fraction = 0.5;
  auto used_of = [&](std::uint64_t seed) {
    config.seed = seed;
    std::set<Block> files;
    for (const Block& block : samples(*make_block_order(config, domains), 32, kStep)) files.insert(file_of(block));
    return files;
  };
  CHECK(used_of(3).size() == 8);
  CHECK(used_of(3) == used_of(4));  // int(17 / 2) files, a multiple of the ranks
  config.loader_ranks = 9;
  CHECK(contains(error_of([&] { make_block_order(config, domains); }), "exit 3 too little text for --data-order"));
}

TEST_CASE("block order: the blocks are those that a program of the same functions in Python names") {
  // The expected values are from an independent implementation of Philox, the Feistel permutation and the orders. A run
  // that resumes with another build needs the same order.
  DataConfig config = config_for("shuffled");
  config.data_fraction = 0.5;
  std::vector<std::int64_t> shuffled;
  for (const Block& block : samples(*make_block_order(config, {{"a", 25, 0}}), 7, 2)) shuffled.push_back(block.second);
  CHECK(shuffled == std::vector<std::int64_t>{15, 7, 14, 0, 20, 18, 11, 4, 5, 1, 12, 2, 18, 5});

  auto mixture = make_block_order(config_for("mixture"), {{"a", 30, 1}, {"b", 12, 3}});
  const std::vector<Block> mixed{{0, 22}, {1, 6}, {1, 0}, {1, 11}, {1, 9}, {1, 4}, {1, 5}, {1, 4}};
  for (std::int64_t i = 0; i < 8; ++i) {
    BlockPlace place = mixture->place(i < 4 ? i : 9996 + i, 0, 1);
    CHECK(Block{place.domain, place.block} == mixed[static_cast<std::size_t>(i)]);
  }

  config.data_order = "released";
  auto released = make_block_order(config, {{"a", 10 * 256, 0}, {"b", 7 * 256, 0}});
  const std::vector<std::array<std::int64_t, 4>> read{
      {0, 0, 1, 525}, {0, 1, 1, 741}, {0, 63, 0, 1864}, {16, 0, 0, 1481}, {40, 33, 0, 1260}};
  for (auto [step, in_step, domain, block] : read) {
    BlockPlace place = released->place(step, in_step, 64);
    CHECK(static_cast<std::int64_t>(place.domain) == domain);
    CHECK(place.block == block);
  }
}
