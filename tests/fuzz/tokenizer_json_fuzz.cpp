// Fuzzes the reader of tokenizer.json and, where it accepts, encoding with such a tokenizer.
#include "engine/data/tokenizer/tokenizer.h"
#include "engine/data/tokenizer/tokenizer_json.h"
#include "tests/fuzz/fuzz_support.h"

using namespace sink;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  may_refuse({Exit::bad_input}, [&] {
    Tokenizer tokenizer(parse_tokenizer_json(std::string(view_of(data, size)), "tokenizer.json"));
    must(tokenizer.vocabulary() <= static_cast<std::int64_t>(size), "a token takes a byte of the file");
    for (std::int32_t id : tokenizer.encode("The <|endoftext|> of   \u00e9t\u00e9 42!\n\n"))
      must(!printable(tokenizer.token_text(id)).empty() || tokenizer.decode({{id}}).empty(), "ids have a text");
    parse_tokenizer_json(tokenizer.json(), "written");
  });
  return 0;
}
