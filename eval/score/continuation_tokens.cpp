#include "eval/score/continuation_tokens.h"

#include <algorithm>

#include "engine/io/bounded_json.h"
#include "engine/io/utf8.h"

namespace sink {
namespace {

// What str.strip of Python takes away.
bool is_white_space(std::uint32_t c) {
  return (c >= 0x09 && c <= 0x0d) || (c >= 0x1c && c <= 0x20) || c == 0x85 || c == 0xa0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f || c == 0x3000;
}

}  // namespace

std::size_t without_white_space_at_end(std::string_view text) {
  std::size_t end = 0;
  for (std::size_t at = 0; at < text.size();) {
    std::uint32_t code = 0;
    at += static_cast<std::size_t>(std::max(1, utf8_length(text, at, &code)));
    if (!is_white_space(code)) end = at;
  }
  return end;
}

std::vector<ContinuationTokens> PairEncoder::operator()(const ScorePair& pair, EncodeCache& cache) const {
  const std::string context = pair.context.substr(0, without_white_space_at_end(pair.context));
  std::vector<std::int32_t> ids = tokenizer.encode(pair.context + pair.continuation, cache);
  std::size_t before = tokenizer.encode(context, cache).size();
  const std::vector<std::int32_t> first = before > 0 || !begin.empty() ? begin : std::vector<std::int32_t>{prefix};
  if (first == std::vector<std::int32_t>{-1})
    throw JsonFailure("expected a context, as the tokenizer has no token to begin with: give --prefix-token");
  if (ids.size() < first.size() || !std::equal(first.begin(), first.end(), ids.begin())) {
    ids.insert(ids.begin(), first.begin(), first.end());
    before += first.size();
  }
  before = std::max(before, first.size());
  if (pair.continuation.empty() || ids.size() <= before)
    throw JsonFailure("expected a continuation with a token of its own behind the context");
  const std::size_t scored = ids.size() - before, room = static_cast<std::size_t>(longest);
  if (scored > room && !context.empty())
    throw JsonFailure("the continuation has " + std::to_string(scored) + " tokens, the model reads at most " +
                      std::to_string(longest));
  std::vector<ContinuationTokens> parts;
  for (std::size_t done = 0; done < scored;) {
    const std::size_t part = std::min(scored - done, room);
    done += part;
    const std::size_t end = before + done, first = end > room + 1 ? end - room - 1 : 0;
    parts.push_back(
        {{ids.begin() + static_cast<std::ptrdiff_t>(first), ids.begin() + static_cast<std::ptrdiff_t>(end)}, part});
  }
  return parts;
}

}  // namespace sink
