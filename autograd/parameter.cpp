#include "autograd/parameter.h"

#include "engine/implementation.h"
#include "engine/rng.h"
#include "engine/threads.h"

namespace sink {
namespace {

template <class R>
void draw(const Init& init, const Rng& rng, R* values, std::int64_t count) {
  parallel_chunks(count, 1 << 12, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      std::uint64_t index = static_cast<std::uint64_t>(i);
      double value = init.scale;
      if (init.kind == Init::Kind::normal) value *= rng.normal(index);
      if (init.kind == Init::Kind::uniform) value *= 2 * rng.uniform(index) - 1;
      values[i] = static_cast<R>(value);
    }
  });
}

}  // namespace

Parameter::Parameter(std::string name, const Shape& shape, const Init& init, std::uint64_t seed, DType compute)
    : name_(std::move(name)), master_(Tensor::empty(shape, accumulate_type(compute)), /*requires_grad=*/true) {
  Rng rng(seed, "parameter/" + name_);
  Tensor& values = mutable_master();
  if (compute == DType::F64)
    draw(init, rng, values.data<double>(), values.size());
  else
    draw(init, rng, values.data<float>(), values.size());
  compute_ = compute == DType::BF16 ? Tensor::empty(shape, DType::BF16) : master();
  refresh();
}

void Parameter::refresh() {
  if (compute_.dtype() != master().dtype()) compute_.copy_from(master());
}

}  // namespace sink
