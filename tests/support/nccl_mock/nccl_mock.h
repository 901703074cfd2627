// A mock of the calls of CUDA's streams and of NCCL that the communicator of devices makes, for the emulated device:
// the same names and semantics, among processes of one machine. So these calls are tested without a GPU, and what would
// hang or fail there does so here:
//   - Work on a stream is done later, by a thread of the stream, in order. If another rank queues its work in another
//     order, the work does not match and fails.
//   - Sends and receives outside of a group wait for each other, and so may wait forever.
//   - A lost rank is an asynchronous error. Queued work is never done until the communicator is aborted.
//   - ncclCommDestroy and ncclCommAbort wait until all ranks have called one of them, or have ended: NCCL's proxy
//   thread
//     ends when no rank of the host uses its memory. An abort ends what is queued before it waits.
//   - A call of a communicator after its abort, or two calls of one at the same time, would corrupt NCCL's memory. Both
//     end the process with SIGABRT.
// The stream of kernels is the null stream, on which all work is done when a call returns. Where it waits for an event,
// the next launch, copy or free waits, not the host.
#pragma once

#include <cstddef>
#include <memory>

struct MockStream;
struct MockEvent;
struct MockComm;
using cudaStream_t = MockStream*;
using cudaEvent_t = MockEvent*;
using ncclComm_t = MockComm*;

enum cudaError_t { cudaSuccess = 0, cudaErrorNotReady = 600 };
inline constexpr unsigned cudaStreamNonBlocking = 1, cudaEventDisableTiming = 2;
const char* cudaGetErrorString(cudaError_t);
cudaError_t cudaGetDevice(int* device);  // there is one
cudaError_t cudaSetDevice(int device);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags);
cudaError_t cudaStreamDestroy(cudaStream_t stream);  // what is queued is done first
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
cudaError_t cudaEventQuery(cudaEvent_t event);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags = 0);

enum ncclResult_t {
  ncclSuccess = 0,
  ncclUnhandledCudaError,
  ncclSystemError,
  ncclInternalError,
  ncclInvalidArgument,
  ncclInvalidUsage,
  ncclRemoteError,
  ncclInProgress
};
enum ncclDataType_t { ncclInt8 = 0, ncclFloat32 = 7, ncclFloat64 = 8 };
enum ncclRedOp_t { ncclSum = 0 };
inline constexpr int NCCL_UNIQUE_ID_BYTES = 128;
struct ncclUniqueId {
  char internal[NCCL_UNIQUE_ID_BYTES];
};
struct ncclConfig_t {
  int blocking = 1;
};
#define NCCL_CONFIG_INITIALIZER \
  {}

const char* ncclGetErrorString(ncclResult_t result);
ncclResult_t ncclGetUniqueId(ncclUniqueId* id);
ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int size, ncclUniqueId id, int rank, ncclConfig_t* config);
ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* error);
ncclResult_t ncclCommFinalize(ncclComm_t comm);
ncclResult_t ncclCommDestroy(ncclComm_t comm);
ncclResult_t ncclCommAbort(ncclComm_t comm);
ncclResult_t ncclGroupStart();
ncclResult_t ncclGroupEnd();
ncclResult_t ncclSend(const void* data, std::size_t count, ncclDataType_t type, int to, ncclComm_t comm,
                      cudaStream_t stream);
ncclResult_t ncclRecv(void* data, std::size_t count, ncclDataType_t type, int from, ncclComm_t comm,
                      cudaStream_t stream);
ncclResult_t ncclAllGather(const void* own, void* all, std::size_t count, ncclDataType_t type, ncclComm_t comm,
                           cudaStream_t stream);
ncclResult_t ncclBroadcast(const void* from, void* to, std::size_t count, ncclDataType_t type, int root,
                           ncclComm_t comm, cudaStream_t stream);
