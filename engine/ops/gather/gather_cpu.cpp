// CPU backend: gathering F32 values.
#include "engine/ops/gather/gather.h"

#include "engine/threads.h"

namespace sink::cpu {

void gather(const Tensor& p, const Tensor& index, Tensor& y) {
  const float* p_i = p.data<float>();
  const std::int32_t* index_n = index.data<std::int32_t>();
  float* y_n = y.data<float>();
  parallel_chunks(y.size(), 1 << 14, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t n = begin; n < end; ++n) y_n[n] = index_n[n] < 0 ? 0.0f : p_i[index_n[n]];
  });
}

// On one thread: a table of H T entries takes microseconds, and its order is the order of the sums.
void gather_backward(const Tensor& dy, const Tensor& index, Tensor& dp, bool accumulate) {
  const float* dy_n = dy.data<float>();
  const std::int32_t* index_n = index.data<std::int32_t>();
  float* dp_i = dp.data<float>();
  Tensor sums = Tensor::zeros({dp.size()}, DType::F64);
  double* sum_i = sums.data<double>();
  for (std::int64_t n = 0; n < dy.size(); ++n)
    if (index_n[n] >= 0) sum_i[index_n[n]] += dy_n[n];
  for (std::int64_t i = 0; i < dp.size(); ++i) dp_i[i] = static_cast<float>(accumulate ? dp_i[i] + sum_i[i] : sum_i[i]);
}

}  // namespace sink::cpu
