#include "engine/data/tokenizer/bpe_trainer.h"

#include <algorithm>
#include <array>
#include <limits>
#include <mutex>
#include <queue>
#include <string>
#include <unordered_map>
#include <utility>

#include "engine/check.h"
#include "engine/data/tokenizer/byte_alphabet.h"
#include "engine/data/tokenizer/pre_tokenize.h"
#include "engine/io/utf8.h"
#include "engine/threads.h"

namespace sink {

namespace {

using WordCounts = std::unordered_map<std::string_view, std::int64_t>;

// Evenly spaced documents of together about kTrainingBytes. Where they are uneven the last ones are cut off, so that
// places in the text fit 32 bits.
std::vector<std::string_view> chosen(const std::vector<std::string_view>& texts) {
  std::size_t total = 0;
  for (std::string_view text : texts) total += text.size();
  std::size_t stride = std::max<std::size_t>((total + kTrainingBytes - 1) / kTrainingBytes, 1);
  std::size_t room = 2 * kTrainingBytes;
  std::vector<std::string_view> documents;
  for (std::size_t i = 0; i < texts.size() && room > 0; i += stride) {
    documents.push_back(utf8_prefix(texts[i], room));
    room -= documents.back().size() < texts[i].size() ? room : texts[i].size();
  }
  return documents;
}

WordCounts count_words(const std::vector<std::string_view>& documents) {
  WordCounts counts;
  std::mutex adding;
  parallel_chunks(static_cast<std::int64_t>(documents.size()), 64, [&](std::int64_t begin, std::int64_t end) {
    WordCounts own;
    std::vector<std::string_view> pieces;
    for (std::int64_t i = begin; i < end; ++i) {
      pieces.clear();
      pre_tokenize(documents[static_cast<std::size_t>(i)], pieces);
      for (std::string_view piece : pieces) ++own[piece];
    }
    std::lock_guard lock(adding);
    for (const auto& [word, count] : own) counts[word] += count;
  });
  return counts;
}

// All different words, one after another, as symbols that merge in place. A symbol of n bytes owns n slots: the first
// holds its id and, where n > 1, the last holds -n, which is how its right neighbour finds it; slots between mean
// nothing.
class SymbolText {
 public:
  using Place = std::uint32_t;  // of a symbol's first slot
  static constexpr Place kNone = 0;

  // `words` are sorted by falling count. `id_of_byte` are the symbols to begin with.
  SymbolText(const std::vector<std::pair<std::string_view, std::int64_t>>& words,
             const std::array<std::int32_t, 256>& id_of_byte, std::int32_t largest_id)
      : length_of_(static_cast<std::size_t>(largest_id) + 1, 1) {
    slots_.push_back(kBoundary);
    for (const auto& [word, count] : words) {
      if (runs_.empty() || runs_.back().count != count) runs_.push_back({static_cast<Place>(slots_.size()), count});
      for (char byte : word) slots_.push_back(id_of_byte[static_cast<unsigned char>(byte)]);
      slots_.push_back(kBoundary);
    }
  }

  Place end() const { return static_cast<Place>(slots_.size()); }
  // Negative where no symbol begins.
  std::int32_t id(Place at) const { return slots_[at]; }
  // Neighbours of the symbol at `at` in its word, or kNone.
  Place next(Place at) const {
    Place after = at + length_of_[static_cast<std::size_t>(slots_[at])];
    return slots_[after] == kBoundary ? kNone : after;
  }
  Place previous(Place at) const {
    std::int32_t before = slots_[at - 1];
    if (before == kBoundary) return kNone;
    return before >= 0 ? at - 1 : at - static_cast<Place>(-before);
  }
  // How often the word at `at` occurs. Words of equal count stand together, and there are few different counts.
  std::int64_t count(Place at) const {
    auto after =
        std::upper_bound(runs_.begin(), runs_.end(), at, [](Place p, const Run& run) { return p < run.begin; });
    return (after - 1)->count;
  }
  // Makes one symbol `id` of the one at `left` and its right neighbour.
  void merge(Place left, std::int32_t id) {
    Place right = next(left);
    Place size = right - left + length_of_[static_cast<std::size_t>(slots_[right])];
    if (static_cast<std::size_t>(id) >= length_of_.size()) length_of_.resize(static_cast<std::size_t>(id) + 1);
    length_of_[static_cast<std::size_t>(id)] = size;
    slots_[left] = id;
    slots_[right] = -1;
    slots_[left + size - 1] = -static_cast<std::int32_t>(size);
  }

 private:
  static constexpr std::int32_t kBoundary = std::numeric_limits<std::int32_t>::min();
  struct Run {
    Place begin;
    std::int64_t count;
  };
  std::vector<std::int32_t> slots_;
  std::vector<Run> runs_;
  std::vector<Place> length_of_;  // bytes, by id
};

struct Pair {
  std::int64_t count = 0;
  std::vector<SymbolText::Place> places;  // of left symbols; some may have lost the pair since
};

struct Candidate {
  std::int64_t count;
  std::uint64_t key;
  bool operator<(const Candidate& other) const { return count != other.count ? count < other.count : key > other.key; }
};

// The pairs of neighbours and how often they occur. A merge costs as much as the places it changes, whatever the length
// of the words: n bytes of text are learnt in O(n log n).
class PairTable {
 public:
  using Place = SymbolText::Place;

  explicit PairTable(SymbolText text) : text_(std::move(text)) {
    for (Place at = 1; at < text_.end(); ++at) {
      if (text_.id(at) < 0) continue;
      if (Place next = text_.next(at)) add(pair_number(text_.id(at), text_.id(next)), at, text_.count(at));
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
      if (found == pairs_.end()) continue;
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
    auto found = pairs_.find(key);
    std::vector<Place> places = std::move(found->second.places);
    pairs_.erase(found);
    if (!std::is_sorted(places.begin(), places.end())) std::sort(places.begin(), places.end());
    grown_.clear();
    for (Place at : places) merge_at(at, left, right, id);
    std::sort(grown_.begin(), grown_.end());
    grown_.erase(std::unique(grown_.begin(), grown_.end()), grown_.end());
    for (std::uint64_t grown : grown_) {
      if (auto pair = pairs_.find(grown); pair != pairs_.end()) queue_.push({pair->second.count, grown});
    }
  }

 private:
  void add(std::uint64_t key, Place at, std::int64_t count) {
    Pair& pair = pairs_[key];
    pair.count += count;
    pair.places.push_back(at);
  }

  void remove(std::uint64_t key, std::int64_t count) {
    auto found = pairs_.find(key);
    if (found == pairs_.end()) return;
    found->second.count -= count;
    if (found->second.count == 0) pairs_.erase(found);
  }

  void replace(std::uint64_t old_key, std::uint64_t new_key, Place at, std::int64_t count) {
    remove(old_key, count);
    add(new_key, at, count);
    grown_.push_back(new_key);
  }

  void merge_at(Place at, std::int32_t left, std::int32_t right, std::int32_t id) {
    if (text_.id(at) != left) return;
    Place second = text_.next(at);
    if (!second || text_.id(second) != right) return;
    std::int64_t count = text_.count(at);
    Place before = text_.previous(at), after = text_.next(second);
    if (before) replace(pair_number(text_.id(before), left), pair_number(text_.id(before), id), before, count);
    if (after) replace(pair_number(right, text_.id(after)), pair_number(id, text_.id(after)), at, count);
    text_.merge(at, id);
  }

  SymbolText text_;
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
    model.id_of_byte[byte] = id_of_byte[byte];
  }

  WordCounts counts = count_words(chosen(texts));
  std::vector<std::pair<std::string_view, std::int64_t>> words(counts.begin(), counts.end());
  std::sort(words.begin(), words.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  PairTable table(SymbolText(words, id_of_byte, static_cast<std::int32_t>(model.bytes.size()) - 1));
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
