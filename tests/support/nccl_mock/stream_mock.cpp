#include "tests/support/nccl_mock/stream_mock.h"

#include "tests/support/nccl_mock/nccl_mock.h"

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
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return done; });
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
  if (!stream) return cudaSuccess;  // of kernels, which are done
  event->state->done = false;
  stream->queue([state = event->state] { state->finish(); });
  return cudaSuccess;
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  std::lock_guard lock(event->state->mutex);
  return event->state->done ? cudaSuccess : cudaErrorNotReady;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  if (stream)
    stream->queue([state = event->state] { state->wait(); });
  else
    event->state->wait();  // the next kernel runs when it is launched
  return cudaSuccess;
}
