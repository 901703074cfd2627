// Bytes of a file as memory: the system brings them in when they are looked at, and may let go of them again.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sink {

class MappedBytes {
 public:
  MappedBytes() = default;
  // `bytes` bytes of the open file from `offset` on, all of which must lie in it. They stay when the file is closed, or
  // another one is put in its place. Throws Error (Exit::io).
  MappedBytes(int descriptor, std::uint64_t offset, std::size_t bytes);
  ~MappedBytes();
  MappedBytes(MappedBytes&& other) noexcept { *this = static_cast<MappedBytes&&>(other); }
  MappedBytes& operator=(MappedBytes&& other) noexcept;

  const unsigned char* data() const { return data_; }
  std::size_t size() const { return size_; }

 private:
  void* pages_ = nullptr;  // which begin at a page of the file
  std::size_t page_bytes_ = 0;
  const unsigned char* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace sink
