#include "engine/ops/activation/activation.h"

#include "engine/ops/activation/activation_ref.h"
#include "engine/reference_switch.h"
#include "engine/threads.h"

namespace sink {
namespace {

// Threads get whole blocks of this many elements, so that no element moves between the vector code of a loop and its
// remainder, which round differently: the same bits for any number of threads.
constexpr std::int64_t kBlock = 1 << 10;

// f(begin, end) over the elements of x.
template <class F>
void parallel_elements(const Tensor& x, F&& f) {
  parallel_chunks((x.size() + kBlock - 1) / kBlock, 8,
                  [&](std::int64_t begin, std::int64_t end) { f(begin * kBlock, std::min(x.size(), end * kBlock)); });
}

void check(const char* tag, const char* name, const Tensor& x, const Tensor& y) {
  SINK_CHECK(x.shape() == y.shape() && x.dtype() == y.dtype(), tag,
             std::string("expected x and ") + name + " of one shape and type: x is " + x.str() + ", " + name + " is " +
                 y.str());
}

}  // namespace

template <ListedActivationFunction F>
void activation(const Tensor& x, Tensor& y) {
  check("activation", "y", x, y);
  with_compute_type(x.dtype(), [&](auto zero, auto compute_zero) {
    using X = decltype(zero);
    using R = decltype(compute_zero);
    parallel_elements(
        x, [&](std::int64_t begin, std::int64_t end) { ref::activation<F, R>(x.data<X>(), y.data<X>(), begin, end); });
  });
}

template <ListedActivationFunction F>
void activation_backward(const Tensor& dy, const Tensor& x, Tensor& dx) {
  check("activation_backward", "dy", x, dy);
  check("activation_backward", "dx", x, dx);
  with_compute_type(x.dtype(), [&](auto zero, auto compute_zero) {
    using X = decltype(zero);
    using R = decltype(compute_zero);
    parallel_elements(x, [&](std::int64_t begin, std::int64_t end) {
      ref::activation_backward<F, R>(dy.data<X>(), x.data<X>(), dx.data<X>(), begin, end);
    });
  });
}

#define SINK_INSTANTIATE(F)                            \
  template void activation<F>(const Tensor&, Tensor&); \
  template void activation_backward<F>(const Tensor&, const Tensor&, Tensor&);
SINK_ACTIVATION_FUNCTIONS(SINK_INSTANTIATE)

}  // namespace sink
