#include "engine/io/mapped_bytes.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "engine/io/file.h"

namespace sink {

MappedBytes::MappedBytes(int descriptor, std::uint64_t offset, std::size_t bytes) : size_(bytes) {
  if (bytes == 0) return;
  auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  std::uint64_t before = offset % page;
  page_bytes_ = static_cast<std::size_t>(before) + bytes;
  void* pages = ::mmap(nullptr, page_bytes_, PROT_READ, MAP_SHARED, descriptor, static_cast<off_t>(offset - before));
  if (pages == MAP_FAILED) fail_io("map", "the file to memory", errno);
  pages_ = pages;
  data_ = static_cast<const unsigned char*>(pages_) + before;
}

MappedBytes::~MappedBytes() {
  if (pages_) ::munmap(pages_, page_bytes_);
}

MappedBytes& MappedBytes::operator=(MappedBytes&& other) noexcept {
  std::swap(pages_, other.pages_);
  std::swap(page_bytes_, other.page_bytes_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

}  // namespace sink
