// One learned row per token.
#pragma once

#include "autograd/parameter.h"
#include "autograd/record.h"
#include "engine/ops/embedding/embedding.h"
#include "engine/ops/stored_product/stored_product.h"

namespace sink {

struct EmbeddingNode {
  Tensor tokens_BT;
  const Parameter* table;

  static constexpr const char* name = "embedding";
  void backward(const Tensor& dy) {
    auto [dw, accumulate] = table->var().gradient().target();
    embedding_backward(dy, tokens_BT, dw, accumulate);
  }
};

// tokens: I32 (B, T); the result is (B, T, C) in the type of the master weights, or F32 if the table is stored in a
// file.
inline Var embedding(const Tensor& tokens_BT, const Parameter& table_VC) {
  if (table_VC.stored()) {
    Tensor x = Tensor::empty({tokens_BT.dim(0), tokens_BT.dim(1), table_VC.info().shape[1]}, DType::F32);
    stored_rows(tokens_BT, *table_VC.stored(), x);
    return Var(std::move(x));
  }
  Tensor x = table_VC.master().new_empty({tokens_BT.dim(0), tokens_BT.dim(1), table_VC.master().dim(1)},
                                         table_VC.master().dtype());
  embedding(tokens_BT, table_VC.master(), x);
  return record<EmbeddingNode>(x, tokens_BT, &table_VC);
}

}  // namespace sink
