// A thread-safe NCCL communicator handle: calls are serialised, and none follows an abort, which frees the
// communicator. NCCL frees it when the ranks of this host that use its memory have left theirs, which a rank that fails
// or is stopped prevents. So another thread frees it, and the caller waits for that thread for a limited time.
#pragma once

#include <atomic>
#include <mutex>

#include "engine/comm/nccl/nccl_library.h"

namespace sink {

class NcclHandle {
 public:
  NcclHandle() = default;
  ~NcclHandle() { abort(); }
  NcclHandle(const NcclHandle&) = delete;
  NcclHandle& operator=(const NcclHandle&) = delete;

  // Asynchronous: may continue after it returns.
  ncclResult_t init(int size, const ncclUniqueId& id, int rank);
  // Calls call(ncclComm_t), one NCCL call or a group, which may continue after it returns. Returns ncclRemoteError
  // without calling where there is no communicator.
  template <class Call>
  ncclResult_t call(Call&& call) {
    if (ends_) return ncclRemoteError;
    std::lock_guard lock(mutex_);
    return comm_ && !ends_ ? call(comm_) : ncclRemoteError;
  }
  // The asynchronous state of all calls so far.
  ncclResult_t state();

  // Aborts and frees the communicator: what waits on a stream ends. Returns after kAbortSeconds at the latest, while
  // NCCL may still wait for other ranks. From any thread, any number of times.
  static constexpr double kAbortSeconds = 1;
  void abort();
  bool aborted() const { return ends_; }
  // Finalizes and frees the communicator: waits for all ranks, at most `seconds`.
  void close(double seconds);

 private:
  // No call follows.
  ncclComm_t take();

  std::mutex mutex_;
  // Set before an abort locks the mutex, so that polling threads yield to it.
  std::atomic<bool> ends_ = false;
  ncclComm_t comm_ = nullptr;
};

}  // namespace sink
