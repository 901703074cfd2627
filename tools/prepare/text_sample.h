// The text that a tokenizer is trained on.
#pragma once

#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "engine/data/tokenizer/bpe_trainer.h"
#include "tools/prepare/corpus.h"

namespace sink {

// While all text fits, the sample is all of it, in its order; of more text those documents stay whose keys are below a
// bound, which is halved whenever they are too many: no document's place or neighbours matter.
class TextSample {
 public:
  // Of at most that many bytes, but one document at least.
  explicit TextSample(std::size_t most = 2 * kTrainingBytes) : most_(most) {}

  void add(Document document) {
    if (document.key.low >= bound_) return;
    bytes_ += document.text.size();
    documents_.push_back(std::move(document));
    while (bytes_ > most_ && documents_.size() > 1) {
      bound_ /= 2;
      std::erase_if(documents_, [&](const Document& d) { return d.key.low >= bound_; });
      bytes_ = 0;
      for (const Document& d : documents_) bytes_ += d.text.size();
    }
  }
  bool is_all() const { return bound_ == std::numeric_limits<std::uint64_t>::max(); }
  std::vector<Document>& documents() { return documents_; }

 private:
  std::size_t most_;
  std::vector<Document> documents_;
  std::size_t bytes_ = 0;
  std::uint64_t bound_ = std::numeric_limits<std::uint64_t>::max();
};

}  // namespace sink
