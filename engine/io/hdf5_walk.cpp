// The part of reading an HDF5 file that libhdf5 does, in a child process (engine/io/hdf5_index.h).
#include <hdf5.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>

#include "engine/io/hdf5_file.h"
#include "engine/io/printable.h"

namespace sink {
namespace {

constexpr int kDeepest = 16;
constexpr std::size_t kMostLinks = 65536;
constexpr hsize_t kMostAttributes = 1024;
constexpr std::size_t kLongestPath = 1024;
constexpr std::size_t kLongestAxes = 256;

// HDF5 1.12 renamed what 1.10 has; both have this form.
#if H5_VERSION_GE(1, 12, 0)
using LinkInfo = H5L_info1_t;
constexpr auto iterate_links = H5Literate1;
constexpr auto object_info = H5Oget_info2;
using ObjectInfo = H5O_info1_t;
#else
using LinkInfo = H5L_info_t;
constexpr auto iterate_links = H5Literate;
constexpr auto object_info = H5Oget_info2;
using ObjectInfo = H5O_info_t;
#endif

// After this call no file, external link, external storage or plugin can be opened.
void drop_right_to_open_files() {
  rlimit none = {0, 0};
  ::setrlimit(RLIMIT_NOFILE, &none);
}

// Makes libhdf5 use the mapped bytes where it would copy a file image.
H5FD_file_image_callbacks_t without_copies(void* bytes) {
  return {.image_malloc = [](std::size_t, H5FD_file_image_op_t, void* mapped) { return mapped; },
          .image_memcpy = [](void* to, const void*, std::size_t, H5FD_file_image_op_t, void*) { return to; },
          .image_realloc = [](void*, std::size_t, H5FD_file_image_op_t, void*) -> void* { return nullptr; },
          .image_free = [](void*, H5FD_file_image_op_t, void*) -> herr_t { return 0; },
          .udata_copy = [](void* mapped) { return mapped; },
          .udata_free = [](void*) -> herr_t { return 0; },
          .udata = bytes};
}

// Opens the bytes, not a path: libhdf5 resolves the links of a path, and that of a descriptor (/proc/self/fd/3) leads
// nowhere once the file was replaced.
hid_t open_for_reading(std::string_view bytes) {
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  if (bytes.empty()) throw Hdf5Failure("it is empty");
  void* const mapped = const_cast<char*>(bytes.data());  // read-only pages
  H5FD_file_image_callbacks_t callbacks = without_copies(mapped);
  Hdf5Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose, "make a property list");
  constexpr std::size_t kGrowth = 1 << 16;  // unused
  hdf5_check(H5Pset_fapl_core(access, kGrowth, false), "read it in memory");
  hdf5_check(H5Pset_file_image_callbacks(access, &callbacks), "read it in memory");
  hdf5_check(H5Pset_file_image(access, mapped, bytes.size()), "read it in memory");
  hid_t file = H5Fopen("image", H5F_ACC_RDONLY, access);
  hdf5_check(file, "open it as HDF5");
  return file;
}

// 0 where there are none, or the dataspace is neither scalar nor simple.
hssize_t elements(hid_t space) {
  H5S_class_t kind = H5Sget_simple_extent_type(space);
  return kind == H5S_SCALAR || kind == H5S_SIMPLE ? H5Sget_simple_extent_npoints(space) : 0;
}

// The text of an attribute of a fixed length of at most `limit` bytes; else "", and `problem` is set.
std::string attribute_text(hid_t attribute, std::size_t limit, std::string& problem) {
  Hdf5Handle type(H5Aget_type(attribute), H5Tclose, "read the type of an attribute");
  Hdf5Handle space(H5Aget_space(attribute), H5Sclose, "read the size of an attribute");
  if (H5Tget_class(type) != H5T_STRING || H5Tis_variable_str(type) != 0 || elements(space) != 1) {
    problem = "is not one text of fixed length";
    return "";
  }
  std::size_t bytes = H5Tget_size(type);
  if (bytes > limit) {
    problem = "claims to be longer than the file";
    return "";
  }
  std::string text(bytes, '\0');
  hdf5_check(H5Aread(attribute, type, text.data()), "read an attribute");
  return text;
}

std::vector<Hdf5Attribute> root_attributes(hid_t file, std::size_t bytes_left) {
  ObjectInfo info;
  hdf5_check(object_info(file, &info, H5O_INFO_NUM_ATTRS), "count the attributes");
  if (info.num_attrs > kMostAttributes) {
    throw Hdf5Failure("it has " + std::to_string(info.num_attrs) + " attributes, at most " +
                      std::to_string(kMostAttributes) + " are read");
  }
  std::vector<Hdf5Attribute> attributes;
  for (hsize_t i = 0; i < info.num_attrs; ++i) {
    Hdf5Handle attribute(H5Aopen_by_idx(file, ".", H5_INDEX_NAME, H5_ITER_INC, i, H5P_DEFAULT, H5P_DEFAULT), H5Aclose,
                         "open an attribute");
    std::array<char, 256> name{};
    ssize_t length = H5Aget_name(attribute, name.size(), name.data());
    hdf5_check(length, "read the name of an attribute");
    Hdf5Attribute& read = attributes.emplace_back();
    read.name.assign(name.data(), std::min(static_cast<std::size_t>(length), name.size() - 1));
    read.text = attribute_text(attribute, bytes_left, read.problem);
    bytes_left -= read.text.size();  // together they are not longer than the file
  }
  return attributes;
}

std::string axes_of(hid_t dataset) {
  if (H5Aexists(dataset, "axes") <= 0) return "";
  Hdf5Handle attribute(H5Aopen(dataset, "axes", H5P_DEFAULT), H5Aclose, "open the axes");
  std::string ignored;
  return attribute_text(attribute, kLongestAxes, ignored);
}

// Compares with each supported type, so that unusual widths, offsets and bit orders are rejected.
void describe_type(hid_t type, Hdf5Dataset& dataset) {
  dataset.element_bytes = H5Tget_size(type);
  if (H5Tget_class(type) == H5T_STRING && H5Tis_variable_str(type) == 0) dataset.kind = Hdf5Kind::text;
  auto is = [&](hid_t known) { return H5Tequal(type, known) > 0; };
  for (bool big : {false, true}) {
    if (is(big ? H5T_IEEE_F32BE : H5T_IEEE_F32LE) || is(big ? H5T_IEEE_F64BE : H5T_IEEE_F64LE)) {
      dataset.kind = Hdf5Kind::real;
      dataset.big_endian = big;
    }
    const std::array<hid_t, 8> integers =
        big ? std::array<hid_t, 8>{H5T_STD_I8BE, H5T_STD_I16BE, H5T_STD_I32BE, H5T_STD_I64BE,
                                   H5T_STD_U8BE, H5T_STD_U16BE, H5T_STD_U32BE, H5T_STD_U64BE}
            : std::array<hid_t, 8>{H5T_STD_I8LE, H5T_STD_I16LE, H5T_STD_I32LE, H5T_STD_I64LE,
                                   H5T_STD_U8LE, H5T_STD_U16LE, H5T_STD_U32LE, H5T_STD_U64LE};
    for (std::size_t i = 0; i < integers.size(); ++i) {
      if (!is(integers[i])) continue;
      dataset.kind = Hdf5Kind::integer;
      dataset.is_signed = i < 4;
      dataset.big_endian = big;
    }
  }
}

// Sets shape and offset; returns false and sets the problem where the data is not contiguous in this file.
bool describe_layout(hid_t id, Hdf5Dataset& dataset) {
  auto refuse = [&](const std::string& why) {
    dataset.problem = why;
    return false;
  };
  Hdf5Handle space(H5Dget_space(id), H5Sclose, "read the shape");
  Hdf5Handle properties(H5Dget_create_plist(id), H5Pclose, "read the layout");
  if (H5Pget_layout(properties) != H5D_CONTIGUOUS || H5Pget_external_count(properties) != 0) {
    return refuse("is not stored in one piece in this file");
  }
  H5S_class_t kind = H5Sget_simple_extent_type(space);
  if (kind != H5S_SCALAR && kind != H5S_SIMPLE) return refuse("has no shape");
  int rank = H5Sget_simple_extent_ndims(space);
  if (rank < 0 || rank > Shape::kMaxRank) {
    return refuse("has " + std::to_string(rank) + " axes, at most " + std::to_string(Shape::kMaxRank) + " are allowed");
  }
  hsize_t sizes[Shape::kMaxRank] = {};
  hdf5_check(H5Sget_simple_extent_dims(space, sizes, nullptr), "read the shape");
  bool empty = false;
  for (int axis = 0; axis < rank; ++axis) {
    if (sizes[axis] > hsize_t{1} << 62) return refuse("claims to be larger than the file");
    dataset.shape.append(static_cast<std::int64_t>(sizes[axis]));
    empty = empty || sizes[axis] == 0;
  }
  if (empty) return true;
  H5D_space_status_t stored = H5D_SPACE_STATUS_NOT_ALLOCATED;
  hdf5_check(H5Dget_space_status(id, &stored), "read the storage status");
  haddr_t offset = H5Dget_offset(id);
  if (stored != H5D_SPACE_STATUS_ALLOCATED || offset == HADDR_UNDEF)
    return refuse("has no data (it was created and never written)");
  dataset.offset = offset;
  return true;
}

class Walk {
 public:
  explicit Walk(std::vector<Hdf5Dataset>& datasets) : datasets_(datasets) {}

  void group(hid_t id) {
    hsize_t position = 0;
    herr_t ended = iterate_links(id, H5_INDEX_NAME, H5_ITER_NATIVE, &position, &Walk::link, this);
    if (!failure_.empty()) throw Hdf5Failure(failure_);
    hdf5_check(ended, "list the datasets");
  }

 private:
  // Exceptions must not pass through HDF5's stack frames.
  static herr_t link(hid_t group, const char* name, const LinkInfo* info, void* self) {
    auto& walk = *static_cast<Walk*>(self);
    try {
      walk.visit(group, name, *info);
      return 0;
    } catch (const Hdf5Failure& failure) { walk.failure_ = failure.what(); } catch (const std::bad_alloc&) {
      walk.failure_ = "it asks for more memory than a file of its size needs";
    }
    return -1;
  }

  void visit(hid_t group, const std::string& name, const LinkInfo& info) {
    if (++links_ > kMostLinks) throw Hdf5Failure("it has more than " + std::to_string(kMostLinks) + " links");
    if (name.empty() || name == "." || name == ".." || name.find('/') != std::string::npos)
      throw Hdf5Failure("it has a link whose name is " + in_quotes(name));
    std::string path = path_.empty() ? name : path_ + "/" + name;
    if (path.size() > kLongestPath)
      throw Hdf5Failure("it has a name of more than " + std::to_string(kLongestPath) + " bytes");
    if (info.type != H5L_TYPE_HARD) {
      datasets_.emplace_back().path = path;
      datasets_.back().problem = "is a link to another place or file, which is not followed; put the data itself there";
      return;
    }
    Hdf5Handle object(H5Oopen(group, name.c_str(), H5P_DEFAULT), H5Oclose, "open " + path);
    H5I_type_t type = H5Iget_type(object);
    if (type == H5I_DATASET) datasets_.push_back(describe(object, path));
    if (type != H5I_GROUP) return;
    if (++depth_ > kDeepest) throw Hdf5Failure("it nests groups more than " + std::to_string(kDeepest) + " deep");
    std::swap(path_, path);
    this->group(object);
    std::swap(path_, path);
    --depth_;
  }

  static Hdf5Dataset describe(hid_t id, const std::string& path) {
    Hdf5Dataset dataset;
    dataset.path = path;
    Hdf5Handle type(H5Dget_type(id), H5Tclose, "read the type of " + path);
    describe_type(type, dataset);
    if (describe_layout(id, dataset)) dataset.axes = axes_of(id);
    return dataset;
  }

  std::vector<Hdf5Dataset>& datasets_;
  std::string path_, failure_;
  std::size_t links_ = 0;
  int depth_ = 0;
};

}  // namespace

Hdf5Index walk_hdf5(std::string_view bytes) {
  drop_right_to_open_files();
  Hdf5Handle file(open_for_reading(bytes), H5Fclose, "open it as HDF5");
  Hdf5Index index;
  index.attributes = root_attributes(file, bytes.size());
  Hdf5Handle root(H5Gopen2(file, "/", H5P_DEFAULT), H5Gclose, "open the root group");
  Walk(index.datasets).group(root);
  return index;
}

}  // namespace sink
