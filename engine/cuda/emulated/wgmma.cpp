#include "engine/cuda/emulated/wgmma.h"

#include <array>
#include <bit>
#include <cstring>
#include <utility>
#include <vector>

#include "engine/cuda/emulated/block.h"
#include "engine/cuda/emulated/block_threads.h"
#include "engine/cuda/emulated/counters.h"
#include "engine/cuda/emulated/races.h"
#include "engine/cuda/emulated/tensor_map.h"

namespace sink::emulated {
namespace {

constexpr int kWarp = 32, kWarpsOfGroup = 4, kRows = 16, kDepth = 16, kMostColumns = 256;
constexpr std::uint32_t kInFlight = 0x7fdeadff;  // a NaN
constexpr int kRegisters = 1 << 16;              // of a multiprocessor
constexpr int kMostMaxRegisters = 256;           // setmaxnreg takes multiples of 8 from 24 on

std::size_t index(int n) { return static_cast<std::size_t>(n); }

using Chunk = std::array<std::byte, 16>;

struct Product {
  int group;
  std::uint32_t time;
  Site site;
  std::array<WgmmaLane, kWarp> lanes;
  std::array<std::array<std::uint32_t, 4>, kWarp> left;   // registers as they were at the issue
  std::vector<std::pair<std::uint32_t, Chunk>> operands;  // shared memory as it was
};

// The accumulators of products in flight, 16 rows of the warp.
struct Sums {
  std::array<float*, kWarp> of_lanes;
  int columns;
  std::vector<float> values;  // what the lanes' will be
  Site site;                  // of the first product
};

struct Warp {
  int group = 0;  // of the next product
  std::uint32_t issued = 0;
  bool fenced = false;  // since the last commit
  std::vector<Product> in_flight;
  std::vector<Sums> sums;
  int registers = 0;  // of each thread
  std::size_t instructions = 0;
};

// An instruction that all four warps of a warpgroup must execute.
struct Instruction {
  const char* name;
  Site site;
  std::uint64_t left, right;
};

struct State {
  std::vector<Warp> warps;
  std::vector<std::vector<Instruction>> instructions;  // of each warpgroup, in order
  std::vector<int> waiting_for_registers;
};
State& state() {
  static thread_local State of_thread;
  return of_thread;
}

Warp& own_warp() { return state().warps[index(current_thread() / kWarp)]; }

bool same(const Site& a, const Site& b) {
  return a.line() == b.line() && a.column() == b.column() && std::strcmp(a.file_name(), b.file_name()) == 0;
}

void check_same_in_warpgroup(const char* name, const Site& site, std::uint64_t left = 0, std::uint64_t right = 0) {
  set_instruction(name, site);
  if (threads_of_block() % (kWarpsOfGroup * kWarp) != 0)
    stop_thread("an instruction of a warpgroup in a block that is not whole warpgroups");
  std::vector<Instruction>& all = state().instructions[index(current_thread() / kWarp / kWarpsOfGroup)];
  std::size_t n = own_warp().instructions++;
  if (n == all.size()) all.push_back({name, site, left, right});
  const Instruction& first = all[n];
  if (std::strcmp(first.name, name) != 0 || !same(first.site, site) || first.left != left || first.right != right)
    stop_thread("the warps of a warpgroup execute different instructions or with different arguments: " +
                std::string(first.name) + " at " + text_of(first.site) + " and this one");
}

// ---- Operands in shared memory ----

struct Descriptor {
  std::uint32_t start, leading, stride;  // bytes
  int swizzle;                           // bytes of a row

  explicit Descriptor(std::uint64_t bits)
      : start(static_cast<std::uint32_t>(bits & 0x3fff) << 4),
        leading(static_cast<std::uint32_t>(bits >> 16 & 0x3fff) << 4),
        stride(static_cast<std::uint32_t>(bits >> 32 & 0x3fff) << 4) {
    constexpr int kSwizzles[] = {0, 128, 64, 32};
    swizzle = kSwizzles[bits >> 62];
    constexpr std::uint64_t kUsed = 0x3fff | 0x3fffull << 16 | 0x3fffull << 32 | 3ull << 62;
    if (swizzle < 64 || (bits & ~kUsed) != 0)
      stop_thread("a matrix descriptor that is not one of rows with a swizzle of 64 or 128 bytes");
  }

  // The shared address of a chunk of 16 bytes. Rows are those of the tile, in groups of eight that are `stride` apart.
  std::uint32_t chunk(int row, int n) const {
    auto r = static_cast<std::uint32_t>(row), c = static_cast<std::uint32_t>(n),
         bytes = static_cast<std::uint32_t>(swizzle);
    std::uint32_t of_row = bytes / 16;
    return swizzled(start + r % 8 * bytes + r / 8 * stride + c % of_row * 16 + c / of_row * leading, swizzle);
  }
};

// Reads a chunk of eight values, and remembers it.
void read_chunk(Product& product, std::uint32_t address, float (&values)[8]) {
  const std::byte* from = at_shared_address(address);
  check_shared(from, 16, 16, "a wgmma operand");
  Chunk& chunk = product.operands.emplace_back(address, Chunk{}).second;
  std::memcpy(chunk.data(), from, 16);
  std::uint16_t bits[8];
  std::memcpy(bits, from, 16);
  for (int n = 0; n < 8; ++n) values[n] = std::bit_cast<float>(std::uint32_t{bits[n]} << 16);
}

// ---- A warp's rows of a product ----

using Left = float[kRows][kDepth];
using Right = float[kDepth][kMostColumns];

void read_left(Product& product, int first_row, Left& a) {
  const WgmmaLane& lane = product.lanes[0];
  if (lane.left) {
    for (int l = 0; l < kWarp; ++l)
      for (int r = 0; r < 4; ++r) {
        std::uint32_t pair = product.left[index(l)][index(r)];
        int i = l / 4 + r % 2 * 8, k = l % 4 * 2 + r / 2 * 8;
        a[i][k] = std::bit_cast<float>(pair << 16);
        a[i][k + 1] = std::bit_cast<float>(pair & 0xffff0000u);
      }
    return;
  }
  Descriptor tile(lane.left_descriptor);
  for (int i = 0; i < kRows; ++i)
    for (int n = 0; n < 2; ++n) {
      float values[8];
      read_chunk(product, tile.chunk(first_row + i, n), values);
      std::memcpy(&a[i][8 * n], values, sizeof values);
    }
}

void read_right(Product& product, Right& b) {
  const WgmmaLane& lane = product.lanes[0];
  Descriptor tile(lane.right_descriptor);
  float values[8];
  if (lane.right_is_transposed) {
    for (int k = 0; k < kDepth; ++k)
      for (int n = 0; n < lane.columns / 8; ++n) {
        read_chunk(product, tile.chunk(k, n), values);
        std::memcpy(&b[k][8 * n], values, sizeof values);
      }
    return;
  }
  for (int j = 0; j < lane.columns; ++j)
    for (int n = 0; n < 2; ++n) {
      read_chunk(product, tile.chunk(j, n), values);
      for (int k = 0; k < 8; ++k) b[8 * n + k][j] = values[k];
    }
}

// Calls f(value of the warp's 16 rows, value v of the lane's accumulators) for all of a lane.
template <class F>
void for_each_sum(Sums& sums, int lane, F f) {
  for (int v = 0; v < sums.columns / 2; ++v) {
    int row = lane / 4 + v / 2 % 2 * 8, column = v / 4 * 8 + lane % 4 * 2 + v % 2;
    f(sums.values[index(row * sums.columns + column)], sums.of_lanes[index(lane)][v]);
  }
}

Sums& sums_in_flight(Warp& warp, const Product& product) {
  const WgmmaLane& first = product.lanes[0];
  for (Sums& sums : warp.sums)
    if (sums.of_lanes[0] == first.sums) {
      if (sums.columns != first.columns) stop_thread("accumulators of products of two sizes in flight");
      return sums;
    }
  Sums& made = warp.sums.emplace_back();
  made.columns = first.columns;
  made.site = product.site;
  made.values.resize(index(kRows * first.columns));
  for (int l = 0; l < kWarp; ++l) {
    made.of_lanes[index(l)] = product.lanes[index(l)].sums;
    for_each_sum(made, l, [](float& value, float& of_lane) {
      value = of_lane;
      std::memcpy(&of_lane, &kInFlight, sizeof of_lane);
    });
  }
  return made;
}

void issue(void* lanes[kWarp], const Site& site) {
  Warp& warp = own_warp();
  Product& product = warp.in_flight.emplace_back();
  product.group = warp.group;
  product.site = site;
  product.time = ++warp.issued;
  for (int l = 0; l < kWarp; ++l) {
    const WgmmaLane& lane = product.lanes[index(l)] = *static_cast<const WgmmaLane*>(lanes[l]);
    if (lane.left) std::memcpy(product.left[index(l)].data(), lane.left, 16);
    const WgmmaLane& first = product.lanes[0];
    if (lane.left_descriptor != first.left_descriptor || lane.right_descriptor != first.right_descriptor ||
        lane.accumulate != first.accumulate)
      stop_thread("lanes of a warp give different descriptors");
  }
  if (!warp.fenced) stop_thread("a group of products that does not begin with wgmma_fence");
  const WgmmaLane& first = product.lanes[0];
  counters().matrix_products += first.columns / 8;
  Left a;
  static thread_local Right b;
  read_left(product, current_thread() / kWarp % kWarpsOfGroup * kRows, a);
  read_right(product, b);
  Sums& sums = sums_in_flight(warp, product);
  if (!first.accumulate) std::fill(sums.values.begin(), sums.values.end(), 0.0f);
  for (int i = 0; i < kRows; ++i)
    for (int k = 0; k < kDepth; ++k) {
      float left = a[i][k], *to = sums.values.data() + i * first.columns;
      const float* right = b[k];
      for (int j = 0; j < first.columns; ++j) to[j] += left * right[j];
    }
}

void check_operands(const Product& product) {
  for (const auto& [address, chunk] : product.operands)
    if (std::memcmp(at_shared_address(address), chunk.data(), 16) != 0)
      stop_thread("an operand in shared memory of the wgmma at " + text_of(product.site) +
                  " changed while it was in flight: it arrived too late, or was overwritten too early");
  for (int l = 0; l < kWarp; ++l)
    if (const std::uint32_t* left = product.lanes[index(l)].left)
      if (std::memcmp(left, product.left[index(l)].data(), 16) != 0)
        stop_thread("a register operand of the wgmma at " + text_of(product.site) + " changed while it was in flight");
}

void finish_sums(Warp& warp, const Product& product) {
  const float* which = product.lanes[0].sums;
  for (const Product& other : warp.in_flight)
    if (other.lanes[0].sums == which) return;
  for (std::size_t n = 0; n < warp.sums.size(); ++n) {
    Sums& sums = warp.sums[n];
    if (sums.of_lanes[0] != which) continue;
    for (int l = 0; l < kWarp; ++l)
      for_each_sum(sums, l, [&](float value, float& of_lane) {
        if (std::memcmp(&of_lane, &kInFlight, sizeof of_lane) != 0)
          stop_thread("an accumulator of the wgmma at " + text_of(product.site) +
                      " was written while it was in flight");
        of_lane = value;
      });
    warp.sums.erase(warp.sums.begin() + static_cast<std::ptrdiff_t>(n));
    return;
  }
}

void note_reads(const RaceHooks& races, const Product& product) {
  int warp = current_thread() / kWarp;
  std::vector<std::uint32_t> chunks;
  std::uint32_t first = shared_address(shared_memory());
  for (const auto& [address, chunk] : product.operands) chunks.push_back((address - first) / 16);
  races.agent_reads(warp, product.time, warp, chunks, product.site);
}

// The lanes of a warp execute an instruction of a warpgroup together.
void together(const char* name, void (*f)(void**), void* arguments, const Site& site) {
  collective(name, f, arguments, site);
}

}  // namespace

void wgmma(WgmmaLane& lane, const Site& site) {
  static thread_local Site of_issue;
  of_issue = site;
  auto all = [](void* lanes[kWarp]) {
    const auto& first = *static_cast<const WgmmaLane*>(lanes[0]);
    check_same_in_warpgroup("wgmma", of_issue, first.left_descriptor, first.right_descriptor);
    issue(lanes, of_issue);
    if (const RaceHooks* races = race_hooks()) note_reads(*races, own_warp().in_flight.back());
  };
  together("wgmma", all, &lane, site);
}

void wgmma_fence(const Site& site) {
  auto all = [](void**) { own_warp().fenced = true; };
  together("wgmma_fence", all, nullptr, site);
}

void wgmma_commit_group(const Site& site) {
  auto all = [](void**) {
    ++own_warp().group;
    own_warp().fenced = false;
  };
  together("wgmma_commit_group", all, nullptr, site);
}

void wgmma_wait_group(int groups, const Site& site) {
  auto all = [](void* lanes[kWarp]) {
    Warp& warp = own_warp();
    const int groups = *static_cast<const int*>(lanes[0]);
    while (!warp.in_flight.empty() && warp.in_flight.front().group < warp.group - groups) {
      Product product = std::move(warp.in_flight.front());
      warp.in_flight.erase(warp.in_flight.begin());
      check_operands(product);
      finish_sums(warp, product);
    }
  };
  together("wgmma_wait_group", all, &groups, site);
  Warp& warp = own_warp();
  std::uint32_t complete = warp.in_flight.empty() ? warp.issued : warp.in_flight.front().time - 1;
  if (const RaceHooks* races = race_hooks(); races && complete > 0) races->complete(current_thread() / kWarp, complete);
}

void set_max_registers(int registers, bool increase, const Site& site) {
  set_instruction("setmaxnreg", site);
  if (registers < 24 || registers > kMostMaxRegisters || registers % 8 != 0)
    stop_thread("setmaxnreg to " + std::to_string(registers) + ", which is no multiple of 8 from 24 to 256");
  static thread_local Site of_change;
  static thread_local int change;
  of_change = site;
  change = registers;
  auto all = [](void**) { check_same_in_warpgroup("setmaxnreg", of_change, static_cast<std::uint64_t>(change)); };
  together("setmaxnreg", all, nullptr, site);
  Warp& warp = own_warp();
  if (increase ? registers < warp.registers : registers > warp.registers)
    stop_thread(std::string("setmaxnreg that should ") + (increase ? "increase" : "decrease") + " the registers from " +
                std::to_string(warp.registers) + " to " + std::to_string(registers));
  auto in_use = [] {
    int sum = 0;
    for (const Warp& each : state().warps) sum += each.registers * kWarp;
    return sum;
  };
  while (in_use() + (registers - warp.registers) * kWarp > kRegisters) {
    state().waiting_for_registers.push_back(current_thread());
    suspend();
  }
  warp.registers = registers;  // by the first lane, for all
  for (int thread : std::exchange(state().waiting_for_registers, {})) resume(thread);
}

void start_wgmma() {
  State& s = state();
  const int threads = threads_of_block();
  s.warps.assign(index((threads + kWarp - 1) / kWarp), {});
  s.instructions.assign(s.warps.size() / kWarpsOfGroup + 1, {});
  s.waiting_for_registers.clear();
  // What the compiler may give to a thread of a block that has the multiprocessor to itself.
  int registers = kRegisters / threads / 8 * 8;
  for (Warp& warp : s.warps) warp.registers = registers < kMostMaxRegisters ? registers : kMostMaxRegisters;
}

const Site* product_that_accumulates_at(const void* address) {
  auto* p = static_cast<const float*>(address);
  std::size_t lane = index(current_thread() % kWarp);
  for (const Sums& sums : own_warp().sums)
    if (p >= sums.of_lanes[lane] && p < sums.of_lanes[lane] + sums.columns / 2) return &sums.site;
  return nullptr;
}

std::string wgmma_at_end_of_thread() {
  const Warp& warp = own_warp();
  return warp.in_flight.empty()
             ? ""
             : "a thread returned while its wgmma at " + text_of(warp.in_flight.front().site) + " was in flight";
}

std::string wgmma_at_end() {
  for (std::size_t w = 0; w < state().warps.size(); ++w) {
    const auto& all = state().instructions[w / kWarpsOfGroup];
    if (std::size_t n = state().warps[w].instructions; n < all.size())
      return "warp " + std::to_string(w) + " returned without " + all[n].name + " at " + text_of(all[n].site) +
             ", which other warps of its warpgroup executed";
  }
  return "";
}

}  // namespace sink::emulated
