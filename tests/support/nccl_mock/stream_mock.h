// Streams and events of the emulated device (nccl_mock.h): a stream is a thread with a queue.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

struct MockStream {
  MockStream();
  ~MockStream();
  void queue(std::function<void()> work);

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> queued_;
  bool ends_ = false;
  std::thread thread_;
};

struct MockEvent {
  // The last recording of the event. `done`: it was never recorded, or the work before it on its stream is done.
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    bool done = true;
    std::vector<std::shared_ptr<State>> after;  // other streams' events, which come first
    void finish();
    void wait();
    bool is_done();
  };
  std::shared_ptr<State> state = std::make_shared<State>();
};
