// The kernel with a tile scheduler of fault_trial.
#include "tests/emulated_device/tile_info_kernel.cuh"

namespace sink::test {

// Whether y is x + 1. Some tiles come in another order.
bool tile_info_is_right() {
  constexpr int kTiles = 7;
  Tensor x = Tensor::zeros({kTiles * cuda::kConsumerThreads}, DType::F32);
  Tensor order = Tensor::zeros({kTiles}, DType::I32);
  for (int i = 0; i < x.size(); ++i) x.data<float>()[i] = static_cast<float>(i % 251);
  for (int n = 0; n < kTiles; ++n) order.data<std::int32_t>()[n] = n * 3 % kTiles;
  Tensor x_device = x.to(Device::cuda), order_device = order.to(Device::cuda);
  Tensor y = Tensor::full(x.shape(), -1, DType::F32, Device::cuda);
  cuda::launch({1, cuda::kWarp + cuda::kConsumerThreads, sizeof(cuda::TileRing)}, cuda::tile_info_kernel,
               order_device.device_data<std::int32_t>(), kTiles, x_device.device_data<float>(), y.device_data<float>());
  Tensor got = y.to(Device::cpu);
  for (int i = 0; i < x.size(); ++i)
    if (got.item(i) != x.item(i) + 1) return false;
  return true;
}

}  // namespace sink::test
