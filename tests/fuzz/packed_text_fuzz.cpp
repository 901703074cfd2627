// Fuzzes TextInput, which unpacks gzip and zstd.
#include <string>

#include "tests/fuzz/fuzz_support.h"
#include "tools/prepare/text_input.h"

using namespace sink;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  FuzzFile on_disk(view_of(data, size));
  may_refuse({Exit::bad_input}, [&] {
    constexpr std::size_t kEnough = std::size_t{1} << 24;  // bytes of a bomb
    TextInput input(on_disk.path());
    std::string piece(1 << 16, '\0'), head;
    std::size_t all = 0;
    while (std::size_t got = input.read(piece.data(), piece.size())) {
      must(got <= piece.size(), "no more than there is room for");
      if (all < size) head.append(piece, 0, got);
      if ((all += got) > kEnough) return;
    }
    bool packed = size >= 4 && (view_of(data, 2) == "\x1f\x8b" || view_of(data + 1, 3) == "\xb5\x2f\xfd" ||
                                view_of(data + 1, 3) == "\x2a\x4d\x18");
    must(packed || head == view_of(data, size), "what is not packed is read as it is");
  });
  return 0;
}
