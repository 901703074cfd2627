// Parameter: a named, trained tensor. The optimiser works on the master values (F32, or F64 in checks); products read
// them in the precision of the run, converted once a step.
#pragma once

#include <string>
#include <vector>

#include "autograd/var.h"

namespace sink {

// How initial values are drawn; every ablation draws the same numbers for the same name.
struct Init {
  enum class Kind { normal, uniform, constant };
  Kind kind = Kind::normal;
  double scale = 1;  // standard deviation, half width, or the constant
};

class Parameter {
 public:
  // Initial values from the stream of this name; `compute` is the precision that products read.
  Parameter(std::string name, const Shape& shape, const Init& init, std::uint64_t seed, DType compute);

  const std::string& name() const { return name_; }
  const Var& var() const { return master_; }
  const Tensor& master() const { return master_.value(); }
  Tensor& mutable_master() { return master_.mutable_value(); }
  // The values that products read. Call refresh() whenever the master has changed.
  const Tensor& compute() const { return compute_; }
  void refresh();

 private:
  std::string name_;
  Var master_;
  Tensor compute_;
};

}  // namespace sink
