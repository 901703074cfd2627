// Tensor maps on the emulated device, with the conditions of cuTensorMapEncodeTiled.
#include "engine/cuda/emulated/tensor_map.h"

#include <string>

#include "engine/check.h"
#include "engine/cuda/hopper_instructions.cuh"

namespace sink::cuda {

TensorMap tensor_map(const bf16* data, const std::vector<std::int64_t>& sizes, const std::vector<int>& box,
                     int swizzle) {
  auto require = [](bool met, const std::string& what) { SINK_CHECK(met, "tensor_map", what, Exit::device); };
  require(sizes.size() >= 2 && sizes.size() <= 4 && box.size() == sizes.size(), "expected 2 to 4 dimensions");
  require(swizzle == 0 || swizzle == 64 || swizzle == 128, "expected a swizzle of 0, 64 or 128 bytes");
  require(reinterpret_cast<std::uintptr_t>(data) % 16 == 0, "the tensor is not aligned to 16 bytes");
  require(swizzle == 0 || box[0] * 2 <= swizzle, "rows of the box are longer than the swizzle");
  require(box[0] * 2 % 16 == 0, "rows of the box are no multiple of 16 bytes");
  TensorMap map{reinterpret_cast<const std::byte*>(data), static_cast<int>(sizes.size()), {}, {}, {}, swizzle};
  std::int64_t stride = 2;
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    require(sizes[d] > 0 && sizes[d] <= std::int64_t{1} << 32, "a dimension that is empty or longer than 2^32");
    require(box[d] > 0 && box[d] <= 256, "a box has 1 to 256 elements along each dimension");
    require(d == 0 || (stride % 16 == 0 && stride < std::int64_t{1} << 40), "strides are multiples of 16 bytes");
    map.sizes[d] = sizes[d];
    map.strides[d] = stride;
    map.box[d] = box[d];
    stride *= sizes[d];
  }
  return map;
}

}  // namespace sink::cuda
