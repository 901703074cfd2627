// Batches of the synthetic task.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <optional>

#include "engine/data/bigram_backcopy.h"
#include "tools/python/bindings/arrays.h"
#include "tools/python/bindings/bindings.h"
#include "tools/python/bindings/computation.h"

namespace sink::python {
namespace {

namespace nb = nanobind;

BigramBackcopy* make_task(std::int64_t context, std::uint64_t seed) {
  DataConfig config;
  config.task = "bigram-backcopy";
  config.seed = seed;
  return new BigramBackcopy(config, context);
}

template <class MakeBatch>
nb::tuple arrays_of(MakeBatch&& make) {
  std::optional<Batch> made;
  {
    Computation computation;
    made = make();
  }
  const Batch& batch = *made;
  return nb::make_tuple(array_of(batch.tokens_BT(), true), array_of(batch.targets_BT(), true));
}

}  // namespace

void add_data(nb::module_& module) {
  nb::class_<BigramBackcopy>(module, "BigramBackcopy", "The synthetic task; sinklab.BigramBackcopy wraps it.")
      .def_prop_ro("entropy_floor", &BigramBackcopy::entropy_floor)
      .def_prop_ro("validation_sequences", &BigramBackcopy::validation_sequences)
      .def(
          "train_batch",
          [](const BigramBackcopy& task, std::int64_t step, std::int64_t count) {
            return arrays_of([&] { return task.train_batch(step, 0, count); });
          },
          nb::arg("step"), nb::arg("count"))
      .def(
          "validation_batch",
          [](const BigramBackcopy& task, std::int64_t count) {
            return arrays_of([&] { return task.validation_batch(0, count); });
          },
          nb::arg("count"));
  module.def("bigram_backcopy", &make_task, nb::arg("context"), nb::arg("seed"));
}

}  // namespace sink::python
