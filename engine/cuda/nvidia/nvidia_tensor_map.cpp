// Tensor maps, encoded by the driver's function, which is looked up because programs do not link the driver.
#include <string>

#include "engine/check.h"
#include "engine/cuda/hopper_instructions.cuh"

namespace sink::cuda {
namespace {

using Encode = decltype(&cuTensorMapEncodeTiled);

Encode encode() {
  static const Encode found = [] {
    void* function = nullptr;
    cudaDriverEntryPointQueryResult result{};
#if CUDART_VERSION >= 12050
    cudaError_t error =
        cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000, cudaEnableDefault, &result);
#else
    cudaError_t error = cudaGetDriverEntryPoint("cuTensorMapEncodeTiled", &function, cudaEnableDefault, &result);
#endif
    SINK_CHECK(error == cudaSuccess && result == cudaDriverEntryPointSuccess && function, "cuda",
               "the driver has no cuTensorMapEncodeTiled: it must be for CUDA 12.0 or later", Exit::device);
    return reinterpret_cast<Encode>(function);
  }();
  return found;
}

CUtensorMapSwizzle swizzle_of(int bytes) {
  return bytes == 128  ? CU_TENSOR_MAP_SWIZZLE_128B
         : bytes == 64 ? CU_TENSOR_MAP_SWIZZLE_64B
                       : CU_TENSOR_MAP_SWIZZLE_NONE;
}

}  // namespace

TensorMap tensor_map(const bf16* data, const std::vector<std::int64_t>& sizes, const std::vector<int>& box,
                     int swizzle) {
  std::vector<cuuint64_t> dimensions(sizes.begin(), sizes.end()), strides;
  std::vector<cuuint32_t> box_dimensions(box.begin(), box.end()), steps(box.size(), 1);
  cuuint64_t stride = sizeof(bf16);
  for (std::size_t d = 0; d + 1 < sizes.size(); ++d) strides.push_back(stride *= dimensions[d]);
  TensorMap map;
  CUresult result =
      encode()(&map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, static_cast<cuuint32_t>(sizes.size()), const_cast<bf16*>(data),
               dimensions.data(), strides.data(), box_dimensions.data(), steps.data(), CU_TENSOR_MAP_INTERLEAVE_NONE,
               swizzle_of(swizzle), CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  SINK_CHECK(result == CUDA_SUCCESS, "cuda", "cuTensorMapEncodeTiled failed with code " + std::to_string(result),
             Exit::device);
  return map;
}

}  // namespace sink::cuda
