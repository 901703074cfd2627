// Attention on the tensors of PyTorch, whose memory the engine uses without a copy. sinklab/torch wraps these
// functions.
#include <dlfcn.h>
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <memory>
#include <vector>

#include "engine/check.h"
#include "engine/device.h"
#include "engine/io/printable.h"
#include "engine/ops/attention/op/attention_ops.h"
#include "tools/python/bindings/attention_functions.h"
#include "tools/python/bindings/bindings.h"
#include "tools/python/bindings/computation.h"

namespace sink::python {
namespace {

namespace nb = nanobind;

// A tensor of PyTorch, or None.
using Given = nb::ndarray<nb::ro>;

// Operations by name, those of the engine and those that were loaded. Only read and changed with the GIL.
std::map<std::string, AttentionFunctions>& operations() {
  static auto* all = [] {
    auto* engine = new std::map<std::string, AttentionFunctions>;
#define SINK_ADD_OPERATION(Op) engine->emplace(operation_name<Op>(), attention_functions<Op>());
    SINK_ATTENTION_OPS(SINK_ADD_OPERATION)
#undef SINK_ADD_OPERATION
    return engine;
  }();
  return *all;
}

const AttentionFunctions& operation_named(const std::string& name) {
  const auto found = operations().find(name);
  if (found != operations().end()) return found->second;
  throw Error("there is no attention operation " + printable(name) + ": expected one of " +
                  joined(operations(), ", ", [](const auto& one) { return one.first; }),
              Exit::usage);
}

DType dtype_of_given(const Given& x, const char* name) {
  if (x.dtype() == nb::dtype<float>()) return DType::F32;
  if (x.dtype() == nb::dtype<double>()) return DType::F64;
  if (x.dtype() == nb::dtype<std::int32_t>()) return DType::I32;
  const nb::dlpack::dtype bf16{static_cast<std::uint8_t>(nb::dlpack::dtype_code::Bfloat), 16, 1};
  if (x.dtype() == bf16) return DType::BF16;
  throw Error(std::string(name) + " must be float32, bfloat16 or float64", Exit::usage);
}

// The memory of x, which outlives the call; undefined for None.
Tensor borrowed(const Given& x, const char* name) {
  if (!x.is_valid()) return {};
  const bool on_cpu = x.device_type() == nb::device::cpu::value;
  if (!on_cpu && x.device_type() != nb::device::cuda::value)
    throw Error(std::string(name) + " must be on the CPU or on a CUDA device", Exit::usage);
  if (!on_cpu) check_usable(Device::cuda);
  if (x.ndim() > Shape::kMaxRank) throw Error(std::string(name) + " has too many dimensions", Exit::usage);
  Shape shape;
  for (std::size_t axis = 0; axis < x.ndim(); ++axis) shape.append(static_cast<std::int64_t>(x.shape(axis)));
  std::int64_t expected = 1;
  for (std::size_t axis = x.ndim(); axis-- > 0; expected *= static_cast<std::int64_t>(x.shape(axis)))
    if (x.size() > 0 && x.shape(axis) > 1 && x.stride(axis) != expected)
      throw Error(std::string(name) + " must be contiguous", Exit::usage);
  return Tensor::from_blob(const_cast<void*>(x.data()), shape, dtype_of_given(x, name),
                           on_cpu ? Device::cpu : Device::cuda);
}

void delete_tensor(void* pointer) noexcept { delete static_cast<Tensor*>(pointer); }

// A tensor of PyTorch that keeps the memory alive; None of an undefined tensor.
nb::object torch_tensor(const Tensor& tensor) {
  if (!tensor.defined()) return nb::none();
  auto kept = std::make_unique<Tensor>(tensor);
  std::vector<std::size_t> shape;
  for (int axis = 0; axis < tensor.rank(); ++axis) shape.push_back(static_cast<std::size_t>(tensor.dim(axis)));
  nb::dlpack::dtype dtype = nb::dtype<float>();
  if (tensor.dtype() == DType::F64) dtype = nb::dtype<double>();
  if (tensor.dtype() == DType::BF16) dtype = {static_cast<std::uint8_t>(nb::dlpack::dtype_code::Bfloat), 16, 1};
  const bool on_cpu = tensor.device() == Device::cpu;
  // The address is only passed on.
  void* data = on_cpu                          ? kept->raw()
               : tensor.dtype() == DType::BF16 ? static_cast<void*>(kept->device_data<bf16>())
                                               : static_cast<void*>(kept->device_data<float>());
  nb::capsule owner(kept.get(), delete_tensor);
  kept.release();
  return nb::cast(nb::ndarray<nb::pytorch>(data, shape.size(), shape.data(), owner, nullptr, dtype,
                                           on_cpu ? nb::device::cpu::value : nb::device::cuda::value));
}

// Where the document of each key begins, from the ids of the documents: a document is a run of equal ids.
Tensor document_starts(const Tensor& ids_BK, const Tensor& k) {
  if (!ids_BK.defined()) return {};
  SINK_CHECK(ids_BK.dtype() == DType::I32 && ids_BK.shape() == Shape({k.dim(0), k.dim(2)}), "attention",
             "documents must be int32 of shape (B, K): documents is " + ids_BK.str() + ", k is " + k.str(),
             Exit::usage);
  const Tensor ids = ids_BK.to(Device::cpu);
  Tensor starts = Tensor::empty_like(ids);
  for (std::int64_t b = 0; b < ids.dim(0); ++b) {
    const std::int32_t* id = ids.data<std::int32_t>() + b * ids.dim(1);
    std::int32_t* start = starts.data<std::int32_t>() + b * ids.dim(1);
    for (std::int64_t j = 0; j < ids.dim(1); ++j)
      start[j] = j == 0 ? 0 : id[j] == id[j - 1] ? start[j - 1] : static_cast<std::int32_t>(j);
  }
  return starts.to(k.device());
}

// What all functions of the module take.
struct Call {
  AttentionFunctions functions;
  Tensor q, k, v;
  AttentionConfig config;

  Call(const std::string& op, const Given& given_q, const Given& given_k, const Given& given_v, double scale,
       std::int64_t window, std::int64_t prefix, const Given& bias, const Given& extra_key, const Given& extra_logit,
       const Given& extra_value)
      : functions(operation_named(op)),
        q(borrowed(given_q, "q")),
        k(borrowed(given_k, "k")),
        v(borrowed(given_v, "v")),
        config{.scale = scale,
               .range = {.prefix = prefix, .window = window},
               .bias_HT = borrowed(bias, "bias"),
               .extra_key = {.k_HD = borrowed(extra_key, "extra_key"),
                             .logit_H = borrowed(extra_logit, "extra_logit"),
                             .v_HD = borrowed(extra_value, "extra_value")}} {
    constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();  // sums of positions cannot overflow
    SINK_CHECK(window <= kMost && prefix <= kMost, "attention", "window and prefix must be below 2^31", Exit::usage);
    SINK_CHECK(q.rank() == 4 && k.rank() == 4, "attention",
               "q and k must be of shape (B, H, T, D): q is " + q.str() + ", k is " + k.str(), Exit::usage);
    for (const Tensor* x :
         {&k, &v, &config.bias_HT, &config.extra_key.k_HD, &config.extra_key.logit_H, &config.extra_key.v_HD})
      SINK_CHECK(!x->defined() || x->device() == q.device(), "attention",
                 "all tensors must be on the device of q: q is " + q.str() + ", another is " + x->str(), Exit::usage);
    config.first_position = k.dim(2) - q.dim(2);
  }

  // f(), in a Computation. Returns when the device is done, since PyTorch uses another stream.
  template <class F>
  auto compute(const Given& documents, F&& f) {
    const Tensor ids = borrowed(documents, "documents");
    Computation computation;
    config.document_starts_BK = document_starts(ids, k);
    auto result = f();
    if (q.device() == Device::cuda) q.to(Device::cpu);
    return result;
  }
};

#define SINK_CALL_PARAMETERS                                                                                \
  const std::string &op, const Given &q, const Given &k, const Given &v, double scale, std::int64_t window, \
      std::int64_t prefix, const Given &bias, const Given &extra_key, const Given &extra_logit,             \
      const Given &extra_value
#define SINK_CALL_ARGUMENTS op, q, k, v, scale, window, prefix, bias, extra_key, extra_logit, extra_value

nb::tuple forward(SINK_CALL_PARAMETERS, const Given& documents) {
  Call call(SINK_CALL_ARGUMENTS);
  const DType rows = accumulate_type(call.q.dtype());
  const Shape rows_BHT{call.q.dim(0), call.q.dim(1), call.q.dim(2)};
  std::array<Tensor, 3> out = call.compute(documents, [&] {
    std::array<Tensor, 3> oms{Tensor::empty_like(call.q), call.q.new_empty(rows_BHT, rows),
                              call.q.new_empty(rows_BHT, rows)};
    call.functions.forward(call.q, call.k, call.v, call.config, oms[0], oms[1], oms[2]);
    return oms;
  });
  return nb::make_tuple(torch_tensor(out[0]), torch_tensor(out[1]), torch_tensor(out[2]));
}

nb::tuple backward(SINK_CALL_PARAMETERS, const Given& documents, const Given& grad_o, const Given& o, const Given& m,
                   const Given& S, bool bias_gradient) {
  Call call(SINK_CALL_ARGUMENTS);
  call.config.bias_gradient = bias_gradient;
  const AttentionGradients d = call.compute(documents, [&] {
    return call.functions.backward(borrowed(grad_o, "grad_o"), call.q, call.k, call.v, borrowed(o, "o"),
                                   borrowed(m, "m"), borrowed(S, "S"), call.config);
  });
  return nb::make_tuple(torch_tensor(d.dq_BHTD), torch_tensor(d.dk_BGKD), torch_tensor(d.dv_BGKD),
                        torch_tensor(d.dbias_HT), torch_tensor(d.dextra_k_HD), torch_tensor(d.dextra_logit_H),
                        torch_tensor(d.dextra_v_HD));
}

// How many of the queries see each key.
Tensor rows_that_see(const Call& call) {
  const std::int64_t B = call.k.dim(0), K = call.k.dim(2), first = call.config.first_position;
  Tensor rows_BK = Tensor::zeros({B, K}, DType::F64);
  AttentionConfig config = call.config;
  if (config.document_starts_BK.defined()) config.document_starts_BK = config.document_starts_BK.to(Device::cpu);
  for (std::int64_t b = 0; b < B; ++b) {
    const KeyRange range = config.range_of(b);
    for (std::int64_t j = 0; j < K; ++j) {
      const std::int64_t begin = j < range.prefix ? first : std::max(first, j);
      const std::int64_t end = j < range.prefix ? K : std::min(K, range.last(j) + 1);
      rows_BK.data<double>()[b * K + j] = static_cast<double>(std::max<std::int64_t>(0, end - begin));
    }
  }
  return rows_BK;
}

nb::tuple statistics(SINK_CALL_PARAMETERS, const Given& documents, const Given& m, const Given& S) {
  Call call(SINK_CALL_ARGUMENTS);
  using All = std::vector<Tensor>;
  const All all = call.compute(documents, [&]() -> All {
    const Tensor of_m = borrowed(m, "m"), of_S = borrowed(S, "S");
    const AttentionKeySums sums = call.functions.key_sums(call.q, call.k, of_m, of_S, call.config);
    const AttentionStatistics of_rows =
        call.functions.statistics(call.q, call.k, call.v, of_m, of_S, call.config).to(Device::cpu);
    return {sums.raw_BHK,    sums.proxy_BHK,      sums.largest_BHK,   sums.by_distance_BHK,
            sums.row_sum_BH, sums.extra_proxy_BH, of_rows.entropy_BH, rows_that_see(call)};
  });
  nb::list tensors;
  for (const Tensor& x : all) tensors.append(torch_tensor(x));
  return nb::tuple(tensors);
}

// Adds the operation of a library that sinklab.torch.operation compiled, as `key`.
void load_operation(const std::string& key, const std::string& path) {
  if (operations().contains(key)) return;
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);  // never closed
  const auto failure = [&] { return Error("the operation " + path + " cannot be loaded: " + dlerror(), Exit::io); };
  if (!library) throw failure();
  using Make = AttentionFunctions (*)();
  const Make make = reinterpret_cast<Make>(dlsym(library, "sinklab_attention_functions"));
  if (!make) throw failure();
  const AttentionFunctions functions = make();
  functions.check();
  operations().emplace(key, functions);
}

std::vector<std::string> operation_names() {
  std::vector<std::string> names;
  for (const auto& [name, functions] : operations()) names.push_back(name);
  return names;
}

}  // namespace

void add_attention(nb::module_& module) {
#define SINK_CALL_NAMES                                                                                            \
  nb::arg("op"), nb::arg("q"), nb::arg("k"), nb::arg("v"), nb::arg("scale"), nb::arg("window"), nb::arg("prefix"), \
      nb::arg("bias").none(), nb::arg("extra_key").none(), nb::arg("extra_logit").none(),                          \
      nb::arg("extra_value").none(), nb::arg("documents").none()
#ifdef SINK_CUDA
  module.attr("has_cuda") = true;
#else
  module.attr("has_cuda") = false;
#endif
  module.attr("compiler") = SINK_COMPILER;
  module.attr("compile_flags") = SINK_COMPILE_FLAGS;
  module.def("attention_operations", &operation_names);
  module.def("load_operation", &load_operation, nb::arg("key"), nb::arg("path"));
  module.def("attention", &forward, SINK_CALL_NAMES);
  module.def("attention_backward", &backward, SINK_CALL_NAMES, nb::arg("grad_o"), nb::arg("o"), nb::arg("m"),
             nb::arg("S"), nb::arg("bias_gradient"));
  module.def("attention_statistics", &statistics, SINK_CALL_NAMES, nb::arg("m"), nb::arg("S"));
}

}  // namespace sink::python
