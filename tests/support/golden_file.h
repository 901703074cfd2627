// GoldenFile: reads the datasets of an HDF5 file. Floats of any width come as F64,
// integers as I32.
#pragma once

#include <hdf5.h>

#include <string>

#include "engine/check.h"
#include "engine/io/hdf5_file.h"
#include "engine/tensor.h"

namespace sink {

class GoldenFile {
 public:
  explicit GoldenFile(const std::string& path) : path_(path), file_(open(path), H5Fclose, "open " + path) {}

  // The dataset of that path inside the file, as in tensor("gradients/final_norm.gain"). A scalar has rank 0.
  Tensor tensor(const std::string& name) const {
    check(has(name), "no dataset '" + name + "'");
    Hdf5Handle dataset(H5Dopen2(file_, name.c_str(), H5P_DEFAULT), H5Dclose, "open dataset " + name);
    Hdf5Handle type(H5Dget_type(dataset), H5Tclose, "read " + name);
    H5T_class_t kind = H5Tget_class(type);
    check(kind == H5T_FLOAT || kind == H5T_INTEGER, "'" + name + "' holds neither reals nor whole numbers");
    Tensor tensor = Tensor::empty(shape_of(dataset, name), kind == H5T_FLOAT ? DType::F64 : DType::I32);
    hid_t memory = kind == H5T_FLOAT ? H5T_NATIVE_DOUBLE : H5T_NATIVE_INT32;
    check(H5Dread(dataset, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, tensor.raw()) >= 0, "cannot read '" + name + "'");
    return tensor;
  }

  // Whether the path names a dataset or a group; each part is asked for, as HDF5 wants it.
  bool has(const std::string& name) const {
    for (std::size_t slash = name.find('/'); slash != std::string::npos; slash = name.find('/', slash + 1)) {
      if (H5Lexists(file_, name.substr(0, slash).c_str(), H5P_DEFAULT) <= 0) return false;
    }
    return H5Lexists(file_, name.c_str(), H5P_DEFAULT) > 0;
  }

 private:
  static hid_t open(const std::string& path) {
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);  // our messages replace HDF5's stack on stderr
    hid_t id = H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
    SINK_CHECK(id >= 0, "golden", "cannot open " + path + " as an HDF5 file; is it there and whole?", Exit::bad_input);
    return id;
  }

  Shape shape_of(hid_t dataset, const std::string& name) const {
    Hdf5Handle space(H5Dget_space(dataset), H5Sclose, "read " + name);
    int rank = H5Sget_simple_extent_ndims(space);
    check(rank >= 0 && rank <= Shape::kMaxRank, "'" + name + "' has " + std::to_string(rank) + " axes, at most " +
                                                    std::to_string(Shape::kMaxRank) + " can be read");
    hsize_t sizes[Shape::kMaxRank] = {};
    H5Sget_simple_extent_dims(space, sizes, nullptr);
    Shape shape;
    for (int axis = 0; axis < rank; ++axis) shape.append(static_cast<std::int64_t>(sizes[axis]));
    return shape;
  }

  void check(bool condition, const std::string& problem) const {
    SINK_CHECK(condition, "golden", path_ + ": " + problem, Exit::bad_input);
  }

  std::string path_;
  Hdf5Handle file_;
};

}  // namespace sink
