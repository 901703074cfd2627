// Checkpoints as dictionaries of arrays.
#include <nanobind/nanobind.h>

#include <map>
#include <string>

#include "engine/io/checkpoint.h"
#include "tools/python/bindings/arrays.h"
#include "tools/python/bindings/bindings.h"
#include "tools/python/bindings/computation.h"

namespace sink::python {

namespace nb = nanobind;

namespace {

// Bytes that are not UTF-8, as of the path of an imported file, become surrogates, as in os.fsdecode.
nb::object text_of(const std::string& bytes) {
  return nb::steal(PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()), "surrogateescape"));
}

nb::dict texts_of(const std::map<std::string, std::string>& map) {
  nb::dict texts;
  for (const auto& [name, value] : map) texts[text_of(name)] = text_of(value);
  return texts;
}

}  // namespace

void add_checkpoint(nb::module_& module) {
  module.def(
      "load_checkpoint",
      [](const nb::bytes& path) {
        const std::string given(path.c_str(), path.size());
        Checkpoint checkpoint;
        {
          Computation computation;
          checkpoint = load_checkpoint(given);
        }
        nb::dict tensors;
        for (const auto& [name, tensor] : checkpoint.tensors) tensors[text_of(name)] = array_of(tensor);
        return nb::make_tuple(texts_of(checkpoint.attributes), tensors, texts_of(checkpoint.axes));
      },
      nb::arg("path"),
      "Returns the attributes, the tensors and the names of their axes, each by name. The checksum is verified.");
}

}  // namespace sink::python
