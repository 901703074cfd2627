// NCCL's functions, loaded with dlopen when ranks on GPUs first need them, so that one GPU works without NCCL. A build
// needs only NCCL's header. On the emulated device a mock has the same names (tests/support/nccl_mock/).
#pragma once

#ifdef __CUDACC__
#include <nccl.h>
#else
#include <nccl_mock.h>
#endif

#include <string>

// The functions that this folder calls.
#define SINK_NCCL_FUNCTIONS(F) \
  F(ncclGetErrorString)        \
  F(ncclGetUniqueId)           \
  F(ncclCommInitRankConfig)    \
  F(ncclCommGetAsyncError)     \
  F(ncclCommFinalize)          \
  F(ncclCommDestroy)           \
  F(ncclCommAbort)             \
  F(ncclGroupStart)            \
  F(ncclGroupEnd)              \
  F(ncclSend)                  \
  F(ncclRecv)                  \
  F(ncclAllGather)             \
  F(ncclBroadcast)

namespace sink {

struct NcclLibrary {
#define SINK_NCCL_MEMBER(name) decltype(&::name) name = nullptr;
  SINK_NCCL_FUNCTIONS(SINK_NCCL_MEMBER)
#undef SINK_NCCL_MEMBER
};

// The functions of a shared library, by its path or name. Throws Error (Exit::device) if it cannot be loaded or has not
// all of them.
NcclLibrary load_nccl(const std::string& file);

// The library that SINK_NCCL names, else libnccl.so.2 (the mock on the emulated device). Throws as load_nccl.
const NcclLibrary& nccl();

}  // namespace sink
