// bf16 against double on the same initial values, the regime a run starts in.
#include <doctest/doctest.h>

#include <cmath>

#include "autograd/tape.h"
#include "engine/rng.h"
#include "model/ablations.h"
#include "model/transformer.h"

using namespace sink;

namespace {

Tensor random_ids(const Shape& shape, std::uint64_t seed, std::uint64_t V) {
  Rng rng(seed, "ids");
  Tensor ids = Tensor::empty(shape, DType::I32);
  for (std::int64_t i = 0; i < ids.size(); ++i)
    ids.data<std::int32_t>()[i] = static_cast<std::int32_t>(rng.below(static_cast<std::uint64_t>(i), V));
  return ids;
}

// |actual - expected| / |expected|, Euclidean over the tensor: single elements of a bf16 gradient scatter.
double relative_error(const Tensor& actual, const Tensor& expected) {
  double error = 0, size = 0;
  for (std::int64_t i = 0; i < expected.size(); ++i) {
    error += std::pow(actual.item(i) - expected.item(i), 2);
    size += std::pow(expected.item(i), 2);
  }
  return std::sqrt(error / size);
}

}  // namespace

TEST_CASE_TEMPLATE("bf16 model: loss and every gradient agree with double", Spec, ablations::baseline,
                   ablations::sigmoid, ablations::relu, ablations::learned, ablations::learned_sigmoid,
                   ablations::learned_relu) {
  // The derivative of ReLU jumps at zero: a score that rounds to the other side changes a gradient by all of it.
  bool jumps = std::string(Spec::Attention::name) == "Relu";
  double gradient_tolerance = jumps ? 6e-2 : 2e-2;
  Sizes sizes{.layers = 2, .heads = 4, .width = 64, .feed_forward = 128, .context = 33, .vocabulary = 101};
  Transformer<Spec> exact(sizes, InitScheme::torch, 0, DType::F64), rounded(sizes, InitScheme::torch, 0, DType::BF16);
  for (std::size_t i = 0; i < exact.parameters().size(); ++i)  // the double draws have more digits
    exact.parameters()[i]->mutable_master().copy_from(rounded.parameters()[i]->master());
  Tensor tokens = random_ids({4, 33}, 1, 101), targets = random_ids({4, 33}, 2, 101);
  double losses[2];
  LanguageModel* models[2] = {&exact, &rounded};
  for (int m = 0; m < 2; ++m) {
    Tape tape;
    Var loss = models[m]->loss(tokens, targets, 1, nullptr);
    losses[m] = loss.value().item();
    tape.backward(loss);
  }
  CHECK(losses[1] == doctest::Approx(losses[0]).epsilon(1e-3));
  for (std::size_t i = 0; i < exact.parameters().size(); ++i) {
    double error = relative_error(rounded.parameters()[i]->var().grad(), exact.parameters()[i]->var().grad());
    CHECK_MESSAGE(error <= gradient_tolerance, exact.parameters()[i]->name(), " is off by ", error);
  }
}
