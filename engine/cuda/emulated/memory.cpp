#include "engine/cuda/emulated/memory.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <initializer_list>
#include <map>
#include <mutex>
#include <string>

#include "engine/check.h"
#include "engine/cuda/emulated/block.h"
#include "engine/cuda/emulated/launches.h"
#include "engine/cuda/emulated/poison.h"
#include "engine/cuda/emulated/source_line.h"

namespace sink::emulated {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kKeptFreed = 256;  // freed allocations that stay mapped and inaccessible
constexpr unsigned char kFresh = 0xff, kPadding = 0xa5;

struct Allocation {
  std::byte* pages = nullptr;  // without the guard pages before and after
  std::size_t page_bytes = 0;
  std::byte* begin = nullptr;
  std::size_t bytes = 0;
  bool freed = false;
  std::atomic<bool> open{false};

  void allow(bool access) { mprotect(pages, page_bytes, access ? PROT_READ | PROT_WRITE : PROT_NONE); }
};

struct Memory {
  std::recursive_mutex mutex;
  std::map<std::byte*, Allocation> by_page;  // by `pages`
  std::deque<std::byte*> freed;
  std::size_t bytes_in_use = 0;
  std::atomic<int> kernels{0};  // in progress
};
Memory& memory() {
  static Memory* all = new Memory;
  return *all;
}

// The allocation whose pages or guard pages contain the address.
Allocation* allocation_around(const void* address) {
  auto* p = static_cast<std::byte*>(const_cast<void*>(address));
  auto& all = memory().by_page;
  auto next = all.upper_bound(p + kPage);
  if (next == all.begin()) return nullptr;
  Allocation& found = std::prev(next)->second;
  return p >= found.pages - kPage && p < found.pages + found.page_bytes + kPage ? &found : nullptr;
}

std::string place_in(const Allocation& allocation, const std::byte* p) {
  std::string of = " of an allocation of " + std::to_string(allocation.bytes) + " bytes";
  if (p < allocation.begin) return std::to_string(allocation.begin - p) + " bytes before the beginning" + of;
  if (p >= allocation.begin + allocation.bytes)
    return std::to_string(p - allocation.begin - static_cast<std::ptrdiff_t>(allocation.bytes)) +
           " bytes after the end" + of;
  return "byte " + std::to_string(p - allocation.begin) + of + (allocation.freed ? " that was freed" : "");
}

const void* instruction_of(const ucontext_t* context) {
#if defined(__x86_64__)
  return reinterpret_cast<const void*>(context->uc_mcontext.gregs[REG_RIP]);
#elif defined(__aarch64__)
  return reinterpret_cast<const void*>(context->uc_mcontext.pc);
#else
  return nullptr;
#endif
}

const char* access_of([[maybe_unused]] const ucontext_t* context) {
#if defined(__x86_64__)
  return context->uc_mcontext.gregs[REG_ERR] & 2 ? "writes" : "reads";
#else
  return "touches";
#endif
}

struct sigaction action_before;

void on_fault(int signal, siginfo_t* info, void* context_) {
  auto* context = static_cast<const ucontext_t*>(context_);
  Allocation* touched = allocation_around(info->si_addr);
  if (!touched) {  // not of the device: restore the previous handler
    sigaction(signal, &action_before, nullptr);
    return;
  }
  auto* p = static_cast<std::byte*>(info->si_addr);
  bool kernel_runs = memory().kernels.load() > 0;
  if (kernel_runs && !touched->freed && p >= touched->pages && p < touched->pages + touched->page_bytes) {
    touched->allow(true);
    touched->open = true;
    return;  // the access is repeated
  }
  char accessor[160] = "host code";
  if (kernel_runs)
    std::snprintf(accessor, sizeof accessor, "block (%u,%u,%u) thread (%u,%u,%u)", here.block.x, here.block.y,
                  here.block.z, here.thread.x, here.thread.y, here.thread.z);
  std::string message = std::string("emulated device: ") + accessor + " " + access_of(context) + " " +
                        place_in(*touched, p) + ", at " + source_line(instruction_of(context)) +
                        (kernel_runs ? " (schedule " + std::to_string(schedule()) + ")"
                                     : "; read a tensor of the device with to(Device::cpu)") +
                        "\n";
  (void)!write(STDERR_FILENO, message.data(), message.size());
  std::_Exit(static_cast<int>(Exit::device));
}

// Called for every kernel: other code sets its own handlers in between (doctest does for every test case).
void watch_faults() {
  struct sigaction now {};
  sigaction(SIGSEGV, nullptr, &now);
  if (now.sa_sigaction == on_fault) return;
  action_before = now;
  struct sigaction action {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  sigaction(SIGSEGV, &action, nullptr);
}

bool all_are(const std::byte* begin, const std::byte* end, unsigned char value) {
  for (; begin < end; ++begin)
    if (*begin != std::byte{value}) return false;
  return true;
}

// Checks that the rest of the pages was not written. They must be accessible.
void check_padding(const Allocation& allocation) {
  const std::byte* end = allocation.begin + allocation.bytes;
  bool intact = all_are(allocation.pages, allocation.begin, kPadding) &&
                all_are(end, allocation.pages + allocation.page_bytes, kPadding);
  if (intact) return;
  std::fprintf(stderr,
               "emulated device: a kernel wrote next to an allocation of %zu bytes without reaching its guard page. "
               "SINK_SCHEDULE=%u aligns it to the other end of its page, where the write itself is found\n",
               allocation.bytes, schedule() ^ 1);
  std::_Exit(static_cast<int>(Exit::device));
}

// Fills the allocation with NaN and the rest of its pages with the padding.
void make_fresh(Allocation& allocation) {
  memory().bytes_in_use += allocation.bytes;
  allocation.allow(true);
  std::memset(allocation.pages, kPadding, allocation.page_bytes);
  std::memset(allocation.begin, kFresh, allocation.bytes);
  std::byte *end = allocation.begin + allocation.bytes, *pages_end = allocation.pages + allocation.page_bytes;
  poison(allocation.pages, static_cast<std::size_t>(allocation.begin - allocation.pages));
  poison(end, static_cast<std::size_t>(pages_end - end));
  allocation.allow(false);
  allocation.freed = false;
}

void close(Allocation& allocation) {
  memory().bytes_in_use -= allocation.bytes;
  allocation.allow(true);
  unpoison(allocation.pages, allocation.page_bytes);
  check_padding(allocation);
  madvise(allocation.pages, allocation.page_bytes, MADV_DONTNEED);
  allocation.allow(false);
  allocation.freed = true;
}

// Keeps the allocation mapped until kKeptFreed others have been freed.
void retire(const Allocation& allocation) {
  Memory& m = memory();
  m.freed.push_back(allocation.pages);
  if (m.freed.size() <= kKeptFreed) return;
  auto oldest = m.by_page.find(m.freed.front());
  munmap(oldest->second.pages - kPage, oldest->second.page_bytes + 2 * kPage);
  m.by_page.erase(oldest);
  m.freed.pop_front();
}

// The allocation that holds all of [p, p + bytes).
Allocation& allocation_of(const void* p, std::size_t bytes, const char* what) {
  Allocation* found = allocation_around(p);
  auto* begin = static_cast<const std::byte*>(p);
  SINK_CHECK(
      found && !found->freed && begin >= found->begin && begin + bytes <= found->begin + found->bytes,
      "emulated device",
      std::string(what) + " of " + std::to_string(bytes) + " bytes that are not inside of one allocation of the device",
      Exit::device);
  return *found;
}

// Calls f(), which accesses `bytes` of device memory at each of these addresses.
template <class F>
void access_device(std::initializer_list<const void*> addresses, std::size_t bytes, const char* what, F f) {
  if (bytes == 0) return;
  wait_for_other_streams();
  std::lock_guard lock(device_mutex());
  for (const void* address : addresses) allocation_of(address, bytes, what);
  DeviceAccess access;
  f();
}

}  // namespace

std::recursive_mutex& device_mutex() { return memory().mutex; }

std::size_t device_bytes() {
  const char* text = std::getenv("SINK_DEVICE_MIB");
  if (!text) return 0;
  char* end = nullptr;
  const double mib = std::strtod(text, &end);
  if (end == text || *end != '\0' || !(mib > 0 && mib < 0x1p40))
    fail("emulated device", std::string("SINK_DEVICE_MIB is expected to be MiB above 0, got \"") + text + "\"",
         Exit::usage);
  return static_cast<std::size_t>(mib * (1 << 20));
}

void* allocate_device(std::size_t bytes) {
  watch_faults();
  Memory& m = memory();
  std::lock_guard lock(m.mutex);
  if (device_bytes() > 0 && bytes > device_bytes() - m.bytes_in_use) return nullptr;
  std::size_t taken = (std::max<std::size_t>(bytes, 1) + 15) / 16 * 16;
  std::size_t page_bytes = (taken + kPage - 1) / kPage * kPage;
  void* mapped = mmap(nullptr, page_bytes + 2 * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  auto* pages = static_cast<std::byte*>(mapped) + kPage;
  Allocation& made = m.by_page[pages];
  made.pages = pages;
  made.page_bytes = page_bytes;
  made.begin = schedule() % 2 ? pages : pages + page_bytes - taken;
  made.bytes = bytes;
  make_fresh(made);
  note_recorded_allocation(made.begin);
  return made.begin;
}

void free_device(void* p) {
  if (note_recorded_free(p)) return;
  wait_for_other_streams();
  std::lock_guard lock(memory().mutex);
  Allocation& allocation = allocation_of(p, 0, "free");
  close(allocation);
  retire(allocation);
}

void close_device(void* p) {
  std::lock_guard lock(memory().mutex);
  close(allocation_of(p, 0, "free"));
}

void reopen_device(void* p) {
  std::lock_guard lock(memory().mutex);
  make_fresh(*allocation_around(p));
}

void drop_device(void* p) {
  std::lock_guard lock(memory().mutex);
  Allocation& allocation = *allocation_around(p);
  if (!allocation.freed) close(allocation);  // a run of the recording was aborted
  retire(allocation);
}

bool is_device_memory(const void* address) { return allocation_around(address) != nullptr; }

void copy_to_device(void* device, const void* host, std::size_t bytes) {
  access_device({device}, bytes, "copy to the device", [&] { std::memcpy(device, host, bytes); });
}

void copy_from_device(void* host, const void* device, std::size_t bytes) {
  access_device({device}, bytes, "copy from the device", [&] { std::memcpy(host, device, bytes); });
}

void copy_on_device(void* to, const void* from, std::size_t bytes) {
  access_device({to, from}, bytes, "copy on the device", [&] { std::memcpy(to, from, bytes); });
}

DeviceAccess::DeviceAccess() {
  watch_faults();
  ++memory().kernels;
}

DeviceAccess::~DeviceAccess() {
  Memory& m = memory();
  if (--m.kernels > 0) return;
  std::lock_guard lock(m.mutex);
  for (auto& [page, allocation] : m.by_page)
    if (allocation.open.exchange(false)) allocation.allow(false);
}

}  // namespace sink::emulated
