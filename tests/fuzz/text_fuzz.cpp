// Fuzzes what `prepare` does with text: documents, learning byte pairs, encoding and decoding.
#include <filesystem>

#include "engine/data/tokenizer/tokenizer.h"
#include "tests/fuzz/fuzz_support.h"
#include "tools/prepare/documents.h"

using namespace sink;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string text(view_of(data, size));
  text.resize(std::max<std::size_t>(text.size(), 1000), 'a');  // shorter ones are refused at once
  FuzzFile on_disk(text);
  may_refuse({Exit::bad_input}, [&] {
    std::vector<TextFile> files = read_text_files({on_disk.path()});
    std::vector<std::string_view> documents = documents_of(files);
    if (documents.empty()) return;
    Tokenizer tokenizer = Tokenizer::train(documents, 300);
    EncodeCache cache;
    for (std::string_view document : documents) {
      std::vector<std::int32_t> ids = tokenizer.encode(document, cache);
      must(tokenizer.decode(ids) == document, "decode(encode(text)) is the text");
    }
  });
  return 0;
}
