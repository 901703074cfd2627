#include "engine/ops/stored_product/stored_product.h"

#include "engine/implementation.h"
#include "engine/ops/stored_product/stored_product_cpu.h"
#include "engine/ops/stored_product/stored_product_cuda.h"
#include "engine/ops/stored_product/stored_product_ref.h"

namespace sink {

void stored_product(const Tensor& x, const StoredMatrix& w_NK, Tensor& y) {
  SINK_CHECK(
      x.rank() > 0 && y.rank() == x.rank() && x.dim(-1) == w_NK.columns && y.dim(-1) == w_NK.rows &&
          y.size() / std::max<std::int64_t>(1, w_NK.rows) == x.size() / std::max<std::int64_t>(1, w_NK.columns) &&
          (x.dtype() == y.dtype() || (x.dtype() == DType::BF16 && y.dtype() == DType::F32)) && x.dtype() != DType::I32,
      "stored_product", "x is " + x.str() + ", w is " + w_NK.str() + ", y is " + y.str());
  if (y.size() == 0) return;
  SINK_SELECT(x, stored_product)(x, w_NK, y);
}

void stored_rows(const Tensor& tokens_BT, const StoredMatrix& w_VK, Tensor& x_BTK) {
  SINK_CHECK(tokens_BT.dtype() == DType::I32 && x_BTK.size() == tokens_BT.size() * w_VK.columns &&
                 x_BTK.dim(-1) == w_VK.columns && x_BTK.dtype() == accumulate_type(x_BTK.dtype()),
             "stored_rows", "tokens is " + tokens_BT.str() + ", table is " + w_VK.str() + ", x is " + x_BTK.str());
  SINK_SELECT(x_BTK, stored_rows)(tokens_BT, w_VK, x_BTK);
}

}  // namespace sink
