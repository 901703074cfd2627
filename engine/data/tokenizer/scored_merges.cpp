#include "engine/data/tokenizer/scored_merges.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>

namespace sink {

void set_scored_merges(BpeModel& model, const std::vector<float>& scores, const std::vector<bool>& merges_into) {
  std::unordered_map<std::string_view, std::int32_t> ids;
  for (std::size_t id = 0; id < model.bytes.size(); ++id) {
    if (merges_into[id]) ids.emplace(model.bytes[id], static_cast<std::int32_t>(id));
  }
  auto id_of = [&](std::string_view text) {
    auto found = ids.find(text);
    return found == ids.end() ? BpeModel::kNone : found->second;
  };
  model.merges.clear();
  for (const auto& [token, id] : ids) {
    for (std::size_t at = 1; at < token.size(); ++at) {
      if ((static_cast<unsigned char>(token[at]) & 0xC0) == 0x80) continue;  // inside a character
      std::int32_t left = id_of(token.substr(0, at));
      std::int32_t right = left == BpeModel::kNone ? left : id_of(token.substr(at));
      if (right != BpeModel::kNone) model.merges.push_back({left, right, id});
    }
  }
  auto score = [&](const BpeMerge& merge) { return scores[static_cast<std::size_t>(merge.result)]; };
  std::sort(model.merges.begin(), model.merges.end(), [&](const BpeMerge& a, const BpeMerge& b) {
    if (score(a) != score(b)) return score(a) > score(b);
    return a.result != b.result ? a.result < b.result : a.left < b.left;
  });
  model.ranks.resize(model.merges.size());
  for (std::size_t i = 1; i < model.merges.size(); ++i)
    model.ranks[i] = model.ranks[i - 1] + (score(model.merges[i]) != score(model.merges[i - 1]));
}

}  // namespace sink
