// The exceptions of the module.
#pragma once

#include <nanobind/nanobind.h>

namespace sink::python {

// Adds sinklab.Error, a ValueError, to the module. Errors of the engine and of files become it, and lack of memory a
// MemoryError.
void add_errors(nanobind::module_& module);

}  // namespace sink::python
