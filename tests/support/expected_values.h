// ExpectedValues: the tensors, F64 or I32, and the texts of a safetensors file that a script of tests/golden writes.
#pragma once

#include <cstring>
#include <string>

#include "engine/check.h"
#include "engine/io/weights/weight_file.h"
#include "engine/tensor.h"

namespace sink {

class ExpectedValues {
 public:
  // `name` is the path from tests/golden.
  explicit ExpectedValues(const std::string& name)
      : file_(open_weights(std::string(SINK_SOURCE_DIR) + "/tests/golden/" + name)) {}

  Tensor tensor(const std::string& name) const {
    const StoredTensor& stored = file_.tensor(name);
    SINK_CHECK(stored.type == StoredType::F64 || stored.type == StoredType::I32, "golden", name + " is no F64 or I32");
    Tensor tensor = Tensor::empty(stored.shape, stored.type == StoredType::F64 ? DType::F64 : DType::I32);
    std::memcpy(tensor.raw(), stored.data, stored.bytes);
    return tensor;
  }

  std::string text(const std::string& name) const { return std::string(file_.metadata(name).text()); }
  bool has(const std::string& name) const { return file_.find(name) != nullptr; }
  const WeightFile& file() const { return file_; }

 private:
  WeightFile file_;
};

}  // namespace sink
