#include "tools/gpu/kernels/attention_kernels.h"

#include <functional>
#include <string>

#include "engine/check.h"
#include "engine/ops/attention/attention_check.h"
#include "engine/ops/attention/cuda/attention_cuda.h"
#include "engine/ops/attention/op/attention_ops.h"
#include "engine/ops/attention/op/attention_row.h"
#include "tools/gpu/kernels/kernel_device.h"

namespace sink {

namespace {

std::string last_error;

// Only to pass it on: the host may not read it.
void* address_of(Tensor& x) {
  return x.dtype() == DType::BF16 ? static_cast<void*>(x.device_data<bf16>()) : x.device_data<float>();
}

// f(), whose errors become an exit code and a message.
int guarded(const std::function<void()>& f) {
  try {
    f();
    return 0;
  } catch (const Error& error) {
    last_error = error.what();
    return static_cast<int>(error.code);
  } catch (const std::exception& error) {
    last_error = error.what();
    return static_cast<int>(Exit::failure);
  }
}

// A tensor that shares the caller's memory; undefined for null.
Tensor borrowed(const void* memory, const Shape& shape, DType dtype) {
  return memory ? Tensor::from_blob(const_cast<void*>(memory), shape, dtype, Device::cuda) : Tensor();
}

// The tensors of a call.
struct Arguments {
  Tensor q, k, v, o, m, S;
  AttentionConfig config;

  explicit Arguments(const SinkAttention& a) {
    DType dtype = a.is_bf16 ? DType::BF16 : DType::F32;
    Shape queries{a.B, a.H, a.T, a.D}, keys{a.B, a.G, a.K, a.D}, rows{a.B, a.H, a.T};
    q = borrowed(a.q, queries, dtype), k = borrowed(a.k, keys, dtype), v = borrowed(a.v, keys, dtype);
    o = borrowed(a.o, queries, dtype), m = borrowed(a.m, rows, DType::F32), S = borrowed(a.S, rows, DType::F32);
    for (const Tensor* x : {&q, &k, &v, &o, &m, &S})
      SINK_CHECK(x->defined(), "kernels", "q, k, v, o, m and S may not be null", Exit::usage);
    config = {.scale = a.scale,
              .range = {.prefix = a.prefix, .window = a.window, .lead = a.lead},
              .document_starts_BK = borrowed(a.document_starts, {a.B, a.K - a.lead}, DType::I32),
              .first_position = a.first_position,
              .bias_HT = borrowed(a.bias, {a.H, a.bias_columns}, DType::F32),
              .extra_key = {.k_HD = borrowed(a.extra_k, {a.H, a.D}, DType::F32),
                            .logit_H = borrowed(a.extra_logit, {a.H}, DType::F32),
                            .v_HD = borrowed(a.extra_v, {a.H, a.D}, DType::F32)}};
    attention_check::inputs(q, k, config);
  }
};

// f(op) for the operation of this name.
template <class F>
void with_operation(const std::string& name, F f) {
#define SINK_ATTENTION_OP(Op) \
  if (name == operation_name<Op>()) return f(Op());
#include "built_operations.def"  // of build.sh
  fail("kernels", "no operation is called " + name + ": expected one of " + sink_operations(), Exit::usage);
}

}  // namespace

// The device of this library, in place of engine/device.cpp.
const DeviceMemory& memory_of(Device) { return kernels::device_memory(); }
std::string description_of(Device device) { return device == Device::cpu ? "cpu" : kernels::device_name(); }

}  // namespace sink

using namespace sink;

extern "C" {

const char* sink_last_error() { return last_error.c_str(); }

const char* sink_operations() {
  static const std::string names = [] {
    std::string all;
#define SINK_ATTENTION_OP(Op) all += (all.empty() ? "" : ",") + std::string(operation_name<Op>());
#include "built_operations.def"  // of build.sh
    return all;
  }();
  return names.c_str();
}

const char* sink_device_name() {
  const char* name = "";
  guarded([&] { name = kernels::device_name(); });
  return name;
}

int sink_attention(const char* operation, const SinkAttention* attention) {
  return guarded([&] {
    kernels::use_stream(attention->stream);
    Arguments a(*attention);
    with_operation(operation, [&](const auto& op) { cuda::attention(op, a.q, a.k, a.v, a.config, a.o, a.m, a.S); });
  });
}

int sink_attention_backward(const char* operation, const SinkAttention* attention,
                            const SinkAttentionGradients* gradients) {
  return guarded([&] {
    kernels::use_stream(attention->stream);
    Arguments a(*attention);
    Tensor grad_o = borrowed(gradients->grad_o, a.o.shape(), a.o.dtype());
    SINK_CHECK(grad_o.defined(), "kernels", "grad_o may not be null", Exit::usage);
    with_operation(operation, [&](const auto& op) {
      AttentionGradients all = cuda::attention_backward(op, grad_o, a.q, a.k, a.v, a.o, a.m, a.S, a.config);
      auto copy = [](Tensor& x, void* to) {
        if (x.defined() && to) kernels::copy_on_device(to, address_of(x), x.bytes());
      };
      copy(all.dq_BHTD, gradients->dq);
      copy(all.dk_BGKD, gradients->dk);
      copy(all.dv_BGKD, gradients->dv);
      copy(all.dbias_HT, gradients->dbias);
      copy(all.dextra_k_HD, gradients->dextra_k);
      copy(all.dextra_logit_H, gradients->dextra_logit);
      copy(all.dextra_v_HD, gradients->dextra_v);
    });
  });
}

void* sink_malloc(int64_t bytes) {
  void* memory = nullptr;
  guarded([&] { memory = kernels::device_memory().allocate(static_cast<std::size_t>(bytes)); });
  return memory;
}
void sink_free(void* memory) {
  guarded([&] { kernels::device_memory().release(memory); });
}
int sink_copy_in(void* device, const void* host, int64_t bytes) {
  return guarded([&] { kernels::device_memory().copy_in(device, host, static_cast<std::size_t>(bytes)); });
}
int sink_copy_out(void* host, const void* device, int64_t bytes) {
  return guarded([&] { kernels::device_memory().copy_out(host, device, static_cast<std::size_t>(bytes)); });
}
int sink_synchronize() { return guarded(kernels::synchronize); }

void* sink_event_create() {
  void* event = nullptr;
  guarded([&] { event = kernels::event_create(); });
  return event;
}
int sink_event_record(void* event, void* stream) {
  return guarded([&] {
    kernels::use_stream(stream);
    kernels::event_record(event);
  });
}
double sink_event_elapsed(void* first, void* second) {
  double milliseconds = -1;
  guarded([&] { milliseconds = kernels::event_elapsed(first, second); });
  return milliseconds;
}

}  // extern "C"
