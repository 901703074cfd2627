// Fuzzes what `prepare` does with text: documents of plain text and of JSONL (the first byte says which), learning byte
// pairs, encoding and decoding.
#include "engine/data/tokenizer/tokenizer.h"
#include "tests/fuzz/fuzz_support.h"
#include "tools/prepare/documents.h"

using namespace sink;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  FuzzFile on_disk(view_of(data + 1, size - 1));
  may_refuse({Exit::bad_input}, [&] {
    constexpr std::size_t kLongest = 100000;
    DocumentReader reader(on_disk.path(), data[0] & 1, {.max_bytes = kLongest});
    std::vector<std::string> documents;
    std::size_t bytes = 0;
    for (std::string document; reader.next(document); documents.push_back(document)) {
      must(document.size() <= kLongest, "documents are no longer than is allowed");
      bytes += document.size();
    }
    must(bytes <= size && reader.bytes() == size - 1, "no text comes from nowhere, and all is read");
    if (documents.empty() || bytes < 2) return;
    Tokenizer tokenizer = Tokenizer::train({documents.begin(), documents.end()}, 300);
    EncodeCache cache;
    for (const std::string& document : documents) {
      std::vector<std::int32_t> ids = tokenizer.encode(document, cache);
      must(tokenizer.decode(ids) == document, "decode(encode(text)) is the text");
    }
  });
  return 0;
}
