// What a thread of an emulated block runs in: a machine context of Boost.Context on a stack of its own, of which
// AddressSanitizer is told, where it is there.
#pragma once

#include <boost/context/detail/fcontext.hpp>
#include <cstddef>
#include <utility>

namespace sink::emulated {

using boost::context::detail::fcontext_t;
using boost::context::detail::transfer_t;

// A place to jump to.
struct Context {
  fcontext_t at = nullptr;
  const void* stack = nullptr;
  std::size_t stack_bytes = 0;
  void* fake_stack = nullptr;
};

// Goes on at `to` and returns when somebody jumps to `from`. `home` is where the first fiber came from, if this is one
// of the jumps that may come back there first.
void jump(Context& from, const Context& to, Context* home);
// The first thing a fiber does, with what its function was given.
void begin_fiber(transfer_t from, Context& home);

class Stack {
 public:
  static constexpr std::size_t kBytes = 128 << 10;

  Stack() = default;
  Stack(Stack&& other) noexcept : memory_(std::exchange(other.memory_, nullptr)) {}
  Stack& operator=(Stack&& other) noexcept {
    std::swap(memory_, other.memory_);
    return *this;
  }
  ~Stack();

  // At the beginning of `function`; the memory comes with the first call.
  Context context(void (*function)(transfer_t));
  // Of a fiber that was left for good, its frames with it.
  void unpoison_all();

 private:
  std::byte* memory_ = nullptr;
};

}  // namespace sink::emulated
