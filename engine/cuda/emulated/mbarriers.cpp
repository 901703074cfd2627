#include "engine/cuda/emulated/mbarriers.h"

#include <cstring>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "engine/cuda/emulated/block.h"
#include "engine/cuda/emulated/block_threads.h"
#include "engine/cuda/emulated/counters.h"
#include "engine/cuda/emulated/races.h"

namespace sink::emulated {
namespace {

constexpr int kFirstAgent = 32;            // of mbarriers; those before are warps (wgmma.cpp)
constexpr unsigned char kInFlight = 0xff;  // a NaN of any real type
constexpr int kMostArrivals = (1 << 20) - 1, kMostBytes = (1 << 20) - 1;  // PTX ISA, "Contents of the mbarrier object"

struct Copy {
  TensorMap map;  // a copy: the kernel's may be gone by then
  std::array<int, 4> at;
  std::uint32_t to, mbarrier;
  int thread;
  Site site;

  int box_bytes() const {
    int bytes = 2;
    for (int d = 0; d < map.rank; ++d) bytes *= map.box[static_cast<std::size_t>(d)];
    return bytes;
  }
};

struct Mbarrier {
  int expected = 0, pending = 0;  // arrivals
  int bytes = 0;                  // expected and not yet copied
  std::uint32_t phase = 0;        // the number of complete ones
  std::uint32_t waited = 0;       // those whose end a thread has waited for
  std::uint32_t copying = 0;      // those of which the last one has copies
  std::optional<Copy> last_copy;
  int agent = 0, initializer = 0;
  bool fenced = false;
  std::vector<int> waiting;
  Clock arriving, complete;
};

struct State {
  std::map<std::uint32_t, Mbarrier> mbarriers;  // by shared address
  std::vector<Copy> copies;                     // in flight
};
State& state() {
  static thread_local State of_thread;
  return of_thread;
}

// What an mbarrier's memory holds.
std::uint64_t contents(std::uint32_t address) { return 0x9e3779b97f4a7c15u * (address + 1u); }

Mbarrier& mbarrier_at(std::uint32_t address) {
  auto found = state().mbarriers.find(address);
  if (found == state().mbarriers.end()) stop_thread("an mbarrier that is not initialized");
  std::uint64_t now;
  std::memcpy(&now, at_shared_address(address), sizeof now);
  if (now != contents(address)) stop_thread("an mbarrier whose memory was overwritten");
  return found->second;
}

// The mbarrier of an instruction of the current thread.
Mbarrier& use_mbarrier(const char* instruction, void* mbarrier, const Site& site) {
  set_instruction(instruction, site);
  check_shared(mbarrier, 8, 8, "an mbarrier");
  Mbarrier& found = mbarrier_at(shared_address(mbarrier));
  // Its initialization must be ordered before.
  if (const RaceHooks* races = race_hooks()) races->access(mbarrier, 8, false, false, {nullptr, site});
  return found;
}

std::string describe(const Copy& copy) {
  return "the copy of thread " + std::to_string(copy.thread) + " at " + text_of(copy.site);
}

void end_phase_if_complete(std::uint32_t address, Mbarrier& m) {
  if (m.pending > 0 || m.bytes != 0) return;
  for (const Copy& copy : state().copies)
    if (copy.mbarrier == address)
      stop_block("a phase of an mbarrier is complete, with all bytes that it expects, before " + describe(copy) +
                 ", which signals it");
  ++m.phase;
  m.pending = m.expected;
  m.complete = std::exchange(m.arriving, {});
  for (int thread : std::exchange(m.waiting, {})) resume(thread);
}

// Calls f(offset in the box, coordinates are inside of the tensor, address) for all rows of the contiguous dimension.
template <class F>
void for_each_row(const Copy& copy, F f) {
  const TensorMap& map = copy.map;
  int rows[3] = {1, 1, 1};
  for (std::size_t d = 1; d < static_cast<std::size_t>(map.rank); ++d) rows[d - 1] = map.box[d];
  int n = 0;
  for (int z = 0; z < rows[2]; ++z)
    for (int y = 0; y < rows[1]; ++y)
      for (int x = 0; x < rows[0]; ++x) {
        const int in_box[3] = {x, y, z};
        bool exists = true;
        const std::byte* row = map.data;
        for (std::size_t d = 1; d < static_cast<std::size_t>(map.rank); ++d) {
          std::int64_t i = std::int64_t{copy.at[d]} + in_box[d - 1];
          exists = exists && i >= 0 && i < map.sizes[d];
          row += i * map.strides[d];
        }
        f(n++, exists, row);
      }
}

void write_box(const Copy& copy) {
  const TensorMap& map = copy.map;
  const std::int64_t width = map.box[0], first = copy.at[0];
  for_each_row(copy, [&](int n, bool exists, const std::byte* row) {
    std::uint32_t to_row = copy.to + static_cast<std::uint32_t>(n) * static_cast<std::uint32_t>(width) * 2;
    for (std::int64_t c = 0; c < width; ++c) {
      std::uint16_t value = 0;
      if (exists && first + c >= 0 && first + c < map.sizes[0]) {
        std::memcpy(&value, row + (first + c) * 2, 2);
        counters().copied_bytes += 2;
      }
      std::uint32_t to = swizzled(to_row + static_cast<std::uint32_t>(c) * 2, map.swizzle);
      std::memcpy(at_shared_address(to), &value, 2);
    }
  });
}

void note_accesses(const RaceHooks& races, const Copy& copy, const Mbarrier& m) {
  const std::int64_t width = copy.map.box[0], first = copy.at[0], size = copy.map.sizes[0];
  Origin origin{nullptr, copy.site};
  races.agent_access(m.agent, m.phase + 1, at_shared_address(copy.to), static_cast<std::size_t>(copy.box_bytes()), true,
                     origin);
  for_each_row(copy, [&](int, bool exists, const std::byte* row) {
    std::int64_t begin = first < 0 ? 0 : first, end = first + width < size ? first + width : size;
    if (exists && begin < end)
      races.agent_access(m.agent, m.phase + 1, row + begin * 2, static_cast<std::size_t>(end - begin) * 2, false,
                         origin);
  });
}

}  // namespace

void mbarrier_init(void* mbarrier, unsigned arrivals, const Site& site) {
  set_instruction("mbarrier_init", site);
  check_shared(mbarrier, 8, 8, "an mbarrier");
  std::uint32_t address = shared_address(mbarrier);
  if (arrivals < 1 || arrivals > kMostArrivals) stop_thread("an mbarrier without arrivals");
  std::map<std::uint32_t, Mbarrier>& all = state().mbarriers;
  if (all.contains(address)) stop_thread("an mbarrier that is initialized already");
  if (const RaceHooks* races = race_hooks()) races->access(mbarrier, 8, true, false, {nullptr, site});
  std::uint64_t now = contents(address);
  std::memcpy(mbarrier, &now, sizeof now);
  Mbarrier& made = all[address];
  made.expected = made.pending = static_cast<int>(arrivals);
  made.agent = kFirstAgent + static_cast<int>(all.size()) - 1;
  made.initializer = current_thread();
  if (made.agent >= kAgents) stop_thread("more mbarriers than the emulated device has");
}

void fence_mbarrier_init() {
  for (auto& [address, m] : state().mbarriers) m.fenced = m.fenced || m.initializer == current_thread();
}

void mbarrier_arrive(void* mbarrier, unsigned expected_bytes, const Site& site) {
  Mbarrier& m = use_mbarrier(expected_bytes ? "mbarrier_arrive_expect_tx" : "mbarrier_arrive", mbarrier, site);
  if (const RaceHooks* races = race_hooks()) races->release(m.arriving);
  if (m.pending == 0) stop_thread("an arrival that the phase of its mbarrier does not expect");
  m.bytes += static_cast<int>(expected_bytes);
  if (m.bytes > kMostBytes) stop_thread("more bytes than an mbarrier counts");
  --m.pending;
  end_phase_if_complete(shared_address(mbarrier), m);
}

void mbarrier_wait(void* mbarrier, unsigned parity, const Site& site) {
  Mbarrier& m = use_mbarrier("mbarrier_wait", mbarrier, site);
  while (m.phase % 2 == parity) {
    m.waiting.push_back(current_thread());
    suspend();
  }
  m.waited = m.phase;
  if (const RaceHooks* races = race_hooks()) races->acquire(m.complete);
}

void copy_tensor(void* to, const TensorMap& map, void* mbarrier, const int* coordinates, int rank, const Site& site) {
  Mbarrier& m = use_mbarrier("tma_load", mbarrier, site);
  if (!m.fenced) stop_thread("a copy signals an mbarrier that was initialized without fence_mbarrier_init");
  if (rank != map.rank)
    stop_thread("a copy with " + std::to_string(rank) + " coordinates of a tensor map with " +
                std::to_string(map.rank) + " dimensions");
  Copy copy{map, {}, shared_address(to), shared_address(mbarrier), current_thread(), site};
  for (int d = 0; d < rank; ++d) copy.at[static_cast<std::size_t>(d)] = coordinates[d];
  // Swizzles repeat after eight rows, so tiles that begin there have the same swizzle.
  check_shared(to, static_cast<std::size_t>(copy.box_bytes()),
               map.swizzle ? static_cast<unsigned>(map.swizzle) * 8 : 128, "a tensor copy to");
  if (const RaceHooks* races = race_hooks()) note_accesses(*races, copy, m);
  std::memset(to, kInFlight, static_cast<std::size_t>(copy.box_bytes()));
  state().copies.push_back(copy);
  m.copying = m.phase + 1;
  m.last_copy = copy;
}

void start_mbarriers() { state() = {}; }

bool complete_a_copy(bool now) {
  std::vector<Copy>& copies = state().copies;
  if (copies.empty() || (!now && (schedule() < 2 || chosen(16) != 0))) return false;
  auto chosen_one = copies.begin() + static_cast<std::ptrdiff_t>(chosen(copies.size()));
  Copy copy = *chosen_one;
  copies.erase(chosen_one);
  write_box(copy);
  Mbarrier& m = mbarrier_at(copy.mbarrier);
  if (const RaceHooks* races = race_hooks()) races->complete_at(m.arriving, m.agent, m.phase + 1);
  m.bytes -= copy.box_bytes();
  end_phase_if_complete(copy.mbarrier, m);
  return true;
}

std::string describe_mbarriers() {
  std::string text;
  for (const auto& [address, m] : state().mbarriers) {
    if (m.waiting.empty()) continue;
    text += "\n  the mbarrier for which thread " + std::to_string(m.waiting.front()) +
            " waits, initialized by thread " + std::to_string(m.initializer) + ": " + std::to_string(m.phase) +
            " phases are complete, and this one needs " + std::to_string(m.pending) + " more arrivals and " +
            std::to_string(m.bytes) + " more bytes";
  }
  return text;
}

std::string mbarriers_at_end() {
  const std::vector<Copy>& copies = state().copies;
  if (!copies.empty()) return "the threads returned before " + describe(copies.front()) + " was complete";
  // It arrived in time under this schedule alone.
  for (const auto& [address, m] : state().mbarriers)
    if (m.copying > m.waited) return "the threads returned without a wait for " + describe(*m.last_copy);
  return "";
}

}  // namespace sink::emulated
