// Scratch memory of a kernel. A layout is a struct whose constructor takes its buffers from its last argument, a
// Scratch&. The constructor runs once to measure and then once for every block, so that no size is written twice:
//
//   struct Rows {
//     float *m, *s;
//     Rows(std::int64_t T, Scratch& scratch) : m(scratch.take<float>(T)), s(scratch.take<float>(T * T)) {}
//   };
//   ScratchBlocks<Rows> blocks(thread_count(), T);   // blocks[n].m, ...
//
// AddressSanitizer stops the program at an access between buffers or after the last one.
#pragma once

#include <vector>

#include "engine/tensor.h"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(begin, bytes) ((void)(begin), (void)(bytes))
#define ASAN_UNPOISON_MEMORY_REGION(begin, bytes) ((void)(begin), (void)(bytes))
#endif

namespace sink {

class Scratch {
 public:
  Scratch() = default;  // counts, and hands out null
  Scratch(float* begin, std::int64_t size) : begin_(begin), size_(size) {
    ASAN_POISON_MEMORY_REGION(begin_, sizeof(float) * size_);
  }

  // `count` objects, uninitialised and aligned to 64 bytes.
  template <class T>
  T* take(std::int64_t count) {
    static_assert(sizeof(T) % sizeof(float) == 0);
    std::int64_t first = used_, size = count * static_cast<std::int64_t>(sizeof(T) / sizeof(float));
    used_ += (size + kUnit - 1) / kUnit * kUnit + kGap;
    if (!begin_) return nullptr;
    SINK_CHECK(used_ <= size_, "scratch",
               "the layout takes more when it runs for real (" + std::to_string(used_) + " floats) than when it was " +
                   "counted (" + std::to_string(size_) + ")");
    ASAN_UNPOISON_MEMORY_REGION(begin_ + first, sizeof(float) * size);
    return reinterpret_cast<T*>(begin_ + first);
  }
  std::int64_t used() const { return used_; }  // in floats

 private:
  static constexpr std::int64_t kUnit = 16;
#ifdef __SANITIZE_ADDRESS__
  static constexpr std::int64_t kGap = 16;
#else
  static constexpr std::int64_t kGap = 0;
#endif
  float* begin_ = nullptr;
  std::int64_t size_ = 0, used_ = 0;
};

// `count` blocks of one layout.
template <class Layout>
class ScratchBlocks {
 public:
  template <class... Sizes>
  explicit ScratchBlocks(std::int64_t count, const Sizes&... sizes) {
    Scratch counter;
    Layout(sizes..., counter);
    memory_ = Tensor::empty({count, counter.used()});
    blocks_.reserve(static_cast<std::size_t>(count));
    for (std::int64_t n = 0; n < count; ++n) {
      Scratch scratch(memory_.data<float>() + n * counter.used(), counter.used());
      blocks_.emplace_back(sizes..., scratch);
      SINK_CHECK(scratch.used() == counter.used(), "scratch",
                 "the layout was counted as " + std::to_string(counter.used()) + " floats and took " +
                     std::to_string(scratch.used()));
    }
  }
  ~ScratchBlocks() { ASAN_UNPOISON_MEMORY_REGION(memory_.raw(), memory_.bytes()); }
  ScratchBlocks(const ScratchBlocks&) = delete;
  ScratchBlocks& operator=(const ScratchBlocks&) = delete;

  Layout& operator[](std::int64_t n) { return blocks_[static_cast<std::size_t>(n)]; }

 private:
  Tensor memory_;
  std::vector<Layout> blocks_;
};

}  // namespace sink
