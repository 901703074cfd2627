// Fuzzes read_scored_items.
#include "eval/score/scored_item.h"
#include "tests/fuzz/fuzz_support.h"

using namespace sink;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  FuzzFile on_disk(view_of(data, size));
  may_refuse({Exit::bad_input}, [&] {
    for (const ScoredItem& item : read_scored_items(on_disk.path(), 0)) {
      must(!item.pairs.empty() && item.line > 0, "a pair, and where it stands");
      must(!item.gold || (*item.gold < item.pairs.size() && item.bytes.size() == item.pairs.size()), "a right choice");
    }
  });
  return 0;
}
