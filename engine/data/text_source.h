// Batches of natural text, packed as in the study: documents end to end, cut into blocks of T + 1 tokens.
#pragma once

#include "engine/data/block_order.h"
#include "engine/data/data_source.h"
#include "engine/data/token_file.h"
#include "engine/data/tokenizer/tokenizer.h"
#include "engine/rng.h"

namespace sink {

// A block is T + 1 consecutive tokens of one domain; input = the first T, target = the last T. Documents share blocks:
// there is no mask between them and positions run through. Which block a sample of training is says
// engine/data/block_order.h; validation takes evenly spaced blocks of `valid`, whatever the seed. Where the file marks
// what is predicted, as of chats, all other targets are -1.
//
// The study's experiments (its section 5) change a block before it is split, so what is put at position P, from 1, is
// also the target of position P - 1: random ids, a pure function of (seed, block, position) and so the same in every
// epoch (validation's know no seed), then the fixed token.
//
// Where there is a document mask, a document begins behind each end of text that the block has of its own; the first
// one is the rest of a document that began earlier.
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
  std::string checksum() const override { return file_.checksum; }
  std::int64_t train_tokens() const override;
  std::vector<DomainUse> domains() const override;

  const Tokenizer& tokenizer() const { return tokenizer_; }

 private:
  // Blocks of one side of the text, which begin anew at each domain.
  struct Side {
    const TokenIds* ids;
    const TokenMarks* predicted;
    std::vector<std::int64_t> begins, blocks;  // of each domain: its first token, how many blocks it has
    Rng random{0, ""};
  };
  Side make_side(bool train, const Rng& random) const;
  // Row b is the block `place_of(b)`.
  template <class PlaceOf>
  Batch blocks(const Side& side, std::int64_t batch, PlaceOf&& place_of) const;
  void check_settings(std::int64_t prefix) const;
  // Where the documents of a block begin, for a row of T tokens.
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
