// The last step of the gradient of the biases in BF16. It does not depend on the operation.
#include "engine/cuda/elements.cuh"
#include "engine/ops/attention/cuda/attention_tiles_dbias_cuda.cuh"

namespace sink::cuda {

void sum_diagonals(const Tensor& sums_HAN, std::int64_t first_offset, std::int64_t first_position, Tensor& dbias_HT) {
  std::int64_t columns = dbias_HT.dim(1), count = sums_HAN.dim(1);
  const float* sums = sums_HAN.device_data<float>();
  float* dbias = dbias_HT.device_data<float>();
  for_each_element(dbias_HT.size(), [=] __device__(std::int64_t i) {
    std::int64_t h = i / columns, distance = i % columns;
    float sum = 0;
    for (std::int64_t tile = 0; tile < count; ++tile) {
      std::int64_t nearest =
          first_position + (first_offset + tile) * kBlockRows - (kBlockRows - 1);  // distance of diagonal 0
      std::int64_t first = distance == 0 ? 0 : distance - nearest, last = distance - nearest;
      for (std::int64_t n = first < 0 ? kDiagonals : first; n <= (last < kDiagonals ? last : kDiagonals - 1); ++n)
        sum += sums[(h * count + tile) * kDiagonals + n];
    }
    dbias[i] = sum;
  });
}

}  // namespace sink::cuda
