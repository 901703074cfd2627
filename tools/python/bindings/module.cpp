// sinklab._core: the engine for the Python package, which checks and converts arguments and documents them.
#include <nanobind/nanobind.h>

#include "engine/io/build_info.h"
#include "tools/python/bindings/bindings.h"
#include "tools/python/bindings/computation.h"

NB_MODULE(_core, module) {
  module.doc() = "The engine of sinklab. Use the package sinklab, which documents its functions.";
  module.attr("__version__") = sink::build_version().c_str();
  nanobind::set_leak_warnings(false);  // a thread that sleeps at exit keeps its model
  sink::python::add_errors(module);
  sink::python::add_exit_handler();
  sink::python::add_model(module);
  sink::python::add_checkpoint(module);
  sink::python::add_data(module);
  sink::python::add_attention(module);
}
