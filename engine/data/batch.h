// Sequences of token ids with what is to be predicted. Ids are checked once, where a batch is made, so that nothing on
// the way through a model has to look at them again.
#pragma once

#include <cstdint>

#include "engine/tensor.h"

namespace sink {

// Where documents lie in packed sequences, both I32 (B, T).
struct DocumentPlaces {
  Tensor starts_BT;  // of each token, where its document begins: queries see their own document alone; undefined: all
  Tensor positions_BT;  // of each token, its position in its document; undefined: positions run through

  bool defined() const { return starts_BT.defined(); }
  // Where the document of token t of sequence b ends, of T tokens; on the CPU.
  std::int64_t end(std::int64_t b, std::int64_t t, std::int64_t T) const;
  // Of sequences [begin, end); of the first T tokens of each; on a device.
  DocumentPlaces rows(std::int64_t begin, std::int64_t end) const;
  DocumentPlaces first(std::int64_t T) const;
  DocumentPlaces to(Device device) const;
};

class Batch {
 public:
  // I32, both (B, T), not empty. Target t is the token after position t; -1: no loss there. Throws Error
  // (Exit::bad_input) where the shapes differ or an id is not in [0, vocabulary).
  // A row of document starts begins with 0 and never falls; no start and no position is behind its token's place.
  Batch(const Tensor& tokens_BT, const Tensor& targets_BT, std::int64_t vocabulary, DocumentPlaces documents = {});

  const Tensor& tokens_BT() const { return tokens_BT_; }
  const Tensor& targets_BT() const { return targets_BT_; }
  const DocumentPlaces& documents() const { return documents_; }
  std::int64_t sequences() const { return tokens_BT_.dim(0); }
  std::int64_t context() const { return tokens_BT_.dim(1); }
  // All ids are below.
  std::int64_t vocabulary() const { return vocabulary_; }
  // Targets that are not -1.
  std::int64_t predicted() const { return predicted_; }

  // Sequences [begin, end).
  Batch rows(std::int64_t begin, std::int64_t end) const;
  // The first T tokens of every sequence.
  Batch first(std::int64_t T) const;
  // With its ids on a device, where only a model reads them.
  Batch to(Device device) const;
  // Becomes another of the same shape and vocabulary, its ids in the same place.
  void copy_from(const Batch& other);

 private:
  Tensor tokens_BT_, targets_BT_;
  std::int64_t vocabulary_, predicted_ = 0;
  DocumentPlaces documents_;
};

// Throws Error (Exit::bad_input) where tokens are not I32 (B, T), or one is not in [0, vocabulary).
void check_tokens(const Tensor& tokens_BT, std::int64_t vocabulary);

}  // namespace sink
