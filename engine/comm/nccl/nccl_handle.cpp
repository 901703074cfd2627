#include "engine/comm/nccl/nccl_handle.h"

#include <chrono>
#include <future>
#include <thread>
#include <utility>

namespace sink {
namespace {

using HandleClock = std::chrono::steady_clock;

double seconds_left(double seconds, HandleClock::time_point since) {
  return seconds - std::chrono::duration<double>(HandleClock::now() - since).count();
}

// ncclCommAbort or ncclCommDestroy. A thread that is not done then ends with the process.
void free_communicator(ncclResult_t (*call)(ncclComm_t), ncclComm_t comm, double seconds) {
  std::packaged_task<void()> task([call, comm] { call(comm); });
  const std::future<void> done = task.get_future();
  std::thread(std::move(task)).detach();
  done.wait_for(std::chrono::duration<double>(seconds));
}

}  // namespace

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

ncclComm_t NcclHandle::take() {
  std::lock_guard lock(mutex_);
  return std::exchange(comm_, nullptr);
}

void NcclHandle::abort() {
  ends_ = true;
  if (ncclComm_t comm = take()) free_communicator(nccl().ncclCommAbort, comm, kAbortSeconds);
}

void NcclHandle::close(double seconds) {
  const auto since = HandleClock::now();
  ncclResult_t result = call([](ncclComm_t comm) { return nccl().ncclCommFinalize(comm); });
  while (result == ncclInProgress && seconds_left(seconds, since) > 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    result = state();
  }
  if (result != ncclSuccess) return abort();
  if (ncclComm_t comm = take()) free_communicator(nccl().ncclCommDestroy, comm, seconds_left(seconds, since));
}

}  // namespace sink
