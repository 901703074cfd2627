#include "engine/comm/nccl/nccl_library.h"

#include <dlfcn.h>

#include <cstdlib>

#include "engine/check.h"
#include "engine/comm/host_communicator.h"

namespace sink {
namespace {

[[noreturn]] void refuse(const std::string& file) {
  const char* reason = ::dlerror();
  fail("ranks",
       "NCCL, which several ranks on GPUs need, cannot be loaded: " + (reason ? std::string(reason) : file) +
           ". Install NVIDIA's package libnccl2, or set SINK_NCCL to the path of libnccl.so.2 (PyTorch's packages "
           "contain one). A run on one GPU does not need it",
       Exit::device);
}

}  // namespace

NcclLibrary load_nccl(const std::string& file) {
  void* library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) refuse(file);
  auto load = [&](auto& function, const char* name) {
    void* address = ::dlsym(library, name);
    if (!address) refuse(file);
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(address);
  };
  NcclLibrary functions;
#define SINK_NCCL_LOAD(name) load(functions.name, #name);
  SINK_NCCL_FUNCTIONS(SINK_NCCL_LOAD)
#undef SINK_NCCL_LOAD
  return functions;
}

const NcclLibrary& nccl() {
  static const NcclLibrary loaded = [] {
    const char* file = std::getenv("SINK_NCCL");
#ifdef __CUDACC__
    return load_nccl(file ? file : "libnccl.so.2");
#else
#define SINK_NCCL_MOCK(name) .name = &::name,
    return file ? load_nccl(file) : NcclLibrary{SINK_NCCL_FUNCTIONS(SINK_NCCL_MOCK)};
#undef SINK_NCCL_MOCK
#endif
  }();
  return loaded;
}

std::string nccl_refusal() {
  try {
    nccl();
    return "";
  } catch (const Error& error) { return error.what(); }
}

}  // namespace sink
