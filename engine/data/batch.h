// Sequences of token ids with their targets. Ids are checked once, in the constructor, so that models need not check
// them again.
#pragma once

#include <cstdint>

#include "engine/tensor.h"

namespace sink {

// The documents of packed sequences, both I32 (B, T).
struct DocumentPlaces {
  Tensor starts_BT;     // the start of each token's document: queries see their own document only; undefined: no mask
  Tensor positions_BT;  // the position of each token in its document; undefined: its index in the sequence

  bool defined() const { return starts_BT.defined(); }
  // The end of the document of token t of sequence b, at most T; on the CPU.
  std::int64_t end(std::int64_t b, std::int64_t t, std::int64_t T) const;
  // Sequences [begin, end); the first T tokens of each; a copy on a device.
  DocumentPlaces rows(std::int64_t begin, std::int64_t end) const;
  DocumentPlaces first(std::int64_t T) const;
  DocumentPlaces to(Device device) const;
};

class Batch {
 public:
  // I32, both (B, T), not empty. Target t is the token after position t; -1: no loss there. Throws Error
  // (Exit::bad_input) where the shapes differ or an id is not in [0, vocabulary).
  // A row of document starts begins with 0 and is non-decreasing; starts and positions are at most the token's index.
  Batch(const Tensor& tokens_BT, const Tensor& targets_BT, std::int64_t vocabulary, DocumentPlaces documents = {});

  const Tensor& tokens_BT() const { return tokens_BT_; }
  const Tensor& targets_BT() const { return targets_BT_; }
  const DocumentPlaces& documents() const { return documents_; }
  std::int64_t sequences() const { return tokens_BT_.dim(0); }
  std::int64_t context() const { return tokens_BT_.dim(1); }
  // All ids are below this.
  std::int64_t vocabulary() const { return vocabulary_; }
  // Targets that are not -1.
  std::int64_t predicted() const { return predicted_; }

  // Sequences [begin, end).
  Batch rows(std::int64_t begin, std::int64_t end) const;
  // The first T tokens of every sequence.
  Batch first(std::int64_t T) const;
  // A copy with its ids on a device.
  Batch to(Device device) const;
  // Copies a batch of the same shape and vocabulary into the tensors of this one.
  void copy_from(const Batch& other);

 private:
  Tensor tokens_BT_, targets_BT_;
  std::int64_t vocabulary_, predicted_ = 0;
  DocumentPlaces documents_;
};

// Throws Error (Exit::bad_input) where tokens are not I32 (B, T), or one is not in [0, vocabulary).
void check_tokens(const Tensor& tokens_BT, std::int64_t vocabulary);

}  // namespace sink
