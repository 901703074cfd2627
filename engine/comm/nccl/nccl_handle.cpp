#include "engine/comm/nccl/nccl_handle.h"

#include <chrono>
#include <thread>

namespace sink {

ncclResult_t NcclHandle::init(int size, const ncclUniqueId& id, int rank) {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  std::lock_guard lock(mutex_);
  return ends_ ? ncclRemoteError : nccl().ncclCommInitRankConfig(&comm_, size, id, rank, &config);
}

ncclResult_t NcclHandle::state() {
  return call([](ncclComm_t comm) {
    ncclResult_t state = ncclSuccess;
    return nccl().ncclCommGetAsyncError(comm, &state) == ncclSuccess ? state : ncclInternalError;
  });
}

void NcclHandle::abort() {
  ends_ = true;
  std::lock_guard lock(mutex_);
  if (comm_) nccl().ncclCommAbort(comm_);
  comm_ = nullptr;
}

void NcclHandle::close(double seconds) {
  const auto since = std::chrono::steady_clock::now();
  ncclResult_t result = call([](ncclComm_t comm) { return nccl().ncclCommFinalize(comm); });
  while (result == ncclInProgress &&
         std::chrono::duration<double>(std::chrono::steady_clock::now() - since).count() < seconds) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    result = state();
  }
  if (result != ncclSuccess) return abort();
  std::lock_guard lock(mutex_);
  if (comm_) nccl().ncclCommDestroy(comm_);
  comm_ = nullptr;
}

}  // namespace sink
