// NCCL's handle of a communicator, for the threads of a rank: its calls come one at a time, and none behind an abort,
// which frees what they would read. None of them waits for another rank, so that an abort has not to wait for them.
#pragma once

#ifdef __CUDACC__
#include <nccl.h>
#else
#include <nccl_mock.h>
#endif

#include <atomic>
#include <mutex>

namespace sink {

class NcclHandle {
 public:
  NcclHandle() = default;
  ~NcclHandle() { abort(); }
  NcclHandle(const NcclHandle&) = delete;
  NcclHandle& operator=(const NcclHandle&) = delete;

  // As rank `rank` of `size`; goes on behind its return.
  ncclResult_t init(int size, const ncclUniqueId& id, int rank);
  // call(ncclComm_t), one of NCCL's or a group of them; it may go on behind its return. ncclRemoteError, and nothing is
  // called, where there is no communicator, or none any more.
  template <class Call>
  ncclResult_t call(Call&& call) {
    if (ends_) return ncclRemoteError;
    std::lock_guard lock(mutex_);
    return comm_ && !ends_ ? call(comm_) : ncclRemoteError;
  }
  // Of all calls so far: ncclInProgress while one goes on, or what went wrong behind one's return.
  ncclResult_t state();

  // Ends what goes on, and frees it. From any thread, and more than once.
  void abort();
  bool aborted() const { return ends_; }
  // When all ranks are done: waits for them, so many seconds at most, and frees it.
  void close(double seconds);

 private:
  std::mutex mutex_;
  // Set before an abort asks for the mutex: who looks at states all the time steps aside.
  std::atomic<bool> ends_ = false;
  ncclComm_t comm_ = nullptr;
};

}  // namespace sink
