// Checkpoints as dictionaries of arrays.
#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>

#include "engine/io/checkpoint.h"
#include "tools/python/bindings/arrays.h"
#include "tools/python/bindings/bindings.h"
#include "tools/python/bindings/computation.h"

namespace sink::python {

namespace nb = nanobind;

void add_checkpoint(nb::module_& module) {
  module.def(
      "load_checkpoint",
      [](const std::string& path) {
        Checkpoint checkpoint;
        {
          Computation computation;
          checkpoint = load_checkpoint(path);
        }
        nb::dict tensors;
        for (const auto& [name, tensor] : checkpoint.tensors) tensors[nb::str(name.c_str())] = array_of(tensor);
        return nb::make_tuple(checkpoint.attributes, tensors, checkpoint.axes);
      },
      nb::arg("path"),
      "Returns the attributes, the tensors and the names of their axes, each by name. The checksum is verified.");
}

}  // namespace sink::python
