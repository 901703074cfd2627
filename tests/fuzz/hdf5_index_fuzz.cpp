// Fuzzes decode_hdf5_index: what a child that read an HDF5 file, and may have been taken over by it, reports.
#include "engine/io/hdf5_index.h"
#include "tests/fuzz/fuzz_support.h"

using namespace sink;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::uint64_t kFile = 100000;
  Hdf5Index index;
  try {
    index = decode_hdf5_index(view_of(data, size), kFile);
  } catch (const Hdf5Failure&) { return 0; }
  std::uint64_t bytes = 0;
  for (const Hdf5Dataset& dataset : index.datasets) {
    if (!dataset.problem.empty() || dataset.shape.size() == 0) continue;
    must(dataset.offset + dataset.bytes() <= kFile, "a dataset stands in its file");
    bytes += dataset.bytes();
  }
  must(bytes <= kFile, "datasets together are no larger than their file");
  try {  // what was accepted is said again in the same bytes, once it is in order
    std::string again = encode_hdf5_index(index);
    must(encode_hdf5_index(decode_hdf5_index(again, kFile)) == again, "a sound report comes back");
  } catch (const Hdf5Failure&) { must(false, "a sound report is accepted"); }
  return 0;
}
