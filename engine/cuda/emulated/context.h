// The execution context of a thread of an emulated block: a context of Boost.Context with its own stack, which is
// reported to AddressSanitizer if the program has it.
#pragma once

#include <boost/context/detail/fcontext.hpp>
#include <cstddef>
#include <utility>

namespace sink::emulated {

using boost::context::detail::fcontext_t;
using boost::context::detail::transfer_t;

// The target of a jump.
struct Context {
  fcontext_t at = nullptr;
  const void* stack = nullptr;
  std::size_t stack_bytes = 0;
  void* fake_stack = nullptr;
};

// Continues at `to`, and returns after a jump to `from`. `caller`: the context that started the first fiber, if control
// may return there first; else null.
void jump(Context& from, const Context& to, Context* caller);
// Called first in every fiber, with its function's argument.
void begin_fiber(transfer_t from, Context& caller);

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

  // A context at the beginning of `function`. The first call allocates the memory.
  Context context(void (*function)(transfer_t));
  // For the frames of an abandoned fiber.
  void unpoison_all();

 private:
  std::byte* memory_ = nullptr;
};

}  // namespace sink::emulated
