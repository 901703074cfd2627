#include "engine/data/tokenizer/bpe_rules.h"

#include <bit>
#include <queue>

#include "engine/io/utf8.h"

namespace sink {

namespace {

constexpr std::size_t kShort = 48;  // symbols up to which looking at all of them at each step is faster than a heap

}  // namespace

BpeRules::BpeRules(const BpeModel& model)
    : byte_level_(model.byte_level),
      id_of_byte_(model.id_of_byte),
      unknown_(model.unknown),
      fuse_unknown_(model.fuse_unknown) {
  table_.resize(std::bit_ceil(2 * model.merges.size() + 1));
  for (std::size_t rank = 0; rank < model.merges.size(); ++rank) {
    const BpeMerge& merge = model.merges[rank];
    std::uint64_t pair = pair_number(merge.left, merge.right);
    std::int32_t order = model.ranks.empty() ? static_cast<std::int32_t>(rank) : model.ranks[rank];
    table_[entry_of(pair)] = {pair, {order, merge.result}};  // of equals the last one counts
  }
  for (std::size_t id = 0; id < model.bytes.size(); ++id) {
    if (!model.in_vocabulary[id]) continue;
    if (model.whole_pieces) id_of_piece_.emplace(model.bytes[id], static_cast<std::int32_t>(id));
    std::uint32_t code = 0;
    if (byte_level_ || utf8_length(model.bytes[id], 0, &code) != static_cast<int>(model.bytes[id].size())) continue;
    if (code >= id_of_character_.size()) id_of_character_.resize(code + 1, BpeModel::kNone);
    id_of_character_[code] = static_cast<std::int32_t>(id);
  }
}

// The slot of `pair`, or the empty slot where it would be inserted.
std::size_t BpeRules::entry_of(std::uint64_t pair) const {
  std::uint64_t mixed = (pair ^ pair >> 32) * 0x9E3779B97F4A7C15u;
  std::size_t mask = table_.size() - 1;
  std::size_t at = (mixed >> 32) & mask;
  while (table_[at].pair != pair && table_[at].pair != kEmpty) at = (at + 1) & mask;
  return at;
}

void BpeRules::append_bytes(std::string_view piece, std::vector<std::int32_t>& symbols) const {
  bool after_unknown = false;
  for (char c : piece) {
    std::int32_t id = id_of_byte_[static_cast<unsigned char>(c)];
    if (id != BpeModel::kNone) {
      symbols.push_back(id);
    } else if (unknown_ != BpeModel::kNone && !(after_unknown && fuse_unknown_)) {
      symbols.push_back(unknown_);
    }
    after_unknown = id == BpeModel::kNone;
  }
}

// The tokens of a character's bytes, where each of them has one.
bool BpeRules::append_fallback(std::string_view character, std::vector<std::int32_t>& symbols) const {
  std::size_t from = symbols.size();
  for (char c : character) {
    std::int32_t id = id_of_byte_[static_cast<unsigned char>(c)];
    if (id == BpeModel::kNone) {
      symbols.resize(from);
      return false;
    }
    symbols.push_back(id);
  }
  return true;
}

// The unknown token is appended before the next character that is a token, or at the end; byte tokens go before it, as
// in the `tokenizers` package.
void BpeRules::append_characters(std::string_view piece, std::vector<std::int32_t>& symbols) const {
  bool waiting = false;
  for (std::size_t at = 0, next = 0; at < piece.size(); at = next) {
    std::uint32_t code = 0;
    next = at + static_cast<std::size_t>(utf8_length(piece, at, &code));
    std::int32_t id = code < id_of_character_.size() ? id_of_character_[code] : BpeModel::kNone;
    if (id != BpeModel::kNone) {
      if (waiting) symbols.push_back(unknown_);
      waiting = false;
      symbols.push_back(id);
    } else if (!append_fallback(piece.substr(at, next - at), symbols) && unknown_ != BpeModel::kNone) {
      if (waiting && !fuse_unknown_) symbols.push_back(unknown_);
      waiting = true;
    }
  }
  if (waiting) symbols.push_back(unknown_);
}

std::int32_t BpeRules::whole(std::string_view piece) const {
  if (id_of_piece_.empty()) return BpeModel::kNone;
  auto found = id_of_piece_.find(std::string(piece));
  return found == id_of_piece_.end() ? BpeModel::kNone : found->second;
}

void BpeRules::encode(std::string_view piece, std::vector<std::int32_t>& ids) const {
  std::int32_t id = whole(piece);
  id == BpeModel::kNone ? merge(piece, ids) : ids.push_back(id);
}

void BpeRules::merge(std::string_view piece, std::vector<std::int32_t>& ids) const {
  std::size_t from = ids.size();
  byte_level_ ? append_bytes(piece, ids) : append_characters(piece, ids);
  ids.size() - from <= kShort ? merge_short(ids, from) : merge_long(ids, from);
}

// The symbols are ids[from], ids[from + 1], ...: at most kShort of them.
void BpeRules::merge_short(std::vector<std::int32_t>& ids, std::size_t from) const {
  std::int32_t* symbols = ids.data() + from;
  std::size_t count = ids.size() - from;
  std::array<Rule, kShort> rules;  // of each symbol and the next
  for (std::size_t i = 0; i + 1 < count; ++i) rules[i] = rule_of(symbols[i], symbols[i + 1]);
  while (count > 1) {
    std::size_t best = 0;
    for (std::size_t i = 1; i + 1 < count; ++i) {
      if (rules[i].rank < rules[best].rank) best = i;
    }
    if (rules[best].rank == kNoRule) break;
    symbols[best] = rules[best].result;
    --count;
    for (std::size_t i = best + 1; i < count; ++i) {
      symbols[i] = symbols[i + 1];
      rules[i - 1] = rules[i];
    }
    if (best > 0) rules[best - 1] = rule_of(symbols[best - 1], symbols[best]);
    if (best + 1 < count) rules[best] = rule_of(symbols[best], symbols[best + 1]);
  }
  ids.resize(from + count);
}

// The same with the symbols as a linked list and possible merges as a heap.
void BpeRules::merge_long(std::vector<std::int32_t>& ids, std::size_t from) const {
  struct Symbol {
    std::int32_t id;
    int previous, next;  // -1: none
  };
  struct Step {
    Rule rule;
    int at;
    std::int32_t left, right;
    bool operator<(const Step& other) const {
      return rule.rank != other.rule.rank ? rule.rank > other.rule.rank : at > other.at;
    }
  };
  std::vector<Symbol> symbols;
  auto size = static_cast<int>(ids.size() - from);
  for (int i = 0; i < size; ++i)
    symbols.push_back({ids[from + static_cast<std::size_t>(i)], i - 1, i + 1 < size ? i + 1 : -1});
  auto symbol = [&](int i) -> Symbol& { return symbols[static_cast<std::size_t>(i)]; };
  std::priority_queue<Step> steps;
  auto propose = [&](int at) {
    if (at < 0 || symbol(at).next < 0) return;
    std::int32_t left = symbol(at).id, right = symbol(symbol(at).next).id;
    Rule rule = rule_of(left, right);
    if (rule.rank != kNoRule) steps.push({rule, at, left, right});
  };
  for (int i = 0; i + 1 < size; ++i) propose(i);
  while (!steps.empty()) {
    Step step = steps.top();
    steps.pop();
    Symbol& left = symbol(step.at);
    // A step is stale when one of its symbols has been merged meanwhile (a merged right one has id -1).
    if (left.id != step.left || left.next < 0 || symbol(left.next).id != step.right) continue;
    left.id = step.rule.result;
    Symbol& right = symbol(left.next);
    right.id = -1;
    left.next = right.next;
    if (left.next >= 0) symbol(left.next).previous = step.at;
    propose(left.previous);
    propose(step.at);
  }
  ids.resize(from);
  for (int i = 0; i >= 0 && i < size; i = symbol(i).next) ids.push_back(symbol(i).id);
}

}  // namespace sink
