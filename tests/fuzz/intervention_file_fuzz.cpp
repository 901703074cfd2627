// Fuzzes the TOML of interventions.
#include "eval/interventions/intervention_file.h"
#include "tests/fuzz/fuzz_support.h"

using namespace sink;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  may_refuse({Exit::usage}, [&] {
    for (const Intervention& one : interventions_from_toml(std::string(view_of(data, size)), "a.toml")) {
      must(!one.name.empty() && !one.meaning.empty(), "an intervention has a name and says what it does");
      for (std::int64_t token : one.tokens) must(token >= 1, "tokens count from 1");
      const Quantisation& how = one.quantisation;
      must(one.what != Intervention::What::quantise || how.weight_bits > 0 || how.input_bits > 0,
           "something is rounded");
      must(how.weight_bits != 1 && how.input_bits != 1 && how.weights != Grain::token, "a grid has steps");
      must(one.what != Intervention::What::clip || (one.largest > 0) != (one.medians > 0), "a clip has one bound");
    }
  });
  return 0;
}
