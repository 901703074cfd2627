// What the files of this folder add to the module.
#pragma once

#include <nanobind/nanobind.h>

namespace sink::python {

void add_model(nanobind::module_& module);
void add_checkpoint(nanobind::module_& module);
void add_data(nanobind::module_& module);
void add_attention(nanobind::module_& module);
// Adds sinklab.Error, a ValueError, to the module. Errors of the engine and of files become it, and lack of memory a
// MemoryError.
void add_errors(nanobind::module_& module);

}  // namespace sink::python
