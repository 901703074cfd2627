// Tensor: a contiguous, row-major block of elements with a shape and an element type. Copying a Tensor shares its
// memory; clone() copies it. It is on the CPU or on another device, where only operations can access the elements.
#pragma once

#include <memory>
#include <vector>

#include "engine/dtype.h"
#include "engine/shape.h"
#include "engine/storage.h"

namespace sink {

class Tensor {
 public:
  Tensor() = default;  // undefined: holds nothing

  static Tensor empty(const Shape& shape, DType dtype = DType::F32, Device device = Device::cpu);
  // A view of another library's memory, which must stay valid as long as this tensor, its copies and its views. No
  // tensor frees it, and unique() is false.
  static Tensor from_blob(void* data, const Shape& shape, DType dtype, Device device = Device::cpu);
  // With the shape, type and device of another.
  static Tensor empty_like(const Tensor& other);
  static Tensor zeros(const Shape& shape, DType dtype = DType::F32, Device device = Device::cpu);
  static Tensor full(const Shape& shape, double value, DType dtype = DType::F32, Device device = Device::cpu);
  // On the device of this tensor.
  Tensor new_empty(const Shape& shape, DType dtype) const { return empty(shape, dtype, device()); }
  Tensor new_zeros(const Shape& shape, DType dtype) const { return zeros(shape, dtype, device()); }
  template <class T>
  static Tensor from(const Shape& shape, const std::vector<T>& values);
  // (rows, columns) of f(row, column).
  template <class T, class F>
  static Tensor table(std::int64_t rows, std::int64_t columns, F&& f);

  bool defined() const { return storage_ != nullptr; }
  // Nothing else shares the memory.
  bool unique() const { return storage_.use_count() == 1 && !storage_->borrowed; }
  const Shape& shape() const { return shape_; }
  int rank() const { return shape_.rank(); }
  std::int64_t dim(int axis) const { return shape_[axis]; }
  std::int64_t size() const { return shape_.size(); }
  DType dtype() const { return dtype_; }
  Device device() const { return storage_ ? storage_->device : Device::cpu; }
  std::size_t bytes() const { return static_cast<std::size_t>(size()) * size_of(dtype_); }

  // Pointer to the first element of a tensor on the CPU; T must be the element type.
  template <class T>
  T* data() {
    check(dtype_of<T>, Device::cpu);
    return static_cast<T*>(base_);
  }
  template <class T>
  const T* data() const {
    check(dtype_of<T>, Device::cpu);
    return static_cast<const T*>(base_);
  }
  // The same on the CUDA device: for kernels, not for host code.
  template <class T>
  T* device_data() {
    check(dtype_of<T>, Device::cuda);
    return static_cast<T*>(base_);
  }
  template <class T>
  const T* device_data() const {
    check(dtype_of<T>, Device::cuda);
    return static_cast<const T*>(base_);
  }
  void* raw() {
    check(dtype_, Device::cpu);
    return base_;
  }
  const void* raw() const {
    check(dtype_, Device::cpu);
    return base_;
  }
  // Whether both begin at the same address.
  bool same_data_ptr(const Tensor& other) const { return base_ == other.base_; }

  // A view with another shape of equal size.
  Tensor reshape(const Shape& shape) const;
  // A view of [begin, end) of the first axis.
  Tensor rows(std::int64_t begin, std::int64_t end) const;
  // A view of the elements from `begin` on, as many as `shape` has. It keeps the memory alive; unique() of the view
  // counts only copies of the view.
  Tensor slice(std::int64_t begin, const Shape& shape) const;
  Tensor clone() const;
  // Converts between the real types (the result shares the memory if the type is the same).
  Tensor to(DType dtype) const;
  // The same values on a device (shared if they are already there).
  Tensor to(Device device) const;
  void fill(double value);
  // Copies values (converting between real types) from a tensor of equal size, on any device.
  void copy_from(const Tensor& source);
  // The only element of a tensor of size 1, or element i, as double.
  double item(std::int64_t i = 0) const;
  // "f32 (2, 8, 64)", "f32 (2, 8, 64) on cuda"
  std::string str() const;

 private:
  void check(DType asked, Device where) const {
    if (asked != dtype_ || where != device()) [[unlikely]]
      refuse(asked, where);
  }
  void copy_across(const Tensor& source);
  [[noreturn]] void refuse(DType asked, Device where) const;

  std::shared_ptr<Storage> storage_;
  void* base_ = nullptr;
  Shape shape_;
  DType dtype_ = DType::F32;
};

template <class T>
Tensor Tensor::from(const Shape& shape, const std::vector<T>& values) {
  SINK_CHECK(shape.size() == static_cast<std::int64_t>(values.size()), "tensor",
             "shape " + shape.str() + " needs " + std::to_string(shape.size()) + " values, got " +
                 std::to_string(values.size()));
  Tensor tensor = empty(shape, dtype_of<T>);
  T* data = tensor.data<T>();
  for (std::size_t i = 0; i < values.size(); ++i) data[i] = values[i];
  return tensor;
}

template <class T, class F>
Tensor Tensor::table(std::int64_t rows, std::int64_t columns, F&& f) {
  Tensor tensor = empty({rows, columns}, dtype_of<T>);
  T* next = tensor.data<T>();
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t column = 0; column < columns; ++column) *next++ = static_cast<T>(f(row, column));
  return tensor;
}

}  // namespace sink
