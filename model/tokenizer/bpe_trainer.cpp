#include "model/tokenizer/bpe_trainer.h"

#include <algorithm>
#include <queue>
#include <string>
#include <unordered_map>

#include "engine/check.h"
#include "engine/threads.h"
#include "model/tokenizer/byte_alphabet.h"
#include "model/tokenizer/pre_tokenize.h"

namespace sink {

namespace {

using WordCounts = std::unordered_map<std::string_view, std::int64_t>;

WordCounts count_words(const std::vector<std::string_view>& texts) {
  std::size_t total = 0;
  for (std::string_view text : texts) total += text.size();
  std::size_t stride = (total + kTrainingBytes - 1) / kTrainingBytes;
  auto documents = static_cast<std::int64_t>(stride ? (texts.size() + stride - 1) / stride : 0);

  WordCounts counts;
  parallel_chunks(documents, 64, [&](std::int64_t begin, std::int64_t end) {
    WordCounts own;
    std::vector<std::string_view> pieces;
    for (std::int64_t i = begin; i < end; ++i) {
      pieces.clear();
      pre_tokenize(texts[static_cast<std::size_t>(i) * stride], pieces);
      for (std::string_view piece : pieces) ++own[piece];
    }
#pragma omp critical(sink_count_words)
    for (const auto& [word, count] : own) counts[word] += count;
  });
  return counts;
}

std::uint64_t key_of(std::int32_t left, std::int32_t right) {
  return std::uint64_t{static_cast<std::uint32_t>(left)} << 32 | static_cast<std::uint32_t>(right);
}

struct Word {
  std::vector<std::int32_t> ids;
  std::int64_t count;
};

struct Pair {
  std::int64_t count = 0;
  std::vector<std::int32_t> words;  // where it may stand; a word can be named twice or have lost the pair since
};

struct Candidate {
  std::int64_t count;
  std::uint64_t key;
  bool operator<(const Candidate& other) const { return count != other.count ? count < other.count : key > other.key; }
};

class PairTable {
 public:
  explicit PairTable(std::vector<Word> words) : words_(std::move(words)) {
    for (std::size_t w = 0; w < words_.size(); ++w) {
      const auto& ids = words_[w].ids;
      for (std::size_t i = 0; i + 1 < ids.size(); ++i) add(key_of(ids[i], ids[i + 1]), static_cast<std::int32_t>(w));
    }
    for (const auto& [key, pair] : pairs_) queue_.push({pair.count, key});
  }

  // Takes the best pair out; false when none occurs any more. Counts in the queue are upper bounds: a stale one goes
  // back with its present count.
  bool pop_best(std::uint64_t& key) {
    while (!queue_.empty()) {
      Candidate top = queue_.top();
      queue_.pop();
      auto found = pairs_.find(top.key);
      if (found == pairs_.end() || found->second.count <= 0) continue;
      if (found->second.count != top.count) {
        queue_.push({found->second.count, top.key});
        continue;
      }
      key = top.key;
      return true;
    }
    return false;
  }

  // Puts `id` in the place of the pair everywhere, from left to right in each word.
  void merge(std::uint64_t key, std::int32_t id) {
    auto left = static_cast<std::int32_t>(key >> 32);
    auto right = static_cast<std::int32_t>(key & 0xffffffffu);
    std::vector<std::int32_t> where = std::move(pairs_[key].words);
    pairs_.erase(key);
    grown_.clear();
    for (std::int32_t w : where) merge_in_word(w, left, right, id);
    std::sort(grown_.begin(), grown_.end());
    grown_.erase(std::unique(grown_.begin(), grown_.end()), grown_.end());
    for (std::uint64_t grown : grown_) queue_.push({pairs_[grown].count, grown});
  }

 private:
  void add(std::uint64_t key, std::int32_t w) {
    Pair& pair = pairs_[key];
    pair.count += words_[static_cast<std::size_t>(w)].count;
    if (pair.words.empty() || pair.words.back() != w) pair.words.push_back(w);
  }

  void remove(std::uint64_t key, std::int64_t count) {
    auto found = pairs_.find(key);
    if (found != pairs_.end()) found->second.count -= count;
  }

  void merge_in_word(std::int32_t w, std::int32_t left, std::int32_t right, std::int32_t id) {
    Word& word = words_[static_cast<std::size_t>(w)];
    auto& ids = word.ids;
    std::size_t out = 0;
    for (std::size_t i = 0; i < ids.size();) {
      if (i + 1 == ids.size() || ids[i] != left || ids[i + 1] != right) {
        ids[out++] = ids[i++];
        continue;
      }
      if (out > 0) {
        remove(key_of(ids[out - 1], left), word.count);
        add(key_of(ids[out - 1], id), w);
        grown_.push_back(key_of(ids[out - 1], id));
      }
      if (i + 2 < ids.size()) {
        remove(key_of(right, ids[i + 2]), word.count);
        add(key_of(id, ids[i + 2]), w);
        grown_.push_back(key_of(id, ids[i + 2]));
      }
      ids[out++] = id;
      i += 2;
    }
    ids.resize(out);
  }

  std::vector<Word> words_;
  std::unordered_map<std::uint64_t, Pair> pairs_;
  std::priority_queue<Candidate> queue_;
  std::vector<std::uint64_t> grown_;
};

}  // namespace

BpeModel train_bpe(const std::vector<std::string_view>& texts, std::int64_t vocabulary) {
  SINK_CHECK(vocabulary >= kSmallestVocabulary && vocabulary <= (1 << 24), "train_bpe",
             "a vocabulary has " + std::to_string(kSmallestVocabulary) + " to 16777216 tokens, asked for " +
                 std::to_string(vocabulary),
             Exit::usage);
  BpeModel model;
  model.bytes = {kEndOfText, kPadding};
  model.added = {{0, kEndOfText, true, false}, {1, kPadding, true, false}};
  std::array<std::int32_t, 256> id_of_byte;
  for (unsigned char byte : bytes_by_character()) {
    id_of_byte[byte] = static_cast<std::int32_t>(model.bytes.size());
    model.bytes.emplace_back(1, static_cast<char>(byte));
  }

  std::vector<Word> words;
  for (const auto& [text, count] : count_words(texts)) {
    Word& word = words.emplace_back(Word{{}, count});
    for (char byte : text) word.ids.push_back(id_of_byte[static_cast<unsigned char>(byte)]);
  }
  PairTable table(std::move(words));
  std::unordered_map<std::string, std::int32_t> id_of;  // two pairs can spell the same token: it keeps its first id
  for (std::size_t id = 0; id < model.bytes.size(); ++id) id_of.emplace(model.bytes[id], static_cast<std::int32_t>(id));
  std::uint64_t key;
  while (static_cast<std::int64_t>(model.bytes.size()) < vocabulary && table.pop_best(key)) {
    auto left = static_cast<std::int32_t>(key >> 32);
    auto right = static_cast<std::int32_t>(key & 0xffffffffu);
    std::string bytes = model.bytes[static_cast<std::size_t>(left)] + model.bytes[static_cast<std::size_t>(right)];
    auto [entry, fresh] = id_of.emplace(bytes, static_cast<std::int32_t>(model.bytes.size()));
    if (fresh) model.bytes.push_back(bytes);
    model.merges.push_back({left, right, entry->second});
    table.merge(key, entry->second);
  }
  model.in_vocabulary.assign(model.bytes.size(), true);
  return model;
}

}  // namespace sink
