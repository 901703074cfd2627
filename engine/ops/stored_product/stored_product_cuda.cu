// CUDA backend, with weights that stay on the host.
#include "engine/ops/stored_product/stored_product.h"

#include "engine/cuda/elements.cuh"
#include "engine/ops/matmul/matmul.h"
#include "engine/ops/stored_product/stored_tiles.h"

namespace sink::cuda {
namespace {

// Columns [first, first + R) of y_MN = product_MR.
template <class R>
void put_columns(const Tensor& product_MR, std::int64_t first, std::int64_t N, Tensor& y) {
  const std::int64_t columns = product_MR.dim(1);
  const R* from = product_MR.device_data<R>();
  R* to = y.device_data<R>() + first;
  for_each_element(product_MR.size(), [=] __device__(std::int64_t i) { to[i / columns * N + i % columns] = from[i]; });
}

}  // namespace

void stored_product(const Tensor& x, const StoredMatrix& w_NK, Tensor& y) {
  const std::int64_t N = w_NK.rows, M = x.size() / w_NK.columns;
  for_each_tile(w_NK, x.dtype(), [&](const Tensor& tile_RK, std::int64_t first) {
    const Tensor tile = tile_RK.to(Device::cuda);
    Tensor product = Tensor::empty({M, tile.dim(0)}, y.dtype(), Device::cuda);
    sink::matmul({x}, transposed(tile), product);
    if (y.dtype() == DType::F32)
      put_columns<float>(product, first, N, y);
    else
      put_columns<bf16>(product, first, N, y);
  });
}

void stored_rows(const Tensor& tokens_BT, const StoredMatrix& w_VK, Tensor& x_BTK) {
  Tensor x = Tensor::empty(x_BTK.shape(), x_BTK.dtype());
  sink::stored_rows(tokens_BT.to(Device::cpu), w_VK, x);
  x_BTK.copy_from(x);
}

}  // namespace sink::cuda
