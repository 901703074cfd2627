#include "engine/data/text_source.h"

#include <algorithm>

#include "engine/check.h"
#include "engine/data/permutation.h"
#include "engine/data/tokenizer/tokenizer_json.h"
#include "engine/io/file.h"
#include "engine/io/sha256.h"

namespace sink {

namespace {

TokenFile open_tokens(const std::string& folder) {
  SINK_CHECK(!folder.empty(), "data", "the task text needs --data FOLDER, a folder made by `prepare`", Exit::usage);
  return read_token_file(folder + "/tokens.h5");
}

Tokenizer open_tokenizer(const std::string& folder, const TokenFile& file) {
  std::string path = folder + "/tokenizer.json";
  std::string json = read_file("data", path);
  SINK_CHECK(sha256_hex(json) == file.tokenizer_sha256, "data",
             path + ": is not the tokenizer that made tokens.h5 beside it; run `prepare` again", Exit::bad_input);
  Tokenizer tokenizer(parse_tokenizer_json(json, path));
  SINK_CHECK(file.vocabulary <= tokenizer.vocabulary(), "data",
             folder + "/tokens.h5 has a vocabulary of " + std::to_string(file.vocabulary) + " tokens, tokenizer.json " +
                 std::to_string(tokenizer.vocabulary()) + "; run `prepare` again",
             Exit::bad_input);
  return tokenizer;
}

}  // namespace

TextSource::TextSource(const DataConfig& config)
    : context_(config.context),
      accumulate_(config.accumulate),
      fixed_first_token_(config.fixed_first_token),
      rng_(config.seed, "text blocks"),
      file_(open_tokens(config.data)),
      checksum_(tokens_checksum(file_)),
      tokenizer_(open_tokenizer(config.data, file_)) {
  SINK_CHECK(context_ >= 1 && accumulate_ >= 1, "data", "context and accumulate must be at least 1", Exit::usage);
  SINK_CHECK(fixed_first_token_ < file_.vocabulary, "data",
             "fixed_first_token is " + std::to_string(fixed_first_token_) + ", but the vocabulary has " +
                 std::to_string(file_.vocabulary) + " tokens",
             Exit::usage);
  auto blocks_of = [&](const std::vector<std::int32_t>& tokens, const char* name) {
    auto blocks = static_cast<std::int64_t>(tokens.size()) / (context_ + 1);
    SINK_CHECK(blocks >= 1, "data",
               config.data + ": too little text: " + name + " has " + std::to_string(tokens.size()) +
                   " tokens, one block of this context needs " + std::to_string(context_ + 1) +
                   "; prepare more text or choose a smaller context",
               Exit::bad_input);
    return blocks;
  };
  train_blocks_ = blocks_of(file_.train, "train");
  validation_blocks_ = blocks_of(file_.valid, "valid");
  validation_sequences_ = std::min(config.eval_sequences, validation_blocks_);
}

template <class BlockOf>
Batch TextSource::blocks(const std::vector<std::int32_t>& tokens, std::int64_t batch, BlockOf&& block_of) const {
  Tensor tokens_BT = Tensor::empty({batch, context_}, DType::I32), targets_BT = Tensor::empty_like(tokens_BT);
  for (std::int64_t row = 0; row < batch; ++row) {
    const std::int32_t* first = tokens.data() + block_of(row) * (context_ + 1);
    std::int32_t* input = tokens_BT.data<std::int32_t>() + row * context_;
    std::copy(first, first + context_, input);
    std::copy(first + 1, first + 1 + context_, targets_BT.data<std::int32_t>() + row * context_);
    if (fixed_first_token_ >= 0) input[0] = static_cast<std::int32_t>(fixed_first_token_);
  }
  return {tokens_BT, targets_BT, file_.vocabulary};
}

Batch TextSource::train_batch(std::int64_t step, std::int64_t micro, std::int64_t batch) const {
  SINK_CHECK(
      step >= 0 && micro >= 0 && micro < accumulate_, "data",
      "step " + std::to_string(step) + ", micro-batch " + std::to_string(micro) + " of " + std::to_string(accumulate_));
  return blocks(file_.train, batch, [&](std::int64_t row) {
    std::int64_t sample = (step * accumulate_ + micro) * batch + row;
    auto epoch = static_cast<std::uint64_t>(sample / train_blocks_);
    auto place = static_cast<std::uint64_t>(sample % train_blocks_);
    return static_cast<std::int64_t>(permuted(rng_, epoch, place, static_cast<std::uint64_t>(train_blocks_)));
  });
}

Batch TextSource::validation_batch(std::int64_t first_sequence, std::int64_t batch) const {
  SINK_CHECK(first_sequence >= 0 && batch >= 0 && first_sequence + batch <= validation_sequences_, "data",
             "validation sequences [" + std::to_string(first_sequence) + ", " + std::to_string(first_sequence + batch) +
                 ") of " + std::to_string(validation_sequences_));
  return blocks(file_.valid, batch,
                [&](std::int64_t row) { return (first_sequence + row) * validation_blocks_ / validation_sequences_; });
}

}  // namespace sink
