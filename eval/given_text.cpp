#include "eval/given_text.h"

#include <algorithm>
#include <cstdio>
#include <memory>

#include "engine/data/tokenizer/tokenizer_json.h"
#include "engine/tensor_view.h"

namespace sink {
namespace {

constexpr const char* kTokenizerAttribute = "tokenizer_json";

void require_ids(const std::vector<std::int32_t>& ids, std::int64_t vocabulary) {
  for (std::int32_t id : ids)
    SINK_CHECK(id >= 0 && id < vocabulary, "text",
               "the text has token " + std::to_string(id) + ", the model's vocabulary " + std::to_string(vocabulary) +
                   " tokens: give the tokenizer that the model was trained with",
               Exit::bad_input);
}

}  // namespace

Tokenizer tokenizer_of(const Checkpoint& checkpoint, const std::string& data_folder) {
  if (checkpoint.attributes.contains(kTokenizerAttribute))
    return Tokenizer(parse_tokenizer_json(checkpoint.attribute(kTokenizerAttribute),
                                          checkpoint.path + " (" + kTokenizerAttribute + ")"));
  if (!data_folder.empty()) return Tokenizer::load(data_folder + "/tokenizer.json");
  throw Error(checkpoint.path + " has no tokenizer: give --data FOLDER, where `prepare` wrote tokenizer.json, or the " +
                  "token ids themselves with --tokens FILE",
              Exit::usage);
}

std::function<std::string(std::int32_t)> token_labels(const Checkpoint& checkpoint, const DataSource* data) {
  if (data) return [data](std::int32_t id) { return data->token_text(id); };
  if (!checkpoint.attributes.contains(kTokenizerAttribute)) return [](std::int32_t id) { return std::to_string(id); };
  auto tokenizer = std::make_shared<Tokenizer>(tokenizer_of(checkpoint, ""));
  return [tokenizer](std::int32_t id) {
    return id < tokenizer->vocabulary() ? tokenizer->token_text(id) : std::to_string(id);
  };
}

Tensor text_sequences(const Tokenizer& tokenizer, const std::string& text, const TextCut& cut) {
  std::vector<std::int32_t> ids = tokenizer.encode(text);
  require_ids(ids, cut.vocabulary);
  auto count = static_cast<std::int64_t>(ids.size());
  // A sequence that ends before its place has none.
  bool fixed =
      cut.fixed_token >= 0 && cut.fixed_position <= (cut.context > 0 ? cut.context : std::min(cut.longest, count + 1));
  if (fixed) require_ids({static_cast<std::int32_t>(cut.fixed_token)}, cut.vocabulary);
  std::int64_t T = cut.context > 0 ? cut.context : std::min(cut.longest, count + fixed), own = T - fixed;
  SINK_CHECK(count > 0 && T >= cut.least, "text",
             std::string("expected text of at least ") + (cut.least == 1 ? "one token" : "two tokens") + ", got " +
                 std::to_string(count) + (fixed ? " and a fixed one" : ""),
             Exit::bad_input);
  SINK_CHECK(count >= own, "text",
             "the text has " + std::to_string(count + fixed) + " tokens, --context asks for " + std::to_string(T) +
                 ": give more text or a smaller --context",
             Exit::bad_input);
  std::int64_t N = count / own;
  if (std::int64_t left = count - N * own; left > 0)
    std::fprintf(stderr, "note: the last %lld of %lld tokens fill no sequence of %lld and are left out\n",
                 static_cast<long long>(left), static_cast<long long>(count), static_cast<long long>(T));
  Tensor tokens = Tensor::empty({N, T}, DType::I32);
  auto tokens_NT = view<std::int32_t, 2>(tokens);
  for (std::int64_t n = 0; n < N; ++n) {
    const std::int32_t* next = ids.data() + n * own;
    for (std::int64_t t = 0; t < T; ++t)
      tokens_NT(n, t) = fixed && t + 1 == cut.fixed_position ? static_cast<std::int32_t>(cut.fixed_token) : *next++;
  }
  return tokens;
}

}  // namespace sink
