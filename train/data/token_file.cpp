#include "train/data/token_file.h"

#include <hdf5.h>

#include <algorithm>
#include <filesystem>

#include "engine/check.h"
#include "model/tokenizer/whole_file.h"

namespace sink {

namespace {

constexpr std::size_t kHeader = 512;  // the smallest that HDF5 skips
constexpr char kFormat[] = "sinklab tokens 1, sha256 ";

std::string header_for(std::string_view hdf5) {
  std::string header = kFormat + sha256_hex(hdf5) + "\n";
  header.resize(kHeader, ' ');
  return header;
}

// An HDF5 handle that closes itself. `id` below 0 means that it could not be made.
struct Handle {
  hid_t id;
  herr_t (*close)(hid_t);
  Handle(hid_t id, herr_t (*close)(hid_t)) : id(id), close(close) {}
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() {
    if (id >= 0) close(id);
  }
};

// HDF5 prints its error stack to stderr unless told not to; our messages say what matters.
struct QuietHdf5 {
  H5E_auto2_t print;
  void* data;
  QuietHdf5() {
    H5Eget_auto2(H5E_DEFAULT, &print, &data);
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  }
  ~QuietHdf5() { H5Eset_auto2(H5E_DEFAULT, print, data); }
};

std::string tokens_sha256(const TokenFile& file) {
  std::vector<std::int32_t> all(file.train);
  all.insert(all.end(), file.valid.begin(), file.valid.end());
  return sha256_hex({reinterpret_cast<const char*>(all.data()), all.size() * sizeof(std::int32_t)});
}

void must(bool done) {
  SINK_CHECK(done, "tokens", "HDF5 could not build the token file in memory", Exit::out_of_memory);
}

void put_text(hid_t file, const char* name, const std::string& text) {
  Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
  H5Tset_size(type.id, std::max<std::size_t>(1, text.size()));
  H5Tset_strpad(type.id, H5T_STR_NULLPAD);
  H5Tset_cset(type.id, H5T_CSET_UTF8);
  Handle space(H5Screate(H5S_SCALAR), H5Sclose);
  Handle attribute(H5Acreate2(file, name, type.id, space.id, H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
  must(attribute.id >= 0 && H5Awrite(attribute.id, type.id, text.empty() ? "" : text.data()) >= 0);
}

void put_tokens(hid_t file, const char* name, const std::vector<std::int32_t>& tokens, std::int64_t vocabulary) {
  hsize_t size = tokens.size();
  Handle space(H5Screate_simple(1, &size, nullptr), H5Sclose);
  hid_t type = vocabulary <= 65536 ? H5T_STD_U16LE : H5T_STD_U32LE;
  Handle set(H5Dcreate2(file, name, type, space.id, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Dclose);
  must(set.id >= 0);
  must(size == 0 || H5Dwrite(set.id, H5T_NATIVE_INT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, tokens.data()) >= 0);
}

[[noreturn]] void reject(const std::string& path, const std::string& why) {
  fail("tokens", path + ": " + why + "; make it again with `prepare`", Exit::bad_input);
}

std::string get_text(hid_t file, const char* name, const std::string& path) {
  Handle attribute(H5Aopen(file, name, H5P_DEFAULT), H5Aclose);
  if (attribute.id < 0) reject(path, std::string("has no attribute '") + name + "', so it is no token file");
  Handle type(H5Aget_type(attribute.id), H5Tclose);
  Handle space(H5Aget_space(attribute.id), H5Sclose);
  bool plain = H5Tget_class(type.id) == H5T_STRING && H5Tis_variable_str(type.id) == 0 &&
               H5Sget_simple_extent_npoints(space.id) == 1;
  std::string text(plain ? H5Tget_size(type.id) : 0, '\0');
  if (!plain || H5Aread(attribute.id, type.id, text.data()) < 0) {
    reject(path, std::string("the attribute '") + name + "' cannot be read");
  }
  text.resize(std::min(text.find('\0'), text.size()));
  return text;
}

std::vector<std::int32_t> get_tokens(hid_t file, const char* name, const std::string& path) {
  Handle set(H5Dopen2(file, name, H5P_DEFAULT), H5Dclose);
  if (set.id < 0) reject(path, std::string("has no dataset '") + name + "'");
  Handle space(H5Dget_space(set.id), H5Sclose);
  if (H5Sget_simple_extent_ndims(space.id) != 1) reject(path, std::string("the dataset '") + name + "' is not a list");
  auto size = static_cast<std::uint64_t>(std::max<hssize_t>(0, H5Sget_simple_extent_npoints(space.id)));
  std::vector<std::int32_t> tokens(size);
  if (size > 0 && H5Dread(set.id, H5T_NATIVE_INT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, tokens.data()) < 0) {
    reject(path, std::string("the dataset '") + name + "' cannot be read");
  }
  return tokens;
}

}  // namespace

std::string to_token_file_bytes(const TokenFile& file) {
  QuietHdf5 quiet;
  // The core driver keeps the file in memory, growing by a mebibyte at a time, and writes nothing to the disk.
  Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  must(access.id >= 0 && H5Pset_fapl_core(access.id, 1 << 20, false) >= 0);
  Handle h5(H5Fcreate("tokens.h5", H5F_ACC_TRUNC, H5P_DEFAULT, access.id), H5Fclose);
  must(h5.id >= 0);
  put_text(h5.id, "vocabulary", std::to_string(file.vocabulary));
  put_text(h5.id, "sources", file.sources);
  put_text(h5.id, "sha256", tokens_sha256(file));
  put_text(h5.id, "tokenizer_sha256", file.tokenizer_sha256);
  put_tokens(h5.id, "train", file.train, file.vocabulary);
  put_tokens(h5.id, "valid", file.valid, file.vocabulary);
  must(H5Fflush(h5.id, H5F_SCOPE_LOCAL) >= 0);
  ssize_t size = H5Fget_file_image(h5.id, nullptr, 0);
  must(size > 0);
  std::string bytes(static_cast<std::size_t>(size), '\0');
  must(H5Fget_file_image(h5.id, bytes.data(), bytes.size()) == size);
  return header_for(bytes) + bytes;
}

TokenFile read_token_file(const std::string& path) {
  std::error_code none;
  if (!std::filesystem::exists(path, none)) {
    fail("tokens", path + ": no such file; make it with `prepare --text FILE... --out FOLDER`", Exit::bad_input);
  }
  // HDF5 can crash on damaged files, so it is only shown whole ones.
  std::string bytes = read_file("tokens", path);
  if (!bytes.starts_with(kFormat)) reject(path, "is not a token file of this version");
  if (bytes.size() < kHeader || bytes.substr(0, kHeader) != header_for(std::string_view(bytes).substr(kHeader))) {
    reject(path, "is damaged or cut short (its SHA-256 differs)");
  }
  bytes = {};
  QuietHdf5 quiet;
  Handle h5(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
  if (h5.id < 0) reject(path, "cannot be opened as HDF5");
  TokenFile file;
  std::string vocabulary = get_text(h5.id, "vocabulary", path);
  bool number =
      !vocabulary.empty() && vocabulary.size() < 10 && std::all_of(vocabulary.begin(), vocabulary.end(), ::isdigit);
  if (!number) reject(path, "the vocabulary size is '" + vocabulary + "'");
  file.vocabulary = std::stoll(vocabulary);
  file.sources = get_text(h5.id, "sources", path);
  file.tokenizer_sha256 = get_text(h5.id, "tokenizer_sha256", path);
  file.train = get_tokens(h5.id, "train", path);
  file.valid = get_tokens(h5.id, "valid", path);
  for (const auto* tokens : {&file.train, &file.valid}) {
    for (std::int32_t id : *tokens) {
      if (id < 0 || id >= file.vocabulary) {
        reject(path, "token " + std::to_string(id) + " is outside the vocabulary of " + vocabulary);
      }
    }
  }
  return file;
}

}  // namespace sink
