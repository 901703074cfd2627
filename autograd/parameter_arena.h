// ParameterArena: all parameters of a model. Master values are one tensor, so is the copy of them that products read,
// and in training so are the gradients and each moment of an optimiser; a parameter is a slice of each. What treats all
// numbers alike (an update, a norm, a sum over ranks) is one call on one tensor.
//
// Slices stand in the order in which parameters are declared and begin at multiples of 64 bytes, whatever the type.
// Between them is padding, at first zero, that nobody reads. Parameters that a pass uses together are a section (those
// of a block): sections begin and end at multiples of kPiece numbers times the number of shards, so that what
// is computed of pieces does not depend on the number of shards.
#pragma once

#include <memory>
#include <vector>

#include "autograd/parameter.h"

namespace sink {

// Where the numbers of a model come from that are not drawn: the files of another program (model/open/).
struct WeightSource {
  virtual ~WeightSource() = default;
  // A weight of a product, or a table that tokens are looked up in, to be read where it lies; null: numbers() has it.
  virtual std::shared_ptr<const StoredMatrix> matrix(const ParameterInfo& parameter) const = 0;
  // All of them, in the order of its shape, as F32 or F64.
  virtual void numbers(const ParameterInfo& parameter, Tensor& out) const = 0;
  // Whether they are those of another parameter, too: an unembedding that is the embedding.
  virtual bool is_repeated(const ParameterInfo& parameter) const = 0;
};

class ParameterArena {
 public:
  // `compute` is the type that products read; master values are F32, or F64 with it. All live on `device`.
  explicit ParameterArena(DType compute, Device device = Device::cpu) : compute_type_(compute), device_(device) {}

  // Parameters that are declared from here on are another section.
  void begin_section() { ++section_; }
  // Declares a parameter, which has no numbers before allocate(). The reference outlives moves of the arena.
  const Parameter& add(ParameterInfo info);
  // Makes the numbers; those of each parameter are drawn from the stream of (seed, its name), by the CPU: the same bits
  // on every device.
  void allocate(std::uint64_t seed);
  // Instead of allocate(): nothing is drawn, matrices stay where they are, and nothing wants a gradient. On a device
  // other than the CPU and for F64 all are numbers, which want one.
  void load_weights(const WeightSource& source);
  // Pads every section to a multiple of `shards` kPiece elements, so that it divides into equal shards. Before
  // allocate_gradients().
  void pad_sections(int shards);
  // From now on gradients gather in one tensor, gradients(); without it each is a tensor of its own. For training.
  void allocate_gradients();

  // In order of declaration.
  auto begin() const { return parameters_.begin(); }
  auto end() const { return parameters_.end(); }
  std::size_t size() const { return parameters_.size(); }
  const std::unique_ptr<Parameter>& operator[](std::size_t i) const { return parameters_[i]; }
  // Numbers in all parameters, without padding; those that a WeightSource repeats are counted once.
  std::int64_t count() const;

  static constexpr std::int64_t kPiece = 4096;
  // The size of each section after pad_sections(shards), in elements; known before allocate().
  std::vector<std::int64_t> section_sizes(int shards) const;
  // In order, covering masters(); empty where numbers came from load_weights().
  const std::vector<Segment>& sections() const { return sections_; }

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
  // Where parameters and sections stand, each a multiple of `multiple` numbers.
  void lay_out(std::int64_t multiple);
  void point_at_numbers();

  DType compute_type_;
  Device device_;
  std::vector<std::unique_ptr<Parameter>> parameters_;
  int section_ = 0;
  std::vector<Segment> sections_;
  std::int64_t size_ = 0;      // with padding
  std::int64_t repeated_ = 0;  // numbers that two parameters have
  Tensor masters_, compute_, gradients_;
};

}  // namespace sink
