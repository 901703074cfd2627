// Encodes documents on all threads and writes their token ids to a token file, in order.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/data/chat/chat_template.h"
#include "engine/data/token_writer.h"
#include "engine/data/tokenizer/tokenizer.h"
#include "tools/prepare/corpus.h"

namespace sink {

class DocumentEncoder {
 public:
  struct Rules {
    std::int64_t begin_token = -1;  // inserted before every document; -1: none
    double validation_fraction = 0.01;
    std::string chat_template = {};  // for conversations; empty: the documents are text
  };
  // Keeps references to its arguments.
  DocumentEncoder(const Tokenizer& tokenizer, const std::vector<CorpusDomain>& domains, TokenWriter& writer,
                  const Rules& rules)
      : tokenizer_(tokenizer), domains_(domains), writer_(writer), rules_(rules) {
    if (!rules.chat_template.empty()) chat_.emplace(tokenizer, chat_template_named(rules.chat_template));
  }

  // Documents must come domain by domain. They are encoded in batches of some megabytes.
  void add(Document document);
  void finish();

 private:
  void begin_domain();
  ChatTokens encoded(const Document& document, EncodeCache& cache) const;
  void flush();

  const Tokenizer& tokenizer_;
  const std::vector<CorpusDomain>& domains_;
  TokenWriter& writer_;
  Rules rules_;
  std::vector<Document> waiting_;
  std::vector<ChatTokens> tokens_;  // of waiting_
  std::optional<ChatEncoder> chat_;
  std::size_t bytes_ = 0, begun_ = 0;
};

}  // namespace sink
