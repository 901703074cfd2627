// Fuzzes results.csv, which people may have edited: what is read can be written, and comes back the same.
#include "tests/fuzz/fuzz_support.h"
#include "tools/report/results_csv.h"

using namespace sink;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  may_refuse({Exit::bad_input}, [&] {
    const auto runs = report::read_results_csv(std::string(view_of(data, size)), "runs.csv");
    if (runs.empty()) return;
    const std::string written = report::results_csv(runs);
    must(report::results_csv(report::read_results_csv(written, "again.csv")) == written,
         "what was read and written reads back to the same file");
  });
  return 0;
}
