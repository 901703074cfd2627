// Documents as token ids, in a token file: encoded on all threads, written in their order.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/data/token_writer.h"
#include "engine/data/tokenizer/tokenizer.h"
#include "tools/prepare/corpus.h"

namespace sink {

class DocumentEncoder {
 public:
  struct Rules {
    std::int64_t begin_token = -1;  // id before every document; -1: none
    double validation_fraction = 0.01;
  };
  // Keeps what it is given by reference.
  DocumentEncoder(const Tokenizer& tokenizer, const std::vector<CorpusDomain>& domains, TokenWriter& writer,
                  const Rules& rules)
      : tokenizer_(tokenizer), domains_(domains), writer_(writer), rules_(rules) {}

  // Documents come domain after domain; some megabytes wait for each other.
  void add(Document document);
  void finish();

 private:
  void begin_domain();
  void encode(std::size_t i, EncodeCache& cache);
  void flush();

  const Tokenizer& tokenizer_;
  const std::vector<CorpusDomain>& domains_;
  TokenWriter& writer_;
  Rules rules_;
  std::vector<Document> waiting_;
  std::vector<std::vector<std::int32_t>> ids_;  // of those that wait
  std::size_t bytes_ = 0, begun_ = 0;
};

}  // namespace sink
