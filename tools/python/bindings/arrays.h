// Tensors as NumPy arrays and back.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include "engine/tensor.h"

namespace sink::python {

// Without a copy: the array keeps the memory of a tensor in host memory alive. BF16 becomes float32, and a tensor on a
// device is copied. `writable`: else NumPy refuses to change the elements, since other tensors may share the memory.
nanobind::object array_of(const Tensor& tensor, bool writable = false);

using Ids = nanobind::ndarray<const std::int32_t, nanobind::ndim<2>, nanobind::c_contig, nanobind::device::cpu>;
// A copy, I32 (B, T).
Tensor tensor_of(const Ids& ids_BT);

using Values = nanobind::ndarray<nanobind::ro, nanobind::c_contig, nanobind::device::cpu>;
// A copy of float32 or float64 with the shape, type and device of `like`. Throws Error (Exit::usage) for another shape
// or type.
Tensor tensor_of(const Values& values, const Tensor& like);

}  // namespace sink::python
