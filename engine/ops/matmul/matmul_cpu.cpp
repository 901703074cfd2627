// CPU backend: the matrix product by oneDNN.
#include "engine/ops/matmul/matmul.h"

#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <dnnl.hpp>
#include <map>
#include <mutex>
#include <tuple>

#include "engine/ops/matmul/onednn_threads.h"

namespace sink::cpu {
namespace {

using Desc = dnnl::memory::desc;
using Format = dnnl::memory::format_tag;

dnnl::engine& cpu_engine() {
  static const std::int64_t links_in_our_threads = onednn_loops();
  (void)links_in_our_threads;
  static dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

dnnl::memory::data_type type_of(DType dtype) {
  return dtype == DType::F32 ? dnnl::memory::data_type::f32 : dnnl::memory::data_type::bf16;
}

// A planned product. For products with many rows, oneDNN chooses the layout of b; packing b into it costs one pass over
// b and pays for itself.
struct Plan {
  dnnl::matmul product;
  Desc a, b, c, packed_b;
  dnnl::reorder pack;  // empty if b is used as it is
  bool packs = false;
};

using Key = std::tuple<std::int64_t, std::int64_t, std::int64_t, bool, bool, DType, DType, bool>;

constexpr std::int64_t kRowsWorthPacking = 256;

// C[M,N] = A[M,K] B[K,N]; a description of format `any` leaves the layout to oneDNN. Version 2 (Debian 12) wraps the
// three in an operation descriptor, version 3 (Debian 13) takes them as they are.
dnnl::matmul::primitive_desc describe(const Desc& a, const Desc& b, const Desc& c,
                                      const dnnl::primitive_attr& attributes) {
#if DNNL_VERSION_MAJOR >= 3
  return {cpu_engine(), a, b, c, attributes};
#else
  return {{a, b, c}, attributes, cpu_engine()};
#endif
}

// oneDNN crashes if it gets no memory for its code and scratchpad, so their size is checked first. The check maps
// addresses, because that is what ulimit -v counts.
void require_memory(std::size_t bytes) {
  void* pages = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (pages == MAP_FAILED)
    throw OutOfMemory("out of memory: oneDNN wants " + std::to_string(bytes >> 20) +
                      " MiB of addresses to plan a product in, which the system does not give (ulimit -v)");
  ::munmap(pages, bytes);
}

constexpr std::size_t kRoomForCode = std::size_t{32} << 20;

Plan make_plan(const Key& key) {
  require_memory(kRoomForCode);
  auto [M, N, K, transpose_a, transpose_b, in, out, accumulate] = key;
  Plan plan;
  plan.a = Desc({M, K}, type_of(in), transpose_a ? Format::ba : Format::ab);
  plan.b = Desc({K, N}, type_of(in), transpose_b ? Format::ba : Format::ab);
  plan.c = Desc({M, N}, type_of(out), Format::ab);
  Desc wanted_b = M >= kRowsWorthPacking ? Desc({K, N}, type_of(in), Format::any) : plan.b;
  dnnl::primitive_attr attributes;
  if (accumulate) {
    dnnl::post_ops sum;
    sum.append_sum();
    attributes.set_post_ops(sum);
  }
  dnnl::matmul::primitive_desc description = describe(plan.a, wanted_b, plan.c, attributes);
  require_memory(kRoomForCode + static_cast<std::size_t>(std::max<std::int64_t>(
                                    0, description.query_s64(dnnl::query::memory_consumption_s64))));
  plan.product = dnnl::matmul(description);
  plan.packed_b = description.weights_desc();
  plan.packs = plan.packed_b != plan.b;
  if (plan.packs)
    plan.pack = dnnl::reorder(dnnl::reorder::primitive_desc(cpu_engine(), plan.b, cpu_engine(), plan.packed_b));
  return plan;
}

// A fork() waits for the thread that has the lock, since no thread of the child would release it.
std::mutex& mutex_of_plans() {
  static std::mutex* mutex = [] {
    pthread_atfork([] { mutex_of_plans().lock(); }, [] { mutex_of_plans().unlock(); },
                   [] { mutex_of_plans().unlock(); });
    return new std::mutex;
  }();
  return *mutex;
}

Plan& plan_for(const Key& key) {
  static std::map<Key, Plan> plans;
  std::lock_guard lock(mutex_of_plans());
  auto found = plans.find(key);
  if (found == plans.end()) found = plans.emplace(key, make_plan(key)).first;
  return found->second;
}

dnnl::memory memory_of(const Desc& desc, const void* data) {
  return dnnl::memory(desc, cpu_engine(), const_cast<void*>(data));
}

}  // namespace

void matmul(Operand a, Operand b, Tensor& c, bool accumulate) {
  try {
    MatmulSizes s = matmul_sizes(a, b);
    Plan& plan = plan_for({s.M, s.N, s.K, a.transposed, b.transposed, a.tensor.dtype(), c.dtype(), accumulate});
    dnnl::stream stream(cpu_engine());
    dnnl::memory b_memory = memory_of(plan.b, b.tensor.raw());
    Tensor packed;
    if (plan.packs) {
      packed = Tensor::empty({static_cast<std::int64_t>(plan.packed_b.get_size() / 4 + 1)});
      dnnl::memory packed_memory = memory_of(plan.packed_b, packed.raw());
      plan.pack.execute(stream, b_memory, packed_memory);
      b_memory = packed_memory;
    }
    plan.product.execute(stream, {{DNNL_ARG_SRC, memory_of(plan.a, a.tensor.raw())},
                                  {DNNL_ARG_WEIGHTS, b_memory},
                                  {DNNL_ARG_DST, memory_of(plan.c, c.raw())}});
    stream.wait();
  } catch (const dnnl::error& error) {
    if (error.status == dnnl_out_of_memory)
      throw OutOfMemory(std::string("out of memory: oneDNN has none for ") + a.tensor.str() + " x " + b.tensor.str());
    fail("matmul", std::string("oneDNN refused ") + a.tensor.str() + " x " + b.tensor.str() + ": " + error.what());
  }
}

}  // namespace sink::cpu
