// Fuzzes the vocabularies with scores: the reader of llama2.c's files, and the same tokens as the values of a GGUF
// file, whose types and flags are the input's first bytes; then merging by scores, encoding and decoding.
#include "engine/data/tokenizer/gguf_vocabulary.h"
#include "engine/data/tokenizer/scored_vocabulary.h"
#include "engine/data/tokenizer/tokenizer.h"
#include "engine/data/tokenizer/tokenizer_json.h"
#include "engine/io/utf8.h"
#include "tests/fuzz/fuzz_support.h"

using namespace sink;

namespace {

void encode_scored(const BpeModel& model, std::string_view text) {
  Tokenizer tokenizer(model), again(parse_tokenizer_json(to_tokenizer_json(model), "written"));
  EncodeCache cache;
  std::vector<std::int32_t> ids = tokenizer.encode(text, cache);
  must(ids == tokenizer.encode(text, cache), "what the cache has met before is the same");
  must(ids == again.encode(text), "a tokenizer that was written and read is the same");
  must(tokenizer.decode(ids) == again.decode(ids), "and decodes the same");
  bool has_added = false;
  for (std::int32_t id : ids) {
    for (const AddedToken& token : model.added) has_added = has_added || token.id == id;
  }
  if (!has_added && tokenizer.bytes_without_token() == 0 && text.find("\u2581") == std::string_view::npos)
    must(tokenizer.decode(ids) == text, "decode(encode(text)) is the text");
}

// The fields of a vocabulary from the input: a string ends at a line end, an integer is one byte.
GgufVocabulary values_of(std::string_view input) {
  GgufVocabulary values;
  auto byte = [&] {
    auto first = static_cast<unsigned char>(input.empty() ? 0 : input[0]);
    input.remove_prefix(!input.empty());
    return first;
  };
  int flags = byte();
  static constexpr const char* kPre[] = {"gpt-2",     "qwen2",  "gpt-4o", "default",
                                         "llama-bpe", "tekken", "smollm", "none"};
  values.model = flags & 1 ? "gpt2" : "llama";
  values.pre = kPre[flags >> 1 & 7];
  values.add_space_prefix = flags & 16;
  values.add_bos_token = flags & 32;
  values.bos_token_id = byte();
  while (!input.empty()) {
    int type = byte();
    std::string line(input.substr(0, input.find('\n')));
    input.remove_prefix(std::min(line.size() + 1, input.size()));
    if (type == 'm') {
      values.merges.push_back(line);
      continue;
    }
    values.token_types.push_back(type % 8);
    values.scores.push_back(static_cast<float>(type >> 3));
    values.tokens.push_back(line);
  }
  return values;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  std::string_view input = view_of(data + 1, size - 1);
  std::string text = "the <s>  other\t e\u0301 \u4e2d\n";
  text += utf8_prefix(input.substr(0, utf8_valid_prefix(input)), 2000);
  may_refuse({Exit::bad_input}, [&] {
    BpeModel model = data[0] & 1 ? gguf_model(values_of(input), "a.gguf")
                                 : read_llama2c_vocabulary(std::string(input), "tokenizer.bin");
    must(model.bytes.size() <= size && model.merges.size() <= size, "what is read takes bytes of the file");
    encode_scored(model, text);
  });
  return 0;
}
