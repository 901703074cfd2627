// Parameter: a named, trained tensor of a model, a slice of the arena that holds all of them (parameter_arena.h). The
// optimiser works on the master values (F32, or F64 in checks); products read them in the precision of the run.
#pragma once

#include <string>

#include "autograd/var.h"
#include "engine/segment.h"
#include "engine/stored/stored_matrix.h"

namespace sink {

// What a parameter does in its model.
enum class ParameterRole {
  weight,       // of a product y = x W^T
  embedding,    // a table of rows that stand in the residual stream or are added to it
  linear_bias,  // added to a product
  norm_gain,    //
  norm_bias,    //
  extra_key,    // of attention, in addition to its tokens: keys,
  extra_value,  // values,
  extra_logit,  // and scores of keys that do not exist
  score_bias,   // added to scores by distance
  recurrence,   // of a recurrence over tokens: a convolution, a rate of decay and its bias
};

// How initial values are drawn. Every ablation draws the same values for the same name.
struct Init {
  enum class Kind { normal, uniform, constant };
  Kind kind = Kind::normal;
  double scale = 1;  // standard deviation, half width, or the constant
};

// What is known of a parameter where it is made.
struct ParameterInfo {
  std::string name;  // "blocks.0.attention.qkv.weight"
  Shape shape;
  std::string axes;  // what each axis counts, as in "out in" or "H D"
  ParameterRole role = ParameterRole::weight;
  Init init;
};

class Parameter {
 public:
  const ParameterInfo& info() const { return info_; }
  const std::string& name() const { return info_.name; }
  // The position of its elements in every tensor of the arena.
  Segment segment() const { return {begin_, begin_ + info_.shape.size()}; }

  const Var& var() const { return master_; }
  const Tensor& master() const { return master_.value(); }
  Tensor& mutable_master() { return master_.mutable_value(); }
  // The values that products read; ParameterArena::refresh() brings them up to date with the master values.
  const Tensor& compute() const { return compute_; }
  // A memory-mapped weight (WeightSource), which has none of the above; null for other parameters.
  const StoredMatrix* stored() const { return stored_.get(); }
  // Puts another matrix of the same shape in its place, and returns the one that was there.
  std::shared_ptr<const StoredMatrix> exchange_stored(std::shared_ptr<const StoredMatrix> other);

 private:
  friend class ParameterArena;
  Parameter(ParameterInfo info, int bucket) : info_(std::move(info)), bucket_(bucket) {}

  ParameterInfo info_;
  int bucket_;
  std::int64_t begin_ = 0;
  Var master_;
  Tensor compute_;
  std::shared_ptr<const StoredMatrix> stored_;
};

}  // namespace sink
