#include "eval/text_lines.h"

#include <algorithm>
#include <cstdio>

#include "engine/check.h"
#include "engine/io/json_lines.h"

namespace sink {

TextLines read_text_lines(const std::string& path, const Tokenizer& tokenizer, const TextCut& cut) {
  const std::int64_t T = cut.context;
  const bool fixed = cut.fixed_token >= 0 && cut.fixed_position <= T;
  std::vector<std::int32_t> tokens;
  std::vector<std::string> domains;
  std::int64_t short_ones = 0;
  for_each_json_line("text", path, [&](const nlohmann::json& object, std::int64_t) {
    const auto text = object.find("text"), domain = object.find("domain");
    if (text == object.end() || !text->is_string()) throw JsonFailure("expected a text `text`");
    if (domain != object.end() && !domain->is_string()) throw JsonFailure("expected a text as `domain`");
    std::vector<std::int32_t> ids = tokenizer.encode(text->get_ref<const std::string&>());
    if (static_cast<std::int64_t>(ids.size()) < T - fixed) {
      ++short_ones;
      return true;
    }
    if (fixed) ids.insert(ids.begin() + (cut.fixed_position - 1), static_cast<std::int32_t>(cut.fixed_token));
    tokens.insert(tokens.end(), ids.begin(), ids.begin() + T);
    domains.push_back(domain == object.end() ? "" : domain->get<std::string>());
    return true;
  });
  SINK_CHECK(!domains.empty(), "text",
             path + " has no text of " + std::to_string(T) + " tokens: give longer ones or a smaller --context",
             Exit::bad_input);
  if (short_ones > 0)
    std::fprintf(stderr, "note: %lld texts have fewer than %lld tokens and are left out\n",
                 static_cast<long long>(short_ones), static_cast<long long>(T));
  TextLines lines{.tokens_NT = Tensor::empty({static_cast<std::int64_t>(domains.size()), T}, DType::I32),
                  .domains = std::move(domains)};
  std::copy(tokens.begin(), tokens.end(), lines.tokens_NT.data<std::int32_t>());
  return lines;
}

}  // namespace sink
