// Switching between the threads of a block.
#include "engine/cuda/emulated/context.h"

#include <sys/mman.h>

#include "engine/check.h"
#include "engine/cuda/emulated/poison.h"

namespace sink::emulated {
namespace {

void arrive(void* fake_stack, Context* caller) {
  if (!__sanitizer_finish_switch_fiber) return;
  const void* stack;
  std::size_t bytes;
  __sanitizer_finish_switch_fiber(fake_stack, &stack, &bytes);
  if (caller && !caller->stack) caller->stack = stack, caller->stack_bytes = bytes;
}

// Stores the context that jumped here.
void remember(const transfer_t& from) { *static_cast<fcontext_t*>(from.data) = from.fctx; }

}  // namespace

void jump(Context& from, const Context& to, Context* caller) {
  if (__sanitizer_start_switch_fiber) __sanitizer_start_switch_fiber(&from.fake_stack, to.stack, to.stack_bytes);
  remember(boost::context::detail::jump_fcontext(to.at, &from.at));
  arrive(from.fake_stack, caller);
}

void begin_fiber(transfer_t from, Context& caller) {
  remember(from);
  arrive(nullptr, &caller);
}

Stack::~Stack() {
  if (memory_) munmap(memory_, kBytes);
}

Context Stack::context(void (*function)(transfer_t)) {
  if (!memory_) {
    void* mapped = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    SINK_CHECK(mapped != MAP_FAILED, "emulated device", "no memory for a thread", Exit::out_of_memory);
    memory_ = static_cast<std::byte*>(mapped);
  }
  return {boost::context::detail::make_fcontext(memory_ + kBytes, kBytes, function), memory_, kBytes, nullptr};
}

void Stack::unpoison_all() {
  if (memory_) unpoison(memory_, kBytes);
}

}  // namespace sink::emulated
