// The numbers of a model of another program as a WeightSource: matrices lie where they are, in the mapped files.
#pragma once

#include <memory>
#include <set>
#include <string>

#include "autograd/parameter_arena.h"
#include "engine/io/weights/weight_file.h"
#include "model/open/open_config.h"
#include "model/open/tensor_names.h"

namespace sink {

class FamilyWeights : public WeightSource {
 public:
  FamilyWeights(std::shared_ptr<const WeightFile> file, OpenConfig config)
      : file_(std::move(file)), config_(std::move(config)) {}

  // Throws Error (Exit::corrupt_checkpoint), naming tensor and shapes, where one is missing or of another shape. What
  // is no matrix of a product is looked at, too, and comes by numbers().
  std::shared_ptr<const StoredMatrix> matrix(const ParameterInfo& parameter) const override;
  void numbers(const ParameterInfo& parameter, Tensor& out) const override;
  bool is_repeated(const ParameterInfo& parameter) const override {
    return parameter.name == "unembedding.weight" && is_tied();
  }

  // Throws Error (Exit::corrupt_checkpoint) where the files hold weights that the model has no parameter for.
  void require_all_used(const ParameterArena& parameters) const;
  // Throws Error (Exit::corrupt_checkpoint), naming the tensor and its first such element, where a weight is NaN or
  // infinite: no number computed with it means anything, and few of them look as if. Reads all weights once.
  void require_finite(const ParameterArena& parameters) const;

 private:
  bool is_tied() const;
  void require_one_embedding() const;
  std::set<const StoredTensor*> tensors_of(const ParameterArena& parameters) const;
  StoredMatrix rows_of(const ParameterInfo& parameter) const;
  const StoredTensor& tensor(const ParameterInfo& parameter, const std::string& name) const;
  std::vector<TensorPlace> places(const ParameterInfo& parameter) const;

  std::shared_ptr<const WeightFile> file_;
  OpenConfig config_;
};

}  // namespace sink
