// An HDF5 file made with the library's own means, sound or not: what our writer would never write.
#pragma once

#include <hdf5.h>

#include <stdexcept>
#include <string>
#include <vector>

namespace sink {

// Closed at the end of its scope. With `user_block_bytes` left free at its front.
struct RawHdf5 {
  explicit RawHdf5(const std::string& path, hsize_t user_block_bytes = 0) {
    hid_t creation = H5Pcreate(H5P_FILE_CREATE);
    H5Pset_userblock(creation, user_block_bytes);
    id = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, creation, H5P_DEFAULT);
    H5Pclose(creation);
    if (id < 0) throw std::runtime_error("cannot make " + path);
  }
  ~RawHdf5() { H5Fclose(id); }
  RawHdf5(const RawHdf5&) = delete;
  RawHdf5& operator=(const RawHdf5&) = delete;

  void attribute(const std::string& name, const std::string& text) {
    hid_t type = H5Tcopy(H5T_C_S1), space = H5Screate(H5S_SCALAR);
    H5Tset_size(type, text.size());
    hid_t made = H5Acreate2(id, name.c_str(), type, space, H5P_DEFAULT, H5P_DEFAULT);
    H5Awrite(made, type, text.data());
    H5Aclose(made);
    H5Sclose(space);
    H5Tclose(type);
  }
  // `data` may be null: the dataset is then made and never written.
  void dataset(const std::string& path, hid_t type, std::vector<hsize_t> sizes, hid_t memory_type, const void* data,
               hid_t properties = H5P_DEFAULT) {
    hid_t links = H5Pcreate(H5P_LINK_CREATE);
    H5Pset_create_intermediate_group(links, 1);
    hid_t space = H5Screate_simple(static_cast<int>(sizes.size()), sizes.data(), nullptr);
    hid_t made = H5Dcreate2(id, path.c_str(), type, space, links, properties, H5P_DEFAULT);
    if (made < 0 || (data && H5Dwrite(made, memory_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) < 0))
      throw std::runtime_error("cannot make " + path);
    H5Dclose(made);
    H5Sclose(space);
    H5Pclose(links);
  }
  void floats(const std::string& path, hsize_t count, const void* data) {
    dataset(path, H5T_IEEE_F32LE, {count}, H5T_NATIVE_FLOAT, data);
  }
  // A dataset whose bytes stand in another file.
  void outside(const std::string& path, hid_t type, hsize_t count, const std::string& other, hsize_t bytes) {
    hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_external(properties, other.c_str(), 0, bytes);
    dataset(path, type, {count}, type, nullptr, properties);
    H5Pclose(properties);
  }
  // A dataset that is a view of another file's.
  void view(const std::string& path, const std::string& other, const std::string& dataset_there) {
    hsize_t four = 4;
    hid_t space = H5Screate_simple(1, &four, nullptr), properties = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_virtual(properties, space, other.c_str(), dataset_there.c_str(), space);
    dataset(path, H5T_IEEE_F32LE, {4}, H5T_NATIVE_FLOAT, nullptr, properties);
    H5Pclose(properties);
    H5Sclose(space);
  }
  void soft_link(const std::string& path, const std::string& to) {
    H5Lcreate_soft(to.c_str(), id, path.c_str(), H5P_DEFAULT, H5P_DEFAULT);
  }
  void hard_link(const std::string& path, const std::string& to) {
    H5Lcreate_hard(id, to.c_str(), id, path.c_str(), H5P_DEFAULT, H5P_DEFAULT);
  }
  void external_link(const std::string& path, const std::string& other, const std::string& there) {
    H5Lcreate_external(other.c_str(), there.c_str(), id, path.c_str(), H5P_DEFAULT, H5P_DEFAULT);
  }
  void groups_in_groups(int depth) {
    hid_t at = H5Gopen2(id, "/", H5P_DEFAULT);
    for (int i = 0; i < depth; ++i) {
      hid_t inner = H5Gcreate2(at, "g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
      H5Gclose(at);
      at = inner;
    }
    H5Gclose(at);
  }

  hid_t id;
};

}  // namespace sink
