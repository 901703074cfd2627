// RMSNorm and LayerNorm, of a tensor and of a residual sum, and their gradients.
#include "engine/ops/norm/norm.h"

#include <doctest/doctest.h>

#include <utility>
#include <vector>

#include "autograd/ops/norm_node.h"
#include "tests/support/check_refused.h"
#include "tests/support/compare.h"
#include "tests/support/every_backend.h"
#include "tests/support/gradients.h"

using namespace sink;

namespace {

// A norm and its backward pass on a list of tensors.
struct NormCase {
  enum : std::size_t { a, b, gain, bias, u, y, mean, r, dy, du, da, db, dgain, dbias };
  Shape shape;
  DType y_type = DType::F32, b_type = DType::F32;
  bool of_sum = false, with_du = false, accumulate_dgain = false, accumulate_dbias = false;

  // The gradients start with values, and the mean of a is not nearly 0.
  Tensors random(DType type = DType::F32) const {
    const Shape columns{shape[-1]}, rows{shape.size() / shape[-1]};
    const std::pair<Shape, DType> wanted[]{{shape, type},   {shape, b_type}, {columns, type}, {columns, type},
                                           {shape, type},   {shape, y_type}, {rows, type},    {rows, type},
                                           {shape, y_type}, {shape, type},   {shape, type},   {shape, DType::BF16},
                                           {columns, type}, {columns, type}};
    Tensors tensors;
    for (const auto& [of, element] : wanted) tensors.push_back(random_tensor(of, element, tensors.size(), 3));
    for (std::int64_t i = 0; i < shape.size() && type == DType::F32; ++i) tensors[a].data<float>()[i] += 5;
    return tensors;
  }

  // Without a sum, du is da itself.
  template <NormKind kind>
  void run(Tensors& t, double epsilon = kNormEpsilon) const {
    constexpr bool layer = kind == NormKind::layer;
    Tensor none;
    Tensor &x = t[of_sum ? u : a], &saved_mean = layer ? t[mean] : none, &bias_gradient = layer ? t[dbias] : none;
    const bool has_db = of_sum && b_type == DType::BF16, rounds = has_db && t[a].dtype() == DType::F32;
    norm<kind>(t[a], of_sum ? t[b] : none, t[gain], layer ? t[bias] : none, of_sum ? x : none, t[y], saved_mean, t[r],
               epsilon);
    norm_backward<kind>(t[dy], with_du ? t[of_sum ? du : da] : none, x, t[gain], saved_mean, t[r], t[da],
                        rounds ? t[db] : none, t[dgain], accumulate_dgain, bias_gradient, accumulate_dbias);
    if (has_db && !rounds) t[db].copy_from(t[da]);  // the reference in double
  }
};

template <NormKind kind>
void check_norm_backends(const NormCase& norm, bool unaligned = false) {
  const std::string name = std::string(kind == NormKind::layer ? "layer_norm " : "rms_norm ") + norm.shape.str() +
                           (norm.of_sum ? " of a sum" : "") + (norm.with_du ? " with du" : "");
  auto run = [&](Tensors& t) { norm.run<kind>(t); };
  unaligned ? check_unaligned_backends(name, norm.random(), run) : check_backends(name, norm.random(), run);
}
void check_norms(const NormCase& norm, bool unaligned = false) {
  check_norm_backends<NormKind::rms>(norm, unaligned);
  check_norm_backends<NormKind::layer>(norm, unaligned);
}

using N = NormCase;

}  // namespace

TEST_CASE("rms_norm: a row by hand") {
  // x = (3, 4): mean square 12.5, r = 1 / sqrt(12.5) = 0.2828427 (epsilon moves it by 4e-7 of itself).
  // gain (1, 2): y = (3 r, 8 r). Backward of dy = (1, 0): dx^ = (1, 0), mean(dx^ x) = 1.5, r^2 = 0.08,
  // dx = r (1 - 3 * 0.08 * 1.5, -4 * 0.08 * 1.5) = r (0.64, -0.48), dgain = (3 r, 0).
  Tensor x = Tensor::from<double>({1, 2}, {3, 4}), gain = Tensor::from<double>({2}, {1, 2});
  Tensor dy = Tensor::from<double>({1, 2}, {1, 0}), y = Tensor::empty_like(x), r = Tensor::empty({1}, DType::F64);
  Tensor dx = Tensor::full({1, 2}, 1, DType::F64), dgain = Tensor::full({2}, 1, DType::F64);
  rms_norm(x, gain, y, r);
  rms_norm_backward(dy, x, gain, r, dx, false, dgain, true);
  check_close("r", r, Tensor::from<double>({1}, {0.2828427}), 1e-6);
  check_close("y", y, Tensor::from<double>({1, 2}, {0.8485281, 2.2627417}), 1e-6);
  check_close("dx", dx, Tensor::from<double>({1, 2}, {0.1810193, -0.1357645}), 2e-6);
  check_close("dgain", dgain, Tensor::from<double>({2}, {1.8485281, 1}), 1e-6);
}

TEST_CASE("layer_norm: a mean far above the deviation does not swamp the variance") {
  // x = 4096 +- 1/2, exact in F32: the mean of squares is 2^24 + 1/4, where F32 would lose the variance of 1/4.
  const NormCase norm{.shape = {1, 64}};
  Tensors t = norm.random();
  for (std::int64_t c = 0; c < 64; ++c) t[N::a].data<float>()[c] = 4096 + (c % 2 ? 0.5f : -0.5f);
  norm.run<NormKind::layer>(t);
  CHECK(t[N::mean].item() == 4096);
  CHECK(t[N::r].item() == doctest::Approx(1 / std::sqrt(0.25 + 1e-5)));
}

TEST_CASE("norm: a row without deviation becomes 0, and the bias") {
  const NormCase norm{.shape = {1, 8}};
  Tensors t = norm.random();
  t[N::a].fill(0);
  norm.run<NormKind::rms>(t);
  check_close("y", t[N::y], Tensor::zeros({1, 8}), 0);
  CHECK(t[N::r].item() == doctest::Approx(1 / std::sqrt(1e-5)));
  t[N::a].fill(3);
  norm.run<NormKind::layer>(t);
  check_close("y", t[N::y], t[N::bias].reshape({1, 8}), 0);
  CHECK(t[N::r].item() == doctest::Approx(1 / std::sqrt(1e-5)));
}

TEST_CASE("norm: the epsilon that is asked for") {
  for (DType dtype : {DType::F32, DType::F64}) {
    const NormCase norm{.shape = {1, 2}, .y_type = dtype};
    Tensors t = norm.random(dtype);
    t[N::a] = Tensor::from<double>({1, 2}, {3, 4}).to(dtype);  // mean square 12.5, and 3.5 more make 16
    norm.run<NormKind::rms>(t, 3.5);
    CHECK(t[N::r].item() == 0.25);
    t[N::a] = Tensor::from<double>({1, 2}, {1, 5}).to(dtype);  // mean 3, variance 4, and 12 more make 16
    norm.run<NormKind::layer>(t, 12);
    CHECK(t[N::mean].item() == 3);
    CHECK(t[N::r].item() == 0.25);
  }
}

TEST_CASE("norm: every backend equals the double reference") {
  for (std::int64_t rows : {1, 3, 21})
    for (std::int64_t C : {7, 33, 128, 264})
      for (DType y_type : {DType::F32, DType::BF16})
        for (bool adds : {false, true}) check_norms({{rows, C}, y_type, {}, false, adds, adds, adds});
  for (unsigned which : {1u, 2u, 4u})
    check_norms({{2, 3, 40}, DType::F32, {}, false, (which & 1) != 0, (which & 2) != 0, (which & 4) != 0});
  check_norms({{3, 264}, DType::BF16}, true);
  // Rows of one warp, of two and of 32; blocks that have rows for their threads once, twice and not quite.
  for (const Shape& shape : {Shape{65, 33}, {4099, 9}, {2, 8191}}) check_norms({shape});
  for (const Shape& shape : {Shape{2060, 264}, {2, 8192}}) check_norm_backends<NormKind::rms>({shape});
}

TEST_CASE("norm of a sum: every backend equals the double reference") {
  for (std::int64_t rows : {1, 7, 9})
    for (std::int64_t C : {24, 33, 264})
      for (auto [b_type, y_type] : kPairsOfTypes)
        for (bool with_du : {false, true})
          if (b_type == y_type || rows == 7) check_norms({{rows, C}, y_type, b_type, true, with_du, with_du, with_du});
  check_norms({{7, 24}, DType::BF16, DType::BF16, true, true}, true);
}

TEST_CASE("norm: rows too wide for the device") {
  for (Device device : kAccelerators) {
    Tensor wide = Tensor::zeros({2, 8193}, DType::F32, device), y = Tensor::empty_like(wide);
    Tensor gain = wide.new_zeros({8193}, DType::F32), r = wide.new_zeros({2}, DType::F32);
    check_refused([&] { rms_norm(wide, gain, y, r); }, {"CUDA device", "at most 8192", "8193", "--d-model"},
                  Exit::usage);
  }
}

TEST_CASE("gradient: norms, alone, with a residual connection and of a sum") {
  Var x = random_var({2, 3, 8}, 1), b = random_var({2, 3, 8}, 2);
  const Parameter &gain = random_parameter("gain", {8}), &bias = random_parameter("bias", {8});
  const std::vector<Var> rms{x, gain.var()}, layer{x, gain.var(), bias.var()};
  check_gradient([&] { return rms_norm(x, gain, DType::F64); }, rms);
  check_gradient([&] { return add(x, rms_norm(x, gain, DType::F64)); }, rms);
  check_gradient([&] { return layer_norm(x, gain, bias, DType::F64); }, layer);
  check_gradient([&] { return add(x, layer_norm(x, gain, bias, DType::F64)); }, layer);
  check_gradient([&] { return layer_norm(layer_norm(x, gain, bias, DType::F64), gain, bias, DType::F64); }, layer);
  check_normed_sum([&](const Var& a, const Var& b) { return add_rms_norm(a, b, gain, DType::F64); }, x, b,
                   {x, b, gain.var()});
  check_normed_sum([&](const Var& a, const Var& b) { return add_layer_norm(a, b, gain, bias, DType::F64); }, x, b,
                   {x, b, gain.var(), bias.var()});
}

TEST_CASE("norm: shapes and types that do not fit are named") {
  const NormCase norm{.shape = {3, 8}};
  const Tensor seven = Tensor::zeros({7}), f64 = Tensor::zeros({8}, DType::F64), narrow = Tensor::zeros({3, 7});
  auto refused = [&](std::size_t which, const Tensor& wrong, const std::string& pass, const std::string& word) {
    Tensors t = norm.random();
    t[which] = wrong;
    check_refused([&] { norm.run<NormKind::layer>(t); }, {"[layer_norm" + pass, word, wrong.str()});
    if (which != N::bias && which != N::mean)
      check_refused([&] { norm.run<NormKind::rms>(t); }, {"[rms_norm" + pass, word, wrong.str()});
  };
  refused(N::gain, seven, "]", "f32 (3, 8)");
  refused(N::gain, f64, "]", "f32 (3, 8)");
  refused(N::bias, seven, "]", "bias");
  refused(N::mean, seven, "]", "mean");
  refused(N::da, narrow, "_backward]", "da");
  Tensors t = norm.random();
  check_refused(
      [&] { sink::norm<NormKind::rms>(t[N::a], {}, t[N::gain], t[N::bias], t[N::u], t[N::y], t[N::mean], t[N::r], 1); },
      {"[rms_norm]", "no mean and no bias"});
}
