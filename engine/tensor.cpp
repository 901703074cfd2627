#include "engine/tensor.h"

#include <cstring>

#include "engine/recording.h"
#include "engine/threads.h"

namespace sink {

Tensor Tensor::empty(const Shape& shape, DType dtype, Device device) {
  Tensor tensor;
  tensor.shape_ = shape;
  tensor.dtype_ = dtype;
  tensor.storage_ = allocate(tensor.bytes(), device);
  if (!tensor.storage_)
    refuse_memory(tensor.bytes(), std::string("a tensor ") + name_of(dtype) + " " + shape.str(), device);
  tensor.base_ = tensor.storage_->data;
  return tensor;
}

Tensor Tensor::from_blob(void* data, const Shape& shape, DType dtype, Device device) {
  SINK_CHECK(data || shape.size() == 0, "from_blob", "the address of " + shape.str() + " elements is null");
  Tensor tensor;
  tensor.shape_ = shape;
  tensor.dtype_ = dtype;
  tensor.storage_ = std::make_shared<Storage>();
  tensor.storage_->device = device;
  tensor.storage_->borrowed = true;
  tensor.storage_->data = tensor.base_ = data;
  tensor.storage_->bytes = tensor.bytes();
  return tensor;
}

Tensor Tensor::empty_like(const Tensor& other) { return other.new_empty(other.shape_, other.dtype_); }

Tensor Tensor::zeros(const Shape& shape, DType dtype, Device device) {
  if (device != Device::cpu) return full(shape, 0, dtype, device);
  Tensor tensor = empty(shape, dtype);
  auto* bytes = static_cast<char*>(tensor.raw());
  parallel_chunks(static_cast<std::int64_t>(tensor.bytes()), std::int64_t{1} << 16,
                  [&](std::int64_t begin, std::int64_t end) { std::memset(bytes + begin, 0, end - begin); });
  return tensor;
}

Tensor Tensor::full(const Shape& shape, double value, DType dtype, Device device) {
  Tensor tensor = empty(shape, dtype, device);
  tensor.fill(value);
  return tensor;
}

Tensor Tensor::reshape(const Shape& shape) const {
  SINK_CHECK(shape.size() == size(), "reshape",
             "the new shape must have as many elements: " + shape_.str() + " to " + shape.str());
  Tensor tensor = *this;
  tensor.shape_ = shape;
  return tensor;
}

Tensor Tensor::rows(std::int64_t begin, std::int64_t end) const {
  SINK_CHECK(rank() >= 1 && 0 <= begin && begin <= end && end <= dim(0), "rows",
             "rows [" + std::to_string(begin) + ", " + std::to_string(end) + ") are not in " + shape_.str());
  Tensor tensor = *this;
  std::int64_t row_bytes = dim(0) ? static_cast<std::int64_t>(bytes()) / dim(0) : 0;
  tensor.base_ = static_cast<char*>(base_) + begin * row_bytes;
  tensor.shape_[0] = end - begin;
  return tensor;
}

Tensor Tensor::slice(std::int64_t begin, const Shape& shape) const {
  SINK_CHECK(
      0 <= begin && begin + shape.size() <= size(), "slice",
      "elements [" + std::to_string(begin) + ", " + std::to_string(begin + shape.size()) + ") are not in " + str());
  Tensor tensor = *this;
  tensor.storage_ = std::shared_ptr<Storage>(storage_.get(), [owner = storage_](Storage*) {});
  tensor.base_ = static_cast<char*>(base_) + begin * static_cast<std::int64_t>(size_of(dtype_));
  tensor.shape_ = shape;
  return tensor;
}

Tensor Tensor::clone() const {
  Tensor tensor = empty_like(*this);
  tensor.copy_from(*this);
  return tensor;
}

Tensor Tensor::to(DType dtype) const {
  if (dtype == dtype_) return *this;
  Tensor tensor = new_empty(shape_, dtype);
  tensor.copy_from(*this);
  return tensor;
}

Tensor Tensor::to(Device device) const {
  if (!defined() || device == this->device()) return *this;
  Tensor tensor = empty(shape_, dtype_, device);
  tensor.copy_from(*this);
  return tensor;
}

void Tensor::fill(double value) {
  if (device() != Device::cpu) return memory_of(device()).fill(*this, value);
  if (dtype_ == DType::I32) {
    for (std::int64_t i = 0; i < size(); ++i) data<std::int32_t>()[i] = static_cast<std::int32_t>(value);
    return;
  }
  with_real(dtype_, [&](auto zero) {
    using R = decltype(zero);
    R* out = data<R>();
    R element;
    store(element, value);
    parallel_chunks(size(), 1 << 15, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) out[i] = element;
    });
  });
}

void Tensor::copy_from(const Tensor& source) {
  SINK_CHECK(source.size() == size(), "copy", "sizes differ: " + source.str() + " into " + str());
  if (device() != Device::cpu || source.device() != Device::cpu) return copy_across(source);
  if (source.dtype_ == dtype_) {
    auto* to = static_cast<char*>(raw());
    auto* from = static_cast<const char*>(source.raw());
    parallel_chunks(static_cast<std::int64_t>(bytes()), std::int64_t{1} << 16,
                    [&](std::int64_t begin, std::int64_t end) { std::memcpy(to + begin, from + begin, end - begin); });
    return;
  }
  with_real(dtype_, [&](auto to_zero) {
    with_real(source.dtype_, [&](auto from_zero) {
      using To = decltype(to_zero);
      using From = decltype(from_zero);
      To* to = data<To>();
      const From* from = source.data<From>();
      parallel_chunks(size(), 1 << 15, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) store(to[i], from[i]);
      });
    });
  });
}

void Tensor::copy_across(const Tensor& source) {
  if (source.device() == device()) return memory_of(device()).convert(source, *this);
  refuse_copy_while_recording();
  Tensor same_type = source.to(dtype_);  // where the source is
  if (device() == Device::cpu) {
    memory_of(source.device()).copy_out(base_, same_type.base_, bytes());
  } else {
    memory_of(device()).copy_in(base_, same_type.base_, bytes());
  }
}

double Tensor::item(std::int64_t i) const {
  SINK_CHECK(0 <= i && i < size(), "item", "element " + std::to_string(i) + " is not in " + str());
  if (device() != Device::cpu) return slice(i, {1}).to(Device::cpu).item();
  if (dtype_ == DType::I32) return data<std::int32_t>()[i];
  return with_real(dtype_, [&](auto zero) { return static_cast<double>(data<decltype(zero)>()[i]); });
}

std::string Tensor::str() const {
  if (!defined()) return "undefined";
  return std::string(name_of(dtype_)) + " " + shape_.str() +
         (device() == Device::cpu ? "" : std::string(" on ") + name_of(device()));
}

void Tensor::refuse(DType asked, Device where) const {
  SINK_CHECK(asked == dtype_, "tensor", "the elements are " + str() + ", asked for as " + name_of(asked));
  fail("tensor", where == Device::cpu
                     ? str() + " is not in the CPU's memory; read to(Device::cpu), which copies it"
                     : str() + " is on the CPU, where a tensor on cuda is expected; give to(Device::cuda)");
}

}  // namespace sink
