// Tests of text batches: what is in them, and that they depend on nothing but seed, step, micro-batch and row.
#include "engine/data/text_source.h"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <set>

#include "tests/engine/data/data_support.h"
#include "tests/support/check_refused.h"

using namespace sink;

namespace {

DataConfig config_for(const TemporaryFolder& folder) {
  DataConfig config;
  config.data = folder.path;
  config.eval_sequences = 4;
  config.seed = 5;
  return config;
}

}  // namespace

TEST_CASE("TextSource: inputs are consecutive tokens of a block, targets the next ones") {
  TemporaryFolder folder;
  write_counting_text(folder, 1234, 100);
  auto source = make_data_source(config_for(folder), 9);
  CHECK(source->vocabulary() == 258);
  CHECK(source->train_tokens() == 123 * 9);
  Batch batch = source->train_batch(3, 0, 6);
  REQUIRE(batch.tokens_BT().shape() == Shape{6, 9});
  REQUIRE(batch.targets_BT().shape() == Shape{6, 9});
  auto tokens = values(batch.tokens_BT()), targets = values(batch.targets_BT());
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    CHECK(targets[i] == (tokens[i] + 1) % 251);
    if (i % 9 != 8) CHECK(tokens[i + 1] == targets[i]);
  }
}

TEST_CASE("TextSource: an epoch visits every block once, in an order of its own") {
  TemporaryFolder folder;
  write_counting_text(folder, 251, 100);  // 25 blocks of 10; their first tokens are 0, 10, ..., 240
  auto source = make_data_source(config_for(folder), 9);
  std::vector<std::vector<std::int32_t>> orders;
  for (std::int64_t epoch = 0; epoch < 3; ++epoch) {
    std::vector<std::int32_t> order;
    for (std::int64_t step = 0; step < 5; ++step) {
      auto tokens = values(source->train_batch(epoch * 5 + step, 0, 5).tokens_BT());
      for (std::size_t row = 0; row < 5; ++row) order.push_back(tokens[row * 9]);
    }
    std::set<std::int32_t> visited(order.begin(), order.end());
    CHECK(visited.size() == 25);
    CHECK(*visited.begin() == 0);
    CHECK(*visited.rbegin() == 240);
    orders.push_back(order);
  }
  CHECK(orders[0] != orders[1]);
  CHECK(orders[1] != orders[2]);
}

TEST_CASE("TextSource: batches are the same in any order of asking and in another source (resume)") {
  TemporaryFolder folder;
  write_counting_text(folder, 3000, 100);
  DataConfig config = config_for(folder);
  config.accumulate = 2;
  auto first = make_data_source(config, 9), second = make_data_source(config, 9);
  std::vector<std::vector<std::int32_t>> seen;
  for (std::int64_t step = 0; step < 40; ++step) {
    for (std::int64_t micro = 0; micro < 2; ++micro)
      seen.push_back(values(first->train_batch(step, micro, 8).tokens_BT()));
  }
  for (std::int64_t n = 79; n >= 0; --n) {
    CHECK(values(second->train_batch(n / 2, n % 2, 8).tokens_BT()) == seen[static_cast<std::size_t>(n)]);
  }
  // Micro-batches continue each other: two of 8 rows are one of 16.
  config.accumulate = 1;
  auto whole = values(make_data_source(config, 9)->train_batch(3, 0, 16).tokens_BT());
  auto halves = seen[6];
  halves.insert(halves.end(), seen[7].begin(), seen[7].end());
  CHECK(whole == halves);
  config.seed = 6;
  CHECK(values(make_data_source(config, 9)->train_batch(3, 0, 16).tokens_BT()) != whole);
  CHECK_THROWS_AS(first->train_batch(0, 2, 8), Error);
}

TEST_CASE("TextSource: nor do they depend on it in other orders and with other tokens put in") {
  TemporaryFolder folder;
  write_counting_text(folder, 20000, 100);
  for (const char* order : {"shuffled", "mixture", "released"}) {
    DataConfig config = config_for(folder);
    config.data_order = order;
    if (config.data_order == "released") config.loader_ranks = 2;
    config.accumulate = 2;
    config.data_fraction = 0.7;
    config.random_from = config.random_to = 2;
    config.fixed_token = 257;
    config.fixed_position = 4;
    auto first = make_data_source(config, 9), second = make_data_source(config, 9);
    std::vector<std::vector<std::int32_t>> seen;
    for (std::int64_t n = 0; n < 300; ++n) seen.push_back(values(first->train_batch(n / 2, n % 2, 6).tokens_BT()));
    for (std::int64_t n = 299; n >= 0; n -= 7)
      CHECK(values(second->train_batch(n / 2, n % 2, 6).tokens_BT()) == seen[static_cast<std::size_t>(n)]);
    CHECK(seen[0] != seen[1]);
  }
}

TEST_CASE("TextSource: a document begins behind each end of text, whatever is put into the block") {
  TemporaryFolder folder;
  write_counting_text(folder, 1000, 249);  // ends of text are 0, 251, 502, 753
  DataConfig config = config_for(folder);
  config.document_mask = config.reset_positions = true;
  config.fixed_token = 0;
  config.fixed_position = 3;
  auto source = make_data_source(config, 9);
  int boundaries = 0;
  for (std::int64_t step = 0; step < 10; ++step) {
    Batch batch = source->train_batch(step, 0, 10);
    auto tokens = values(batch.tokens_BT()), starts = values(batch.documents().starts_BT),
         positions = values(batch.documents().positions_BT);
    for (std::size_t row = 0; row < 10; ++row) {
      std::int32_t first = tokens[9 * row];  // ids count up modulo 251
      for (std::int32_t t = 0; t < 9; ++t) {
        std::int32_t to_end = (251 - first) % 251;  // the position of the end of text in this block
        std::int32_t start = t > to_end ? to_end + 1 : 0;
        boundaries += start > 0;
        CHECK(starts[9 * row + static_cast<std::size_t>(t)] == start);
        CHECK(positions[9 * row + static_cast<std::size_t>(t)] == t - start);
      }
    }
  }
  CHECK(boundaries > 10);
  CHECK(source->validation_batch(0, 4).documents().defined());
  config.reset_positions = false;
  CHECK_FALSE(make_data_source(config, 9)->train_batch(0, 0, 1).documents().positions_BT.defined());
  check_refused([&] { make_data_source(config, 9, 3); }, {"--document-mask", "--prefix 3"}, Exit::usage);
  config.document_mask = false;
  CHECK_FALSE(make_data_source(config, 9)->train_batch(0, 0, 1).documents().defined());
  config.reset_positions = true;
  check_refused([&] { make_data_source(config, 9); }, {"--reset-positions needs --document-mask"}, Exit::usage);
}

TEST_CASE("TextSource: validation takes evenly spaced blocks, always the same") {
  TemporaryFolder folder;
  write_counting_text(folder, 1000, 249);  // 24 blocks, 4 wanted: 0, 6, 12, 18
  DataConfig config = config_for(folder);
  auto source = make_data_source(config, 9);
  CHECK(source->validation_sequences() == 4);
  auto tokens = values(source->validation_batch(0, 4).tokens_BT());
  for (std::size_t row = 0; row < 4; ++row) CHECK(tokens[row * 9] == static_cast<std::int32_t>(60 * row));
  CHECK(values(source->validation_batch(2, 1).tokens_BT()).at(0) == 120);
  config.seed = 99;
  CHECK(values(make_data_source(config, 9)->validation_batch(0, 4).tokens_BT()) == tokens);
  config.eval_sequences = 1000;
  CHECK(make_data_source(config, 9)->validation_sequences() == 24);
  CHECK_THROWS_AS(source->validation_batch(1, 4), Error);
}

namespace {

// Blocks of T + 1 tokens out of inputs and targets, which must agree where they overlap.
std::vector<std::vector<std::int32_t>> blocks_of(const Batch& batch) {
  auto tokens = values(batch.tokens_BT()), targets = values(batch.targets_BT());
  auto T = static_cast<std::size_t>(batch.context());
  std::vector<std::vector<std::int32_t>> blocks;
  for (std::size_t row = 0; row < tokens.size() / T; ++row) {
    blocks.emplace_back(tokens.begin() + static_cast<std::ptrdiff_t>(row * T),
                        tokens.begin() + static_cast<std::ptrdiff_t>((row + 1) * T));
    for (std::size_t t = 0; t + 1 < T; ++t) CHECK(targets[row * T + t] == blocks.back()[t + 1]);
    blocks.back().push_back(targets[(row + 1) * T - 1]);
  }
  return blocks;
}

}  // namespace

TEST_CASE("TextSource: a fixed token stands at its position of every block, and is the target of the one before") {
  TemporaryFolder folder;
  write_counting_text(folder, 1000, 249);
  DataConfig config = config_for(folder);
  auto plain = make_data_source(config, 9);
  config.fixed_token = 257;
  for (std::int64_t position : {1, 2, 3, 9}) {
    config.fixed_position = position;
    auto fixed = make_data_source(config, 9);
    for (bool train : {true, false}) {
      Batch a = train ? plain->train_batch(1, 0, 4) : plain->validation_batch(0, 4);
      Batch b = train ? fixed->train_batch(1, 0, 4) : fixed->validation_batch(0, 4);
      auto expected = blocks_of(a);
      for (auto& block : expected) block[static_cast<std::size_t>(position - 1)] = 257;
      CHECK(blocks_of(b) == expected);
      if (position == 1) CHECK(values(a.targets_BT()) == values(b.targets_BT()));
    }
  }
  auto refused = [&] { return error_of([&] { make_data_source(config, 9); }); };
  config.fixed_position = 10;
  CHECK(contains(refused(), "exit 2 --fixed-position must be from 1 to the context of 9, got 10"));
  config.fixed_position = 0;
  CHECK(contains(refused(), "exit 2 --fixed-position"));
  config.fixed_position = 1;
  config.fixed_token = 258;
  CHECK(contains(refused(), "exit 2 --fixed-token is 258"));
  config.fixed_token = -1;
  config.fixed_position = 3;
  CHECK(contains(refused(), "exit 2 --fixed-position needs --fixed-token"));
}

TEST_CASE("TextSource: --loader-ranks is refused but for the order that has them") {
  TemporaryFolder folder;
  write_counting_text(folder, 1234, 100);
  DataConfig config = config_for(folder);
  config.loader_ranks = 2;
  CHECK(contains(error_of([&] { make_data_source(config, 9); }), "exit 2 --loader-ranks needs --data-order released"));
}

TEST_CASE("TextSource: random tokens are uniform, stay the same in every epoch, and leave the rest alone") {
  TemporaryFolder folder;
  write_counting_text(folder, 100000, 249);  // 10,000 blocks
  DataConfig config = config_for(folder);
  auto plain = make_data_source(config, 9);
  config.random_from = 2;
  config.random_to = 3;
  auto random = make_data_source(config, 9), again = make_data_source(config, 9);
  auto before = blocks_of(plain->train_batch(0, 0, 10000)), after = blocks_of(random->train_batch(0, 0, 10000));
  std::vector<std::int64_t> count(258);
  std::int64_t equal = 0;
  for (std::size_t row = 0; row < before.size(); ++row) {
    for (std::size_t t : {1, 2}) ++count[static_cast<std::size_t>(after[row][t])];
    equal += after[row][1] == after[row][2];
    before[row][1] = after[row][1];
    before[row][2] = after[row][2];
  }
  CHECK(after == before);
  // Pearson's chi-square with 257 degrees of freedom: mean 257, standard deviation 22.7.
  double chi_square = 0, expected = 20000.0 / 258;
  for (std::int64_t n : count) chi_square += (static_cast<double>(n) - expected) * (static_cast<double>(n) - expected);
  CHECK(std::abs(chi_square / expected - 257) < 4 * 22.7);
  CHECK(std::abs(static_cast<double>(equal) - 10000.0 / 258) < 4 * 6.2);  // the two positions are independent
  // Another epoch has the blocks in another order, each with its own ids.
  auto sorted = [](auto blocks) {
    std::sort(blocks.begin(), blocks.end());
    return blocks;
  };
  auto next_epoch = blocks_of(again->train_batch(1, 0, 10000));
  CHECK(next_epoch != after);
  CHECK(sorted(next_epoch) == sorted(after));

  auto valid = values(random->validation_batch(0, 4).tokens_BT());
  CHECK(valid != values(plain->validation_batch(0, 4).tokens_BT()));
  config.seed = 6;
  auto other = make_data_source(config, 9);
  CHECK(values(other->validation_batch(0, 4).tokens_BT()) == valid);  // every seed is measured on the same
  CHECK(sorted(blocks_of(other->train_batch(0, 0, 10000))) != sorted(after));
  config.fixed_token = 257;
  config.fixed_position = 2;
  for (const auto& block : blocks_of(make_data_source(config, 9)->train_batch(0, 0, 9))) CHECK(block[1] == 257);
  for (auto [from, to] : {std::pair{0, 1}, {3, 2}, {1, 10}, {1, 0}}) {
    config.random_from = from;
    config.random_to = to;
    CHECK(contains(error_of([&] { make_data_source(config, 9); }), "exit 2 expected random positions"));
  }
}

TEST_CASE(
    "TextSource: a drawn position of the fixed token is uniform, stays the same in every epoch, and leaves the rest "
    "alone") {
  TemporaryFolder folder;
  write_counting_text(folder, 100000, 249);  // 10,000 blocks
  DataConfig config = config_for(folder);
  auto plain = make_data_source(config, 9);
  config.fixed_token = 257;  // in no text
  config.fixed_position = 2;
  config.fixed_to = 5;
  auto drawn = make_data_source(config, 9);
  auto before = blocks_of(plain->train_batch(0, 0, 10000)), after = blocks_of(drawn->train_batch(0, 0, 10000));
  std::vector<std::int64_t> count(9);
  for (std::size_t row = 0; row < before.size(); ++row) {
    const auto at = std::find(after[row].begin(), after[row].end(), 257) - after[row].begin();
    ++count[static_cast<std::size_t>(at)];
    before[row][static_cast<std::size_t>(at)] = 257;
  }
  CHECK(after == before);
  for (std::size_t t : {1, 2, 3, 4}) CHECK(std::abs(static_cast<double>(count[t]) - 2500) < 4 * 43.3);  // binomial
  CHECK(count[0] + count[5] + count[6] + count[7] + count[8] == 0);
  auto next_epoch = blocks_of(drawn->train_batch(1, 0, 10000));
  CHECK(next_epoch != after);
  std::sort(next_epoch.begin(), next_epoch.end());
  std::sort(after.begin(), after.end());
  CHECK(next_epoch == after);
  config.seed = 6;  // every seed is measured on the same
  CHECK(values(make_data_source(config, 9)->validation_batch(0, 4).tokens_BT()) ==
        values(drawn->validation_batch(0, 4).tokens_BT()));
  for (std::int64_t to : {1, 10}) {
    config.fixed_to = to;
    CHECK(contains(error_of([&] { make_data_source(config, 9); }), "exit 2 --fixed-to needs --fixed-token"));
  }
  config.fixed_to = 5;
  config.fixed_token = -1;
  CHECK(contains(error_of([&] { make_data_source(config, 9); }), "exit 2 --fixed-to needs --fixed-token"));
}

TEST_CASE("TextSource: training has the fixed token with its probability, validation always, and at 0 neither") {
  TemporaryFolder folder;
  write_counting_text(folder, 100000, 249);  // 10,000 blocks
  DataConfig config = config_for(folder);
  const auto plain = make_data_source(config, 9);
  config.fixed_token = 257;  // in no text
  const auto always = make_data_source(config, 9);
  const auto without = blocks_of(plain->train_batch(0, 0, 10000)), with = blocks_of(always->train_batch(0, 0, 10000));
  std::vector<bool> before(10000, false);
  for (const double p : {0.0, 0.25, 0.75, 1.0}) {
    config.fixed_probability = p;
    const auto source = make_data_source(config, 9);
    const auto blocks = blocks_of(source->train_batch(0, 0, 10000));
    std::int64_t fixed = 0;
    for (std::size_t row = 0; row < blocks.size(); ++row) {
      const bool has = blocks[row][0] == 257;
      CHECK(blocks[row] == (has ? with : without)[row]);
      CHECK((has || !before[row]));  // what is fixed at a smaller probability stays so
      before[row] = has;
      fixed += has;
    }
    CHECK(std::abs(static_cast<double>(fixed) - 10000 * p) <= 4 * std::sqrt(10000 * p * (1 - p)));  // binomial
    const auto& validation = p == 0 ? plain : always;
    CHECK(values(source->validation_batch(0, 4).tokens_BT()) == values(validation->validation_batch(0, 4).tokens_BT()));
    // Of the block, wherever it is: in batches of 7 after 3 of the epoch, and in the next epoch.
    for (std::int64_t step : {0, 3}) {
      const auto few = blocks_of(source->train_batch(step, 0, 7));
      for (std::size_t row = 0; row < 7; ++row) CHECK(few[row] == blocks[static_cast<std::size_t>(7 * step) + row]);
    }
    auto next_epoch = blocks_of(source->train_batch(1, 0, 10000)), sorted = blocks;
    std::sort(next_epoch.begin(), next_epoch.end());
    std::sort(sorted.begin(), sorted.end());
    CHECK(next_epoch == sorted);
  }
  config.fixed_probability = 0.5;
  const auto of_seed = [&](std::uint64_t seed, std::int64_t epoch) {
    config.seed = seed;
    std::set<std::vector<std::int32_t>> fixed;
    for (auto& block : blocks_of(make_data_source(config, 9)->train_batch(epoch, 0, 10000)))
      if (block[0] == 257) fixed.insert({block.begin() + 1, block.end()});
    return fixed;
  };
  CHECK(of_seed(5, 0) == of_seed(5, 1));
  auto refused = [&] { return error_of([&] { make_data_source(config, 9); }); };
  for (const double p : {-0.1, 1.1, std::nan("")}) {
    config.fixed_probability = p;
    CHECK(contains(refused(), "exit 2 --fixed-probability must be from 0 to 1"));
  }
  config.fixed_probability = 0.5;
  config.fixed_token = -1;
  CHECK(contains(refused(), "exit 2 --fixed-probability needs --fixed-token"));
}

TEST_CASE("TextSource: a fraction of the data is the same blocks for every seed, each once an epoch") {
  TemporaryFolder folder;
  write_counting_text(folder, 251, 100);  // 25 blocks, whose first tokens tell them apart
  DataConfig config = config_for(folder);
  auto chosen = [&](double fraction, std::uint64_t seed) {
    config.data_fraction = fraction;
    config.seed = seed;
    auto source = make_data_source(config, 9);
    auto blocks = static_cast<std::size_t>(source->train_tokens() / 9);
    std::set<std::int32_t> first_epoch, second_epoch;
    for (std::int64_t step = 0; step < 2 * static_cast<std::int64_t>(blocks); ++step)
      (step < static_cast<std::int64_t>(blocks) ? first_epoch : second_epoch)
          .insert(values(source->train_batch(step, 0, 1).tokens_BT()).front());
    CHECK(first_epoch.size() == blocks);
    CHECK(first_epoch == second_epoch);
    return first_epoch;
  };
  CHECK(chosen(1, 5).size() == 25);
  auto half = chosen(0.5, 5);
  CHECK(half.size() == 12);
  CHECK(chosen(0.5, 6) == half);
  auto tenth = chosen(0.1, 7);
  CHECK(tenth.size() == 2);
  CHECK(std::includes(half.begin(), half.end(), tenth.begin(), tenth.end()));
  CHECK(chosen(0.001, 5).size() == 1);
  CHECK(*half.rbegin() > 110);  // not simply the first ones
  config.data_fraction = 0;
  CHECK(contains(error_of([&] { make_data_source(config, 9); }), "exit 2 --data-fraction must be above 0"));
}

TEST_CASE("TextSource: no block has tokens of two domains, and each is read as its order says") {
  TemporaryFolder folder;
  write_counting_text(folder, 10, 10);
  std::string sha256 = read_token_file(folder / "tokens.h5").tokenizer_sha256;
  TokenWriter writer(folder / "tokens.h5", 258);
  std::int64_t size = 1000;
  for (std::int32_t domain = 0; domain < 3; ++domain, size += 505) {
    writer.begin_domain(std::string(1, static_cast<char>('a' + domain)), domain + 1);
    writer.add_document(std::vector<std::int32_t>(static_cast<std::size_t>(size), 10 + domain), false);
    writer.add_document(std::vector<std::int32_t>(static_cast<std::size_t>(21 + 10 * domain), 20 + domain), true);
  }
  writer.close({.end_of_text = 0, .sources = "", .tokenizer_sha256 = sha256});
  writer.commit();
  DataConfig config = config_for(folder);
  config.eval_sequences = 100;
  auto of_each = [](const Batch& batch, std::int32_t first) {
    std::vector<std::int64_t> count(3);
    for (const auto& block : blocks_of(batch)) {
      CHECK(std::set<std::int32_t>(block.begin(), block.end()).size() == 1);
      ++count.at(static_cast<std::size_t>(block.front() - first));
    }
    return count;
  };
  using Counts = std::vector<std::int64_t>;
  auto shuffled = make_data_source(config, 9);
  CHECK(of_each(shuffled->train_batch(0, 0, 451), 10) == Counts{100, 150, 201});
  CHECK(of_each(shuffled->validation_batch(0, 9), 20) == Counts{2, 3, 4});
  CHECK(shuffled->train_tokens() == 451 * 9);
  CHECK(shuffled->domains().at(1).tokens == 150 * 9);
  CHECK(shuffled->domains().at(1).passes(451 * 18) == doctest::Approx(2));
  config.data_order = "mixture";
  auto mixture = make_data_source(config, 9, 3);  // the prefix leaves the domains as they are
  CHECK(mixture->domains().at(2).name == "c");
  CHECK(mixture->domains().at(2).share == doctest::Approx(0.5).epsilon(1e-3));
  CHECK(of_each(make_data_source(config, 9)->train_batch(0, 0, 10000), 10) == Counts{1667, 3333, 5000});
}

TEST_CASE("TextSource: where the file marks what is predicted, all other targets are -1") {
  TemporaryFolder folder;
  write_counting_text(folder, 10, 10);
  std::string sha256 = read_token_file(folder / "tokens.h5").tokenizer_sha256;
  auto is_marked = [](std::int32_t place) { return place % 7 == 2 || place % 11 == 0; };
  TokenWriter writer(folder / "tokens.h5", 258, /*with_marks=*/true);
  std::vector<std::int32_t> ids, marks;  // every id is its place
  for (std::int32_t i = 0; i < 240; ++i) {
    ids.push_back(i);
    marks.push_back(is_marked(i));
  }
  for (const char* domain : {"a", "b"}) {
    writer.begin_domain(domain, 0);
    writer.add_document(ids, false, marks);
    writer.add_document(ids, true, marks);
  }
  writer.close({.end_of_text = 0, .sources = "", .tokenizer_sha256 = sha256});
  writer.commit();
  DataConfig config = config_for(folder);
  auto source = make_data_source(config, 9);
  std::int64_t predicted = 0;
  for (const Batch& batch : {source->train_batch(0, 0, 48), source->validation_batch(0, 4)}) {
    auto tokens = values(batch.tokens_BT()), targets = values(batch.targets_BT());
    for (std::size_t i = 0; i < tokens.size(); ++i)
      CHECK(targets[i] == (is_marked(tokens[i] + 1) ? tokens[i] + 1 : -1));
    predicted += batch.predicted();
  }
  CHECK(predicted > 50);
  // A token that is put in has the mark of its place.
  config.fixed_token = 257;
  config.fixed_position = 3;
  auto targets = values(make_data_source(config, 9)->validation_batch(0, 4).targets_BT());
  for (std::size_t row = 0; row < 4; ++row) {
    auto place = static_cast<std::int32_t>(row * 48 / 4 % 24 * 10 + 2);
    CHECK(targets[row * 9 + 1] == (is_marked(place) ? 257 : -1));
  }
}

TEST_CASE("TextSource: an id outside the vocabulary is refused when a batch has it") {
  TemporaryFolder folder;
  write_counting_text(folder, 1000, 100);
  std::string sha256 = read_token_file(folder / "tokens.h5").tokenizer_sha256;
  NewTokens file{.train = std::vector<std::int32_t>(1000), .valid = std::vector<std::int32_t>(100)};
  file.tokenizer_sha256 = sha256;
  file.valid[7] = 258;
  write_tokens(folder / "tokens.h5", file);
  auto source = make_data_source(config_for(folder), 9);
  source->train_batch(0, 0, 4);
  CHECK(contains(error_of([&] { source->validation_batch(0, 4); }), "exit 3 token 258 of sequence 1"));
}

TEST_CASE("TextSource: data that cannot be used") {
  TemporaryFolder folder;
  DataConfig config = config_for(folder);
  auto error = [&](std::int64_t context = 9) { return error_of([&] { make_data_source(config, context); }); };
  CHECK(contains(error(), "exit 3 there is no token file"));
  write_counting_text(folder, 1000, 10);
  CHECK(error() == "no error");
  CHECK(contains(error(10), "exit 3 " + folder.path + ": too little text: valid has 10 tokens"));
  write_bytes(folder / "tokenizer.json", Tokenizer::train({"y"}, 258).json() + " ");
  CHECK(contains(error(), "is not the tokenizer that made the tokens.h5"));
  write_counting_text(folder, 1000, 10);
  std::string sha256 = read_token_file(folder / "tokens.h5").tokenizer_sha256;
  write_tokens(folder / "tokens.h5", {.train = std::vector<std::int32_t>(1000),
                                      .valid = std::vector<std::int32_t>(10),
                                      .vocabulary = 300,  // with ids that have no text
                                      .tokenizer_sha256 = sha256});
  CHECK(contains(error(), "exit 3 " + folder.path + "/tokens.h5 has a vocabulary of 300 tokens, tokenizer.json 258"));
  std::filesystem::remove(folder / "tokenizer.json");
  CHECK(contains(error(), "exit 3"));
  REQUIRE(::mkfifo((folder / "tokenizer.json").c_str(), 0600) == 0);
  CHECK(contains(error(), "exit 3 " + folder.path + "/tokenizer.json is not a regular file"));
  config.data = "";
  CHECK(contains(error(), "exit 2 the task text needs --data"));
  config.task = "sudoku";
  CHECK(contains(error(), "exit 2 the task is text or bigram-backcopy, got 'sudoku'"));
}

TEST_CASE("TextSource: a batch of 48 x 64 takes less than 0.1 ms") {
  TemporaryFolder folder;
  write_counting_text(folder, 1000000, 1000);
  DataConfig config = config_for(folder);
  auto source = make_data_source(config, 64);
  double best = 1e9;  // of many: others may be using the machine
  for (int step = 0; step < 500; ++step) {
    auto start = std::chrono::steady_clock::now();
    source->train_batch(step, 0, 48);
    std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
    best = std::min(best, took.count());
  }
  MESSAGE("text batch of 48 x 64: ", best, " ms");
#ifdef NDEBUG
  CHECK(best < 0.1);
#endif
}
