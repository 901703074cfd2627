#include "tools/prepare/document_encoder.h"

#include <utility>

#include "engine/threads.h"

namespace sink {
namespace {

constexpr std::size_t kBatchBytes = std::size_t{32} << 20;  // of text
constexpr std::size_t kChunkBytes = std::size_t{1} << 20;   // for one EncodeCache: enough to fill it

}  // namespace

void DocumentEncoder::add(Document document) {
  bytes_ += document.text.size();
  waiting_.push_back(std::move(document));
  if (bytes_ >= kBatchBytes) flush();
}

void DocumentEncoder::finish() {
  flush();
  while (begun_ < domains_.size()) begin_domain();
}

void DocumentEncoder::begin_domain() {
  writer_.begin_domain(domains_[begun_].name, domains_[begun_].weight);
  ++begun_;
}

// Each document is followed by the end-of-text token, and preceded by the begin token if there is one.
ChatTokens DocumentEncoder::encoded(const Document& document, EncodeCache& cache) const {
  ChatTokens tokens;
  if (chat_) {
    tokens = chat_->encode(document.text, document.turns, cache);
  } else {
    tokens.ids = tokenizer_.encode(document.text, cache);
    tokens.ids.push_back(tokenizer_.end_of_text());
  }
  if (rules_.begin_token < 0) return tokens;
  tokens.ids.insert(tokens.ids.begin(), static_cast<std::int32_t>(rules_.begin_token));
  if (chat_) tokens.predicted.insert(tokens.predicted.begin(), 0);
  return tokens;
}

void DocumentEncoder::flush() {
  std::vector<std::size_t> begins{0};  // of the chunks
  for (std::size_t i = 0, bytes = 0; i < waiting_.size(); ++i) {
    bytes += waiting_[i].text.size();
    if (bytes < kChunkBytes && i + 1 < waiting_.size()) continue;
    begins.push_back(i + 1);
    bytes = 0;
  }
  tokens_.assign(waiting_.size(), {});
  parallel_for(static_cast<std::int64_t>(begins.size()) - 1, [&](std::int64_t chunk) {
    EncodeCache cache;
    auto n = static_cast<std::size_t>(chunk);
    for (std::size_t i = begins[n]; i < begins[n + 1]; ++i) tokens_[i] = encoded(waiting_[i], cache);
  });
  for (std::size_t i = 0; i < waiting_.size(); ++i) {
    while (begun_ <= waiting_[i].domain) begin_domain();
    writer_.add_document(tokens_[i].ids, waiting_[i].key.is_validation(rules_.validation_fraction),
                         tokens_[i].predicted);
  }
  waiting_.clear();
  bytes_ = 0;
}

}  // namespace sink
