#include "tests/support/nccl_mock/stream_mock.h"

#include <algorithm>

#include "engine/cuda/emulated/launches.h"
#include "tests/support/nccl_mock/nccl_mock.h"

namespace {

// What the null stream waits for, before the next work on it.
struct NullStream {
  std::mutex mutex;
  std::vector<std::shared_ptr<MockEvent::State>> awaited;
};
NullStream& null_stream() {
  static NullStream* only = new NullStream;
  return *only;
}

thread_local bool is_thread_of_stream = false;  // whose work is not the null stream's

void wait_for_awaited() {
  if (is_thread_of_stream) return;
  std::lock_guard lock(null_stream().mutex);
  for (const auto& event : null_stream().awaited) event->wait();
  null_stream().awaited.clear();
}

}  // namespace

MockStream::MockStream() : thread_([this] { run(); }) {}

MockStream::~MockStream() {
  {
    std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void MockStream::queue(std::function<void()> work) {
  std::lock_guard lock(mutex_);
  queued_.push_back(std::move(work));
  changed_.notify_all();
}

void MockStream::run() {
  is_thread_of_stream = true;
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return ends_ || !queued_.empty(); });
    if (queued_.empty()) return;
    std::function<void()> work = std::move(queued_.front());
    queued_.pop_front();
    lock.unlock();
    work();
    lock.lock();
  }
}

void MockEvent::State::finish() {
  std::lock_guard lock(mutex);
  done = true;
  changed.notify_all();
}

void MockEvent::State::wait() {
  for (const auto& event : after) event->wait();
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return done; });
}

bool MockEvent::State::is_done() {
  std::lock_guard lock(mutex);
  return done && std::ranges::all_of(after, [](const auto& event) { return event->is_done(); });
}

const char* cudaGetErrorString(cudaError_t error) { return error == cudaSuccess ? "no error" : "not ready"; }

cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}

cudaError_t cudaSetDevice(int) { return cudaSuccess; }

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  *stream = new MockStream;
  return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  delete stream;
  return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  *event = new MockEvent;
  return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  event->state = std::make_shared<MockEvent::State>();
  if (!stream) {  // its kernels are done
    std::lock_guard lock(null_stream().mutex);
    event->state->after = null_stream().awaited;
    return cudaSuccess;
  }
  event->state->done = false;
  stream->queue([state = event->state] { state->finish(); });
  return cudaSuccess;
}

cudaError_t cudaEventQuery(cudaEvent_t event) { return event->state->is_done() ? cudaSuccess : cudaErrorNotReady; }

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  if (stream) {
    stream->queue([state = event->state] { state->wait(); });
  } else {
    sink::emulated::wait_before_work(wait_for_awaited);
    std::lock_guard lock(null_stream().mutex);
    null_stream().awaited.push_back(event->state);
  }
  return cudaSuccess;
}
