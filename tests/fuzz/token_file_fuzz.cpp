// Fuzzes read_token_file, the reader of tokens.h5. The input is what follows the seal; see checkpoint_fuzz.cpp.
#include "engine/data/token_file.h"
#include "engine/io/seal.h"
#include "tests/fuzz/fuzz_support.h"

using namespace sink;

extern "C" const char* __lsan_default_suppressions() { return "leak:libhdf5"; }

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  std::string_view rest = view_of(data + 1, size - 1);
  constexpr SealKind kind{.word = "tokens", .noun = "", .version = 1, .damaged = Exit::ok, .origin = "", .remedy = ""};
  FuzzFile on_disk(data[0] & 1 ? std::string(rest) : make_seal(kind, rest.data(), rest.size()).append(rest));
  may_refuse({Exit::bad_input}, [&] {
    TokenFile file = read_token_file(on_disk.path());
    for (const auto* tokens : {&file.train, &file.valid}) {
      must(tokens->size() <= size, "a token takes a byte");
      for (std::int32_t id : *tokens) must(id >= 0 && id < file.vocabulary, "ids are in the vocabulary");
    }
  });
  return 0;
}
