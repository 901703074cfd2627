#include "tools/python/bindings/arrays.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "engine/check.h"

namespace sink::python {
namespace {

namespace nb = nanobind;

nb::dlpack::dtype dtype_of_array(DType dtype) {
  if (dtype == DType::F64) return nb::dtype<double>();
  if (dtype == DType::I32) return nb::dtype<std::int32_t>();
  return nb::dtype<float>();
}

}  // namespace

nb::object array_of(const Tensor& tensor, bool writable) {
  Tensor host = tensor.to(Device::cpu);
  if (host.dtype() == DType::BF16) host = host.to(DType::F32);
  auto kept = std::make_unique<Tensor>(std::move(host));
  std::vector<std::size_t> shape;
  for (int axis = 0; axis < kept->rank(); ++axis) shape.push_back(static_cast<std::size_t>(kept->dim(axis)));
  const nb::dlpack::dtype dtype = dtype_of_array(kept->dtype());
  void* data = kept->raw();
  nb::capsule owner(kept.get(), [](void* pointer) noexcept { delete static_cast<Tensor*>(pointer); });
  kept.release();
  if (writable) return nb::cast(nb::ndarray<nb::numpy>(data, shape.size(), shape.data(), owner, nullptr, dtype));
  return nb::cast(nb::ndarray<nb::numpy, nb::ro>(data, shape.size(), shape.data(), owner, nullptr, dtype));
}

Tensor tensor_of(const Ids& ids_BT) {
  Tensor tensor = Tensor::empty(
      {static_cast<std::int64_t>(ids_BT.shape(0)), static_cast<std::int64_t>(ids_BT.shape(1))}, DType::I32);
  std::copy_n(ids_BT.data(), ids_BT.size(), tensor.data<std::int32_t>());
  return tensor;
}

Tensor tensor_of(const Values& values, const Tensor& like) {
  bool fits = static_cast<int>(values.ndim()) == like.rank();
  for (int axis = 0; fits && axis < like.rank(); ++axis)
    fits = static_cast<std::int64_t>(values.shape(static_cast<std::size_t>(axis))) == like.dim(axis);
  const bool is_double = values.dtype() == nb::dtype<double>();
  SINK_CHECK(fits && (is_double || values.dtype() == nb::dtype<float>()), "hook",
             "expected an array of float32 or float64 with the shape " + like.shape().str(), Exit::usage);
  Tensor tensor = Tensor::empty(like.shape(), is_double ? DType::F64 : DType::F32);
  std::copy_n(static_cast<const std::byte*>(values.data()), tensor.bytes(), static_cast<std::byte*>(tensor.raw()));
  return tensor.to(like.dtype()).to(like.device());
}

}  // namespace sink::python
