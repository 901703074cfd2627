// ParameterArena: all parameters of a model. The master values are one tensor. So are their copy that products read
// and, in training, the gradients and each moment of an optimizer. A parameter is a slice of each. An operation that
// treats all elements alike (an update, a norm, a sum over ranks) is one call on one tensor.
//
// Slices are in the order in which parameters are declared and begin at multiples of 64 bytes, for every type. The
// padding between them is initially zero and is never read. Parameters whose gradients are complete at the same time of
// backward (those of a block) are a bucket. Buckets begin and end at multiples of kBucketAlignment elements times the
// number of shards, so that the partial squared norms of the gradients do not depend on the number of shards.
#pragma once

#include <memory>
#include <vector>

#include "autograd/parameter.h"

namespace sink {

// A source of values for a model that are not drawn: the files of another program (model/open/).
struct WeightSource {
  virtual ~WeightSource() = default;
  // The weight of a product, or a table that tokens are looked up in, memory-mapped. Null: read_values() has its
  // values.
  virtual std::shared_ptr<const StoredMatrix> matrix(const ParameterInfo& parameter) const = 0;
  // All values, in the order of the parameter's shape, as F32 or F64.
  virtual void read_values(const ParameterInfo& parameter, Tensor& out) const = 0;
  // Whether another parameter has the same values: an unembedding that is the embedding.
  virtual bool is_repeated(const ParameterInfo& parameter) const = 0;
};

class ParameterArena {
 public:
  // `compute` is the type that products read. Master values are F32, or F64 if it is F64. All tensors are on `device`.
  explicit ParameterArena(DType compute, Device device = Device::cpu) : compute_type_(compute), device_(device) {}

  // Parameters that are declared after this belong to another bucket.
  void begin_bucket() { ++bucket_; }
  // Declares a parameter. It has no values before allocate(). The reference stays valid when the arena is moved.
  const Parameter& add(ParameterInfo info);
  // Allocates and draws the values. Those of each parameter come from the stream of (seed, its name) and are drawn on
  // the CPU, so every device has the same bits.
  void allocate(std::uint64_t seed);
  // The same with zeros, for values that are all copied from elsewhere.
  void allocate_zeros();
  // Replaces allocate(): nothing is drawn, matrices stay memory-mapped, and no parameter requires a gradient. On other
  // devices than the CPU, and for F64, all parameters are tensors that require one.
  void load_weights(const WeightSource& source);
  // Pads every bucket to a multiple of `shards` * kBucketAlignment elements, so that it divides into equal shards.
  // Before allocate_gradients().
  void pad_buckets(int shards);
  // Makes gradients() one tensor; without it each gradient is a separate tensor. For training.
  void allocate_gradients();

  // In order of declaration.
  auto begin() const { return parameters_.begin(); }
  auto end() const { return parameters_.end(); }
  std::size_t size() const { return parameters_.size(); }
  const std::unique_ptr<Parameter>& operator[](std::size_t i) const { return parameters_[i]; }
  // The number of parameter elements, without padding. Those that a WeightSource repeats are counted once.
  std::int64_t count() const;

  static constexpr std::int64_t kBucketAlignment = 4096;  // elements
  // The size of each bucket after pad_buckets(shards), in elements; known before allocate().
  std::vector<std::int64_t> bucket_sizes(int shards) const;
  // In order, covering masters(); empty after load_weights().
  const std::vector<Segment>& buckets() const { return buckets_; }

  Device device() const { return device_; }
  // Padding included.
  std::int64_t padded_size() const { return size_; }
  Tensor& masters() { return masters_; }
  const Tensor& masters() const { return masters_; }
  // masters() rounded to BF16, laid out alike; undefined where products read masters() themselves.
  Tensor copy() const { return compute_type_ == DType::BF16 ? compute_ : Tensor(); }
  const Tensor& gradients() const { return gradients_; }
  // A parameter's part of a tensor that is laid out like masters().
  static Tensor slice(const Tensor& whole, const Parameter& parameter) {
    return whole.slice(parameter.segment().begin, parameter.info().shape);
  }

  // The segments of parameters that have received a gradient, in order.
  std::vector<Segment> segments_with_gradient() const;
  // The same with neighbours joined over their padding: one span where every parameter has one.
  std::vector<Segment> spans_with_gradient() const;
  void clear_gradients();
  // Call whenever master values have changed and copy() has not.
  void refresh();

 private:
  // Computes the positions of parameters and buckets; each bucket is a multiple of `multiple` elements.
  void lay_out(std::int64_t multiple);
  void create_views();

  DType compute_type_;
  Device device_;
  std::vector<std::unique_ptr<Parameter>> parameters_;
  int bucket_ = 0;
  std::vector<Segment> buckets_;
  std::int64_t size_ = 0;      // with padding
  std::int64_t repeated_ = 0;  // elements that two parameters share
  Tensor masters_, compute_, gradients_;
};

}  // namespace sink
