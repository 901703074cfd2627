// The rotations of OrthoAdam.
#include "train/optimizers/random_rotation.h"

#include <doctest/doctest.h>

#include <cmath>

#include "autograd/parameter_arena.h"
#include "engine/ops/matmul/matmul.h"
#include "tests/support/compare.h"
#include "train/optimizer.h"

using namespace sink;

namespace {

const Parameter& parameter_of(ParameterArena& arena, const Shape& shape, const std::string& axes,
                              ParameterRole role = ParameterRole::weight) {
  return arena.add({"p", shape, axes, role, {Init::Kind::normal, 1}});
}

double sum_of_products(const Tensor& x, const Tensor& y) {
  double sum = 0;
  for (std::int64_t i = 0; i < x.size(); ++i) sum += x.item(i) * y.item(i);
  return sum;
}

}  // namespace

TEST_CASE("rotation: its blocks are orthogonal to rounding, another for every stream") {
  for (std::int64_t b : {2, 17, 256}) {
    Tensor q = random_orthogonal(b, 1, "x"), product = Tensor::empty({b, b}, DType::F64);
    matmul({q}, transposed(q), product);
    check_close("Q Q^T", product,
                Tensor::table<double>(b, b, [](std::int64_t i, std::int64_t j) { return i == j ? 1.0 : 0.0; }), 1e-14);
    CHECK(random_orthogonal(b, 1, "y").item(0) != q.item(0));
    CHECK(random_orthogonal(b, 2, "x").item(0) != q.item(0));
  }
}

TEST_CASE("rotation: back gives what was, and lengths and angles stay") {
  for (auto [shape, axes] : std::vector<std::pair<Shape, std::string>>{
           {{600, 34}, "out in"}, {{31, 514}, "out in"}, {{40}, "C"}, {{257, 6}, "out in"}, {{90, 8}, "V C"}}) {
    ParameterArena arena(DType::F64);
    RandomRotation rotation(parameter_of(arena, shape, axes), 3, DType::F64, Device::cpu);
    Tensor x = random_tensor(shape, DType::F64, 1), y = random_tensor(shape, DType::F64, 2);
    Tensor rx = rotation.rotate(x), ry = rotation.rotate(y);
    check_close("back", rotation.rotate_back(rx), x, 1e-13);
    CHECK(sum_of_products(rx, ry) == doctest::Approx(sum_of_products(x, y)).epsilon(1e-11));
    CHECK(std::abs(rx.item(0) - x.item(0)) > 1e-6);
  }
}

TEST_CASE("rotation: numbers of one token stay with it, those of a matrix go everywhere within a block") {
  auto touched = [](const Shape& shape, const std::string& axes, ParameterRole role) {
    ParameterArena arena(DType::F64);
    RandomRotation rotation(parameter_of(arena, shape, axes, role), 3, DType::F64, Device::cpu);
    Tensor x = Tensor::zeros(shape, DType::F64);
    x.data<double>()[0] = 1;
    Tensor y = rotation.rotate(x);
    std::int64_t count = 0;
    for (std::int64_t i = 0; i < y.size(); ++i) count += y.item(i) != 0;
    return count;
  };
  CHECK(touched({30, 8}, "V C", ParameterRole::weight) == 8);
  CHECK(touched({30, 8}, "T C", ParameterRole::embedding) == 8);
  CHECK(touched({30, 8}, "out in", ParameterRole::weight) == 240);
  CHECK(touched({600, 8}, "out in", ParameterRole::weight) == 200 * 8);  // 600 = 3 * 200
  CHECK(touched({257, 8}, "out in", ParameterRole::weight) == 8);        // a prime above 256
  CHECK(touched({40}, "C", ParameterRole::norm_gain) == 40);
}
