// Every element-wise update of updates.h: its backends agree, a bad step changes nothing, and arguments are checked.
// That each is its formula shows tests/train/optimizer_golden_test.cpp.
#include <doctest/doctest.h>

#include <cmath>
#include <utility>

#include "engine/ops/optimizer/updates.h"
#include "tests/support/check_refused.h"
#include "tests/support/compare.h"
#include "tests/support/every_backend.h"

using namespace sink;

namespace {

Tensor step_scalars_of(double squared_norm = 0, double loss = 0, std::int64_t update = 1) {
  Tensor step_scalars = make_step_scalars(/*learning_rate=*/0.1, update);
  squared_norm_of(step_scalars).fill(squared_norm);
  loss_of(step_scalars).fill(loss);
  return step_scalars;
}

template <class U>
typename U::Settings some_settings() {
  typename U::Settings settings;
  if constexpr (HasClip<typename U::Settings>) settings.clip = 2;
  if constexpr (requires { settings.weight_decay; }) settings.weight_decay = 0.5;
  return settings;
}

// Updates the tensors `x` from the first on: K of them.
template <class U, std::size_t K>
void update(const Tensor& step_scalars, const Tensor& input, Tensor& out, Tensors& x) {
  [&]<std::size_t... n>(std::index_sequence<n...>) {
    update_elements<U>(some_settings<U>(), step_scalars, input, out, x[n]...);
  }
  (std::make_index_sequence<K>());
}

// Two steps on slices that start at element `first`; `with_out`: the tensor that an update may write in addition.
template <class U, std::size_t K>
void check_steps(std::int64_t n, std::int64_t first, double squared_norm, double loss, bool with_out) {
  CAPTURE(n);
  CAPTURE(first);
  CAPTURE(squared_norm);
  const bool finite = std::isfinite(squared_norm + loss);
  Tensors given;  // in place: the weights, then state, of which some must not be negative; input; out; the scalars
  for (std::uint64_t seed = 0; seed < K + 2; ++seed) given.push_back(random_tensor({n + first}, DType::F32, seed));
  for (std::size_t t = 1; t < K; ++t)
    for (std::int64_t i = 0; i < n + first; ++i) given[t].data<float>()[i] = std::abs(given[t].data<float>()[i]);
  if (!finite) given[K].fill(NAN);
  given.push_back(step_scalars_of(squared_norm, loss, 3));
  const auto two_steps = [&](Tensors& all) {
    for (int step = 0; step < 2; ++step) {
      Tensors x;
      for (std::size_t t = 0; t < K + 2; ++t) x.push_back(all[t].slice(first, {n}));
      Tensor out;
      if (with_out && !U::writes_copy) out = x[K + 1];
      if (with_out && U::writes_copy && x[0].dtype() == DType::F32) out = all[0].to(DType::BF16).slice(first, {n});
      update<U, K>(all[K + 2], x[K], out, x);
      if (U::writes_copy && out.defined())
        check_close("copy", out.to(Device::cpu), x[0].to(Device::cpu).to(DType::BF16), 0);
    }
  };
  check_backends(U::name, given, two_steps, finite ? 1e-6 : 0);
}

template <class U, class... X>
void check_update(void (*)(X&...)) {
  constexpr std::size_t K = sizeof...(X);
  CAPTURE(U::name);
  for (std::int64_t n : {0, 1, 7, 256, 1003})
    for (std::int64_t first : {0, 1, 8})
      for (double squared_norm : {1.0, 64.0})
        for (bool with_out : {false, true}) check_steps<U, K>(n, first, squared_norm, 0, with_out);
  check_steps<U, K>(50001, 0, 64, 0, true);  // several chunks and blocks
  for (auto [squared_norm, loss] : {std::pair<double, double>{INFINITY, 0}, {NAN, 0}, {1, NAN}, {1, -INFINITY}})
    for (std::int64_t n : {7, 256}) check_steps<U, K>(n, 0, squared_norm, loss, true);
  // Shapes and types that do not fit are named.
  const Tensor input = Tensor::zeros({2, 3}), step_scalars = step_scalars_of();
  Tensor none, of_another_type = Tensor::zeros({2, 3}, U::writes_copy ? DType::F32 : DType::BF16);
  Tensors x(K, Tensor::zeros({2, 3})), halves(K, Tensor::zeros({2, 3}, DType::BF16));
  const std::string name = "[" + std::string(U::name) + "]";
  check_refused(
      [&] {
        update<U, K>(step_scalars, Tensor::zeros({3, 2}), none, x);
      },
      {name, U::tensors, "f32 (3, 2)", "f32 (2, 3)"});
  check_refused(
      [&] {
        update<U, K>(step_scalars, Tensor::zeros({2, 3}, DType::F64), none, x);
      },
      {name, "f64 (2, 3)", "f32 (2, 3)"});
  check_refused([&] { update<U, K>(step_scalars, halves[0], none, halves); }, {name, "bf16 (2, 3)"});
  check_refused([&] { update<U, K>(Tensor::zeros({4}), input, none, x); }, {name, "f64 (4)", "f32 (4)"});
  check_refused([&] { update<U, K>(step_scalars, input, of_another_type, x); }, {name, of_another_type.str()});
}

#define SINK_CHECK_UPDATE(U, ...) check_update<U>(static_cast<void (*)(__VA_ARGS__)>(nullptr));

}  // namespace

TEST_CASE("updates: every backend equals the double reference; a copy is w rounded; a bad step changes no bit") {
  SINK_UPDATES(SINK_CHECK_UPDATE)
}
