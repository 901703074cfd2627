// Fuzzes the reader of tokenizer.json and, where it accepts, encoding with such a tokenizer: a text of our own and one
// out of the input.
#include "engine/data/tokenizer/tokenizer.h"
#include "engine/data/tokenizer/tokenizer_json.h"
#include "engine/io/utf8.h"
#include "tests/fuzz/fuzz_support.h"

using namespace sink;

namespace {

void encode_with(const Tokenizer& tokenizer, const Tokenizer& again, std::string_view text, EncodeCache& cache) {
  std::vector<std::int32_t> ids = tokenizer.encode(text, cache);
  must(ids == tokenizer.encode(text, cache), "what the cache has met before is the same");
  must(ids == again.encode(text), "a tokenizer that was written and read is the same");
  must(tokenizer.encode_with_special_tokens(text, cache).size() >= ids.size(), "special tokens stand around the text");
  for (std::int32_t id : ids)
    must(!printable(tokenizer.token_text(id)).empty() || tokenizer.decode({{id}}).empty(), "ids have a text");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  may_refuse({Exit::bad_input}, [&] {
    std::string_view input = view_of(data, size);
    Tokenizer tokenizer(parse_tokenizer_json(std::string(input), "tokenizer.json"));
    must(tokenizer.vocabulary() <= static_cast<std::int64_t>(size), "a token takes a byte of the file");
    Tokenizer again(parse_tokenizer_json(tokenizer.json(), "written"));
    EncodeCache cache;
    encode_with(tokenizer, again, "The <|endoftext|> of   e\u0301t\u00e9 142'S !\n\n \u1100\u1161", cache);
    encode_with(tokenizer, again, utf8_prefix(input.substr(0, utf8_valid_prefix(input)), 5000), cache);
  });
  return 0;
}
