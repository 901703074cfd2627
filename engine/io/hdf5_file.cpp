#include "engine/io/hdf5_file.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <new>
#include <string_view>

#include "engine/io/child_report.h"

namespace sink {
namespace {

constexpr const char* kAxes = "axes";

struct Reason {
  std::string text = "no reason given";
  bool memory = false;
};

// The first entry of HDF5's error stack, walked upwards, is the call that went wrong.
herr_t keep_first_reason(unsigned depth, const H5E_error2_t* error, void* kept) {
  auto& reason = *static_cast<Reason*>(kept);
  if (depth != 0) return 0;
  if (error->desc) reason.text = error->desc;
  // Keep only the system's own message of HDF5's text.
  constexpr std::string_view kSystem = "error message = '";
  if (const std::size_t at = reason.text.find(kSystem); at != std::string::npos) {
    reason.text.erase(0, at + kSystem.size());
    reason.text.resize(std::min(reason.text.find('\''), reason.text.size()));
  }
  reason.memory = error->maj_num == H5E_RESOURCE && (error->min_num == H5E_NOSPACE || error->min_num == H5E_CANTALLOC);
  return 0;
}

constexpr std::size_t kImageGrowth = std::size_t{1} << 24;

// Throws std::bad_alloc unless there is memory for an image that grows by `bytes`, and for libhdf5 itself. Where memory
// runs out inside libhdf5 1.10, its error handling can corrupt the heap (H5P_copy_plist).
void require_memory(std::size_t bytes) {
  constexpr std::size_t kOfLibrary = std::size_t{4} << 20;
  const std::size_t all = bytes + kImageGrowth + kOfLibrary;
  void* const probe = ::mmap(nullptr, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (probe == MAP_FAILED) throw std::bad_alloc();
  ::munmap(probe, all);
}

// In memory where `path` is empty.
hid_t make_file(const std::string& path, std::size_t user_block_bytes) {
  if (path.empty()) require_memory(0);
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  Hdf5Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose, "make a property list");
  if (path.empty()) hdf5_check(H5Pset_fapl_core(access, kImageGrowth, false), "keep a file in memory");
  hdf5_check(H5Pset_file_locking(access, false, true), "turn file locks off");  // some network file systems have none
  // The format of HDF5 1.8: every reader knows it, and its object headers can leave out times.
  hdf5_check(H5Pset_libver_bounds(access, H5F_LIBVER_V18, H5F_LIBVER_V18), "choose the file format");
  Hdf5Handle creation(H5Pcreate(H5P_FILE_CREATE), H5Pclose, "make a property list");
  hdf5_check(H5Pset_userblock(creation, user_block_bytes), "reserve the user block");
  hdf5_check(H5Pset_obj_track_times(creation, false), "leave out times");
  // A unique name: HDF5 keeps an image open that it could not finish for lack of memory.
  static std::atomic<int> images = 0;
  std::string name = path.empty() ? "image " + std::to_string(++images) : path;
  hid_t file = H5Fcreate(name.c_str(), H5F_ACC_TRUNC, creation, access);
  hdf5_check(file, "make a file");  // before the property lists are closed, which clears HDF5's error stack
  return file;
}

// The caller closes the type, and the properties below.
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

std::string written_frame(const std::string& path, std::size_t user_block_bytes,
                          const std::vector<std::pair<std::string, std::string>>& text_attributes,
                          std::vector<Hdf5List> lists) {
  Hdf5Handle file(make_file(path, user_block_bytes), H5Fclose, "make a file");
  for (const auto& [name, text] : text_attributes) add_attribute(file, name, text);
  Hdf5Handle properties(make_dataset_properties(), H5Pclose, "make a property list");
  // Space is allocated now; nothing is written to it.
  hdf5_check(H5Pset_alloc_time(properties, H5D_ALLOC_TIME_EARLY), "allocate the dataset early");
  hdf5_check(H5Pset_fill_time(properties, H5D_FILL_TIME_NEVER), "skip fill values");
  for (Hdf5List& list : lists) {
    hsize_t count = list.count;
    Hdf5Handle space(H5Screate_simple(1, &count, nullptr), H5Sclose, "make the space of " + list.path);
    Hdf5Handle dataset(H5Dcreate2(file, list.path.c_str(), list.wide ? H5T_STD_U32LE : H5T_STD_U16LE, space,
                                  H5P_DEFAULT, properties, H5P_DEFAULT),
                       H5Dclose, "add " + list.path);
    list.offset = H5Dget_offset(dataset);
    if (count > 0 && list.offset == HADDR_UNDEF) throw Hdf5Failure("cannot find the offset of " + list.path);
  }
  hdf5_check(H5Fflush(file, H5F_SCOPE_GLOBAL), "finish the file");
  hsize_t bytes = 0;
  hdf5_check(H5Fget_filesize(file, &bytes), "measure the file");
  file.close("finish the file");
  std::vector<std::uint64_t> numbers{bytes};
  for (const Hdf5List& list : lists) numbers.push_back(list.offset);
  return {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof numbers[0]};
}

}  // namespace

Hdf5Handle::Hdf5Handle(hid_t id, herr_t (*close)(hid_t), const std::string& what) : id_(id), close_(close) {
  hdf5_check(id, what);
}

void Hdf5Handle::close(const std::string& what) { hdf5_check(close_(std::exchange(id_, H5I_INVALID_HID)), what); }

void hdf5_check(long long result, const std::string& what) {
  if (result >= 0) return;
  Reason reason;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_first_reason, &reason);
  if (reason.memory || reason.text.starts_with("unable to allocate memory")) throw std::bad_alloc();
  throw Hdf5Failure("cannot " + what + ": " + reason.text);
}

Hdf5Image::Hdf5Image(std::size_t user_block_bytes)
    : user_block_bytes_(user_block_bytes), file_(make_file("", user_block_bytes), H5Fclose, "make a file") {}

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

// Creates a dataset and the missing groups of its path; the caller closes it.
hid_t Hdf5Image::add_dataset(const std::string& path, const std::vector<hsize_t>& sizes, hid_t file_type,
                             hid_t memory_type, const void* data, std::size_t bytes) {
  require_memory(bytes);
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
  Hdf5Handle dataset(add_dataset(path, {}, type, type, text.c_str(), text.size()), H5Dclose, "add " + path);
}

void Hdf5Image::add_tensor(const std::string& path, const Tensor& tensor, const std::string& axes) {
  std::vector<hsize_t> sizes;
  for (int axis = 0; axis < tensor.rank(); ++axis) sizes.push_back(static_cast<hsize_t>(tensor.dim(axis)));
  auto [in_file, in_memory] = tensor.dtype() == DType::F64   ? std::pair{H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE}
                              : tensor.dtype() == DType::F32 ? std::pair{H5T_IEEE_F32LE, H5T_NATIVE_FLOAT}
                                                             : std::pair{H5T_STD_I32LE, H5T_NATIVE_INT32};
  Hdf5Handle dataset(add_dataset(path, sizes, in_file, in_memory, tensor.raw(), tensor.bytes()), H5Dclose,
                     "add " + path);
  if (!axes.empty()) add_attribute(dataset, kAxes, axes);
}

std::pair<const char*, std::size_t> Hdf5Image::bytes() {
  hdf5_check(H5Fflush(file_, H5F_SCOPE_GLOBAL), "finish the file");
  ssize_t bytes = H5Fget_file_image(file_, nullptr, 0);
  hdf5_check(bytes, "measure the file");
  void** memory = nullptr;
  hdf5_check(H5Fget_vfd_handle(file_, H5P_DEFAULT, reinterpret_cast<void**>(&memory)), "find the file in memory");
  // The size that HDF5 reports leaves out the user block, which its memory image includes.
  return {static_cast<const char*>(*memory), user_block_bytes_ + static_cast<std::size_t>(bytes)};
}

std::uint64_t write_hdf5_frame(const std::string& path, std::size_t user_block_bytes,
                               const std::vector<std::pair<std::string, std::string>>& text_attributes,
                               std::vector<Hdf5List>& lists) {
  constexpr char kWritten = 'w', kFailed = 'f';
  const ChildReport report = report_of_child(
      [&] {
        try {
          return kWritten + written_frame(path, user_block_bytes, text_attributes, lists);
        } catch (const Hdf5Failure& failure) { return std::string(1, kFailed) + failure.what(); }
      },
      {.writes_files = true});
  if (!report.failure.empty()) throw Hdf5Failure("the HDF5 library cannot write it: " + report.failure);
  if (report.bytes[0] == kFailed) throw Hdf5Failure(report.bytes.substr(1));
  std::vector<std::uint64_t> numbers(1 + lists.size());
  if (report.bytes.size() != 1 + numbers.size() * sizeof numbers[0])
    throw Hdf5Failure("the process that wrote it reported no offsets");
  std::memcpy(numbers.data(), report.bytes.data() + 1, numbers.size() * sizeof numbers[0]);
  for (std::size_t i = 0; i < lists.size(); ++i) lists[i].offset = numbers[1 + i];
  return numbers[0];
}

}  // namespace sink
