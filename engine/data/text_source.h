// Batches of natural text, packed as in the paper: documents end to end, cut into blocks of T + 1 tokens.
#pragma once

#include "engine/data/block_order.h"
#include "engine/data/data_source.h"
#include "engine/data/token_file.h"
#include "engine/data/tokenizer/tokenizer.h"
#include "engine/rng.h"

namespace sink {

// A block is T + 1 consecutive tokens of one domain; inputs are the first T, targets the last T. By default documents
// in a block attend to each other and positions do not restart. engine/data/block_order.h chooses the blocks of
// training; validation uses evenly spaced blocks of `valid`, independent of the seed. Where the file marks the
// predicted tokens (chats), all other targets are -1.
//
// The paper's experiments (its section 5) change a block before it is split, so an id put at position P, from 1, is
// also the target of position P - 1: first random ids, a pure function of (seed, block, position) and so the same in
// every epoch (in validation independent of the seed), then the fixed token, in training with --fixed-probability. All
// blocks of validation have it, so that runs of different probabilities are measured on the same input. At probability
// 0 none has it: the model has never seen the token, whose embedding is what decay has left of its initial value.
//
// With a document mask, a document begins after each end-of-text token in the block; the first one is the rest of a
// document that began earlier.
class TextSource : public DataSource {
 public:
  // Opens tokens.h5 and tokenizer.json in config.data. Throws Error (Exit::bad_input, Exit::usage).
  TextSource(const DataConfig& config, std::int64_t context, std::int64_t prefix);

  std::int64_t vocabulary() const override { return file_.vocabulary; }
  Batch train_batch(std::int64_t step, std::int64_t micro, std::int64_t batch) const override;
  Batch validation_batch(std::int64_t first_sequence, std::int64_t batch) const override;
  std::int64_t validation_sequences() const override { return validation_sequences_; }
  std::string token_text(std::int32_t id) const override { return tokenizer_.token_text(id); }
  std::string tokenizer_json() const override { return tokenizer_.json(); }
  std::int64_t begin_token() const override { return file_.begin_token; }
  std::string checksum() const override { return file_.checksum; }
  std::string parts() const override;
  std::int64_t train_tokens() const override;
  std::vector<DomainUse> domains() const override;

  const Tokenizer& tokenizer() const { return tokenizer_; }

 private:
  // The blocks of training or validation, counted per domain.
  struct Side {
    const TokenIds* ids;
    const TokenMarks* predicted;
    std::vector<std::int64_t> begins, blocks;  // per domain: its first token, its number of blocks
    Rng random{0, ""};
    std::int64_t ignored_targets;
  };
  Side make_side(bool train, const Rng& random, std::int64_t prefix) const;
  // Row b is the block place_of(b).
  template <class PlaceOf>
  Batch blocks(const Side& side, std::int64_t batch, PlaceOf&& place_of) const;
  void check_settings(std::int64_t prefix) const;
  // With a fixed probability p, a block that has the token at p has it at any larger probability, too.
  bool has_fixed_token(const Side& side, std::uint64_t number) const;
  // Where the fixed token of a block is, from 1.
  std::int64_t fixed_position(const Side& side, std::uint64_t number) const;
  // Sets starts and positions of the documents of a block.
  void find_documents(const std::vector<std::int32_t>& block, std::int32_t* starts_T, std::int32_t* positions_T) const;

  DataConfig config_;
  std::int64_t context_;  // T
  TokenFile file_;
  Tokenizer tokenizer_;
  Side train_, validation_;
  std::unique_ptr<BlockOrder> order_;
  std::int64_t validation_blocks_ = 0;
  std::int64_t validation_sequences_ = 0;
};

}  // namespace sink
