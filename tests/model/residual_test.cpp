// The residual stream between blocks: a pending sum, computed by the next norm, has the bits of a sum computed at once.
#include "model/residual.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "autograd/ops/convert_node.h"
#include "autograd/tape.h"
#include "engine/data/batch.h"
#include "model/norm/norms.h"
#include "tests/model/model_support.h"
#include "tests/support/compare.h"

using namespace sink;

namespace {

// Of y, the norm of x + f, when u, the sum, is read elsewhere too: y, u, and the gradients of x, f and the gain.
template <class Norm>
std::vector<Tensor> normed(DType type_of_f, bool wait) {
  ParameterFactory make(test::small_sizes(), 0, InitScheme::torch, 5, DType::BF16);
  Norm norm(make, "norm");
  ParameterArena parameters = make.take();
  Var x(random_tensor({4, 7, 24}, DType::F32, 1), true), f(random_tensor({4, 7, 24}, type_of_f, 2), true);
  Tape tape;
  Residual sum = wait ? Residual(x, f) : Residual(add(x, f));
  auto [u, y] = sum.normed(norm);
  Var read_elsewhere = add(u, convert(y, DType::F32));
  read_elsewhere.gradient().accumulate(random_tensor({4, 7, 24}, DType::F32, 3));
  tape.backward_from_outputs();
  return {y.value(), u.value(), sum.sum().value(), x.grad(), f.grad(), parameters[0]->var().grad()};
}

}  // namespace

TEST_CASE_TEMPLATE("residual: what waits to be added changes no bit of the norm, the sum and their gradients", Norm,
                   RmsNorm, LayerNorm) {
  for (DType type_of_f : {DType::F32, DType::BF16}) {
    std::vector<Tensor> at_once = normed<Norm>(type_of_f, false), waiting = normed<Norm>(type_of_f, true);
    for (std::size_t i = 0; i < at_once.size(); ++i)
      check_close("tensor " + std::to_string(i), waiting[i], at_once[i], 0);
  }
}

TEST_CASE("residual: blocks of pre-norm add in their norms alone, the last one in the final norm") {
  auto model = test::make_model("baseline");
  Tensor tokens_BT = test::random_tokens(2, 9, 31);
  Tape tape;
  model->loss(Batch(tokens_BT, tokens_BT, 31), 1, {});
  auto count = [&](const std::string& name) {
    return std::count_if(tape.nodes().begin(), tape.nodes().end(),
                         [&](const auto& node) { return node->name() == name; });
  };
  CHECK(count("add") == 0);
  CHECK(count("rms_norm") == 1);  // of the embedding, to which nothing is added
  CHECK(count("add_rms_norm") == 2 * model->sizes().layers);
}
