#include "engine/data/text_source.h"

#include <algorithm>
#include <numeric>

#include "engine/check.h"
#include "engine/data/tokenizer/tokenizer_json.h"
#include "engine/io/file.h"
#include "engine/io/sha256.h"
#include "engine/io/str_format.h"

namespace sink {

namespace {

TokenFile open_tokens(const std::string& folder) {
  SINK_CHECK(!folder.empty(), "data", "the task text needs --data FOLDER, a folder made by `prepare`", Exit::usage);
  return read_token_file(folder + "/tokens.h5");
}

Tokenizer open_tokenizer(const std::string& folder, const TokenFile& file) {
  std::string path = folder + "/tokenizer.json";
  require_regular_file(path);
  std::string json = read_file("data", path);
  SINK_CHECK(sha256_hex(json) == file.tokenizer_sha256, "data",
             path + ": is not the tokenizer that made the tokens.h5 next to it; run `prepare` again", Exit::bad_input);
  Tokenizer tokenizer(parse_tokenizer_json(json, path));
  SINK_CHECK(file.vocabulary <= tokenizer.vocabulary(), "data",
             folder + "/tokens.h5 has a vocabulary of " + std::to_string(file.vocabulary) + " tokens, tokenizer.json " +
                 std::to_string(tokenizer.vocabulary()) + "; run `prepare` again",
             Exit::bad_input);
  return tokenizer;
}

}  // namespace

TextSource::TextSource(const DataConfig& config, std::int64_t context, std::int64_t prefix)
    : config_(config),
      context_(context),
      file_(open_tokens(config.data)),
      tokenizer_(open_tokenizer(config.data, file_)) {
  check_settings(prefix);
  train_ = make_side(true, Rng(config.seed, "random tokens"), prefix);
  validation_ = make_side(false, Rng(0, "random tokens of validation"), prefix);
  std::vector<DomainBlocks> domains;
  for (std::size_t d = 0; d < file_.domains.size(); ++d)
    domains.push_back({file_.domains[d].name, train_.blocks[d], file_.domains[d].weight});
  order_ = make_block_order(config, domains);
  validation_blocks_ = std::accumulate(validation_.blocks.begin(), validation_.blocks.end(), std::int64_t{0});
  validation_sequences_ = std::min(config.eval_sequences, validation_blocks_);
}

TextSource::Side TextSource::make_side(bool train, const Rng& random, std::int64_t prefix) const {
  Side side{.ids = train ? &file_.train : &file_.valid,
            .predicted = train ? &file_.train_predicted : &file_.valid_predicted,
            .begins = {},
            .blocks = {},
            .random = random,
            .ignored_targets = ignored_targets(config_, prefix, !train)};
  std::int64_t begin = 0, blocks = 0;
  for (const TextDomain& domain : file_.domains) {
    std::int64_t tokens = train ? domain.train_tokens : domain.valid_tokens;
    side.begins.push_back(begin);
    side.blocks.push_back(tokens / (context_ + 1));
    begin += tokens;
    blocks += side.blocks.back();
  }
  SINK_CHECK(blocks >= 1, "data",
             config_.data + ": too little text: " + (train ? "train" : "valid") + " has " +
                 std::to_string(side.ids->size()) + " tokens, one block of this context needs " +
                 std::to_string(context_ + 1) + "; prepare more text or choose a smaller context",
             Exit::bad_input);
  return side;
}

std::int64_t TextSource::train_tokens() const {
  std::int64_t tokens = 0;
  for (std::int64_t blocks : order_->used()) tokens += blocks * context_;
  return tokens;
}

std::string TextSource::parts() const {
  std::string text;
  for (const TextDomain& domain : file_.domains)
    text += (config_.data_order == "mixture" ? str_format("%.17g ", domain.weight) : "") +
            std::to_string(domain.train_tokens) + " " + std::to_string(domain.valid_tokens) + "\n";
  return text;
}

std::vector<DomainUse> TextSource::domains() const {
  std::vector<std::int64_t> used = order_->used();
  std::vector<double> shares = order_->shares();
  std::vector<DomainUse> domains;
  for (std::size_t d = 0; d < used.size(); ++d)
    domains.push_back({file_.domains[d].name, used[d] * context_, shares[d]});
  return domains;
}

void TextSource::check_settings(std::int64_t prefix) const {
  SINK_CHECK(context_ >= 1 && config_.accumulate >= 1, "data", "context and accumulate must be at least 1",
             Exit::usage);
  SINK_CHECK(config_.fixed_token < file_.vocabulary, "data",
             "--fixed-token is " + std::to_string(config_.fixed_token) + ", but the vocabulary has " +
                 std::to_string(file_.vocabulary) + " tokens",
             Exit::usage);
  SINK_CHECK(config_.fixed_token < 0 || (config_.fixed_position >= 1 && config_.fixed_position <= context_), "data",
             "--fixed-position must be from 1 to the context of " + std::to_string(context_) + ", got " +
                 std::to_string(config_.fixed_position),
             Exit::usage);
  SINK_CHECK(config_.fixed_to == 0 || (config_.fixed_token >= 0 && config_.fixed_to >= config_.fixed_position &&
                                       config_.fixed_to <= context_),
             "data",
             "--fixed-to needs --fixed-token, and is from --fixed-position to the context of " +
                 std::to_string(context_) + ", or 0; got " + std::to_string(config_.fixed_to),
             Exit::usage);
  SINK_CHECK(
      config_.fixed_token >= 0 || config_.fixed_position == 1, "data",
      "--fixed-position needs --fixed-token, the id that is put at position " + std::to_string(config_.fixed_position),
      Exit::usage);
  SINK_CHECK(config_.fixed_probability >= 0 && config_.fixed_probability <= 1, "data",
             "--fixed-probability must be from 0 to 1, got " + std::to_string(config_.fixed_probability), Exit::usage);
  SINK_CHECK(config_.fixed_token >= 0 || config_.fixed_probability == 1, "data",
             "--fixed-probability needs --fixed-token, the id that sequences have with this probability", Exit::usage);
  bool none = config_.random_from == 0 && config_.random_to == 0;
  SINK_CHECK(
      none || (1 <= config_.random_from && config_.random_from <= config_.random_to && config_.random_to <= context_),
      "data",
      "expected random positions 1 <= --random-from <= --random-to <= the context of " + std::to_string(context_) +
          ", or 0 for both, got " + std::to_string(config_.random_from) + " and " + std::to_string(config_.random_to),
      Exit::usage);
  SINK_CHECK(
      config_.data_order == "released" || config_.loader_ranks == DataConfig().loader_ranks, "data",
      "--loader-ranks needs --data-order released: no other order has readers; got the order " + config_.data_order,
      Exit::usage);
  SINK_CHECK(config_.document_mask || !config_.reset_positions, "data", "--reset-positions needs --document-mask",
             Exit::usage);
  SINK_CHECK(!config_.document_mask || prefix == 0, "data",
             "--document-mask and --prefix " + std::to_string(prefix) +
                 " contradict each other: all tokens see a prefix, whatever their document",
             Exit::usage);
  SINK_CHECK(!config_.document_mask || file_.end_of_text >= 0, "data",
             config_.data +
                 "/tokens.h5 does not say which token ends a document, as --document-mask needs; make it "
                 "again with `prepare`",
             Exit::usage);
}

void TextSource::find_documents(const std::vector<std::int32_t>& block, std::int32_t* starts_T,
                                std::int32_t* positions_T) const {
  std::int32_t start = 0;
  for (std::int32_t t = 0; t < context_; ++t) {
    if (t > 0 && block[static_cast<std::size_t>(t - 1)] == file_.end_of_text) start = t;
    starts_T[t] = start;
    if (positions_T) positions_T[t] = t - start;
  }
}

// Random tokens take the lane of their position, and a drawn position lane 0.
constexpr std::uint32_t kLaneOfProbability = UINT32_MAX;

bool TextSource::has_fixed_token(const Side& side, std::uint64_t number) const {
  if (config_.fixed_token < 0 || config_.fixed_probability == 0) return false;
  return &side == &validation_ || side.random.uniform(number, kLaneOfProbability) < config_.fixed_probability;
}

std::int64_t TextSource::fixed_position(const Side& side, std::uint64_t number) const {
  if (config_.fixed_to == 0) return config_.fixed_position;
  const auto count = static_cast<std::uint64_t>(config_.fixed_to - config_.fixed_position + 1);
  return config_.fixed_position + static_cast<std::int64_t>(side.random.below(number, count));
}

template <class PlaceOf>
Batch TextSource::blocks(const Side& side, std::int64_t batch, PlaceOf&& place_of) const {
  Tensor tokens_BT = Tensor::empty({batch, context_}, DType::I32), targets_BT = Tensor::empty_like(tokens_BT);
  DocumentPlaces documents;
  if (config_.document_mask) documents.starts_BT = Tensor::empty_like(tokens_BT);
  if (config_.reset_positions) documents.positions_BT = Tensor::empty_like(tokens_BT);
  auto row_of = [&](Tensor& x, std::int64_t row) {
    return x.defined() ? x.data<std::int32_t>() + row * context_ : nullptr;
  };
  std::vector<std::int32_t> block(static_cast<std::size_t>(context_) + 1);
  auto at_position = [&](std::int64_t position) -> std::int32_t& {
    return block[static_cast<std::size_t>(position - 1)];
  };
  for (std::int64_t row = 0; row < batch; ++row) {
    BlockPlace place = place_of(row);
    std::int64_t begin = side.begins[place.domain] + place.block * (context_ + 1);
    side.ids->copy(begin, context_ + 1, block.data());
    if (config_.document_mask)
      find_documents(block, row_of(documents.starts_BT, row), row_of(documents.positions_BT, row));
    auto number = static_cast<std::uint64_t>(place.block) | static_cast<std::uint64_t>(place.domain) << 48;
    for (std::int64_t p = config_.random_from; p > 0 && p <= config_.random_to; ++p)
      at_position(p) = static_cast<std::int32_t>(
          side.random.below(number, static_cast<std::uint64_t>(file_.vocabulary), static_cast<std::uint32_t>(p)));
    if (has_fixed_token(side, number))
      at_position(fixed_position(side, number)) = static_cast<std::int32_t>(config_.fixed_token);
    std::copy_n(block.begin(), context_, tokens_BT.data<std::int32_t>() + row * context_);
    std::int32_t* targets = std::copy_n(block.begin() + 1, context_, targets_BT.data<std::int32_t>() + row * context_);
    for (std::int64_t t = 1; t <= context_ && !side.predicted->all(); ++t)
      if (!side.predicted->has(begin + t)) targets[t - 1 - context_] = -1;
    std::fill_n(targets - context_, side.ignored_targets, -1);
  }
  return {tokens_BT, targets_BT, file_.vocabulary, documents};
}

Batch TextSource::train_batch(std::int64_t step, std::int64_t micro, std::int64_t batch) const {
  SINK_CHECK(step >= 0 && micro >= 0 && micro < config_.accumulate, "data",
             "step " + std::to_string(step) + ", micro-batch " + std::to_string(micro) + " of " +
                 std::to_string(config_.accumulate));
  return blocks(train_, batch,
                [&](std::int64_t row) { return order_->place(step, micro * batch + row, config_.accumulate * batch); });
}

Batch TextSource::validation_batch(std::int64_t first_sequence, std::int64_t batch) const {
  SINK_CHECK(first_sequence >= 0 && batch >= 0 && first_sequence + batch <= validation_sequences_, "data",
             "validation sequences [" + std::to_string(first_sequence) + ", " + std::to_string(first_sequence + batch) +
                 ") of " + std::to_string(validation_sequences_));
  return blocks(validation_, batch, [&](std::int64_t row) {
    BlockPlace place{.domain = 0, .block = (first_sequence + row) * validation_blocks_ / validation_sequences_};
    for (; place.block >= validation_.blocks[place.domain]; ++place.domain)
      place.block -= validation_.blocks[place.domain];
    return place;
  });
}

}  // namespace sink
