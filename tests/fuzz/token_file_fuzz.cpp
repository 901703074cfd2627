// Fuzzes read_token_file, the reader of tokens.h5. The input follows the checksum header; see checkpoint_fuzz.cpp.
#include <algorithm>

#include "engine/data/token_file.h"
#include "tests/fuzz/fuzz_support.h"
#include "tests/fuzz/hdf5_fuzz.h"

using namespace sink;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  std::string_view rest = view_of(data + 1, size - 1);
  FileFormat kind = kTokenFormat;
  kind.version = data[0] & 2 ? 1 : data[0] & 4 ? 3 : 2;
  FuzzFile on_disk(data[0] & 1 ? std::string(rest) : make_checksum_header(kind, rest.data(), rest.size()).append(rest));
  may_refuse({Exit::bad_input}, [&] {
    TokenFile file = read_token_file(on_disk.path());
    std::int64_t train = 0, valid = 0;
    for (const TextDomain& domain : file.domains) {
      train += domain.train_tokens;
      valid += domain.valid_tokens;
    }
    must(train == file.train.size() && valid == file.valid.size(), "every token is of a domain");
    for (auto [ids, marks] : {std::pair{&file.train, &file.train_predicted}, {&file.valid, &file.valid_predicted}}) {
      must(marks->all() || marks->bytes().size() == static_cast<std::size_t>(ids->size() + 15) / 16 * 2,
           "a bit a token");
      std::int64_t predicted = 0;
      for (std::int64_t t = 0; t < ids->size(); ++t) predicted += marks->has(t);
      must(predicted <= ids->size(), "no more are predicted than there are");
      must(ids->size() <= static_cast<std::int64_t>(size), "a token takes a byte");
      std::vector<std::int32_t> all(static_cast<std::size_t>(ids->size()));
      ids->copy(0, ids->size(), all.data());
    }
  });
  return 0;
}
