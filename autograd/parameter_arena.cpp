#include "autograd/parameter_arena.h"

#include <algorithm>
#include <utility>

#include "engine/implementation.h"
#include "engine/rng.h"
#include "engine/threads.h"

namespace sink {
namespace {

constexpr std::int64_t kAlignment = 32;  // elements: 64 bytes of the smallest type, bf16

std::int64_t multiple_of(std::int64_t unit, std::int64_t size) { return (size + unit - 1) / unit * unit; }
std::int64_t aligned(std::int64_t size) { return multiple_of(kAlignment, size); }

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

void draw(const Init& init, const Rng& rng, Tensor& values) {
  if (values.dtype() == DType::F64)
    draw(init, rng, values.data<double>(), values.size());
  else
    draw(init, rng, values.data<float>(), values.size());
}

}  // namespace

std::shared_ptr<const StoredMatrix> Parameter::exchange_stored(std::shared_ptr<const StoredMatrix> other) {
  SINK_CHECK(stored_ && other && other->rows == stored_->rows && other->columns == stored_->columns, "parameters",
             name() + " can only be replaced by a stored matrix of the same shape: expected " +
                 (stored_ ? stored_->str() : "none") + ", got " + (other ? other->str() : "none"));
  return std::exchange(stored_, std::move(other));
}

const Parameter& ParameterArena::add(ParameterInfo info) {
  SINK_CHECK(!masters_.defined(), "parameters", info.name + " was declared after the parameters were allocated");
  parameters_.push_back(std::unique_ptr<Parameter>(new Parameter(std::move(info), bucket_)));
  return *parameters_.back();
}

std::vector<std::int64_t> ParameterArena::bucket_sizes(int shards) const {
  std::vector<std::int64_t> sizes;
  int bucket = -1;
  for (const auto& p : parameters_) {
    if (p->bucket_ != bucket || sizes.empty()) sizes.push_back(0);
    bucket = p->bucket_;
    sizes.back() += aligned(p->segment().size());
  }
  for (std::int64_t& size : sizes) size = multiple_of(shards * kBucketAlignment, size);
  return sizes;
}

void ParameterArena::lay_out(std::int64_t multiple) {
  size_ = 0;
  buckets_.clear();
  int bucket = -1;
  for (const auto& p : parameters_) {
    if (p->bucket_ != bucket || buckets_.empty()) {
      if (!buckets_.empty()) buckets_.back().end = size_ = multiple_of(multiple, size_);
      buckets_.push_back({size_, size_});
      bucket = p->bucket_;
    }
    p->begin_ = size_;
    size_ += aligned(p->segment().size());
  }
  if (!buckets_.empty()) buckets_.back().end = size_ = multiple_of(multiple, size_);
}

void ParameterArena::allocate(std::uint64_t seed) {
  lay_out(kBucketAlignment);
  Tensor drawn = Tensor::zeros({size_}, accumulate_type(compute_type_));
  for (const auto& p : parameters_) {
    Tensor values = slice(drawn, *p);
    draw(p->info().init, Rng(seed, "parameter/" + p->name()), values);
  }
  masters_ = drawn.to(device_);
  create_views();
}

void ParameterArena::allocate_zeros() {
  lay_out(kBucketAlignment);
  masters_ = Tensor::zeros({size_}, accumulate_type(compute_type_), device_);
  create_views();
}

void ParameterArena::create_views() {
  compute_ = compute_type_ == DType::BF16 ? masters_.new_zeros({size_}, DType::BF16) : masters_;
  for (const auto& p : parameters_) {
    p->master_ = Var(slice(masters_, *p), /*requires_grad=*/true);
    p->compute_ = slice(compute_, *p);
  }
  refresh();
}

void ParameterArena::pad_buckets(int shards) {
  SINK_CHECK(masters_.defined() && !gradients_.defined(), "parameters",
             "pad_buckets() belongs between allocate() and allocate_gradients()");
  if (shards == 1) return;
  const Tensor before = masters_;
  std::vector<std::int64_t> began;
  for (const auto& p : parameters_) began.push_back(p->begin_);
  lay_out(shards * kBucketAlignment);
  masters_ = before.new_zeros({size_}, before.dtype());
  for (std::size_t n = 0; n < parameters_.size(); ++n) {
    const Parameter& p = *parameters_[n];
    slice(masters_, p).copy_from(before.slice(began[n], p.info().shape));
  }
  create_views();
}

void ParameterArena::load_weights(const WeightSource& source) {
  SINK_CHECK(!masters_.defined(), "parameters", "load_weights() was called after the parameters were allocated");
  size_ = 0;
  for (const auto& p : parameters_) {
    p->stored_ = device_ == Device::cpu && compute_type_ != DType::F64 ? source.matrix(p->info()) : nullptr;
    if (p->stored_) continue;
    p->begin_ = size_;
    size_ += aligned(p->segment().size());
  }
  Tensor taken = Tensor::zeros({size_}, accumulate_type(compute_type_));
  for (const auto& p : parameters_) {
    if (source.is_repeated(p->info())) repeated_ += p->info().shape.size();
    if (p->stored_) continue;
    Tensor values = slice(taken, *p);
    source.read_values(p->info(), values);
  }
  masters_ = taken.to(device_);
  compute_ = compute_type_ == DType::BF16 ? masters_.new_zeros({size_}, DType::BF16) : masters_;
  const bool all_tensors = std::ranges::none_of(parameters_, [](const auto& p) { return p->stored_ != nullptr; });
  for (const auto& p : parameters_) {
    if (p->stored_) continue;
    p->master_ = Var(slice(masters_, *p), /*requires_grad=*/all_tensors);
    p->compute_ = slice(compute_, *p);
  }
  refresh();
}

void ParameterArena::allocate_gradients() {
  gradients_ = masters_.new_zeros(masters_.shape(), masters_.dtype());
  for (const auto& p : parameters_) p->var().gradient().bind_grad_buffer(slice(gradients_, *p));
}

std::int64_t ParameterArena::count() const {
  std::int64_t count = 0;
  for (const auto& p : parameters_) count += p->info().shape.size();
  return count - repeated_;
}

std::vector<Segment> ParameterArena::segments_with_gradient() const {
  std::vector<Segment> segments;
  for (const auto& p : parameters_) {
    const Tensor& grad = p->var().grad();
    if (!grad.defined()) continue;
    SINK_CHECK(gradients_.defined() && grad.same_data_ptr(slice(gradients_, *p)), "parameters",
               "the gradient of " + p->name() +
                   " is not in gradients(): it came before allocate_gradients(), or an "
                   "operation took grad_buffer() and never gave it back");
    segments.push_back(p->segment());
  }
  return segments;
}

std::vector<Segment> ParameterArena::spans_with_gradient() const {
  std::vector<Segment> spans;
  auto next = parameters_.begin();
  for (Segment segment : segments_with_gradient()) {
    while ((*next)->begin_ <= segment.begin && ++next != parameters_.end()) {}
    segment.end = next == parameters_.end() ? size_ : (*next)->begin_;
    if (!spans.empty() && spans.back().end == segment.begin)
      spans.back().end = segment.end;
    else
      spans.push_back(segment);
  }
  return spans;
}

void ParameterArena::clear_gradients() {
  for (const auto& p : parameters_) p->var().gradient().clear();
}

void ParameterArena::refresh() {
  if (compute_.defined() && compute_.dtype() != masters_.dtype()) compute_.copy_from(masters_);
}

}  // namespace sink
