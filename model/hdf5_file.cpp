#include "model/hdf5_file.h"

#include <algorithm>

namespace sink {
namespace {

constexpr const char* kAxes = "axes";

// The first entry of HDF5's error stack, walked upwards, is the call that went wrong.
herr_t keep_first_reason(unsigned depth, const H5E_error2_t* error, void* reason) {
  if (depth == 0 && error->desc) *static_cast<std::string*>(reason) = error->desc;
  return 0;
}

hid_t make_file_in_memory(std::size_t seal_bytes) {
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  Hdf5Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose, "make a property list");
  hdf5_check(H5Pset_fapl_core(access, std::size_t{1} << 24, false), "keep a file in memory");
  // The format of HDF5 1.8: every reader knows it and its object headers carry no times once told so.
  hdf5_check(H5Pset_libver_bounds(access, H5F_LIBVER_V18, H5F_LIBVER_V18), "choose the file format");
  Hdf5Handle creation(H5Pcreate(H5P_FILE_CREATE), H5Pclose, "make a property list");
  hdf5_check(H5Pset_userblock(creation, seal_bytes), "reserve the seal");
  hdf5_check(H5Pset_obj_track_times(creation, false), "leave out times");
  hid_t file = H5Fcreate("image", H5F_ACC_TRUNC, creation, access);
  hdf5_check(file, "make a file");  // here, for closing the property lists makes HDF5 forget the reason
  return file;
}

hid_t open_for_reading(const std::string& path) {
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  Hdf5Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose, "make a property list");
  // Locks fail on some network file systems, and a file of ours never changes once it has its name.
  hdf5_check(H5Pset_file_locking(access, false, true), "turn file locks off");
  hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDONLY, access);
  hdf5_check(file, "open it as HDF5");
  return file;
}

// To be closed by the caller, as are the properties below.
hid_t make_text_type(std::size_t bytes) {
  hid_t type = H5Tcopy(H5T_C_S1);
  H5Tset_size(type, std::max<std::size_t>(bytes, 1));  // HDF5 has no text of no bytes
  H5Tset_cset(type, H5T_CSET_UTF8);
  H5Tset_strpad(type, H5T_STR_NULLPAD);
  return type;
}

void add_attribute(hid_t object, const std::string& name, const std::string& text) {
  Hdf5Handle type(make_text_type(text.size()), H5Tclose, "make a text type");
  Hdf5Handle scalar(H5Screate(H5S_SCALAR), H5Sclose, "make a scalar space");
  Hdf5Handle attribute(H5Acreate2(object, name.c_str(), type, scalar, H5P_DEFAULT, H5P_DEFAULT), H5Aclose,
                       "add attribute " + name);
  hdf5_check(H5Awrite(attribute, type, text.c_str()), "write attribute " + name);
}

hid_t make_dataset_properties() {
  hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_layout(properties, H5D_CONTIGUOUS);
  H5Pset_obj_track_times(properties, false);
  return properties;
}

// Size of a fixed-length text type, bounded; other types are refused.
std::size_t text_bytes(hid_t type, hid_t space, std::size_t limit, const std::string& name) {
  if (H5Tget_class(type) != H5T_STRING || H5Tis_variable_str(type) != 0 || H5Sget_simple_extent_npoints(space) != 1) {
    throw Hdf5Failure(name + " is not one text of fixed length");
  }
  std::size_t bytes = H5Tget_size(type);
  if (bytes > limit) throw Hdf5Failure(name + " says it is longer than the file");
  return bytes;
}

std::string without_padding(std::string text) {
  while (!text.empty() && text.back() == '\0') text.pop_back();
  return text;
}

std::string read_attribute(hid_t attribute, std::size_t limit, const std::string& name) {
  Hdf5Handle type(H5Aget_type(attribute), H5Tclose, "read the type of attribute " + name);
  Hdf5Handle space(H5Aget_space(attribute), H5Sclose, "read the size of attribute " + name);
  std::string text(text_bytes(type, space, limit, "attribute " + name), '\0');
  hdf5_check(H5Aread(attribute, type, text.data()), "read attribute " + name);
  return without_padding(text);
}

herr_t collect_dataset(hid_t, const char* name, const H5O_info_t* info, void* paths) {
  if (info->type == H5O_TYPE_DATASET) static_cast<std::vector<std::string>*>(paths)->push_back(name);
  return 0;
}

// The sizes of a dataset, which must be stored in one piece, with few axes, and no larger than its file.
Shape bounded_shape(hid_t dataset, std::size_t element_bytes, std::size_t file_bytes, const std::string& path) {
  Hdf5Handle space(H5Dget_space(dataset), H5Sclose, "read the shape of " + path);
  Hdf5Handle properties(H5Dget_create_plist(dataset), H5Pclose, "read the layout of " + path);
  if (H5Pget_layout(properties) != H5D_CONTIGUOUS || H5Pget_external_count(properties) != 0) {
    throw Hdf5Failure(path + " is not stored in one piece in this file");
  }
  int rank = H5Sget_simple_extent_ndims(space);
  if (rank < 0 || rank > Shape::kMaxRank) {
    throw Hdf5Failure(path + " has " + std::to_string(rank) + " axes, at most " + std::to_string(Shape::kMaxRank) +
                      " are allowed");
  }
  hsize_t sizes[Shape::kMaxRank] = {};
  hdf5_check(H5Sget_simple_extent_dims(space, sizes, nullptr), "read the shape of " + path);
  // Bounded before anything is allocated, without ever forming a product that could overflow.
  std::size_t room = file_bytes / element_bytes;
  Shape shape;
  for (int axis = 0; axis < rank; ++axis) {
    if (sizes[axis] > room) throw Hdf5Failure(path + " says it is larger than the file");
    if (sizes[axis] > 0) room /= sizes[axis];
    shape.append(static_cast<std::int64_t>(sizes[axis]));
  }
  return shape;
}

}  // namespace

Hdf5Handle::Hdf5Handle(hid_t id, herr_t (*close)(hid_t), const std::string& what) : id_(id), close_(close) {
  hdf5_check(id, what);
}

void hdf5_check(long long result, const std::string& what) {
  if (result >= 0) return;
  std::string reason = "no reason given";
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_first_reason, &reason);
  throw Hdf5Failure("cannot " + what + ": " + reason);
}

Hdf5Image::Hdf5Image(std::size_t seal_bytes)
    : seal_bytes_(seal_bytes), file_(make_file_in_memory(seal_bytes), H5Fclose, "make a file") {}

void Hdf5Image::add_text_attribute(const std::string& name, const std::string& text) {
  add_attribute(file_, name, text);
}

void Hdf5Image::add_groups_above(const std::string& path) {
  Hdf5Handle properties(H5Pcreate(H5P_GROUP_CREATE), H5Pclose, "make a property list");
  hdf5_check(H5Pset_obj_track_times(properties, false), "leave out times");
  for (std::size_t slash = path.find('/'); slash != std::string::npos; slash = path.find('/', slash + 1)) {
    std::string group = path.substr(0, slash);
    if (H5Lexists(file_, group.c_str(), H5P_DEFAULT) > 0) continue;
    Hdf5Handle made(H5Gcreate2(file_, group.c_str(), H5P_DEFAULT, properties, H5P_DEFAULT), H5Gclose,
                    "add group " + group);
  }
}

// Makes and fills a dataset, and those groups of its path that are missing; to be closed by the caller.
hid_t Hdf5Image::add_dataset(const std::string& path, const std::vector<hsize_t>& sizes, hid_t file_type,
                             hid_t memory_type, const void* data) {
  add_groups_above(path);
  Hdf5Handle space(H5Screate_simple(static_cast<int>(sizes.size()), sizes.data(), nullptr), H5Sclose,
                   "make the space of " + path);
  Hdf5Handle properties(make_dataset_properties(), H5Pclose, "make a property list");
  hid_t dataset = H5Dcreate2(file_, path.c_str(), file_type, space, H5P_DEFAULT, properties, H5P_DEFAULT);
  hdf5_check(dataset, "add " + path);
  hdf5_check(H5Dwrite(dataset, memory_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data), "write " + path);
  return dataset;
}

void Hdf5Image::add_text(const std::string& path, const std::string& text) {
  Hdf5Handle type(make_text_type(text.size()), H5Tclose, "make a text type");
  Hdf5Handle dataset(add_dataset(path, {}, type, type, text.c_str()), H5Dclose, "add " + path);
}

void Hdf5Image::add_tensor(const std::string& path, const Tensor& tensor, const std::string& axes) {
  std::vector<hsize_t> sizes;
  for (int axis = 0; axis < tensor.rank(); ++axis) sizes.push_back(static_cast<hsize_t>(tensor.dim(axis)));
  auto [in_file, in_memory] = tensor.dtype() == DType::F64   ? std::pair{H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE}
                              : tensor.dtype() == DType::F32 ? std::pair{H5T_IEEE_F32LE, H5T_NATIVE_FLOAT}
                                                             : std::pair{H5T_STD_I32LE, H5T_NATIVE_INT32};
  Hdf5Handle dataset(add_dataset(path, sizes, in_file, in_memory, tensor.raw()), H5Dclose, "add " + path);
  if (!axes.empty()) add_attribute(dataset, kAxes, axes);
}

void Hdf5Image::add_ids(const std::string& path, const std::vector<std::int32_t>& ids, bool wide) {
  Hdf5Handle dataset(
      add_dataset(path, {ids.size()}, wide ? H5T_STD_U32LE : H5T_STD_U16LE, H5T_NATIVE_INT32, ids.data()), H5Dclose,
      "add " + path);
}

std::pair<const char*, std::size_t> Hdf5Image::bytes() {
  hdf5_check(H5Fflush(file_, H5F_SCOPE_GLOBAL), "finish the file");
  ssize_t bytes = H5Fget_file_image(file_, nullptr, 0);
  hdf5_check(bytes, "measure the file");
  void** memory = nullptr;
  hdf5_check(H5Fget_vfd_handle(file_, H5P_DEFAULT, reinterpret_cast<void**>(&memory)), "find the file in memory");
  // HDF5 measures without the room for the seal, but has it in its memory.
  return {static_cast<const char*>(*memory), seal_bytes_ + static_cast<std::size_t>(bytes)};
}

Hdf5Reader::Hdf5Reader(const std::string& path) : file_(open_for_reading(path), H5Fclose, "open it as HDF5") {
  hsize_t bytes = 0;
  hdf5_check(H5Fget_filesize(file_, &bytes), "measure the file");
  file_bytes_ = static_cast<std::size_t>(bytes);
}

std::vector<std::pair<std::string, std::string>> Hdf5Reader::text_attributes() const {
  H5O_info_t info;
  hdf5_check(H5Oget_info2(file_, &info, H5O_INFO_NUM_ATTRS), "count the attributes");
  std::vector<std::pair<std::string, std::string>> texts;
  for (hsize_t i = 0; i < info.num_attrs; ++i) {
    Hdf5Handle attribute(H5Aopen_by_idx(file_, ".", H5_INDEX_NAME, H5_ITER_INC, i, H5P_DEFAULT, H5P_DEFAULT), H5Aclose,
                         "open an attribute");
    std::string name(256, '\0');
    ssize_t length = H5Aget_name(attribute, name.size(), name.data());
    hdf5_check(length, "read the name of an attribute");
    name.resize(std::min<std::size_t>(static_cast<std::size_t>(length), name.size() - 1));
    texts.emplace_back(name, read_attribute(attribute, file_bytes_, name));
  }
  return texts;
}

std::vector<std::string> Hdf5Reader::dataset_paths() const {
  std::vector<std::string> paths;
  hdf5_check(H5Ovisit2(file_, H5_INDEX_NAME, H5_ITER_INC, collect_dataset, &paths, H5O_INFO_BASIC),
             "list the datasets");
  std::sort(paths.begin(), paths.end());
  return paths;
}

std::string Hdf5Reader::text(const std::string& path) const {
  Hdf5Handle dataset(H5Dopen2(file_, path.c_str(), H5P_DEFAULT), H5Dclose, "open " + path);
  Hdf5Handle type(H5Dget_type(dataset), H5Tclose, "read the type of " + path);
  Hdf5Handle space(H5Dget_space(dataset), H5Sclose, "read the size of " + path);
  std::string text(text_bytes(type, space, file_bytes_, path), '\0');
  hdf5_check(H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, text.data()), "read " + path);
  return without_padding(text);
}

Tensor Hdf5Reader::tensor(const std::string& path) const {
  Hdf5Handle dataset(H5Dopen2(file_, path.c_str(), H5P_DEFAULT), H5Dclose, "open " + path);
  Hdf5Handle type(H5Dget_type(dataset), H5Tclose, "read the type of " + path);
  bool wide = H5Tequal(type, H5T_IEEE_F64LE) > 0;
  if (!wide && H5Tequal(type, H5T_IEEE_F32LE) <= 0) {
    bool f64 = H5Tequal(type, H5T_IEEE_F64BE) > 0, big = f64 || H5Tequal(type, H5T_IEEE_F32BE) > 0;
    throw Hdf5Failure(path + " is " + (big ? f64 ? "big-endian f64" : "big-endian f32" : "neither f32 nor f64") +
                      "; expected little-endian f32 or f64");
  }
  Tensor tensor =
      Tensor::empty(bounded_shape(dataset, wide ? 8 : 4, file_bytes_, path), wide ? DType::F64 : DType::F32);
  hid_t memory_type = wide ? H5T_NATIVE_DOUBLE : H5T_NATIVE_FLOAT;
  hdf5_check(H5Dread(dataset, memory_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, tensor.raw()), "read " + path);
  return tensor;
}

Tensor Hdf5Reader::integers(const std::string& path) const {
  Hdf5Handle dataset(H5Dopen2(file_, path.c_str(), H5P_DEFAULT), H5Dclose, "open " + path);
  Hdf5Handle type(H5Dget_type(dataset), H5Tclose, "read the type of " + path);
  Shape shape = bounded_shape(dataset, H5Tget_size(type), file_bytes_, path);
  if (H5Tget_class(type) != H5T_INTEGER) throw Hdf5Failure(path + " does not hold whole numbers");
  Tensor tensor = Tensor::empty(shape, DType::I32);
  hdf5_check(H5Dread(dataset, H5T_NATIVE_INT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, tensor.raw()), "read " + path);
  return tensor;
}

std::vector<std::int32_t> Hdf5Reader::ids(const std::string& path) const {
  Tensor ids = integers(path);
  if (ids.rank() != 1) throw Hdf5Failure(path + " is not a list of numbers");
  return {ids.data<std::int32_t>(), ids.data<std::int32_t>() + ids.size()};
}

std::string Hdf5Reader::axes(const std::string& path) const {
  Hdf5Handle dataset(H5Dopen2(file_, path.c_str(), H5P_DEFAULT), H5Dclose, "open " + path);
  if (H5Aexists(dataset, kAxes) <= 0) return "";
  Hdf5Handle attribute(H5Aopen(dataset, kAxes, H5P_DEFAULT), H5Aclose, "open the axes of " + path);
  return read_attribute(attribute, file_bytes_, kAxes);
}

}  // namespace sink
