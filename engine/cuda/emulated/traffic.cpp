#include "engine/cuda/emulated/traffic.h"

#include <bitset>
#include <unordered_map>

#include "engine/cuda/emulated/counters.h"
#include "engine/cuda/emulated/memory.h"
#include "engine/cuda/emulated/races.h"
#include "engine/cuda/emulated/source_line.h"
#include "engine/cuda/gemm.h"

namespace sink::emulated {
namespace {

constexpr std::uintptr_t kSector = 32;
constexpr std::uintptr_t kSectorsOfPage = 4096 / kSector;  // a page is the device's or the host's as a whole
constexpr std::int64_t kFlopsOfProduct = 2 * 16 * 8 * 16;

struct Page {
  bool of_device = false;
  std::bitset<kSectorsOfPage> read, written;
};

struct Traffic {
  std::unordered_map<const void*, KernelTraffic> of_kernels;
  KernelTraffic gemm;
  const void* kernel = nullptr;
  std::unordered_map<std::uintptr_t, Page> pages;  // of the current launch
  std::uintptr_t last_number = 0;
  Page* last_page = nullptr;

  // Adds what the launch has done to its kernel.
  void finish_launch() {
    if (!kernel) return;
    KernelTraffic& total = of_kernels[kernel];
    for (const auto& [number, page] : pages) {
      total.read += static_cast<std::int64_t>(page.read.count() * kSector);
      total.written += static_cast<std::int64_t>(page.written.count() * kSector);
    }
    const Counters counted = take_counters();
    total.tensor_flops += counted.matrix_products * kFlopsOfProduct;
    total.approximations += counted.approximations;
    pages.clear();
    last_page = nullptr;
    kernel = nullptr;
  }

  void access(const void* address, std::size_t bytes, bool write) {
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    const std::uintptr_t number = at / (kSector * kSectorsOfPage);
    if (!last_page || number != last_number) {
      auto [found, is_new] = pages.try_emplace(number);
      last_number = number, last_page = &found->second;
      if (is_new) last_page->of_device = is_device_memory(address);
    }
    if (!last_page->of_device) return;
    of_kernels[kernel].requested += static_cast<std::int64_t>(bytes);
    for (std::uintptr_t sector = at / kSector; sector <= (at + bytes - 1) / kSector; ++sector)
      (write ? last_page->written : last_page->read).set(sector % kSectorsOfPage);
  }
};
Traffic* traffic = nullptr;

const RaceHooks kHooks{
    .launch = [] {},
    .block = [](const std::byte*, std::size_t, int) {},
    .barrier = [] {},
    .warp = [](int) {},
    .access = [](const void* address, std::size_t bytes, bool write, bool,
                 const Origin&) { traffic->access(address, bytes, write); },
    .release = [](Clock&) {},
    .acquire = [](const Clock&) {},
    .fence_proxy = [] {},
    .agent_access = [](int, std::uint32_t, const void* address, std::size_t bytes, bool write,
                       const Origin&) { traffic->access(address, bytes, write); },
    .agent_reads = [](int, std::uint32_t, int, const std::vector<std::uint32_t>&, const Site&) {},
    .complete = [](int, std::uint32_t) {},
    .complete_at = [](Clock&, int, std::uint32_t) {},
};

// "void sink::cuda::(anonymous namespace)::glu_kernel<8, float>(long)" -> "glu_kernel". A loop over elements has the
// name of the function that its lambda is in.
std::string short_name(std::string name) {
  if (const std::size_t closure = name.find("::{lambda"); closure != std::string::npos) {
    std::size_t begin = name.find("_kernel<");
    if (begin != std::string::npos) name = name.substr(begin + 8, closure - begin - 8);
  }
  for (const std::string anonymous = "(anonymous namespace)::"; name.find(anonymous) != std::string::npos;)
    name.erase(name.find(anonymous), anonymous.size());
  name = name.substr(0, name.find_first_of("<("));
  return name.substr(name.find_last_of(": ") + 1);
}

}  // namespace

void start_traffic() {
  traffic = new Traffic;
  take_counters();
  enabled_race_hooks = &kHooks;
}

std::map<std::string, KernelTraffic> stop_traffic() {
  traffic->finish_launch();
  enabled_race_hooks = nullptr;
  std::map<std::string, KernelTraffic> by_name;
  auto add = [&](const std::string& name, const KernelTraffic& x) {
    KernelTraffic& sum = by_name[name];
    sum.launches += x.launches, sum.requested += x.requested, sum.read += x.read, sum.written += x.written;
    sum.tensor_flops += x.tensor_flops, sum.approximations += x.approximations;
  };
  for (const auto& [kernel, x] : traffic->of_kernels) add(short_name(function_name(kernel)), x);
  if (traffic->gemm.launches > 0) add("gemm", traffic->gemm);
  delete traffic;
  traffic = nullptr;
  return by_name;
}

void note_kernel(const void* kernel) {
  if (!traffic) return;
  traffic->finish_launch();
  traffic->kernel = kernel;
  ++traffic->of_kernels[kernel].launches;
}

// The product's matrices, each once.
void note_gemm(const cuda::Gemm& g) {
  if (!traffic) return;
  const auto in = static_cast<std::int64_t>(size_of(g.in)), out = static_cast<std::int64_t>(size_of(g.out));
  KernelTraffic& sum = traffic->gemm;
  ++sum.launches;
  sum.read += (g.m * g.k + g.k * g.n) * in + (g.beta != 0 ? g.m * g.n * out : 0);
  sum.written += g.m * g.n * out;
  sum.requested = sum.read + sum.written;
  sum.tensor_flops += 2 * g.m * g.n * g.k;
}

}  // namespace sink::emulated
